"""What is proven about an answer: losses recomputed, duality gaps, the paper's epsilon_i, bounds on beta, safe sets.

Every statement about duality is about a relaxation at its own lambda, tau or alpha. None of them proves optimality for
the cardinality problem (P).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np

from fewatoms import linalg
from fewatoms._types import FloatArray, ModelDual
from fewatoms.atoms import AtomicSet, PSDRankOne, RankOne
from fewatoms.atoms.sums import Sum, Union
from fewatoms.faces import within
from fewatoms.operators import Counting
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P2, P3, Relaxation
from fewatoms.solution import Candidate, DualPoint

ROUNDING = 16 * np.finfo(float).eps


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
        self._slope = math.sqrt(2 * problem.loss.smoothness) * float(np.linalg.norm(problem.b))

    def _above(self, loss: float) -> float:
        """A computed loss, rounded up."""
        return loss + ROUNDING * (loss + self._slope * math.sqrt(max(loss, 0.0)))

    def see_dual(self, dual: DualPoint) -> None:
        """Take what a dual point (with or without a primal one) tells."""
        if self.alpha is None or not math.isfinite(dual.support):
            return
        problem = self.problem
        conjugate = problem.loss.conjugate(dual.y)
        at_zero = float(np.dot(problem.b, dual.y)) - conjugate
        terms = linalg.dot_of_sizes(problem.b, dual.y) + abs(conjugate)
        pairs = [(0.0, problem.at_zero)] + ([(dual.gauge, dual.loss)] if math.isfinite(dual.gauge) else [])
        for tau, upper in pairs:
            lower = at_zero - tau * dual.support - ROUNDING * (terms + tau * dual.support)
            if lower > self.alpha * (1 + ROUNDING) and dual.support <= 0:
                self.tau_low, self.first_step = math.inf, 0.0  # no atom is aligned with y: no x changes the bound
            elif lower > self.alpha * (1 + ROUNDING):
                self.tau_low = max(self.tau_low, (1 - ROUNDING) * (tau + (lower - self.alpha) / dual.support))
                ratio = float(dual.support) * float(self._above(upper) - self.alpha) / float(lower - self.alpha)
                self.inverse_beta_high = min(self.inverse_beta_high, ratio)
                if self.first_step is None:
                    self.first_step = self.tau_low
        self.see_point(dual.loss, dual.gauge)

    def see_point(self, loss: float, gauge: float) -> None:
        """Take a primal point that may lie right of the root."""
        if self.alpha is not None and self._above(loss) < self.alpha and math.isfinite(gauge):
            self._right.append(((1 + ROUNDING) * gauge, self._above(loss)))
            if len(self._right) > 32:  # the sharpest stay: those near the root, seen from tau_low
                self._right.sort(key=lambda p: (p[0] - self.tau_low) / (self.alpha - p[1]))  # type: ignore[operator]
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


class Evidence:
    """What a run collects for its certificate: the best feasible dual vector and the best primal value."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.relaxation: Relaxation | None = None
        self.y: FloatArray | None = None
        self.dual = math.inf
        self.primal = math.inf
        self.terms = 0.0  # sum |b_i y_i|: the size of what cancels in the dual value
        self.levels = LevelBounds(problem)
        self.relaxed = self.levels  # those of the relaxation, which may have its atoms in other units
        self.products = 0  # made for points that waited
        self._waiting: DualPoint | None = None  # a point that is dear to evaluate: the best one, if anybody asks
        self._points: list[tuple[float, float]] = []  # what candidates would say about its relaxation
        self._lock = RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock())

    def see(self, dual: DualPoint) -> None:
        """Take a dual point; one that is dear to evaluate waits until it is needed."""
        if dual.dear:
            self._waiting = dual if self._waiting is None or dual.worth >= self._waiting.worth else self._waiting
        else:
            self._take(dual)

    def settle(self) -> Evidence:
        """Evaluate what waits: once, whoever asks and in whatever thread."""
        with self._lock:
            if self._waiting is not None:
                with self._apart():
                    self._evaluate(self._waiting)
                self._waiting = None  # last: an interrupted evaluation is made again
        return self

    def gap_at(self, dual: DualPoint, candidate: Candidate) -> float:
        """The gap that a dear point has with itself or a candidate, at once; what it tells is not lost."""
        with self._lock, self._apart():
            if self.relaxation is None or self.relaxation == dual.relaxation:
                self._evaluate(dual)
            relaxation, points = dual.relaxation, [(dual.loss, dual.gauge), (candidate.loss, candidate.gauge)]
            y, value = relaxation.feasible(dual.y, dual.z, dual.support)
            primal = min(relaxation.primal_value(*point) for point in points)
            return rounded_gap(primal, value, linalg.dot_of_sizes(self.problem.b, y))

    def _evaluate(self, dual: DualPoint) -> None:
        """Take a dear point now."""
        self._take(dual)
        for loss, gauge in self._points:
            self.primal = min(self.primal, dual.relaxation.primal_value(loss, gauge))

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """Count products here instead of with those of the run, and keep nothing that the run has dropped."""
        problem, counter = self.problem, self.problem.M
        before, kept = counter.products, problem.keeps_entries
        try:
            yield
        finally:
            self.products += counter.products - before
            counter.products = before
            if not kept and problem.keeps_entries:
                problem.forget()

    def _take(self, dual: DualPoint) -> None:
        """A new relaxation starts a new account; products are made for the nonnegative cone only."""
        if self.relaxation is None or dual.relaxation != self.relaxation:
            if dual.relaxation.problem.atoms is not self.relaxed.problem.atoms:
                own = dual.relaxation.problem.atoms is self.problem.atoms
                self.relaxed = self.levels if own else LevelBounds(dual.relaxation.problem)
            self.relaxation, self.y, self.dual, self.primal = dual.relaxation, None, math.inf, math.inf
        y, value = dual.relaxation.feasible(dual.y, dual.z, dual.support)
        if value < self.dual:
            self.dual, self.y = value, np.array(y)
            self.terms = linalg.dot_of_sizes(self.problem.b, y)
        self.primal = min(self.primal, dual.relaxation.primal_value(dual.loss, dual.gauge))
        self.relaxed.see_dual(dual)
        if self.relaxed is not self.levels:  # the same vector bounds the gauge of the set that was asked for
            support = self.problem.atoms.support(dual.z)
            self.levels.see_dual(replace(dual, support=support, loss=math.inf, gauge=math.inf))

    def see_candidate(self, candidate: Candidate) -> None:
        """Take a primal point; it counts for whatever relaxation it is feasible for."""
        gauge = candidate.gauge
        self.levels.see_point(candidate.loss, gauge)
        if self.relaxed is not self.levels:
            assert self.problem.listed is not None
            gauge = self.problem.listed.unit_gauge(candidate.face, candidate.c)
            self.relaxed.see_point(candidate.loss, gauge)
        if self._waiting is not None:
            self._points = [*self._points[-63:], (candidate.loss, gauge)]
        elif self.relaxation is not None:
            self.primal = min(self.primal, self.relaxation.primal_value(candidate.loss, gauge))

    @property
    def gap(self) -> float:
        """The best duality gap so far, with what rounding may hide."""
        self.settle()
        return rounded_gap(self.primal, self.dual, self.terms)


def rounded_gap(primal: float, dual: float, terms: float) -> float:
    """primal + dual, rounded up by a few eps of the values and of the `terms` that cancel in them.

    With a small residual <b, y> is far larger than the dual value, and so is its rounding.
    """
    if math.isinf(primal) or math.isinf(dual):
        return math.inf
    return max(primal + dual, 0.0) + ROUNDING * (abs(primal) + abs(dual) + terms)


class Certificate:
    """What is proven about an answer. `str(certificate)` says it in words, and says what is not.

    loss, cardinality, gauge : recomputed from the answer (gauge: of its representation, an upper bound)
    meets_bound, within_budget : bool or None; whether the loss meets alpha, whether k is kept
    relaxation : P1, P2 or P3, the one the dual vectors were made for; None if there was no dual vector. With the
        default oracle for listed atoms and a matrix at hand, its atoms are in units of their images
    y : a feasible dual vector of it; primal, dual : best values seen; gap : their sum
    tau_lower : every x that meets alpha has a gauge of at least this
    beta_bounds : (low, high) around beta* of (P3), or None

    Computed on first access, counted in `products`:

    norm : a proven upper bound of |M|_A, or None
    epsilon : atoms of any solution of the relaxation are epsilon-exposed by M*y (Theorem 2), or None
    threshold : the alignment <a, M*y> that every such atom has at least, or None
    safe_set : of listed atoms, the only ones that solutions of the relaxation can use (per part, for sums), or None
    hausdorff : for matrix sets, a bound of the distance from such atoms to the k leading singular pairs, or None
    """

    def __init__(self, problem: Problem, candidate: Candidate, evidence: Evidence, *, cardinality: int) -> None:
        self._problem, self._evidence = problem, evidence
        self._M = Counting(problem.M.inner)
        self.loss, self.gauge = candidate.loss, candidate.gauge
        self.cardinality = cardinality
        self.within_budget = within(candidate.face, problem.k)
        self.meets_bound = None if problem.alpha is None else problem.meets(candidate.loss)

    # What the run has collected. Dual points that are dear to evaluate wait until somebody asks for one of these.

    @property
    def relaxation(self) -> Relaxation | None:
        return self._evidence.settle().relaxation

    @property
    def y(self) -> FloatArray | None:
        return self._evidence.settle().y

    @property
    def primal(self) -> float:
        return self._evidence.settle().primal

    @property
    def dual(self) -> float:
        return self._evidence.settle().dual

    @property
    def gap(self) -> float:
        return self._evidence.gap

    @property
    def tau_lower(self) -> float:
        return self._evidence.settle().levels.tau_low

    @property
    def beta_bounds(self) -> tuple[float, float] | None:
        bounds = self._evidence.settle().relaxed.beta
        return bounds if self._problem.alpha and bounds != (0.0, math.inf) else None

    @property
    def _terms(self) -> float:
        return self._evidence.settle().terms

    @property
    def _atoms(self) -> AtomicSet:
        return self._problem.atoms if self.relaxation is None else self.relaxation.problem.atoms

    @property
    def problem(self) -> Problem:
        """What was asked."""
        return self._problem

    @property
    def products(self) -> int:
        """Products with M and M* made for the parts of this certificate that were asked for."""
        return self._M.products + self._evidence.products

    @cached_property
    def _z(self) -> ModelDual:
        return self._M.adjoint(self.y)  # type: ignore[arg-type]

    @cached_property
    def norm(self) -> float | None:
        value = self._atoms.operator_norm(self._M)
        return value if value is not None and math.isfinite(value) else None

    @cached_property
    def _share(self) -> float:
        """The share t of y that (D3) admits at all beta within the bounds, where t y / beta must lie in dom f*; 1 else.

        What Theorem 2 says of t y is told of y: it is within radius of y* / t, and support atoms have alignment 1 / t.
        """
        if self.y is None or self.beta_bounds is None or not isinstance(self.relaxation, P3):
            return 1.0
        low = self.beta_bounds[0]
        return self.relaxation.share_in_domain(self.y / low) if low > 0 else 1.0

    @cached_property
    def radius(self) -> float | None:
        """A bound of |y - y*|, the distance to the dual solution (for (P3), to a known multiple of it), or None."""
        if self.y is None or math.isinf(self.gap):
            return None
        L = self._problem.loss.smoothness
        if not isinstance(self.relaxation, P3):
            return math.sqrt(2 * L * self.gap)
        if self.beta_bounds is None or math.isinf(self.beta_bounds[1]) or self._share == 0:
            return None
        low, high = self.beta_bounds
        y = self._share * self.y
        worst = max(self.relaxation.dual_at(y, low), self.relaxation.dual_at(y, high))
        excess = rounded_gap(self.primal, worst, self._terms)
        excess += high * (self._problem.tolerance - self.relaxation.alpha)  # x may use what counts as meeting alpha
        return math.sqrt(2 * high * L * excess) / self._share if math.isfinite(excess) else None

    @cached_property
    def epsilon(self) -> float | None:
        if self.radius is None or self.norm is None:
            return None
        if isinstance(self.relaxation, P3):
            return max(0.0, 1.0 - self._level + self.norm * self.radius)
        return (2 if isinstance(self.relaxation, P2) else 1) * self.norm * self.radius

    @cached_property
    def _level(self) -> float:
        """The alignment that support atoms have with M*y* less what y may be off: lambda, 1, or the support value."""
        if isinstance(self.relaxation, P1):
            return self.relaxation.lam if self._atoms.bounded else 0.0
        return 1.0 / self._share if isinstance(self.relaxation, P3) else self._atoms.support(self._z)

    @cached_property
    def threshold(self) -> float | None:
        if self.epsilon is None:
            return None
        return (1.0 if isinstance(self.relaxation, P3) else self._level) - self.epsilon

    @cached_property
    def safe_set(self) -> Any:
        return None if self.radius is None else self._safe(self._atoms, self._level, in_sum=False)

    def _safe(self, atoms: AtomicSet, level: float, *, in_sum: bool) -> Any:
        """Indices of the atoms (classes) that reach the level, part by part; per-atom norms where they are known.

        In a sum each part answers for the level less the supports of the others; they are off by their own norms, so
        the norm of the whole covers an atom and the others together.
        """
        if isinstance(atoms, (Sum, Union)):
            summed = isinstance(atoms, Sum)
            others = [atoms.support(self._z) - p.support(self._z) if summed else 0.0 for p in atoms.parts]
            parts = zip(atoms.parts, others, strict=True)
            sets = tuple(self._safe(p, level - o, in_sum=in_sum or summed) for p, o in parts)
            return None if all(s is None for s in sets) else sets
        alignments = atoms.alignments(self._z)
        norms: Any = None if in_sum else atoms.atom_norms(self._M)
        norms = self.norm if norms is None else norms
        if alignments is None or norms is None or self.radius is None:
            return None
        if isinstance(self.relaxation, P2):
            if self.norm is None:
                return None
            norms = norms + self.norm
        return np.flatnonzero(alignments >= level - norms * self.radius - 1e-12 * abs(self._level))

    @cached_property
    def hausdorff(self) -> float | None:
        atoms, k = self._problem.atoms, self._problem.k
        if self.epsilon is None or not isinstance(atoms, (RankOne, PSDRankOne)) or k is None or k >= atoms.count:
            return None
        spectrum = atoms.spectrum(self._z, k + 1)
        spread = float(spectrum[0] - spectrum[-1])
        return math.sqrt(2 * min(self.epsilon / spread, 1.0)) if spread > 0 else math.sqrt(2)

    def __str__(self) -> str:
        return "\n".join(self._sentences())

    def _sentences(self) -> list[str]:
        bound = self._problem.alpha
        k = self._problem.k
        most = " + ".join("any" if j is None else str(j) for j in k) if isinstance(k, tuple) else k
        allowed = "" if k is None else f" of {most} allowed"
        lines = [f"Recomputed: loss {self.loss:.6g} with {self.cardinality} atoms{allowed}."]
        if bound is not None:
            lines.append(f"The bound alpha = {bound:.6g} is {'met' if self.meets_bound else 'not met'}.")
        if self.tau_lower > 0:
            infinite = math.isinf(self.tau_lower)
            size = (
                "no x meets alpha"
                if infinite
                else f"every x that meets alpha has a gauge of at least {self.tau_lower:.6g}"
            )
            lines.append(f"Proven: {size}.")
        if self.relaxation is None:
            lines.append("No dual vector was computed, so nothing else is proven.")
            return lines
        units = "" if self._atoms is self._problem.atoms else ", atoms in units of their images"
        about = f"({self.relaxation.name} at {self.relaxation.parameter:.6g}{units})"
        if math.isinf(self.gap):
            lines.append(f"No feasible pair of the relaxation {about} was found: its gap is not known.")
        else:
            lines.append(f"Proven: the relaxation {about} has its optimum within {self.gap:.3g} of {self.primal:.6g}.")
        ridge = self._problem.ridge
        if ridge and isinstance(self.relaxation, P1) and self.relaxation.lam == ridge and math.isfinite(self.dual):
            lines.append(
                f"So no x, with any number of atoms, has loss + {ridge:.6g} gauge below {self.primal - self.gap:.6g}; "
                f"this one has {self.loss + ridge * self.gauge:.6g}."
            )
        if "epsilon" in self.__dict__:  # dear: told only if it was asked for
            if self.epsilon is None:
                lines.append("No epsilon: the operator's norm, a feasible pair or bounds on beta are missing.")
            else:
                lines.append(f"Proven: atoms of its solutions are aligned with M*y to at least {self.threshold:.6g}.")
        if self.tau_lower < math.inf and self.meets_bound is not False:
            lines.append("Not proven: that no other k atoms fit better. The relaxation does not decide this.")
        return lines
