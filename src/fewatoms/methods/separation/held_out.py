"""Which rank, where nobody says: by entries held out of the low-rank part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array
from fewatoms.methods.separation.matrix import Mixture
from fewatoms.methods.separation.rules import Rule
from fewatoms.methods.separation.standing import Standing, some_rows

if TYPE_CHECKING:
    from fewatoms.methods.separation.trimming import Trimming


def chosen(mixture: Mixture, settings: Trimming) -> Array:
    """V, with as many columns as L is to have.

    Ranks are tried in turn among some of the rows, of which some entries are held out. What L leaves of these is
    measured by a scale in which gross errors count, but no more the larger they are: so nothing is won by an L that
    gives up whole rows or frames, nor by one that learns what hides a part of them. A rank pays if it lowers that scale
    by more than the price of its numbers, log(min(p, q)) for each (Bai and Ng, "Determining the number of factors in
    approximate factor models", 2002), less the 1 that entries held out charge for it by themselves.
    """
    held = _Held(mixture, settings)
    best, lowest, worse = held.right(1), held.score, 0
    while worse < settings.patience and held.more:
        V = held.right(held.rank + 1)
        best, lowest, worse = (V, held.score, 0) if held.score < lowest else (best, lowest, worse + 1)
    return best


class _Held:
    """Some rows without the entries held out, and L at one rank after the other."""

    def __init__(self, mixture: Mixture, settings: Trimming) -> None:
        rows = some_rows(mixture, settings)
        whole = mixture.data
        rows = np.arange(len(whole.D)) if rows is None else rows
        out = ledger.generator().random((rows.size, whole.D.shape[1])) < settings.held_out
        out = out if whole.seen is None else out & whole.seen[rows]
        self._shown, self._out, self._D = mixture.some(rows, out), out, whole.D[rows]
        self._root = None if whole.root is None else whole.root[rows]
        self._standing = Standing(self._shown, settings)
        self._rule = Rule(self._shown, settings, None)
        self._settings, self._shape = settings, whole.D.shape
        self.rank, self.score = 0, math.inf
        self._scale = math.inf

    @property
    def more(self) -> bool:
        """Whether there is something left to explain, and data to learn a rank more from."""
        rank, (p, q) = self.rank + 1, self._shown.data.D.shape
        room = rank * (p + q - rank) <= self._settings.filled * self._shown.data.count
        return rank <= q and room and self._scale > self._rule.floor

    def right(self, rank: int) -> Array:
        with ledger.stage(f"rank {rank}"):
            left, V = self._standing.found(rank, whole=False)[1]
        R = (self._D - left @ V.T) * (1.0 if self._root is None else self._root)
        self._scale = self._rule.scale_of(np.abs(R[self._out]))
        self.rank = rank
        p, q = self._shown.data.D.shape
        price = max(math.log(min(self._shape)) - 1, 1.0) * rank * (p + q - rank) / (2 * self._shown.data.count)
        self.score = math.log(max(self._scale, self._rule.floor, math.ulp(0.0))) + price
        return V
