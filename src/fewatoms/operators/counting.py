"""A wrapper that counts products with M and M*."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.faces import Face, Factors, SymmetricFactors
from fewatoms.operators.base import Operator
from fewatoms.operators.reduced import Implicit, ReducedOperator, Tallied


class Counting(Operator):
    """Another operator, with `products` counting every product with it or its adjoint.

    A block of p vectors counts p, forming p columns counts p; reduced operators with structure of their own (sampled
    factors, quadratic measurements) count what they declare: one per rank-one matrix measured or M*y formed.
    """

    def __init__(self, inner: Any) -> None:
        from fewatoms.operators import as_operator

        self.inner: Operator = as_operator(inner)
        self.products = 0
        self._column_norms: FloatArray | None = None
        self.shape = self.inner.shape
        self.explicit, self.complex = self.inner.explicit, self.inner.complex
        self.by_columns = self.inner.by_columns

    def __repr__(self) -> str:
        return f"Counting({self.inner!r}, products={self.products})"

    @property
    def image_size(self) -> float:
        return self.inner.image_size

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self.inner.model_shape

    def read_data(self, b: Any) -> FloatArray:
        return self.inner.read_data(b)

    def apply(self, x: Array) -> FloatArray:
        self.products += 1
        image = self.inner.apply(x)
        if np.shape(image) != self.shape[:1]:
            raise ValueError(f"M.apply must return {self.shape[0]} numbers; got shape {np.shape(image)}")
        return image

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        self.products += 1
        return self.inner.apply_factors(U, V)

    def adjoint(self, y: FloatArray) -> ModelDual:
        self.products += 1
        z = self.inner.adjoint(y)
        if math.prod(z.shape) != self.shape[1]:
            raise ValueError(f"M.adjoint must return {self.shape[1]} numbers; got shape {z.shape}")
        return z

    def columns(self, indices: IntArray) -> Any:
        self.products += int(np.size(indices))
        return self.inner.columns(indices)

    def images(self, face: Face) -> Array:
        if not isinstance(face, Factors):
            return super().images(face)
        self.products += face.dim
        return self.inner.images(face)

    def apply_block(self, X: Array) -> Array:
        self.products += X.shape[1]
        return self.inner.apply_block(X)

    def adjoint_block(self, Y: Array) -> Array:
        self.products += Y.shape[1]
        return self.inner.adjoint_block(Y)

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        return self.inner.column_lengths(weights)

    def restrict_columns(self, face: Face, indices: IntArray, signs: FloatArray) -> ReducedOperator:
        reduced = self.inner.restrict_columns(face, indices, signs)
        return self._claim(reduced, face, indices.size)

    def restrict_factors(self, face: Factors) -> ReducedOperator:
        return self._claim(self.inner.restrict_factors(face), face, 0)

    def restrict_symmetric(self, face: SymmetricFactors) -> ReducedOperator:
        return self._claim(self.inner.restrict_symmetric(face), face, face.size)

    def _claim(self, reduced: ReducedOperator, face: Face, formed: int) -> ReducedOperator:
        """Count what `reduced` does. An implicit one is made anew on this wrapper, which counts its products itself."""
        if isinstance(reduced, Implicit):
            return Implicit(self, face)
        if not any(reduced.costs.values()):  # it formed images of the atoms once, and is free from then on
            self.products += formed
            return reduced
        return Tallied(reduced, self)

    def column_norms(self) -> FloatArray | None:
        if self._column_norms is None:
            self._column_norms = self._probing(self.inner.column_norms)
        return self._column_norms

    def block_norms(self, blocks: list[IntArray]) -> FloatArray | None:
        return self._probing(lambda: self.inner.block_norms(blocks))

    def _probing(self, ask: Any) -> FloatArray | None:
        norms: FloatArray | None = ask()
        if norms is not None and not self.explicit and self.inner.model_shape == (self.shape[1],):
            self.products += self.shape[1]  # a black box had to be asked for every column
        return norms

    def rank_one_norm(self) -> float | None:
        return self.inner.rank_one_norm()

    def psd_norm(self) -> float | None:
        return self.inner.psd_norm()
