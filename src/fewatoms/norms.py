"""Proven bounds of |Ma|, from what an operator offers or by asking it for every column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from fewatoms._types import Array, FloatArray, IntArray, Matrix
from fewatoms.capabilities import ColumnBlocks, Norms
from fewatoms.rounding import DECOMPOSED, gamma

if TYPE_CHECKING:
    from fewatoms.operators import Operator

PROBE_LIMIT = 4096  # a black box is asked for all its columns only up to this many
TOGETHER = 256  # columns formed at a time
FAINT_SQUARES = 1e-270  # sums of squares below this, or above its reciprocal, are taken in other units


def column_norms(M: Operator) -> FloatArray | None:
    """|M e_i| for all i, or upper bounds; None where they are too dear. A black box is asked for every column."""
    known = _known(M)
    found = None if known is None else known.column_norms()
    return None if found is None else found * (1.0 + gamma(M.shape[0] // 2 + 8))  # a root halves what sums are off by


def block_norms(M: Operator, blocks: Sequence[IntArray]) -> FloatArray | None:
    """Upper bounds of the spectral norms of groups of columns, or None."""
    known = _known(M)
    found = None if known is None else known.block_norms(blocks)
    if found is None:
        return None
    widths = np.array([block.size for block in blocks])
    return found + found * np.sqrt(widths) * gamma(DECOMPOSED * (M.shape[0] + int(widths.max(initial=0))))


def rank_one_norm(M: Operator) -> float | None:
    """An upper bound of |M(u v^T)| over unit vectors u and v, or None."""
    known = M.offers(Norms)
    return None if known is None else known.rank_one_norm()


def psd_norm(M: Operator) -> float | None:
    """An upper bound of |M(v v^H)| over unit vectors v, or None."""
    known = M.offers(Norms)
    return None if known is None else known.psd_norm()


def _known(M: Operator) -> Norms | None:
    known = M.offers(Norms)
    return M.asked_norms() if known is None else known


def asked(M: Operator) -> Norms | None:
    """The norms of an operator that does not know them, where it has few enough columns to be asked for each."""
    few = M.shape[1] <= PROBE_LIMIT or M.offers(ColumnBlocks) is not None
    return Asked(M) if few and not M.complex else None


@dataclass(frozen=True, eq=False)
class Asked:
    """The norms of columns that are formed, one product each, and let go; they are formed when somebody asks."""

    M: Operator

    @cached_property
    def _columns(self) -> FloatArray:
        return lengths(self._formed, self.M.shape[1])

    def _formed(self, indices: IntArray) -> Matrix:
        at_hand = self.M.offers(ColumnBlocks)
        return self.M.columns(indices) if at_hand is None else at_hand.read(indices)

    def column_norms(self) -> FloatArray:
        return self._columns

    def block_norms(self, blocks: Sequence[IntArray]) -> FloatArray:
        return np.array([np.linalg.norm(dense(self._formed(i)), 2) for i in blocks])

    def rank_one_norm(self) -> None:
        return None

    def psd_norm(self) -> None:
        return None


def lengths(columns: Callable[[IntArray], Matrix], count: int, weights: FloatArray | None = None) -> FloatArray:
    """The lengths of columns 0, ..., count - 1 in the norm of the weights, read a few at a time."""
    pieces = np.array_split(np.arange(count), max(1, count // TOGETHER))
    return np.concatenate([block_lengths(dense(columns(i)), weights) for i in pieces])


def ordinary_squares(squares: FloatArray) -> Array:
    """Which sums of squares have lost nothing by being too large or too small."""
    return (squares > FAINT_SQUARES) & (squares < 1 / FAINT_SQUARES)


def block_lengths(block: Array, weights: FloatArray | None = None) -> FloatArray:
    """The lengths of the columns of a block in the norm of the weights, also where their squares are no numbers."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        weighed = block if weights is None else block * weights[:, None]
        squares = np.einsum("ij,ij->j", weighed, block)
        found: FloatArray = np.sqrt(squares)
    odd = np.flatnonzero(~ordinary_squares(squares))
    if odd.size:
        found[odd] = _apart(block[:, odd], weights)
    return found


def _apart(block: Array, weights: FloatArray | None) -> FloatArray:
    """The same column by column, in units of the largest entry, a power of two."""
    root = block if weights is None else block * np.sqrt(weights)[:, None]
    exponents = np.frexp(np.abs(root).max(axis=0, initial=0.0))[1]
    with np.errstate(under="ignore", over="ignore"):
        units = np.ldexp(root, -exponents)
        return np.ldexp(np.sqrt(np.einsum("ij,ij->j", units, units)), exponents)


def dense(block: Matrix) -> Array:
    """Columns as an array."""
    return np.asarray(block.toarray() if sp.issparse(block) else block)
