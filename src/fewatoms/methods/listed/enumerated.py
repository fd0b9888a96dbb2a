"""So few atoms that all supports can be looked at: none is missed then.

With G, h and b as in `small.py` a support S leaves |b|^2 - h_S' G_SS^{-1} h_S, ridge included: a batch of small solves
for all of them, and QR of the images for those that the Gram matrix cannot see: the determinant of unit columns is no
more than any of its pivots. Nonnegative coefficients that are the best ones are those of a support without bounds, of k
atoms or fewer. What comes out is only an order, in which supports are fitted to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.candidates import Candidate
from fewatoms.gram.state import PIVOT
from fewatoms.methods.listed.small import Small
from fewatoms.methods.listed.squares import EPS
from fewatoms.methods.listed.support import SupportFits

LISTED = 2500  # supports, where it is not clear that the one found is the best
LISTED_ANYWAY = 1024  # supports, in any case: a look at them takes no longer than what stands around a fit
TINY = 1e-12  # on the diagonal of unit columns, which may depend on each other
# Supports of smooth losses, in any case: Huber's loss with a cap, n = 8, k = 1, takes 25 ms instead of 18 to 20, and 0
# instead of 9 of 400 problems end above brute force. 64 of them would take three times as long as all else for k = 3.
NEWTON_FITS = 16
VECTORS_AT_ONCE = 64  # data vectors at a time
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
                within = np.broadcast_to(np.array(forced, dtype=np.int64), (len(rows), held))
                yield np.concatenate([within, rows], axis=1) if held else rows


def ordered(small: Small, k: int, most: int, *, bounds: bool = False) -> tuple[list[IntArray], FloatArray]:
    """The places of so many supports that may be answers, those of the smallest loss first, and twice their losses; of
    nonnegative atoms, those whose best coefficients are. With `bounds` all of the largest size, whatever the signs."""
    any_signs, blind = bounds or small.signed, not _sees_all(small.G)
    supports: list[IntArray] = []
    losses: list[FloatArray] = []
    for rows in _supports(small, k, any_signs):
        c, twice = _by_gram(small, rows, blind)
        if not any_signs:
            fine = c.min(axis=1, initial=0.0) >= -NEARLY_ZERO * np.sqrt(small.bb)
            rows, twice = rows[fine], twice[fine]
        first = np.argsort(twice, kind="stable")[:most]
        supports += list(rows[first])
        losses.append(twice[first])
    together = np.concatenate(losses)
    order = np.argsort(together, kind="stable")[:most]
    return [supports[i] for i in order], together[order]


def _sees_all(G: FloatArray) -> bool:
    """Whether no support of any size is beyond the Gram matrix: fewer atoms before it leave more of each."""
    factor, bad = lapack.dpotrf(G, clean=0)
    return not bad and bool((factor.diagonal() ** 2 > PIVOT).all())


def _by_gram(small: Small, rows: IntArray, blind: bool) -> tuple[FloatArray, FloatArray]:
    """The coefficients of the unit columns in each support, and what it leaves; `blind` where not all can be seen."""
    G, h = small.G[rows[:, :, None], rows[:, None, :]], small.h[rows]
    if rows.shape[1] < 2:
        only = h / np.maximum(G[:, :, 0], TINY) if rows.shape[1] else h
        return only, small.bb - np.einsum("ij,ij->i", h, only)
    unseen = np.linalg.det(G) < PIVOT if blind else np.zeros(len(rows), dtype=bool)
    G[:, np.arange(rows.shape[1]), np.arange(rows.shape[1])] += TINY
    c = np.asarray(np.linalg.solve(G, h[:, :, None])[:, :, 0], dtype=np.float64)
    loss = small.bb - np.einsum("ij,ij->i", h, c)
    if unseen.any():
        c[unseen], loss[unseen] = _by_qr(small, rows[unseen])
    return c, loss


def _by_qr(small: Small, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """The same from the images."""
    T, Q = small.triangle
    bases = _bases(T, rows)
    reached = np.einsum("pij,i->pj", bases.basis, Q @ small.images.target)
    c = np.einsum("pij,pj->pi", bases.back, reached)
    return c, small.bb - np.einsum("ij,ij->i", reached, reached)


class Bases(NamedTuple):
    """For supports of one size: an orthonormal basis of the columns of each, and what makes coefficients of components
    along it.

    rows : the supports, with -1 for atoms that have nothing to add to those before them, as far as double precision can
        tell; these come last and have neither
    """

    rows: IntArray
    basis: FloatArray
    back: FloatArray


def _bases(T: FloatArray, rows: IntArray) -> Bases:
    Q, R, new = _factored(T, rows)
    mixed = np.flatnonzero((np.diff(new.astype(int), axis=1) > 0).any(axis=1))
    if mixed.size:  # what is orthogonal to rounding lies nowhere: such columns go last, and all is done again
        order = np.argsort(~new[mixed], axis=1, kind="stable")
        rows = rows.copy()
        rows[mixed] = np.take_along_axis(rows[mixed], order, axis=1)
        Q[mixed], R[mixed], again = _factored(T, rows[mixed])
        new[mixed] = again & np.take_along_axis(new[mixed], order, axis=1)
    R = np.where(new[:, :, None] & new[:, None, :], R, np.eye(rows.shape[1]))
    back = np.where(new[:, :, None] & new[:, None, :], np.linalg.inv(R), 0.0)
    return Bases(np.where(new, rows, -1), np.where(new[:, None, :], Q, 0.0), back)


def _factored(T: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray, Array]:
    """Q, R and which columns are new beside those before them, padded with zeros where there are fewer data."""
    Q, R = np.linalg.qr(np.moveaxis(T[:, rows], 1, 0))
    beyond = rows.shape[1] - Q.shape[2]
    if beyond > 0:
        Q, R = np.pad(Q, ((0, 0), (0, 0), (0, beyond))), np.pad(R, ((0, 0), (0, beyond), (0, 0)))
    return Q, R, np.abs(np.diagonal(R, axis1=1, axis2=2)) > 8 * max(T.shape) * EPS


def best_of_few(fits: SupportFits, best: Candidate, k: int) -> Candidate:
    """The best support of all where they are so few that each can be fitted by Newton's method; else what there is."""
    view, problem, reached = fits.view, fits.problem, fits.problem.objective(best)
    free = np.setdiff1d(np.arange(view.count), np.concatenate([view.forced, view.barred]))
    size = min(k - view.forced.size, free.size)
    if size < 0 or comb(free.size, size) > NEWTON_FITS or not view.images.fits(np.arange(view.count)):
        return best
    for some in combinations(free.tolist(), size):
        if problem.meets(best.loss) or problem.exact(best.loss):
            break
        support = fits.fit(np.concatenate([view.forced, np.array(some, dtype=np.intp)]))
        if support.objective < reached:
            best, reached = fits.candidate(support), support.objective
    return best


class Every:
    """All supports of at most k atoms, for many data vectors: components along the basis of each, by one product."""

    def __init__(self, small: Small, k: int) -> None:
        self.k, self.signed = k, small.signed
        T, self._turn = small.triangle
        self._sizes = [_bases(T, rows) for rows in _supports(small, k, small.signed)]
        self._blind = not _sees_all(small.G)
        self._G = small.G

    def best(self, B: FloatArray) -> tuple[IntArray, Array]:
        """The atoms of the best support for each row of B, filled up with -1, and whether there are none because a Gram
        matrix does not see enough of them."""
        table, most = np.full((len(B), max(1, self.k)), -1, dtype=np.int64), np.full(len(B), -1.0)
        for first in range(0, len(B), VECTORS_AT_ONCE):
            some = slice(first, first + VECTORS_AT_ONCE)
            for bases in self._sizes:
                self._raise(B[some] @ self._turn.T, bases, table[some], most[some])
        unseen = np.zeros(len(B), dtype=bool)
        if self._blind:
            held = table >= 0
            G = np.where(held[:, :, None] & held[:, None, :], self._G[table[:, :, None], table[:, None, :]], 0.0)
            G[:, np.arange(table.shape[1]), np.arange(table.shape[1])] += ~held
            unseen = np.linalg.det(G) < PIVOT
            table[unseen] = -1
        return table, unseen

    def _raise(self, t: FloatArray, bases: Bases, table: IntArray, most: FloatArray) -> None:
        """Take the best supports of one size where they explain more than what there is."""
        count, size = bases.rows.shape
        if not size:
            most[:] = np.maximum(most, 0.0)
            return
        reached = (t @ np.moveaxis(bases.basis, 1, 0).reshape(t.shape[1], -1)).reshape(len(t), count, size)
        explained = np.einsum("npk,npk->np", reached, reached)
        if not self.signed:
            c = np.einsum("pij,npj->npi", bases.back, reached)
            explained[c.min(axis=2) < -NEARLY_ZERO] = -1.0
        at = explained.argmax(axis=1)
        here = np.flatnonzero(explained[np.arange(len(t)), at] > most)
        table[here] = -1
        table[here, :size] = bases.rows[at[here]]
        most[here] = explained[here, at[here]]
