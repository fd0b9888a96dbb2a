"""Sets of which nothing is known but `support` and `expose`: atoms are seen one by one, and the best few are chosen.

Every atom that a dual vector exposes is kept with its image. The atoms seen are a list, so that choosing k of them is a
problem over listed atoms, which is solved as such; and each atom chosen is offered a substitute, the one that the data
without it expose. The ladder's own point is often right before few atoms are: it is taken apart as if it were data that
are seen as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import ledger
from fewatoms._types import FloatArray, IntArray
from fewatoms.atoms import NonnegativeOneHot
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, Iterate
from fewatoms.capabilities import Prox
from fewatoms.effort import QUICK
from fewatoms.faces import Face
from fewatoms.methods.base import Job, Method, Pace
from fewatoms.methods.general import require_faces
from fewatoms.methods.listed import Listed
from fewatoms.operators import Identity
from fewatoms.oracles.corrective import Corrective, Pool
from fewatoms.problem import Problem
from fewatoms.retrieval import Exchange, reduced_fit
from fewatoms.solution import Solution, Status

if TYPE_CHECKING:
    from fewatoms.records import Progress
    from fewatoms.run import Callback


@dataclass(frozen=True, eq=False)
class Exposed(Method):
    """(P1) down a ladder of penalties over atoms exposed one by one; k of the atoms seen; substitutes for each of them.

    oracle : the ladder
    polish : how atoms that can turn are turned, and exchanged
    rounds : of substitutes at most, on each rung
    apart : iterates that it takes at most to take the ladder's own point apart; 0 leaves it as it is
    fall : the share to which that point's loss must have fallen since it was last taken apart
    gain : the share by which they must lower the loss
    """

    oracle: Corrective = field(default_factory=Corrective)
    polish: Exchange = field(default_factory=Exchange)
    rounds: int = 10
    apart: int = 8
    fall: float = 0.1
    gain: float = 1e-6

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        plain = problem.ridge == 0 and problem.price.ridge is not None and problem.price.cap is None
        counted = all(not k.open for k in budgets) and not problem.atoms.parts
        unknown = problem.atoms.offers(Prox) is None and problem.atoms.listing() is None
        if not (unknown and plain and counted):
            return None
        require_faces(problem)
        return ExposedJob(problem, budgets, self)


class ExposedJob(Job):
    """Owns the atoms seen."""

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: Exposed) -> None:
        super().__init__(problem, budgets)
        self.method, self.pace = method, Pace(method.oracle.patience, complete=True)
        self.pool: Pool | None = None
        self.apart_at = math.inf  # the loss of the point that was taken apart last

    def courses(self) -> list[list[Budget]]:
        return [[k] for k in self.budgets]  # what is seen for one would be known to the others

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        self.pool, self.apart_at = Pool(self.problem, self.method.oracle.most), math.inf
        for dual in self.method.oracle.over(self.pool):
            yield Iterate(dual, dual.primal)

    def forget(self) -> None:
        self.pool = None

    def begin(self, start: Solution, problem: Problem) -> Candidate | None:
        face, c = start.compact
        return reduced_fit(problem, face if problem.budget.allows(face) else face.prune(c, problem.k)[0])

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        assert self.pool is not None
        problem, pool = self.problem.with_budget(budget), self.pool
        if not pool.faces:
            assert iterate.dual is not None
            pool.take(problem.atoms.expose(iterate.dual.z, 1))
        best = self._chosen(problem, pool)
        if pool.loss < best.loss:
            best = min([best, *self._taken_apart(problem, pool)], key=lambda candidate: candidate.loss)
        for _ in range(self.method.rounds):
            if problem.meets(best.loss) or problem.exact(best.loss) or not self._substitutes(problem, pool, best):
                break
            trial = self._chosen(problem, pool)
            if not trial.loss < best.loss * (1 - self.method.gain):
                break
            best = trial
        ledger.keep(best)
        return self.method.polish(problem, best)

    def _chosen(self, problem: Problem, pool: Pool) -> Candidate:
        """The best k of the atoms seen, as columns that are at hand."""
        which = _listed(pool.images, problem)
        face = pool.faces[which[0]]
        for i in which[1:]:
            face = face.merge(pool.faces[i])
        fitted = reduced_fit(problem, face)
        return fitted if problem.budget.allows(face) else reduced_fit(problem, face.prune(fitted.c, problem.k)[0])

    def _taken_apart(self, problem: Problem, pool: Pool) -> list[Candidate]:
        """A candidate of the k atoms that the ladder's own point is made of, which are seen now. Their images are all
        that it costs of M."""
        limit = self.method.apart
        if not limit or pool.loss > self.method.fall * self.apart_at or problem.M.complex:
            return []
        self.apart_at = pool.loss
        shape = problem.M.model_shape
        as_it_is = Identity(shape if len(shape) > 1 else shape[0])
        small = Problem.of(as_it_is, pool.whole(), atoms=problem.atoms, k=problem.k)
        from fewatoms.run import Way, solve  # late: a run knows the contract of methods, which lives beside this one

        way = Way([replace(self.method, apart=0)], max_iterations=limit, callback=_outer_clock())
        (found,) = solve(small, [small.budget], way)
        if found.status is Status.STOPPED:
            raise ledger.Stopped
        for face in _each(*found.compact):
            pool.take(face)
        return [reduced_fit(problem, found.compact[0])]

    def _substitutes(self, problem: Problem, pool: Pool, best: Candidate) -> bool:
        """Show the set the data without each atom in turn, and without all; whether atoms were seen that are new."""
        before = len(pool.faces)
        for face in (*_without_each(best.face, best.c), best.face):
            ledger.tick()
            y = problem.loss.gradient(reduced_fit(problem, face).residual)
            pool.take(problem.atoms.expose(problem.M.adjoint(y), 1))
        return len(pool.faces) > before


def _outer_clock() -> Callback:
    """A callback of a run inside this one, by which the clock of this one goes on."""
    here = copy_context()

    def heard(_: Progress) -> None:
        try:
            here.run(ledger.tick)
        except ledger.Stopped:
            raise StopIteration from None

    return heard


def _each(face: Face, c: FloatArray) -> Iterator[Face]:
    """The atoms of a face one by one, for atoms with one coefficient each."""
    if face.dim == face.size:
        yield from (face.prune(e, 1)[0] for e in np.eye(face.dim))


def _without_each(face: Face, c: FloatArray) -> Iterator[Face]:
    """Faces with one atom less, for atoms with one coefficient each."""
    if face.dim != face.size:
        return
    for i in range(face.size):
        left = np.ones(face.dim)
        left[i] = 0.0
        yield face.prune(left, face.size - 1)[0]


def _listed(images: FloatArray, problem: Problem) -> IntArray:
    """The best k columns with nonnegative coefficients."""
    k = Budget(min(problem.budget.single, images.shape[1]))
    small = Problem.of(images, problem.b, atoms=NonnegativeOneHot(images.shape[1]), k=k.most, loss=problem.loss)
    from fewatoms.run import Way, solve

    (found,) = solve(small, [k], Way([Listed()], callback=_outer_clock(), effort=QUICK))
    if found.status is Status.STOPPED:
        raise ledger.Stopped
    chosen = found.indices
    return chosen if chosen.size else np.array([int(np.argmax(images.T @ problem.loss.gradient(problem.b)))])
