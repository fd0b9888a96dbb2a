"""Faces of one-hot atoms."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import scipy.sparse as sp

from fewatoms import linalg
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.capabilities import ColumnBlocks, RowWise, SeenAsIs
from fewatoms.faces.base import Cone, Face, leading
from fewatoms.kept import Kept
from fewatoms.reduced import Columns, Implicit, ReducedOperator

if TYPE_CHECKING:
    from fewatoms.operators.base import Operator


@dataclass(frozen=True, eq=False)
class Coordinates(Face):
    """Signed one-hot atoms s_i e_i. point(c)[indices] = signs * c."""

    indices: IntArray
    signs: FloatArray
    shape: tuple[int, ...]
    cone: Cone = Cone.FREE
    rays: bool = False  # atoms of a cone, whose gauge is 0

    @property
    def size(self) -> int:
        return self.indices.size

    @property
    def dim(self) -> int:
        return self.indices.size

    def point(self, c: FloatArray) -> Array:
        return spread(self.indices, self.signs * c, self.shape)

    def adjoint(self, z: ModelDual) -> FloatArray:
        return self.signs * pick(z, self.indices, self.shape)

    def project(self, c: FloatArray) -> FloatArray:
        return c if self.cone is Cone.FREE else np.maximum(c, 0.0)

    def gauge(self, c: FloatArray) -> float:
        return 0.0 if self.rays else super().gauge(c)

    def prune(self, c: FloatArray, k: BudgetLike, norms: FloatArray | None = None) -> tuple[Self, FloatArray]:
        keep = leading(self.contributions(c, norms), k)
        keep = keep[c[keep] != 0]
        return replace(self, indices=self.indices[keep], signs=self.signs[keep]), c[keep]

    def merge(self, other: Self) -> Self:
        fresh = ~np.isin(other.indices, self.indices)
        return replace(
            self,
            indices=np.concatenate([self.indices, other.indices[fresh]]),
            signs=np.concatenate([self.signs, other.signs[fresh]]),
        )

    def restrict(self, M: Operator) -> ReducedOperator:
        return restrict_columns(M, self)

    def measure(self, M: Operator, c: FloatArray) -> FloatArray:
        return measure_columns(M, self, self.indices, self.signs * c, c)

    def images(self, M: Operator) -> Matrix:
        block = M.columns(self.indices)
        return sp.csc_array(block @ sp.diags_array(self.signs)) if sp.issparse(block) else block * self.signs

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return spread_entries(self.indices, self.signs * c, self.shape, rows, cols)

    def labels(self) -> Array:
        return np.stack(np.unravel_index(self.indices, self.shape), axis=1) if len(self.shape) > 1 else self.indices

    def values(self, c: FloatArray) -> Array:
        return self.signs * c

    def key(self) -> Hashable:
        return np.sort(self.indices).tobytes()

    def kept(self) -> Kept:
        arrays = {"indices": self.indices, "signs": self.signs}
        return Kept("coordinates", {"shape": [*self.shape], "cone": self.cone.value, "rays": self.rays}, arrays)

    def as_cone(self) -> Self:
        return replace(self, cone=Cone.NONNEGATIVE)

    def inner(self, c: FloatArray, other: Self, d: FloatArray) -> float:
        return sparse_dot(self.indices, self.signs * c, other.indices, other.signs * d)


FEW = 4  # columns that a product reads in the time in which one is picked out


def spread(indices: IntArray, values: FloatArray, shape: tuple[int, ...]) -> Array:
    """The array of a shape with these values at these indices, flat in C order, and 0 elsewhere."""
    x = np.zeros(int(np.prod(shape)))
    np.add.at(x, indices, values)  # blocks of coordinates may overlap
    return x.reshape(shape)


def spread_entries(
    indices: IntArray, values: FloatArray, shape: tuple[int, ...], rows: IntArray, cols: IntArray
) -> Array:
    """Entries (rows, cols) of the matrix `spread(indices, values, shape)`, which is not formed."""
    matrix = sp.csr_array((values, np.divmod(indices, shape[1])), shape=shape)
    return _entries(matrix, rows, cols)


def pick(z: ModelDual, indices: IntArray, shape: tuple[int, ...]) -> Array:
    """Entries of z, flat in C order, without forming a sparse z."""
    if sp.issparse(z):
        return _entries(sp.csr_array(z), *np.divmod(indices, shape[1]))
    return linalg.as_flat(z)[indices]


def sparse_dot(i: IntArray, a: FloatArray, j: IntArray, b: FloatArray) -> float:
    """The inner product of two vectors with values a at i and b at j, added up where an index occurs again."""
    places, where = np.unique(np.concatenate([i, j]), return_inverse=True)
    left = np.bincount(where[: i.size], weights=a, minlength=places.size)
    return float(left @ np.bincount(where[i.size :], weights=b, minlength=places.size))


def _entries(matrix: sp.csr_array, rows: IntArray, cols: IntArray) -> Array:
    """Entries of a sparse matrix; asked for none, SciPy would answer with a sparse array."""
    return np.asarray(matrix[rows, cols]).ravel() if rows.size else np.zeros(0)


def restrict_columns(M: Operator, face: Face) -> ReducedOperator:
    """c -> M point(c) for a face of coordinates: by columns where those are at hand, by products elsewhere."""
    at_hand = M.offers(ColumnBlocks) is not None or M.offers(SeenAsIs) is not None
    return Columns(face.images(M)) if at_hand else Implicit(M, face)


def measure_columns(M: Operator, face: Face, indices: IntArray, entries: FloatArray, c: FloatArray) -> FloatArray:
    """M point(c) for a point with these entries at these indices: their columns, where they can be read and are few,
    and a product elsewhere. Blocks of rows see for themselves that entries are few, and columns do not come here."""
    rows = M.offers(RowWise)
    few = FEW * face.dim <= M.shape[1] and (rows is None or not rows.in_blocks)
    at_hand = M.offers(ColumnBlocks) if few else None
    return face.image(M, c) if at_hand is None else np.asarray(at_hand.read(indices) @ entries)
