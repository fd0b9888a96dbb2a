"""Least squares over single columns at hand, with a cap on coefficients: what is found without it is fitted with it,
and exchanged by trials where the cap holds.

Without the cap an exchange can only gain more: what it would gain then bounds what it gains, and those that would gain
most are tried first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from fewatoms import kept, ledger, linalg
from fewatoms._types import IntArray
from fewatoms.effort import Effort
from fewatoms.gram.drivers import build
from fewatoms.gram.state import State, best_entry, swap_bounds
from fewatoms.kept import Kept
from fewatoms.methods.listed.enumerated import countable, ordered
from fewatoms.methods.listed.exchanging import FALL
from fewatoms.methods.listed.searching import RIDGES, Search
from fewatoms.methods.listed.support import Support, SupportFits

TRIALS = 5  # times as many exchanges are tried for each that is made as where coefficients have signs
IN_ORDER = 400  # supports at most, where all can be looked at
SWAPS = 4  # exchanges made at most, for each atom asked for, and some more


class Capped(Search):
    """The search where no coefficient may be larger than the cap."""

    def __init__(self, fits: SupportFits, ks: Sequence[int], effort: Effort) -> None:
        super().__init__(fits, ks, effort)
        self._felt: set[int] = set()  # sizes for which the cap has held back some support, the best one or another

    def noted(self) -> Callable[[], Kept]:
        known, felt = super().noted(), [*self._felt]

        def told() -> Kept:
            it = known()
            return replace(it, told={**it.told, "felt": [*felt]})

        return told

    def again(self, it: Kept) -> None:
        super().again(it)
        self._felt = {kept.whole(k) for k in kept.rows(it.told["felt"])}

    def _better(self, k: int, support: Support) -> bool:
        if support.capped:
            self._felt.add(k)
        return super()._better(k, support)

    def stages(self) -> Iterator[None]:
        for _ in super().stages():
            self._reconsider()
            yield
        with linalg.single_thread():
            for k in self.ks:
                if k in self._felt and not self._met(self.supports[k]):
                    self._shrunk(k)
                    self._exchanged(k)
                    self._bounded(k)
        self._reconsider()
        yield

    def _reconsider(self) -> None:
        """Others may come nearer where the cap holds an answer back."""
        for k in self.ks:
            self.isolated[k] = self.isolated.get(k, False) and k not in self._felt

    def _bounded(self, k: int) -> None:
        """All supports where they are few, in the order of what they leave without a cap or signs: the answer is found
        once that is more than the best of those before leave with them."""
        if not countable(self.small, k):
            return
        for row, loss in zip(*ordered(self.small, k, IN_ORDER, bounds=True), strict=True):
            if loss > 2 * self.supports[k].objective * (1 - FALL) or self._met(self.supports[k]):
                return
            self._take(k, self.small.classes[row])

    def _shrunk(self, k: int) -> None:
        """Supports of larger ridges, whose coefficients are smaller."""
        ridge, table = self.problem.ridge, None
        for larger in RIDGES[ridge < RIDGES]:
            table, top = self.swept(larger, min(k, self.ks[0]), table)
            row = table[min(k, top)]
            self._take(k, self.small.classes[row[row >= 0]])
        self.small.pay(ridge)

    def _exchanged(self, k: int) -> None:
        for _ in range(20 + SWAPS * k):
            if self._met(self.supports[k]) or not self._improved(k):
                return

    def _improved(self, k: int) -> bool:
        """Make the first exchange that gains something; whether there is any among the most promising ones."""
        small, support = self.small, self.supports[k]
        state = small.state(k)
        assert isinstance(state, State)
        build(small.G, small.h, small.bb, state, small.places(support.classes))
        inside = state.S[: state.count[0]].copy()
        if self._room(support, k) > 0:
            j, _ = best_entry(state, self.signed)
            if j >= 0 and self._take(k, small.classes[np.append(inside, j)]):
                return True
        bounds = np.full((max(1, inside.size), small.h.size), -np.inf)
        swap_bounds(state, bounds)
        needed = float(state.loss[0]) - 2.0 * support.objective * (1 - FALL)
        order = linalg.top_k(bounds[: inside.size].ravel(), TRIALS * self.effort.trials)
        for at in order[bounds.ravel()[order] > needed]:
            if self._take(k, small.classes[_swapped(inside, *divmod(int(at), small.h.size))]):
                return True
            ledger.tick()
        return False


def _swapped(places: IntArray, i: int, j: int) -> IntArray:
    """The places with another one in the place of the i-th."""
    out = places.copy()
    out[i] = j
    return out
