"""Sampled entries line by line: many small regressions at once, and sums over all entries.

`Lines` is what methods work with, wherever entries are; `Side` has them in arrays.
"""

from __future__ import annotations

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
ENTRIES_AT_ONCE = 1 << 16  # entries looked at together, where a temporary for each is made
UNEVEN_WEIGHTS = 100  # times the least weight: the largest weight of entries that all count


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

    @abstractmethod
    def turned(self, shape: tuple[int, int]) -> Lines:
        """The same entries column by column, for rows of a matrix of this shape."""

    @abstractmethod
    def split(self, by: Split) -> tuple[Lines, Lines]:
        """Those that are not held out, and those that are."""

    @abstractmethod
    def shifted(self, by: float) -> Lines:
        """Values less a number."""

    @abstractmethod
    def tempered(self, power: float) -> Lines:
        """Weights raised to a power, scaled to the same mean."""

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
        self, own: Array, other: Array, biases: tuple[FloatArray, FloatArray], features: Array
    ) -> FloatArray:
        """Z @ features for the weighted residual Z of own other^T and biases, which is not kept."""

    @abstractmethod
    def least(self, labels: IntArray) -> IntArray:
        """Per line the least label of the other side among its entries; more than any for lines without entries."""

    @abstractmethod
    def shares(self, P: Array, squares: Array, groups: IntArray, number: int) -> FloatArray:
        """The weighted sums of P_i^2 squares_j over the entries of each group of lines: a row for each."""

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
    """In arrays: where lines start, the other index, value, weight (or none)."""

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

    def turned(self, shape: tuple[int, int]) -> Side:
        def other_way(data: FloatArray) -> Matrix:
            starts = self.starts.astype(self.others.dtype, copy=False)
            return sp.csr_array((data, self.others, starts), shape=shape).tocsc()

        grid = other_way(self.values)
        w = other_way(self.weights).data if self.weights.size else NONE
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
        return replace(self, values=self.values - by)

    def tempered(self, power: float) -> Side:
        w = self.weights
        return replace(self, weights=float(w.sum()) / float(np.sum(w**power)) * w**power)

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
        return kernels.row_solves_nonnegative(
            self.values, self.weights, offset, features, ridge, bound, self.starts, self.others, begin
        )

    def times(self, features: Array, own: FloatArray, other: FloatArray) -> FloatArray:
        values = self.values
        if own.size:
            values = self.left(np.zeros((own.size, 0)), np.zeros((other.size, 0)), own, other)
        values = self.weights * values if self.weights.size else values
        return kernels.scattered(values, features, self.starts, self.others)

    def residual_times(
        self, own: Array, other: Array, biases: tuple[FloatArray, FloatArray], features: Array
    ) -> FloatArray:
        out = np.empty((self.starts.size - 1, features.shape[1]))
        mine, theirs = biases
        for first, last in self._pieces():
            part = self._part(first, last)
            left = part.left(own[first:last], other, mine[first:last], theirs)
            out[first:last] = kernels.scattered(
                part.weights * left if part.weights.size else left, features, part.starts, part.others
            )
            ledger.tick()
        return out

    def least(self, labels: IntArray) -> IntArray:
        out = np.full(self.starts.size - 1, np.iinfo(np.intp).max, dtype=np.intp)
        for first, last in self._pieces():
            filled = first + np.flatnonzero(np.diff(self.starts[first : last + 1]))
            if filled.size:
                begin = self.starts[first]
                some = labels[self.others[begin : self.starts[last]]]
                out[filled] = np.minimum.reduceat(some, self.starts[filled] - begin)
            ledger.tick()
        return out

    def shares(self, P: Array, squares: Array, groups: IntArray, number: int) -> FloatArray:
        sizes = np.zeros((number, P.shape[1]))
        for first, last in self._pieces():
            part = self._part(first, last)
            w = part.weights if part.weights.size else np.ones(part.others.size)
            found = P[first:last] ** 2 * kernels.scattered(w, squares, part.starts, part.others)
            np.add.at(sizes, groups[first:last], found)
        return sizes

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Ranges of lines with about as many entries each."""
        starts, first = self.starts, 0
        while first < starts.size - 1:
            last = int(np.searchsorted(starts, starts[first] + ENTRIES_AT_ONCE, side="right")) - 1
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


# Held out -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Marked:
    """Entries that are marked, row by row."""

    marks: Array

    def out(self, side: Side, first: int, *, turned: bool) -> Array:
        """The marks, which are those of all rows."""
        return self.marks


@dataclass(frozen=True, eq=False)
class Named:
    """Entries by their places, row q + column, ascending: few of them."""

    places: IntArray
    q: int

    def out(self, side: Side, first: int, *, turned: bool) -> Array:
        """Whether each entry is among them."""
        lines = first + np.repeat(np.arange(side.starts.size - 1), side.lengths)
        others = side.others.astype(np.int64)
        return np.isin(others * self.q + lines if turned else lines * self.q + others, self.places)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Entries drawn by their places alone, as if by lot: those from one share to another of all lots. The order in
    which entries come does not matter, and nothing is as long as they are."""

    seed: int
    low: float
    high: float

    def out(self, side: Side, first: int, *, turned: bool) -> Array:
        """Whether each entry is drawn."""
        marks = np.empty(side.count, dtype=bool)
        low, high = (np.uint64(min(int(share * 2.0**64), 2**64 - 1)) for share in (self.low, self.high))
        for a, b in side._pieces():
            some = slice(side.starts[a], side.starts[b])
            lines = np.repeat(np.arange(first + a, first + b, dtype=np.uint64), np.diff(side.starts[a : b + 1]))
            others = side.others[some].astype(np.uint64)
            lot = _lots(others, lines, self.seed) if turned else _lots(lines, others, self.seed)
            marks[some] = (lot >= low) & (lot < high)
        return marks


def _lots(rows: Array, cols: Array, seed: int) -> Array:
    """A number of 64 bits for each place, in which every bit of the place and of the seed counts in all others (the
    last steps of MurmurHash3, after Appleby)."""
    lot = (rows << np.uint64(32)) ^ cols ^ np.uint64(seed)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        lot ^= lot >> np.uint64(33)
        lot *= np.uint64(factor)
    lot ^= lot >> np.uint64(33)
    return lot
