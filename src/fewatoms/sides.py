"""Sampled entries line by line: many small regressions at once, and sums over all entries.

`Lines` is what methods work with, wherever entries are; `Side` has them in arrays.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from fewatoms import kernels, ledger
from fewatoms._types import Array, FloatArray, IntArray, Matrix

NONE = kernels.NONE
BETWEEN_TICKS = 2_000_000_000  # multiplications between two looks at the clock: about a second of one core
REPAID = 500  # regressions of a millisecond each that the twin of a compiled loop makes in a run, before that is loaded
ENTRIES_AT_ONCE = 1 << 16  # entries looked at together, where a temporary for each is made
UNEVEN_WEIGHTS = 100  # times the least weight: the largest weight of entries that all count
HELD_SINGLY = 1e9  # and 1 over it: weights, and roots of values, that leave room for single precision


class Regressed(NamedTuple):
    """What regressions of all rows gave."""

    factors: Array
    biases: FloatArray  # empty without
    left: FloatArray  # twice the minima


class Split(Protocol):
    """Which entries are held out."""

    def out(self, side: Side, first: int, *, turned: bool) -> Array:
        """A mark for each entry of some lines, of which the first has this number; whether these are columns."""
        ...


class Lines(ABC):
    """The entries of a matrix line by line: rows, or columns with `turned`."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many entries."""

    @property
    @abstractmethod
    def lengths(self) -> IntArray:
        """How many each line has."""

    @property
    @abstractmethod
    def uneven(self) -> bool:
        """Whether some entries weigh so much more than others that the latter hardly count."""

    @property
    @abstractmethod
    def heavy(self) -> float:
        """What entries weigh, about, as a power of two."""

    @property
    @abstractmethod
    def narrow(self) -> bool:
        """Whether values and weights are held in single precision, those of the other order being as they are."""

    @abstractmethod
    def turned(self, shape: tuple[int, int], *, narrow: bool = False) -> Lines:
        """The same entries column by column, for rows of a matrix of this shape; values and weights in single precision
        where that may be so, and there is room for them."""

    @abstractmethod
    def split(self, by: Split) -> tuple[Lines, Lines]:
        """Those that are not held out, and those that are."""

    @abstractmethod
    def shifted(self, by: float) -> Lines:
        """Values less a number, for those that nobody works with as they are any more."""

    @abstractmethod
    def tempering(self, power: float) -> float:
        """What weights raised to a power are multiplied by, to have the same mean."""

    @abstractmethod
    def tempered(self, power: float, unit: float) -> Lines:
        """The same entries with their weights raised to a power, times a number."""

    # Sums over all entries

    @abstractmethod
    def square(self) -> float:
        """The weighted sum of the squares of the values."""

    @abstractmethod
    def weight(self) -> float:
        """The sum of the weights, or how many entries there are."""

    @abstractmethod
    def mean(self) -> float:
        """The weighted mean of the values."""

    @abstractmethod
    def misfit(self, left: Array, right: Array, row: FloatArray, col: FloatArray) -> float:
        """The weighted sum of the squares of what left right^T and biases leave of the values."""

    # Line by line

    @abstractmethod
    def solve(self, features: Array, offset: FloatArray, ridge: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Per line, the coefficients of its ridge regression on features of the other side, and twice the minimum."""

    @abstractmethod
    def improve(
        self, features: Array, offset: FloatArray, ridge: FloatArray, bound: Array, begin: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The same with nonnegative coefficients where `bound` says so, improving on `begin`."""

    @abstractmethod
    def times(self, features: Array, own: FloatArray, other: FloatArray) -> FloatArray:
        """Z @ features for the matrix Z of the weighted values less the biases of this side and the other."""

    @abstractmethod
    def residual_times(
        self, own: Array, other: Array, biases: tuple[FloatArray, FloatArray], features: Array, background: float = 0.0
    ) -> FloatArray:
        """Z @ features for the weighted residual Z of own other^T and biases, which is not kept; all other cells are
        zeros of the weight of a background."""

    @abstractmethod
    def least(self, labels: IntArray) -> IntArray:
        """Per line the least label of the other side among its entries; more than any for lines without entries."""

    @abstractmethod
    def shares(self, P: Array, squares: Array, groups: IntArray, number: int, background: float = 0.0) -> FloatArray:
        """The sums of P_i^2 squares_j over the entries of each group of lines, in weights less that of a background: a
        row for each."""

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


@dataclass(frozen=True, eq=False)
class Side(Lines):
    """In arrays: where lines start, the other index, value, weight (or none); both of these in double or in single
    precision."""

    starts: Array
    others: Array
    values: FloatArray
    weights: FloatArray

    @property
    def count(self) -> int:
        return self.others.size

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.starts)

    @property
    def uneven(self) -> bool:
        w = self.weights
        return bool(w.size and w.max() > UNEVEN_WEIGHTS * w.min())

    @property
    def heavy(self) -> float:
        return 2.0 ** round(math.log2(float(self.weights.mean()))) if self.weights.size else 1.0

    @property
    def narrow(self) -> bool:
        return bool(self.values.dtype == np.float32)

    def turned(self, shape: tuple[int, int], *, narrow: bool = False) -> Side:
        w = self.weights
        ordinary = not w.size or (w.min() > 1 / HELD_SINGLY and w.max() < HELD_SINGLY)
        kind = np.float32 if narrow and ordinary else np.float64

        def other_way(data: FloatArray) -> Matrix:
            starts = self.starts.astype(self.others.dtype, copy=False)
            return sp.csr_array((data.astype(kind, copy=False), self.others, starts), shape=shape).tocsc()

        w = other_way(w).data if w.size else NONE
        grid = other_way(self.values)
        return Side(grid.indptr.astype(np.int64), grid.indices, grid.data, w)

    def split(self, by: Split) -> tuple[Side, Side]:
        return self.parted(by.out(self, 0, turned=False))

    def parted(self, out: Array) -> tuple[Side, Side]:
        """The entries for which a mask is not set, and those for which it is: few of them."""
        rows = np.searchsorted(self.starts, np.flatnonzero(out), side="right") - 1
        before = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.starts.size - 1))])
        return self._of(self.starts - before, ~out), self._of(before, out)

    def _of(self, starts: Array, some: Array) -> Side:
        weights = self.weights[some] if self.weights.size else self.weights
        return Side(starts, self.others[some], self.values[some], weights)

    def shifted(self, by: float) -> Side:
        np.subtract(self.values, by, out=self.values)
        return self

    def tempering(self, power: float) -> float:
        return float(self.weights.sum()) / float(np.sum(self.weights**power))

    def tempered(self, power: float, unit: float) -> Side:
        return replace(self, weights=unit * self.weights**power)

    # Sums over all entries

    def square(self) -> float:
        values, w = self.values, self.weights
        return float(np.dot(values, w * values if w.size else values))

    def weight(self) -> float:
        return float(self.weights.sum()) if self.weights.size else float(self.values.size)

    def mean(self) -> float:
        return float(np.average(self.values, weights=self.weights if self.weights.size else None))

    def left(self, left: Array, right: Array, row: FloatArray, col: FloatArray) -> FloatArray:
        """What left right^T and biases leave of the values."""
        x = at_entries(self, left, right, row, col)
        return np.subtract(self.values, x, out=x)

    def misfit(self, left: Array, right: Array, row: FloatArray, col: FloatArray) -> float:
        over = self.left(left, right, row, col)
        return float(np.dot(self.weights * over if self.weights.size else over, over))

    # Line by line

    def solve(self, features: Array, offset: FloatArray, ridge: FloatArray) -> tuple[FloatArray, FloatArray]:
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
        often = ledger.regressed() > REPAID
        return kernels.row_solves_nonnegative(
            self.values, self.weights, offset, features, ridge, bound, self.starts, self.others, begin, often
        )

    def times(self, features: Array, own: FloatArray, other: FloatArray) -> FloatArray:
        values = self.values
        if own.size:
            values = self.left(np.zeros((own.size, 0)), np.zeros((other.size, 0)), own, other)
        values = self.weights * values if self.weights.size else values
        values = values.astype(np.float64, copy=False)
        return kernels.scattered(values, features, self.starts, self.others)

    def residual_times(
        self, own: Array, other: Array, biases: tuple[FloatArray, FloatArray], features: Array, background: float = 0.0
    ) -> FloatArray:
        out = np.empty((self.starts.size - 1, features.shape[1]))
        mine, theirs = biases
        beside = own.shape[1] > 0 or mine.size > 0
        for first, last in self.pieces(features.size):
            part = self._part(first, last)
            left = part.values.astype(np.float64, copy=False)
            x = at_entries(part, own[first:last], other, mine[first:last], theirs) if beside else None
            left = left if x is None else left - x
            pull = part.weights * left if part.weights.size else left
            pull = pull if x is None or not background else pull + background * x
            out[first:last] = kernels.scattered(pull, features, part.starts, part.others)
            ledger.tick()
        return out - background * (own @ (other.T @ features)) if background else out

    def least(self, labels: IntArray) -> IntArray:
        out = np.full(self.starts.size - 1, np.iinfo(np.intp).max, dtype=np.intp)
        for first, last in self.pieces():
            filled = first + np.flatnonzero(np.diff(self.starts[first : last + 1]))
            if filled.size:
                begin = self.starts[first]
                some = labels[self.others[begin : self.starts[last]]]
                out[filled] = np.minimum.reduceat(some, self.starts[filled] - begin)
            ledger.tick()
        return out

    def shares(self, P: Array, squares: Array, groups: IntArray, number: int, background: float = 0.0) -> FloatArray:
        sizes = np.zeros((number, P.shape[1]))
        for first, last in self.pieces(squares.size):
            part = self._part(first, last)
            w = (part.weights if part.weights.size else np.ones(part.others.size)) - background
            found = P[first:last] ** 2 * kernels.scattered(w, squares, part.starts, part.others)
            np.add.at(sizes, groups[first:last], found)
        return sizes

    def pieces(self, table: int = 0) -> Iterator[tuple[int, int]]:
        """Ranges of lines with about as many entries each; no fewer than a table that loops copy
        has numbers."""
        starts, first, most = self.starts, 0, max(ENTRIES_AT_ONCE, table)
        while first < starts.size - 1:
            last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
            last = max(first + 1, min(last, starts.size - 1))
            yield first, last
            first = last

    def _part(self, first: int, last: int) -> Side:
        """Some lines alone."""
        some = slice(self.starts[first], self.starts[last])
        weights = self.weights[some] if self.weights.size else self.weights
        return Side(self.starts[first : last + 1] - self.starts[first], self.others[some], self.values[some], weights)


def at_entries(side: Side, left: Array, right: Array, row: FloatArray, col: FloatArray) -> FloatArray:
    """left right^T + biases at the entries of a side, in its order."""
    if row.size:
        left = np.concatenate([left, row[:, None], np.ones((len(row), 1))], axis=1)
        right = np.concatenate([right, np.ones((len(col), 1)), col[:, None]], axis=1)
    return kernels.sampled_products(left, right, side.starts, side.others)
