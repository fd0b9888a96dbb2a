"""The relaxations as models for a general convex solver: gauges written out, sums and images with explicit parts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import cvxpy as cp
import numpy as np

import fewatoms as fa


@dataclass
class Part:
    """A summand of x in a model: its expression, its gauge's expression, and how to read its atoms when solved.

    read() gives the atoms (rows, dense) and their positive coefficients; `unit` is the set they are atoms of.
    """

    x: cp.Expression
    gauge: cp.Expression
    constraints: list[cp.Constraint]
    read: Callable[[], tuple[np.ndarray, np.ndarray]]
    unit: fa.AtomicSet
    weight: float = 1.0  # of a coefficient in the gauge; rays have none


def signed(n, unit=None):
    x = cp.Variable(n)

    def read():
        return np.diag(np.sign(x.value)), np.abs(x.value)

    return Part(x, cp.norm1(x), [], read, unit or fa.SignedOneHot(n))


def nonnegative(n):
    x = cp.Variable(n)
    return Part(x, cp.sum(x), [x >= 0], lambda: (np.eye(n), np.maximum(x.value, 0.0)), fa.NonnegativeOneHot(n))


def cone(n):
    part = nonnegative(n)
    return Part(part.x, cp.Constant(0.0), part.constraints, part.read, fa.NonnegativeCone(n), weight=0.0)


def groups(labels, weights):
    labels, x = np.asarray(labels), cp.Variable(len(labels))
    spots = [np.flatnonzero(labels == g) for g in range(len(weights))]
    gauge = sum(w * cp.norm(x[s]) for w, s in zip(weights, spots, strict=True))

    def read():
        sizes = np.array([np.linalg.norm(x.value[s]) for s in spots])
        points = np.zeros((len(spots), labels.size))
        for g, s in enumerate(spots):
            points[g, s] = x.value[s] / max(sizes[g], 1e-300) / weights[g]
        return points, sizes * weights

    return Part(x, gauge, [], read, fa.Groups(labels, weights))


def rank_one(p, q):
    X = cp.Variable((p, q))

    def read():
        u, s, vh = np.linalg.svd(X.value, full_matrices=False)
        return np.einsum("ik,kj->kij", u, vh).reshape(-1, p * q), s

    return Part(cp.vec(X, order="C"), cp.normNuc(X), [], read, fa.RankOne(p, q))


def psd(n):
    X = cp.Variable((n, n), PSD=True)

    def read():
        values, vectors = np.linalg.eigh(X.value)
        return np.einsum("ik,jk->kij", vectors, vectors).reshape(-1, n * n), np.maximum(values, 0.0)

    return Part(cp.vec(X, order="C"), cp.trace(X), [], read, fa.PSDRankOne(n))


def image(B, part, atoms):
    def read():
        points, c = part.read()
        return points @ B.T, c

    return Part(B @ part.x, part.gauge, part.constraints, read, atoms)


def scaled(scale, part):
    return image(scale * np.eye(part.x.size), part, scale * part.unit)


@dataclass
class Model:
    """x as the sum of parts; `joined` adds their gauges (a union), otherwise the largest counts (a sum of sets)."""

    atoms: fa.AtomicSet
    parts: list[Part]
    joined: bool = True

    @property
    def x(self):
        return sum(p.x for p in self.parts)

    @property
    def gauge(self):
        gauges = [p.gauge for p in self.parts]
        return sum(gauges) if self.joined else cp.maximum(*gauges)

    @property
    def constraints(self):
        return [c for p in self.parts for c in p.constraints]

    def solution(self):
        """The solved point, cleaned: dense x, the gauge of its parts, and each part's atoms with coefficients."""
        pieces = [p.read() for p in self.parts]
        gauges = [p.weight * float(c.sum()) for p, (_, c) in zip(self.parts, pieces, strict=True)]
        x = sum(c @ points for points, c in pieces)
        return x, sum(gauges) if self.joined else max(gauges), pieces


def _single(part):
    return Model(part.unit, [part])


def _random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def _dictionary(symmetric):
    D = _random(1, 5, 8)
    atoms = fa.Dictionary(D, symmetric=symmetric)
    return Model(atoms, [image(D, signed(8) if symmetric else nonnegative(8), atoms)])


def _mapped():
    B, part = _random(2, 6, 7), groups([0, 1, 1, 2, 0, 2, 2], np.array([1.0, 0.5, 2.0]))
    atoms = fa.Mapped(B, part.unit)
    return Model(atoms, [image(B, part, atoms)])


def _sum():
    left, right = signed(6), image(B := _random(3, 6, 5), nonnegative(5), fa.Dictionary(B, symmetric=False))
    return Model(left.unit + right.unit, [left, right], joined=False)


def _matrix_sum():
    left, right = rank_one(3, 2), scaled(0.7, signed(6))
    return Model(fa.RankOne(3, 2) + 0.7 * fa.SignedOneHot((3, 2)), [left, right], joined=False)


def _union():
    left, right = rank_one(3, 3), scaled(1.5, signed(9))
    return Model(fa.RankOne(3, 3) | 1.5 * fa.SignedOneHot((3, 3)), [left, right])


def _vector_union():
    left, right = nonnegative(6), groups([0, 0, 1, 1, 2, 2], np.array([1.0, 0.8, 1.2]))
    return Model(left.unit | right.unit, [left, right])


MODELS = {
    "signed": lambda: _single(signed(7)),
    "nonnegative": lambda: _single(nonnegative(7)),
    "cone": lambda: _single(cone(6)),
    "dictionary": lambda: _dictionary(True),
    "one-sided dictionary": lambda: _dictionary(False),
    "groups": lambda: _single(groups([0, 0, 1, 1, 1, 2, 3], np.array([1.0, 2.0, 0.5, 1.0]))),
    "rank one": lambda: _single(rank_one(3, 3)),
    "psd": lambda: _single(psd(3)),
    "sum": _sum,
    "matrix sum": _matrix_sum,
    "union": _union,
    "vector union": _vector_union,
    "scaled": lambda: _single(scaled(-0.4, nonnegative(7))),
    "mapped": _mapped,
}


def loss_expression(loss, r):
    """f(r) for the solver; its huber is twice ours."""
    if isinstance(loss, fa.Huber):
        terms = 0.5 * cp.huber(r, loss.delta)
    elif isinstance(loss, fa.Logistic):
        terms = cp.logistic(r)
    else:
        terms = 0.5 * cp.square(r)
    return cp.sum(terms if loss.weights is None else cp.multiply(loss.weights, terms))


def solve(objective, constraints):
    """As well as the solver can. What it reaches is judged by our own duality gap, so its doubts are no concern."""
    problem = cp.Problem(cp.Minimize(objective), constraints)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE), problem.status


def operator_for(name, n, m, rng):
    """A random matrix; for the cone one that has the loss bounded over it and a row combination that is positive."""
    M = rng.standard_normal((m, n))
    if name == "cone":
        rows = np.stack([np.ones(m), rng.uniform(0.2, 1.0, m) ** 3])  # both positive: M*1 = 1, M*y < 0 for the second
        M += np.linalg.pinv(rows) @ (np.outer([1.0, -0.1], np.ones(n)) - rows @ M)
    return M


@dataclass
class Solved:
    """A tiny problem with the solver's solutions of its relaxations: (relaxation, x, gauge, pieces) for each."""

    problem: fa.Problem
    model: Model
    answers: list[tuple[fa.relaxations.Relaxation, np.ndarray, float, list[tuple[np.ndarray, np.ndarray]]]]


@cache
def solved(name, loss_name, seed=0):
    """(P1), (P2) and (P3) of a random tiny problem, each at a parameter where neither term is idle."""
    from theory.pairs import make_loss

    rng = np.random.default_rng([seed, *map(ord, name + loss_name)])
    model, m = MODELS[name](), 6
    M = operator_for(name, model.atoms.n, m, rng)
    loss = make_loss(loss_name, m, rng)
    b = np.zeros(m) if isinstance(loss, fa.Logistic) and name != "cone" else rng.standard_normal(m) * 2.0
    f = loss_expression(loss, b - M @ model.x)
    free = fa.Problem.of(M, b, atoms=model.atoms, loss=loss)
    top = free.atoms.support(free.M.adjoint(loss.gradient(b)))
    lam = 0.2 * top if np.isfinite(top) else 0.0
    solve(f + lam * model.gauge, model.constraints)
    x, gauge, pieces = model.solution()
    alpha = 0.5 * (free.at_zero + loss.value(b - M @ x))
    problem = fa.Problem.of(M, b, atoms=model.atoms, loss=loss, alpha=alpha)
    answers = [(fa.P1(problem, lam), x, gauge, pieces)]

    tau = 0.7 * gauge
    solve(f, [*model.constraints, model.gauge <= tau])
    x, gauge, pieces = model.solution()
    shrink = min(1.0, (1 - 1e-8) * tau / gauge) if gauge else 1.0  # inside, also for gauges known to nine digits
    answers.append((fa.P2(problem, tau), shrink * x, shrink * gauge, pieces))

    solve(model.gauge, [*model.constraints, f <= alpha * (1 - 1e-8)])
    answers.append((fa.P3(problem), *model.solution()))
    return Solved(problem, model, answers)
