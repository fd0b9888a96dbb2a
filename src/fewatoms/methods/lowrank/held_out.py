"""How much to shrink a low-rank fit: entries are held out, and penalties tried on the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fewatoms import kept, ledger
from fewatoms._types import IntArray
from fewatoms.lots import Drawn
from fewatoms.methods.lowrank.choice import Choice, walk_of, walked
from fewatoms.methods.lowrank.entries import AWAKE, Factored, Triple
from fewatoms.methods.lowrank.folds import ClicksFold, Fold
from fewatoms.methods.lowrank.ladder import Ladder
from fewatoms.methods.lowrank.starts import leading, widened
from fewatoms.methods.lowrank.sweeps import Asked, Sweeps
from fewatoms.sides import Split


@dataclass(frozen=True)
class HeldOut:
    """How penalties are tried.

    many, share, folds : from so many entries on one split, which holds out a share of them, says enough; of fewer each
        is held out once, in so many parts
    many_clicks : the same for clicks, each of which is held against all columns of its row: over 12 data sets of 1,000
        to 5,000 clicks, one split led to ridges as good as five did (NDCG .160 and .154)
    step : from one penalty to the next
    sweeps, clicks : for each penalty; the point before is near. More for clicks: points that lag behind their penalty
        rank well at one that is too low (over three splits of MovieLens the ridge chosen was .7 times the best with 3)
    falling : times the score before: a step of the ladder that still lowers it so much gets one sweep, since the best
        penalty is farther down
    ahead : atoms are swept once the penalty is below so many times their singular value at X = 0: before, they are
        nothing, and sweeps over k columns cost k^2
    patience : penalties in a row that predict worse than the best before the search ends
    hurried : the same for a further k, whose search begins near its end
    least : the last penalty, as a share of the first, unless each step still tells (it lowers the score to `telling`
        times that before): data without noise want none, down to `nothing`
    steps, turns : in one direction at most; of adjusting ridge and shrinkage to each other
    worthwhile : times the score before: a further step that is worth its sweeps
    matters : the same for another shrinkage of the biases at a further k, where sweeps alone lower the score a little
    above : times the largest singular value of M*y at x = 0, roughly found: a penalty that leaves no atoms
    twice : fewer entries than that are searched a second time at a further k, from nothing: that takes fractions of a
        second, and where ranks are close the better of two searches tells them apart
    settled, finely : of descents at a penalty that is given: share of the objective that is not worth a sweep, of many
        entries and of few
    """

    many: int = 20_000
    many_clicks: int = 500
    share: float = 0.1
    folds: int = 5
    step: float = 0.65
    sweeps: int = 3
    falling: float = 0.98
    ahead: float = 2.0
    clicks: int = 6
    patience: int = 3
    hurried: int = 2
    least: float = 1e-4
    telling: float = 0.95
    nothing: float = 1e-12
    steps: int = 20
    turns: int = 4
    worthwhile: float = 1 - 1e-4
    matters: float = 1 - 1e-3
    above: float = 1.05
    settled: float = 1e-5
    finely: float = 1e-6
    twice: int = 50_000

    def trial(self, asked: Asked, held: Split | None = None) -> Trial:
        """Entries held out, these or some drawn by the generator of the run: the same for every k."""
        m = asked.problem.m
        if m < 2:
            raise ValueError(f'ridge="auto" needs at least 2 entries, some to hold out; got {m}')
        how = replace(self, many=self.many_clicks) if asked.problem.measured.background else self
        return Trial(how, asked, how._splits(asked) if held is None else [held])

    def choose(self, trial: Trial, asked: Asked, whole: Callable[[], Factored], before: Choice | None = None) -> Choice:
        """Shrink biases as predicts entries held out best alone, go down a ladder of penalties on the others.

        With biases, the penalty on the atoms and that on the biases are then adjusted to each other; one that is given
        stays. Where no atoms at all predict best, the penalty is one that leaves none: `whole` makes all entries in
        both orders, which are not there meanwhile.

        before : the choice for a smaller k, from which atoms are added and penalties moved. Of few entries the same is
            begun from nothing too, as for this k alone: the better of both

        Where nothing is left to choose, few entries are fitted to as they would be for this k alone.
        """
        given = asked.problem.price.ridge is not None
        biases = asked.problem.beside.biases
        if asked.problem.m < self.many and given and (biases is None or biases.shrink is not None):
            return trial.fitted(asked)
        if before is None or before.start is None:
            return self._from_nothing(trial, asked, whole, before)
        wider = trial.wider(before, asked, free=not given)
        if asked.problem.m >= self.twice:
            return wider
        return min(self._from_nothing(trial, asked, whole, None), wider, key=lambda choice: choice.score)

    def _from_nothing(self, trial: Trial, asked: Asked, whole: Callable[[], Factored], before: Choice | None) -> Choice:
        """Down from penalties that leave no atoms; `before` chose none."""
        problem, given = asked.problem, asked.problem.price.ridge
        biases, weights = problem.beside.biases, problem.base_loss.weights
        unit = 1.0 if weights is None else float(weights.mean())
        shrink, free = (0.0, False) if biases is None else (biases.shrink or 0.0, biases.shrink is None)
        if free:
            shrink = trial.biases_alone([unit * 0.3 * 3.0**j for j in range(5)]) if before is None else before.shrink
        starts = trial.starts(asked.k, shrink)
        best = trial.down(starts, shrink) if given is None else trial.down_to(starts, asked.lam, shrink)
        if free and best.start is not None:
            best = trial.adjusted(best, both=given is None)
        if best.start is None and given is None:
            F = whole()
            best = replace(best, lam=self.above * F.heavy * float(leading(F, 1, shrink, rounds=10).s[0]))
        return best

    def _splits(self, asked: Asked) -> list[Split]:
        """Of many entries those on which a lot falls, wherever they are; of fewer, and of clicks, some by number."""
        m = asked.problem.m
        if m >= self.many and not asked.problem.measured.background:
            return [Drawn(int(ledger.generator().integers(2**63)), 0.0, self.share)]
        return [asked.entries.named(part) for part in self._parts(m)]

    def _parts(self, m: int) -> list[IntArray]:
        """The entries that each fold holds out."""
        order = ledger.generator().permutation(m)
        ledger.tick()
        parts = np.array_split(order, min(self.folds, m)) if m < self.many else [order[: max(1, round(self.share * m))]]
        return [np.sort(part) for part in parts]


class Trial:
    """Penalties tried on the entries that were not held out.

    keep : is shown each point that predicts better than those before
    ladder : which penalties lead down where nothing is left to choose
    """

    def __init__(self, how: HeldOut, asked: Asked, parts: Sequence[Split]) -> None:
        self.how, self.charge = how, asked.problem.M.charge
        entries = asked.row_by_row()
        kind: type[Fold] = ClicksFold if asked.problem.measured.background else Fold
        self.folds = [kind(asked, entries, part) for part in parts]
        self.keep: Callable[[Triple], None] = lambda at: None
        self.ladder = Ladder()
        self.thrown = ledger.dice()  # each k draws its start vectors as it would alone

    def starts(self, k: int, shrink: float) -> list[Triple]:
        """Where ladders begin."""
        generator = self.thrown()
        return [fold.seeded(k, shrink, generator) for fold in self.folds]

    def fitted(self, asked: Asked) -> Choice:
        """What fits for this k come to at penalties that are given."""
        free, ended = replace(asked, problem=asked.problem.bounded()), []
        for fold in self.folds:
            spots = self.ladder.stream(Sweeps(free, fold.train), self.how.finely, None, None)
            ended.append(min(spots, key=lambda spot: spot.loss + free.lam * spot.at.gauge).at)
        return Choice(free.lam, free.shrink, self.score(ended), ended)

    def score(self, points: list[Triple]) -> float:
        """Of the points, one for each fold, on all entries held out: root mean square, or 1 - NDCG for clicks."""
        return self.folds[0].joined([fold.errors(at) for fold, at in zip(self.folds, points, strict=True)])

    def biases_alone(self, shrinks: list[float]) -> float:
        """The shrinkage of biases that predicts best without any atoms."""
        return min(shrinks, key=lambda s: self.nothing(s).score)

    def nothing(self, shrink: float) -> Choice:
        """No atoms."""
        p, q = self.folds[0].train.shape
        none = np.zeros((p, 0)), np.zeros(0), np.zeros((q, 0))
        points = [Triple(*none, *fold.train.biases(shrink)) for fold in self.folds]
        return Choice(math.inf, shrink, self.score(points), points)

    def at(self, points: list[Triple], lam: float, shrink: float) -> Choice:
        """A few sweeps at these penalties."""
        return self._swept(points, lam, shrink, self.folds[0].sweeps(self.how.sweeps, self.how.clicks)[1])

    def _swept(self, points: list[Triple], lam: float, shrink: float, sweeps: int) -> Choice:
        points = [fold.awake(at, lam) for fold, at in zip(self.folds, points, strict=True)]
        for _ in range(sweeps):
            self.charge(sum(2 * at.rank for at in points))
            pairs = zip(self.folds, points, strict=True)
            points = [fold.train.sweep(at.alive(), lam, shrink)[0] for fold, at in pairs]
        return Choice(lam, shrink, self.score(points), points)

    def _descended(self, points: list[Triple], lam: float, shrink: float) -> Choice:
        """Sweeps until they settle: what a fit at a penalty that is given comes to."""
        ended = []
        for fold, at in zip(self.folds, points, strict=True):
            here = fold.awake(at, lam)
            for swept in fold.train.descent(here, lam, shrink, self.how.settled):
                here = swept.at
                self.charge(2 * here.rank)
            ended.append(here)
        return Choice(lam, shrink, self.score(ended), ended)

    def along(self, best: Choice, lam: float, shrink: float, enough: float = 1.0) -> Choice | None:
        """Multiply the penalties by these factors while that predicts better; None if it does not even once, or not by
        as much as is enough: sweeps alone make points better."""
        better, first = None, 0
        with ledger.step("along") as walk:
            if walk.found is not None:
                better, first = Choice.read(walk.found), kept.whole(walk.found.told["steps"])
            for step in range(first, self.how.steps):
                at = better or best
                here = self.at(at.points, lam * at.lam, shrink * at.shrink)
                if here.score >= min(enough, self.how.worthwhile if step > 1 else 1.0) * at.score:
                    break
                better = here
                walk.mark(partial(here.kept, steps=step + 1))
                self.keep(here.points[0])
        return better

    def adjusted(self, best: Choice, *, both: bool) -> Choice:
        """Both penalties in turn, or that on the biases alone, as long as it helps."""
        step = self.how.step
        for _ in range(self.how.turns):
            shrunk = self.along(best, 1.0, 1 / 3) or self.along(best, 1.0, 3.0)
            turned = shrunk and both and (self.along(shrunk, step, 1.0) or self.along(shrunk, 1 / step, 1.0))
            best = turned or shrunk or best
            if not turned:
                break
        return best

    def down(self, starts: list[Triple], shrink: float) -> Choice:
        """The best on a ladder of penalties from where the first atom appears, or nothing at all."""
        first = max(self.folds[0].first(at) for at in starts)
        best, scores = self._ladder([at.cut(1) for at in starts], starts, first, shrink, self.how.patience)
        nothing = self.nothing(shrink)
        if nothing.score <= best.score:
            return nothing
        return self._turned(best, scores)

    def _ladder(
        self, points: list[Triple], starts: list[Triple], first: float, shrink: float, patience: int
    ) -> tuple[Choice, list[float]]:
        """The best of penalties below the first, each begun where the one before ended, and the scores of all. Atoms of
        the starts join when their time comes."""
        how, lam, heavy = self.how, first, self.folds[0].train.heavy
        best, since = Choice(first, shrink, math.inf, points), 0
        sweeps, full = self.folds[0].sweeps(how.sweeps, how.clicks)
        scores: list[float] = []
        with ledger.step("ladder") as walk:
            if walk.found is not None:
                scores, since, sweeps, here, best = walk_of(walk.found)
                points, lam = here.points, here.lam
            while since < patience and lam > (how.nothing if self._tells(scores) else how.least) * first:
                lam *= how.step
                points = [_grown(at, start, heavy * how.ahead / lam) for at, start in zip(points, starts, strict=True)]
                here = self._swept(points, lam, shrink, sweeps)
                if sweeps < full and scores and here.score > how.falling * scores[-1]:
                    here = self._swept(here.points, lam, shrink, full - sweeps)
                    sweeps = full
                points = here.points
                scores.append(here.score)
                best, since = (here, 0) if here.score < best.score else (best, since + 1)
                if best is here:
                    self.keep(here.points[0])
                elif self.folds[0].last(here.score, best.score):
                    since = patience
                walk.mark(partial(walked, [*scores], since, sweeps, here, best))
        return best, scores

    def down_to(self, starts: list[Triple], lam: float, shrink: float) -> Choice:
        """At a penalty that is given, down the ladder from above."""
        how = self.how
        heavy = self.folds[0].train.heavy
        rung = top = heavy * max(float(at.s[0]) for at in starts)
        points = [at.cut(1) for at in starts]
        while (rung := how.step * rung) > max(lam, how.least * top):
            points = [_grown(at, start, heavy * how.ahead / rung) for at, start in zip(points, starts, strict=True)]
            points = self._swept(points, rung, shrink, 1).points
        return self._descended([_grown(at, s, math.inf) for at, s in zip(points, starts, strict=True)], lam, shrink)

    def wider(self, before: Choice, asked: Asked, *, free: bool) -> Choice:
        """From the choice for a smaller k: the atoms that its residuals ask for, the penalty moved while that helps."""
        lam, shrink, step = before.lam, before.shrink, self.how.step
        pairs = zip(self.folds, before.points, strict=True)
        points, sizes = zip(*(widened(fold.train, at, asked.k, lam) for fold, at in pairs), strict=True)
        if not free:
            return self._descended([*points], lam, shrink)
        first = max(lam, *sizes) / step  # a step above where the first of the new atoms joins
        best, scores = self._ladder([*points], [*points], first, shrink, patience=self.how.hurried)
        best = self._turned(best, scores)
        biases = asked.problem.beside.biases
        if biases is not None and biases.shrink is None and best.score < before.score:
            enough = self.how.matters
            best = self.along(best, 1.0, 1 / 3, enough) or self.along(best, 1.0, 3.0, enough) or best
        return best

    def _turned(self, best: Choice, scores: list[float]) -> Choice:
        """The best of a ladder, and where that was its first rung, above it; else between its neighbours."""
        if len(scores) > 1 and best.score == scores[0]:
            return self.along(best, 1 / self.how.step, 1.0) or best
        return replace(best, lam=best.lam * self.how.step ** _lowest(scores))

    def _tells(self, scores: list[float]) -> bool:
        """Whether the last step was still worth much."""
        return len(scores) > 1 and scores[-1] < self.how.telling * scores[-2]


def _grown(at: Triple, start: Triple, times: float) -> Triple:
    """A point with those atoms of a start beside it whose singular values, times a number, are 1 at least."""
    more = np.flatnonzero(times * start.s[at.rank :] >= 1.0) if np.isfinite(times) else np.arange(start.rank - at.rank)
    if not more.size:
        return at
    width = at.rank + int(more[-1]) + 1
    fresh = np.full(width - at.rank, AWAKE * float(at.s[0]) if at.rank else 0.0)
    P, Q = (np.concatenate([a, b[:, at.rank : width]], axis=1) for a, b in ((at.P, start.P), (at.Q, start.Q)))
    return replace(at, P=P, s=np.concatenate([at.s, fresh]), Q=Q)


def _lowest(scores: list[float]) -> float:
    """How many steps past the least of the scores the parabola through it and its neighbours is lowest."""
    i = int(np.argmin(scores)) if scores else 0
    if not 0 < i < len(scores) - 1:
        return 0.0
    before, here, after = scores[i - 1 : i + 2]
    bend = before - 2 * here + after
    return 0.5 * (before - after) / bend if bend > 0 else 0.0


__all__ = ["Choice", "HeldOut", "Trial"]
