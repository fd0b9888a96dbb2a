"""Which of the sampled entries are held out: those that are marked or named, or that lots fall on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import Array, IntArray

if TYPE_CHECKING:
    from fewatoms.sides import Side


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
        for a, b in side.pieces():
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


__all__ = ["Drawn", "Marked", "Named"]
