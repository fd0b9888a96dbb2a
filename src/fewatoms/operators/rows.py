"""Some rows of an operator: for holding data out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from fewatoms._types import Array, FloatArray, IntArray, Matrix
from fewatoms.capabilities import (
    ColumnBlocks,
    FactorFits,
    FactorImages,
    Intensities,
    Norms,
    SampledEntries,
    SeenAsIs,
    SparseColumns,
)
from fewatoms.faces import Factors, SymmetricFactors
from fewatoms.operators.base import Operator
from fewatoms.operators.wrapper import SeenColumns, SeenImages, Wrapper, as_it_is
from fewatoms.reduced import ReducedOperator


class Rows(Wrapper):
    """x -> (Mx)[rows], each row once, for operators that offer no better way to leave data out."""

    passes = True

    def __init__(self, M: Operator, rows: IntArray) -> None:
        super().__init__(M, rows.size)
        self.kept = rows
        if np.unique(rows).size < rows.size:
            raise ValueError("rows must name each row of M once; some are named again")

    def read_data(self, b: npt.ArrayLike) -> FloatArray:
        return Operator.read_data(self, b)  # whatever shape all of the data have, these are a list

    def seen(self, images: Matrix) -> Matrix:
        return images[self.kept]

    def unseen(self, y: Array) -> Array:
        whole = np.zeros((self.inner.shape[0], *y.shape[1:]))
        whole[self.kept] = y
        return whole

    def subset(self, rows: IntArray) -> Operator:
        return self.inner.subset(self.kept[rows])


class _Columns(SeenColumns):
    @property
    def image_size(self) -> float:
        return self.inner.image_size * self.M.shape[0] / self.M.inner.shape[0]

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        w = np.ones(self.M.shape[0]) if weights is None else weights
        return self.inner.column_lengths(self.M.unseen(w))


@dataclass(frozen=True, eq=False)
class _Places:
    M: Rows
    inner: SeenAsIs

    def places(self) -> IntArray | None:
        whole = self.inner.places()
        return self.M.kept if whole is None else whole[self.M.kept]


@dataclass(frozen=True, eq=False)
class _Sparse:
    M: Rows
    inner: SparseColumns

    def crossed(self, Y: Matrix) -> Matrix:
        Y = sp.coo_array(Y)
        whole = sp.csc_array((Y.data, (self.M.kept[Y.row], Y.col)), shape=(self.M.inner.shape[0], Y.shape[1]))
        return self.inner.crossed(whole)


def _entries(M: Rows, inner: SampledEntries) -> SampledEntries:
    from fewatoms.operators.sampling import Sampling

    rows, cols = inner.positions
    return Sampling(rows[M.kept], cols[M.kept], inner.matrix_shape)


class _Intensities:
    def __init__(self, M: Rows, inner: Intensities) -> None:
        self.M, self.inner, self.complex = M, inner, inner.complex

    def measure_factor(self, L: Array) -> tuple[FloatArray, Callable[[FloatArray], Array]]:
        image, pull = self.inner.measure_factor(L)
        return image[self.M.kept], lambda y: pull(self.M.unseen(y))

    def row_squares(self) -> FloatArray | None:
        squares = self.inner.row_squares()
        return None if squares is None else squares[self.M.kept]

    def restrict_symmetric(self, face: SymmetricFactors) -> ReducedOperator:
        return _Kept(self.M, self.inner.restrict_symmetric(face))

    def vectors(self) -> Array:
        return self.inner.vectors()[self.M.kept]


@dataclass(frozen=True, eq=False)
class _Fits:
    M: Rows
    inner: FactorFits

    def restrict_factors(self, face: Factors) -> ReducedOperator:
        return _Kept(self.M, self.inner.restrict_factors(face))


class _Kept(ReducedOperator):
    """The rows kept of another reduced operator: the others have weight 0."""

    def __init__(self, M: Rows, inner: ReducedOperator) -> None:
        self.M, self.inner, self.dim = M, inner, inner.dim
        self.direct, self.costs, self.formed_by = inner.direct, inner.costs, inner.formed_by

    def apply(self, c: FloatArray) -> FloatArray:
        return self.inner.apply(c)[self.M.kept]

    def adjoint(self, r: FloatArray) -> FloatArray:
        return self.inner.adjoint(self.M.unseen(r))

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        w = np.ones(self.M.shape[0]) if weights is None else weights
        return self.inner.normal_equations(self.M.unseen(b), self.M.unseen(w))


Rows.lifts = {
    ColumnBlocks: _Columns,
    SeenAsIs: _Places,
    SparseColumns: _Sparse,
    SampledEntries: _entries,
    FactorFits: _Fits,
    FactorImages: SeenImages,
    Intensities: _Intensities,
    Norms: as_it_is,  # leaving rows out shortens images: bounds stay bounds
}
