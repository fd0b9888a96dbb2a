"""Supports in a working set of atoms: exchanges there, in the space of a Gram matrix, by compiled steps (`gram/`).

What is found is fitted to the last digit and held against all atoms: as long as one outside would lower the loss, it is
taken in, and exchanges go on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fewatoms import kept, ledger, linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.effort import NORMAL, Effort
from fewatoms.gram import engine
from fewatoms.gram.drivers import Rules, build
from fewatoms.gram.steps import Support as Held
from fewatoms.kept import Kept, Plain
from fewatoms.methods.listed.blockwise import fitted
from fewatoms.methods.listed.outside import ISOLATED, Look, beyond, isolated
from fewatoms.methods.listed.small import small
from fewatoms.methods.listed.stages import Stages
from fewatoms.methods.listed.support import Support, SupportFits

FALL = 1e-9  # the share by which an exchange must lower the objective
WHOLE = 2e7  # multiplications, for each budget, that the Gram matrix of all atoms may cost
FIRST, EACH, EACH_BLOCK = 128, 12, 6  # atoms that a search begins with at least, and for each one asked for
OUTWARD = 12  # looks outside of the working set, for each support
WIDER_READ = 3  # times as many atoms are taken in after one where going through all of M is what costs
NOTHING = np.zeros((0, 1), dtype=np.int64)
NO_RUNGS = np.zeros(0)
DICE = np.random.default_rng(0).random(997)  # of shakes: the same for all


class Exchanging(Stages):
    """Supports are fitted to the last digit; tables hold places in the working set."""

    def __init__(self, fits: SupportFits, ks: Sequence[int], effort: Effort) -> None:
        super().__init__(fits, ks, effort)
        self.small = small(self.view, self.problem.ridge)
        self._z: FloatArray | None = None
        self._looked: dict[int, Support] = {}  # the support of each size that was held against all atoms last
        self.rules = Rules(self.signed, FALL, effort.trials, 0, 0, 0.0, 0)

    def noted(self) -> Callable[[], Kept]:
        inside, known = self.small.classes.copy(), super().noted()
        looked: list[Plain] = [k for k, support in self._looked.items() if self.supports.get(k) is support]

        def told() -> Kept:
            it = known()
            return replace(it, told={**it.told, "looked": looked}, arrays={**it.arrays, "inside": inside})

        return told

    def again(self, it: Kept) -> None:
        self.ready()
        self.small.take(it.arrays["inside"])
        super().again(it)
        self._looked = {k: self.supports[k] for k in map(kept.whole, kept.rows(it.told["looked"]))}

    def begin(self, k: int, classes: IntArray) -> None:
        self.ready()
        self.small.take(classes)
        self.supports[k] = self.fits.fit(classes)
        self._run(k, NOTHING, self.rules, NO_RUNGS, NO_RUNGS)

    def _room(self, support: Support, k: int) -> int:
        """How many more atoms are allowed: those that must be in an answer keep their place where they are idle."""
        return k - np.union1d(support.classes, self.view.forced).size

    # The working set --------------------------------------------------------------------------------------------------

    def ready(self) -> None:
        """All atoms where their Gram matrix costs little, else those best aligned with the data."""
        if self._z is not None:
            return
        view, most = self.view, self.ks[-1]
        self._z = view.first_alignments(self.problem)
        first = max(FIRST // view.largest, (EACH if view.blocks is None else EACH_BLOCK) * most)
        columns = int(view.sizes(np.arange(view.count)).sum())
        if (view.count <= first or self._few(columns)) and columns <= view.images.room:
            self.small.take(np.arange(view.count))
            return
        first = min(first, max(most, view.images.room // (2 * view.largest)))  # others shall find room as well
        alignments = self.small.promise(self._z)
        self.small.take(np.concatenate([view.forced, linalg.top_k(alignments, first)]))

    def _few(self, columns: int) -> bool:
        """Whether the Gram matrix of so many columns costs little."""
        more = max(1.0, self.effort.shakes / NORMAL.shakes)
        return self.problem.m * float(columns) ** 2 <= more * WHOLE * (1 + len(self.ks))

    # Exchanges within it ----------------------------------------------------------------------------------------------

    def _take(self, k: int, classes: IntArray) -> bool:
        """Fit these classes; whether they are the best for k so far."""
        ledger.tick()
        return self._better(k, self.fits.fit(classes))

    def _better(self, k: int, support: Support) -> bool:
        """Keep a support if it is the best for k so far; whether it is."""
        held = self.supports.get(k)
        if held is not None and not support.objective < held.objective * (1 - FALL):
            return False
        self.supports[k] = support
        return True

    def _run(
        self,
        k: int,
        starts: IntArray,
        rules: Rules,
        lams: FloatArray,
        ridges: FloatArray,
        dice: FloatArray = DICE,
    ) -> bool:
        """Search from the best support for k; whether a better one was found."""
        ledger.tick()
        small, held = self.small, self.supports[k].classes
        best, spare = small.state(k), small.state(k)
        rows = np.full((1 + len(starts), max(k, starts.shape[1])), -1, dtype=np.int64)
        rows[0, : held.size] = small.places(held)
        for i, start in enumerate(starts):
            rows[1 + i, : start.size] = start
        with linalg.single_thread():
            engine().search(small.G, small.h, small.bb, best, spare, rows, lams, ridges, k, rules, dice)
        places = best.S[: best.count[0]]
        better = set(places.tolist()) != set(rows[0, : held.size].tolist()) and self._take(k, small.classes[places])
        if small.whole:
            self.isolated[k] = self._alone(best, k)
        return better

    def _alone(self, state: Held, k: int) -> bool:
        """Whether the least atom inside is worth many times the best one outside."""
        return self._may_be_alone(int(state.count[0]), k) and isolated(state, self.signed)

    def _may_be_alone(self, size: int, k: int) -> bool:
        """Nonnegative atoms may have nothing to add and be better all the same, once another one is gone."""
        return self.signed and size >= k and not self.view.forced.size

    # Against all atoms ------------------------------------------------------------------------------------------------

    def _look_outside(self, k: int) -> None:
        """Take in atoms that would lower the loss, and go on from there, until there are none."""
        if self.small.whole:
            self._settle(k)
            return
        for _ in range(OUTWARD):
            if self._met(self.supports[k]):
                self.isolated[k] = False
                return
            if self.view.rows is not None and self._looked.get(k) is self.supports[k]:
                break  # a pass over all rows would say the same again
            self._looked[k] = self.supports[k]
            fresh, alone = self._promising(k)
            self.isolated[k] = alone
            if alone or not fresh.size or not self.small.take(fresh):
                break
            if not self._run(k, NOTHING, self.rules, NO_RUNGS, NO_RUNGS):
                break
        self._grown_by_qr(k)

    def _settle(self, k: int) -> None:
        """Where all atoms are in the working set: what the Gram matrix could not see, and whether others come near."""
        support, small, self.isolated[k] = self.supports[k], self.small, False
        if self._grown_by_qr(k) or self._met(support):
            return
        if self.view.blocks is None:
            fit = fitted(small, small.places(support.classes)) if self._may_be_alone(support.classes.size, k) else None
            self.isolated[k] = fit is not None and fit.apart(ISOLATED)
            return
        state = small.state(k)
        build(small.G, small.h, small.bb, state, small.places(support.classes))
        self.isolated[k] = self._alone(state, k)

    def _promising(self, k: int) -> tuple[IntArray, bool]:
        """Classes outside of the working set that would lower the objective, the best first, and whether none of all
        those that are not in the support comes near those that are."""
        support = self.supports[k]
        ledger.tick()
        alone = self._may_be_alone(support.classes.size, k)
        look = Look(self.small, support, k, self._room(support, k), alone)
        gained = look.gains.copy()
        gained[self.small.classes] = -np.inf
        offers = linalg.top_k(gained, max(16, k) * (1 if self.view.rows is None else WIDER_READ))
        # what blocks gain is known from below alone: the best few are looked at more closely in any case
        least = FALL * support.objective if self.view.blocks is None else -np.inf
        return offers[gained[offers] > least], look.isolated

    def _grown_by_qr(self, k: int) -> bool:
        """Where a Gram matrix sees nothing more to add, the images themselves may: atoms that those inside nearly
        explain. Whether any were added."""
        if self.view.blocks is not None:
            return False
        support, images, moved = self.supports[k], self.fits.images, False
        while self._room(support, k) > 0 and not self._met(support) and images.size > support.classes.size:
            ledger.tick()
            j = beyond(self.small, support)
            if j is None:
                break
            trial = self.fits.fit(np.append(support.classes, j))
            if trial.classes.size <= support.classes.size or not trial.objective < support.objective * (1 - FALL):
                break
            self.supports[k] = support = trial
            moved = True
        return moved
