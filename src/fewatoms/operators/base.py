"""The contract of measurement operators M, and what follows from it alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, linalg
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.faces import Coordinates, Face, Factors, GroupCoordinates, SumFace, SymmetricFactors
from fewatoms.operators.reduced import Columns, Implicit, ReducedOperator, Stacked

READ_LIMIT = 5_000_000_000  # multiplications at most for the lengths of the columns of a product of two matrices
PROBE_LIMIT = 4096  # a black box is asked for all its columns (for a proven norm) only up to this many


class Operator(ABC):
    """A linear map from the model space (vectors, or matrices of `model_shape`) to data of length m.

    Required: `shape`, `apply`, `adjoint`. The rest follows, and is overridden where the structure offers more.
    `adjoint` may return z in any form that `linalg.as_flat` and `linalg.as_matrix` read; it is on loan until the next
    call and must not be changed.
    """

    shape: tuple[int, int]
    explicit = False  # columns cost no products worth the name
    complex = False  # M*y is a complex Hermitian matrix
    by_columns = False  # a matrix model is measured column by column

    @property
    def image_size(self) -> float:
        """How many numbers the image of a coordinate holds, on average."""
        return self.shape[0]

    @property
    def model_shape(self) -> tuple[int, ...]:
        """The natural shape of x."""
        return (self.shape[1],)

    @abstractmethod
    def apply(self, x: Array) -> FloatArray:
        """Mx, flat, for x in the model's shape or flat in C order."""

    @abstractmethod
    def adjoint(self, y: FloatArray) -> ModelDual:
        """M*y."""

    def read_data(self, b: Any) -> FloatArray:
        """b as a flat array of length m, checked."""
        if not sp.issparse(b) and np.ndim(b) != 1:
            came = f"shape {np.shape(b)}" if np.ndim(b) else repr(b)
            remedy = ": pass b.ravel()" if np.size(b) == self.shape[0] and np.ndim(b) else ""
            raise ValueError(f"b must be a vector of length m = {self.shape[0]}; got {came}{remedy}")
        return _checks.real_vector("b", b, self.shape[0], " (the rows of M)")

    def columns(self, indices: IntArray) -> Array:
        """The columns M e_i, i in indices, as an m x p array: p products."""
        out = np.empty((self.shape[0], indices.size))
        e = np.zeros(self.shape[1])
        for j, i in enumerate(indices):
            e[i] = 1.0
            out[:, j] = self.apply(e)
            e[i] = 0.0
        return out

    def apply_block(self, X: Array) -> Array:
        """M X for the columns of X: as many products as columns."""
        return np.stack([self.apply(x) for x in X.T], axis=1)

    def adjoint_block(self, Y: Array) -> Array:
        """M* Y for the columns of Y: as many products as columns."""
        return np.stack([linalg.as_flat(self.adjoint(y)) for y in Y.T], axis=1)

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        """M(U V^T) for a matrix model in factors; your own operator may know a way without forming the product."""
        return self.apply(U @ V.T)

    def images(self, face: Face) -> Array:
        """The images of a face's basis, m x dim: dim products."""
        if isinstance(face, Coordinates):
            block = self.columns(face.indices)
            return block @ sp.diags_array(face.signs) if sp.issparse(block) else block * face.signs
        if isinstance(face, GroupCoordinates):
            return self.columns(face.indices)
        if face.dim == 0:
            return np.zeros((self.shape[0], 0))
        return np.stack([self.apply(face.point(e)) for e in np.eye(face.dim)], axis=1)

    # Restriction to a face: the face calls the method that fits it.

    def restrict(self, face: Face) -> ReducedOperator:
        """The reduced operator c -> M point(c)."""
        return face.restrict(self)

    def restrict_any(self, face: Face) -> ReducedOperator:
        return Implicit(self, face)

    def restrict_columns(self, face: Face, indices: IntArray, signs: FloatArray) -> ReducedOperator:
        if self.explicit:
            return Columns(self.columns(indices) * signs)
        return Implicit(self, face)

    def restrict_factors(self, face: Factors) -> ReducedOperator:
        return Implicit(self, face)

    def restrict_symmetric(self, face: SymmetricFactors) -> ReducedOperator:
        return Implicit(self, face)

    def restrict_sum(self, face: SumFace) -> ReducedOperator:
        parts = [self.restrict(f) for f in face.parts]
        if not any(p.direct for p in parts):  # one product for the sum instead of one for each part
            return Implicit(self, face)
        return Stacked(parts)

    def subset(self, rows: IntArray) -> Operator:
        """The operator for some of the data."""
        from fewatoms.operators.rows import Rows

        return Rows(self, rows)

    def after(self, map_: Any, shape: tuple[int, ...]) -> Operator:
        """M B for a linear map B from models of `shape`."""
        return Composed(self, map_, shape)

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        """The lengths of all columns in the norm of the weights, where a matrix is at hand to read them off."""
        return None

    # Facts that certificates may rest on: proven, or None.

    def column_norms(self) -> FloatArray | None:
        """|M e_i| for all i, or None where they are too dear."""
        return None

    def block_norms(self, blocks: list[IntArray]) -> FloatArray | None:
        """Upper bounds of the spectral norms of groups of columns, or None."""
        return None

    def rank_one_norm(self) -> float | None:
        """An upper bound of |M(u v^T)| over unit vectors u and v, or None."""
        return None

    def psd_norm(self) -> float | None:
        """An upper bound of |M(v v^H)| over unit vectors v, or None."""
        return self.rank_one_norm()


class Composed(Operator):
    """M B: an operator after a linear map (with `forward`, `backward` and perhaps `matrix`)."""

    def __init__(self, M: Operator, map_: Any, shape: tuple[int, ...]) -> None:
        self.M, self.map = M, map_
        self.shape = (M.shape[0], int(np.prod(shape)))
        self._model_shape = shape
        self.explicit = M.explicit and map_.matrix is not None

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self._model_shape

    def apply(self, x: Array) -> FloatArray:
        return self.M.apply(self.map.forward(x.ravel()))

    def adjoint(self, y: FloatArray) -> ModelDual:
        return self.map.backward(linalg.as_flat(self.M.adjoint(y)))

    def columns(self, indices: IntArray) -> Array:
        return self.M.apply_block(self.map.columns(indices)) if indices.size else np.zeros((self.shape[0], 0))

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        if not self.explicit or self.M.shape[0] * self.M.shape[1] * self.shape[1] > READ_LIMIT:
            return None
        M = self.M.inner if hasattr(self.M, "inner") else self.M  # reading a matrix is no product
        w = 1.0 if weights is None else np.sqrt(weights)[:, None]
        blocks = np.array_split(np.arange(self.shape[1]), max(1, self.shape[1] // 256))
        images = (M.apply_block(self.map.columns(i)) for i in blocks)
        return np.concatenate([np.linalg.norm(w * image, axis=0) for image in images])

    def column_norms(self) -> FloatArray | None:
        if self.map.matrix is None or not (self.M.explicit or self.shape[1] <= PROBE_LIMIT):
            return None
        everything = np.arange(self.shape[1])
        blocks = np.array_split(everything, max(1, self.shape[1] // 256))
        return np.concatenate([np.linalg.norm(self.columns(i), axis=0) for i in blocks])

    def block_norms(self, blocks: list[IntArray]) -> FloatArray | None:
        if self.map.matrix is None or not (self.M.explicit or self.shape[1] <= PROBE_LIMIT):
            return None
        return np.array([np.linalg.norm(self.columns(i), 2) for i in blocks])
