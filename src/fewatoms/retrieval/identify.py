"""Which atoms to look at, given M*y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewatoms import linalg
from fewatoms._types import Budget
from fewatoms.atoms.base import AtomicSet
from fewatoms.atoms.sums import Sum, Union
from fewatoms.faces import Face
from fewatoms.problem import Problem
from fewatoms.solution import DualPoint


@dataclass(frozen=True, eq=False)
class TopK:
    """The paper's rule: exactly the k atoms best aligned with M*y."""

    def __call__(self, problem: Problem, dual: DualPoint) -> Face:
        return problem.atoms.expose(dual.z, problem.k)


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
        return self._face(problem.atoms, dual.z, problem.k, room)

    def _face(self, atoms: AtomicSet, z: Any, k: Budget, room: int) -> Face:
        if isinstance(atoms, (Sum, Union)):
            return atoms.combine([self._face(p, z, j, room) for p, j in zip(atoms.parts, k, strict=True)])
        cap = max(k, min(int(self.most * k), room, atoms.count))
        if cap == k or not atoms.bounded:
            return atoms.expose(z, k)
        return atoms.exposed(z, self.tie * atoms.support(z), cap, k)


@dataclass(frozen=True, eq=False)
class Leading:
    """The k atoms that contribute most to the oracle's own point, topped up with the best aligned ones.

    For oracles that have their point in compact form and listed atoms; elsewhere `otherwise` is asked.
    """

    otherwise: Callable[[Problem, DualPoint], Face] = Generous()

    def __call__(self, problem: Problem, dual: DualPoint) -> Face:
        listed, primal = problem.listed, dual.primal
        if listed is None or primal is None:
            return self.otherwise(problem, dual)
        face, _ = primal.face.prune(primal.c, problem.k, primal.norms)
        inside = listed.classes_of(face)
        inside = inside[~np.isin(inside, problem.forced)][: problem.k - problem.forced.size]
        inside = np.concatenate([problem.forced, inside])
        if inside.size < problem.k:
            a = np.array(listed.atoms.alignments(listed.pull(dual.z)))
            a[inside] = a[problem.barred] = -np.inf
            more = linalg.top_k(a, problem.k - inside.size)
            inside = np.concatenate([inside, more[a[more] > 0]])
        return listed.face(inside)
