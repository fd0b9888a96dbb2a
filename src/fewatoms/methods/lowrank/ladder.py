"""Low rank from sampled entries: alternating ridge regressions on the factors, down a ladder of penalties."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from fewatoms import _checks, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.faces import Face
from fewatoms.factored import Factored, Triple
from fewatoms.oracles.base import LaterPoint
from fewatoms.problem import Problem
from fewatoms.solution import Candidate, DualPoint, LazyCandidate

RUNGS = (0.3, 0.05)  # the first penalties, in units of the k-th singular value of M*y at x = 0
ROUNDS = 10  # of adding atoms until (P1) is solved
SLOW = 0.8  # a round that leaves more than this share of what M*y has above the penalty is the last
ROUGH = 1e-3  # how well atoms to add are known
HOPELESS = 1.2  # times the penalty: where as many singular values as atoms are beyond it, noise is ...
MANY = 300_000  # ... and with more entries than this it is left alone
LIFTED = 1e-4  # a singular value above the penalty by less than this share needs no atom
NOTHING = 1e-7  # share of loss + ridge gauge that is not worth an atom
SMALL = 1e-2  # times the largest atom: which ones might be left out
SHORT = 0.7  # share of the bound that the loss of a point behind a dual vector should not fall short of
MOST = 4  # times k: atoms that a dual vector is worth
AMPLE = 10  # entries per unknown from which descents end in one place, wherever they begin
AMPLY = 10  # times the tolerance, there: the loss is settled far below what noise in so many entries does to it
STEP, ROUGHLY = 0.5, 1e-3  # below that: from rung to rung of the ladder, and how well each is solved
LAST = 1e-5  # the last rung, in units of the first
POWERS = (0.0, 0.5)  # of the weights, for further starts where weights are uneven


class Alternating:
    """minimise f(b - M(UV')) + lam (|U|^2 + |V|^2) / 2 over factors with k columns, by sweeps of small regressions.

    At balanced factors the penalty is lam times the nuclear norm: if M*y has no singular value above lam, the point
    solves (P1). Sweeps go down penalties to the ridge of the problem (0 without one), quickly where entries abound and
    rung by rung where they are scarce; sweeps with momentum follow, until one lowers the objective by less than a share
    of `tol`. Weights over orders of magnitude leave few entries that count: such problems are also begun at the points
    of evener weights. With a bound the penalty is steered to where the loss meets it: of all points that do, one of
    nearly smallest nuclear norm, as (P3) has it.

    Each sweep is an iterate. It depends on k: its stream serves one budget. y and z are formed if somebody asks.
    State: the entries by rows and by columns, and factors; no vector of the length of the data beside them.

    Parameters
    ----------
    tol : float
    start : Triple, optional
        A point to begin at instead of the singular vectors of M*y at x = 0.
    lift : bool
        Whether the factors may grow beyond k columns, as (P1) or (P3) needs: the stream then converges to a solution of
        the relaxation, and atoms are read off its dual vectors. It takes a ridge or a bound.
    """

    patience = 100_000  # the stream ends by itself
    exhaustive = True
    alone = True  # serves one budget

    def __init__(self, *, tol: float = 1e-6, start: Triple | None = None, lift: bool = False) -> None:
        self.tol, self.start, self.lift = _checks.number("tol", tol), start, lift

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        k = problem.k
        if not problem.factorable or k is None or problem.ridge is None:
            raise ValueError(
                "Alternating is for RankOne atoms, Sampling, least squares and a number of atoms; got "
                f"{problem.atoms!r}, {problem.M.inner!r}, {problem.loss!r} and k={k}"
            )
        if self.lift and not problem.ridge and problem.alpha is None:
            raise ValueError("lift needs a relaxation to solve: give a ridge or a bound (alpha or misfit)")
        F = problem.factored
        run = _Sweeps(problem, F)
        if self.start is None:
            at = F.leading(k, linalg.generator(), run.shrink, rounds=2 if run.ample else 5)
        else:
            at = run.fitted(self.start)
        lam = problem.ridge
        if self.start is None and problem.alpha is not None:
            at, lam = yield from self._to_bound(run, at)
            if self.lift and problem.meets(run.loss):
                return
        elif self.start is None:
            at = yield from self._quickly(run, at, lam) if run.ample else self._slowly(run, at, lam)
        at = yield from self._down(run, at, lam, AMPLY * self.tol if run.ample else self.tol)
        if self.start is None and F.uneven:
            at = yield from self._evenly(run, at, lam)
        if lam > 0 and at.rank and (fewer := run.without_the_least(at, lam)) is not None:
            at = fewer
            yield run.point(at)
        if self.lift:
            for wide in run.lifted(at, lam, self.tol):
                yield run.point(wide)

    def _quickly(self, run: _Sweeps, at: Triple, lam: float) -> Any:
        """A few sweeps at penalties on the way: where entries abound, these keep the first sweeps from overfitting."""
        unit = float(at.s[-1])
        for share in RUNGS:
            if share * unit > lam:
                at = run.sweep(at, share * unit)
                yield run.point(at)
        return at

    def _slowly(self, run: _Sweeps, at: Triple, lam: float) -> Any:
        """Down a ladder from where the first atom appears, each rung solved roughly: where entries are scarce, this
        finds what descents from elsewhere miss."""
        rung = top = float(at.s[0])
        while (rung := STEP * rung) > max(lam, LAST * top):
            at = yield from self._down(run, at.alive(), rung, ROUGHLY)
        return at.alive()

    def _evenly(self, run: _Sweeps, at: Triple, lam: float) -> Any:
        """From the points of evener weights; the best of all."""
        best, lowest = at, run.objective
        for power in POWERS:
            other = _Sweeps(run.problem, run.F.tempered(power))
            begin = other.F.leading(run.problem.k, linalg.generator(), run.shrink, rounds=5)
            for point in self._slowly(other, begin, 0.0):
                begin = point.at
            at = yield from self._down(run, begin.alive(), lam, self.tol)
            best, lowest = (at, run.objective) if run.objective < lowest else (best, lowest)
        return best

    def _down(self, run: _Sweeps, at: Triple, lam: float, tol: float) -> Any:
        for here, reached in run.F.descent(at, lam, run.shrink, tol):
            at = here
            run.note(at, lam, reached)
            yield run.point(at)
        return at

    def _to_bound(self, run: _Sweeps, at: Triple) -> Any:
        """Lower the penalty until the bound is met, with steps that come near it from above."""
        problem, floor, alpha = run.problem, run.problem.ridge, run.problem.alpha
        assert floor is not None
        assert alpha is not None
        top = float(at.s[0])
        lam = RUNGS[0] * float(at.s[-1]) if run.ample else STEP * top
        for _ in range(2):
            at = run.sweep(at, lam)
        low = 0.0
        while problem.meets(run.loss) and lam < top:  # a loose bound: start above it
            low, lam = lam, 2.0 * lam
            at = run.sweep(at, lam)
        before: tuple[float, float] | None = None
        while True:
            for _ in range(3):
                last = run.loss
                at = run.sweep(at.alive(), lam)
                if abs(last - run.loss) <= 0.1 * abs(run.loss - alpha):
                    break
            if self.lift:
                for wide in run.lifted(at, lam, 1e-3, rounds=2):
                    at = wide
            yield run.point(at)
            if lam <= max(floor, 1e-13 * top) or (self.lift and problem.meets(run.loss)):
                return at, floor
            ahead = max(0.5 * lam, math.sqrt(low * lam))
            if before is not None and run.loss < before[1] and alpha > 0:
                # log loss against log lam is nearly straight: aim a little past the bound
                slope = math.log(before[1] / run.loss) / math.log(before[0] / lam)
                ahead = lam * math.exp(math.log(0.98 * alpha / run.loss) / max(slope, 1e-3))
            before = (lam, run.loss)
            lam = max(floor, min(max(ahead, 0.3 * lam), 0.95 * lam))


class _Sweeps:
    """One run's sweeps, with what the last one reached."""

    def __init__(self, problem: Problem, F: Factored) -> None:
        self.problem, self.F = problem, F
        self.shrink = getattr(problem.loss, "shrink", 0.0)
        self.objective = self.loss = math.inf
        self.lam = 0.0

    @property
    def ample(self) -> bool:
        """Whether entries abound."""
        return self.problem.m >= AMPLE * self.problem.k * (sum(self.F.shape) - self.problem.k)

    def sweep(self, at: Triple, lam: float) -> Triple:
        at, reached = self.F.sweep(at, lam, self.shrink)
        self.note(at, lam, reached)
        return at

    def note(self, at: Triple, lam: float, reached: float) -> None:
        self.objective, self.loss, self.lam = reached, max(reached - lam * at.gauge, 0.0), lam
        self.problem.M.products += 2 * at.rank

    def point(self, at: Triple) -> Sweep:
        return Sweep(self.problem, at, self.loss, self.lam)

    def without_the_least(self, at: Triple, lam: float) -> Triple | None:
        """The point without any atoms, or without small ones, if that is as good: sweeps let them fade slowly."""
        problem, enough = self.problem, self.objective * (1 + NOTHING)
        if problem.at_zero <= enough:
            self.objective, self.loss = problem.at_zero, problem.at_zero
            row, col = self.F.biases(self.shrink)
            return replace(at.cut(0), row=row, col=col)
        fewer = at.cut(int(np.count_nonzero(at.s > SMALL * at.s[0])))
        loss = self.F.loss(fewer)
        biases = 0.5 * self.shrink * float(fewer.row @ fewer.row + fewer.col @ fewer.col)
        if fewer.rank == at.rank or loss + biases + lam * fewer.gauge > enough:
            return None
        self.objective, self.loss = loss + biases + lam * fewer.gauge, loss + biases
        return fewer

    def lifted(self, at: Triple, lam: float, tol: float, rounds: int = ROUNDS) -> Iterator[Triple]:
        """Points with as many atoms as (P1) needs: singular vectors of M*y beyond lam are added while there are any."""
        most, width, near, before = min(self.F.shape), max(1, at.rank), None, math.inf
        for _ in range(rounds):
            P, s, Q = linalg.top_svd(self.point(at).at_itself().z, width, near, ROUGH)
            near = P, Q
            if s[-1] > HOPELESS * lam and self.problem.m > MANY:  # far more atoms than anybody would wait for
                return
            if s[0] - lam > SLOW * (before - lam):  # every further round would cost as much and prove hardly more
                return
            before = float(s[0])
            above = s > lam * (1 + LIFTED)
            above &= np.cumsum(above) <= most - at.rank  # the largest come first
            if not above.any():
                return
            at = self.widened(at, P[:, above], s[above] - lam, Q[:, above])
            for here, reached in self.F.descent(at, lam, self.shrink, max(tol, 1e-5)):
                at = here
                self.note(at, lam, reached)
            at = at.cut(int(np.count_nonzero(at.s > 1e-9 * at.s[0])))
            yield at
            width = min(2 * width, most) if above.all() else width

    def raised(self, at: Triple, lam: float, limit: int) -> Triple:
        """The last of those points, or the first with more than `limit` atoms."""
        for wide in self.lifted(at, lam, 1e-4):
            at = wide
            if at.rank > limit:
                break
        return at

    def fitted(self, at: Triple) -> Triple:
        """A start with as many atoms as allowed: the leading ones, or further ones beside them."""
        k = self.problem.k
        if at.rank >= k:
            return at.cut(k)
        self.loss = self.F.loss(at)
        return self.widened(at, *linalg.top_svd(self.point(at).at_itself().z, k - at.rank))

    def _size(self, u: Array, v: Array) -> float:
        """|M(u v')|^2 in the weights."""
        image, w = self.F.M.apply_factors(u, v), self.problem.loss.weights
        return float(np.dot(image, image if w is None else w * image))

    def widened(self, at: Triple, P: Array, s: FloatArray, Q: Array) -> Triple:
        """The point with further atoms, each with the coefficient that suits it best by itself."""
        c = s / np.maximum([self._size(P[:, [a]], Q[:, [a]]) for a in range(s.size)], 1e-300)
        return self.F.beside(at, Triple(P, c, Q, at.row, at.col))


class Sweep(LaterPoint):
    """The dual vector of one sweep.

    A point of rank k leaves singular values of M*y above the penalty; y is taken from a point with more atoms that does
    not, or hardly, and so are the loss and the gauge that go with it. `primal` is the point of rank k itself.
    """

    _loss: float
    at: Triple
    lam: float

    def __init__(self, problem: Problem, at: Triple, loss: float, lam: float) -> None:
        self.__dict__.update(_problem=problem, at=at, _loss=loss, lam=lam, series=0)

    @property
    def worth(self) -> float:  # type: ignore[override]
        """With a bound: the nearer to it the better for certificates; of points about as near, that of the highest
        penalty, since with more atoms than k all of them go below the bound."""
        if self._problem.alpha is None:
            return -self._loss - (self._problem.ridge or 0.0) * self.at.gauge
        if not (self.lam > 0 and self._problem.alpha > 0 and self._loss > 0):
            return -math.inf
        return 0.05 * math.log(self.lam) - abs(math.log(self._loss / self._problem.alpha))

    def at_itself(self) -> Sweep:
        """The same with the residual of the point itself for its y."""
        return Sweep(self._problem, self.at, self._loss, 0.0)

    @cached_property
    def behind(self) -> Candidate:  # type: ignore[override]
        problem, at = self._problem, self.at
        if self.lam <= 0 or problem.nonnegative:
            return self.primal
        run = _Sweeps(problem, problem.factored)
        run.loss, lam = self._loss, self.lam
        for _ in range(ROUNDS):
            at = run.raised(at, lam, MOST * self.at.rank + 10)
            if problem.alpha is None or run.loss >= SHORT * problem.alpha:
                break
            # with more atoms the loss is far below the bound: (P3) has a higher penalty
            lam *= 2.0
            for here, reached in run.F.descent(at, lam, run.shrink, 1e-3):
                at = here
                run.note(at, lam, reached)
        return SweepCandidate(problem, at, run.loss)

    @cached_property
    def primal(self) -> Candidate:
        return SweepCandidate(self._problem, self.at, self._loss)


class SweepCandidate(LazyCandidate):
    """The point of one sweep as a candidate."""

    at: Triple

    def __init__(self, problem: Problem, at: Triple, loss: float) -> None:
        # atoms that are rounding beside the others or beside the data, or that a ridge has made nothing of, are none
        least = 1e-13 * max(float(at.s[0]), math.sqrt(2 * problem.reference)) if at.rank else 0.0
        if problem.ridge:  # without an atom of size s the objective rises by at most ridge s + L s^2 / 2
            share = NOTHING * (loss + problem.ridge * at.gauge)
            least = max(least, min(share / problem.ridge, math.sqrt(share / problem.loss.smoothness)))
        keep = at.cut(int(np.count_nonzero(at.s > least)))
        super().__init__(problem, loss, keep.gauge, at=keep)

    def _made(self) -> tuple[Face, FloatArray]:
        return self.at.face()

    @property
    def residual(self) -> FloatArray:  # type: ignore[override]
        return self._problem.b - self._problem.M.inner.apply_factors(self.at.P * self.at.s, self.at.Q)


__all__ = ["Alternating"]
