"""One run over listed atoms: a ladder of dual vectors, candidates from each, the best polished at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fewatoms import kept
from fewatoms.asked import plain_budget, read_budget
from fewatoms.atoms import Listing
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.capabilities import ColumnBlocks, keeps
from fewatoms.faces import Face
from fewatoms.goals import FewestAtoms, Goal
from fewatoms.kept import Kept, Plain
from fewatoms.methods.base import Job, Pace
from fewatoms.methods.listed import conditioned
from fewatoms.methods.listed.ladder import WorkingSet
from fewatoms.methods.listed.retrieving import Retriever, Ways
from fewatoms.methods.listed.view import View, image_room, kept_columns
from fewatoms.oracles import Oracle
from fewatoms.problem import Problem
from fewatoms.solution import Solution
from fewatoms.units import in_coefficients
from fewatoms.words import idle_atoms, same_image

if TYPE_CHECKING:
    from fewatoms.methods.listed import Listed


class Along(Protocol):
    """An oracle that goes along a view of the problem, instead of making its own."""

    def along(self, problem: Problem, view: View) -> Iterator[DualPoint]:
        """Dual points of x = 0, and of what it leads to."""
        ...


@dataclass(frozen=True, eq=False)
class FewestAtDoor(FewestAtoms):
    """The first answer will do as well where it was found without asking for the columns of a black box."""

    quick: dict[Budget, Candidate] = field(default_factory=dict)

    def enough(self, best: Candidate) -> bool:
        return super().enough(best) or self.problem.budget in self.quick


class ListedJob(Job):
    """Owns the view of the problem in the space of the coefficients, made when the first iterate is asked for: lengths
    of columns cost a pass over M."""

    ranks = True

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: Listed, listing: Listing) -> None:
        super().__init__(problem, budgets)
        self.method, self.listing = method, listing
        M = in_coefficients(problem.M, listing)
        self._at_hand = M.offers(ColumnBlocks) is not None
        self._box = not self._at_hand and self._fits_a_box()
        self._oracle = self._stream(image_room(M, listing, method.room) >= min(method.roomy, M.shape[1]))
        patience = method.patience if problem.loss.squares else method.patience_smooth
        self._along = self._oracle if keeps(self._oracle, Along) else None
        if self._along is None:
            self.pace = Pace(getattr(self._oracle, "patience", Pace.patience))
        else:
            self.pace = Pace(patience, complete=True)
        self._ways = Ways(method.splice, method.pursuit, method.fewest, method.hope, method.memory)
        self._view: View | None = None
        self._retrievers: dict[Budget, Retriever] = {}
        self._quick: dict[Budget, Candidate] = {}  # answers of a black box whose columns were not asked for

    @property
    def at_hand(self) -> bool:
        """Whether columns are read, or few enough to be asked for."""
        return self._at_hand or self._box

    def needs(self) -> dict[str, float]:
        """The columns of a black box, as they come and put together. All else is made as it is asked for, and has its
        room: `Listed.room`."""
        M = self.problem.measured
        return {"the columns of the operator": 30.0 * M.shape[0] * M.shape[1]} if self._box else {}

    def _fits_a_box(self) -> bool:
        """Whether the columns of a black box are few enough to be asked for."""
        M, method = self.problem.measured, self.method
        matrices = all(map_.matrix is not None for map_ in self.listing.maps)
        most = method.boxed if self.problem.alpha is None else method.boxed_bound
        return matrices and not M.by_columns and M.shape[1] <= most and M.shape[0] * M.shape[1] <= method.room

    def _stream(self, roomy: bool) -> Oracle:
        from fewatoms.methods.general import default_oracle

        if self.method.oracle is not None:
            return self.method.oracle
        return WorkingSet() if roomy else default_oracle(self.problem)

    def _seen(self) -> View:
        """The view, made when it is first needed."""
        if self._view is None:
            M = kept_columns(self.problem) if self._box else self.problem.M
            self._view = View(self.problem, M, self.method.room)
        return self._view

    def _retriever(self, budget: Budget) -> Retriever:
        if budget not in self._retrievers:
            self._retrievers[budget] = Retriever(self.problem.with_budget(budget), self._seen(), self._ways)
        return self._retrievers[budget]

    def goal(self, problem: Problem) -> Goal:
        if problem.budget.nothing_said:
            return FewestAtDoor(problem, not (self._at_hand or self._box), self._quick)
        return super().goal(problem)

    def begin(self, start: Solution, problem: Problem) -> Candidate:
        return self._retriever(problem.budget).begin(self.listing.classes_of(start.compact[0]))

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        from fewatoms.methods.general import streamed

        if self._along is None:
            yield from streamed(self._oracle, self.problem)
            return
        first = self._tried(self._along, course)
        if first is not None and len(self._quick) == len(course):
            yield Iterate(first, first.primal)
            return
        for dual in self._along.along(self.problem, self._seen()):
            yield Iterate(dual, dual.primal)

    def _tried(self, oracle: Along, course: Sequence[Budget]) -> DualPoint | None:
        """Look whether a bound is met long before all columns of a black box have been asked for; x = 0 if so.

        Of a small box answers count if the images on the way are of one length: otherwise units may have misled the
        choice, and all columns cost little.
        """
        problem, pursuit = self.problem, self.method.pursuit
        if not self._box or self._view is not None or problem.alpha is None or pursuit is None:
            return None
        view = View(problem, problem.M, self.method.room)
        if not pursuit.applies(problem, view):
            return None
        dual, most = next(iter(oracle.along(problem, view))), max(1, int(self.method.tried * view.count))
        small = view.count <= self.method.boxed
        for budget in course:
            retriever = Retriever(problem.with_budget(budget), view, self._ways)
            found = retriever.quick(dual, most, even=small)
            if found is not None and (view.images.even or not small):
                self._quick[budget], self._retrievers[budget] = found, retriever
        return dual

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        assert iterate.dual is not None
        return self._quick.get(budget) or self._retriever(budget).retrieve(iterate.dual)

    def noted(self) -> Callable[[], Kept] | None:
        if self._along is None or self._quick:
            return None
        known = [retriever.noted() for retriever in self._retrievers.values()]
        told: list[Plain] = [plain_budget(budget) for budget in self._retrievers]
        return lambda: Kept("retrievers", {"budgets": told}, {}, tuple(one() for one in known))

    def go_on(self, it: Kept) -> None:
        for budget, known in zip(kept.rows(it.told["budgets"]), it.inner, strict=True):
            self._retriever(read_budget(budget)).go_on(known)

    def finish(self, problem: Problem, leaders: Sequence[Candidate], *, last: bool) -> Candidate:
        return self._retriever(problem.budget).finish(leaders, last=last)

    def notes(self, problem: Problem, face: Face) -> list[str]:
        classes = self.listing.classes_of(face)
        forced = self.listing.forced
        idle = np.setdiff1d(forced, classes) if forced.size else forced
        pair = None if self._view is None or not face.dim else self._view.images.twins(classes)
        told = [*([idle_atoms(idle)] if idle.size else []), *([] if pair is None else [same_image(pair)])]
        if self._view is not None and pair is None:
            told += conditioned.notes(self._view, classes, problem.ridge)
        return told

    def serves(self, problem: Problem) -> Job:
        """The images stay, turned to the other data."""
        other = type(self)(problem, self.budgets, self.method, self.listing)
        other._view = None if self._view is None else self._view.aimed(problem)
        return other

    def forget(self) -> None:
        self._view = None
        self._retrievers = {}
        self._quick.clear()
