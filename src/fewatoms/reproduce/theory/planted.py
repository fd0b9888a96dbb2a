"""Problems that come with their primal-dual solution, by construction: no solver's tolerance stands between a theorem
and its check.

Choose z* with ties among the atoms that are to be the support and all others below by delta, x* in the cone of those
atoms, and a residual r*. Then y* = r*, an operator with M*y* = z* (one rank-one correction of any matrix gives it) and
b = Mx* + r* make (x*, y*) a solution of all three relaxations, at lambda = support(z*), tau = gauge(x*),
alpha = |r*|^2 / 2 and beta* = 1 / lambda.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from fewatoms import linalg
from fewatoms._types import FloatArray, ModelDual
from fewatoms.atoms import AtomicSet, PSDRankOne, RankOne, SignedOneHot
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.certificates import Certificate
from fewatoms.evidence import Evidence
from fewatoms.oracles import Oracle
from fewatoms.problem import Problem
from fewatoms.relaxations import Relaxation

HIDDEN = 1e-13  # of the terms that cancel in a dual value


@dataclass(frozen=True, eq=False)
class Pair:
    """A problem over `atoms` with its solution: x* = sum c_i points_i, y* = b - Mx*."""

    M: FloatArray
    b: FloatArray
    atoms: AtomicSet
    points: FloatArray
    c: FloatArray
    y: FloatArray

    @property
    def x(self) -> FloatArray:
        return self.c @ self.points

    @property
    def tau(self) -> float:
        return float(self.c.sum())

    @property
    def alpha(self) -> float:
        return 0.5 * float(self.y @ self.y)

    @property
    def lam(self) -> float:
        return float(self.alignments(self.y).mean())

    @property
    def norm(self) -> float:
        """|M|_A, a proven bound."""
        return float(self.problem().atoms.operator_norm(self.problem().M) or math.inf)

    @property
    def support(self) -> frozenset[int]:
        """Of one-hot atoms, the places in use."""
        return frozenset(np.flatnonzero(self.x).tolist())

    def alignments(self, y: FloatArray) -> FloatArray:
        """<a, M*y> for the atoms of the solution."""
        found: FloatArray = self.points @ (self.M.T @ y)
        return found

    def problem(self, k: int | None = None, *, bounded: bool = True) -> Problem:
        return Problem.of(self.M, self.b, atoms=self.atoms, k=k, alpha=self.alpha if bounded else None)

    def optimum(self, relaxation: Relaxation) -> float:
        """The least value of its dual, d(y*)."""
        at = 0.5 * float(self.y @ self.y) - float(self.b @ self.y)
        return {"P1": at, "P2": at + self.tau * self.lam, "P3": -self.tau}[relaxation.name]


def sparse(
    rng: np.random.Generator, m: int, n: int, r: int, delta: float, *, spread: float = 0.0, rivals: float = 0.0
) -> Pair:
    """Over signed unit vectors; lengths of columns differ by `spread` decades either way, and a share of the other
    atoms, the `rivals`, fall short of the support by no more than delta."""
    y = 0.05 * rng.standard_normal(m)
    sigma = 0.4 * float(np.linalg.norm(y))
    shares = np.where(rng.random(n) < rivals, 1.0, rng.uniform(0, 1, n) ** 0.3)
    z = (1 - delta) * sigma * shares * rng.choice([-1.0, 1.0], n)
    places = rng.choice(n, r, replace=False)
    signs = rng.choice([-1.0, 1.0], r)
    z[places] = sigma * signs
    points = np.zeros((r, n))
    points[np.arange(r), places] = signs
    M = rng.standard_normal((m, n)) / math.sqrt(m) * 10.0 ** rng.uniform(-spread, spread, n)
    return _paired(M, SignedOneHot(n), z, points, rng.uniform(1, 2, r), y)


def low_rank(rng: np.random.Generator, m: int, p: int, q: int, r: int, delta: float) -> Pair:
    """Over rank-one matrices: r leading singular values of z* tie."""
    y = 0.05 * rng.standard_normal(m)
    sigma = 0.4 * float(np.linalg.norm(y))
    size = min(p, q)
    U, V = orthonormal(rng, p, size), orthonormal(rng, q, size)
    others = np.sort(rng.uniform(0.1, 1, size - r))[::-1]
    values = sigma * np.concatenate([np.ones(r), (1 - delta) * others / others[0]])
    points = np.einsum("ik,jk->kij", U[:, :r], V[:, :r]).reshape(r, p * q)
    M = rng.standard_normal((m, p * q)) / math.sqrt(m)
    return _paired(M, RankOne(p, q), ((U * values) @ V.T).ravel(), points, rng.uniform(1, 2, r), y)


def semidefinite(rng: np.random.Generator, m: int, n: int, r: int, delta: float) -> Pair:
    """Over v v^T: r leading eigenvalues of z* tie, some of the others are negative."""
    y = 0.05 * rng.standard_normal(m)
    sigma = 0.4 * float(np.linalg.norm(y))
    V = orthonormal(rng, n, n)
    values = sigma * (1 - delta) * rng.uniform(-1, 1, n)
    values[:r] = sigma
    points = np.einsum("ik,jk->kij", V[:, :r], V[:, :r]).reshape(r, n * n)
    G = rng.standard_normal((m, n, n)) / math.sqrt(m)
    M = (0.5 * (G + G.transpose(0, 2, 1))).reshape(m, n * n)
    return _paired(M, PSDRankOne(n), ((V * values) @ V.T).ravel(), points, rng.uniform(1, 2, r), y)


def orthonormal(rng: np.random.Generator, n: int, r: int) -> FloatArray:
    return np.linalg.qr(rng.standard_normal((n, r)))[0]


def _paired(M: FloatArray, atoms: AtomicSet, z: FloatArray, points: FloatArray, c: FloatArray, y: FloatArray) -> Pair:
    """Correct M so that M*y = z, and let the data follow."""
    M = M + np.outer(y, (z - M.T @ y) / (y @ y))
    return Pair(M, M @ (c @ points) + y, atoms, points, c, y)


# Along a run ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Seen:
    """What a run has shown by an iterate: the best feasible dual vector so far, its M*y, and what is proven of it."""

    iteration: int
    pair: Pair
    dual: DualPoint  # the iterate itself
    y: FloatArray
    z: FloatArray  # in the shape of the model
    excess: float  # d(y) - d(y*)
    certificate: Certificate

    @property
    def top(self) -> float:
        """The support of M*y."""
        return float(self.pair.atoms.support(self.z) or 0.0)

    @property
    def rounding(self) -> float:
        """What may hide in the difference of two dual values."""
        terms = float(np.abs(self.pair.b) @ np.abs(self.y)) + self.pair.alpha + self.pair.tau * self.top
        return HIDDEN * terms


def along(pair: Pair, oracle: Oracle, count: int, k: int | None = None) -> Iterator[Seen]:
    """The first iterates of a dual method, as long as they say something feasible."""
    problem = pair.problem(k)
    evidence = Evidence(problem)
    none = problem.atoms.expose(np.zeros(problem.atoms.shape), 0)
    nothing = Candidate.of(none, np.zeros(0), problem.b, problem.at_zero)
    for t, dual in enumerate(islice(oracle.iterates(problem), count), start=1):
        evidence.see(Iterate(dual))
        if evidence.y is None:
            continue
        z = (pair.M.T @ evidence.y).reshape(problem.atoms.shape)
        excess = evidence.dual - pair.optimum(dual.relaxation)
        yield Seen(t, pair, dual, evidence.y, z, excess, Certificate.of(problem, nothing, evidence))


def flat(z: ModelDual) -> FloatArray:
    return np.asarray(linalg.as_flat(z), dtype=np.float64)


__all__ = ["Pair", "Seen", "along", "flat", "low_rank", "orthonormal", "semidefinite", "sparse"]
