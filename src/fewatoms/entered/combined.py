"""What stands in for vectors of the length of the data: multiples of the data plus matrices in factors, at the entries.

Images of points in factors, residuals of least squares and dual vectors are all of this kind, and it is closed under
sums and multiples. So nothing is formed: inner products and sums are passes over the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import _checks
from fewatoms._types import Array, Foreign
from fewatoms.entered.stored import Values

if TYPE_CHECKING:
    from fewatoms.entered.blocks import EntryBlocks

UNWEIGHTED = "loss must be LeastSquares() without weights over EntryBlocks: entries in blocks weigh all the same"


@dataclass(frozen=True, eq=False)
class Combined:
    """share * b + shift + left right^T at the entries of a matrix, for the data b.

    It is added, scaled, and multiplied (`@`) with others of the same entries; NumPy does not take it for an array.

    sizes : whether its absolute values are meant
    """

    M: EntryBlocks
    share: float
    shift: float
    left: Array
    right: Array
    sizes: bool = False

    __array_ufunc__ = None
    ndim = 1

    @classmethod
    def image(cls, M: EntryBlocks, left: Array, right: Array) -> Combined:
        """The entries of left right^T."""
        return cls(M, 0.0, 0.0, left, right)

    @classmethod
    def data(cls, M: EntryBlocks) -> Combined:
        """The entries as they were given."""
        p, q = M.matrix_shape
        return cls(M, 1.0, 0.0, np.zeros((p, 0)), np.zeros((q, 0)))

    @classmethod
    def of(cls, b: object, M: EntryBlocks) -> Combined:
        """What a user gives as data, or as a dual vector, of these entries."""
        if not isinstance(b, Combined) or b.M is not M:
            raise TypeError(f"b must be the data that came with M, M, b = EntryBlocks.of(...); got {_checks.came(b)}")
        return b

    def __repr__(self) -> str:
        return f"Combined({self.share:g} times the data and rank {self.left.shape[1]}, {self.size} entries in blocks)"

    @property
    def shape(self) -> tuple[int]:
        return (self.size,)

    @property
    def size(self) -> int:
        return self.M.shape[0]

    def __len__(self) -> int:
        return self.size

    @property
    def how(self) -> Values:
        """Of the values as they lie."""
        return Values(self.share, self.shift)

    def copy(self) -> Combined:
        """Itself: nothing of it changes."""
        return self

    def any(self) -> bool:
        return self @ self > 0

    def mean(self) -> float:
        """Of all entries."""
        ones = Combined(self.M, 0.0, 1.0, self.left[:, :0], self.right[:, :0])
        return self @ ones / self.size if self.left.shape[1] else self.M.mean(self.how)

    def __mul__(self, t: Foreign) -> Combined:
        if np.ndim(t):
            raise TypeError(UNWEIGHTED)
        t = float(t)
        return replace(self, share=t * self.share, shift=t * self.shift, left=t * self.left)

    __rmul__ = __mul__

    def __getitem__(self, some: Foreign) -> float:
        """Refused, as weights are, for which parts are asked for."""
        raise TypeError(UNWEIGHTED)

    def __truediv__(self, t: float) -> Combined:
        return replace(self, share=self.share / t, shift=self.shift / t, left=self.left / t)

    def __neg__(self) -> Combined:
        return -1.0 * self

    def __add__(self, other: Combined | float) -> Combined:
        if not isinstance(other, Combined):
            return replace(self, shift=self.shift + float(other))
        left, right = _beside(self.left, self.right, other.left, other.right)
        return Combined(self.M, self.share + other.share, self.shift + other.shift, left, right)

    __radd__ = __add__

    def __sub__(self, other: Combined | float) -> Combined:
        return self + -1.0 * other

    def __rsub__(self, other: float) -> Combined:
        return other + -1.0 * self

    def __abs__(self) -> Combined:
        """Absolute values, of which sums are known."""
        return replace(self, sizes=True)

    def __matmul__(self, other: Combined) -> float:
        return self.M.product(self, other)


def _beside(left: Array, right: Array, other_left: Array, other_right: Array) -> tuple[Array, Array]:
    """Both pairs of factors; those of one side that are the same are added on the other one."""
    if not left.shape[1] or not other_left.shape[1]:
        return (left, right) if left.shape[1] else (other_left, other_right)
    if right is other_right:
        return left + other_left, right
    return np.concatenate([left, other_left], axis=1), np.concatenate([right, other_right], axis=1)


__all__ = ["Combined"]
