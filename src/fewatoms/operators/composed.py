"""An operator after a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fewatoms import linalg
from fewatoms._types import Array, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.capabilities import ColumnBlocks
from fewatoms.operators.base import Operator
from fewatoms.operators.wrapper import SeenColumns, Wrapper

if TYPE_CHECKING:
    from fewatoms.atoms.mapped import LinearMap

READ_LIMIT = 5_000_000_000  # multiplications at most for the lengths of the columns of a product of two matrices


class Composed(Wrapper):
    """M B, for a linear map B from models of `shape`."""

    def __init__(self, M: Operator, map_: LinearMap, shape: tuple[int, ...]) -> None:
        super().__init__(M)
        self.map, self._model_shape = map_, shape
        self.shape = (M.shape[0], int(np.prod(shape)))
        self.complex = self.by_columns = False
        self.names = map_.names

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self._model_shape

    def read_data(self, b: npt.ArrayLike) -> FloatArray:
        return self.inner.read_data(b)

    def apply(self, x: Array) -> FloatArray:
        return self.inner.apply(self.map.forward(x.ravel()))

    def adjoint(self, y: FloatArray) -> ModelDual:
        return self.map.backward(linalg.as_flat(self.inner.adjoint(y)))

    def columns(self, indices: IntArray) -> Matrix:
        return self.inner.apply_block(self.map.columns(indices)) if indices.size else np.zeros((self.shape[0], 0))

    def apply_block(self, X: Array) -> Array:
        return Operator.apply_block(self, X)

    def adjoint_block(self, Y: Array) -> Array:
        return Operator.adjoint_block(self, Y)

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        return self.apply(U @ V.T)

    def subset(self, rows: IntArray) -> Operator:
        return Composed(self.inner.subset(rows), self.map, self._model_shape)


@dataclass(frozen=True, eq=False)
class _Columns(SeenColumns):
    M: Composed

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        work = self.M.inner.shape[0] * self.M.inner.shape[1] * self.M.shape[1]
        return super().column_lengths(weights) if work <= READ_LIMIT else None

    def read(self, indices: IntArray) -> Matrix:
        return self.inner.times(self.M.map.columns(indices)) if indices.size else np.zeros((self.M.shape[0], 0))

    def times(self, X: Array) -> Array:
        if not X.shape[1]:
            return np.zeros((self.M.shape[0], 0))
        return self.inner.times(np.stack([self.M.map.forward(x) for x in X.T], axis=1))


def _columns(M: Composed, inner: ColumnBlocks) -> ColumnBlocks | None:
    return _Columns(M, inner) if M.map.matrix is not None else None


Composed.lifts = {ColumnBlocks: _columns}
