"""Primal-dual solutions by construction: no solver, and optimal to rounding.

Choose z* with ties among the atoms that are to be the support and everything else below by delta, x* in the cone of
those atoms, and any residual r*. Then y* = grad f(r*), an operator with M*y* = z* (one rank-one correction of any
matrix gives it) and b = Mx* + r* make (x*, y*) a solution of all three relaxations, at

    lambda = support(z*),   tau = gauge(x*),   alpha = f(r*),   beta* = 1 / lambda.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import fewatoms as fa


@dataclass(frozen=True)
class Plan:
    """What a set contributes to a pair: z*, the atoms of the support with their coefficients, and their names.

    points : the atoms as dense arrays of the model's size (for sums of sets: every sum of one atom per part)
    parts : for each part, the numbers of its classes in the support; None where atoms have no numbers
    """

    atoms: fa.AtomicSet
    z: np.ndarray
    x: np.ndarray
    gauge: float
    points: np.ndarray
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Pair:
    """A problem with its solution: x* and y* = grad f(b - Mx*)."""

    M: Any
    b: np.ndarray
    loss: fa.Loss
    plan: Plan
    y: np.ndarray
    residual: np.ndarray

    @property
    def atoms(self):
        return self.plan.atoms

    @property
    def x(self):
        return self.plan.x

    @property
    def lam(self):
        """support(M*y*), by the alignment of the support's atoms."""
        return float(aligned(self.plan.points, self.z).mean())

    @property
    def z(self):
        return flat(self.operator.adjoint(self.y))

    @property
    def operator(self):
        return fa.operators.as_operator(self.M)

    @property
    def tau(self):
        return self.plan.gauge

    @property
    def alpha(self):
        return self.loss.value(self.residual)

    @property
    def beta(self):
        return 1.0 / self.lam

    def problem(self, k=None, bounded=True):
        """The problem, with alpha = f(r*) unless it is to have no bound."""
        alpha = self.alpha if bounded else None
        return fa.Problem.of(self.M, self.b, atoms=self.atoms, k=k, alpha=alpha, loss=self.loss)


def flat(z):
    """M*y as a flat array, whatever form the operator gave it."""
    return np.asarray(z.toarray() if hasattr(z, "toarray") else z).ravel()


def aligned(points, z):
    """<a, z> for rows a, real also where both are complex."""
    return (points.conj() @ z).real


# Losses --------------------------------------------------------------------------------------------------------------

LOSSES = ("least squares", "weighted least squares", "huber", "weighted huber", "logistic", "weighted logistic")


def make_loss(name, m, rng):
    """A loss by name; weights spread over two decades."""
    weights = 10.0 ** rng.uniform(-1, 1, m) if name.startswith("weighted") else None
    kind = name.removeprefix("weighted ")
    if kind == "least squares":
        return fa.LeastSquares(weights)
    if kind == "huber":
        return fa.Huber(float(rng.uniform(0.3, 1.5)), weights)
    return fa.Logistic(weights)


# Plans: one per kind of set ------------------------------------------------------------------------------------------


def below(rng, sigma, delta, size):
    """Alignments of the atoms outside the support: at most sigma - delta, some of them exactly that."""
    values = (sigma - delta) * rng.uniform(0, 1, size) ** 0.3
    values[rng.random(size) < 0.2] = sigma - delta
    return values


def coefficients(rng, size):
    """Positive, over up to six decades."""
    return 10.0 ** (rng.uniform(-3, 3, size) * rng.uniform(0, 1))


def one_hot(rng, n, r, sigma, delta, signed):
    """Targets for one-hot atoms: z, the support, signs."""
    support = np.sort(rng.choice(n, r, replace=False))
    z = below(rng, sigma, delta, n)
    z *= rng.choice([-1.0, 1.0], n) if signed else np.where(rng.random(n) < 0.5, 1.0, -10.0 * rng.random(n))
    signs = rng.choice([-1.0, 1.0], r) if signed else np.ones(r)
    z[support] = sigma * signs
    return z, support, signs


def plan_one_hot(rng, n, r, sigma, delta, signed, scale=1.0):
    z, support, signs = one_hot(rng, n, r, sigma, delta, signed)
    inner = fa.SignedOneHot(n) if signed else fa.NonnegativeOneHot(n)
    points = np.zeros((r, n))
    points[np.arange(r), support] = signs * scale
    c = coefficients(rng, r)
    return Plan(inner if scale == 1.0 else scale * inner, z / scale, c @ points, float(c.sum()), points, (support,))


def plan_dictionary(rng, n, count, r, sigma, delta, symmetric):
    """Columns in general position, each moved along z until its alignment is as planned."""
    targets, support, signs = one_hot(rng, count, r, sigma, delta, symmetric)
    D = rng.standard_normal((n, count)) * 10.0 ** rng.uniform(-0.5, 0.5, count)
    z = sigma * rng.standard_normal(n)
    D += np.outer(z, (targets - z @ D) / (z @ z))
    points = signs[:, None] * D[:, support].T
    c = coefficients(rng, r)
    return Plan(fa.Dictionary(D, symmetric=symmetric), z, c @ points, float(c.sum()), points, (support,))


def plan_groups(rng, sizes, r, sigma, delta, weighted, inner_map=None):
    """Group norms as planned; with a square `inner_map` the set is its image."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    labels = labels[rng.permutation(labels.size)]
    weights = 10.0 ** rng.uniform(-0.5, 0.5, len(sizes)) if weighted else np.ones(len(sizes))
    support = np.sort(rng.choice(len(sizes), r, replace=False))
    length = below(rng, sigma, delta, len(sizes))
    length[support] = sigma
    w, directions = np.zeros(labels.size), np.zeros((len(sizes), labels.size))
    for g in range(len(sizes)):
        u = rng.standard_normal(sizes[g])
        directions[g, labels == g] = u / np.linalg.norm(u) / weights[g]
        w += length[g] * weights[g] ** 2 * directions[g]
    atoms, points, z = fa.Groups(labels, weights), directions[support], w
    if inner_map is not None:
        atoms, points, z = fa.Mapped(inner_map, atoms), points @ inner_map.T, np.linalg.solve(inner_map.T, w)
    c = coefficients(rng, r)
    return Plan(atoms, z, c @ points, float(c.sum()), points, (support,))


def orthonormal(rng, n, r):
    return np.linalg.qr(rng.standard_normal((n, r)))[0]


def plan_rank_one(rng, p, q, r, sigma, delta, scale=1.0):
    """r leading singular values tied; x* = U C V^T with C positive definite, so that its atoms are all exposed."""
    s = min(p, q)
    U, V = orthonormal(rng, p, s), orthonormal(rng, q, s)
    values = np.concatenate([np.full(r, sigma), np.sort(below(rng, sigma, delta, s - r))[::-1]])
    turn, c = orthonormal(rng, r, r), coefficients(rng, r)
    lefts, rights = U[:, :r] @ turn, V[:, :r] @ turn
    points = np.einsum("ik,jk->kij", lefts, rights).reshape(r, p * q) * scale
    inner = fa.RankOne(p, q)
    atoms = inner if scale == 1.0 else scale * inner
    return Plan(atoms, ((U * values) @ V.T).ravel() / scale, c @ points, float(c.sum()), points, (None,))


def plan_psd(rng, n, r, sigma, delta):
    """r leading eigenvalues tied, the others below or far negative, and an antisymmetric part that must not count."""
    V = orthonormal(rng, n, n)
    values = below(rng, sigma, delta, n) * np.where(rng.random(n) < 0.5, 1.0, -5.0)
    values[:r] = sigma
    turn, c = orthonormal(rng, r, r), coefficients(rng, r)
    vectors = V[:, :r] @ turn
    points = np.einsum("ik,jk->kij", vectors, vectors).reshape(r, n * n)
    N = rng.standard_normal((n, n))
    Z = (V * values) @ V.T + sigma * (N - N.T)
    return Plan(fa.PSDRankOne(n), Z.ravel(), c @ points, float(c.sum()), points, (None,))


def plan_union(rng, n, count, r, sigma, delta, idle=False):
    """One-hot vectors or a dictionary; with `idle` the dictionary stays below and takes no part."""
    first = plan_one_hot(rng, n, r, sigma, delta, signed=True)
    second = plan_dictionary_at(rng, first.z, count, r, sigma - delta if idle else sigma, delta)
    used = [first] if idle else [first, second]
    return Plan(
        first.atoms | second.atoms,
        first.z,
        sum(p.x for p in used),
        sum(p.gauge for p in used),
        np.concatenate([p.points for p in used]),
        (first.parts[0], np.empty(0, dtype=int) if idle else second.parts[0]),
    )


def plan_sum(rng, n, count, r, sigma, delta):
    """One-hot vectors plus a dictionary: the two parts of x* have the same gauge, the two supports add up to sigma."""
    share = rng.uniform(0.2, 0.8) * sigma
    first = plan_one_hot(rng, n, r, share, min(delta, 0.9 * share), signed=True)
    second = plan_dictionary_at(rng, first.z, count, r, sigma - share, min(delta, 0.9 * (sigma - share)))
    points = (first.points[:, None, :] + second.points[None, :, :]).reshape(-1, n)
    x = first.x + second.x * (first.gauge / second.gauge)
    return Plan(first.atoms + second.atoms, first.z, x, first.gauge, points, (first.parts[0], second.parts[0]))


def plan_dictionary_at(rng, z, count, r, sigma, delta):
    """A dictionary plan at a z that is given."""
    targets, support, signs = one_hot(rng, count, r, sigma, delta, signed=True)
    D = rng.standard_normal((z.size, count))
    D += np.outer(z, (targets - z @ D) / (z @ z))
    points, c = signs[:, None] * D[:, support].T, coefficients(rng, r)
    return Plan(fa.Dictionary(D, symmetric=True), z, c @ points, float(c.sum()), points, (support,))


PLANS = {
    "signed": lambda rng, s, d: plan_one_hot(rng, 24, int(rng.integers(1, 6)), s, d, signed=True),
    "nonnegative": lambda rng, s, d: plan_one_hot(rng, 24, int(rng.integers(1, 6)), s, d, signed=False),
    "scaled": lambda rng, s, d: plan_one_hot(rng, 20, 3, s, d, signed=False, scale=float(rng.choice([-2.5, 0.01]))),
    "dictionary": lambda rng, s, d: plan_dictionary(rng, 12, 30, int(rng.integers(1, 5)), s, d, symmetric=True),
    "one-sided dictionary": lambda rng, s, d: plan_dictionary(rng, 12, 30, int(rng.integers(1, 5)), s, d, False),
    "groups": lambda rng, s, d: plan_groups(rng, [1, 2, 3, 4, 5, 2, 3], int(rng.integers(1, 4)), s, d, False),
    "weighted groups": lambda rng, s, d: plan_groups(rng, [1, 2, 3, 4, 5, 2, 3], int(rng.integers(1, 4)), s, d, True),
    "mapped groups": lambda rng, s, d: plan_groups(
        rng, [1, 2, 3, 4, 3], 2, s, d, True, np.eye(13) + 0.2 * rng.standard_normal((13, 13))
    ),
    "rank one": lambda rng, s, d: plan_rank_one(rng, 6, 5, int(rng.integers(1, 4)), s, d),
    "scaled rank one": lambda rng, s, d: plan_rank_one(rng, 5, 6, 2, s, d, scale=0.3),
    "psd": lambda rng, s, d: plan_psd(rng, 5, int(rng.integers(1, 4)), s, d),
    "union": lambda rng, s, d: plan_union(rng, 10, 14, 2, s, d, idle=bool(rng.random() < 0.3)),
    "sum": lambda rng, s, d: plan_sum(rng, 10, 14, 2, s, d),
}


# Pairs ---------------------------------------------------------------------------------------------------------------


def plant(rng, kind, loss="least squares", *, m=14, delta=None, noise=None):
    """A random pair for a kind of set and a loss; columns of M may differ by decades, noise may be small or large."""
    loss = make_loss(loss, m, rng)
    r = rng.standard_normal(m) * (10.0 ** rng.uniform(-3, 1) if noise is None else noise)
    y = loss.gradient(r)
    sigma = float(np.linalg.norm(y) * rng.uniform(0.5, 2.0))
    share = float(rng.choice([0.5, 0.1, 1e-3])) if delta is None else delta
    plan = PLANS[kind](rng, sigma, share * sigma)
    M = rng.standard_normal((m, plan.z.size)) * 10.0 ** rng.uniform(-0.5, 0.5, plan.z.size)
    return pair_with(M, plan, loss, r)


def pair_with(M, plan, loss, r):
    """Correct M by a rank-one matrix so that M*y* = z*, and put b = Mx* + r*."""
    y = loss.gradient(r)
    M = M + np.outer(y, (plan.z - M.T @ y) / (y @ y))
    return Pair(M, M @ plan.x + r, loss, plan, y, r)


def reweighted(plan, c):
    """The same support with other coefficients."""
    return Plan(plan.atoms, plan.z, c @ plan.points, float(np.sum(c)), plan.points, plan.parts)


def recoloured(pair, c):
    """The same pair with other coefficients: y* and the residual stay, b follows."""
    plan = reweighted(pair.plan, c)
    return Pair(pair.M, pair.M @ plan.x + pair.residual, pair.loss, plan, pair.y, pair.residual)


def with_faint_atoms(pair, rng, faintest=-11, faint=-6):
    """The same pair with all atoms of the support but the first made faint."""
    c = 10.0 ** rng.uniform(faintest, faint, len(pair.plan.points))
    c[0] = 10.0
    return recoloured(pair, c)


def gentle(rng, kind, loss="least squares", *, m=30, delta=0.3, noise=0.05):
    """A pair that iterative methods take kindly to: unit columns, like coefficients for all atoms, a small residual."""
    loss = make_loss(loss, m, rng)
    r = rng.standard_normal(m) * noise
    sigma = 0.4 * float(np.linalg.norm(loss.gradient(r)))
    plan = PLANS[kind](rng, sigma, delta * sigma)
    M = rng.standard_normal((m, plan.z.size)) / np.sqrt(m)
    c = rng.uniform(1, 2, len(plan.points)) / np.linalg.norm(plan.points, axis=1)
    return pair_with(M, reweighted(plan, c), loss, r)


def plant_under(rng, M, atoms, loss, noise=1.0):
    """A pair with one rank-one atom under an operator of its own structure: the leading one of M*y*, y* being free."""
    operator = fa.operators.as_operator(M)
    sigma = 0.0
    while sigma <= 0:  # atoms of one-sided sets may all point away
        r = noise * rng.standard_normal(operator.shape[0])
        y = loss.gradient(r)
        z = operator.adjoint(y)
        sigma, face = atoms.extreme(z)
    point = np.asarray(face.point(face.mean_atom())).ravel()
    c = float(rng.uniform(0.5, 5.0))
    plan = Plan(atoms, flat(z), c * point, c, point[None], (None,))
    return Pair(M, operator.apply(c * point) + r, loss, plan, y, r)
