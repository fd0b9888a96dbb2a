"""The root over all atoms: the relaxation on a working set, which grows by the atoms that are pulled into it.

Here nothing is moved out of the diagonal of M'M, which is not formed either: two products a round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.proofs.squares.table import Ground, Table

PRODUCTS = 40
FIRST, MORE = 60, 60  # atoms of the first working set beside 4 k; those added at once
ENOUGH = 3e-3  # share of what separates the relaxation from the target that the bound may be away from it


class Seen(NamedTuple):
    """A point over all atoms, and what it proves: its bound, and h of all atoms."""

    who: IntArray
    x: FloatArray
    s: float
    low: float
    h: FloatArray


def low_of(base: float, h: FloatArray, status: Array, k: int) -> float:
    """The bound, for h of all atoms."""
    inside, free = h[status > 0], h[status == 0]
    kappa = min(k - inside.size, free.size)
    if kappa < 0:
        return np.inf
    most = float(np.partition(free, free.size - kappa)[free.size - kappa :].sum()) if kappa else 0.0
    gained = float(inside.sum()) + most
    return base - gained * (1.0 + 1e-15 * (k + 16)) if np.isfinite(gained) else -np.inf


def looked_at(table: Table, status: Array, target: float) -> Iterator[Seen]:
    """Better and better points; the last is as good as the relaxation allows, or reaches the target."""
    from fewatoms.proofs.squares._visit import Space
    from fewatoms.proofs.squares.loops import loops

    visit, chosen = loops()["visit"], np.empty(max(1, table.k), dtype=np.int64)
    ground = Ground(table, np.arange(table.n), np.zeros(table.n))
    k, x = table.k, np.zeros(table.n)
    base, h = ground.gains(x[:, None])
    rank = np.where(status == 1, np.inf, np.where(status == 0, h[:, 0], -1.0))
    working = np.sort(np.argsort(-rank, kind="stable")[: min(table.n, 4 * k + FIRST)])
    s, G = _first_level(table, h[:, 0]), table.gram(working)
    for _ in range(PRODUCTS):
        space = Space(
            G, table.A[:, working].T @ table.b, table.bb, table.d[working], table.C[working], table.nonneg,
            table.size, table.off(table.n),
        )  # fmt: skip
        some, left = x[working], status[working]
        low, s, *_ = visit(space, left, k, some, np.empty(working.size), chosen, s, target, 8)
        x[working] = some
        base, h = ground.gains(x[:, None])
        who = np.flatnonzero(x)
        full = low_of(float(base[0]), h[:, 0], status, k)
        yield Seen(who.astype(np.int32), x[who].astype(np.float64), s, full, h[:, 0])
        outside = (status == 0) & (h[:, 0] > 0.5 * s * s * (1.0 + 1e-6))
        outside[working] = False
        if full >= target or not outside.any() or low - full <= ENOUGH * (target - low):
            break
        working, G = _wider(table, working, G, outside, h[:, 0])


def _first_level(table: Table, h: FloatArray) -> float:
    """Where a relaxation begins: at the gain of the last atom that there is room for."""
    finite = np.where(np.isfinite(h), h, 0.0)
    k = min(max(1, table.k), h.size)
    return float(np.sqrt(2.0 * np.partition(finite, h.size - k)[h.size - k])) if h.size else 0.0


def _wider(
    table: Table, working: IntArray, G: FloatArray, outside: Array, h: FloatArray
) -> tuple[IntArray, FloatArray]:
    """The working set with those outside that gain most, and its Gram matrix."""
    places = np.flatnonzero(outside)
    most = max(MORE, working.size // 2)
    new = places[np.argsort(-h[places], kind="stable")[:most]]
    cross = table.A[:, working].T @ table.A[:, new]
    block = np.block([[G, cross], [cross.T, table.gram(new)]])
    return np.concatenate([working, new]), block
