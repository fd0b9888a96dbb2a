"""Full observation of a vector or matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from fewatoms import _checks
from fewatoms._types import Array, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.faces import Factors
from fewatoms.operators.base import Operator
from fewatoms.operators.on_factors import IdentityFactors
from fewatoms.reduced import ReducedOperator
from fewatoms.rounding import Summed


class Identity(Operator):
    """M(X) = X, flat in C order. Data come in the shape of X or flat.

    Parameters
    ----------
    shape : int, (n,) or (p, q)
        Of X.
    """

    def __init__(self, shape: int | Sequence[int]) -> None:
        self._model_shape = _checks.shape("shape", _checks.single(shape))
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

    def read_data(self, b: npt.ArrayLike) -> FloatArray:
        if np.shape(b) not in (self._model_shape, (self.shape[0],)):
            raise ValueError(f"b must have shape {self._model_shape} or be flat; got shape {np.shape(b)}")
        try:
            return _checks.real_vector("b", b, self.shape[0])
        except ValueError as error:
            if len(self._model_shape) != 2 or not str(error).endswith("nan"):
                raise
            raise ValueError(f"{error}: M, b = Sampling.from_array(b) leaves missing entries out") from None

    def apply(self, x: Array) -> FloatArray:
        return np.array(x, dtype=np.float64).ravel()

    def adjoint(self, y: FloatArray) -> ModelDual:
        return y.reshape(self._model_shape)

    def summed(self) -> Summed:
        return Summed(0, 1.0)  # nothing is

    def apply_block(self, X: Array) -> Array:
        return X

    def columns(self, indices: IntArray) -> Matrix:
        spots = np.arange(indices.size)
        return sp.csc_array((np.ones(indices.size), (indices, spots)), shape=(self.shape[0], indices.size))

    @property
    def image_size(self) -> float:
        return 1.0

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray:
        return np.ones(self.shape[0]) if weights is None else np.sqrt(weights)

    def read(self, indices: IntArray) -> Matrix:
        return self.columns(indices)

    def times(self, X: Array) -> Array:
        return X

    def places(self) -> None:
        return None

    def restrict_factors(self, face: Factors) -> ReducedOperator:
        return IdentityFactors(face)

    def column_norms(self) -> FloatArray:
        return np.ones(self.shape[0])

    def block_norms(self, blocks: Sequence[IntArray]) -> FloatArray:
        return np.ones(len(blocks))

    def rank_one_norm(self) -> float:
        return 1.0

    def psd_norm(self) -> float:
        return 1.0
