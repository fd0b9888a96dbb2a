"""Sums of parts with orthonormal atoms, over data seen as they are.

`peeling.py` takes parts one after the other, down a ladder of thresholds; `scales.py` fits all atoms together where
some of them turn, `search.py` looks for which to take where their numbers are given, `open_ended.py` where not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fewatoms.atoms import AtomicSet
from fewatoms.budget import Budget
from fewatoms.candidates import Iterate
from fewatoms.capabilities import RankOnePairs, SeenAsIs
from fewatoms.effort import NORMAL, QUICK, Effort
from fewatoms.methods.base import Job, Method
from fewatoms.methods.demixing.open_ended import OpenEnded
from fewatoms.methods.demixing.parts import Entries
from fewatoms.methods.demixing.peeling import Peeling
from fewatoms.methods.demixing.search import Search
from fewatoms.methods.sums import SumJob, plain_squares, weights_differ
from fewatoms.operators import Operator
from fewatoms.problem import Problem


@dataclass(frozen=True)
class Demixing(Method):
    """A sum or union of parts with orthonormal atoms, data that are entries of x, least squares.

    Not with weights that differ where every part has a number: steps of a majoriser see atoms on light data too
    late, and relaxations tell the parts apart better (`General`). Budgets left open are found all the same. A set by
    itself whose atoms lie in blocks is a sum of one part, where their number is given.

    peeling : how that is done
    search : how it is done where atoms of a part turn, and every part has a number
    """

    peeling: Peeling = field(default_factory=Peeling)
    search: Search = field(default_factory=Search)

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        # the set is asked first: whether an array picks entries takes a look at the array
        if not plain_squares(problem) or not _served(problem.atoms, budgets) or problem.M.offers(SeenAsIs) is None:
            return None
        given = any(not budget.open for budget in budgets if budget.parts or not problem.atoms.parts)
        if given and weights_differ(problem):
            return None
        if not problem.atoms.parts and not self.search.suits(problem):
            return None
        return DemixingJob(problem, budgets, self)

    def at(self, effort: Effort) -> Method:
        if effort == NORMAL:
            return self
        return Demixing(self.peeling, self.search.quick() if effort == QUICK else self.search.thorough())


def _served(atoms: AtomicSet, budgets: Sequence[Budget]) -> bool:
    """Whether coefficients are had by inner products, part by part; whole matrices have a method of their own."""
    if atoms.parts:
        return len(atoms.parts) > 1 and all(part.orthonormal for part in atoms.parts)
    whole = atoms.unwrapped().inner.offers(RankOnePairs) is not None
    return atoms.orthonormal and not atoms.finite and not whole and not any(budget.open for budget in budgets)


class DemixingJob(SumJob):
    """The entries by themselves, whoever measured them, are kept for all budgets."""

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: Demixing) -> None:
        super().__init__(problem, budgets)
        self.method = method
        self._M: Operator | None = None

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        (budget,) = course
        if self._M is None:
            self._M = Entries(self.problem.M, self.problem.atoms.shape)
        problem = self.problem.with_budget(self.settled(budget))
        return self._way(problem).iterates(problem, self._M)

    def _way(self, problem: Problem) -> Peeling | Search | OpenEnded:
        """Where atoms turn, numbers that are given are searched for, and others are tried in several ways."""
        peeling, search = self.method.peeling, self.method.search
        if not search.suits(problem) or problem.budget.shared_by(problem.atoms) is not None:
            return peeling
        return OpenEnded(peeling) if problem.budget.open else search

    def forget(self) -> None:
        self._M = None


__all__ = ["Demixing", "Peeling", "Search"]
