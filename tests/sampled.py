"""Sampled entries of planted low-rank matrices, and slow obvious twins of what is fitted to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import nnls

import fewatoms as fa

WAYS = {  # what may be asked beside k
    "plain": {},
    "ridge": {"ridge": 0.5},
    "biases": {"free": fa.Biases(ridge=0.7), "ridge": 0.5},
    "nonnegative": {"nonnegative": True, "ridge": 0.2},
    "bound": {"misfit": 0.2},
}


def paid(ridge):
    """A ridge on the factors and one on the biases, or "auto" for both, as options of fits with biases."""
    return (
        {"free": "biases", "ridge": ridge}
        if isinstance(ridge, str)
        else {"free": fa.Biases(ridge[1]), "ridge": ridge[0]}
    )


def in_units(options, t, on_factors=True):
    """The same options where data (on_factors) or weights are in other units."""
    found = dict(options)
    if found.get("ridge"):
        found["ridge"] = t * found["ridge"]
    if "free" in found and not on_factors:
        found["free"] = fa.Biases(t * found["free"].ridge)
    return found


@dataclass(frozen=True, eq=False)
class Entries:
    """Values b of the entries (rows, cols) of a matrix; `truth` is the matrix without noise."""

    rows: np.ndarray
    cols: np.ndarray
    b: np.ndarray
    truth: np.ndarray

    @property
    def shape(self):
        return self.truth.shape

    @property
    def M(self):
        return fa.Sampling(self.rows, self.cols, self.shape)

    @property
    def atoms(self):
        return fa.RankOne(*self.shape)

    def _atoms(self, nonnegative):
        return fa.RankOne(*self.shape, nonnegative=True) if nonnegative else self.atoms

    def fit(self, k, *, nonnegative=False, **options):
        return fa.fit(self.M, self.b, atoms=self._atoms(nonnegative), k=k, **options)

    def path(self, k, *, nonnegative=False, **options):
        return fa.fit_path(self.M, self.b, atoms=self._atoms(nonnegative), k=k, **options)

    def some(self, which):
        """The entries in another order, or some of them."""
        return replace(self, rows=self.rows[which], cols=self.cols[which], b=self.b[which])

    def with_values(self, b):
        return replace(self, b=b)

    def unseen(self):
        """Rows and columns of the entries that are not given."""
        hidden = np.ones(self.shape, dtype=bool)
        hidden[self.rows, self.cols] = False
        return np.nonzero(hidden)


# Planting ------------------------------------------------------------------------------------------------------------


def pattern(rng, p, q, least, share):
    """Positions drawn at random, at least so many in each row and each column (as far as there is room)."""
    given = rng.random((p, q)) < share
    for i in range(p):
        given[i, rng.permutation(q)[: max(0, min(least, q) - given[i].sum())]] = True
    for j in range(q):
        given[rng.permutation(p)[: max(0, min(least, p) - given[:, j].sum())], j] = True
    return np.nonzero(given)


def plant(seed, p, q, rank, *, share=0.7, least=None, noise=0.0, offsets=False, signs=True):
    """A planted low-rank matrix, by default with two entries a row and column more than its rank."""
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal if signs else lambda size: rng.uniform(0.2, 1.5, size)
    truth = draw((p, rank)) @ draw((q, rank)).T
    if offsets:
        truth = truth + 3.0 + rng.standard_normal((p, 1)) + rng.standard_normal(q)
    rows, cols = pattern(rng, p, q, rank + 2 if least is None else least, share)
    return Entries(rows, cols, truth[rows, cols] + noise * rng.standard_normal(rows.size), truth)


# What is minimised ---------------------------------------------------------------------------------------------------


def fit_of(entries, s, weights=None):
    """Half the (weighted) squares of what the predictions leave over, from the factors and the biases alone."""
    X = s.left @ s.right.T
    if s.biases is not None:
        X = X + s.biases.center + s.biases.rows[:, None] + s.biases.cols
    w = np.ones(entries.b.size) if weights is None else weights
    return 0.5 * float(w @ (entries.b - X[entries.rows, entries.cols]) ** 2)


def objective(entries, s, weights=None):
    """The fit, the ridge on the factors, and that on the biases."""
    lam, shrink = s.ridge
    value = fit_of(entries, s, weights) + 0.5 * lam * float(np.sum(s.left**2) + np.sum(s.right**2))
    if s.biases is not None:
        value += 0.5 * shrink * float(np.sum(s.biases.rows**2) + np.sum(s.biases.cols**2))
    return value


# Alternating least squares, a row at a time ---------------------------------------------------------------------------


def _regressions(index, count, others, b, w, features, ridge, solve):
    k = features.shape[1]
    out = np.zeros((count, k))
    for i in range(count):
        at = np.flatnonzero(index == i)
        A = np.concatenate([np.sqrt(w[at])[:, None] * features[others[at]], np.sqrt(ridge) * np.eye(k)])
        out[i] = solve(A, np.concatenate([np.sqrt(w[at]) * b[at], np.zeros(k)]))
    return out


def _least_squares(A, b):
    return np.linalg.lstsq(A, b, rcond=None)[0]


def _nonnegative_least_squares(A, b):
    return nnls(A, b)[0]


def alternating(entries, V, *, ridge=0.0, weights=None, sweeps=60, nonnegative=False):
    """(objective, U, V) after sweeps of plain alternating least squares from V."""
    e, (p, q) = entries, entries.shape
    w = np.ones(e.b.size) if weights is None else weights
    solve = _nonnegative_least_squares if nonnegative else _least_squares
    for _ in range(sweeps):
        U = _regressions(e.rows, p, e.cols, e.b, w, V, ridge, solve)
        V = _regressions(e.cols, q, e.rows, e.b, w, U, ridge, solve)
    left = e.b - (U @ V.T)[e.rows, e.cols]
    return 0.5 * float(w @ left**2) + 0.5 * ridge * float(np.sum(U**2) + np.sum(V**2)), U, V


def usual_start(entries, k):
    """The leading right singular vectors of the matrix with zeros where nothing is known."""
    Z = np.zeros(entries.shape)
    Z[entries.rows, entries.cols] = entries.b
    return np.linalg.svd(Z)[2][:k].T


def best_of_restarts(entries, k, rng, count, **options):
    """The lowest objective of alternating least squares from random starts."""
    starts = [rng.standard_normal((entries.shape[1], k)) for _ in range(count)]
    starts = [np.abs(V) for V in starts] if options.get("nonnegative") else starts
    return min(alternating(entries, V, **options)[0] for V in starts)


# Convex programs ------------------------------------------------------------------------------------------------------


def _solved(program):
    program.solve(solver=cp.CLARABEL)
    return float(program.value)


def _left(entries, X, weights, biases=None):
    left = entries.b - X[entries.rows, entries.cols]
    if biases is not None:
        left = left - biases[0][entries.rows] - biases[1][entries.cols]
    return left if weights is None else cp.multiply(np.sqrt(weights), left)


def relaxation(entries, lam, *, weights=None, shrink=None, center=0.0) -> tuple[float, Any]:
    """The optimum of (P1) over all matrices, with shrunken biases beside them if `shrink` is given, and the matrix."""
    X = cp.Variable(entries.shape)
    penalty, biases = lam * cp.normNuc(X), None
    if shrink is not None:
        biases = [cp.Variable(n) for n in entries.shape]
        penalty = penalty + 0.5 * shrink * sum(cp.sum_squares(v) for v in biases)
    left = _left(entries.with_values(entries.b - center), X, weights, biases)
    return _solved(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(left) + penalty))), X.value


def smallest_nuclear_norm(entries, alpha, *, weights=None) -> tuple[float, Any]:
    """The optimum of (P3): the smallest nuclear norm with a loss of at most alpha, and a matrix that has it."""
    X = cp.Variable(entries.shape)
    within = cp.norm(_left(entries, X, weights), 2) <= np.sqrt(2 * alpha)
    return _solved(cp.Problem(cp.Minimize(cp.normNuc(X)), [within])), X.value


def rank_of(X, tol=1e-4):
    return int(np.linalg.matrix_rank(X, tol=tol * max(1.0, float(np.abs(X).max()))))


def biases_by_hand(entries, X, shrink, *, weights=None, center=0.0):
    """Row and column biases beside X: a ridge regression on columns that say which row, which column."""
    e, (p, q) = entries, entries.shape
    w = np.ones(e.b.size) if weights is None else weights
    D = np.concatenate([e.rows[:, None] == np.arange(p), e.cols[:, None] == np.arange(q)], axis=1).astype(float)
    left = e.b - center - X[e.rows, e.cols]
    v = np.linalg.solve(D.T @ (w[:, None] * D) + shrink * np.eye(p + q), D.T @ (w * left))
    return v[:p], v[p:]


# What is claimed ------------------------------------------------------------------------------------------------------


def assert_at_most(low, high, rel):
    """low <= high up to a share of their size."""
    assert low <= high + rel * max(abs(low), abs(high)), (low, high)


def assert_encloses(certificate, optimum):
    """primal - gap <= optimum <= primal, up to what cvxpy is off."""
    slack = 1e-6 * (1 + abs(optimum))
    assert certificate.gap >= 0
    assert certificate.primal - certificate.gap <= optimum + slack
    assert optimum <= certificate.primal + slack
