"""Which rank, where nobody says: by entries held out of the low-rank part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import ledger
from fewatoms._types import FloatArray
from fewatoms.methods.separation.matrix import Mixture
from fewatoms.methods.separation.rules import Rule
from fewatoms.methods.separation.standing import Standing, some_rows

if TYPE_CHECKING:
    from fewatoms.methods.separation.trimming import Trimming


def chosen(mixture: Mixture, settings: Trimming) -> int:
    """The rank that L is to have.

    Ranks are tried in turn among some of the rows, of which some entries are held out. What L leaves of these is
    measured by a scale in which gross errors count, but no more the larger they are: so nothing is won by an L that
    gives up whole frames. Nor by one that learns what hides a few of the rows for a while: those that win and lose most
    are not counted. A rank pays if it lowers the scale by more than the price of its numbers, log(min(p, q)) for each
    (Bai and Ng, "Determining the number of factors in approximate factor models", 2002), less what entries held out
    charge for them by themselves.
    """
    ranks = _Ranks(mixture, settings)
    best, worse, rank = ranks.tried(1), 0, 1
    while worse < settings.patience and ranks.more(rank + 1):
        rank += 1
        trial = ranks.tried(rank)
        best, worse = (trial, 0) if ranks.pays(best, trial) else (best, worse + 1)
    return best.rank


@dataclass(frozen=True, eq=False)
class _Trial:
    """A rank, the sizes of what is left of the entries held out, and what the numbers of L cost."""

    rank: int
    left: FloatArray
    price: float


class _Ranks:
    """Some rows without the entries held out, and L at one rank after the other."""

    def __init__(self, mixture: Mixture, settings: Trimming) -> None:
        whole, rows = mixture.data, some_rows(mixture, settings)
        rows = np.arange(len(whole.D)) if rows is None else rows
        out = ledger.generator().random((rows.size, whole.D.shape[1])) < settings.held_out
        out = out if whole.seen is None else out & whole.seen[rows]
        self.settings, self._shown = settings, mixture.some(rows, out)
        self._standing, self._rule = Standing(self._shown, settings), Rule(self._shown, settings, None)
        self._rows, self._cols = np.nonzero(out)
        self._b = whole.D[rows][out]
        self._root = np.ones(self._b.size) if whole.root is None else whole.root[rows][out]
        self._each = max(math.log(min(whole.D.shape)) - settings.charged, 1.0) / (2 * self._shown.data.count)
        self._exact = False

    def more(self, rank: int) -> bool:
        """Whether something is left to explain by such a rank, and data to learn it from."""
        data = self._shown.data
        p, q = data.D.shape
        return rank <= q and rank * (p + q - rank) <= self.settings.filled * data.count and not self._exact

    def tried(self, rank: int) -> _Trial:
        with ledger.stage(f"rank {rank}"):
            run, (left, V) = self._standing.found(rank, whole=False)
        said = np.einsum("ia,ia->i", left[self._rows], V[self._cols])
        sizes = np.abs(self._root * (self._b - said))
        self._exact = sizes.size == 0 or self._rule.scale_of(sizes) <= self._rule.floor
        return _Trial(rank, sizes, self._each * run.rule.fitted)

    def pays(self, best: _Trial, trial: _Trial) -> bool:
        """Whether the one beats the other, over the rows that neither win nor lose most by it."""
        if not trial.left.size:
            return False
        unit = max(self._rule.scale_of(best.left), self._rule.floor, math.ulp(0.0))
        won = np.minimum(best.left / unit, 1.0) ** 2 - np.minimum(trial.left / unit, 1.0) ** 2
        by_row = np.bincount(self._rows, won, len(self._shown.data.D))
        low, high = np.quantile(by_row, (self.settings.aside, 1 - self.settings.aside))
        kept = ((by_row >= low) & (by_row <= high))[self._rows]
        before, after = (self._scale(t.left[kept]) for t in (best, trial))
        return math.log(after / before) + trial.price - best.price < 0

    def _scale(self, sizes: FloatArray) -> float:
        return max(self._rule.scale_of(sizes), self._rule.floor, math.ulp(0.0))
