"""A completed matrix with ids: the entries it came from, what a low-rank model says of any of them, and the best of
each row. The command line and the estimators stand on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from fewatoms._types import Array, FloatArray, IntArray, Matrix
from fewatoms.ids import UNKNOWN, Ids, told
from fewatoms.lowrank import LowRank
from fewatoms.operators import Sampling

Reads: TypeAlias = Callable[[IntArray], Matrix]

SCORES_TOGETHER = 1 << 22  # scores of users that are looked at together


@dataclass(frozen=True, eq=False)
class Entries:
    """Entries (i, j) with their values, by the codes of rows and columns.

    weights : how much each counts, all positive; None where they count the same
    rows, cols : the ids; some may have no entries
    background : the weight of all other cells, as zeros; 0 where they are unknown
    """

    i: IntArray
    j: IntArray
    values: FloatArray
    weights: FloatArray | None
    rows: Ids
    cols: Ids
    background: float = 0.0

    @classmethod
    def of_table(cls, X: FloatArray, cols: Ids, weights: FloatArray | None) -> Entries:
        """All that is not NaN; rows are numbered, and may have weights."""
        i, j = np.nonzero(~np.isnan(X))
        spread = None if weights is None else weights[i]
        return cls(i, j, X[i, j], spread, Ids(np.arange(len(X))), cols)._weighed("X")

    @classmethod
    def of_pairs(cls, columns: tuple[Array, Array], values: FloatArray, weights: FloatArray | None) -> Entries:
        rows, i = Ids.of("the first column of pairs", columns[0])
        cols, j = Ids.of("the second column of pairs", columns[1])
        return cls(i, j, values, weights, rows, cols)._weighed("pairs")

    def _weighed(self, name: str) -> Entries:
        """Without those of weight 0."""
        one = self if self.weights is None or self.weights.all() else self.taken(np.flatnonzero(self.weights))
        if one.i.size == 0:
            raise ValueError(f"{name} must have at least one entry that is not missing and has a weight; got none")
        return one

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.cols)

    @cached_property
    def grid(self) -> Matrix:
        """Where there are entries, row by row."""
        return sp.csr_array((np.ones(self.i.size, dtype=bool), (self.i, self.j)), shape=self.shape)

    def taken(self, which: IntArray) -> Entries:
        weights = None if self.weights is None else self.weights[which]
        return replace(self, i=self.i[which], j=self.j[which], values=self.values[which], weights=weights)

    def once(self, duplicates: str) -> Entries:
        """Each entry once: those that repeat are refused, averaged, added up, or the last one counts."""
        if duplicates not in ("error", "mean", "last", "sum"):
            raise ValueError(f"duplicates must be 'error', 'mean', 'last' or 'sum'; got {duplicates!r}")
        if self.grid.nnz == self.i.size:
            return self
        keys = self.i.astype(np.int64) * self.shape[1] + self.j
        if duplicates == "last":
            _, back = np.unique(keys[::-1], return_index=True)
            return self.taken(np.sort(keys.size - 1 - back))
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        if duplicates == "error":
            again = np.setdiff1d(np.arange(keys.size), first)
            pair = told([self.rows.values[self.i[again[0]]], self.cols.values[self.j[again[0]]]])
            raise ValueError(
                f"pairs must name each entry once; {again.size} repeat another, ({pair}) for one: duplicates='mean' or "
                "'last' merges them"
            )
        if duplicates == "sum":
            return replace(self.taken(first), values=np.asarray(np.bincount(place, weights=self.values), np.float64))
        weights = np.ones(keys.size) if self.weights is None else self.weights
        total = np.asarray(np.bincount(place, weights=weights), dtype=np.float64)
        values = np.bincount(place, weights=weights * self.values) / total
        kept = None if self.weights is None else total
        return replace(self, i=self.i[first], j=self.j[first], values=values, weights=kept)

    @property
    def range(self) -> FloatArray:
        """Values that span those that are said: of clicks, preferences from 0 to 1."""
        return np.array([0.0, 1.0]) if self.background else self.values

    @property
    def mean(self) -> float:
        return float(np.average(self.values, weights=self.weights))

    def sampling(self) -> Sampling:
        return Sampling(self.i, self.j, self.shape, background=self.background)

    def clicks(self, background: float, confidence: float) -> Entries:
        """How often each was clicked on as a preference of 1 with so much confidence, 1 + confidence times the count,
        times the weight of the entry if it has one; those of count 0 are cells like all others."""
        there = self.values > 0
        if (self.values < 0).any() or not there.any():
            came = f"{self.values.min():g}" if (self.values < 0).any() else "zeros alone"
            raise ValueError(f"counts of clicks must be positive, or 0 for none; got {came}")
        found = self if there.all() else self.taken(np.flatnonzero(there))
        weights = clicked(found.values, confidence) * (1.0 if found.weights is None else found.weights)
        return replace(found, values=np.ones(found.i.size), weights=weights, background=background)


def clicked(counts: FloatArray, confidence: float) -> FloatArray:
    """The weights of clicks: 1 + confidence times how often (Hu, Koren and Volinsky, 2008)."""
    return 1.0 + confidence * counts


@dataclass(frozen=True, eq=False)
class Completed:
    """A low-rank model that says something of every pair of ids.

    seen : where there were entries; None where that was left behind, as files do
    otherwise : what is said where the model knows nothing: a row, or a column, without entries and without biases. None
        leaves that to the model
    span : the least and the largest value that is said
    reads : where some rows had entries, row by row, where these are too many to be kept here
    """

    model: LowRank
    rows: Ids
    cols: Ids
    seen: Matrix | None
    otherwise: float | None
    span: tuple[float, float]
    reads: Reads | None = None

    def __getstate__(self) -> dict[str, object]:
        """Entries that are not kept here stay behind."""
        return vars(self) | {"reads": None if self.reads is None else _left_behind}

    @cached_property
    def _known(self) -> tuple[Array, Array]:
        """Which rows and columns had entries; the last place stands for all that are unknown."""
        if self.seen is None or self.otherwise is None:
            return np.append(np.ones(len(self.rows), bool), False), np.append(np.ones(len(self.cols), bool), False)
        rows = np.append(np.diff(self.seen.indptr) > 0, False)
        cols = np.append(np.bincount(self.seen.indices, minlength=len(self.cols)) > 0, False)
        return rows, cols

    def at(self, i: IntArray, j: IntArray) -> FloatArray:
        """The entries of these codes, UNKNOWN ones among them: by the biases of the side that is known, or by
        `otherwise`."""
        there = (i != UNKNOWN) & (j != UNKNOWN)
        biases = self.model.biases
        if biases is None:
            rows, cols = self._known
            there = rows[i] & cols[j]
            values = np.full(i.size, np.nan if self.otherwise is None else self.otherwise)
        else:
            values = biases.center + np.append(biases.rows, 0.0)[i] + np.append(biases.cols, 0.0)[j]
        values[there] = self.model.predict(i[there], j[there])
        return np.clip(values, *self.span)

    def best(self, rows: IntArray, n: int, *, exclude_seen: bool) -> tuple[IntArray, FloatArray]:
        """The columns with the n largest entries of each row, largest first, and these entries; where fewer are left,
        UNKNOWN and NaN. Ranks are those before values are clipped."""
        n = min(n, len(self.cols))
        cols, scores = np.empty((rows.size, n), dtype=np.intp), np.empty((rows.size, n))
        for some in _blocks(rows.size, max(1, SCORES_TOGETHER // len(self.cols))):
            block = self._scores(rows[some])
            known = np.flatnonzero(rows[some] != UNKNOWN)
            seen = self._seen_of(rows[some][known]) if exclude_seen else None
            if seen is not None:
                i, j = seen.nonzero()
                block[known[i], j] = -np.inf
            top = np.argpartition(-block, n - 1, axis=1)[:, :n]
            high = np.take_along_axis(block, top, axis=1)
            order = np.lexsort((top, -high), axis=1)
            cols[some], scores[some] = np.take_along_axis(top, order, axis=1), np.take_along_axis(high, order, axis=1)
        none = np.isneginf(scores)
        cols[none], scores[none] = UNKNOWN, np.nan
        return cols, np.clip(scores, *self.span)

    def _seen_of(self, rows: IntArray) -> Matrix | None:
        """Where these rows had entries, if anybody knows."""
        if self.reads is not None:
            return self.reads(rows)
        return None if self.seen is None else self.seen[rows]

    def _scores(self, rows: IntArray) -> FloatArray:
        """All entries of a few rows."""
        known, biases = rows != UNKNOWN, self.model.biases
        block: FloatArray = (self.model.left[rows] * known[:, None]) @ self.model.right.T
        if biases is None:
            block[:, ~self._known[1][:-1]] = np.nan if self.otherwise is None else self.otherwise
            return block
        return block + (biases.center + biases.rows[rows] * known)[:, None] + biases.cols

    def whole(self) -> FloatArray:
        """All entries."""
        return np.clip(self._scores(np.arange(len(self.rows))), *self.span)

    def extended(self, fresh: Entries, axis: int) -> Completed:
        """With new rows (axis 0) or columns (axis 1) behind those that are there; along the other axis the codes of
        the fresh entries are those of this model."""
        added = len(fresh.rows if axis == 0 else fresh.cols)
        model = self.model.fold_in(fresh.i, fresh.j, fresh.values, axis=axis, count=added, weights=fresh.weights)
        stack = sp.vstack if axis == 0 else sp.hstack
        seen = None if self.seen is None else sp.csr_array(stack([self.seen, fresh.grid], format="csr"))
        rows = self.rows.extended(fresh.rows.values) if axis == 0 else self.rows
        cols = self.cols.extended(fresh.cols.values) if axis == 1 else self.cols
        reads = None if self.reads is None else _reading_more(self.reads, fresh.grid, len(self.rows), axis)
        return replace(self, model=model, rows=rows, cols=cols, seen=seen, reads=reads)


def _left_behind(rows: IntArray) -> Matrix:
    raise ValueError(
        "exclude_seen must be False: entries in blocks stay behind when a model is pickled, so that nobody knows any "
        "more which ones there were"
    )


def _reading_more(reads: Reads, grid: Matrix, known: int, axis: int) -> Reads:
    """The same with new rows behind those that are known, or new columns."""

    def more(rows: IntArray) -> Matrix:
        if axis == 1:
            return sp.hstack([reads(rows), grid[rows]], format="csr")
        old = rows < known
        both = sp.vstack([reads(rows[old]), grid[rows[~old] - known]], format="csr")
        return both[np.argsort(np.argsort(~old, kind="stable"), kind="stable")]

    return more


def _blocks(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, count, size))
