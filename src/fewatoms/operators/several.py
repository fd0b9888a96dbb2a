"""One operator applied to several columns at once: several data vectors that share their atoms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from fewatoms import _checks
from fewatoms._types import Array, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.capabilities import ColumnBlocks, Norms, SeenAsIs
from fewatoms.operators.base import Operator
from fewatoms.operators.counting import Counting
from fewatoms.operators.matrix import FULL
from fewatoms.operators.wrapper import SeenColumns, Wrapper
from fewatoms.rounding import Summed


class Several(Wrapper):
    """X -> M X for X with `count` columns; data are m x count, flat in C order. A product here is `count` with M."""

    def __init__(self, M: Operator, count: int) -> None:
        super().__init__(M)
        self.count = count
        self.shape = (M.shape[0] * count, M.shape[1] * count)
        self.by_columns = True

    @property
    def model_shape(self) -> tuple[int, ...]:
        return (self.inner.shape[1], self.count)

    def summed(self) -> Summed | None:
        known = self.inner.summed()
        if known is None or known.each is None:
            return known
        return replace(known, each=np.repeat(known.each, self.count))

    def read_data(self, b: npt.ArrayLike) -> FloatArray:
        shape, came = (self.inner.shape[0], self.count), np.shape(b)
        if came not in (shape, (self.shape[0],)):
            raise ValueError(f"b must have shape {shape} or be flat; got shape {came}")
        return _checks.real_vector("b", b, self.shape[0])

    def apply(self, x: Array) -> FloatArray:
        return np.asarray(self.inner.apply_block(x.reshape(-1, self.count))).ravel()

    def adjoint(self, y: FloatArray) -> ModelDual:
        return np.asarray(self.inner.adjoint_block(y.reshape(-1, self.count))).ravel()

    def apply_block(self, X: Array) -> Array:
        return Operator.apply_block(self, X)

    def adjoint_block(self, Y: Array) -> Array:
        return Operator.adjoint_block(self, Y)

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        return np.asarray(self.inner.apply_block(U @ V.T)).ravel()

    def sketch(self) -> tuple[float, float]:
        return self.inner.sketch()

    def counted(self) -> tuple[Operator, Counting]:
        """Products are counted with the operator inside, whose they are."""
        inner, counter = self.inner.counted()
        return Several(inner, self.count), counter

    def subset(self, rows: IntArray) -> Operator:
        """For some of the data; whole rows of b stay together."""
        if rows.size % self.count == 0:
            whole = rows.reshape(-1, self.count)
            first = whole[:, 0] // self.count
            if np.array_equal(whole, first[:, None] * self.count + np.arange(self.count)):
                return Several(self.inner.subset(first), self.count)
        return Operator.subset(self, rows)

    def columns(self, indices: IntArray) -> Matrix:
        row, which = np.divmod(indices, self.count)
        distinct, back = np.unique(row, return_inverse=True)  # data vectors share their columns: each is asked for once
        return self.spread(sp.csc_array(self.inner.columns(distinct))[:, back], which)

    def spread(self, block: Matrix, which: IntArray) -> Matrix:
        """Images of the inner operator as images of this one, each in the data vector that `which` says."""
        thin = sp.coo_array(block)
        places = thin.row * self.count + which[thin.col]
        return sp.csc_array((thin.data, (places, thin.col)), shape=(self.shape[0], which.size))


@dataclass(frozen=True, eq=False)
class _Columns(SeenColumns):
    """Most of an image is zero: with few data vectors it is dense as far as its size tells, with many it is not."""

    M: Several

    @property
    def image_size(self) -> float:
        size = self.inner.image_size
        return size if size <= FULL * self.M.shape[0] else self.M.shape[0]

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        count = self.M.count
        if weights is None:
            lengths = self.inner.column_lengths()
            return None if lengths is None else np.repeat(lengths, count)
        split = [self.inner.column_lengths(np.ascontiguousarray(w)) for w in weights.reshape(-1, count).T]
        known = [lengths for lengths in split if lengths is not None]
        return np.stack(known, axis=1).ravel() if len(known) == count else None

    def read(self, indices: IntArray) -> Matrix:
        row, which = np.divmod(indices, self.M.count)
        return self.M.spread(self.inner.read(row), which)

    def times(self, X: Array) -> Array:
        count = self.M.count
        each = [self.inner.times(x.reshape(-1, count)).ravel() for x in X.T]
        return np.stack(each, axis=1) if each else np.zeros((self.M.shape[0], 0))


@dataclass(frozen=True, eq=False)
class _Places:
    M: Several
    inner: SeenAsIs

    def places(self) -> IntArray | None:
        whole, count = self.inner.places(), self.M.count
        return None if whole is None else (whole[:, None] * count + np.arange(count)).ravel()


@dataclass(frozen=True, eq=False)
class _Norms:
    M: Several
    inner: Norms

    def column_norms(self) -> FloatArray | None:
        norms = self.inner.column_norms()
        return None if norms is None else np.repeat(norms, self.M.count)

    def block_norms(self, blocks: Sequence[IntArray]) -> FloatArray | None:
        norms, count = self.column_norms(), self.M.count
        # columns of different data are orthogonal; within one data vector the sum of squares bounds the norm
        return None if norms is None else np.array([np.sqrt(_largest(norms, b, count)) for b in blocks])

    def rank_one_norm(self) -> float | None:
        return None

    def psd_norm(self) -> float | None:
        return None


def _largest(norms: FloatArray, block: IntArray, count: int) -> float:
    return float(np.bincount(block % count, weights=norms[block] ** 2).max())


Several.lifts = {ColumnBlocks: _Columns, SeenAsIs: _Places, Norms: _Norms}
