"""Matrices that only pick entries: each row has a single 1, and no column has two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fewatoms._types import Array, IntArray, Matrix

READ_TOGETHER = 1 << 20  # numbers of a dense matrix looked at in one piece


@dataclass(frozen=True, eq=False)
class Picked:
    """Entries of x, as a matrix of ones and zeros picks them.

    which : one per row; None where they are all entries in order
    """

    which: IntArray | None

    def places(self) -> IntArray | None:
        return self.which


def picked(A: Matrix) -> Picked | None:
    """The entries that a matrix picks; None for other matrices. A matrix that is another one is not read to its end."""
    m, n = A.shape
    which = None if m > n else _sparse(A) if sp.issparse(A) else _dense(A)
    if which is None or np.bincount(which, minlength=n).max() > 1:
        return None
    in_order = m == n and bool((which == np.arange(n)).all())
    return Picked(None if in_order else which)


def _sparse(A: Matrix) -> IntArray | None:
    """The column of the single 1 in each row."""
    if np.count_nonzero(A.data[: int(A.indptr[-1])]) != A.shape[0]:
        return None
    entries = A.tocoo()
    used = np.flatnonzero(entries.data)
    rows, cols = entries.row[used], entries.col[used]
    if used.size != A.shape[0] or (entries.data[used] != 1).any() or np.bincount(rows, minlength=A.shape[0]).max() > 1:
        return None
    which = np.empty(A.shape[0], dtype=np.intp)
    which[rows] = cols
    return which


def _dense(A: Array) -> IntArray | None:
    """The column of the single 1 in each row."""
    m, n = A.shape
    which = np.empty(m, dtype=np.intp)
    rows = max(1, READ_TOGETHER // n)
    for start in range(0, m, rows):
        block = A[start : start + rows]
        some = which[start : start + rows]
        some[:] = np.argmax(block, axis=1)
        if (np.count_nonzero(block, axis=1) != 1).any() or (block[np.arange(len(block)), some] != 1).any():
            return None
    return which
