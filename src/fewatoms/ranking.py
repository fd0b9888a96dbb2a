"""How well a matrix ranks entries that it was not fitted to: precision, recall and NDCG among the first n."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, kernels, ledger
from fewatoms._types import Array, FloatArray, Foreign, IntArray

SCORES_AT_ONCE = 1 << 22  # scores that are looked at together
FIGURES_OF_RANKS = ("precision", "recall", "ndcg")


class Model(Protocol):
    """A matrix of low rank, as answers and `LowRank` have it: left @ right.T, and biases beside it."""

    @property
    def left(self) -> Array: ...

    @property
    def right(self) -> Array: ...

    @property
    def biases(self) -> Foreign: ...


class Lists(NamedTuple):
    """Columns row by row: where rows start, and the columns."""

    starts: Array
    others: Array

    @classmethod
    def of(cls, name: str, pairs: tuple[object, object], shape: tuple[int, int]) -> Lists:
        """From rows and columns, checked; an entry that is named twice counts once."""
        rows, cols = _checks.broadcast(f"rows of {name}", pairs[0], f"cols of {name}", pairs[1])
        i, j = _checks.indices(f"rows of {name}", rows, shape[0]), _checks.indices(f"cols of {name}", cols, shape[1])
        grid = sp.csr_array((np.ones(i.size), (i, j)), shape=shape)
        grid.sum_duplicates()
        return cls(grid.indptr.astype(np.int64), grid.indices)

    def taken(self, rows: IntArray) -> Lists:
        """Those of some rows."""
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = np.repeat(self.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
        return Lists(starts, self.others[places])


@dataclass(frozen=True, eq=False)
class Ranking:
    """Where entries that were held out stand among all columns of their row that were not seen.

    `Ranking.of(model, held, seen)` makes one. Each figure is the mean over the rows that have entries held out; columns
    with equal scores count as the mean over all their orders, so that no figure hangs on how they are numbered.

    Parameters
    ----------
    rows : (h,) integer array
        The row of each entry held out.
    above : (h,) integer array
        How many columns of its row that were not seen have a higher score.
    tied : (h,) integer array
        How many have the same, itself among them.
    """

    rows: IntArray
    above: IntArray
    tied: IntArray

    @classmethod
    def of(cls, model: Model, held: tuple[object, object], seen: tuple[object, object] | None = None) -> Ranking:
        """Where entries stand in a matrix of low rank.

        Parameters
        ----------
        model : Solution or LowRank
        held : (rows, cols), integer arrays
            The entries that should come first.
        seen : (rows, cols), integer arrays, optional
            Those that the model was fitted to: they are no candidates. None may be in `held`.
        """
        shape = len(model.left), len(model.right)
        nothing = np.zeros(0, dtype=np.intp)
        out, known = (
            Lists.of("held", held, shape),
            Lists.of("seen", (nothing, nothing) if seen is None else seen, shape),
        )
        both = sum(np.intersect1d(*pair, assume_unique=True).size for pair in _pairs(out, known)) if seen else 0
        if both:
            raise ValueError(f"held must name entries that are not in seen; {both} are in both")
        if not out.others.size:
            raise ValueError("held must name at least one entry; got none")
        biases = model.biases
        return ranked(model.left, model.right, out, known, None if biases is None else biases.cols)

    @property
    def _each(self) -> tuple[IntArray, IntArray]:
        """How many entries each row holds out, and which row each entry belongs to."""
        _, which, counts = np.unique(self.rows, return_inverse=True, return_counts=True)
        return counts, which

    def _mean(self, shares: FloatArray, units: FloatArray) -> float:
        counts, which = self._each
        return float(np.mean(np.bincount(which, weights=shares, minlength=counts.size) / units))

    def _gained(self, discounts: FloatArray) -> FloatArray:
        """For each entry, the mean of the discounts of the places that it may have: those past the end are 0."""
        total, n = np.concatenate([[0.0], np.cumsum(discounts)]), discounts.size
        end, begin = np.minimum(self.above + self.tied, n), np.minimum(self.above, n)
        return (total[end] - total[begin]) / self.tied

    def precision(self, n: int) -> float:
        """The share of the first n columns that were held out."""
        n = _checks.integer("n", n, 1)
        return self._mean(self._gained(np.ones(n)), np.full(self._each[0].size, float(n)))

    def recall(self, n: int) -> float:
        """The share of the entries held out that are among the first n columns."""
        n = _checks.integer("n", n, 1)
        return self._mean(self._gained(np.ones(n)), self._each[0].astype(np.float64))

    def ndcg(self, n: int | None = None) -> float:
        """The sum of 1 / log2(1 + place) over the entries held out that are among the first n columns (all, without n),
        as a share of the largest that it could be."""
        counts, _ = self._each
        most = int(max((self.above + self.tied).max(), counts.max())) if n is None else _checks.integer("n", n, 1)
        discounts = 1.0 / np.log2(np.arange(most) + 2.0)
        ideal = np.cumsum(discounts)[np.minimum(counts, most) - 1]
        return self._mean(self._gained(discounts), ideal)

    def figure(self, way: Way) -> float:
        """The figure of that name."""
        if way.name == "ndcg":
            return self.ndcg(way.n)
        assert way.n is not None
        return self.precision(way.n) if way.name == "precision" else self.recall(way.n)


class Way(NamedTuple):
    """One of the figures, for the first n columns; NDCG may be for all of them."""

    name: str
    n: int | None

    @classmethod
    def read(cls, by: object) -> Way | None:
        """From "ndcg@10" and the like; None for anything else."""
        found = re.fullmatch(rf"({'|'.join(FIGURES_OF_RANKS)})@([1-9][0-9]*)", str(by))
        return None if found is None else cls(found[1], int(found[2]))


NDCG = Way("ndcg", None)


def _pairs(a: Lists, b: Lists) -> Iterator[tuple[Array, Array]]:
    for i in np.flatnonzero(np.diff(a.starts)):
        yield a.others[a.starts[i] : a.starts[i + 1]], b.others[b.starts[i] : b.starts[i + 1]]


def ranked(left: Array, right: Array, held: Lists, seen: Lists, col: FloatArray | None = None) -> Ranking:
    """Where the entries of `held` stand among the columns of their rows that are not in `seen`, by left @ right.T and
    col: a block of rows at a time, of those that hold something out."""
    every, (p, q) = np.flatnonzero(np.diff(held.starts)), (len(left), len(right))
    above, tied = np.empty(held.others.size, dtype=np.int64), np.empty(held.others.size, dtype=np.int64)
    step, done = max(1, SCORES_AT_ONCE // max(1, q)), 0
    for first in range(0, every.size, step):
        rows = every[first : first + step]
        scores = left[rows] @ right.T
        if col is not None and col.size:
            scores += col
        known, out = seen.taken(rows), held.taken(rows)
        scores[np.repeat(np.arange(rows.size), np.diff(known.starts)), known.others] = -np.inf
        some = slice(done, done := done + out.others.size)
        above[some], tied[some] = places(scores, out)
        ledger.tick()
    return Ranking(np.repeat(np.arange(p), np.diff(held.starts)), above, tied)


@cache
def _loop() -> Foreign:
    from fewatoms import _ranked

    return _ranked.places


def places(scores: FloatArray, held: Lists) -> tuple[IntArray, IntArray]:
    """For each entry, how many scores of its row are above its own, and how many equal it."""
    above, tied = np.empty(held.others.size, dtype=np.int64), np.empty(held.others.size, dtype=np.int64)
    if held.others.size * scores.shape[1] >= kernels.WORTHWHILE * 64:
        starts = held.starts.astype(np.int64)
        kernels.run("places", _loop(), starts, scores.shape[1], (scores, starts, held.others), (above, tied))
        return above, tied
    for i in np.flatnonzero(np.diff(held.starts)):
        some = slice(held.starts[i], held.starts[i + 1])
        own, row = scores[i, held.others[some]], np.sort(scores[i])
        low, high = np.searchsorted(row, own, side="left"), np.searchsorted(row, own, side="right")
        above[some], tied[some] = row.size - high, high - low
    return above, tied


__all__ = ["NDCG", "Ranking", "Way", "ranked"]
