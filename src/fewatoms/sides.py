"""Sampled entries row by row: many small regressions at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fewatoms import kernels, ledger
from fewatoms._types import Array, FloatArray

NONE = kernels.NONE
BETWEEN_TICKS = 2_000_000_000  # multiplications between two looks at the clock: about a second of one core


class Regressed(NamedTuple):
    """What regressions of all rows gave."""

    factors: Array
    biases: FloatArray  # empty without
    left: FloatArray  # twice the minima


@dataclass(frozen=True, eq=False)
class Side:
    """The entries row by row (or column by column): where rows start, the other index, value, weight (or none); both of
    these in double or in single precision."""

    starts: Array
    others: Array
    values: FloatArray
    weights: FloatArray

    def parted(self, out: Array) -> tuple[Side, Side]:
        """The entries for which a mask is not set, and those for which it is: few of them."""
        rows = np.searchsorted(self.starts, np.flatnonzero(out), side="right") - 1
        before = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.starts.size - 1))])
        return self._of(self.starts - before, ~out), self._of(before, out)

    def _of(self, starts: Array, some: Array) -> Side:
        weights = self.weights[some] if self.weights.size else self.weights
        return Side(starts, self.others[some], self.values[some], weights)

    def solve(self, features: Array, offset: FloatArray, ridge: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Per row, the coefficients of its ridge regression on features of the other side, and twice the minimum."""
        rows, r = self.starts.size - 1, features.shape[1]
        pieces = min(rows, 1 + (r + 1) * (r + 1) * self.values.size // BETWEEN_TICKS)
        if pieces == 1:
            return kernels.row_solves(self.values, self.weights, offset, features, ridge, self.starts, self.others)
        out, left = np.empty((rows, r)), np.empty(rows)
        cuts = np.searchsorted(self.starts, np.linspace(0, self.values.size, pieces + 1)[1:-1])
        for first, last in pairwise([0, *cuts.tolist(), rows]):
            some = self.starts[first : last + 1]
            out[first:last], left[first:last] = kernels.row_solves(
                self.values, self.weights, offset, features, ridge, some, self.others
            )
            ledger.tick()
        return out, left

    def improve(
        self, features: Array, offset: FloatArray, ridge: FloatArray, bound: Array, begin: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The same with nonnegative coefficients where `bound` says so, improving on `begin`."""
        return kernels.row_solves_nonnegative(
            self.values, self.weights, offset, features, ridge, bound, self.starts, self.others, begin
        )

    def regress(
        self,
        V: Array,
        lam: float,
        offset: FloatArray = NONE,
        *,
        unit: float | None = None,
        shrink: float = 0.0,
        begin: tuple[Array, FloatArray] | None = None,
    ) -> Regressed:
        """Per row, the factor u and bias c that minimise, over its entries (j, value),

        sum of weight (value - offset_j - <u, V_j> - c)^2 / 2 + lam |u|^2 / 2 + shrink c^2 / 2.

        unit : what the feature holds that carries the biases, in the units of V; None where there are no biases
        begin : factors and biases to improve on, where factors must not be negative
        """
        r = V.shape[1]
        features, ridge = V, np.full(r, lam)
        if unit is not None:
            features = np.concatenate([V, np.full((len(V), 1), unit, dtype=V.dtype)], axis=1)
            ridge = np.append(ridge, shrink * unit**2)
        if begin is None:
            out, left = self.solve(features, offset, ridge)
        else:
            U, bias = begin
            first = U if unit is None else np.concatenate([U, bias[:, None] / unit], axis=1)
            out, left = self.improve(features, offset, ridge, np.arange(ridge.size) < r, first)
        return Regressed(out[:, :r], NONE if unit is None else unit * out[:, r], left)

    def times(self, features: Array, own: FloatArray, other: FloatArray) -> FloatArray:
        """Z @ features for the matrix Z of the weighted values less the biases of this side and the other."""
        values = self.values
        if own.size:
            nothing = np.zeros((own.size, 0)), np.zeros((other.size, 0))
            left = at_entries(self, *nothing, own, other)
            values = np.subtract(values, left, out=left)
        values = self.weights * values if self.weights.size else values
        values = values.astype(np.float64, copy=False)
        return kernels.scattered(values, features, self.starts, self.others)


def at_entries(side: Side, left: Array, right: Array, row: FloatArray, col: FloatArray) -> FloatArray:
    """left right^T + biases at the entries of a side, in its order."""
    if row.size:
        left = np.concatenate([left, row[:, None], np.ones((len(row), 1))], axis=1)
        right = np.concatenate([right, np.ones((len(col), 1)), col[:, None]], axis=1)
    return kernels.sampled_products(left, right, side.starts, side.others)
