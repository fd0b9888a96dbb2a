"""As few atoms as meet a bound, over columns at hand: a support grows until it does, then does with ever fewer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from fewatoms import kept, ledger, linalg
from fewatoms._types import IntArray
from fewatoms.effort import Effort
from fewatoms.gram.drivers import build
from fewatoms.kept import Kept
from fewatoms.methods.listed.blockwise import exchanged, fitted
from fewatoms.methods.listed.exchanging import NO_RUNGS, NOTHING
from fewatoms.methods.listed.searching import SWEPT, Search
from fewatoms.methods.listed.support import Support, SupportFits
from fewatoms.methods.listed.sweeping import Sweep

SHARE = 0.25  # by which a support may grow from one look at all atoms to the next
OFFERED = 4  # atoms taken into the working set after a look, for each that may come in
AT_LEAST = 32  # and never fewer than these
SOLVED = 2e9  # cubes of atoms that such exchanges may cost
QUICKLY, PATIENTLY = 12, 60  # exchanges by blocks, where they are many, on the way and at the end


class Growing(Search):
    """The search where the number of atoms is left open. `ks` holds the smallest number that meets the bound so far, or
    the largest that was tried."""

    def __init__(self, fits: SupportFits, effort: Effort) -> None:
        super().__init__(fits, [max(1, fits.view.forced.size)], effort)
        view = fits.view
        self.most = min(view.count - view.barred.size, view.images.room)
        if not fits.problem.ridge:  # without one, as many atoms as data explain everything
            self.most = min(self.most, fits.problem.m)

    @property
    def answer(self) -> Support:
        return self.supports[self.ks[-1]]

    def stages(self) -> Iterator[None]:
        self.ready()
        with self.followed():
            if self.did(self._grow):
                yield
            if not self.problem.meets(self.answer.loss):
                return
            if self.did(self._shrink):
                yield

    # Up ---------------------------------------------------------------------------------------------------------------

    def _grow(self) -> None:
        held = self.fits.fit(self.view.forced)
        k = held.classes.size
        self._hold(max(1, self.view.forced.size), held)
        with ledger.step("growing") as here:
            if here.found is not None:
                self.again(here.found.inner[0])
                held, k = self.answer, kept.whole(here.found.told["size"])
            while not self._met(held) and k < self.most:
                ledger.tick()
                high = min(k + max(4, int(SHARE * k)), self.most)
                held, reached = self._up(held, k + 1, high)
                self._hold(high, held)
                if self._met(held):
                    break
                fresh = self._offers(held, max(AT_LEAST, OFFERED * (high - k)))
                taken = self.small.take(fresh) if fresh.size else False
                if not reached and not taken:
                    if held.classes.size >= high or not self._grown_by_qr(high):
                        break
                    held = self.supports[high]
                k = max(k + 1, held.classes.size) if reached else k
                if not reached and held.classes.size < k:
                    k = held.classes.size
                if here.live:
                    here.mark(partial(_at, k, self.noted()))

    def _up(self, held: Support, low: int, high: int) -> tuple[Support, bool]:
        """A support of high atoms at most that is better, and whether there was something to add."""
        support = self._by_blocks(held, high) if self._crowded(high) else self._one_by_one(held, low, high)
        better = support.objective < held.objective
        return (support if better else held), better and support.classes.size > held.classes.size

    def _crowded(self, k: int) -> bool:
        """Whether atoms are exchanged by blocks."""
        return k > SWEPT and self.view.blocks is None

    def _by_blocks(self, held: Support, k: int, rounds: int = QUICKLY) -> Support:
        """A support of k atoms at most, from one with more or fewer: the cheapest go, the best aligned come in."""
        small, problem = self.small, self.problem
        target = -1.0 if problem.ridge else 2 * (problem.tolerance + problem.slack)
        with linalg.single_thread():
            start = fitted(small, small.places(held.classes))
            if start is None:
                return held
            allowed = k - np.setdiff1d(self.view.forced, held.classes).size  # those that are idle keep their place
            moved = abs(allowed - start.places.size)
            if start.places.size > allowed:
                start = fitted(small, start.without(start.leaving[:moved])) or start
            if start.places.size > allowed:
                return held
            rounds = max(4, min(rounds, int(SOLVED / k**3)))
            found = exchanged(start, k, max(1, moved // 2), rounds, target)
            return self.fits.fit(small.classes[found.places])

    def _one_by_one(self, held: Support, low: int, high: int) -> Support:
        """Supports of every size from low to high; the first that meets the bound, or the last."""
        small, problem = self.small, self.problem
        table, state = np.full((high + 1, high), -1, dtype=np.int64), small.state(high)
        with linalg.single_thread():
            build(small.G, small.h, small.bb, state, small.places(held.classes))
        row = table[Sweep.of(small, state, table, self.rules).through(low, high, 2 * problem.tolerance)]
        return self.fits.fit(small.classes[row[row >= 0]])

    def _offers(self, held: Support, count: int) -> IntArray:
        """The atoms outside of the working set that are best aligned with what is left."""
        view = self.view
        promise = self.small.promise(view.pull(view.outer.adjoint(self.fits.images.dual(held.residual))))
        promise[self.small.classes] = -np.inf
        offers = linalg.top_k(promise, count)
        return offers[promise[offers] > 0]

    def _hold(self, k: int, support: Support) -> None:
        self.ks, self.supports = [k], {k: support}
        self.isolated = {k: False}

    # Down -------------------------------------------------------------------------------------------------------------

    def _shrink(self) -> None:
        """By halving steps: so many atoms fewer, the cheapest, and exchanges."""
        held = self.answer
        least = max(1, self.view.forced.size)
        step = max(1, held.classes.size // 4)
        with ledger.step("shrinking") as here:
            if here.found is not None:
                self.again(here.found.inner[0])
                held, step = self.answer, kept.whole(here.found.told["size"])
            while held.classes.size > least:
                ledger.tick()
                step = min(step, held.classes.size - least)
                found = self._with(held, held.classes.size - step, hard=step == 1)
                if found is not None:
                    held = found
                elif step == 1:
                    break
                else:
                    step //= 2
                self._hold(max(1, held.classes.size), held)
                if here.live:
                    here.mark(partial(_at, step, self.noted()))
        self._hold(max(1, held.classes.size), held)

    def _with(self, held: Support, k: int, *, hard: bool) -> Support | None:
        """A support of k atoms that meets the bound still, if one is found."""
        if held.factor is None:
            return None
        if self._crowded(k):
            found = self._by_blocks(held, k, PATIENTLY if hard else QUICKLY)
            self._hold(k, found)
            return found if found.classes.size <= k and self.problem.meets(found.loss) else None
        costs = np.where(np.isin(held.classes, self.view.forced), np.inf, held.costs)
        room = k - np.setdiff1d(self.view.forced, held.classes).size  # those that are idle keep their place
        stays = held.classes[np.sort(np.argsort(-costs, kind="stable")[: max(0, room)])]
        self._hold(k, self.fits.fit(stays))
        swaps = 1 << 30 if k <= SWEPT else max(8, held.classes.size - k)
        self._run(k, NOTHING, self.rules._replace(swaps=swaps), NO_RUNGS, NO_RUNGS)
        if not self.problem.meets(self.answer.loss) and not self.small.whole and k <= SWEPT:
            self._look_outside(k)
        if hard and not self.problem.meets(self.answer.loss):
            if k <= SWEPT and self.effort.ladders:
                self._laddered(k)
            if not self.problem.meets(self.answer.loss):
                self._look_outside(k)
            if not self.problem.meets(self.answer.loss):
                self._shaken(k)
        found = self.supports[k]
        return found if self.problem.meets(found.loss) else None


def _at(size: int, noted: Callable[[], Kept]) -> Kept:
    """How far a support has grown or shrunk, for a checkpoint."""
    return Kept("grown", {"size": size}, {}, (noted(),))
