"""Sampled entries of a matrix: the measurement of matrix completion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, kernels
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.faces import Factors, SymmetricFactors
from fewatoms.operators.base import Operator
from fewatoms.operators.reduced import ReducedOperator, SampledFactors, Symmetrised, row_grams_in_blocks

CHUNK = 1 << 15  # entries gathered at a time: small enough for the cache


class Sampling(Operator):
    """M(X) = X[rows, cols], in the order given.

    Parameters
    ----------
    rows, cols : (m,) integer arrays
        Positions of the observed entries, in any order, each pair once.
    shape : (p, q)
        Of the matrix.

    M*y is a sparse matrix. Products are counted per rank-one matrix sampled.
    """

    def __init__(self, rows: Any, cols: Any, shape: Any) -> None:
        p, q = _checks.shape2("shape", shape)
        rows, cols = _checks.indices("rows", rows, p), _checks.indices("cols", cols, q)
        if rows.size != cols.size:
            raise ValueError(f"rows and cols must have the same length; got {rows.size} and {cols.size}")
        if rows.size == 0:
            raise ValueError("rows and cols must name at least one entry; got none")
        keys = rows.astype(np.int64) * q + cols
        self._order = np.argsort(keys, kind="stable")
        keys = keys[self._order]
        twice = np.flatnonzero(keys[1:] == keys[:-1])
        if twice.size:
            pair = tuple(int(i) for i in np.divmod(keys[twice[0]], q))
            raise ValueError(
                f"rows and cols must name each entry once; {twice.size} repeat another, {pair} for one: "
                "Sampling.from_triplets(..., duplicates='mean' or 'last') merges them"
            )
        kind = np.int32 if max(p, q, rows.size) < 2**31 else np.int64
        self._rows, self._cols = (a[self._order].astype(kind, copy=False) for a in (rows, cols))
        counts = np.bincount(self._rows, minlength=p)
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(kind)
        self._sorted = bool((np.diff(self._order) == 1).all())
        self.matrix_shape = (p, q)
        self.shape = (rows.size, p * q)

    def __repr__(self) -> str:
        return f"Sampling({self.shape[0]} entries of {self.matrix_shape[0]} x {self.matrix_shape[1]})"

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self.matrix_shape

    def subset(self, rows: IntArray) -> Sampling:
        return Sampling(self.rows[rows], self.cols[rows], self.matrix_shape)

    @property
    def rows(self) -> IntArray:
        """Rows of the entries, in the order given."""
        return self._unsort(self._rows).astype(np.intp)

    @property
    def cols(self) -> IntArray:
        """Columns of the entries, in the order given."""
        return self._unsort(self._cols).astype(np.intp)

    @classmethod
    def from_triplets(
        cls, rows: Any, cols: Any, values: Any, shape: Any = None, *, duplicates: str = "error"
    ) -> tuple[Sampling, FloatArray]:
        """(M, b) from entries (row, col, value).

        `shape` defaults to the smallest that holds all entries. `duplicates` says what to do with entries that occur
        more than once: "error" (refuse), "mean" or "last".
        """
        if duplicates not in ("error", "mean", "last"):
            raise ValueError(f"duplicates must be 'error', 'mean' or 'last'; got {duplicates!r}")
        high = np.iinfo(np.int64).max
        rows, cols = _checks.indices("rows", rows, high), _checks.indices("cols", cols, high)
        values = _checks.real_vector("values", values, rows.size, " (one per row index)")
        if cols.size != rows.size:
            raise ValueError(f"rows and cols must have the same length; got {rows.size} and {cols.size}")
        if rows.size == 0:
            raise ValueError("rows and cols must name at least one entry; got none")
        p, q = (int(rows.max()) + 1, int(cols.max()) + 1) if shape is None else _checks.shape2("shape", shape)
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
        return cls(rows, cols, (p, q)), values

    @classmethod
    def from_array(cls, X: Any) -> tuple[Sampling, FloatArray]:
        """(M, b) from a matrix whose missing entries are NaN (or masked). Infinity is refused."""
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
        if self._sorted:
            return values
        out = np.empty_like(values)
        out[self._order] = values
        return out

    def _sort(self, values: Array) -> Array:
        return values if self._sorted else values[self._order]

    def apply(self, x: Array) -> FloatArray:
        return self._unsort(np.asarray(x, dtype=np.float64).reshape(self.matrix_shape)[self._rows, self._cols])

    def adjoint(self, y: FloatArray) -> ModelDual:
        return sp.csr_array((self._sort(y), self._cols, self._starts), shape=self.matrix_shape)

    def sample(self, left: Array, right: Array) -> FloatArray:
        """(left @ right.T)[rows, cols], without forming the product."""
        out = np.empty(self.shape[0])
        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        if self.shape[0] >= kernels.WORTHWHILE:
            kernels.compiled("sampled_products")(left, right, self._rows, self._cols, out)
        else:
            for i in range(0, out.size, CHUNK):
                some = slice(i, i + CHUNK)
                out[some] = np.einsum("ij,ij->i", left.take(self._rows[some], 0), right.take(self._cols[some], 0))
        return self._unsort(out)

    def row_grams(self, V: Array, weights: FloatArray | None) -> Iterator[tuple[int, FloatArray]]:
        """Per row i, sum over its entries of w v_j v_j^T, in blocks of rows."""
        w = np.ones(self.shape[0]) if weights is None else self._sort(weights)
        loop = self.shape[0] >= kernels.WORTHWHILE
        yield from row_grams_in_blocks(np.ascontiguousarray(V), self._starts, self._cols, w, loop)

    def restrict_factors(self, face: Factors) -> ReducedOperator:
        return SampledFactors(face, self)

    def restrict_symmetric(self, face: SymmetricFactors) -> ReducedOperator:
        return Symmetrised(SampledFactors(Factors(face.V, face.V), self), face.size)

    def columns(self, indices: IntArray) -> Any:
        keys = self._rows.astype(np.int64) * self.matrix_shape[1] + self._cols
        spots = np.minimum(np.searchsorted(keys, indices), keys.size - 1)
        found = np.flatnonzero(keys[spots] == indices)
        # `order` leads from sorted positions back to the user's
        return sp.csc_array(
            (np.ones(found.size), (self._order[spots[found]], found)), shape=(self.shape[0], indices.size)
        )

    def restrict_columns(self, face: Any, indices: IntArray, signs: FloatArray) -> ReducedOperator:
        from fewatoms.operators.reduced import Columns

        return Columns(sp.csc_array(self.columns(indices) @ sp.diags_array(signs)))

    def column_norms(self) -> FloatArray:
        norms = np.zeros(self.matrix_shape)
        norms[self._rows, self._cols] = 1.0
        return norms.ravel()

    def block_norms(self, blocks: list[IntArray]) -> FloatArray:
        norms = self.column_norms()
        return np.array([norms[i].max(initial=0.0) for i in blocks])

    def rank_one_norm(self) -> float:
        return 1.0
