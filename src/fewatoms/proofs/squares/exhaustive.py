"""The ways that look at all choices where bounds are of no use: lists of them, and leaps and bounds.

Either leaves in the tree no more than its name: whoever checks it does it again.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from math import comb
from typing import Protocol

import numpy as np
from scipy.linalg import lapack

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.proofs.squares.table import Table
from fewatoms.rounding import UNIT

MOST_LISTED = 10**8  # choices that are listed at most
A_CHOICE, A_ROW = 1.5e-9, 4e-9  # seconds for the last atom of a choice; for an atom of a row before it
WIDEST = 300  # atoms for leaps and bounds at most
TWINS_APART = 1e-12  # distance between unit columns that are one column but for rounding in the numbers given
NEARLY_TWINS = 1e-10  # products of unit columns below 1, where their distance is looked at
AT_ONCE_IN_FITS = 2e7  # numbers of inverses that are looked at between two looks at the clock
DISTORTED = 1e-4  # what rounding may change the costs of removals by at most; beyond, columns are too dependent


class Asks(Protocol):
    """Whoever has all choices looked at: the target that they have to stay above, which falls as better ones come."""

    table: Table
    target: float

    def looked_at(self, choice: IntArray) -> None:
        """A choice that may be below the target, by places in the table."""
        ...


def choices(table: Table, status: Array) -> int:
    """How many there are, those of fewer atoms too where signs matter."""
    free, kappa = int(np.count_nonzero(status == 0)), table.k - int(np.count_nonzero(status > 0))
    sizes = range(kappa + 1) if table.nonneg else [min(kappa, free)]
    return sum(comb(free, size) for size in sizes if size >= 0)


def seconds(table: Table, status: Array) -> float:
    """What listing them takes, roughly."""
    free, kappa = int(np.count_nonzero(status == 0)), table.k - int(np.count_nonzero(status > 0))
    if choices(table, status) > MOST_LISTED:
        return np.inf
    rows = comb(free, max(0, min(kappa, free) - 1))
    return A_CHOICE * comb(free, min(kappa, free)) + A_ROW * rows * (kappa + 1)


def listing(asks: Asks, status: Array) -> Iterator[int]:
    """Look at all choices: how many starts of choices have been, again and again."""
    from fewatoms.proofs.squares import _listing
    from fewatoms.proofs.squares._visit import Space
    from fewatoms.proofs.squares.loops import loops

    run = loops()["listed"]
    table = asks.table
    places = np.concatenate([np.flatnonzero(status > 0), np.flatnonzero(status == 0)])
    held = int(np.count_nonzero(status > 0))
    k = min(table.k, places.size)
    G = table.gram(places)
    space = Space(
        G, table.A[:, places].T @ table.b, table.bb, table.d[places], table.C[places], table.nonneg, table.size,
        table.off(table.n),
    )  # fmt: skip
    asks.looked_at(places[:held])
    if k == held:
        return
    list_ = _listing.blank_list(space, k)
    for t in range(held):
        _listing.take(list_, space, t, t, 0)
    list_.depth[0] = held
    many = max(1, int(5e6 / max(1, places.size)))
    while True:
        what, count = run(list_, space, k, held, asks.target, many)
        if what == _listing.ALL_DONE:
            return
        if what == _listing.NEAR_TARGET:
            asks.looked_at(places[list_.taken[:count]])
        yield int(list_.done[0])


def _distinct(table: Table, places: IntArray, status: Array) -> IntArray:
    """Without columns that are others over again, but for their signs and rounding: coefficients that pay nothing and
    have no bounds are as well off with one of them."""
    G = np.abs(table.gram(places))
    kept: list[int] = []
    for j in np.argsort(status[places] <= 0, kind="stable").tolist():
        near = [i for i in kept if G[i, j] > 1.0 - NEARLY_TWINS]
        gaps = [_gap(table.A[:, places[i]], table.A[:, places[j]]) for i in near]
        if min(gaps, default=1.0) > TWINS_APART or status[places[j]] > 0:
            kept.append(j)
    return places[np.sort(kept)]


def _gap(a: FloatArray, b: FloatArray) -> float:
    return float(min(np.linalg.norm(a - b), np.linalg.norm(a + b)))


class Leaps:
    """Leaps and bounds over some atoms whose columns are independent.

    value : half the squares that all of them leave, rounded down; sure : share of a cost that rounding leaves of it
    """

    def __init__(self, table: Table, status: Array) -> None:
        self.table = table
        self.places = np.flatnonzero(status >= 0)
        if table.plain and self.places.size <= 2 * WIDEST:
            self.places = _distinct(table, self.places, status)
        self.stays = status[self.places] > 0
        self.fine = self.places.size <= min(WIDEST, table.m) and self._inverted()

    def _inverted(self) -> bool:
        """By the triangle of M, whose conditioning is the root of that of M'M."""
        table, p = self.table, self.places.size
        rows = np.vstack([table.A[:, self.places], np.diag(np.sqrt(table.d[self.places]))])
        left = np.concatenate([table.b, np.zeros(p)])
        Q, R = np.linalg.qr(rows)
        back, bad = lapack.dtrtri(R)
        if bad or not np.isfinite(back).all():
            return False
        self.W: FloatArray = back @ back.T
        self.beta: FloatArray = back @ (Q.T @ left)
        rest = left - rows @ self.beta
        dependence = float(np.sqrt(self.W.diagonal().max() * p))  # no less than 1 / the smallest singular value
        doubt = 64.0 * p * UNIT * dependence
        self.sure = 1.0 - doubt * dependence
        self.value = max(0.0, 0.5 * float(rest @ rest) * (1.0 - 1e-10) - 1e-13 * table.bb)
        return doubt * dependence <= DISTORTED

    def fits(self, k: int) -> Generator[tuple[int, IntArray | None], float, None]:
        """How many fits so far, and perhaps a choice whose fit is below the target, which is sent in."""
        from fewatoms.proofs.squares import _leaps
        from fewatoms.proofs.squares.loops import loops

        p = self.places.size
        way = _leaps.blank_way(p, k)
        way.W[0], way.beta[0], way.value[0] = self.W, self.beta, self.value
        way.who[0], way.stays[0] = np.arange(p), self.stays
        _leaps.ranked(way, 0, p, self.sure)
        chosen, run = np.empty(max(k, 1), dtype=np.int64), loops()["leaps"]
        many = max(1, int(AT_ONCE_IN_FITS / p**2))
        target: float = yield 0, None
        if p <= k:
            yield 1, self.places
            return
        while True:
            what = run(way, p, k, target, self.sure, many, chosen)
            if what == 0:
                return
            target = yield int(way.nodes[0]), self.places[chosen[:k]] if what == 2 else None


def leaping(asks: Asks, leaps: Leaps) -> Iterator[int]:
    """Look at all choices: how many fits so far, again and again."""
    run = leaps.fits(asks.table.k)
    next(run)
    while True:
        try:
            done, choice = run.send(asks.target)
        except StopIteration:
            return
        if choice is not None:
            asks.looked_at(choice)
        yield done
