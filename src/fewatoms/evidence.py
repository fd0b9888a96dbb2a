"""What a run collects on its way for a certificate: bounds on the level, the best feasible pair of the relaxation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from typing import NamedTuple

import numpy as np

from fewatoms import doubts, kept, ledger
from fewatoms._types import FloatArray, ModelDual
from fewatoms.atoms import AtomicSet
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.faces import Face
from fewatoms.figures import Figures, Named
from fewatoms.kept import Plain
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P2, P3, Relaxation
from fewatoms.rounding import above, below, gamma

ROUNDING = 16 * np.finfo(float).eps
HOPELESS = 1e12  # times the gauge of the first Newton step: whoever needs more is not found by going on


class LevelBounds:
    """Bounds on tau* and beta* of (P3) from any primal and dual points, exact subproblems not needed.

    v(tau) = min f subject to gauge <= tau is convex and decreasing, with slope -1/beta* at the root v(tau*) = alpha.
    Left of the root, a primal value u and a dual bound l > alpha at tau with s = support(M*y) give
    1/beta* <= s (u - alpha) / (l - alpha) and tau* >= tau + (l - alpha) / s; a point of gauge tau with u < alpha gives
    1/beta* >= (alpha - u) / (tau - tau_low). All of it is rounded outwards: near the root these are quotients of small
    differences.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.alpha = problem.alpha
        self.tau_low = 0.0
        self.inverse_beta_high = math.inf
        self.first_step: float | None = None  # the first dual point's bound from tau = 0: the size of a sensible x
        self._right: list[tuple[float, float]] = []
        # |grad f| <= sqrt(2 L f) turns rounding in a residual of the size of b into rounding of the loss
        self._bend, self._size = 2 * problem.loss.smoothness, math.sqrt(problem.b @ problem.b)

    def told(self) -> Plain:
        """What is known, for a checkpoint."""
        right: list[Plain] = [[tau, loss] for tau, loss in self._right]
        return [self.tau_low, self.inverse_beta_high, self.first_step, right]

    def go_on(self, told: Plain) -> None:
        """Know that again."""
        low, high, first, right = kept.rows(told)
        self.tau_low, self.inverse_beta_high, self.first_step = kept.real(low), kept.real(high), kept.maybe(first)
        self._right = [(kept.real(tau), kept.real(loss)) for tau, loss in map(kept.rows, kept.rows(right))]

    def _above(self, loss: float) -> float:
        """A computed loss, rounded up: residuals are sums of few images, none of them much longer than b."""
        if not math.isfinite(loss):
            return loss
        off = math.sqrt(self._bend) * ROUNDING * self._size
        return loss + gamma(2 * self.problem.m + 16) * loss + off * math.sqrt(max(loss, 0.0)) + off**2

    def see_dual(self, dual: DualPoint) -> None:
        """Take what a dual point (with or without a primal one) tells."""
        if self.alpha is None or not math.isfinite(dual.support):
            return
        problem = self.problem
        conjugate = problem.loss.conjugate(dual.y)
        at_zero = float(problem.b @ dual.y) - conjugate
        known, pull = doubts.of_values(problem, dual.y), doubts.of_support(problem, dual.y)
        sigma = above(float(dual.support)) + pull  # M*y may have been rounded down
        pairs = [(0.0, problem.at_zero)] + ([(dual.gauge, dual.loss)] if math.isfinite(dual.gauge) else [])
        for tau, upper in pairs:
            lower = below(at_zero - above(tau * sigma) - known)
            if lower > self.alpha * (1 + ROUNDING) and sigma <= 0:
                self.tau_low, self.first_step = math.inf, 0.0  # no atom is aligned with y: no x changes the bound
            elif lower > self.alpha * (1 + ROUNDING):
                self.tau_low = max(self.tau_low, below(tau + (lower - self.alpha) / sigma, 8))
                ratio = sigma * (float(self._above(upper) - self.alpha) / float(lower - self.alpha))
                self.inverse_beta_high = min(self.inverse_beta_high, above(ratio, 8))
                if dual.support <= 0:
                    self.first_step = 0.0  # as far as is seen no atom is aligned with y: going on finds none
                elif self.first_step is None:
                    self.first_step = self.tau_low
        self.see_point(dual.loss, dual.gauge)

    def see_point(self, loss: float, gauge: float) -> None:
        """Take a primal point that may lie right of the root."""
        if self.alpha is not None and self._above(loss) < self.alpha and math.isfinite(gauge):
            self._right.append(((1 + ROUNDING) * gauge, self._above(loss)))
            if len(self._right) > 32:  # the sharpest stay: those near the root, seen from tau_low
                alpha = self.alpha
                self._right.sort(key=lambda p: (p[0] - self.tau_low) / (alpha - p[1]))
                del self._right[16:]

    @property
    def beta(self) -> tuple[float, float]:
        """(low, high) with low <= beta* <= high; (0, inf) if nothing is known."""
        if self.alpha is None:
            return 0.0, math.inf
        low = 1.0 / float(self.inverse_beta_high) if self.inverse_beta_high > 0 else 0.0
        inverse_low = max(
            ((self.alpha - u) / (tau - self.tau_low) for tau, u in self._right if tau > self.tau_low), default=0.0
        )
        return low, 1.0 / float(inverse_low) if inverse_low > 0 else math.inf


class Point(NamedTuple):
    """What a primal point says about relaxations: f, its gauges, and the squares that a ridge is on."""

    loss: float
    gauge: float
    unit_gauge: float  # over atoms in units of their images
    squares: float

    def value(self, relaxation: Relaxation, *, own: bool) -> float:
        """What it has in a relaxation, over the set that was asked for or that set in units of its images."""
        return relaxation.primal_value(self.loss, self.gauge if own else self.unit_gauge, self.squares)


class Evidence:
    """What a run collects for its certificate: the best feasible dual vector and the best primal value.

    evaluate : makes the dual point of an iterate whose own is dear, whenever somebody asks
    """

    def __init__(self, problem: Problem, evaluate: Callable[[Iterate], DualPoint] | None = None) -> None:
        self.problem, self.evaluate = problem, _known if evaluate is None else evaluate
        self.relaxation: Relaxation | None = None
        self.y: FloatArray | None = None
        self.dual = math.inf
        self.primal = math.inf
        self.levels = LevelBounds(problem)
        self.relaxed = self.levels  # those of the relaxation, which may have its atoms in other units
        self.products = 0  # made for points that waited
        self._waiting: Iterate | None = None  # an iterate whose dual point is dear: the best one, if anybody asks
        self._points: list[Point] = []  # candidates, which count for its relaxation
        self._lock = RLock()

    def see(self, iterate: Iterate) -> None:
        """Take an iterate; one that is dear to evaluate waits until it is needed."""
        if iterate.dual is not None:
            self._take(iterate.dual)
        elif self._waiting is None or iterate.worth >= self._waiting.worth:
            self._waiting = iterate

    @property
    def waits(self) -> bool:
        """Whether something would have to be computed to tell more."""
        return self._waiting is not None

    def settle(self) -> Evidence:
        """Evaluate what waits: once, whoever asks and in whatever thread."""
        with self._lock:
            if self._waiting is not None:
                with self._apart():
                    self._evaluate(self.evaluate(self._waiting))
                self._waiting = None  # last: an interrupted evaluation is made again
        return self

    def dual_at(self, iterate: Iterate) -> DualPoint:
        """The dual point of a dear iterate, at once."""
        with self._lock, self._apart():
            return self.evaluate(iterate)

    def gap_at(self, iterate: Iterate, candidate: Candidate) -> float:
        """The gap that a dear iterate has with itself or a candidate, at once; what it tells is not lost."""
        with self._lock, self._apart():
            dual = self.evaluate(iterate)
            if self.relaxation is None or self.relaxation == dual.relaxation:
                self._evaluate(dual)
            relaxation, found = dual.relaxation, self._point(candidate)
            _, value = relaxation.feasible(dual.y, dual.z, dual.support)
            primal = relaxation.primal_value(dual.loss, dual.gauge, dual.squares)
            primal = min(primal, found.value(relaxation, own=self._own(relaxation)))
            return rounded_gap(primal, value)

    def _evaluate(self, dual: DualPoint) -> None:
        """Take a dear point now."""
        self._take(dual)
        for point in self._points:
            self._count(point)

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """Count products here instead of with those of the run."""
        with ledger.opened() as spent:
            yield
        self.products += spent.products

    def _take(self, dual: DualPoint) -> None:
        """A new relaxation starts a new account; products are made for the nonnegative cone only."""
        if self.relaxation is None or dual.relaxation != self.relaxation:
            if dual.relaxation.problem.atoms is not self.relaxed.problem.atoms:
                self.relaxed = self.levels if self._own(dual.relaxation) else LevelBounds(dual.relaxation.problem)
            self.relaxation, self.y, self.dual, self.primal = dual.relaxation, None, math.inf, math.inf
        y, value = dual.relaxation.feasible(dual.y, dual.z, dual.support)
        if value < self.dual:
            self.dual, self.y = value, y.copy()
        self.primal = min(self.primal, dual.relaxation.primal_value(dual.loss, dual.gauge, dual.squares))
        self.relaxed.see_dual(dual)
        if self.relaxed is not self.levels:  # the same vector bounds the gauge of the set that was asked for
            support = self.problem.atoms.ceiling(dual.z)
            self.levels.see_dual(replace(dual, support=support, loss=math.inf, gauge=math.inf))

    def see_candidate(self, candidate: Candidate) -> None:
        """Take a primal point; it counts for whatever relaxation it is feasible for."""
        point = self._point(candidate)
        self.levels.see_point(point.loss, point.gauge)
        if self._waiting is not None or self.relaxation is None:
            self._points = [*self._points[-63:], point]
        else:
            self._count(point)

    def _point(self, candidate: Candidate) -> Point:
        units = math.inf if candidate.unit_gauge is None else candidate.unit_gauge
        return Point(candidate.loss, candidate.gauge, units, self.problem.squares(candidate))

    def _count(self, point: Point) -> None:
        """A primal point, for the relaxation at hand."""
        assert self.relaxation is not None
        self.primal = min(self.primal, point.value(self.relaxation, own=self._own(self.relaxation)))
        if self.relaxed is not self.levels:
            self.relaxed.see_point(point.loss, point.unit_gauge)

    def _own(self, relaxation: Relaxation) -> bool:
        """Whether a relaxation is over the very set that was asked for."""
        return relaxation.problem.atoms is self.problem.atoms

    @property
    def tau_lower(self) -> float:
        """Every x that meets alpha has a gauge of at least this: the best of all that is proven."""
        self.settle()
        bounded = self.relaxation is not None and self.relaxation.name == "P3" and self._own(self.relaxation)
        if not bounded or not math.isfinite(self.dual):
            return self.levels.tau_low
        return max(self.levels.tau_low, -self.dual)

    @property
    def hopeless(self) -> bool:
        """Whether every x that meets alpha is so large that it will not be found. That is no proof that there is none:
        see `reach`."""
        levels = self.relaxed  # in units in which atoms are of one size, where those are known
        return levels.first_step is not None and levels.tau_low > HOPELESS * levels.first_step

    @property
    def gap(self) -> float:
        """The best duality gap so far, with what rounding may hide."""
        self.settle()
        return rounded_gap(self.primal, self.dual)


def _known(iterate: Iterate) -> DualPoint:
    """Where no iterate comes without its dual point."""
    assert iterate.dual is not None
    return iterate.dual


@dataclass(eq=False)
class Proof:
    """What M and b are needed for: the problem and the evidence about an answer, made when somebody asks."""

    make: Callable[[], tuple[Problem, Evidence]]
    later: bool = True  # whether that costs something

    @cached_property
    def _made(self) -> tuple[Problem, Evidence]:
        return self.make()

    @property
    def problem(self) -> Problem:
        return self._made[0]

    @property
    def evidence(self) -> Evidence:
        return self._made[1]

    @property
    def ready(self) -> Evidence | None:
        """The evidence, where nothing would have to be computed for it."""
        unmade = self.later and "_made" not in vars(self)
        return None if unmade or self.evidence.waits else self.evidence

    @property
    def products(self) -> int:
        """Made for the evidence."""
        return 0 if self.later and "_made" not in vars(self) else self.evidence.products


def proven_again(
    problem: Problem, face: Face, c: FloatArray, figures: Figures, atoms: AtomicSet, y: FloatArray | None = None
) -> Evidence:
    """Evidence about an answer that has its problem again: the relaxation that it was proven with, if it is known, and
    a dual vector made of what the answer leaves of the data, unless one is given.

    atoms : those of that relaxation. Two products, or one, when somebody asks.
    """

    def evaluate(iterate: Iterate) -> DualPoint:
        dual = _left(problem, face, c) if y is None else y
        z = problem.M.adjoint(dual)
        known = None if figures.relaxed is None else figures.relaxed.named
        relaxation = _relaxation(problem.over(atoms) if atoms is not problem.atoms else problem, known, z)
        own = atoms is problem.atoms  # in other units the gauge is another one
        loss, gauge = (figures.loss, figures.gauge) if own else (math.inf, math.inf)
        squares = 0.0 if problem.ridged is None else problem.ridged.squares(face, c)
        return DualPoint(dual, z, atoms.ceiling(z), relaxation, loss, gauge, squares=squares)

    evidence = Evidence(problem, evaluate)
    if figures.relaxed is None or figures.relaxed.named is not None:
        evidence.see(Iterate(worth=0.0))
    return evidence


def _left(problem: Problem, face: Face, c: FloatArray) -> FloatArray:
    """The dual vector of an answer."""
    image = face.measure(problem.measured, c) if face.dim else np.zeros(problem.m)
    return problem.loss.gradient(problem.b - problem.seen.image(image))


def _relaxation(problem: Problem, known: Named | None, z: ModelDual) -> Relaxation:
    """The one that is known; otherwise what is asked: the bound, a ridge on the gauge, or the penalty at which y is
    feasible."""
    if known is not None:
        return {"P1": P1, "P2": P2}[known.name](problem, known.parameter) if known.name != "P3" else P3(problem)
    if problem.alpha is not None:
        return P3(problem)
    ceiling = problem.atoms.ceiling(z)
    return P1(problem, problem.price.on_gauge or (ceiling if math.isfinite(ceiling) else 0.0))


def rounded_gap(primal: float, dual: float) -> float:
    """primal + dual, rounded up, for a dual value that is rounded up already."""
    if math.isinf(primal) or math.isinf(dual):
        return math.inf
    return max(above(primal + dual), 0.0) + ROUNDING * (abs(primal) + abs(dual))
