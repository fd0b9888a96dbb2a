"""Which rank, where nobody says: by what each entry of the low-rank part is to the others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array, FloatArray
from fewatoms.methods.separation.lines import leverages
from fewatoms.methods.separation.matrix import Low, Mixture
from fewatoms.methods.separation.rules import Rule
from fewatoms.methods.separation.standing import Standing, even_rows
from fewatoms.methods.separation.steps import Trims

if TYPE_CHECKING:
    from fewatoms.methods.separation.trimming import Trimming


def chosen(mixture: Mixture, settings: Trimming) -> int:
    """The rank that L is to have.

    Ranks are tried in turn among some of the rows. Every entry is held out by itself, to first order: what L would
    leave of it, had it not been seen, is its residual over 1 - h, where h is its share in what L is there; an entry
    that stands out is held out already. So each entry has its say, and none is drawn. The sizes of what is left are
    measured by a scale in which gross errors count, but no more the larger they are: so nothing is won by an L that
    gives up whole frames. Nor by one that learns what hides a few of the rows for a while: those that win and lose
    most are not counted. Nor by one that learns some of very many gross errors, by which the scale falls fast and the
    mean square at a scale hardly. A rank pays if it lowers the scale by more than the price of its numbers,
    log(min(p, q)) for each (Bai and Ng, "Determining the number of factors in approximate factor models", 2002), less
    what entries held out charge for them by themselves.
    """
    ranks = _Ranks(mixture, settings)
    best, worse = next(ranks), 0
    for trial in ranks:
        best, worse = (trial, 0) if ranks.pays(best, trial) else (best, worse + 1)
        if worse == settings.patience:
            break
    return best.rank


@dataclass(frozen=True, eq=False)
class _Trial:
    """A rank, the sizes of what is left of entries held out, and what the numbers of L cost."""

    rank: int
    left: Array
    price: float


class _Ranks:
    """Some of the rows, and L at one rank after the other."""

    def __init__(self, mixture: Mixture, settings: Trimming) -> None:
        rows = even_rows(mixture, settings)
        self.settings, self._some = settings, mixture if rows is None else mixture.some(rows)
        self._standing, self._rule = Standing(self._some, settings), Rule(self._some, settings, None)
        data = self._some.data
        self._seen = np.ones(data.D.shape, dtype=bool) if data.seen is None else data.seen
        self._each = max(math.log(min(mixture.data.D.shape)) - settings.charged, 1.0) / (2 * data.count)
        self._below: tuple[Trims, Low] | None = None

    def __iter__(self) -> Iterator[_Trial]:
        return self

    def __next__(self) -> _Trial:
        """Of the next rank, while something is left to explain by it, and data to learn it from."""
        rank = 1
        if self._below is not None:
            run, at = self._below
            data, rank = self._some.data, at[1].shape[1] + 1
            p, q = data.D.shape
            more = rank <= min(p, q) and rank * (p + q - rank) <= self.settings.filled * data.count
            if not more or run.rule.scale(run.left(at)) <= run.rule.floor:
                raise StopIteration
        run, at = self._below = self._found(rank)
        return _Trial(rank, left_alone(run, at), self._each * run.rule.fitted)

    def _found(self, rank: int) -> tuple[Trims, Low]:
        with ledger.stage(f"rank {rank}"):
            return self._standing.found(rank, whole=False, alone=True)

    def pays(self, best: _Trial, trial: _Trial) -> bool:
        """Whether the one beats the other, over the rows that neither win nor lose most by it: in the scale, and in the
        mean of the squares at the scale before."""
        unit = self._scale(best.left[self._seen])
        squares, fewer = (np.minimum(t.left / unit, 1.0) ** 2 for t in (best, trial))
        by_row = (squares - fewer).sum(axis=1)
        low, high = np.quantile(by_row, (self.settings.aside, 1 - self.settings.aside))
        kept = ((by_row >= low) & (by_row <= high))[:, None] & self._seen
        before, after = (self._scale(t.left[kept]) for t in (best, trial))
        lost = float(fewer[kept].mean() - squares[kept].mean())
        return max(math.log(after / before), lost / self.settings.shown) + trial.price - best.price < 0

    def _scale(self, sizes: FloatArray) -> float:
        return max(self._rule.scale_of(sizes), self._rule.floor, math.ulp(0.0))


def left_alone(run: Trims, at: Low) -> Array:
    """The sizes of the residuals of all entries, each as if L had been fitted without it; 0 where nothing is seen.

    Entries that stand out had no part in the fit. For the others, to first order: h is the sum of the leverages of an
    entry in the fit of its row and in that of its column.
    """
    data, (left, V) = run.data, at
    R = run.left(at)
    W = np.where(np.abs(R) < max(run.rule.threshold(R), math.ulp(0.0)), 1.0 if data.mask is None else data.mask, 0.0)
    h = leverages(np.square(W), V) + leverages(np.square(W).T, left).T
    return np.asarray(np.abs(R) / np.maximum(1 - h, 1 - run.settings.filled))
