"""Entries line by line in blocks that live at an engine: factors go there, and factors come back."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.engines import Engine, Placed
from fewatoms.entered import stored
from fewatoms.entered.stored import Place, Values
from fewatoms.sides import NONE, Lines, Split


@dataclass(frozen=True, eq=False)
class Order:
    """All entries in one order, as they lie.

    placed : the blocks, at the engine
    cuts : the first line of each, and the number of lines
    each : how many entries each line has
    turned : whether lines are columns
    folder : for parts of the entries that are written to disk; None where they stay with the workers
    """

    placed: Placed
    engine: Engine
    cuts: Sequence[int]
    each: IntArray
    turned: bool
    folder: Path | None

    def cut(self, *vectors: Array) -> list[Array] | list[tuple[Array, ...]]:
        """What belongs to lines, block by block: views, several of them in tuples. Empty vectors stay so."""
        pieces = [tuple(v[a:b] if len(v) else v for v in vectors) for a, b in pairwise(self.cuts)]
        return [piece[0] for piece in pieces] if len(vectors) == 1 else pieces

    def part(self, by: Split, *, held: bool) -> Order:
        """Those entries that are held out, or the others: in files beside the blocks, or where the blocks are."""
        if self.folder is None:
            there = self.placed.derive(stored.taken, by, self.turned, held)
            return self._of(there, list(there.map(stored.lengths)))
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        places = [Place(str(folder / str(i)), first) for i, first in enumerate(self.cuts[:-1])]
        try:
            found = list(self.placed.map(_kept, by, self.turned, held, parts=places))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        there = self.engine.place([place.mapped for place in places])
        part = self._of(there, found)
        weakref.finalize(part, shutil.rmtree, folder, ignore_errors=True)
        return part

    def _of(self, there: Placed, found: list[Array]) -> Order:
        each = np.concatenate(found).astype(np.intp)
        return replace(self, placed=there, each=each)


def _kept(block: stored.Stored, place: Place, by: Split, turned: bool, held: bool) -> Array:
    return stored.kept(block, place, by, turned, held)


@dataclass(frozen=True, eq=False)
class BlockedLines(Lines):
    """One order of the entries, with values asked for in other units.

    order : as they lie
    other : () -> the other order of the same entries
    how : scale * value + shift
    """

    order: Order
    other: Callable[[], Order]
    how: Values = field(default_factory=Values)

    uneven = False
    heavy = 1.0
    narrow = False

    @property
    def count(self) -> int:
        return int(self.order.each.sum())

    @property
    def lengths(self) -> IntArray:
        return self.order.each

    def turned(self, shape: tuple[int, int], *, narrow: bool = False) -> BlockedLines:
        order = self.order
        return BlockedLines(self.other(), lambda: order, self.how)

    def split(self, by: Split) -> tuple[BlockedLines, BlockedLines]:
        parts = (BlockedLines(self.order.part(by, held=held), partial(self._other, by, held), self.how)
                 for held in (False, True))  # fmt: skip
        rest, held = parts
        return rest, held

    def _other(self, by: Split, held: bool) -> Order:
        return self.other().part(by, held=held)

    def shifted(self, by: float) -> BlockedLines:
        return replace(self, how=Values(self.how.scale, self.how.shift - by))

    def tempering(self, power: float) -> float:
        return 1.0

    def tempered(self, power: float, unit: float) -> BlockedLines:
        return self  # all weigh the same

    # Sums over all entries

    def square(self) -> float:
        return float(self.order.placed.sum(stored.square, self.how))

    def weight(self) -> float:
        return float(self.count)

    def mean(self) -> float:
        return float(self.order.placed.sum(stored.total, self.how)) / self.count

    def misfit(self, left: Array, right: Array, row: FloatArray, col: FloatArray) -> float:
        parts = self.order.cut(left, row)
        return float(self.order.placed.sum(stored.misfit, self.how, right, col, parts=parts))

    # Line by line

    def solve(self, features: Array, offset: FloatArray, ridge: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._pairs(stored.solved, features.shape[1], self.how, features, offset, ridge)

    def improve(
        self, features: Array, offset: FloatArray, ridge: FloatArray, bound: Array, begin: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        shared, width = (self.how, features, offset, ridge, bound), features.shape[1]
        return self._pairs(stored.improved, width, *shared, parts=self.order.cut(begin))

    def times(self, features: Array, own: FloatArray, other: FloatArray) -> FloatArray:
        shared, width = (self.how, features, other), features.shape[1]
        return self._lines(stored.times, width, *shared, parts=self.order.cut(own))

    def residual_times(
        self, own: Array, other: Array, biases: tuple[FloatArray, FloatArray], features: Array, background: float = 0.0
    ) -> FloatArray:
        parts, shared = self.order.cut(own, biases[0]), (self.how, other, biases[1], features, background)
        return self._lines(stored.residual_times, features.shape[1], *shared, parts=parts)

    def least(self, labels: IntArray) -> IntArray:
        out = np.empty(self.order.each.size, dtype=np.intp)
        for (a, b), found in zip(self._spans(), self.order.placed.map(stored.least, labels), strict=True):
            out[a:b] = found
        return out

    def shares(self, P: Array, squares: Array, groups: IntArray, number: int, background: float = 0.0) -> FloatArray:
        parts = self.order.cut(P, groups)
        return np.asarray(self.order.placed.sum(stored.shares, squares, number, background, parts=parts))

    def sums(self, left: Array, right: Array, *, sizes: bool) -> FloatArray:
        """Over each line, of the values less left right^T, or of the sizes of that."""
        parts = self.order.cut(left, NONE)
        out = np.empty(self.order.each.size)
        there = self.order.placed.map(stored.sums, self.how, right, sizes, parts=parts)
        for (a, b), found in zip(self._spans(), there, strict=True):
            out[a:b] = found
        return out

    def product(self, how: Values, left: Array, mine: Array, theirs: Array) -> float:
        """The inner product of the values less left right^T with others of the same entries: factors on this side
        stand side by side, as many of the first as there are columns in `mine`."""
        parts = self.order.cut(left, NONE)
        shared = (self.how, how), (mine, theirs), mine.shape[1]
        return float(self.order.placed.sum(stored.product, *shared, parts=parts))

    def _spans(self) -> list[tuple[int, int]]:
        cuts = self.order.cuts
        return list(pairwise(cuts))

    def _lines(self, task: Callable[..., object], width: int, *shared: object, parts: Sequence[object]) -> FloatArray:
        """What a task gives for lines, put together."""
        out = np.empty((self.order.each.size, width))
        for (a, b), found in zip(self._spans(), self.order.placed.map(task, *shared, parts=parts), strict=True):
            out[a:b] = found
        return out

    def _pairs(
        self, task: Callable[..., object], width: int, *shared: object, parts: Sequence[object] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """The same of coefficients and minima."""
        lines = self.order.each.size
        out, left = np.empty((lines, width)), np.empty(lines)
        for (a, b), found in zip(self._spans(), self.order.placed.map(task, *shared, parts=parts), strict=True):
            out[a:b], left[a:b] = found
        return out, left
