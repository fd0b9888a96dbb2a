"""How much to shrink a low-rank fit: entries are held out, and penalties tried on the others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fewatoms import linalg
from fewatoms._types import IntArray
from fewatoms.factored import Factored, Triple
from fewatoms.problem import Problem

MANY = 20_000  # entries from which one split says enough
SHARE = 0.1  # of the entries that it holds out
FOLDS = 5  # splits of fewer entries
STEP = 0.65  # from one penalty to the next
SWEEPS = 3  # for each penalty: the point before is near
PATIENCE = 3  # penalties in a row that predict worse than the best before the search ends
STEPS = 20  # in one direction at most
TURNS = 4  # of adjusting ridge and shrinkage to each other
LEAST = 1e-4  # the last penalty, as a share of the first, unless each step still tells: data without noise want none
WORTHWHILE = 1 - 1e-4  # times the score before: a further step that is worth its sweeps
TELLING = 0.95  # times the score before
NOTHING = 1e-12  # share of the first penalty that is none
ABOVE = 1.05  # times the largest singular value of M*y at x = 0, roughly found: a penalty that leaves no atoms


@dataclass(frozen=True, eq=False)
class Choice:
    """The penalties that predict held-out entries best, with what they reach there.

    ridge, shrink : on the factors, on the biases
    score : root of the (weighted) mean square of the errors on the entries held out
    points : those at these penalties, each fitted to the other entries
    """

    ridge: float
    shrink: float
    score: float
    points: list[Triple]
    products: int = 0  # with M and M*, on the part of the entries that was fitted

    @property
    def start(self) -> Triple | None:
        """Where a fit to all entries may begin, if not at nothing."""
        return self.points[0] if self.points[0].rank else None


def choose_ridge(problem: Problem, k: int) -> Choice:
    """Hold entries out, shrink biases as predicts them best alone, then go down a ladder of ridges on the others.

    With biases, ridge and shrinkage are then adjusted to each other. Where no atoms at all predict best, the ridge is
    one that leaves none.

    A share of the entries is held out once where there are many of them, and each entry once, in FOLDS parts, where
    there are few. The split and the starts come from the session's generator: the same for every k if it starts anew.
    """
    if problem.m < 2:
        raise ValueError(f'ridge="auto" needs at least 2 entries, some to hold out; got {problem.m}')
    rng, m = linalg.generator(), problem.m
    order = rng.permutation(m)
    parts = np.array_split(order, min(FOLDS, m)) if m < MANY else [order[: max(1, round(SHARE * m))]]
    trial = _Trial([_Fold(problem, np.sort(part)) for part in parts])
    weights, biased = problem.loss.weights, problem.biases
    unit = 1.0 if weights is None else float(weights.mean())
    shrink = trial.biases_alone([unit * 0.3 * 3.0**j for j in range(5)]) if biased else 0.0
    best = trial.down([fold.train.leading(k, rng, shrink) for fold in trial.folds], shrink)
    if biased and best.start is not None:
        for _ in range(TURNS):
            shrunk = trial.along(best, 1.0, 1 / 3) or trial.along(best, 1.0, 3.0)
            turned = shrunk and (trial.along(shrunk, STEP, 1.0) or trial.along(shrunk, 1 / STEP, 1.0))
            best = turned or shrunk or best
            if turned is None:
                break
    if best.start is None:
        best = replace(best, ridge=ABOVE * float(problem.factored.leading(1, rng, shrink, rounds=10).s[0]))
    return replace(best, products=trial.products)


class _Fold:
    """Some entries held out, and the others to fit."""

    def __init__(self, problem: Problem, out: IntArray) -> None:
        F, weights, b = problem.factored, problem.loss.weights, problem.b
        rest = np.delete(np.arange(b.size), out)
        w = None if weights is None else weights[rest]
        shift = float(np.average(b[rest], weights=w)) if F.biased else 0.0  # the centre without those held out
        self.train = Factored(F.M.subset(rest), b[rest] - shift, w, biased=F.biased, nonnegative=F.nonnegative)
        self.rows, self.cols, self.b = F.M.rows[out], F.M.cols[out], b[out] - shift
        self.w = np.ones(out.size) if weights is None else weights[out]

    def errors(self, at: Triple) -> tuple[float, float]:
        """The weighted sum of the squares of the errors on the entries held out, and that of the weights."""
        error = self.b - np.einsum("ij,ij->i", (at.P * at.s)[self.rows], at.Q[self.cols])
        if at.row.size:
            error -= at.row[self.rows] + at.col[self.cols]
        return float(np.dot(self.w, error**2)), float(self.w.sum())


class _Trial:
    """Penalties tried on the entries that were not held out."""

    def __init__(self, folds: list[_Fold]) -> None:
        self.folds = folds
        self.products = 0

    def score(self, points: list[Triple]) -> float:
        """Root mean square over all entries held out, one point for each fold."""
        sums = [fold.errors(at) for fold, at in zip(self.folds, points, strict=True)]
        return math.sqrt(sum(s for s, _ in sums) / sum(w for _, w in sums))

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
        for _ in range(SWEEPS):
            self.products += sum(2 * at.rank for at in points)
            pairs = zip(self.folds, points, strict=True)
            points = [fold.train.sweep(at.alive(), lam, shrink)[0] for fold, at in pairs]
        return Choice(lam, shrink, self.score(points), points)

    def along(self, best: Choice, ridge: float, shrink: float) -> Choice | None:
        """Multiply the penalties by these factors while that predicts better; None if it does not even once."""
        better = None
        for step in range(STEPS):
            at = better or best
            here = self.at(at.points, ridge * at.ridge, shrink * at.shrink)
            if here.score >= (WORTHWHILE if step > 1 else 1.0) * at.score:
                break
            better = here
        return better

    def down(self, points: list[Triple], shrink: float) -> Choice:
        """The best on a ladder of ridges, each begun where the one before ended, or nothing at all."""
        lam = first = max(float(at.s[0]) for at in points)
        best, since = Choice(first, shrink, math.inf, points), 0
        scores: list[float] = []
        while since < PATIENCE and lam > (NOTHING if _telling(scores) else LEAST) * first:
            lam *= STEP
            here = self.at(points, lam, shrink)
            points = here.points
            scores.append(here.score)
            best, since = (here, 0) if here.score < best.score else (best, since + 1)
        nothing = self.nothing(shrink)
        return nothing if nothing.score <= best.score else replace(best, ridge=best.ridge * STEP ** _lowest(scores))


def _telling(scores: list[float]) -> bool:
    """Whether the last step was still worth much."""
    return len(scores) > 1 and scores[-1] < TELLING * scores[-2]


def _lowest(scores: list[float]) -> float:
    """How many steps past the least of the scores the parabola through it and its neighbours is lowest."""
    i = int(np.argmin(scores)) if scores else 0
    if not 0 < i < len(scores) - 1:
        return 0.0
    before, here, after = scores[i - 1 : i + 2]
    bend = before - 2 * here + after
    return 0.5 * (before - after) / bend if bend > 0 else 0.0


__all__ = ["Choice", "choose_ridge"]
