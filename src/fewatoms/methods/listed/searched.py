"""Least squares over columns at hand: supports are searched in the space of a Gram matrix, a few stages long.

Dual vectors come afterwards, when somebody asks: the search needs none beyond the residuals that it looks at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.faces import Face
from fewatoms.kept import Kept
from fewatoms.methods.base import Sketch
from fewatoms.methods.listed.capped import Capped
from fewatoms.methods.listed.columns import SERVED, Columns, worth_it
from fewatoms.methods.listed.crowd import Crowd
from fewatoms.methods.listed.grids import grid
from fewatoms.methods.listed.growing import Growing
from fewatoms.methods.listed.job import ListedJob
from fewatoms.methods.listed.ladder import WorkingSet
from fewatoms.methods.listed.outside import CROSSING
from fewatoms.methods.listed.searching import SWEPT, Search
from fewatoms.methods.listed.stages import Stages
from fewatoms.methods.listed.support import Support
from fewatoms.methods.listed.view import image_room
from fewatoms.problem import Problem
from fewatoms.solution import Solution
from fewatoms.units import in_coefficients

LARGEST = 400  # atoms up to which steps that cost an outer product for each atom pay


EACH_ATOM, CROSSED = (
    12,
    4,
)  # numbers for each atom; times the inner products with those inside, and what is made of these


class SearchJob(ListedJob):
    """Owns the search, which serves all budgets at once."""

    retells = True
    remedy = "leave atoms out beforehand, or take a machine with more memory"
    _searching: Stages | None = None

    def needs(self) -> dict[str, float]:
        """Numbers for each atom, and its inner products with those inside: they matter where atoms are many. Images
        have their room."""
        known, atoms = super().needs(), float(self.problem.M.shape[1])
        most = max((0 if budget.nothing_said else min(budget.single, atoms) for budget in self.budgets), default=0)
        crossed = min(most * atoms, CROSSING)
        return {**known, "what is known of each atom": 8.0 * (EACH_ATOM * atoms + CROSSED * crossed)}

    def serves_all(self, budgets: Sequence[Budget]) -> bool:
        """Whether these budgets are searched in this way."""
        method, problem, listing = self.method, self.problem, self.listing
        capped = problem.price.cap is not None
        if not problem.loss.squares or method.oracle is not None or not self.at_hand:
            return False
        if capped and listing.blocks is not None:
            return False
        if any(budget.nothing_said for budget in budgets):
            return len(budgets) == 1 and not capped
        most = SWEPT if capped else LARGEST
        return all(min(budget.single, listing.atoms.count) <= most for budget in budgets)

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        first = None if self._along is None else self._tried(self._along, course)
        if first is not None and len(self._quick) == len(course):
            yield Iterate(first, first.primal)
            return
        search = self._search()
        for stage, _ in enumerate(search.stages()):
            best = min(search.supports.values(), key=lambda support: support.loss)
            yield Iterate(worth=float(stage), at=self._left(best))

    def _search(self) -> Stages:
        if self._searching is None:
            self._searching = self._opened()
        return self._searching

    def _opened(self) -> Stages:
        fits, sizes = self._retriever(self.budgets[0]).fits, self._sizes()
        if self.budgets[0].nothing_said:
            return Growing(fits, self.method.effort)
        if self.problem.price.cap is not None:
            return Capped(fits, sizes, self.method.effort)
        crowded = len(sizes) == 1 and sizes[0] > SWEPT and self.listing.blocks is None
        return (Crowd if crowded else Search)(fits, sizes, self.method.effort)

    def _sizes(self) -> list[int]:
        """The numbers of atoms asked for, each once."""
        return [] if self.budgets[0].nothing_said else sorted({self._size(budget) for budget in self.budgets})

    def _size(self, budget: Budget) -> int:
        return min(budget.single, self.listing.atoms.count)

    def _left(self, support: Support) -> FloatArray:
        """What a support leaves of the data, for `evaluate`."""
        return support.residual

    def _dual(self, left: FloatArray) -> FloatArray:
        """The dual vector of that."""
        return self._seen().images.dual(left)

    def begin(self, start: Solution, problem: Problem) -> Candidate:
        search, view = self._search(), self._seen()
        k = problem.budget.most
        classes = view.chosen(self.listing.classes_of(start.compact[0]), k)
        if k is None:
            return search.fits.candidate(search.fits.fit(classes))
        k = min(k, self.listing.atoms.count)
        search.begin(k, classes)
        return search.fits.candidate(search.supports[k])

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        if budget in self._quick:
            return self._quick[budget]
        search = self._search()
        k = search.ks[-1] if budget.nothing_said else self._size(budget)
        return replace(search.fits.candidate(search.supports[k]), isolated=search.isolated.get(k, False))

    def so_far(self, budget: Budget) -> Candidate | None:
        search = self._searching
        if search is None:
            return None
        support = search.so_far(search.ks[-1] if budget.nothing_said else self._size(budget))
        return None if support is None else search.fits.candidate(support)

    def finish(self, problem: Problem, leaders: Sequence[Candidate], *, last: bool) -> Candidate:
        return leaders[0]

    def sketched(self, ridges: Sequence[float]) -> Sketch | None:
        view, search = self._seen(), Search(self._retriever(self.budgets[0]).fits, self._sizes(), self.method.effort)
        found = grid(search, ridges)
        order = [search.ks.index(self._size(budget)) for budget in self.budgets]
        return {
            ridge: [(view.face(classes), c * view.user_scale(classes)) for classes, c in (rows[i] for i in order)]
            for ridge, rows in found.items()
        }

    def together(self, count: int) -> Columns | None:
        problem, budget, n = self.problem, self.budgets[0], self.listing.atoms.count
        few = budget.nothing_said or min(budget.single, n) <= SERVED
        price = problem.price
        if budget.nothing_said and self.listing.forced.size:
            return None
        if self.listing.blocks is not None or price.ridge is None or price.cap is not None or not few:
            return None
        if n > image_room(in_coefficients(problem.M, self.listing), self.listing, self.method.room):
            return None
        if not worth_it(problem, n, count):
            return None
        return Columns(problem, self._seen(), self.method.effort)

    def reached(self, face: Face, c: FloatArray) -> Iterate:
        problem, view = self.problem, self._seen()
        image = face.measure(problem.measured, c) if face.dim else np.zeros(problem.m)
        residual, root = problem.b - problem.seen.image(image), view.images.root
        classes = self.listing.classes_of(face)
        scale = view.user_scale(classes)
        gauge = view.gauge(classes, c / np.where(scale != 0, scale, 1.0))
        primal = Candidate.of(face, c, residual, problem.loss.value(residual), unit_gauge=gauge)
        return Iterate(None, primal, 0.0, residual if root is None else root * residual)

    def evaluate(self, iterate: Iterate) -> DualPoint:
        """(P1) at the penalty for which the answer's own dual vector is feasible, or (P3): solved down a ladder of
        penalties. The answer's own vector serves where it proves more."""
        view, problem = self._seen(), self.problem
        assert isinstance(iterate.at, np.ndarray)
        y = self._dual(iterate.at)
        z = view.outer.adjoint(y)
        ladder = WorkingSet()
        top = float(view.alignments(view.pull(view.outer.adjoint(problem.loss.gradient(problem.b)))).max(initial=0.0))
        lam = float(view.alignments(view.pull(z)).max(initial=0.0))
        floor = min(max(lam / top, ladder.floor), 0.99) if top > 0 and problem.atoms.bounded else ladder.floor
        best: tuple[float, DualPoint] | None = None
        for dual in WorkingSet(floor=floor).along(problem, view):
            if dual.series == 0:
                proven = dual.relaxation.feasible(dual.y, dual.z, dual.support)[1]
                other = best is None or dual.relaxation != best[1].relaxation
                if other or best is None or proven <= best[0]:
                    best = proven, dual
        assert best is not None
        relaxation = best[1].relaxation
        own = replace(best[1], y=y, z=z, support=relaxation.problem.atoms.ceiling(z))
        return own if relaxation.feasible(y, z, own.support)[1] < best[0] else best[1]

    def noted(self) -> None:
        return None

    def snapshot(self) -> Kept | None:
        """Where a search for another ridge begins."""
        search = self._searching
        return None if search is None or search.table is None else search.noted()()

    def restore(self, handed: Kept) -> None:
        self._search().again(handed)

    def serves(self, problem: Problem) -> SearchJob:
        """Another ridge begins where this one ended."""
        other = super().serves(problem)
        assert isinstance(other, SearchJob)
        if self._searching is not None and problem.data is self.problem.data:
            other._search().table = self._searching.table
        return other

    def forget(self) -> None:
        super().forget()
        self._searching = None
