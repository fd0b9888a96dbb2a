"""Other smooth losses over many rows: parabolas, each made in one pass, and the search in their place.

At a point x the loss is f + slope'd + d'Hd / 2 for small steps d, with H summed over all rows. Its triangle takes the
place of M: the search finds the best k atoms of the parabola, and a pass along the way there says how far the loss
itself goes along. This ends where the parabola has no better support and no longer a step to offer: the support is one
that no exchange of the search improves, and its coefficients are those of Newton's method.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, cast

import numpy as np

from fewatoms import ledger
from fewatoms._types import FloatArray, Foreign
from fewatoms.atoms import AtomicSet
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.capabilities import Gauge, Prox, RowWise
from fewatoms.faces import Face
from fewatoms.losses import Loss
from fewatoms.methods.base import Job, Pace
from fewatoms.methods.tall import sums
from fewatoms.operators import MatrixOperator, passes
from fewatoms.oracles.proximal_gradient import ProximalGradient
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, Relaxation
from fewatoms.units import column_lengths, unit_atoms

if TYPE_CHECKING:
    from fewatoms.methods.tall import Tall

SHARES = 0.5 ** np.arange(1, 12)  # shares of the way to the best point of a parabola that one pass looks at
FALLEN = 1e-10  # share of the objective below which a fall is the last one
PATIENT, SLOW = 4, 0.1  # steps of other atoms that are not better at once, and the least share of what is missing each
PROOFS, STEPS = 4, 500  # parabolas for a certificate at most, and proximal gradients over each
HARDLY_BENT = 0.1  # share of the largest curvature below which few rows would decide: far out, Huber's loss has none
UPRIGHT = 1e-12  # of the largest squared length in the Hessian: what is added to all, so that there is a triangle


class LossRows:
    """A loss that is cut like the data."""

    def __init__(self, loss: Loss, size: int) -> None:
        self.loss, self.size = loss, size

    def __getitem__(self, rows: slice) -> Loss:
        return self.loss.subset(np.arange(self.size)[rows])


def _support(x: FloatArray) -> frozenset[int]:
    return frozenset(np.flatnonzero(x).tolist())


def _squares(face: Face) -> FloatArray:
    """The squared length of what each coefficient of a face stands for: listed atoms are orthogonal, of any length."""
    return np.array([float(np.sum(np.square(face.point(unit)))) for unit in np.eye(face.dim)])


@dataclass(frozen=True, eq=False)
class Bent:
    """The parabola at a point: x for the atoms, v for what stands beside them.

    value : f there; slope, H : of [F M], columns times `scale`
    """

    x: FloatArray
    v: FloatArray
    value: float
    slope: FloatArray
    H: FloatArray
    scale: FloatArray

    def triangle(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """U, u and the scale of columns: the parabola is |u - U w|^2 / 2 and a constant, for w = (v, x) / scale."""
        H = self.H.copy()
        H[np.diag_indices_from(H)] += UPRIGHT * float(H.diagonal().max(initial=0.0)) + 1e-300
        U = np.asarray(np.linalg.cholesky(H).T, dtype=np.float64)
        w = np.concatenate([self.v, self.x]) / self.scale
        moments = self.H @ w - self.slope
        return U, np.asarray(np.linalg.solve(U.T, moments)), self.scale

    def freely(self, x: FloatArray) -> FloatArray:
        """The best v of the parabola beside x."""
        q = self.v.size
        if not q:
            return self.v
        H, s = self.H, self.scale
        step = (x - self.x) / s[q:]
        return self.v - s[:q] * np.linalg.lstsq(H[:q, :q], self.slope[:q] + H[:q, q:] @ step, rcond=None)[0]


class BentJob(Job):
    """One budget after the other, each from where the one before ended."""

    pace = Pace(patience=100_000, complete=True)

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: Tall, rows: RowWise) -> None:
        super().__init__(problem, budgets)
        self.method, self.rows = method, rows
        self._scale: FloatArray | None = None
        self._lengths: FloatArray | None = None
        self._last: Bent | None = None
        self._tried: set[frozenset[int]] = set()  # supports that were not better for this budget

    def courses(self) -> list[list[Budget]]:
        return [[budget] for budget in sorted(self.budgets, key=lambda budget: budget.single)]

    # Passes -----------------------------------------------------------------------------------------------------------

    @property
    def _F(self) -> FloatArray | None:
        return self.problem.beside.columns

    def _parts(self) -> Sequence[Foreign]:
        problem = self.problem
        return problem.data, self._F, LossRows(problem.base_loss, problem.m)

    def _units(self) -> FloatArray:
        """What columns of [F M] are multiplied by to have length 1."""
        if self._scale is None:
            squares = self.rows.over_rows(sums.squared, parts=(self._F,))
            if not np.isfinite(squares).all():
                passes.refuse_odd(self.rows, self.problem.m)
            lengths = np.sqrt(squares)
            self._scale = 1.0 / np.where(lengths > 0, lengths, 1.0)
        return self._scale

    def _bent(self, x: FloatArray, v: FloatArray) -> Bent:
        scale = self._units()
        value, slope, H = self.rows.over_rows(sums.parabola, x, v, scale, False, parts=self._parts())
        loss = self.problem.base_loss
        if loss.anchored and slope.any() and H.diagonal().max(initial=0.0) < HARDLY_BENT * loss.smoothness:
            value, slope, H = self.rows.over_rows(sums.parabola, x, v, scale, True, parts=self._parts())
        passes.refuse_infinite(self.rows, self.problem.m, H)
        return Bent(x, v, value, slope, H, scale)

    def _losses(self, X: FloatArray, V: FloatArray) -> FloatArray:
        losses = np.asarray(self.rows.over_rows(sums.along, X, V, parts=self._parts()))
        passes.refuse_infinite(self.rows, self.problem.m, losses)
        return losses

    # Turns ------------------------------------------------------------------------------------------------------------

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        (budget,) = course
        problem, at = self.problem.with_budget(budget), self._last
        self._tried.clear()
        if at is None:
            with ledger.stage("going through all rows"):
                at = self._bent(np.zeros(self.problem.M.shape[1]), np.zeros(self.problem.beside.count))
        for turn in range(self.method.turns):
            with ledger.stage("going through all rows"):
                fresh = self._turned(problem, at)
            at = self._last = at if fresh is None else fresh
            yield Iterate(primal=self._candidate(problem, at), worth=float(turn), at=at)
            if fresh is None:
                return

    def _turned(self, problem: Problem, at: Bent) -> Bent | None:
        """A better point, if the parabola leads to one: with the atoms that it would have, or with those at hand."""
        held = _support(at.x)
        for inside in (None, held) if held else (None,):
            x = self._best(problem, at, inside)
            if x is None or (_support(x) != held and _support(x) in self._tried):
                continue
            there = self._bent(x, at.freely(x))
            fresh = self._reached(at, there, self._worth(at))
            if fresh is None and _support(x) != held:
                self._tried.add(_support(x))
                fresh = self._settled(problem, at, there)
            if fresh is not None:
                return fresh
        return None

    def _settled(self, problem: Problem, at: Bent, trial: Bent) -> Bent | None:
        """Other atoms are not better at once: they may be after a few steps of their own."""
        inside, lowest = _support(trial.x), self._worth(at) * (1 - FALLEN)
        for _ in range(PATIENT):
            before = self._worth(trial)
            if before < lowest:
                return trial
            x = self._best(problem, trial, inside)
            fresh = None if x is None else self._reached(trial, self._bent(x, trial.freely(x)), before)
            if fresh is None or before - self._worth(fresh) < SLOW * (before - lowest):
                return None if fresh is None or self._worth(fresh) >= lowest else fresh
            trial = fresh
        return trial if self._worth(trial) < lowest else None

    def _reached(self, at: Bent, there: Bent, before: float) -> Bent | None:
        """That point, or one on the way there over its atoms alone, where the objective is lower than before; None
        where there is none."""
        least, x, v = before - FALLEN * abs(before), there.x, there.v
        if self._worth(there) < least:
            return there
        begin = np.where(x != 0, at.x, 0.0)
        X, V = begin + SHARES[:, None] * (x - begin), at.v + SHARES[:, None] * (v - at.v)
        worth = self._losses(X, V) + np.array([self._paid(other) for other in X])
        i = int(np.argmin(worth))
        return self._bent(X[i], V[i]) if worth[i] < least else None

    def _worth(self, at: Bent) -> float:
        return at.value + self._paid(at.x)

    def _paid(self, x: FloatArray) -> float:
        """What coefficients pay."""
        ridge = self.problem.price.on_squares
        return 0.5 * ridge * float(np.sum((self._measured() * x) ** 2)) if ridge else 0.0

    def _measured(self) -> FloatArray:
        """The lengths of the columns of M past what stands beside them, which a ridge is on."""
        if self._lengths is None:
            found = column_lengths(self.problem, self.problem.M)
            assert found is not None
            self._lengths = found
        return self._lengths

    def _posed(self, problem: Problem, at: Bent) -> tuple[FloatArray, FloatArray]:
        """The parabola at a point as least squares in the coefficients, with what they pay."""
        U, u, scale = at.triangle()
        q = at.v.size
        R, c = U[q:, q:] / scale[q:], u[q:]
        if problem.price.on_squares:
            R = np.concatenate([R, np.sqrt(problem.price.on_squares) * np.diag(self._measured())])
            c = np.concatenate([c, np.zeros(len(R) - c.size)])
        return R, c

    def _best(self, problem: Problem, at: Bent, inside: frozenset[int] | None) -> FloatArray | None:
        """The best point of the parabola with as many atoms as are allowed, or with these coordinates alone."""
        R, c = self._posed(problem, at)
        if inside is not None:
            R = R * np.isin(np.arange(R.shape[1]), list(inside))
        posed = replace(Problem.of(MatrixOperator(R), c, atoms=problem.atoms), budget=problem.budget)
        job = self.method.inner.open(posed, [problem.budget])
        if posed.zero_suffices or job is None:
            return None
        found: list[Candidate] = []
        with closing(job), ledger.elsewhere():
            for iterate in job.iterates([problem.budget]):
                found.append(job.retrieve(iterate, problem.budget))
                if found[-1].isolated:
                    break
        best = min(found, key=lambda candidate: candidate.loss)
        return np.ravel(best.face.point(best.c))

    @cached_property
    def _units_set(self) -> AtomicSet | None:
        """The atoms in units of their images, where these are others."""
        return unit_atoms(self.problem)

    # Answers ----------------------------------------------------------------------------------------------------------

    def _candidate(self, problem: Problem, at: Bent) -> Candidate:
        face = problem.atoms.expose(at.x, problem.budget.single)
        c = face.adjoint(at.x) / _squares(face)

        def left() -> FloatArray:
            return problem.b - problem.M.apply(at.x)

        squares = float(np.sum((self._measured() * at.x) ** 2)) if problem.price.on_squares else None
        gauge = None if self._units_set is None else self._units_set.offers(Gauge)
        units = None if gauge is None else gauge.gauge(at.x)
        return Candidate(at.value, face.gauge(c), lambda: (face, c), left, squares=squares, unit_gauge=units)

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        assert iterate.primal is not None
        return iterate.primal

    def so_far(self, budget: Budget) -> Candidate | None:
        at = self._last
        return None if at is None or not at.x.any() else self._candidate(self.problem.with_budget(budget), at)

    def evaluate(self, iterate: Iterate) -> DualPoint:
        """(P1) in units of the images, at the penalty for which the answer's own dual vector is feasible: that vector,
        or that of a point where parabolas have led to, whichever proves more. Three passes each."""
        at = cast(Bent, iterate.at)
        problem = self.problem if self._units_set is None else self.problem.over(self._units_set)
        best = self._dual_point(problem, at.x, None)
        proven = best.relaxation.feasible(best.y, best.z, best.support)[1]
        led = problem.atoms.bounded and problem.atoms.offers(Prox) is not None and 0 < best.support < np.inf
        for _ in range(PROOFS if led else 0):
            x = self._relaxed(problem, at, best.relaxation)
            point = self._dual_point(problem, x, best.relaxation)
            value = point.relaxation.feasible(point.y, point.z, point.support)[1]
            if value < proven:
                best, proven = point, value
            at = self._bent(x, at.freely(x))
        return best

    def _dual_point(self, problem: Problem, x: FloatArray, relaxation: Relaxation | None) -> DualPoint:
        """The dual vector of a point: two passes."""
        y = problem.loss.gradient(problem.b - problem.M.apply(x))
        z = problem.M.adjoint(y)
        support = problem.atoms.ceiling(z)
        return DualPoint(y, z, support, P1(problem, support) if relaxation is None else relaxation)

    def _relaxed(self, problem: Problem, at: Bent, relaxation: Relaxation) -> FloatArray:
        """The point of (P1) over the parabola, nearly."""
        R, c = self._posed(self.problem, at)
        posed = Problem.of(MatrixOperator(R), c, atoms=problem.atoms)
        with ledger.elsewhere():
            steps = islice(ProximalGradient(relaxation.parameter).iterates(posed), STEPS)
            dual = deque(steps, maxlen=1)[0]
        return np.asarray(np.linalg.lstsq(R, c - dual.y, rcond=None)[0])
