"""Many sizes and ridges at once: supports as the Gram matrix sees them, for comparing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fewatoms import linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.methods.listed.searching import Search

WANTED = 384  # atoms taken into the working set after a look at all of them


def grid(search: Search, ridges: Sequence[float]) -> dict[float, list[tuple[IntArray, FloatArray]]]:
    """For each ridge the classes and coefficients of every size asked for, as the Gram matrix sees them: down from
    the largest ridge, each begun where the one above ended."""
    search.ready()
    ordered = sorted(ridges, reverse=True)
    if not search.small.whole:
        few = [ordered[0], ordered[len(ordered) // 2], ordered[-1]]  # enough to see which atoms matter
        search.small.take(_wanted(search, _swept(search, list(dict.fromkeys(few)))))
    found = _swept(search, ordered)
    return {ridge: [(search.small.classes[row], c) for row, c in rows] for ridge, rows in found.items()}


def _swept(search: Search, ridges: Sequence[float]) -> dict[float, list[tuple[IntArray, FloatArray]]]:
    """For each of these ridges, the largest first, the places and coefficients of every size."""
    found: dict[float, list[tuple[IntArray, FloatArray]]] = {}
    table: IntArray | None = None
    for ridge in ridges:
        table, _ = search.swept(ridge, 1, table)
        rows = [table[k][table[k] >= 0] for k in search.ks]
        found[ridge] = [(row, search.small.solved(row)) for row in rows]
    return found


def _wanted(search: Search, found: dict[float, list[tuple[IntArray, FloatArray]]]) -> IntArray:
    """Classes outside of the working set that are better aligned with what some support leaves than its least atom
    is worth."""
    view, images, small = search.view, search.fits.images, search.small
    rows = [pair for pairs in found.values() for pair in pairs]
    left = np.stack([images.target - images.combine(small.slots(row), c) for row, c in rows], axis=1)
    Z = view.pull_block(view.outer.adjoint_block(linalg.rowwise(images.root, left)))
    best = np.zeros(view.count)
    for (row, c), z in zip(rows, Z, strict=True):
        a = search.small.promise(z)
        sizes = np.sqrt(view.totals(small.classes[row], (c * small.lengths[small.slots(row)]) ** 2))
        least = float(sizes.min(initial=0.0))
        np.maximum(best, np.where(a > least, a / max(least, 1e-300), 0.0), out=best)
    best[small.classes] = 0.0
    offers = linalg.top_k(best, WANTED)
    return offers[best[offers] > 0]
