"""Sparse matrices read where they are, some entries at a time: by rows or by columns, in the user's own type, with
duplicates as they come. Nothing of the size of the matrix is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from fewatoms._types import Array, FloatArray, IntArray, Matrix

SCANNED = 1 << 18  # entries looked at together

Taken = Callable[[FloatArray], FloatArray]


def pieces(A: Matrix, least: int = 0) -> Iterator[tuple[int, int, Matrix]]:
    """The matrix in pieces of whole rows, or columns where it is kept by these: the first line, the last with 1 added,
    and what is there, each entry once; without a copy where the matrix has each once itself.

    least : entries of a piece at least, where there are so many
    """
    lines = A.indptr.size - 1
    starts = np.arange(0, A.indptr[-1], max(SCANNED, least))
    cuts = np.unique(np.concatenate([[0], np.searchsorted(A.indptr, starts), [lines]]))
    for a, b in pairwise(cuts):
        yield int(a), int(b), _piece(A, int(a), int(b))


def _piece(A: Matrix, a: int, b: int) -> Matrix:
    by_row, some = A.format == "csr", slice(A.indptr[a], A.indptr[b])
    shape = (b - a, A.shape[1]) if by_row else (A.shape[0], b - a)
    kind = sp.csr_array if by_row else sp.csc_array
    piece = kind((A.data[some], A.indices[some], A.indptr[a : b + 1] - A.indptr[a]), shape=shape)
    if not piece.has_canonical_format:
        piece = piece.copy()
        piece.sum_duplicates()
    return piece


def column_sums(A: Matrix, taken: Taken, weights: FloatArray | None = None) -> FloatArray:
    """The sums over each column of a function of its entries, times the weight of their rows."""
    sums = np.zeros(A.shape[1])
    by_row = A.format == "csr"
    for a, b, piece in pieces(A, A.shape[1] if by_row else 0):
        values = taken(piece.data.astype(np.float64, copy=False))
        if by_row:
            if weights is not None:
                values = values * np.repeat(weights[a:b], np.diff(piece.indptr))
            sums += np.bincount(piece.indices, weights=values, minlength=sums.size)
            continue
        if weights is not None:
            values = values * weights[piece.indices]
        filled = np.flatnonzero(np.diff(piece.indptr))
        if filled.size:
            sums[a + filled] = np.add.reduceat(values, piece.indptr[filled])
    return sums


def columns(A: Matrix, indices: IntArray) -> Matrix:
    """Some columns of a matrix kept by rows, in double precision and by column: one pass over all entries."""
    distinct, back = np.unique(indices, return_inverse=True)
    rows, places, values = _across(A, distinct)
    block = sp.coo_array((values, (rows, places)), shape=(A.shape[0], distinct.size)).tocsc()
    return block if np.array_equal(distinct, indices) else block[:, back]


def crossed(A: Matrix, Y: Matrix) -> Matrix:
    """A'Y for sparse columns Y. Of a matrix kept by rows only those in Y are read; else it takes a pass."""
    Y = sp.csr_array(Y)
    filled = np.flatnonzero(np.diff(Y.indptr))
    if A.format == "csr":
        return A[filled].T.astype(np.float64, copy=False) @ Y[filled]
    lines, places, values = _across(A, filled)
    rows = sp.coo_array((values, (lines, places)), shape=(A.shape[1], filled.size)).tocsr()
    return rows @ Y[filled]


def _across(A: Matrix, distinct: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The entries of some columns of a matrix kept by rows, or rows of one kept by columns: the line that each is kept
    in, which of those asked for it belongs to, and its value."""
    wanted = np.zeros(A.shape[1] if A.format == "csr" else A.shape[0], dtype=bool)
    wanted[distinct] = True
    found: list[IntArray] = [np.empty(0, dtype=np.intp)]
    for start in range(0, int(A.indptr[-1]), SCANNED):
        found.append(start + np.flatnonzero(wanted[A.indices[start : min(start + SCANNED, int(A.indptr[-1]))]]))
    at = np.concatenate(found)
    kind, values = A.indices.dtype, A.data[at]
    lines: IntArray = (np.searchsorted(A.indptr, at, side="right") - 1).astype(kind)
    return lines, np.searchsorted(distinct, A.indices[at]).astype(kind), values.astype(np.float64, copy=False)


def image(A: Matrix, X: Array) -> Array:
    """A X in double precision."""
    if A.dtype == np.float64:
        return np.asarray(A @ X)
    out = np.zeros((A.shape[0], *X.shape[1:]))
    for a, b, piece in pieces(A):
        if A.format == "csr":
            out[a:b] = piece.astype(np.float64) @ X
        else:
            out += piece.astype(np.float64) @ X[a:b]
    return out


def adjoint(A: Matrix, Y: Array) -> Array:
    """A'Y in double precision."""
    if A.dtype == np.float64:
        return np.asarray(A.T @ Y)
    out = np.zeros((A.shape[1], *Y.shape[1:]))
    for a, b, piece in pieces(A):
        if A.format == "csr":
            out += piece.T.astype(np.float64) @ Y[a:b]
        else:
            out[a:b] = piece.T.astype(np.float64) @ Y
    return out
