"""Where nobody says how many entries there are: L at a rank, found among gross errors, and what rank it has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array, IntArray
from fewatoms.methods.separation.lines import agreed, mended
from fewatoms.methods.separation.matrix import Low, Mixture
from fewatoms.methods.separation.partial import leading_right
from fewatoms.methods.separation.reweighted import reweighted
from fewatoms.methods.separation.steps import Trims

if TYPE_CHECKING:
    from fewatoms.methods.separation.trimming import Trimming


class Standing:
    """L at one rank after the other, each begun at the one before as well; where rows are many, among some of them.

    Starts are compared by a scale of what they leave, in which gross errors count, but no more the larger they are: an
    L that gives up whole rows to the sparse part, and fits the others all the better, leaves a larger one. Rows and
    columns of which much stands out are fitted anew (`lines`): what hides them for nearly half of the time is left to
    the sparse part then. Ranks of few data are compared by the same scale, each number of L at Schwarz's price; entries
    have no price of their own, and so are not taken to make the rest look better. Small matrices are looked for by
    regressions as well (`reweighted`): little that is seen and much that is wrong lead all other starts astray.
    """

    def __init__(self, mixture: Mixture, settings: Trimming) -> None:
        self.mixture, self.settings = mixture, settings
        self._before: Low | None = None  # of the rank below
        self._run: Trims | None = None
        self._scale = math.inf

    @property
    def _small(self) -> bool:
        return self.mixture.data.count <= self.settings.small

    def at(self, rank: int) -> tuple[Trims, Low]:
        """The best L of a rank. Of those below, the last few are found first, among some of the rows where these are
        many."""
        rows = some_rows(self.mixture, self.settings)
        if rows is None:
            self._below(rank)
            return self.found(rank, whole=True)
        part = Standing(self.mixture.some(rows), self.settings)
        part._below(rank)
        return self._from(part.found(rank, whole=False)[1][1])

    def _below(self, rank: int) -> None:
        have = 0 if self._before is None else self._before[1].shape[1]
        for lower in range(max(have + 1, rank - self.settings.below), rank):
            self.found(lower, whole=False)

    @property
    def score(self) -> float:
        """Schwarz's criterion for the rank found last, by its scale; less is better."""
        assert self._run is not None
        rule, m = self._run.rule, self.mixture.data.count
        if rule.fitted > self.settings.filled * m:
            return math.inf
        return 2 * m * math.log(max(self._scale, rule.floor, math.ulp(0.0))) + rule.fitted * math.log(m)

    def found(self, rank: int, *, whole: bool, alone: bool = False) -> tuple[Trims, Low]:
        """From the start that leaves the smallest scale after some steps, on to the end.

        alone : from the rank below and nowhere else, where there is one, and as far as ranks are told apart: lines are
            not fitted anew, which takes as long again and moves hardly any rank
        """
        settings = self.settings
        run = self._run = Trims(self.mixture, settings, None, rank=rank)
        first, most = ledger.current().found is None, settings.finalists if self._small else 1
        best: list[tuple[float, Low]] = []
        try:
            for start in self._starts(run, rank, whole=whole, alone=alone):
                self._seen(run, run.soften(start, settings.softened), best, most)
                if best[0][0] <= run.rule.floor:
                    break
            for _, at in best[:]:
                at = run.soften(at, settings.compared)
                tol, steps = (settings.roughly, settings.compared) if not alone else settings.nearly
                at = self._agreed(run, at, tol, steps, settings.counts, 0 if alone else settings.mends)
                self._seen(run, at, best, most)
            elsewhere = False
            if whole and self._small and best[0][0] > run.rule.floor:
                elsewhere = self._elsewhere(run, rank, best)
            at = best[0][1]
            if whole:
                ended = self._agreed(run, at, settings.tol, settings.steps, settings.recounts, settings.mends)
                at = at if elsewhere and run.rule.scale(run.left(ended)) > settings.spoilt**2 * best[0][0] else ended
        except ledger.Stopped:
            if first and best:
                ledger.keep(run.answer(best[0][1]))
            raise
        self._before, self._scale = at, run.rule.scale(run.left(at))
        return run, at

    def _from(self, V: Array) -> tuple[Trims, Low]:
        """L of all rows, from its right factor."""
        settings, data = self.settings, self.mixture.data
        run = self._run = Trims(self.mixture, settings, None, rank=V.shape[1])
        at = data.weighed(np.array(data.nothing_explained)) @ V / data.share, V
        at = run.soften(at, settings.softened)
        at = self._agreed(run, at, settings.tol, settings.steps, settings.recounts, settings.mends)
        self._before, self._scale = at, run.rule.scale(run.left(at))
        return run, at

    def _agreed(self, run: Trims, at: Low, tol: float, steps: int, rounds: int, mends: int) -> Low:
        """What stands out is left out, and lines of which too much does are fitted anew, while that lowers the
        scale."""
        at = self._counted(run, at, tol, steps, rounds)
        least = run.rule.scale(run.left(at))
        for _ in range(mends):
            trial = mended(run, at)
            if trial is None:
                break
            trial = self._counted(run, trial, tol, steps, rounds)
            scale = run.rule.scale(run.left(trial))
            if not scale < least:
                break
            at, least = trial, scale
        return at

    def _seen(self, run: Trims, at: Low, best: list[tuple[float, Low]], most: int) -> None:
        """One more among the best so far, the best first."""
        best.append((run.rule.scale(run.left(at)), at))
        best.sort(key=lambda known: known[0])
        del best[most:]

    def _counted(self, run: Trims, at: Low, tol: float, steps: int, rounds: int) -> Low:
        """What stands out by far is counted, so many are left out for some steps, and counted again while the noise
        falls; then what stands out at all.

        Where there is no noise, what is left falls by orders, and less where L is learned late: that would stand out of
        the rest. So the threshold falls by a factor at a time.
        """
        settings, rule = self.settings, run.rule
        floor, t = 0.0, math.inf
        for _ in range(rounds):
            before, t = t, rule.threshold(run.left(at))
            if t >= settings.apart * before or t <= rule.floor:
                break
            floor = max(settings.careful * t, settings.lag * floor)
            at = Trims(self.mixture, settings, run.needed(at, floor)).settle(at, tol, steps)
        return Trims(self.mixture, settings, run.needed(at, settings.lag * floor)).settle(at, tol, steps)

    def _starts(self, run: Trims, rank: int, *, whole: bool, alone: bool) -> Iterator[Low]:
        """Those of any budget; beside those that extend the rank below, the few that are not random."""
        most, begun = None if whole else 1, False
        if self._before is not None and self._before[1].shape[1] == rank - 1:
            for start in self._extended(run, self._before):
                begun = True
                yield start
            if alone and begun:
                return
            most = 3 if whole else 1
        yield from islice(run.starts(rank), most)
        if whole and self._small:
            yield from self._agreeing(run, rank)

    def _elsewhere(self, run: Trims, rank: int, best: list[tuple[float, Low]]) -> bool:
        """Where regressions lead, if that leaves clearly less. (They make the scale small, and a little too small.)"""
        if run.rule.middle(run.data.nothing_explained) <= run.rule.floor:
            return False
        before = best[0]
        for power in self.settings.powers:
            at = reweighted(run, rank, power)
            if self.settings.spoilt * run.rule.scale(run.left(at)) < best[0][0]:
                self._seen(run, at, best, 1)
        return best[0] is not before

    def _agreeing(self, run: Trims, rank: int) -> Iterator[Low]:
        """Where nearly half of the entries may be wrong: from little more than signs, and then what most entries of
        every line agree on, more and more nearly."""
        whole, settings = run.data.nothing_explained, self.settings
        middle = run.rule.middle(whole)
        for times in settings.signs if middle > run.rule.floor else ():
            X = run.data.weighed(np.clip(whole, -times * middle, times * middle))
            V = leading_right(X, rank)
            at, t = (X @ V, V), middle
            for _ in range(settings.nearer):
                at, t = agreed(run, at, t), settings.rung * t
            yield at

    def _extended(self, run: Trims, below: Low) -> Iterator[Low]:
        """One atom more: the leading one of the residual, clipped at some deviations of it, so that many entries decide
        and not the largest."""
        for times in self.settings.clipped if self._small else self.settings.clipped[:1]:
            R = run.left(below)
            t = times * run.rule.deviation(R)
            if t > 0:
                yield _joined(below, run.data.weighed(np.clip(R, -t, t, out=R)))


def some_rows(mixture: Mixture, settings: Trimming) -> IntArray | None:
    """So many rows, drawn at random, as tell the space of the others; None where all there are will be needed."""
    p, q = mixture.data.D.shape
    count = max(settings.rows * q, math.ceil(settings.numbers / q))
    if 2 * count > p:
        return None
    return np.sort(ledger.generator().choice(p, count, replace=False))


def even_rows(mixture: Mixture, settings: Trimming) -> IntArray | None:
    """So many rows as tell ranks apart, at most half if these are enough, evenly from the shortest to the longest; None
    where all there are will be needed."""
    p, q = mixture.data.D.shape
    count = max(settings.rows * q, min(math.ceil(settings.compared_numbers / q), p // 2))
    if count >= p:
        return None
    order = np.argsort(np.linalg.norm(mixture.data.nothing_explained, axis=1), kind="stable")
    return np.sort(order[((np.arange(count) + 0.5) * (p / count)).astype(np.intp)])


def _joined(below: Low, R: Array) -> Low:
    """The factors of one more than before: the leading pair of R beside them."""
    left, right = below
    v = leading_right(R, 1)
    V, T = np.linalg.qr(np.concatenate([right, v], axis=1))
    return np.concatenate([left, R @ v], axis=1) @ T.T, V
