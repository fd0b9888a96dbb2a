"""Matrices, dense and sparse, as operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, ledger, linalg, norms
from fewatoms._types import Array, FloatArray, Foreign, IntArray, Matrix
from fewatoms.capabilities import FactorImages, SeenAsIs, SparseColumns, keeps
from fewatoms.engines import Threads
from fewatoms.names import Names
from fewatoms.operators import passes, stored
from fewatoms.operators.base import Operator
from fewatoms.operators.boxes import refuse_complex
from fewatoms.operators.ones import Picked, picked
from fewatoms.rounding import DECOMPOSED, Summed, gamma

C = TypeVar("C")

FULL = 0.1  # share of nonzeros from which sparse columns are better off dense
SUMMED = 1 << 21  # numbers of a block of rows that sums are taken over at a time
COPIED = 1 << 22  # entries up to which sparse matrices are converted, or turned into columns, as a whole
READINGS = 64  # of columns out of the rows of larger ones, a pass each, before they are turned after all
EXACT_NORM_SIDE = 2000  # up to this shorter side the spectral norm is computed instead of bounded


class MatrixOperator(Operator):
    """A dense array or sparse matrix, used in place: no copy is made of an array of floats.

    Products are computed in double precision, since certificates rest on them: an array of single precision is
    converted a block of rows at a time; integers, booleans and sparse matrices of single precision are converted once.
    Of a large sparse matrix nothing of its size is made: it is converted piece by piece, and columns are read out of
    its rows.
    """

    def __init__(self, matrix: Any, names: Names | None = None, *, name: str = "M") -> None:
        _checks.unmasked(name, matrix)
        if sp.issparse(matrix):
            if matrix.ndim != 2:
                raise ValueError(f"{name} must be a matrix (2 axes); got shape {matrix.shape}")
            refuse_complex(matrix.dtype, name)
            matrix = matrix if matrix.format in ("csc", "csr") else matrix.tocsc()
            _checks.finite(name, matrix.data)
        else:
            matrix = np.asarray(matrix)
            if matrix.ndim != 2:
                raise ValueError(f"{name} must be a matrix (2 axes); got shape {matrix.shape}")
            if matrix.dtype.kind not in "biufc":
                hint = _checks.as_numbers(name, matrix)
                raise TypeError(f"{name} must hold real numbers; got an array of {matrix.dtype}{hint}")
            refuse_complex(matrix.dtype, name)
            _checks.finite(name, matrix)
        if 0 in matrix.shape:
            raise ValueError(f"{name} must have at least one row and one column; got shape {matrix.shape}")
        if matrix.dtype != np.float64 if sp.issparse(matrix) else matrix.dtype.kind in "biu":
            matrix = matrix if sp.issparse(matrix) and matrix.nnz > COPIED else matrix.astype(np.float64)
        self.matrix = matrix
        self.shape = matrix.shape
        self.names = names
        self._by_column: Any = None
        self._readings = 0

    def offers(self, capability: type[C]) -> C | None:
        filled = capability is FactorImages and sp.issparse(self.matrix)  # pairs one by one cost less than zeros do
        filled = filled or (capability is SparseColumns and not sp.issparse(self.matrix))
        found = None if filled else self._picked if capability is SeenAsIs else self
        return found if keeps(found, capability) else None

    @cached_property
    def _picked(self) -> Picked | None:
        """The entries of x that data are, if that is all that the matrix does."""
        return picked(self.matrix)

    @property
    def image_size(self) -> float:
        return self.matrix.nnz / self.shape[1] if sp.issparse(self.matrix) else self.shape[0]

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        """The rows in double precision: all of them as they are, or a converted block at a time."""
        if self.matrix.dtype == np.float64:
            yield slice(None), self.matrix
            return
        rows = max(1, (1 << 17) // self.shape[1])
        for start in range(0, self.shape[0], rows):
            some = slice(start, start + rows)
            yield some, np.asarray(self.matrix[some], dtype=np.float64)

    def apply(self, x: Array) -> FloatArray:
        return self.apply_block(x.ravel())

    def apply_block(self, X: Array) -> Array:
        if sp.issparse(self.matrix):
            return stored.image(self.matrix, X)
        out = np.empty((self.shape[0], *X.shape[1:]))
        for some, block in self._blocks():
            out[some] = block @ X
        return out

    def adjoint(self, y: FloatArray) -> FloatArray:
        if sp.issparse(self.matrix):
            return stored.adjoint(self.matrix, y)
        return np.asarray(sum((block.T @ y[some] for some, block in self._blocks()), start=np.zeros(self.shape[1])))

    def columns(self, indices: IntArray) -> Any:
        if not sp.issparse(self.matrix):
            return np.asarray(self.matrix[:, indices], dtype=np.float64)
        block = self._sparse_columns(indices).astype(np.float64, copy=False)
        size = block.shape[0] * block.shape[1]
        return block.toarray() if block.nnz > FULL * size and size <= 4_000_000 else block

    def _sparse_columns(self, indices: IntArray) -> Any:
        if self._by_column is None:
            self._readings += 1
            if self.matrix.format == "csr" and self.matrix.nnz > COPIED and self._readings <= READINGS:
                return stored.columns(self.matrix, indices)
            self._by_column = self.matrix.tocsc()
        return self._by_column[:, indices]

    def crossed(self, Y: Matrix) -> Matrix:
        return stored.crossed(self.matrix, Y)

    def read(self, indices: IntArray) -> Matrix:
        return self.columns(indices)

    def times(self, X: Array) -> Array:
        return self.apply_block(X)

    def factor_images(self, U: Array, V: Array) -> Array:
        """The images of all u_a v_b^T, by contracting one side of the model after the other."""
        (p, r), (q, s) = U.shape, V.shape
        out = np.empty((self.shape[0], r * s))
        rows = max(1, (1 << 22) // (p * q))
        for start in range(0, self.shape[0], rows):
            block = np.asarray(self.matrix[start : start + rows], dtype=np.float64).reshape(-1, p, q)
            half = (block.reshape(-1, q) @ V).reshape(len(block), p, s)
            out[start : start + rows] = np.matmul(U.T, half).reshape(len(block), r * s)
        return out

    @property
    def in_blocks(self) -> bool:
        return False

    def over_rows(self, task: Callable[..., Foreign], *shared: object, parts: Sequence[Array | None] = ()) -> Foreign:
        """In threads, a few thousand rows at a time."""
        ledger.go_through()
        A = self.matrix.tocsr().astype(np.float64, copy=False) if sp.issparse(self.matrix) else self.matrix
        rows = max(1, SUMMED // max(1, int(A.nnz / A.shape[0]) if sp.issparse(A) else A.shape[1]))
        cuts = [slice(a, a + rows) for a in range(0, A.shape[0], rows)]
        placed = Threads().place([partial(A.__getitem__, cut) for cut in cuts])
        cut = [tuple(None if part is None else part[some] for part in parts) for some in cuts]
        return placed.sum(passes.spread, task, *shared, parts=cut)

    def subset(self, rows: IntArray) -> Operator:
        some = self.matrix.tocsr()[rows] if sp.issparse(self.matrix) else self.matrix[rows]
        return MatrixOperator(some, self.names)

    def adjoint_block(self, Y: Array) -> Array:
        if sp.issparse(self.matrix):
            return stored.adjoint(self.matrix, Y)
        return np.asarray(sum((block.T @ Y[some] for some, block in self._blocks()), start=0.0))

    def column_norms(self) -> FloatArray:
        return self.column_lengths()

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self._column_squares(weights)
        lengths: FloatArray = np.sqrt(squares)
        odd = np.flatnonzero(~norms.ordinary_squares(squares))  # empty ones, and those in far units
        if sp.issparse(self.matrix) and odd.size:
            odd = odd[stored.column_sums(self.matrix, _filled)[odd] > 0]
        for some in np.array_split(odd, max(1, odd.size // norms.TOGETHER)) if odd.size else ():
            lengths[some] = norms.block_lengths(norms.dense(self.columns(some)), weights)
        return lengths

    def summed(self) -> Summed:
        lengths = self.column_lengths() * (1.0 + gamma(2 * self.shape[0] + 8))
        return Summed(self.shape[0], linalg.length(lengths), lengths)

    def _column_squares(self, weights: FloatArray | None) -> FloatArray:
        A = self.matrix
        if sp.issparse(A):
            return stored.column_sums(A, np.square, weights)
        total = np.zeros(self.shape[1])
        if A.flags.f_contiguous:  # along the columns: each is read once, in order
            width = max(1, (1 << 20) // self.shape[0])
            for start in range(0, self.shape[1], width):
                block = np.asarray(A[:, start : start + width], dtype=np.float64)
                weighted = block if weights is None else block * weights[:, None]
                total[start : start + width] = np.einsum("ij,ij->j", weighted, block)
            return total
        rows = max(1, (1 << 20) // self.shape[1])
        for start in range(0, self.shape[0], rows):
            block = np.asarray(A[start : start + rows], dtype=np.float64)
            weighted = block if weights is None else block * weights[start : start + rows, None]
            total += np.einsum("ij,ij->j", weighted, block)
        return total

    def block_norms(self, blocks: Sequence[IntArray]) -> FloatArray:
        def norm(indices: IntArray) -> float:
            block = self.columns(indices)
            return float(np.linalg.norm(block.toarray() if sp.issparse(block) else block, 2))

        return np.array([norm(i) for i in blocks])

    def psd_norm(self) -> float:
        return self.rank_one_norm()

    def rank_one_norm(self) -> float:
        # The spectral norm over all of vec(X) bounds it over rank-one X.
        A = self.matrix
        frobenius = float(np.sqrt((self.column_norms() ** 2).sum()))
        if min(self.shape) > EXACT_NORM_SIDE:
            size = abs(A)
            down, across = (np.asarray(size.sum(axis=i, dtype=np.float64)).max() for i in (0, 1))
            return min(frobenius, float(np.sqrt(down * across)))
        top = float(np.linalg.eigvalsh(_gram(A))[-1])
        # a Gram matrix and its eigenvalues are off by roundings of all squares: round up, so that the bound stays one
        return float(np.sqrt(max(top, 0.0) + gamma(2 * max(self.shape) + DECOMPOSED * min(self.shape)) * frobenius**2))


def _filled(values: FloatArray) -> FloatArray:
    """1 for each that is not 0."""
    return (values != 0).astype(np.float64)


def _gram(A: Any) -> FloatArray:
    """The Gram matrix of the shorter side, summed in double precision whatever that of A."""
    A = A if A.shape[0] <= A.shape[1] else A.T
    if sp.issparse(A):
        A = A.astype(np.float64, copy=False)
        return np.asarray((A @ A.T).toarray())
    G = np.zeros((A.shape[0], A.shape[0]))
    width = max(1, (1 << 22) // A.shape[0])
    for start in range(0, A.shape[1], width):
        block = np.asarray(A[:, start : start + width], dtype=np.float64)
        G += block @ block.T
    return G
