"""An operator seen past free columns: what they can explain is taken out of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fewatoms import linalg
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.operators.base import Operator


class Projected(Operator):
    """P M, where P projects the data (in the inner product of the weights) onto what the columns of F leave over.

    min over v of |b - Mx - Fv| is |P (b - Mx)|: with least squares, unpenalised columns are gone from the problem.
    """

    def __init__(self, M: Operator, F: FloatArray, weights: FloatArray | None = None) -> None:
        self.M, self.shape = M, M.shape
        self.explicit, self.complex, self.by_columns = M.explicit, M.complex, M.by_columns
        self._root: Any = 1.0 if weights is None else np.sqrt(weights)
        whitened = F * np.reshape(self._root, (-1, 1))
        lengths = np.linalg.norm(whitened, axis=0)
        whitened = whitened / np.where(lengths > 0, lengths, 1.0)
        self._Q = linalg.orthonormal(whitened)

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self.M.model_shape

    def read_data(self, b: Any) -> FloatArray:
        return self.M.read_data(b)

    def project(self, r: FloatArray) -> FloatArray:
        """P r."""
        return r - (self._Q @ (self._Q.T @ (self._root * r))) / self._root

    def apply(self, x: Array) -> FloatArray:
        return self.project(self.M.apply(x))

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        return self.project(self.M.apply_factors(U, V))

    def adjoint(self, y: FloatArray) -> ModelDual:
        return self.M.adjoint(y - self._root * (self._Q @ (self._Q.T @ (y / self._root))))

    def apply_block(self, X: Array) -> Array:
        return self._project_block(self.M.apply_block(X))

    def columns(self, indices: IntArray) -> Array:
        block: Any = self.M.columns(indices)
        return self._project_block(block.toarray() if sp.issparse(block) else block)

    def _project_block(self, block: Array) -> Array:
        root = np.reshape(self._root, (-1, 1))
        return block - (self._Q @ (self._Q.T @ (root * block))) / root

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        lengths = self.M.column_lengths(weights)
        if lengths is None:
            return None
        inside = self.M.adjoint_block(np.reshape(self._root, (-1, 1)) * self._Q)
        left = np.maximum(lengths**2 - np.einsum("ij,ij->i", inside, inside), 0.0)
        # what is left of columns with a large offset is all cancellation: those are measured after the projection
        near = np.flatnonzero(left < 1e-6 * lengths**2)
        w = 1.0 if weights is None else weights
        for some in np.array_split(near, max(1, near.size // 256)):
            block = self.columns(some)
            left[some] = np.einsum("ij,ij->j", block, block * np.reshape(w, (-1, 1)))
        return np.sqrt(np.where(left > 1e-24 * lengths**2, left, 0.0))  # less is rounding: F spans the column

    def column_norms(self) -> FloatArray | None:
        return self.column_lengths() if np.ndim(self._root) == 0 else None  # with weights those are in another norm

    def block_norms(self, blocks: list[IntArray]) -> FloatArray | None:
        return self.M.block_norms(blocks) if np.ndim(self._root) == 0 else None

    def rank_one_norm(self) -> float | None:
        return self.M.rank_one_norm() if np.ndim(self._root) == 0 else None

    def psd_norm(self) -> float | None:
        return self.M.psd_norm() if np.ndim(self._root) == 0 else None
