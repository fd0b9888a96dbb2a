"""Proven bounds of |Ma|, from what an operator offers or by asking it for every column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.capabilities import ColumnBlocks, Norms

if TYPE_CHECKING:
    from fewatoms.operators import Operator

PROBE_LIMIT = 4096  # a black box is asked for all its columns only up to this many
TOGETHER = 256  # columns formed at a time


def column_norms(M: Operator) -> FloatArray | None:
    """|M e_i| for all i, or upper bounds; None where they are too dear. A black box is asked for every column."""
    known = M.offers(Norms)
    if known is not None:
        return known.column_norms()
    if not _can_ask(M):
        return None
    pieces = np.array_split(np.arange(M.shape[1]), max(1, M.shape[1] // TOGETHER))
    return np.concatenate([np.linalg.norm(_columns(M, i), axis=0) for i in pieces])


def block_norms(M: Operator, blocks: Sequence[IntArray]) -> FloatArray | None:
    """Upper bounds of the spectral norms of groups of columns, or None."""
    known = M.offers(Norms)
    if known is not None:
        return known.block_norms(blocks)
    return np.array([np.linalg.norm(_columns(M, i), 2) for i in blocks]) if _can_ask(M) else None


def rank_one_norm(M: Operator) -> float | None:
    """An upper bound of |M(u v^T)| over unit vectors u and v, or None."""
    known = M.offers(Norms)
    return None if known is None else known.rank_one_norm()


def psd_norm(M: Operator) -> float | None:
    """An upper bound of |M(v v^H)| over unit vectors v, or None."""
    known = M.offers(Norms)
    return None if known is None else known.psd_norm()


def _can_ask(M: Operator) -> bool:
    flat = M.model_shape == (M.shape[1],) and not M.complex
    return flat and (M.shape[1] <= PROBE_LIMIT or M.offers(ColumnBlocks) is not None)


def _columns(M: Operator, indices: IntArray) -> Array:
    at_hand = M.offers(ColumnBlocks)
    block = M.columns(indices) if at_hand is None else at_hand.read(indices)
    return np.asarray(block.toarray() if sp.issparse(block) else block)
