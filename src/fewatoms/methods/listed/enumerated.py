"""So few atoms that all supports can be looked at: none is missed then.

With G, h and b as in `small.py` a support S leaves |b|^2 - h_S' G_SS^{-1} h_S, ridge included: a batch of small solves
for all of them. Nonnegative coefficients that are the best ones are those of a support without bounds, of k atoms or
fewer. What the Gram matrix says is only an order, in which supports are fitted to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from fewatoms._types import FloatArray, IntArray
from fewatoms.methods.listed.small import Small

LISTED = 2500  # supports, where it is not clear that the one found is the best
LISTED_ANYWAY = 1024  # supports, in any case: a look at them takes no longer than what stands around a fit
TINY = 1e-12  # on the diagonal of unit columns, which may depend on each other
NEARLY_ZERO = 1e-9  # coefficients, as a share of |b|, that rounding may have made negative


def countable(small: Small, k: int, most: int = LISTED) -> bool:
    """Whether all supports can be looked at, since they are no more than that."""
    if small.view.blocks is not None or not small.whole:
        return False
    stays, free = int(np.count_nonzero(small.stays)), int(np.count_nonzero(small.may & ~small.stays))
    count = sum(comb(free, size) for size in _sizes(min(k - stays, free), small.signed))
    return count * (1 if small.signed else 2**stays) <= most


def _sizes(most: int, largest: bool) -> range:
    """Of the atoms beside those that must be in; with signed coefficients more are never worse."""
    return range(max(0, most) if largest else 0, max(0, most) + 1)


@lru_cache(maxsize=16)
def _choices(count: int, size: int) -> IntArray:
    """So many out of so many, a row for each choice."""
    rows = list(combinations(range(count), size))
    return np.array(rows, dtype=np.int64).reshape(len(rows), size)


def _supports(small: Small, k: int, largest: bool) -> Iterator[IntArray]:
    """Supports of one size, a row each. Atoms that must be in keep their place where they are idle, as nonnegative
    ones may be."""
    stays, free = np.flatnonzero(small.stays), np.flatnonzero(small.may & ~small.stays)
    for held in range(stays.size if largest else 0, stays.size + 1):
        for forced in combinations(stays.tolist(), held):
            for size in _sizes(min(k - stays.size, free.size), largest):
                rows = free[_choices(free.size, size)]
                yield (
                    np.concatenate([np.tile(forced, (len(rows), 1)).astype(np.int64), rows], axis=1) if forced else rows
                )


def ordered(small: Small, k: int, most: int, *, bounds: bool = False) -> tuple[list[IntArray], FloatArray]:
    """The places of so many supports that may be answers, those of the smallest loss first, and twice their losses; of
    nonnegative atoms, those whose best coefficients are. With `bounds` all of the largest size, whatever the signs."""
    any_signs = bounds or small.signed
    supports: list[IntArray] = []
    losses: list[FloatArray] = []
    for rows in _supports(small, k, any_signs):
        G = small.G[rows[:, :, None], rows[:, None, :]]
        diagonal, h = np.arange(rows.shape[1]), small.h[rows]
        G[:, diagonal, diagonal] += TINY
        c = np.linalg.solve(G, h[:, :, None])[:, :, 0] if rows.shape[1] else h
        twice = small.bb - np.einsum("ij,ij->i", h, c)
        if not any_signs:
            fine = c.min(axis=1, initial=0.0) >= -NEARLY_ZERO * np.sqrt(small.bb)
            rows, twice = rows[fine], twice[fine]
        first = np.argsort(twice, kind="stable")[:most]
        supports += list(rows[first])
        losses.append(twice[first])
    together = np.concatenate(losses)
    order = np.argsort(together, kind="stable")[:most]
    return [supports[i] for i in order], together[order]
