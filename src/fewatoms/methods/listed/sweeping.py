"""Sweeps over sizes. Where all of them together are long, one size at a time, with a look at the clock after each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.gram import engine
from fewatoms.gram.drivers import Rules, room
from fewatoms.gram.steps import Support as Held
from fewatoms.gram.steps import cheapest, leave, settle
from fewatoms.methods.listed.small import Small

AT_ONCE = 3e7  # multiplications from one look at the clock to the next, roughly
EACH_SIZE = 30  # multiplications that one size takes for each of its atoms and each column, roughly


class Sweep(NamedTuple):
    """A sweep under way: the support it has come to, a spare one, a row of places for each size, and losses."""

    small: Small
    state: Held
    spare: Held
    table: IntArray
    losses: FloatArray
    rules: Rules

    @classmethod
    def of(cls, small: Small, state: Held, table: IntArray, rules: Rules) -> Sweep:
        """From a support, into the rows of a table; those that are there are exchanged as well."""
        return cls(small, state, small.state(len(table) - 1), table, np.full(len(table), np.inf), rules)

    def through(self, low: int, high: int, target: float) -> int:
        """Up from one size to another, until the loss meets the target, and down again; the largest size reached."""
        with linalg.single_thread():
            work = EACH_SIZE * float(high - low + 1) * high * self.small.columns
            top = self._call(low, high, target) if work <= AT_ONCE else self._singly(low, high, target)
        ledger.tick()
        return top

    def _call(self, low: int, high: int, target: float) -> int:
        small = self.small
        args = small.G, small.h, small.bb, self.state, self.spare, self.table, self.losses, low, high, target
        return int(engine().sweep(*args, self.rules))

    def _singly(self, low: int, high: int, target: float) -> int:
        top = high
        for k in range(low, high + 1):
            self._call(k, k, target)
            ledger.tick()
            if self.losses[k] <= target:
                top = k
                break
        for k in range(top - 1, low - 1, -1):
            self._shrink(k)
            self._call(k, k, -np.inf)
            ledger.tick()
        return top

    def _shrink(self, k: int) -> None:
        """The cheapest atoms go."""
        small, state = self.small, self.state
        for _ in range(int(state.count[0])):
            i = cheapest(state)[0] if room(state, k) < 0 else -1
            if i < 0:
                break
            leave(state, i)
            settle(small.G, small.h, state, self.rules.signed)


def largest(table: IntArray, k: int) -> tuple[int, IntArray]:
    """The largest size up to k that a table under way has a row for, and the places of that row; 0 and none before."""
    sizes = np.flatnonzero(table[: k + 1, 0] >= 0)
    size = int(sizes[-1]) if sizes.size else 0
    row = table[size]
    return size, row[row >= 0] if size else row[:0]
