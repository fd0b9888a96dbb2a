"""Exchanges of many atoms at once, in the space of a Gram matrix: the s cheapest of a support make room for the s best
aligned with what is left, s halving after each refusal. From a start with many wrong atoms this gets further than one
exchange after the other, at a small solve each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from fewatoms import linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.gram.state import PIVOT
from fewatoms.methods.listed.small import Small

ROUNDS = 60  # trials at most
LOWER = 1e-6  # the share by which an exchange must lower the loss


class Fit(NamedTuple):
    places: IntArray
    c: FloatArray
    costs: FloatArray  # twice what the loss would rise by without each
    loss: float  # twice the objective


def exchanged(small: Small, places: IntArray, k: int) -> IntArray:
    """Where exchanges by blocks lead from these places."""
    here = _fitted(small, places)
    size = max(1, k // 2)
    for _ in range(ROUNDS):
        if here is None or not here.places.size:
            break
        trial = _fitted(small, _next(small, here, size, k))
        if trial is not None and trial.loss < here.loss * (1 - LOWER):
            here = trial
        elif size == 1:
            break
        else:
            size //= 2
    return places if here is None else here.places


def _next(small: Small, here: Fit, size: int, k: int) -> IntArray:
    z = small.h - here.c @ small.G[here.places]
    promise = np.where(small.may, np.abs(z) if small.signed else z, -np.inf)
    promise[here.places] = -np.inf
    movable = np.flatnonzero(~small.stays[here.places])
    order = movable[np.argsort(here.costs[movable], kind="stable")]
    room = max(0, k - here.places.size)
    offers = linalg.top_k(promise, size + room)
    offers = offers[promise[offers] > 0]
    gone = order[: max(0, min(size, offers.size - room))]
    return np.concatenate([np.delete(here.places, gone), offers[: gone.size + room]])


def _fitted(small: Small, places: IntArray) -> Fit | None:
    """The fit on these places; None where the Gram matrix cannot tell them apart."""
    for _ in range(places.size):
        G, h = small.G[places[:, None], places], small.h[places]
        factor, bad = lapack.dpotrf(G, clean=0)
        if bad or (factor.diagonal() ** 2 < PIVOT).any():
            return None
        c = lapack.dpotrs(factor, h)[0]
        if not small.signed and c.size and c.min() < 0:
            places = places[(c > 0) | (c > c.min())] if (c > 0).any() else places[c > c.min()]
            continue
        half = lapack.dpotri(factor)[0]
        return Fit(places, c, c * c / half.diagonal(), max(small.bb - float(h @ c), 0.0))
    return None
