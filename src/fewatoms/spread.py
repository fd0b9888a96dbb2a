"""A number for every cell of a matrix of which few were sampled: these one by one, all others by a matrix of low rank.

Residuals and dual vectors look like that where cells that were not sampled count as zeros: b - Mx is what is left at
the sampled entries, and -X everywhere else. Nothing of the size of the matrix is formed.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from fewatoms._types import Array, FloatArray, Vector

HIDDEN_IN_SQUARES = 8 * np.finfo(float).eps  # share of all squares that rounding may hide in those of a part of them


class Spread:
    """What stands in for a vector with as many entries as a matrix has cells.

    seen : (m,) array, the numbers at the sampled entries, in the order of the data
    under : (m,) array, what left @ right.T has there
    left, right : (p, r) and (q, r) arrays: the numbers of all other cells are those of left @ right.T

    It is scaled, taken from data (which are zeros at all other cells), and multiplied with them; as a sequence it is
    `seen`. NumPy does not take it for an array: what would need one fails instead of dropping cells.
    """

    __array_ufunc__ = None

    def __init__(self, seen: FloatArray, under: FloatArray, left: Array, right: Array) -> None:
        self.seen, self.under, self.left, self.right = seen, under, left, right

    @classmethod
    def of(cls, y: object, size: int) -> Spread | None:
        """What a user gives, where it is one for so many data."""
        return y if isinstance(y, Spread) and y.size == size else None

    def __repr__(self) -> str:
        p, q = len(self.left), len(self.right)
        return f"Spread({self.size} numbers, and rank {self.left.shape[1]} at the other cells of {p} x {q})"

    @property
    def shape(self) -> tuple[int]:
        return self.seen.shape

    @property
    def size(self) -> int:
        return self.seen.size

    def __len__(self) -> int:
        return len(self.seen)

    def __getitem__(self, which: slice) -> FloatArray:
        return self.seen[which]

    def copy(self) -> Spread:
        return self._of(self.seen.copy(), self.under.copy(), self.left.copy())

    def any(self) -> bool:
        return bool(self.seen.any()) or self.rest > 0

    def _of(self, seen: FloatArray, under: FloatArray, left: Array) -> Spread:
        return Spread(seen, under, left, self.right)

    def __mul__(self, t: float) -> Spread:
        t = float(t)  # no array
        return self._of(t * self.seen, t * self.under, t * self.left)

    __rmul__ = __mul__

    def __truediv__(self, t: float) -> Spread:
        t = float(t)
        return self._of(self.seen / t, self.under / t, self.left / t)

    def __neg__(self) -> Spread:
        return -1.0 * self

    def __sub__(self, data: FloatArray) -> Spread:
        return self._of(self.seen - data, self.under, self.left)

    def __rsub__(self, data: FloatArray) -> Spread:
        return self._of(data - self.seen, -self.under, -self.left)

    def __matmul__(self, data: FloatArray) -> float:
        return float(np.dot(self.seen, data))

    __rmatmul__ = __matmul__

    @cached_property
    def rest(self) -> float:
        """The sum of the squares at the cells that were not sampled: all of left @ right.T less those under the sampled
        entries, rounded up by what that difference may hide."""
        if not self.left.size:
            return 0.0
        R, S = np.linalg.qr(self.left)[1], np.linalg.qr(self.right)[1]
        total = float(np.sum((R @ S.T) ** 2))
        return max(total - float(np.dot(self.under, self.under)), 0.0) + HIDDEN_IN_SQUARES * total

    def weighed(self, seen: FloatArray | float, rest: float) -> Spread:
        """The numbers at sampled entries times weights, all others times another one."""
        return self._of(seen * self.seen, rest * self.under, rest * self.left)

    def written(self, rows: Array, cols: Array) -> FloatArray:
        """All cells, for the sampled entries at these places: as large as the matrix."""
        out: FloatArray = self.left @ self.right.T
        out[rows, cols] = self.seen
        return out

    @property
    def beyond(self) -> FloatArray:
        """What sampled entries have beyond left @ right.T: together they are the matrix."""
        return self.seen - self.under


def length_of(r: Vector) -> float:
    """The length of a vector that may be a `Spread`, also where its square is no number."""
    cells = spread(r)
    largest = float(np.abs(cells.seen).max(initial=0.0))
    seen = largest * float(np.linalg.norm(cells.seen / largest)) if 0.0 < largest < math.inf else largest
    return math.hypot(seen, math.sqrt(cells.rest))


def spread(r: Vector) -> Spread:
    """A vector that may be an array: zero beyond the sampled entries, as data are."""
    if isinstance(r, Spread):
        return r
    return Spread(r, np.zeros_like(r), np.zeros((0, 0)), np.zeros((0, 0)))
