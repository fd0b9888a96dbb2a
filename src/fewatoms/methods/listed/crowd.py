"""Least squares with many single atoms over columns at hand: exchanges by blocks, from the best aligned atoms and from
the most promising rungs of two ladders of penalties.

One exchange after the other costs an outer product for each atom inside; a block of them costs a small solve. So they
come last here, for the best support alone, and shakes go by blocks too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.effort import NORMAL
from fewatoms.kept import Kept
from fewatoms.methods.listed.blockwise import Fit, exchanged, fitted
from fewatoms.methods.listed.exchanging import FALL, NO_RUNGS, NOTHING
from fewatoms.methods.listed.outside import ISOLATED
from fewatoms.methods.listed.rungs import CAREFULLY, ladder, suggested
from fewatoms.methods.listed.searching import RELIEF, Search

ALL_ATOMS = 5e7  # multiplications, for each atom asked for, that the Gram matrix of all atoms may cost
STEPS, STEP = 40, 0.8  # of a ladder of penalties
DEEP = 0.9  # coefficients as a share of the data with which the first ladder ends: its last rungs find most
BEYOND = 1.5  # times as many coefficients as atoms asked for with which the second one ends
POLISHED = 3  # rungs of each that exchanges begin from
FAR, NEAR = 0.5, 0.125  # share of the atoms in the first exchange, from rough starts and from better ones
AROUND = 6  # looks outside of the working set, for each support
REPLACED = 0.1  # share of the atoms that a shake replaces, by some of AMONG times as many well aligned ones
AMONG = 4
SHAKES_COST = 3e8  # multiplications that shaking may cost, roughly


class Crowd(Search):
    """The search for one support of many atoms."""

    _best: Fit | None = None

    def stages(self) -> Iterator[None]:
        """Answers at once; better ones from ladders; better ones by single exchanges, and by shaking."""
        self.ready()
        (k,) = self.ks
        steps = (self._begun, self._laddered, self._relieved, self._singly, self._shaken)
        with self.followed():
            for step in steps if self.effort.ladders else steps[:1]:
                if self.did(partial(self._done, step, k)):
                    yield
                if not self._behind and (self.isolated[k] or self._met(self.supports[k])):
                    return

    def _done(self, step: Callable[[int], None], k: int) -> None:
        with linalg.single_thread():
            step(k)
            self.isolated[k] = not self._met(self.supports[k]) and self._apart(k)

    def again(self, it: Kept) -> None:
        super().again(it)
        self._best = fitted(self.small, self.small.places(self.supports[self.ks[0]].classes))

    def _few(self, columns: int) -> bool:
        return self.problem.m * float(columns) ** 2 <= ALL_ATOMS * self.ks[-1]

    # What is best so far ----------------------------------------------------------------------------------------------

    def _try(self, places: IntArray, k: int, share: float) -> bool:
        """Exchange from these places, a share of them at once at first; whether that led to the best support so far."""
        ledger.tick()
        start = fitted(self.small, places)
        if start is None:
            return False
        found = exchanged(start, k, max(1, int(share * k)))
        if self._best is not None and not found.loss < self._best.loss * (1 - FALL):
            return False
        self._best = found
        self._take(k, self.small.classes[found.places])
        return True

    def _look_around(self, k: int) -> None:
        """Hold the best support against all atoms: those outside of the working set that are well aligned with what
        is left are taken in, and exchanges go on."""
        for _ in range(0 if self.small.whole else AROUND):
            if self._met(self.supports[k]):
                return
            held = self.supports[k].classes
            fresh = self._outside(k)
            if not fresh.size or not self.small.take(fresh):
                return
            self._best = None  # the working set is another one
            self._try(self.small.places(held), k, NEAR)
            if set(self.supports[k].classes.tolist()) == set(held.tolist()):
                return

    def _outside(self, k: int) -> IntArray:
        """Atoms outside of the working set that come before those of it that exchanges would choose, best first."""
        view, small = self.view, self.small
        ledger.tick()
        promise = small.promise(view.pull(view.outer.adjoint(self.fits.images.dual(self.supports[k].residual))))
        promise[self.supports[k].classes] = -np.inf
        best = linalg.top_k(promise, k)
        best = best[promise[best] > 0]
        return best[~self.fits.images.held(best)]

    def _apart(self, k: int) -> bool:
        """Whether the least atom inside is worth many times the best one outside."""
        best = self._best
        if best is None or not self.signed or best.places.size < k or self.view.forced.size or not best.seen:
            return False
        if not self.small.whole:
            return self._promising(k)[1]
        return best.apart(ISOLATED)

    # Stages -----------------------------------------------------------------------------------------------------------

    def _begun(self, k: int) -> None:
        assert self._z is not None
        a = self.small.promise(self._z)
        a[self.view.forced] = np.inf
        top = linalg.top_k(a, k)
        if k not in self.supports:
            self.supports[k] = self.fits.fit(self.view.forced)
        self._try(self.small.places(top[(a[top] > 0) & self.fits.images.held(top)]), k, FAR)
        self._look_around(k)
        self._grown_by_qr(k)

    def _laddered(self, k: int) -> None:
        self._down(k, 0.0, int(DEEP * self.problem.m))

    def _relieved(self, k: int) -> None:
        self._down(k, RELIEF, int(BEYOND * k))

    def _down(self, k: int, relief: float, limit: int) -> None:
        """The supports of the rungs of a ladder whose fits come nearest, exchanged."""
        small, found = self.small, dict[bytes, tuple[float, IntArray]]()
        rules, lams = self.rules._replace(relief=relief), small.penalties(STEPS, STEP)
        looks = int(relief == 0.0)
        for x in ladder(small, rules, lams, limit, looks=looks, passes=CAREFULLY):
            if 2 * np.count_nonzero(x) >= k:
                places = np.sort(self._leading(x, k))
                fit = fitted(small, places)
                found[places.tobytes()] = (np.inf if fit is None else fit.loss), places
        best = sorted(found.values(), key=lambda pair: pair[0])
        for _, places in best[:POLISHED]:
            self._try(places, k, NEAR if relief else FAR)
            if self._met(self.supports[k]):
                break
        self._look_around(k)

    def _leading(self, x: FloatArray, k: int) -> IntArray:
        """The k largest coefficients, and where there are fewer the best aligned atoms beside them."""
        small, used = self.small, np.flatnonzero(x)
        (places,) = suggested(x[None, :], k, small.stays)
        if places.size < k:
            q = small.h - x[used] @ small.G[used]
            a = np.where(small.may, np.abs(q) if self.signed else q, -np.inf)
            a[places] = -np.inf
            more = linalg.top_k(a, k - places.size)
            places = np.concatenate([places, more[a[more] > 0]])
        return places

    def _singly(self, k: int) -> None:
        if self._run(k, NOTHING, self.rules, NO_RUNGS, NO_RUNGS):
            self._best = fitted(self.small, self.small.places(self.supports[k].classes))
            self._look_around(k)

    def _shaken(self, k: int) -> None:
        """Replace some atoms at random by others that are well aligned with what is then left, and exchange."""
        size = self.supports[k].classes.size
        work = 20.0 * size * (size * size / 3.0 + self.small.columns)
        tries = int(min(self.effort.shakes, self.effort.shakes / NORMAL.shakes * SHAKES_COST / max(work, 1.0)))
        rng, idle = np.random.default_rng(0), 0
        for _ in range(tries):
            best = self._best
            if best is None or best.leaving.size < 2 or 2 * idle >= tries or self._met(self.supports[k]):
                break
            count = min(max(2, int(REPLACED * k)), best.leaving.size)
            rest = fitted(self.small, best.without(rng.choice(best.leaving, count, replace=False)))
            if rest is None:
                break
            promise = rest.promise.copy()
            promise[best.places] = -np.inf
            offers = linalg.top_k(promise, AMONG * count)
            offers = offers[promise[offers] > 0]
            fresh = rng.choice(offers, min(count, offers.size), replace=False)
            idle = 0 if self._try(np.concatenate([rest.places, fresh]), k, NEAR) else idle + 1
        if idle < tries:
            self._singly(k)
