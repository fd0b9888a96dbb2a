"""Sampled entries of a low-rank matrix as many small regressions: what the methods on factors share.

For least squares over entries (i, j) of X = U V^T each row of U, given V, is a small ridge regression on the entries of
its row, and so is each row of V, given U. |U|^2 / 2 + |V|^2 / 2 is smallest, over all factors of one X, where
U^T U = V^T V, and then it is the nuclear norm of X: a ridge on the factors is (P1) with rank-one atoms.
Row and column biases are one more feature on each side, with coefficient 1 on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewatoms import kernels
from fewatoms._types import Array, FloatArray
from fewatoms.faces import Face, Factors, NonnegativeFactors
from fewatoms.operators import Sampling

NONE = kernels.NONE
ALIVE = 1e-4  # times the first singular value: where atoms are kept on the way down a ladder of penalties
EXACT = 1e-29  # share of |b|^2 below which a loss is rounding
EXACT_NONNEGATIVE = 1e-15  # and where coordinate descent, which comes near zero slowly, may stop
NOISE = 1e-10  # times the longest row of a factor: where others are rounding
UNEVEN = 100  # times the least weight: the largest weight of entries that all count
CANCELLED = 1e-6  # share of |b|^2 below which a loss found by differences is found again from residuals


@dataclass(frozen=True, eq=False)
class Side:
    """The entries row by row (or column by column): where rows start, the other index, value, weight (or none)."""

    starts: Array
    others: Array
    values: FloatArray
    weights: FloatArray

    def solve(self, features: Array, offset: FloatArray, ridge: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Per row, the coefficients of its ridge regression on features of the other side, and twice the minimum."""
        return kernels.row_solves(self.values, self.weights, offset, features, ridge, self.starts, self.others)

    def improve(
        self, features: Array, offset: FloatArray, ridge: FloatArray, bound: Array, begin: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The same with nonnegative coefficients where `bound` says so, improving on `begin`."""
        return kernels.row_solves_nonnegative(
            self.values, self.weights, offset, features, ridge, bound, self.starts, self.others, begin
        )

    def times(self, features: Array, own: FloatArray, other: FloatArray) -> FloatArray:
        """Z @ features for the matrix Z of the weighted values less the biases of this side and the other."""
        values = self.values
        if own.size:
            nothing = np.zeros((own.size, 0)), np.zeros((other.size, 0))
            values = values - _at_entries(self, *nothing, own, other)
        values = self.weights * values if self.weights.size else values
        return kernels.scattered(values, features, self.starts, self.others)


@dataclass(frozen=True, eq=False)
class Triple:
    """X = P diag(s) Q^T, and the biases beside it (empty without). s falls.

    P and Q are orthonormal; where factors must not be negative (`signed` is False) their columns have length 1 only.
    """

    P: Array
    s: FloatArray
    Q: Array
    row: FloatArray
    col: FloatArray
    signed: bool = True

    @property
    def rank(self) -> int:
        return self.s.size

    @property
    def gauge(self) -> float:
        """The nuclear norm, or what the representation bounds it by."""
        return float(self.s.sum())

    def halves(self) -> tuple[Array, Array]:
        """U and V, the scale split evenly."""
        root = np.sqrt(self.s)
        return self.P * root, self.Q * root

    def cut(self, rank: int) -> Triple:
        """The leading part."""
        return replace(self, P=self.P[:, :rank], s=self.s[:rank], Q=self.Q[:, :rank])

    def alive(self) -> Triple:
        """The same with no atom so small that sweeps at a lower penalty would not wake it."""
        return replace(self, s=np.maximum(self.s, ALIVE * float(self.s[0]))) if self.rank else self

    def face(self) -> tuple[Face, FloatArray]:
        """X as a face and coefficients."""
        if self.signed:
            return Factors(self.P, self.Q), np.diag(self.s).ravel()
        return NonnegativeFactors(self.P, self.Q), self.s


def balanced(U: Array, V: Array) -> tuple[Array, FloatArray, Array]:
    """P, s, Q with U V^T = P diag(s) Q^T: orthonormal P and Q."""
    (A, R), (B, S) = np.linalg.qr(U), np.linalg.qr(V)
    u, s, vh = np.linalg.svd(R @ S.T, full_matrices=False)
    return A @ u, s, B @ vh.T


def _normalised(U: Array, V: Array) -> tuple[Array, FloatArray, Array]:
    """The same with the columns of U and V as they are, in units of their lengths."""
    a, b = np.linalg.norm(U, axis=0), np.linalg.norm(V, axis=0)
    order = np.argsort(-a * b, kind="stable")
    a, b = a[order], b[order]
    return U[:, order] / np.where(a > 0, a, 1.0), a * b, V[:, order] / np.where(b > 0, b, 1.0)


class Factored:
    """Least squares over sampled entries, kept row by row and column by column.

    M : Sampling; b : (m,) data in the order of M; weights : (m,) or None
    biased : whether there are row and column biases
    nonnegative : whether U and V must not be negative
    """

    def __init__(
        self, M: Sampling, b: FloatArray, weights: FloatArray | None, *, biased: bool = False, nonnegative: bool = False
    ) -> None:
        self.M, self.biased, self.nonnegative, self.shape = M, biased, nonnegative, M.matrix_shape
        starts, cols, values = M.row_by_row(b)
        w = NONE if weights is None else M.row_by_row(weights)[2]
        self.rows = Side(starts, cols, values, w)
        self.cols = _transposed(self.rows, self.shape)
        self.size = float(np.dot(values, w * values if w.size else values))  # twice the loss of nothing at all
        # the feature that carries biases, in the units of the others: the roots of those of the values
        self.unit = max((self.size / (w.sum() if w.size else values.size)) ** 0.25, 1e-300)

    @property
    def uneven(self) -> bool:
        """Whether some entries weigh so much more than others that the latter hardly count."""
        w = self.rows.weights
        return bool(w.size and w.max() > UNEVEN * w.min())

    def tempered(self, power: float) -> Factored:
        """The same entries with their weights raised to a power below 1, scaled to the same mean."""
        other = copy(self)
        w = self.rows.weights
        unit = float(w.sum()) / float(np.sum(w**power))
        other.rows = replace(self.rows, weights=unit * w**power)
        other.cols = replace(self.cols, weights=unit * self.cols.weights**power)
        other.size = float(np.dot(other.rows.values, other.rows.weights * other.rows.values))
        return other

    # Where to start --------------------------------------------------------------------------------------------------

    def biases(self, shrink: float, rounds: int = 10) -> tuple[FloatArray, FloatArray]:
        """Row and column biases alone; empty where there are none."""
        if not self.biased:
            return NONE, NONE
        ones, ridge, col = [np.ones((n, 1)) for n in self.shape], np.array([shrink]), np.zeros(self.shape[1])
        for _ in range(rounds):
            row = self.rows.solve(ones[1], col, ridge)[0].ravel()
            before, col = col, self.cols.solve(ones[0], row, ridge)[0].ravel()
            if np.abs(col - before).max() <= 1e-3 * np.abs(col).max():
                break
        return row, col

    def leading(self, rank: int, rng: np.random.Generator, shrink: float = 0.0, rounds: int = 3) -> Triple:
        """Roughly the leading singular triplets of M*y at X = 0, by rounds of subspace iteration: a place to start."""
        row, col = self.biases(shrink)
        width = min(rank + 4, *self.shape)
        Q = rng.standard_normal((self.shape[1], width))
        for _ in range(rounds):
            P = np.linalg.qr(self.rows.times(Q, row, col))[0]
            Q, R = np.linalg.qr(self.cols.times(P, col, row))
        u, s, vh = np.linalg.svd(R.T)  # M*y ~ P R^T Q^T
        at = Triple(P @ u, s, Q @ vh.T, row, col).cut(rank)
        return _without_signs(at) if self.nonnegative else at

    def of(self, face: Any, c: FloatArray, shrink: float = 0.0) -> Triple:
        """A compact point as a triple; its biases are those that fit best without it, until the next sweep."""
        row, col = self.biases(shrink)
        if isinstance(face, NonnegativeFactors):
            return Triple(face.P, c, face.Q, row, col, signed=False)
        P, s, Q = balanced(*face.factors(c))
        at = Triple(P, s, Q, row, col)
        return _without_signs(at) if self.nonnegative else at

    def beside(self, at: Triple, more: Triple) -> Triple:
        """The atoms of two points together, with the biases of the first."""
        more = _without_signs(more) if self.nonnegative else more
        (U, V), (A, B) = at.halves(), more.halves()
        shape = _normalised if self.nonnegative else balanced
        P, s, Q = shape(np.concatenate([U, A], axis=1), np.concatenate([V, B], axis=1))
        return replace(at, P=P, s=s, Q=Q, signed=not self.nonnegative)

    # Going on --------------------------------------------------------------------------------------------------------

    def sweep(self, at: Triple, lam: float, shrink: float, V: Any = None, col: Any = None) -> tuple[Triple, float]:
        """Rows for the V and the column biases at hand (or others), columns for those rows; the factors balanced.

        Also what was reached: f + lam times the nuclear norm + the share of the biases. No sweep raises it.
        """
        U, own = at.halves()
        V, col = own if V is None else V, at.col if col is None else col
        r = at.rank
        ridge = np.full(r + self.biased, lam)
        ridge[r:] = shrink * self.unit**2
        U, row, _ = self._half(self.rows, V, col, ridge, U, at.row)
        V, col, left = self._half(self.cols, U, row, ridge, V, col)
        P, s, Q = _normalised(U, V) if self.nonnegative else balanced(U, V)
        split = lam * (float(s.sum()) - 0.5 * float(np.sum(V * V)))  # the minima hold the ridge of V, not that of U
        reached = 0.5 * float(left.sum()) + 0.5 * shrink * float(row @ row) + split
        fresh = Triple(P, s, Q, row, col, signed=not self.nonnegative)
        if reached <= CANCELLED * self.size:  # a difference of large numbers: worth a look at the residual itself
            reached = self.loss(fresh) + lam * fresh.gauge + 0.5 * shrink * float(row @ row + col @ col)
        return fresh, reached

    def _half(
        self, side: Side, V: Array, offset: FloatArray, ridge: FloatArray, U: Array, bias: FloatArray
    ) -> tuple[Array, FloatArray, FloatArray]:
        """One side's factors and biases for those of the other, and twice the minima."""
        r = V.shape[1]
        V = _without_noise(V)
        features = np.concatenate([V, np.full((len(V), 1), self.unit)], axis=1) if self.biased else V
        if self.nonnegative:
            bound = np.arange(ridge.size) < r
            begin = np.concatenate([U, bias[:, None] / self.unit], axis=1) if self.biased else U
            out, left = side.improve(features, offset, ridge, bound, begin)
        else:
            out, left = side.solve(features, offset, ridge)
        return out[:, :r], (self.unit * out[:, r] if self.biased else NONE), left

    def descent(self, at: Triple, lam: float, shrink: float, tol: float) -> Iterator[tuple[Triple, float]]:
        """Sweeps with momentum, one after the other, until one lowers what is reached by less than a share of `tol`.

        Each starts from V + beta (V - V_before), V_before turned to V; what does not go down is done again without.
        """
        reached, before, weight = np.inf, None, 1.0
        floor = (EXACT_NONNEGATIVE if self.nonnegative else EXACT) * self.size
        while True:
            ahead: tuple[Any, Any] = (None, None)
            if before is not None:
                following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight**2))
                beta, weight = (weight - 1.0) / following, following
                ahead = self._ahead(at, before, beta) if beta > 0 else ahead
            fresh, value = self.sweep(at, lam, shrink, *ahead)
            if value > reached and ahead[0] is not None:
                before, weight = None, 1.0
                continue
            gain = reached - value
            if gain > 0:
                before, at, reached = at, fresh, value
                yield at, reached
            if not gain > tol * reached or reached <= floor:
                return

    def _ahead(self, at: Triple, before: Triple, beta: float) -> tuple[Array, FloatArray]:
        (U, V), (U_before, V_before) = at.halves(), before.halves()
        if at.signed:
            a, _, b = np.linalg.svd(U_before.T @ U + V_before.T @ V)
            V_before = V_before @ (a @ b)
        V = V + beta * (V - V_before)
        return V if at.signed else np.maximum(V, 0.0), at.col + beta * (at.col - before.col)

    # What it says ----------------------------------------------------------------------------------------------------

    def predicted(self, at: Triple) -> FloatArray:
        """The entries of X (without biases), in the order of M."""
        return self.M.apply_factors(at.P * at.s, at.Q)

    def loss(self, at: Triple) -> float:
        """f of what X and the biases leave over."""
        rows = self.rows
        left = rows.values - _at_entries(rows, at.P * at.s, at.Q, at.row, at.col)
        return 0.5 * float(np.dot(left, rows.weights * left if rows.weights.size else left))


def _without_noise(V: Array) -> Array:
    """V with rows that are rounding beside the longest set to zero: regressions on them would divide by nothing."""
    lengths = np.einsum("ij,ij->i", V, V)
    noise = lengths < NOISE**2 * lengths.max(initial=0.0)
    return np.where(noise[:, None], 0.0, V) if noise.any() else V


def _without_signs(at: Triple) -> Triple:
    """A nonnegative start: each pair of singular vectors with the sign under which more of it is positive."""
    P, Q = np.empty_like(at.P), np.empty_like(at.Q)
    s = np.empty_like(at.s)
    for a in range(at.rank):
        u, v = at.P[:, a], at.Q[:, a]
        parts = [(np.maximum(t * u, 0.0), np.maximum(t * v, 0.0)) for t in (1.0, -1.0)]
        x, y = max(parts, key=lambda pair: float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1])))
        x, y = x + 0.1 * np.abs(u).mean(), y + 0.1 * np.abs(v).mean()
        size = float(np.linalg.norm(x) * np.linalg.norm(y))
        P[:, a], Q[:, a], s[a] = x / np.linalg.norm(x), y / np.linalg.norm(y), at.s[a] * size
    order = np.argsort(-s, kind="stable")
    return replace(at, P=P[:, order], s=s[order], Q=Q[:, order], signed=False)


def _at_entries(side: Side, left: Array, right: Array, row: FloatArray, col: FloatArray) -> FloatArray:
    """left right^T + biases at the entries of a side, in its order."""
    if row.size:
        left = np.concatenate([left, row[:, None], np.ones((len(row), 1))], axis=1)
        right = np.concatenate([right, np.ones((len(col), 1)), col[:, None]], axis=1)
    return kernels.sampled_products(left, right, side.starts, side.others)


def _transposed(side: Side, shape: tuple[int, int]) -> Side:
    """The same entries column by column."""

    def turned(data: FloatArray) -> Any:
        grid = sp.csr_array((data, side.others, side.starts.astype(side.others.dtype, copy=False)), shape=shape)
        return grid.tocsc()

    grid = turned(side.values)
    w = turned(side.weights).data if side.weights.size else NONE
    return Side(grid.indptr.astype(np.int64), grid.indices, grid.data, w)


__all__ = ["Factored", "Side", "Triple", "balanced"]
