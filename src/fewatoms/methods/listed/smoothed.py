"""Smooth losses over columns at hand: the job of the search by quadratic models."""

from __future__ import annotations

from collections.abc import Sequence

from fewatoms._types import FloatArray, IntArray
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, Compact
from fewatoms.methods.base import Sketch
from fewatoms.methods.listed.enumerated import best_of_few
from fewatoms.methods.listed.outlook import NEAREST
from fewatoms.methods.listed.searched import SearchJob
from fewatoms.methods.listed.smooth import SmoothSearch
from fewatoms.methods.listed.stages import Stages
from fewatoms.methods.listed.support import Support, SupportFits
from fewatoms.methods.listed.view import image_room
from fewatoms.problem import Problem
from fewatoms.units import in_coefficients

MODELLED = 200  # atoms up to which models, with several columns for each, cost less than a ladder of penalties

ROOMY = 4  # images for each atom asked for that there must be room for, beside those that a search begins with


class SmoothJob(SearchJob):
    """Owns the search, which serves all budgets at once."""

    retells = False

    def serves_all(self, budgets: Sequence[Budget]) -> bool:
        method, problem, listing = self.method, self.problem, self.listing
        plain = not problem.loss.squares and problem.price.cap is None
        if not plain or method.oracle is not None or not self.at_hand:
            return False
        if any(budget.nothing_said for budget in budgets):
            return False
        most = max(min(budget.single, listing.atoms.count) for budget in budgets)
        M, largest = in_coefficients(problem.M, listing), 1
        if listing.blocks is not None:
            largest = max(block.size for block in listing.blocks)
        room = image_room(M, listing, method.room) // largest
        return most <= MODELLED and room >= min(listing.atoms.count, NEAREST + ROOMY * most)

    def _opened(self) -> Stages:
        return SmoothSearch(self._retriever(self.budgets[0]).fits, self._sizes(), self.method.effort)

    def together(self, count: int) -> None:
        return None

    def _left(self, support: Support) -> FloatArray:
        """Free columns are part of the loss there."""
        F = self._seen().free
        return support.residual if F is None else support.residual + F @ support.free

    def _dual(self, left: FloatArray) -> FloatArray:
        return self.problem.loss.gradient(left)

    def finish(self, problem: Problem, leaders: Sequence[Candidate], *, last: bool) -> Candidate:
        fits = self._retriever(problem.budget).fits
        leaders = [fits.whole(leader) for leader in leaders]
        patient = last and self.method.effort.ladders
        return fits.settled(best_of_few(fits, leaders[0], problem.budget.single) if patient else leaders[0])

    def sketched(self, ridges: Sequence[float]) -> Sketch | None:
        """Down from the largest ridge, each begun where the one above ended."""
        table: IntArray | None = None
        sketch: Sketch = {}
        for ridge in sorted(ridges, reverse=True):
            problem = self.problem.paying(self.problem.price.at(ridge))
            search = SmoothSearch(SupportFits(problem, self._seen()), self._sizes(), self.method.effort)
            search.table = table
            found, table = search.sketched(), search.table
            sketch[ridge] = [self._compact(found[self._size(budget)]) for budget in self.budgets]
        return sketch

    def _compact(self, support: Support) -> Compact:
        view, classes = self._seen(), support.classes
        return view.face(classes), support.c * view.user_scale(classes)
