"""Least squares over many rows: the same problem over a triangle."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from fewatoms import _checks, ledger, linalg
from fewatoms._types import FloatArray
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.capabilities import RowWise
from fewatoms.faces import Face
from fewatoms.goals import Goal
from fewatoms.methods.base import Job, Part, Sketch
from fewatoms.methods.tall import sums
from fewatoms.operators import MatrixOperator, passes
from fewatoms.problem import Problem
from fewatoms.solution import Solution
from fewatoms.splits import Split

if TYPE_CHECKING:
    from fewatoms.methods.tall import Tall

# What a column, or the data, must keep of its squared length beside those before it for the Gram matrix to see it: it
# holds them to some 1e-16 of their squares times the square root of the rows.
SEEN_BY_GRAM = 1e-8


class Triangular:
    """M past free columns as a triangle, b in its place, and twice the loss that is left by all columns together.

    R : n x n; c : n; rest : |b - M x|^2 = |c - R x|^2 + rest, for the best free coefficients
    """

    def __init__(self, R: FloatArray, c: FloatArray, rest: float) -> None:
        self.R, self.c, self.rest = R, c, rest

    @classmethod
    def of(cls, problem: Problem, rows: RowWise) -> Triangular:
        """One pass; two where the Gram matrix cannot see enough."""
        weights, F = problem.base_loss.weights, problem.beside.columns
        root = None if weights is None else np.sqrt(weights)
        q = 0 if F is None else F.shape[1]
        with ledger.stage("summing over rows"), np.errstate(over="ignore", invalid="ignore"):
            G = rows.over_rows(sums.gram, parts=(problem.data, F, root))
        if np.isnan(np.sqrt(G.diagonal())).any():
            passes.refuse_odd(rows, problem.m)
        U, scale = upper(G)
        if U is None:
            if not np.isfinite(G.diagonal()).all():
                raise ValueError(_checks.UNITS.format("large"))
            with ledger.stage("decomposing rows"):
                U = rows.over_rows(sums.triangle, scale, parts=(problem.data, F, root)).R / scale
        return cls.part(U, q)

    @classmethod
    def part(cls, U: FloatArray, q: int) -> Triangular:
        """Of the triangle of [F M b], with q columns in F."""
        return cls(U[q:-1, q:-1], U[q:-1, -1], float(U[-1, -1] ** 2))


def upper(G: FloatArray) -> tuple[FloatArray | None, FloatArray]:
    """The triangle of a Gram matrix, None where it cannot see enough; and what its columns are multiplied by to have
    length 1."""
    lengths = np.sqrt(G.diagonal())
    usual = np.isfinite(G).all() and not ((lengths > 0) & (lengths < 1e-140)).any()
    scale = np.where((lengths > 0) & np.isfinite(lengths), 1.0 / np.where(lengths > 0, lengths, 1.0), 1.0)
    U = _factor(G * scale[:, None] * scale) if usual else None
    return (None if U is None else U / scale), scale


def _factor(G: FloatArray) -> FloatArray | None:
    """The Cholesky factor of a Gram matrix of columns of length 1, or 0; None where some of them are so near the span
    of those before that it does not see how near."""
    empty = np.flatnonzero(G.diagonal() == 0)
    full = G.copy()
    full[empty, empty] = 1.0
    with linalg.single_thread():
        U, bad = lapack.dpotrf(full, clean=1)
    if bad or (U.diagonal() ** 2 < SEEN_BY_GRAM).any():
        return None
    U[:, empty] = 0.0
    return np.asarray(U)


def posed_small(problem: Problem, triangle: Triangular) -> Problem:
    """The problem in the place of a triangle."""
    alpha = None if problem.alpha is None else max(problem.alpha - 0.5 * triangle.rest, 0.0)
    posed = Problem.of(MatrixOperator(triangle.R), triangle.c, atoms=problem.atoms, alpha=alpha)
    return replace(posed, price=problem.price, budget=problem.budget)


class TallJob(Job):
    """Owns the triangle, and the job of the search in its place."""

    retells = True

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: Tall, rows: RowWise) -> None:
        super().__init__(problem, budgets)
        self.method, self.rows = method, rows
        self._triangle: Triangular | None = None
        self._inner: Job | None = None

    @property
    def triangle(self) -> Triangular:
        if self._triangle is None:
            self._triangle = Triangular.of(self.problem, self.rows)
        return self._triangle

    def small(self, problem: Problem) -> Problem:
        """The problem in the place of the triangle."""
        return posed_small(problem, self.triangle)

    def parted(self, splits: Sequence[Split]) -> Callable[[int], Part | None] | None:
        from fewatoms.methods.tall.folded import Folded

        return None if self.problem.alpha is not None else Folded(self.problem, self.rows, splits).part

    @property
    def inner(self) -> Job:
        if self._inner is None:
            job = self.method.inner.open(self.small(self.problem), self.budgets)
            assert job is not None
            self._inner = job
            self.pace, self.ranks = job.pace, job.ranks
        return self._inner

    def seen(self, candidate: Candidate) -> Candidate:
        """A candidate of the small problem as one of this."""
        problem, triangle = self.problem, self.triangle

        def left() -> FloatArray:
            image = candidate.face.measure(problem.measured, candidate.c) if candidate.face.dim else np.zeros(problem.m)
            return problem.b - problem.seen.image(image)

        return replace(candidate, loss=candidate.loss + 0.5 * triangle.rest, left=left, support=None)

    def goal(self, problem: Problem) -> Goal:
        return self._goal_of(super().goal(problem), problem)

    def _goal_of(self, plain: Goal, problem: Problem) -> Goal:
        if not problem.budget.nothing_said:
            return plain
        return replace(self.inner.goal(self.inner.problem), problem=problem)

    def begin(self, start: Solution, problem: Problem) -> Candidate | None:
        inner = self.inner
        with ledger.elsewhere():
            found = inner.begin(start, inner.problem.with_budget(problem.budget))
        return None if found is None else self.seen(found)

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        stream = self.inner.iterates(course)
        while True:
            with ledger.elsewhere():
                iterate = next(stream, None)
            if iterate is None:
                return
            yield Iterate(worth=iterate.worth, at=iterate)

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        with ledger.elsewhere():
            return self.seen(self.inner.retrieve(cast(Iterate, iterate.at), budget))

    def so_far(self, budget: Budget) -> Candidate | None:
        found = None if self._inner is None else self._inner.so_far(budget)
        return None if found is None else self.seen(found)

    def notes(self, problem: Problem, face: Face) -> list[str]:
        return [] if self._inner is None else self._inner.notes(self._inner.problem, face)

    def sketched(self, ridges: Sequence[float]) -> Sketch | None:
        inner = self.inner
        with ledger.elsewhere():
            return inner.sketched(ridges)

    def reached(self, face: Face, c: FloatArray) -> Iterate:
        iterate = self.inner.reached(face, c)
        primal = None if iterate.primal is None else self.seen(iterate.primal)
        return Iterate(None, primal, iterate.worth, iterate)

    def evaluate(self, iterate: Iterate) -> DualPoint:
        """That of the small problem, brought to as many numbers as there are data: b less what the small vector leaves
        of c, as M explains it."""
        inner = self.inner
        with ledger.elsewhere():
            found = inner.evaluate(cast(Iterate, iterate.at))
        problem, triangle = self.problem, self.triangle
        x = scipy.linalg.lstsq(triangle.R, triangle.c - found.y, lapack_driver="gelsy")[0]
        y = problem.loss.gradient(problem.b - problem.M.apply(x))
        z = problem.M.adjoint(y)
        relaxation = found.relaxation.over(problem.over(found.relaxation.problem.atoms))
        support = relaxation.problem.atoms.ceiling(z)
        loss = found.loss + 0.5 * triangle.rest if math.isfinite(found.loss) else found.loss
        return replace(found, y=y, z=z, support=support, relaxation=relaxation, loss=loss, primal=None)

    def serves(self, problem: Problem) -> Job | None:
        """Another ridge needs no other triangle."""
        if problem.data is not self.problem.data or problem.beside is not self.problem.beside:
            return None
        other = TallJob(problem, self.budgets, self.method, self.rows)
        other._triangle = self._triangle
        if self._inner is not None:
            other._inner = self._inner.serves(other.small(problem))
        return other

    def forget(self) -> None:
        self._inner = None
