"""Which atoms to look at, given M*y."""

from __future__ import annotations

from dataclasses import dataclass

from fewatoms._types import ModelDual
from fewatoms.atoms import AtomicSet
from fewatoms.budget import Budget
from fewatoms.candidates import DualPoint
from fewatoms.faces import Face
from fewatoms.problem import Problem


@dataclass(frozen=True, eq=False)
class TopK:
    """The paper's rule: exactly the k atoms best aligned with M*y."""

    def __call__(self, problem: Problem, dual: DualPoint) -> Face:
        return problem.atoms.expose(dual.z, problem.k)


@dataclass(frozen=True, eq=False)
class Active:
    """The atoms that the oracle's own point uses, the largest contributions; at x = 0 the best aligned ones."""

    def __call__(self, problem: Problem, dual: DualPoint) -> Face:
        if dual.primal is None or not dual.primal.face.dim:
            return problem.atoms.expose(dual.z, problem.k)
        return dual.primal.face.prune(dual.primal.c, problem.k)[0]


@dataclass(frozen=True, eq=False)
class Generous:
    """The k best aligned atoms and everything else within the tie, up to a cap.

    tie : share of the support value within which alignments count as tied
    most : the cap, as a multiple of k
    """

    tie: float = 0.05
    most: float = 2.0

    def __call__(self, problem: Problem, dual: DualPoint) -> Face:
        room = max(1, problem.m // 2)  # a face with more coefficients than data explains nothing
        return self._face(problem.atoms, dual.z, problem.budget, room)

    def _face(self, atoms: AtomicSet, z: ModelDual, budget: Budget, room: int) -> Face:
        if atoms.parts:
            return atoms.joined([self._face(p, z, j, room) for p, j in zip(atoms.parts, budget.parts, strict=True)])
        k = budget.single
        cap = max(k, min(int(self.most * k), room, atoms.count))
        if cap == k or not atoms.bounded:
            return atoms.expose(z, k)
        return atoms.exposed(z, self.tie * atoms.reached(z), cap, k)
