"""One run's sweeps: what is asked in the units of the entries, where a sweep has led, what the last one reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from fewatoms import kept, linalg
from fewatoms._types import Array, FloatArray, ModelDual, Vector
from fewatoms.candidates import Candidate, Compact, Iterate
from fewatoms.capabilities import EntryLines, RankOnePairs
from fewatoms.kept import Kept, Plain
from fewatoms.methods.lowrank.clicks import Clicks
from fewatoms.methods.lowrank.entries import Factored, Swept, Triple
from fewatoms.problem import Problem
from fewatoms.sides import Lines, Side

WORTHLESS = 1e-7  # share of loss + ridge gauge that is not worth an atom
DISPENSABLE = 1e-2  # times the largest atom: which ones might be left out
ROUNDED_ATOM = 1e-13  # times the largest atom, or the length of b: atoms that are rounding
HIGHER = 0.05  # what a penalty e times as high is worth, in units of a loss that is e times nearer to the bound


@dataclass(frozen=True, eq=False)
class Asked:
    """A problem with its penalties settled, and the plain set inside its multiple.

    Sweeps know X in the units of the data: a multiple of the set is met by its penalty, ridge gauge(X) = lam |X|, and,
    where it is negative, by the sign of the data.
    """

    problem: Problem
    entries: EntryLines
    pairs: RankOnePairs
    scale: float

    @property
    def k(self) -> int:
        return self.problem.budget.single

    @property
    def sign(self) -> float:
        return math.copysign(1.0, self.scale)

    @property
    def lam(self) -> float:
        """The ridge as a penalty on the nuclear norm."""
        return self.problem.ridge / abs(self.scale)

    @property
    def shrink(self) -> float:
        """That on the biases."""
        biases = self.problem.beside.biases
        return 0.0 if biases is None else biases.shrink or 0.0

    @property
    def data(self) -> FloatArray:
        """b in the sign of the set."""
        return self.problem.b if self.scale > 0 else -self.problem.b

    @property
    def biased(self) -> bool:
        return self.problem.beside.biases is not None

    def loss(self, at: Triple) -> float:
        """f of what a point and its biases leave over."""
        left, (p, _) = self.data - self.entries.sampled(at.P * at.s, at.Q), self.entries.matrix_shape
        if at.row.size:
            left -= self.entries.sampled(
                np.stack([at.row, np.ones(p)], axis=1), np.stack([np.ones_like(at.col), at.col], axis=1)
            )
        return self.problem.base_loss.value(left)

    def row_by_row(self) -> Lines:
        """All entries."""
        return self.entries.lines(self.data, self.problem.base_loss.weights)

    def factored(self, rows: Lines) -> Factored:
        """Entries, all or some of them, in both orders."""
        shape, background, bound = self.entries.matrix_shape, self.problem.measured.background, self.pairs.nonnegative
        if background:
            return Clicks(cast(Side, rows), shape, background, nonnegative=bound)  # a background is for arrays
        return Factored(rows, shape, biased=self.biased, nonnegative=bound, narrow=self.problem.alpha is None)

    def opened(self) -> Factored:
        """All of them."""
        return self.factored(self.row_by_row())


@dataclass(frozen=True, eq=False)
class Spot:
    """Where a sweep has led.

    at : the point
    loss : with the share of the biases
    lam : the penalty on the nuclear norm in force
    """

    asked: Asked
    at: Triple
    loss: float
    lam: float

    @cached_property
    def kept(self) -> Triple:
        """Less atoms that are rounding beside the others or beside the data, or that a ridge has made nothing of."""
        at, problem, ridge = self.at, self.asked.problem, self.asked.lam
        size = math.sqrt(2 * problem.reference / problem.loss.smoothness)  # of the data, whatever entries weigh
        least = ROUNDED_ATOM * max(float(at.s[0]), size) if at.rank else 0.0
        if ridge:  # without an atom of size s the objective rises by at most ridge s + L s^2 / 2
            share = WORTHLESS * (self.loss + ridge * at.gauge)
            least = max(least, min(share / ridge, math.sqrt(share / problem.loss.smoothness)))
        return at.cut(int(np.count_nonzero(at.s > least)))

    def compact(self) -> Compact:
        """The point as the user's set sees it."""
        asked, at = self.asked, self.kept
        face, c = asked.pairs.paired(at.P, at.s / abs(asked.scale), at.Q)
        return asked.problem.atoms.around(face), c

    def left(self) -> Vector:
        """b - Mx, in the order of the data."""
        asked, at = self.asked, self.kept
        return asked.problem.b - asked.entries.sampled(asked.sign * at.P * at.s, at.Q)

    @property
    def gauge(self) -> float:
        """That of the user's set."""
        return self.kept.gauge / abs(self.asked.scale)

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.loss, self.gauge, self.compact, self.left)

    @property
    def objective(self) -> float:
        """The loss, with what the ridge makes atoms pay."""
        return self.loss + self.asked.lam * self.at.gauge

    @property
    def worth(self) -> float:
        """Without a bound: the lower the objective. With one: the nearer to it the better for certificates; of points
        about as near, that of the highest penalty, since with more atoms than k all of them go below the bound."""
        alpha = self.asked.problem.alpha
        if alpha is None:
            return -self.objective
        if not (self.lam > 0 and alpha > 0 and self.loss > 0):
            return -math.inf
        return HIGHER * math.log(self.lam) - abs(math.log(self.loss / alpha))

    def dual(self) -> tuple[Vector, ModelDual]:
        """y of the point itself, and M*y: one product."""
        problem = self.asked.problem
        y = problem.loss.gradient(self.left())
        return y, problem.M.adjoint(y)

    def iterate(self) -> Iterate:
        return Iterate(primal=self.candidate, worth=self.worth, at=self, lam=self.lam * abs(self.asked.scale))


class Sweeps:
    """The sweeps of one run, with what the last one reached.

    objective, loss : f + lam |X| + the share of the biases, and without lam |X|
    lam : the penalty in force
    made : how many there were
    """

    def __init__(self, asked: Asked, F: Factored) -> None:
        self.asked, self.F = asked, F
        self.shrink = asked.shrink
        self.objective = self.loss = math.inf
        self.lam, self.made = 0.0, 0

    def sweep(self, at: Triple, lam: float) -> Triple:
        at, reached = self.F.sweep(at, lam, self.shrink)
        return self.note(at, lam, reached)

    def note(self, at: Triple, lam: float, reached: float) -> Triple:
        """Take down, and charge, a sweep that has been made."""
        self.objective, self.loss, self.lam = reached, max(reached - lam * at.gauge, 0.0), lam
        self.made += 1
        self.asked.problem.M.charge(2 * at.rank)
        return at

    def descent(self, at: Triple, lam: float, tol: float, known: float = math.inf) -> Iterator[Swept]:
        """Sweeps with momentum, taken down one by one."""
        before = self.made
        for swept in self.F.descent(at, lam, self.shrink, tol, known):
            self.note(swept.at, lam, swept.reached)
            self.made = before + swept.number
            yield swept

    def descend(self, at: Triple, lam: float, tol: float) -> Triple:
        """Where they end."""
        for swept in self.descent(at, lam, tol):
            at = swept.at
        return at

    def noted(self, at: Triple, *more: float | None) -> Callable[[], Kept]:
        """Note what was reached, with a few numbers beside it, for a checkpoint."""
        numbers: list[Plain] = [self.objective, self.loss, self.lam, self.made]
        return lambda: Kept("sweeps", {"numbers": numbers, "more": [*more]}, {}, (at.kept(),))

    def again(self, it: Kept) -> tuple[Triple, list[float]]:
        """Go on from there; the numbers are told again, nan for those that were not known."""
        self.objective, self.loss, self.lam, made = (kept.real(v) for v in kept.rows(it.told["numbers"]))
        self.made = int(made)
        more = [math.nan if v is None else kept.real(v) for v in kept.rows(it.told["more"])]
        return Triple.read(it.inner[0]), more

    def fewer(self, at: Triple, tol: float) -> Triple:
        """The leading k atoms, swept on at the penalty asked for until the bound is met, or they settle."""
        at, lam = at.cut(self.asked.k), self.asked.lam
        for swept in self.descent(at, lam, tol):
            at = swept.at
            if self.asked.problem.meets(self.loss):
                break
        return at

    def spot(self, at: Triple) -> Spot:
        """A point that has just been reached."""
        return Spot(self.asked, at, self.loss, self.lam)

    def slope(self, at: Triple) -> ModelDual:
        """M*y of a point, in the sign of the entries: its singular vectors beyond the penalty are atoms to add."""
        z = self.spot(at).dual()[1]
        return z if self.asked.sign > 0 else -z

    def without_the_least(self, at: Triple, lam: float) -> Triple | None:
        """The point without any atoms, or without small ones, if that is as good: sweeps let them fade slowly."""
        at_zero, enough = self.asked.problem.at_zero, self.objective * (1 + WORTHLESS)
        if at_zero <= enough:
            self.objective = self.loss = at_zero
            row, col = self.F.biases(self.shrink)
            return replace(at.cut(0), row=row, col=col)
        fewer = at.cut(int(np.count_nonzero(at.s > DISPENSABLE * at.s[0])))
        if fewer.rank == at.rank:
            return None
        loss = self.F.loss(fewer) + 0.5 * self.shrink * fewer.biases_squared()
        if loss + lam * fewer.gauge > enough:
            return None
        self.objective, self.loss = loss + lam * fewer.gauge, loss
        return fewer

    def fitted(self, at: Triple) -> Triple:
        """A start with as many atoms as allowed: the leading ones, or further ones beside them."""
        k = self.asked.k
        if at.rank >= k:
            return at.cut(k)
        self.loss = self.F.loss(at)
        return self.widened(at, *linalg.top_svd(self.slope(at), k - at.rank))

    def widened(self, at: Triple, P: Array, s: FloatArray, Q: Array) -> Triple:
        """The point with further atoms, each with the coefficient that suits it best by itself."""
        c = s / np.maximum([self._size(P[:, [a]], Q[:, [a]]) for a in range(s.size)], 1e-300)
        return self.F.beside(at, Triple(P, c, Q, at.row, at.col))

    def _size(self, u: Array, v: Array) -> float:
        """|M(u v^T)|^2 in the weights."""
        return 2.0 * self.asked.problem.base_loss.value(self.asked.entries.sampled(u, v))


__all__ = ["Asked", "Spot", "Sweeps"]
