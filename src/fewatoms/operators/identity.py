"""Full observation of a vector or matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.faces import Factors, SymmetricFactors
from fewatoms.operators.base import Operator
from fewatoms.operators.reduced import Columns, IdentityFactors, ReducedOperator, Symmetrised


class Identity(Operator):
    """M(X) = X, flat in C order; `shape` is a length or a pair (p, q). Data come in that shape or flat."""

    explicit = True

    def __init__(self, shape: Any) -> None:
        if np.ndim(shape) == 0:
            self._model_shape: tuple[int, ...] = (_checks.integer("shape", shape, 1),)
        else:
            self._model_shape = _checks.shape2("shape", shape)
        n = int(np.prod(self._model_shape))
        self.shape = (n, n)

    def __repr__(self) -> str:
        return f"Identity({self._model_shape})"

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self._model_shape

    def subset(self, rows: IntArray) -> Operator:
        if len(self._model_shape) == 1:
            return super().subset(rows)
        from fewatoms.operators.sampling import Sampling

        return Sampling(*np.divmod(rows, self._model_shape[1]), self._model_shape)

    def read_data(self, b: Any) -> FloatArray:
        if np.shape(b) not in (self._model_shape, (self.shape[0],)):
            raise ValueError(f"b must have shape {self._model_shape} or be flat; got shape {np.shape(b)}")
        return _checks.real_vector("b", b, self.shape[0])

    def apply(self, x: Array) -> FloatArray:
        return np.array(x, dtype=np.float64).ravel()

    def adjoint(self, y: FloatArray) -> ModelDual:
        return y.reshape(self._model_shape)

    def apply_block(self, X: Array) -> Array:
        return X

    def columns(self, indices: IntArray) -> Any:
        spots = np.arange(indices.size)
        return sp.csc_array((np.ones(indices.size), (indices, spots)), shape=(self.shape[0], indices.size))

    def restrict_columns(self, face: Any, indices: IntArray, signs: FloatArray) -> ReducedOperator:
        return Columns(sp.csc_array(self.columns(indices) @ sp.diags_array(signs)))

    def restrict_factors(self, face: Factors) -> ReducedOperator:
        return IdentityFactors(face)

    def restrict_symmetric(self, face: SymmetricFactors) -> ReducedOperator:
        return Symmetrised(IdentityFactors(Factors(face.V, face.V)), face.size)

    def column_norms(self) -> FloatArray:
        return np.ones(self.shape[0])

    def block_norms(self, blocks: list[IntArray]) -> FloatArray:
        return np.ones(len(blocks))

    def rank_one_norm(self) -> float:
        return 1.0
