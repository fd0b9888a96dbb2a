"""One block of lines: how it lies on disk, how it is made of entries in any order, and what is done to it where it is.

What is done are functions of a module, so that the workers of a cluster can import them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fewatoms import kernels
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.io.spilled import merged, records_in
from fewatoms.sides import NONE, Side, Split

FILED = ("starts", "others", "values")
Biases = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Stored:
    """Lines of a matrix from `first` on, entries in the order of lines and others: 8 or 12 bytes an entry."""

    first: int
    starts: Array
    others: Array
    values: Array

    @property
    def lines(self) -> int:
        return self.starts.size - 1

    def side(self, how: Values) -> Side:
        """As a side, in double precision."""
        values = self.values.astype(np.float64)
        if how.scale != 1.0:
            values *= how.scale
        if how.shift:
            values += how.shift
        return Side(self.starts, self.others, values, NONE)

    def write(self, path: str) -> None:
        """One file for each array, so that they can be mapped; whole ones, whoever is killed or writes them as well."""
        for name in FILED:
            meanwhile = f"{path}.{name}.{os.getpid()}.npy"
            np.save(meanwhile, vars(self)[name])
            os.replace(meanwhile, f"{path}.{name}.npy")


class Values(NamedTuple):
    """What is asked of values: scale * value + shift."""

    scale: float = 1.0
    shift: float = 0.0


class Place(NamedTuple):
    """Where a block lies: files that begin with a path, and the number of its first line."""

    path: str
    first: int

    def mapped(self) -> Stored:
        """As it lies there: pages come when they are needed, and go when memory is."""
        return self._opened(partial(np.load, mmap_mode="c"))

    def loaded(self) -> Stored:
        """In memory."""
        return self._opened(np.load)

    def _opened(self, read: Callable[[str], Array]) -> Stored:
        try:
            arrays = (read(f"{self.path}.{name}.npy") for name in FILED)
            return Stored(self.first, *(array.view(np.ndarray) for array in arrays))
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{self.path} is not there: blocks of entries must lie in a folder that all workers see (folder=...)"
            ) from error


# Made of entries in any order -----------------------------------------------------------------------------------------


class Built(NamedTuple):
    """What came out of a block: entries of each line, how many repeated another, and one that did (or none)."""

    lengths: Array
    repeated: int
    example: tuple[int, int] | None
    square: float
    total: float
    least: float
    most: float


def build(bucket: str, place: Place, shape: tuple[int, int], kind: str, duplicates: str) -> Built:
    """Write the block of the entries in a bucket, whose lines come from all of the matrix. The bucket stays: a worker
    may die before it has told what came out, and then another one builds the block again."""
    records = records_in(bucket, kind)
    lines, width = shape
    # counting sort by the other index, then by line: in both, entries of one place stay in the order in which they came
    grid = sp.coo_array((records["value"], (records["other"], records["line"] - place.first)), shape=(width, lines))
    grid.has_canonical_format = True  # or places that repeat would be added up
    ordered = grid.tocsr().tocsc()
    starts, others, values = ordered.indptr.astype(np.int64), ordered.indices.astype(np.int32), ordered.data
    del records, grid, ordered
    starts, others, values, repeated, example = merged(starts, others, values, duplicates)
    Stored(place.first, starts, others, values).write(place.path)
    found = None if example is None else (place.first + example[0], example[1])
    v = values.astype(np.float64)
    span = (float(v.min()), float(v.max())) if v.size else (np.inf, -np.inf)
    return Built(np.diff(starts).astype(np.int32), repeated, found, float(v @ v), float(v.sum()), *span)


def told(built: Built) -> Built:
    """What came out, as it is."""
    return built


def kept(block: Stored, place: Place, by: Split, turned: bool, held: bool) -> Array:
    """Write those entries that are held out, or the others, to files; how many each line has."""
    part = taken(block, by, turned, held)
    replace(part, first=place.first).write(place.path)
    return np.diff(part.starts).astype(np.int32)


def taken(block: Stored, by: Split, turned: bool, held: bool) -> Stored:
    """Those entries that are held out, or the others."""
    side = Side(block.starts, block.others, block.values, NONE)
    part = side.parted(by.out(side, block.first, turned=turned))[int(held)]
    return Stored(block.first, part.starts, part.others, part.values)


# What is done to a block ----------------------------------------------------------------------------------------------


def lengths(block: Stored) -> Array:
    """Entries of each line."""
    return np.diff(block.starts).astype(np.int32)


def square(block: Stored, how: Values) -> float:
    """The sum of the squares of the values."""
    return block.side(how).square()


def total(block: Stored, how: Values) -> float:
    """The sum of the values."""
    return float(block.side(how).values.sum())


def misfit(block: Stored, own: tuple[Array, FloatArray], how: Values, right: Array, col: FloatArray) -> float:
    """The squares of what is left of the values."""
    return block.side(how).misfit(own[0], right, own[1], col)


def product(
    block: Stored, own: tuple[Array, FloatArray], how: tuple[Values, Values], right: tuple[Array, Array], r: int
) -> float:
    """The inner product of two vectors of which the factors on this side stand side by side, r of them first."""
    side, other = block.side(how[0]), block.side(how[1])
    left = own[0]
    one = side.left(left[:, :r], right[0], NONE, NONE) if r else side.values
    two = other.left(left[:, r:], right[1], NONE, NONE) if left.shape[1] > r else other.values
    return float(np.dot(one, two))


def sums(block: Stored, own: tuple[Array, FloatArray], how: Values, right: Array, sizes: bool) -> FloatArray:
    """The sum over each line of values less left right^T, or of their sizes."""
    side = block.side(how)
    left = side.left(own[0], right, NONE, NONE) if right.shape[1] else side.values
    return _summed(np.abs(left, out=left) if sizes else left, side)


def _summed(values: FloatArray, side: Side) -> FloatArray:
    ones = np.ones((int(side.others.max(initial=0)) + 1, 1))
    return kernels.scattered(values, ones, side.starts, side.others).ravel()


def solved(
    block: Stored, how: Values, features: Array, offset: FloatArray, ridge: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """See `Side.solve`."""
    return block.side(how).solve(features, offset, ridge)


def improved(
    block: Stored, begin: FloatArray, how: Values, features: Array, offset: FloatArray, ridge: FloatArray, bound: Array
) -> tuple[FloatArray, FloatArray]:
    """See `Side.improve`."""
    return block.side(how).improve(features, offset, ridge, bound, begin)


def times(block: Stored, own: FloatArray, how: Values, features: Array, other: FloatArray) -> FloatArray:
    """See `Side.times`."""
    return block.side(how).times(features, own, other)


def residual_times(
    block: Stored,
    own: tuple[Array, FloatArray],
    how: Values,
    right: Array,
    col: FloatArray,
    features: Array,
    background: float,
) -> FloatArray:
    """See `Side.residual_times`."""
    return block.side(how).residual_times(own[0], right, (own[1], col), features, background)


def least(block: Stored, labels: IntArray) -> IntArray:
    """See `Side.least`."""
    return Side(block.starts, block.others, NONE, NONE).least(labels)


def shares(block: Stored, own: tuple[Array, IntArray], squares: Array, number: int, background: float) -> FloatArray:
    """See `Side.shares`."""
    return Side(block.starts, block.others, NONE, NONE).shares(own[0], squares, own[1], number, background)


def places(block: Stored, q: int) -> IntArray:
    """Places of all entries, row q + column."""
    rows = block.first + np.repeat(np.arange(block.lines), np.diff(block.starts))
    found: IntArray = rows.astype(np.int64) * q + block.others
    return found


def picked(block: Stored, lines: IntArray) -> tuple[Array, Array]:
    """How many entries some lines have, and the other indices of these."""
    at = lines - block.first
    each = np.diff(block.starts)[at]
    parts = [block.others[block.starts[i] : block.starts[i + 1]] for i in at]
    return each, np.concatenate([np.zeros(0, dtype=np.int32), *parts])
