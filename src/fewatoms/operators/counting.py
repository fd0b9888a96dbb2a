"""Wrappers that count products with M and M*."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.capabilities import (
    ColumnBlocks,
    EntryLines,
    FactorFits,
    FactorImages,
    Intensities,
    Norms,
    RowWise,
    SampledEntries,
    SeenAsIs,
    SparseColumns,
)
from fewatoms.faces import Factors, SymmetricFactors
from fewatoms.operators.base import Operator
from fewatoms.operators.wrapper import Wrapper, as_it_is
from fewatoms.reduced import ReducedOperator, Tallied


class Counting(Wrapper):
    """Another operator, with `products` counting every product with it or its adjoint.

    A block of p vectors counts p, forming p columns counts p; what has structure of its own (sampled factors, quadratic
    measurements) counts one per rank-one matrix measured or M*y formed.

    Parameters
    ----------
    inner : array, sparse matrix, LinearOperator, or an operator of fewatoms
    """

    passes = True

    def __init__(self, inner: object) -> None:
        from fewatoms.operators import as_operator

        super().__init__(as_operator(inner))
        self.products = 0

    def __repr__(self) -> str:
        return f"Counting({self.inner!r}, products={self.products})"

    def count(self, products: int) -> None:
        """Take them down."""
        self.products += products

    def charge(self, products: int) -> None:
        self.count(products)
        super().charge(products)

    def apply(self, x: Array) -> FloatArray:
        self.count(1)
        image = self.inner.apply(x.reshape(self.model_shape))
        if np.shape(image) != self.shape[:1]:
            raise ValueError(f"M.apply must return {self.shape[0]} numbers; got shape {np.shape(image)}")
        return image

    def adjoint(self, y: FloatArray) -> ModelDual:
        self.count(1)
        z = self.inner.adjoint(y)
        if math.prod(z.shape) != self.shape[1]:
            raise ValueError(f"M.adjoint must return {self.shape[1]} numbers; got shape {z.shape}")
        return z

    def columns(self, indices: IntArray) -> Matrix:
        self.count(int(indices.size))
        return self.inner.columns(indices)

    def apply_block(self, X: Array) -> Array:
        self.count(X.shape[1])
        return self.inner.apply_block(X)

    def adjoint_block(self, Y: Array) -> Array:
        self.count(Y.shape[1])
        return self.inner.adjoint_block(Y)

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        self.count(1)
        return self.inner.apply_factors(U, V)

    def asked_norms(self) -> Norms | None:
        return self._asked

    @cached_property
    def _asked(self) -> Norms | None:
        """Kept: whoever asks again pays nothing."""
        return Operator.asked_norms(self)

    def subset(self, rows: IntArray) -> Operator:
        return self.around(self.inner.subset(rows))

    def around(self, inner: Operator) -> Operator:
        """Another operator that this one counts for."""
        return _Shared(self, inner)


class Metered(Counting):
    """Counts in the ledger of the run, products and passes: a block of products is one pass."""

    def count(self, products: int) -> None:
        ledger.spend(products)

    def apply(self, x: Array) -> FloatArray:
        ledger.go_through()
        return super().apply(x)

    def adjoint(self, y: FloatArray) -> ModelDual:
        ledger.go_through()
        return super().adjoint(y)

    def columns(self, indices: IntArray) -> Matrix:
        ledger.go_through()
        return super().columns(indices)

    def apply_block(self, X: Array) -> Array:
        ledger.go_through()
        return super().apply_block(X)

    def adjoint_block(self, Y: Array) -> Array:
        ledger.go_through()
        return super().adjoint_block(Y)

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        ledger.go_through()
        return super().apply_factors(U, V)

    def __repr__(self) -> str:
        return repr(self.inner)

    def around(self, inner: Operator) -> Operator:
        return Metered(inner)

    def sketch(self) -> tuple[float, float]:
        """Kept: all answers of a problem, and of many data vectors, ask for it."""
        return self._sketch

    @cached_property
    def _sketch(self) -> tuple[float, float]:
        return super().sketch()


class _Shared(Counting):
    """Counts where another one counts."""

    def __init__(self, owner: Counting, inner: Operator) -> None:
        super().__init__(inner)
        self.owner = owner

    def count(self, products: int) -> None:
        self.owner.count(products)


@dataclass(frozen=True, eq=False)
class _CountedFits:
    M: Counting
    inner: FactorFits

    def restrict_factors(self, face: Factors) -> ReducedOperator:
        return Tallied(self.inner.restrict_factors(face), self.M.count)


class _CountedIntensities:
    def __init__(self, M: Counting, inner: Intensities) -> None:
        self.M, self.inner, self.complex = M, inner, inner.complex

    def measure_factor(self, L: Array) -> tuple[FloatArray, Callable[[FloatArray], Array]]:
        self.M.count(L.shape[1])
        image, pull = self.inner.measure_factor(L)

        def counted(y: FloatArray) -> Array:
            self.M.count(L.shape[1])
            return pull(y)

        return image, counted

    def row_squares(self) -> FloatArray | None:
        return self.inner.row_squares()

    def restrict_symmetric(self, face: SymmetricFactors) -> ReducedOperator:
        reduced = self.inner.restrict_symmetric(face)
        self.M.count(reduced.formed_by)
        return Tallied(reduced, self.M.count)

    def vectors(self) -> Array:
        A = self.inner.vectors()
        self.M.count(A.shape[1])
        return A


Counting.lifts = {
    ColumnBlocks: as_it_is,
    SeenAsIs: as_it_is,
    SparseColumns: as_it_is,
    SampledEntries: as_it_is,
    EntryLines: as_it_is,
    Norms: as_it_is,
    RowWise: as_it_is,
    FactorFits: _CountedFits,
    FactorImages: as_it_is,  # whoever asks for them charges them
    Intensities: _CountedIntensities,
}
