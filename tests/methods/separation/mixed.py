"""Matrices of low rank with a few entries changed, and what is said about answers recomputed from their dense form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

import fewatoms as fa
from fewatoms.atoms import Sum


@dataclass(frozen=True, eq=False)
class Mixed:
    """X = low + sparse + noise, of which the entries `seen` are given."""

    low: np.ndarray
    sparse: np.ndarray
    X: np.ndarray
    seen: np.ndarray
    k: tuple[int, int]

    @property
    def shape(self):
        return self.X.shape

    @property
    def b(self):
        return self.X[self.seen]

    @property
    def M(self):
        return fa.Identity(self.shape) if self.seen.all() else fa.Sampling(*np.nonzero(self.seen), self.shape)

    def fit(self, k=None, *, kind=Sum, turned=False, low=1.0, sparse=1.0, b=None, **options):
        """The answer with the low-rank part first, whatever the order of the parts."""
        parts = [low * fa.RankOne(*self.shape), sparse * fa.SignedOneHot(self.shape)]
        k = k[::-1] if turned and isinstance(k, tuple) else k
        atoms = kind(*(parts[::-1] if turned else parts))
        s = fa.fit(self.M, self.b if b is None else b, atoms=atoms, k=k, **options)
        L, S = s.parts[::-1] if turned else s.parts
        return s, L, S

    def left(self, x):
        return np.where(self.seen, self.X - x, 0.0)


def of(X, seen=None, k=(1, 1)):
    """A matrix that nothing is known about."""
    seen = np.ones(X.shape, dtype=bool) if seen is None else seen
    return Mixed(X, np.zeros_like(X), X, seen, k)


def mix(seed, p, q, rank, count, *, size=(5.0, 10.0), noise=0.0, share=1.0):
    """A planted matrix; the logarithms of the changes are drawn between those of two sizes, in units of the rest."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((p, rank)) @ rng.standard_normal((q, rank)).T / math.sqrt(rank)
    seen = rng.random((p, q)) < share
    S = np.zeros((p, q))
    at = rng.permutation(np.flatnonzero(seen))[:count]
    S.flat[at] = rng.choice([-1.0, 1.0], count) * np.exp(rng.uniform(*np.log(size), count))
    return Mixed(L, S, L + S + noise * rng.standard_normal((p, q)), seen, (rank, count))


def assert_adds_up(m, s, L, S, k=(None, None)):
    """What is said about an answer, recomputed from its dense form."""
    size = np.abs(m.X).max()
    np.testing.assert_allclose(L.x + S.x, s.x, atol=1e-11 * size)
    assert np.linalg.matrix_rank(L.x, tol=1e-9 * size) <= L.cardinality
    assert np.count_nonzero(S.x) <= S.cardinality
    assert all(j is None or part.cardinality <= j for part, j in zip((L, S), k, strict=True))
    assert not S.x[~m.seen].any()
    loss = 0.5 * float(np.sum(m.left(s.x) ** 2))
    reference = 0.5 * float(m.b @ m.b)
    assert s.loss == pytest.approx(loss, rel=1e-7, abs=1e-24 * reference)
    assert s.misfit == pytest.approx(math.sqrt(loss / reference), rel=1e-7, abs=1e-12)
    assert s.cardinality == L.cardinality + S.cardinality
    return loss


def assert_honest(s, misfit):
    """With a bound: success, status and misfit agree."""
    met = s.misfit <= misfit * (1 + 1e-9) + 1e-13
    assert s.success == met
    assert s.status is (fa.Status.BOUND_MET if met else fa.Status.NOT_REACHED)


def pursuit(m, c, delta):
    """The least |L|_* + |S|_1 / c with |X - L - S| <= delta on what is seen, by cvxpy."""
    L, S = cp.Variable(m.shape), cp.Variable(m.shape)
    left = (m.X - L - S)[m.seen]
    bound = cp.norm(left, 2) <= delta if delta else left == 0
    program = cp.Problem(cp.Minimize(cp.normNuc(L) + cp.sum(cp.abs(S)) / c), [bound])
    return float(program.solve(solver=cp.CLARABEL))


def assert_encloses(certificate, optimum):
    """primal - gap <= optimum <= primal, up to what cvxpy is off."""
    slack = 3e-6 * optimum
    assert certificate.gap >= 0
    assert certificate.primal - certificate.gap <= optimum + slack
    assert optimum <= certificate.primal + slack


def alternating_projections(m, steps=100):
    """The lowest loss on the way: the best low rank for what the entries leave, the largest entries for what that
    leaves; nothing is known where nothing is seen."""
    rank, count = m.k
    L, S, best = np.zeros(m.shape), np.zeros(m.shape), math.inf
    for _ in range(steps):
        U, s, V = np.linalg.svd(np.where(m.seen, m.X - S, L), full_matrices=False)
        L = (U[:, :rank] * s[:rank]) @ V[:rank]
        R, S = m.left(L), np.zeros(m.shape)
        out = np.argsort(-np.abs(R), axis=None, kind="stable")[:count]
        S.flat[out] = R.flat[out]
        best = min(best, 0.5 * float(np.sum(m.left(L + S) ** 2)))
    return best
