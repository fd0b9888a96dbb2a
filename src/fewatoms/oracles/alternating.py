"""Low rank from sampled entries: alternating ridge regressions on the factors, down a ladder of penalties."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from fewatoms import _checks, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.faces import Face
from fewatoms.factored import Factored, Triple, balanced
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3, Relaxation
from fewatoms.solution import Candidate, DualPoint

RUNGS = (0.5, 0.15, 0.045, 0.0135)  # the first penalties, in units of the k-th singular value of M*y at x = 0
AMPLE = 10  # entries per unknown from which a second look is not worth its time: there, descents end in one place


class Alternating:
    """minimise f(b - M(UV')) + lam (|U|^2 + |V|^2) / 2 over factors with k columns, by sweeps of small regressions.

    At balanced factors the penalty is lam times the nuclear norm: if M*y has no singular value above lam, the point
    solves (P1). The first sweeps go down a ladder of penalties to the ridge of the problem (0 without one); sweeps with
    momentum follow, until one lowers the objective by less than a share of `tol`. With a bound the penalty is steered
    to where the loss meets it: of all points that do, one of nearly smallest nuclear norm, as (P3) has it. Where
    entries are scarce, singular vectors of M*y are offered to the answer as further atoms, in case there is a better.

    Each sweep is an iterate. It depends on k: its stream serves one budget. y and z are formed if somebody asks.
    State: the entries by rows and by columns, and factors; no vector of the length of the data beside them.

    Parameters
    ----------
    tol : float
    start : Triple, optional
        A point to begin at instead of the singular vectors of M*y at x = 0.
    looks : int
        How often at most further atoms are offered to the answer.
    """

    patience = 100_000  # the stream ends by itself
    exhaustive = True
    alone = True  # serves one budget

    def __init__(self, *, tol: float = 1e-6, start: Triple | None = None, looks: int = 5) -> None:
        self.tol, self.start = _checks.number("tol", tol), start
        self.looks = _checks.integer("looks", looks, 0)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        k = problem.k
        if not problem.factorable or k is None or problem.ridge is None:
            raise ValueError(
                "Alternating is for RankOne atoms, Sampling, least squares and a number of atoms; got "
                f"{problem.atoms!r}, {problem.M.inner!r}, {problem.loss!r} and k={k}"
            )
        F = problem.factored
        run = _Sweeps(problem, F)
        at = F.leading(k, linalg.generator(), run.shrink) if self.start is None else run.fitted(self.start)
        lam = problem.ridge
        if problem.alpha is not None and self.start is None:
            at, lam = yield from self._to_bound(run, at)
        elif self.start is None:
            for share in RUNGS:
                if share * run.unit(at) > lam:
                    at = run.sweep(at, share * run.unit(at))
                    yield run.point(at)
        at = yield from self._down(run, at, lam)
        if problem.m < AMPLE * k * (sum(F.shape) - k) and not problem.nonnegative:
            yield from self._look_again(run, at, lam)

    def _down(self, run: _Sweeps, at: Triple, lam: float) -> Any:
        for here, reached in run.F.descent(at, lam, run.shrink, self.tol):
            at = here
            run.note(at, lam, reached)
            yield run.point(at)
        return at

    def _to_bound(self, run: _Sweeps, at: Triple) -> Any:
        """Lower the penalty until the bound is met, with steps that come near it from above."""
        problem, floor, alpha = run.problem, run.problem.ridge, run.problem.alpha
        assert floor is not None
        assert alpha is not None
        lam, top = RUNGS[0] * run.unit(at), float(at.s[0])
        for _ in range(2):
            at = run.sweep(at, lam)
        while problem.meets(run.loss) and lam < top:  # a loose bound: start above it
            lam *= 2.0
            at = run.sweep(at, lam)
        before: tuple[float, float] | None = None
        while True:
            for _ in range(3):
                last = run.loss
                at = run.sweep(at, lam)
                if abs(last - run.loss) <= 0.1 * abs(run.loss - alpha):
                    break
            yield run.point(at)
            if lam <= max(floor, 1e-13 * top):
                return at, floor
            ahead = 0.3 * lam
            if before is not None and run.loss < before[1] and alpha > 0:
                # log loss against log lam is nearly straight: aim a little past the bound
                slope = math.log(before[1] / run.loss) / math.log(before[0] / lam)
                ahead = lam * math.exp(math.log(0.98 * alpha / run.loss) / max(slope, 1e-3))
            before = (lam, run.loss)
            lam = max(floor, min(max(ahead, 0.3 * lam), 0.95 * lam))

    def _look_again(self, run: _Sweeps, at: Triple, lam: float) -> Iterator[DualPoint]:
        """Offer the singular vectors best aligned with M*y, as many as there are atoms at first; keep the better."""
        best, share = run.objective, at.rank
        if at.rank < run.problem.k:  # fewer atoms do not fit worse
            return
        for _ in range(self.looks):
            if share < 1 or run.problem.exact(run.loss):
                return
            loss = run.loss
            P, s, Q = linalg.top_svd(run.point(at).z, share)
            wide = run.widened(at, P, s, Q)
            for _ in range(3):
                wide = run.sweep(wide, lam)
            trial = wide.cut(at.rank)
            for fresh, reached in run.F.descent(trial, lam, run.shrink, self.tol):
                trial = fresh
                run.note(trial, lam, reached)
            if run.objective < best * (1 - 1e-6):
                best, at = run.objective, trial
                yield run.point(at)
            else:
                run.objective, run.loss, share = best, loss, share // 2


class _Sweeps:
    """One run's sweeps, with what the last one reached."""

    def __init__(self, problem: Problem, F: Factored) -> None:
        self.problem, self.F = problem, F
        self.shrink = getattr(problem.loss, "shrink", 0.0)
        self.objective = self.loss = math.inf
        self._unit: float | None = None

    def unit(self, at: Triple) -> float:
        """The k-th singular value of M*y at the start."""
        if self._unit is None:
            self._unit = float(at.s[-1])
        return self._unit

    def sweep(self, at: Triple, lam: float) -> Triple:
        at, reached = self.F.sweep(at, lam, self.shrink)
        self.note(at, lam, reached)
        return at

    def note(self, at: Triple, lam: float, reached: float) -> None:
        self.objective, self.loss = reached, max(reached - lam * at.gauge, 0.0)
        self.problem.M.products += 2 * at.rank

    def point(self, at: Triple) -> Sweep:
        return Sweep(self.problem, at, self.loss)

    def fitted(self, at: Triple) -> Triple:
        """A start with as many atoms as allowed: the leading ones, or further ones beside them."""
        k = self.problem.k
        if at.rank >= k or self.F.nonnegative:
            return at.cut(k)
        self.loss = self.F.loss(at)
        P, s, Q = linalg.top_svd(self.point(at).z, k - at.rank)
        return self.widened(at, P, s, Q)

    def _size(self, u: Array, v: Array) -> float:
        """|M(u v')|^2 in the weights."""
        image, w = self.F.M.apply_factors(u, v), self.problem.loss.weights
        return float(np.dot(image, image if w is None else w * image))

    def widened(self, at: Triple, P: Array, s: FloatArray, Q: Array) -> Triple:
        """The point with further atoms, each with the coefficient that suits it best by itself."""
        c = np.sqrt(s / np.maximum([self._size(P[:, [a]], Q[:, [a]]) for a in range(s.size)], 1e-300))
        U, V = at.halves()
        wide = balanced(np.concatenate([U, P * c], axis=1), np.concatenate([V, Q * c], axis=1))
        return Triple(*wide, at.row, at.col)


class Sweep(DualPoint):
    """The dual vector of one sweep; y, z and the rest are made when they are asked for."""

    dear = True
    _problem: Problem
    at: Triple

    def __init__(self, problem: Problem, at: Triple, loss: float) -> None:
        self.__dict__.update(_problem=problem, at=at, loss=loss, gauge=at.gauge, series=0)

    @cached_property
    def y(self) -> FloatArray:
        return self._problem.loss.gradient(self.primal.residual)

    @cached_property
    def z(self) -> Any:
        return self._problem.M.adjoint(self.y)

    @cached_property
    def support(self) -> float:
        return self._problem.atoms.support(self.z)

    @cached_property
    def relaxation(self) -> Relaxation:
        """(P3) with a bound; otherwise (P1) at the ridge, and without one at the penalty for which y is feasible."""
        if self._problem.alpha is not None:
            return P3(self._problem)
        return P1(self._problem, self._problem.ridge or self.support)

    @cached_property
    def primal(self) -> Candidate:
        return SweepCandidate(self._problem, self.at, self.loss)


class SweepCandidate(Candidate):
    """The point of one sweep as a candidate; its residual is made when it is asked for."""

    _problem: Problem
    at: Triple

    def __init__(self, problem: Problem, at: Triple, loss: float) -> None:
        keep = at.cut(int(np.count_nonzero(at.s > 1e-13 * at.s[0]))) if at.rank else at
        self.__dict__.update(_problem=problem, at=keep, loss=loss, norms=None, note="", support=None, margin=0.0)

    @cached_property
    def _pair(self) -> tuple[Face, FloatArray]:
        return self.at.face()

    @property
    def face(self) -> Face:
        return self._pair[0]

    @property
    def c(self) -> FloatArray:
        return self._pair[1]

    @property
    def gauge(self) -> float:
        return self.at.gauge

    @cached_property
    def residual(self) -> FloatArray:
        return self._problem.b - self._problem.M.inner.apply_factors(self.at.P * self.at.s, self.at.Q)


__all__ = ["Alternating"]
