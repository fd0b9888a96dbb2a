"""What many answers are about: M and the data vectors, from which their proofs and messages are made when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from fewatoms import linalg, words
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.asked import as_given
from fewatoms.atoms import AtomicSet
from fewatoms.candidates import Candidate
from fewatoms.evidence import Evidence, proven_again
from fewatoms.faces import Face
from fewatoms.figures import Figures
from fewatoms.goals import FewestAtoms, Goal
from fewatoms.problem import Problem
from fewatoms.solution import Status

# Evidence about an answer that was found before, as the run that found it would have collected it; None where only the
# answer itself is left to say something.
Prove: TypeAlias = Callable[[Problem, Face, FloatArray], Evidence | None]


@dataclass(frozen=True, eq=False)
class Source:
    """M and the data vectors.

    problem : that of one of them
    data : m x p
    duals : p x m, the dual vector of each answer, nan where there is none; None where all are made anew
    atoms : those of the relaxations
    prove : who makes evidence anew; None where an answer's own dual vector has to do
    twins : for each class of atoms another one with the same image, -1 where there is none; None if nobody has looked
    """

    problem: Problem
    data: Array
    duals: FloatArray | None
    atoms: AtomicSet
    prove: Prove | None = None
    twins: IntArray | None = None

    def posed(self, i: int) -> Problem:
        return self.problem.with_data(self.data[:, i])

    def proven(self, i: int, face: Face, c: FloatArray, figures: Figures) -> tuple[Problem, Evidence]:
        """The problem and the evidence of one answer."""
        problem = self.posed(i)
        y = None if self.duals is None or np.isnan(self.duals[i, 0]) else self.duals[i]
        made = (
            self.prove(problem, face, c) if self.prove is not None and y is None and figures.relaxed is None else None
        )
        if made is not None:
            return problem, made
        own = self.atoms is self.problem.atoms
        return problem, proven_again(problem, face, c, figures, problem.atoms if own else self.atoms, y)

    def taken(self, some: IntArray) -> Source:
        return replace(self, data=self.data[:, some], duals=None if self.duals is None else self.duals[some])

    def digest(self, i: int) -> str:
        return digest_of(self.problem, self.data[:, i])

    def message(self, i: int, status: Status, face: Face, n: Mapping[str, Array]) -> str:
        """What was asked and found, in words."""
        problem = self.posed(i)
        goal = FewestAtoms(problem) if problem.budget.nothing_said else Goal(problem)
        squares = 2.0 * float(n["paid"]) / problem.ridge if problem.ridge else 0.0
        final = Candidate(float(n["loss"]), 0.0, lambda: (face, np.zeros(face.dim)), lambda: problem.b, squares=squares)
        return words.message(problem, status, goal, final, float(n["misfit"]), self._notes(face))

    def _notes(self, face: Face) -> list[str]:
        listing = self.problem.atoms.listing()
        if listing is None:
            return []
        classes = listing.classes_of(face)
        idle = np.setdiff1d(listing.forced, classes) if listing.forced.size else listing.forced
        twice = [] if self.twins is None else [g for g in classes if self.twins[g] >= 0][:1]
        notes = [words.idle_atoms(idle)] if idle.size else []
        return notes + [words.same_image((g, int(self.twins[g]))) for g in twice if self.twins is not None]


def digest_of(problem: Problem, column: Array) -> str:
    """Of one data vector, whatever it holds."""
    try:
        return linalg.digest(as_given(*problem.read(column)))
    except (TypeError, ValueError):
        return linalg.digest(np.asarray(column, dtype=np.float64))
