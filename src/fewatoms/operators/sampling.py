"""Sampled entries of a matrix: the measurement of matrix completion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, kernels, linalg
from fewatoms._types import Array, FloatArray, IntArray, ModelDual, Vector
from fewatoms.capabilities import EntryLines, FactorFits, Norms, SampledEntries
from fewatoms.faces import Factors
from fewatoms.lots import Marked
from fewatoms.operators.base import Operator
from fewatoms.operators.on_factors import SampledFactors
from fewatoms.reduced import BLOCK, ReducedOperator
from fewatoms.rounding import Summed
from fewatoms.sides import NONE, Side, Split
from fewatoms.spread import Spread, spread

COUNTED = 1 << 20  # entries counted together
C = TypeVar("C")
WITH_BACKGROUND = (SampledEntries, FactorFits, Norms)  # what is offered beside a background
MANY = 10_000_000  # rows and columns that deserve a question where entries are few


class Sampling(Operator):
    """M(X) = X[rows, cols], in the order given.

    Parameters
    ----------
    rows, cols : (m,) integer arrays
        Positions of the observed entries, in any order, each pair once.
    shape : (p, q)
        Of the matrix.
    background : float, optional
        The weight of all cells that are not named, as zeros: with one, f is 1/2 the sum of w (b - X)^2 over the entries
        named, w the weights of `LeastSquares`, + background / 2 times that of X^2 over all other cells. For clicks,
        which are seen where they are and nowhere else. 0: other cells are unknown, and do not count.

    Notes
    -----
    M*y is a sparse matrix. Products are counted per rank-one matrix sampled. With a background data are still the
    entries named, images and y are `Spread`, and M*y is a sparse matrix plus one of low rank; it is for `RankOne`, a
    number of atoms and least squares.
    """

    def __init__(self, rows: Any, cols: Any, shape: Any, *, background: float = 0.0) -> None:
        p, q = _checks.shape2("shape", shape)
        rows = _checks.indices("rows", rows, p, narrow=True)
        cols = _checks.indices("cols", cols, q, narrow=True)
        if rows.size != cols.size:
            raise ValueError(f"rows and cols must have the same length; got {rows.size} and {cols.size}")
        if rows.size == 0:
            raise ValueError("rows and cols must name at least one entry; got none")
        self._starts, self._cols, self._order = _by_rows(rows, cols, (p, q))
        self.matrix_shape = (p, q)
        self.shape = (rows.size, p * q)
        self.background = _checks.number("background", background)
        self.arrays = not self.background

    def __repr__(self) -> str:
        others = f", others zeros of weight {self.background:g}" if self.background else ""
        return f"Sampling({self.shape[0]} entries of {self.matrix_shape[0]} x {self.matrix_shape[1]}{others})"

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self.matrix_shape

    def subset(self, rows: IntArray) -> Sampling:
        return Sampling(self.rows[rows], self.cols[rows], self.matrix_shape, background=self.background)

    @property
    def _rows(self) -> Array:
        """Rows of the entries, row by row."""
        rows = np.arange(self.matrix_shape[0], dtype=self._cols.dtype)
        return np.repeat(rows, np.diff(self._starts))

    @property
    def rows(self) -> IntArray:
        """Rows of the entries, in the order given."""
        return self._unsort(self._rows).astype(np.intp)

    @property
    def cols(self) -> IntArray:
        """Columns of the entries, in the order given."""
        return self._unsort(self._cols).astype(np.intp)

    @property
    def counts(self) -> tuple[IntArray, IntArray]:
        """How many entries each row and each column has."""
        columns = np.zeros(self.matrix_shape[1], dtype=np.intp)
        for start in range(0, self._cols.size, COUNTED):  # bincount widens what it counts
            columns += np.bincount(self._cols[start : start + COUNTED], minlength=columns.size)
        return np.diff(self._starts), columns

    @property
    def positions(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of the entries, in the order given."""
        return self.rows, self.cols

    def places(self) -> IntArray | None:
        rows, cols = self.positions
        return rows * self.matrix_shape[1] + cols

    def row_by_row(self, values: FloatArray) -> tuple[Array, Array, FloatArray]:
        """The entries row by row: where rows start, columns, and the values (not copied if that was their order)."""
        return self._starts, self._cols, self._sort(values)

    @classmethod
    def from_triplets(
        cls,
        rows: Any,
        cols: Any,
        values: Any,
        shape: Any = None,
        *,
        duplicates: str = "error",
        background: float = 0.0,
    ) -> tuple[Sampling, FloatArray]:
        """(M, b) from entries (row, col, value).

        `shape` defaults to the smallest that holds all entries. `duplicates` says what to do with entries that occur
        more than once: "error" (refuse), "mean" or "last".
        """
        if duplicates not in ("error", "mean", "last"):
            raise ValueError(f"duplicates must be 'error', 'mean' or 'last'; got {duplicates!r}")
        rows, cols = _checks.indices("rows", rows), _checks.indices("cols", cols)
        values = _checks.real_vector("values", values, rows.size, " (one per row index)")
        if cols.size != rows.size:
            raise ValueError(f"rows and cols must have the same length; got {rows.size} and {cols.size}")
        if rows.size == 0:
            raise ValueError("rows and cols must name at least one entry; got none")
        p, q = (int(rows.max()) + 1, int(cols.max()) + 1) if shape is None else _checks.shape2("shape", shape)
        if shape is None and p + q > MANY and p + q > 1000 * rows.size:
            raise ValueError(
                f"rows and cols must be numbers from 0 on; {rows.size} entries with indices up to "
                f"{max(p, q) - 1} look like labels: number them (numpy.unique with return_inverse), or give shape"
            )
        if duplicates != "error":
            rows, cols = _checks.indices("rows", rows, p), _checks.indices("cols", cols, q)
            keys = rows.astype(np.int64) * q + cols
            if duplicates == "mean":
                _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
                merged = np.bincount(inverse, weights=values) / counts
            else:
                _, back = np.unique(keys[::-1], return_index=True)
                first = keys.size - 1 - back
                merged = values[first]
            order = np.argsort(first, kind="stable")  # keep the order of appearance
            rows, cols, values = rows[first[order]], cols[first[order]], merged[order]
        return cls(rows, cols, (p, q), background=background), values

    @classmethod
    def from_array(cls, X: Any) -> tuple[Sampling, FloatArray]:
        """(M, b) from a matrix whose missing entries are NaN (or masked). Infinity is refused."""
        if sp.issparse(X):
            raise TypeError(
                "X must be a dense array with NaN where entries are missing; got a sparse one, which does not tell "
                "zeros from missing entries: pass its coordinates to Sampling.from_triplets"
            )
        missing = np.ma.getmaskarray(X) if isinstance(X, np.ma.MaskedArray) else None
        X = np.ma.getdata(X) if missing is not None else np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must be a matrix (2 axes); got shape {X.shape}")
        if X.dtype.kind not in "biuf":
            raise TypeError(f"X must hold real numbers; got an array of {X.dtype}")
        known = ~np.isnan(X) if missing is None else ~missing
        rows, cols = np.nonzero(known)
        if rows.size == 0:
            raise ValueError("X must have at least one entry that is not missing; got none")
        return cls(rows, cols, X.shape), _checks.real_vector("X", X[rows, cols])

    def _unsort(self, values: Array) -> Array:
        if self._order is None:
            return values
        out = np.empty_like(values)
        out[self._order] = values
        return out

    def _sort(self, values: Array) -> Array:
        return values if self._order is None else values[self._order]

    def offers(self, capability: type[C]) -> C | None:
        """With a background no less than all cells are seen: most of what is offered speaks of arrays."""
        return None if self.background and capability not in WITH_BACKGROUND else super().offers(capability)

    def apply(self, x: Array) -> Vector:
        X = np.asarray(x, dtype=np.float64).reshape(self.matrix_shape)
        return self._seen(self._unsort(X[self._rows, self._cols]), lambda: (X, np.eye(X.shape[1])))

    def _seen(self, values: FloatArray, factors: Callable[[], tuple[Array, Array]]) -> Vector:
        """The image of a matrix that has these entries: with a background all of its cells."""
        return Spread(values, values, *factors()) if self.background else values

    def adjoint(self, y: Vector) -> ModelDual:
        if not self.background:
            return self._placed(y)
        y = spread(y)
        sparse, one = self._placed(y.beyond), np.eye(y.left.shape[1])
        return linalg.low_rank_plus([(1.0, y.left, one, y.right)], 1.0, sparse) if y.left.size else sparse

    def summed(self) -> Summed:
        return Summed(0, 1.0)  # each number has a place of its own

    def _placed(self, y: FloatArray) -> ModelDual:
        return sp.csr_array((self._sort(y), self._cols, self._starts), shape=self.matrix_shape)

    def apply_factors(self, U: Array, V: Array) -> Vector:
        if (len(U), len(V)) != self.matrix_shape or U.shape[1:] != V.shape[1:]:
            raise ValueError(
                f"U and V must be factors of a matrix of shape {self.matrix_shape}; got {U.shape}, {V.shape}"
            )
        return self._seen(self._unsort(kernels.sampled_products(U, V, self._starts, self._cols)), lambda: (U, V))

    def sampled(self, U: Array, V: Array) -> Vector:
        return self.apply_factors(U, V)

    def row_grams(self, V: Array, weights: FloatArray | None) -> Iterator[tuple[int, FloatArray]]:
        """Per row i, sum over its entries of w v_j v_j^T, in blocks of rows."""
        w = np.ones(self.shape[0]) if weights is None else self._sort(weights)
        p, step = self.matrix_shape[0], max(1, BLOCK // max(1, V.shape[1] ** 2))
        for first in range(0, p, step):
            yield first, kernels.row_grams(w, V, self._starts, self._cols, first, min(p, first + step))

    def restrict_factors(self, face: Factors) -> ReducedOperator:
        return SampledFactors(face, self)

    def columns(self, indices: IntArray) -> Any:
        keys = self._rows.astype(np.int64) * self.matrix_shape[1] + self._cols
        spots = np.minimum(np.searchsorted(keys, indices), keys.size - 1)
        found = np.flatnonzero(keys[spots] == indices)
        given = spots[found] if self._order is None else self._order[spots[found]]
        return sp.csc_array((np.ones(found.size), (given, found)), shape=(self.shape[0], indices.size))

    def column_norms(self) -> FloatArray:
        norms = np.full(self.matrix_shape, 1.0 if self.background else 0.0)
        norms[self._rows, self._cols] = 1.0
        return norms.ravel()

    def block_norms(self, blocks: Sequence[IntArray]) -> FloatArray:
        norms = self.column_norms()
        return np.array([norms[i].max(initial=0.0) for i in blocks])

    def rank_one_norm(self) -> float:
        return 1.0

    def psd_norm(self) -> float:
        return 1.0


class ByLines:
    """Entries in arrays, line by line."""

    in_arrays = True

    def __init__(self, entries: SampledEntries) -> None:
        self.entries, self.matrix_shape = entries, entries.matrix_shape

    @property
    def counts(self) -> tuple[IntArray, IntArray]:
        return self.entries.counts

    def lines(self, values: FloatArray, weights: FloatArray | None = None) -> Side:
        starts, cols, sorted_values = self.entries.row_by_row(values)
        return Side(starts, cols, sorted_values, NONE if weights is None else self.entries.row_by_row(weights)[2])

    def named(self, held: IntArray) -> Split:
        marks = np.zeros(int(self.counts[0].sum()), dtype=bool)
        marks[held] = True
        return Marked(self.entries.row_by_row(marks)[2].astype(bool, copy=False))

    def sampled(self, U: Array, V: Array) -> Vector:
        return self.entries.sampled(U, V)

    def sums(self, y: FloatArray) -> FloatArray:
        starts, cols, values = self.entries.row_by_row(y)
        q = self.matrix_shape[1]
        rows = kernels.scattered(values, np.ones((q, 1)), starts, cols).ravel()
        columns = np.zeros(q)
        for start in range(0, cols.size, COUNTED):  # bincount widens what it counts
            some = slice(start, start + COUNTED)
            columns += np.bincount(cols[some], weights=values[some], minlength=q)
        return np.concatenate([rows, columns])


def by_lines(M: Operator) -> EntryLines | None:
    """Sampled entries line by line, of who offers that, or has them in arrays; None elsewhere."""
    own = M.offers(EntryLines)
    if own is not None:
        return own
    entries = M.offers(SampledEntries)
    return None if entries is None else ByLines(entries)


class Margins:
    """F v = v_i + v_{p + j} over the sampled entries (i, j) of a matrix: row and column biases as columns."""

    def __init__(self, M: Operator, entries: EntryLines) -> None:
        self.M, self.entries, self.p = M, entries, entries.matrix_shape[0]

    def forward(self, v: FloatArray) -> FloatArray:
        """F v, one number per entry."""
        row, col = v[: self.p], v[self.p :]
        ones = np.ones_like
        return self.entries.sampled(np.stack([row, ones(row)], axis=1), np.stack([ones(col), col], axis=1))

    def backward(self, y: FloatArray) -> FloatArray:
        """F'y: sums over rows, then over columns."""
        return self.entries.sums(y)

    def diagonal(self, weights: FloatArray | None) -> FloatArray:
        """That of F'WF: how many entries rows and columns have, or the sums of their weights."""
        if weights is None:
            return np.concatenate(self.entries.counts).astype(np.float64)
        return self.backward(weights)


def index_type(rows: int, cols: int, entries: int) -> Any:
    """The integers that number rows, columns and entries."""
    return np.int32 if max(rows, cols, entries) < 2**31 else np.int64


def _ordered(rows: Array, cols: Array) -> bool:
    """Whether entries come row by row, columns strictly rising: no entry twice. A part of them at a time."""
    for start in range(0, rows.size, COUNTED):
        i, j = rows[start : start + COUNTED + 1], cols[start : start + COUNTED + 1]
        if ((i[1:] < i[:-1]) | ((i[1:] == i[:-1]) & (j[1:] <= j[:-1]))).any():
            return False
    return True


def _by_rows(rows: Array, cols: Array, shape: tuple[int, int]) -> tuple[Array, Array, Array | None]:
    """The entries row by row, columns rising: where rows start, their columns, and their places in the order given
    (None if it was that order). Entries that occur twice are refused."""
    p, q = shape
    kind = index_type(p, q, rows.size)
    if _ordered(rows, cols):
        # where rows start, in their own kind: they would be copied into another one
        return np.searchsorted(rows, np.arange(p + 1, dtype=rows.dtype)), cols.astype(kind), None
    places = np.arange(rows.size, dtype=kind)
    grid = sp.coo_array((places, (rows.astype(kind, copy=False), cols.astype(kind, copy=False))), shape=shape).tocsr()
    if grid.nnz < rows.size:  # SciPy has added up the places of entries that occur more than once
        keys = np.sort(rows.astype(np.int64) * q + cols)
        twice = np.flatnonzero(keys[1:] == keys[:-1])
        pair = tuple(int(i) for i in np.divmod(keys[twice[0]], q))
        raise ValueError(
            f"rows and cols must name each entry once; {twice.size} repeat another, {pair} for one: "
            "Sampling.from_triplets(..., duplicates='mean' or 'last') merges them"
        )
    return grid.indptr.astype(np.int64), grid.indices, grid.data
