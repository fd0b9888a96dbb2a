"""How much to shrink a low-rank fit: entries are held out, and penalties tried on the others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fewatoms import linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.factored import Factored, Triple
from fewatoms.problem import Problem

SHARE = 0.1  # of the entries held out
STEP = 0.65  # from one penalty to the next
SWEEPS = 3  # for each penalty: the point before is near
PATIENCE = 2  # penalties in a row that predict worse than the best before the search ends
STEPS = 5  # to other shrinkages of the biases at most
LEAST = 1e-4  # the last penalty, as a share of the first


@dataclass(frozen=True, eq=False)
class Choice:
    """The penalties that predict held-out entries best, with what they reach there.

    ridge, shrink : on the factors, on the biases
    score : root of the (weighted) mean square of the errors on the entries held out
    start : the point at these penalties, fitted to the other entries
    """

    ridge: float
    shrink: float
    score: float
    start: Triple


def choose_ridge(problem: Problem, k: int) -> Choice:
    """Hold a share of the entries out, shrink biases as predicts them best alone, then go down a ladder of ridges.

    The split and the starts come from the session's generator: the same for every k if it starts anew.
    """
    F = problem.factored
    rng = linalg.generator()
    count = max(1, round(SHARE * problem.m))
    if problem.m < 2:
        raise ValueError(f'ridge="auto" needs at least 2 entries, some to hold out; got {problem.m}')
    held = np.zeros(problem.m, dtype=bool)
    held[rng.choice(problem.m, count, replace=False)] = True
    weights = problem.loss.weights
    rest, out = np.flatnonzero(~held), np.flatnonzero(held)
    shift = float(np.average(problem.b[rest], weights=None if weights is None else weights[rest])) if F.biased else 0.0
    train = Factored(
        F.M.subset(rest),
        problem.b[rest] - shift,
        None if weights is None else weights[rest],
        biased=F.biased,
        nonnegative=F.nonnegative,
    )
    trial = _Trial(train, _Judge(F, problem.b - shift, weights, out))
    unit = 1.0 if weights is None else float(weights.mean())
    shrink = trial.biases_alone([unit * 0.3 * 3.0**j for j in range(5)]) if F.biased else 0.0
    best = trial.down(train.leading(k, rng, shrink), shrink)
    return trial.along(best, 1 / 3, 3.0) if F.biased else best


class _Trial:
    """Penalties tried on the entries that were not held out."""

    def __init__(self, train: Factored, judge: _Judge) -> None:
        self.train, self.judge = train, judge

    def biases_alone(self, shrinks: list[float]) -> float:
        """The shrinkage of biases that predicts best without any atoms."""
        p, q = self.train.shape
        none = np.zeros((p, 0)), np.zeros(0), np.zeros((q, 0))
        return min(shrinks, key=lambda shrink: self.judge(Triple(*none, *self.train.biases(shrink))))

    def at(self, at: Triple, lam: float, shrink: float) -> Choice:
        """A few sweeps at these penalties."""
        for _ in range(SWEEPS):
            at, _ = self.train.sweep(at.alive(), lam, shrink)
        return Choice(lam, shrink, self.judge(at), at)

    def along(self, best: Choice, *factors: float) -> Choice:
        """Beside atoms, biases may want less shrinkage, or more: steps in the first direction that is any good."""
        for factor in factors:
            better = best
            for _ in range(STEPS):
                here = self.at(better.start, better.ridge, factor * better.shrink)
                if here.score >= better.score:
                    break
                better = here
            if better is not best:
                return better
        return best

    def down(self, at: Triple, shrink: float) -> Choice:
        """The best on a ladder of ridges, each begun where the one before ended."""
        lam = first = float(at.s[0])
        best, since = Choice(first, shrink, math.inf, at), 0
        while since < PATIENCE and lam > LEAST * first:
            lam *= STEP
            here = self.at(at, lam, shrink)
            at = here.start
            best, since = (here, 0) if here.score < best.score else (best, since + 1)
        return best


class _Judge:
    """The error of predictions on some of the entries."""

    def __init__(self, F: Factored, b: FloatArray, weights: FloatArray | None, out: IntArray) -> None:
        self.rows, self.cols = F.M.rows[out], F.M.cols[out]
        self.b, self.w = b[out], None if weights is None else weights[out]

    def __call__(self, at: Triple) -> float:
        error = self.b - np.einsum("ij,ij->i", (at.P * at.s)[self.rows], at.Q[self.cols])
        if at.row.size:
            error -= at.row[self.rows] + at.col[self.cols]
        return math.sqrt(float(np.average(error**2, weights=self.w)))


__all__ = ["Choice", "choose_ridge"]
