"""Exchanges of many atoms at once, in the space of a Gram matrix: the s cheapest of a support make room for the s best
aligned with what is left, s halving after each refusal. From a start with many wrong atoms this gets further than one
exchange after the other, at a small solve each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from fewatoms import ledger, linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.gram.drivers import SEEN
from fewatoms.gram.state import PIVOT
from fewatoms.methods.listed.outside import stand_in
from fewatoms.methods.listed.small import Small

ROUNDS = 200  # trials at most
LOWER = 1e-6  # the share by which an exchange must lower the loss


@dataclass(frozen=True, eq=False)
class Fit:
    """A support of single atoms with its best coefficients, as the Gram matrix sees them.

    factor : Cholesky factor of their part of the Gram matrix, upper triangle
    loss : twice the objective
    """

    small: Small
    places: IntArray
    c: FloatArray
    factor: FloatArray
    loss: float

    @cached_property
    def costs(self) -> FloatArray:
        """Twice what the objective would rise by without each."""
        if not self.places.size:
            return np.zeros(0)
        return np.asarray(self.c**2 / lapack.dpotri(self.factor)[0].diagonal())

    @cached_property
    def leaving(self) -> IntArray:
        """The atoms that may go, the cheapest first, by where they are among the places."""
        movable = np.flatnonzero(~self.small.stays[self.places])
        return movable[np.argsort(self.costs[movable], kind="stable")]

    @cached_property
    def promise(self) -> FloatArray:
        """Alignments of the atoms outside with what is left; minus infinity for those inside and those that must stay
        out."""
        small = self.small
        z = small.h - self.c @ small.G[self.places]
        promise = np.where(small.may, np.abs(z) if small.signed else z, -np.inf)
        promise[self.places] = -np.inf
        return promise

    @property
    def seen(self) -> bool:
        """Whether there is more left than a Gram matrix sees."""
        return self.loss > SEEN * self.small.bb

    def apart(self, times: float) -> bool:
        """Whether the least atom inside is worth so many times the best one outside, and none there could stand in for
        another."""
        small = self.small
        promise, least = np.maximum(self.promise, 0.0) ** 2, float(self.costs.min(initial=np.inf)) / times
        if float(promise.max(initial=0.0)) > least * (1.0 + small.ridge):  # not even if all of it were new
            return False
        K = small.G[self.places]
        HK = lapack.dpotrs(self.factor, K)[0]
        left = small.G.diagonal() - np.einsum("ij,ij->j", K, HK)
        if ((left > PIVOT) & (promise > least * left)).any():
            return False
        return not stand_in(HK, lapack.dpotri(self.factor)[0].diagonal(), left, self.promise > -np.inf)

    def without(self, gone: IntArray) -> IntArray:
        """The places but for some."""
        return np.delete(self.places, gone)


def fitted(small: Small, places: IntArray) -> Fit | None:
    """The fit on these places, without those whose coefficients would be negative where they must not; None where the
    Gram matrix cannot tell them apart."""
    while True:
        factor, bad = lapack.dpotrf(small.G[places[:, None], places], clean=0) if places.size else (np.zeros((0, 0)), 0)
        if bad or (factor.diagonal() ** 2 < PIVOT).any():
            return None
        h = small.h[places]
        c = lapack.dpotrs(factor, h)[0] if places.size else h
        if small.signed or not c.size or c.min() >= 0:
            return Fit(small, places, c, factor, max(small.bb - float(h @ c), 0.0))
        places = places[c > 0] if (c > 0).any() else places[c > c.min()]


def exchanged(here: Fit, k: int, size: int, rounds: int = ROUNDS, target: float = -1.0) -> Fit:
    """Where exchanges by blocks lead from a support, with k atoms at most, and so many at once in the first one; a loss
    that meets the target will do."""
    for _ in range(rounds):
        if not here.seen or here.loss <= target:
            break
        trial = fitted(here.small, _next(here, size, k))
        if trial is not None and trial.loss < here.loss * (1 - LOWER):
            here = trial
        elif size == 1:
            break
        else:
            size //= 2
        ledger.tick()
    return here


def _next(here: Fit, size: int, k: int) -> IntArray:
    held = here.places.size + np.count_nonzero(here.small.stays) - np.count_nonzero(here.small.stays[here.places])
    room = max(0, k - int(held))  # atoms that must be in an answer keep their place where they are idle
    offers = linalg.top_k(here.promise, size + room)
    offers = offers[here.promise[offers] > 0]
    gone = here.leaving[: max(0, min(size, offers.size - room))]
    return np.concatenate([here.without(gone), offers[: gone.size + room]])
