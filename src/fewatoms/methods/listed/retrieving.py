"""From the dual vectors of one budget to candidates: a short cut at x = 0, then identify, fit and polish."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from fewatoms import kept, linalg
from fewatoms._types import IntArray, ModelDual
from fewatoms.candidates import Candidate, DualPoint
from fewatoms.kept import Kept, Plain
from fewatoms.methods.listed.enumerated import best_of_few
from fewatoms.methods.listed.fewest import Fewest, cheapest_gone
from fewatoms.methods.listed.pursuit import Pursuit
from fewatoms.methods.listed.splice import Splice
from fewatoms.methods.listed.support import Support, SupportFits
from fewatoms.methods.listed.view import View
from fewatoms.problem import Problem
from fewatoms.retrieval import Generous, Retrieval, Retrieving

OVERLAP = 0.5  # the share of one atom's image that another one explains, from which on they count as alike


@dataclass(frozen=True, eq=False)
class Ways:
    """How candidates are made: see `Listed`."""

    splice: Splice
    pursuit: Pursuit | None
    fewest: Fewest
    hope: float
    memory: int


class Retriever:
    """What a run keeps for one budget: its fits, polished candidates, the lowest objectives before that."""

    def __init__(self, problem: Problem, view: View, ways: Ways) -> None:
        self.problem, self.view, self.ways = problem, view, ways
        self.fits = SupportFits(problem, view)
        self.open = problem.budget.nothing_said
        self.spliced = not self.open and ways.splice.fits(self.fits)
        self.otherwise: Retrieving = Retrieval()  # for supports whose images have no room
        self._known: dict[Hashable, Candidate] = {}
        self._lowest: dict[int, float] = {}

    def noted(self) -> Callable[[], Kept]:
        """Note what later candidates depend on, for a checkpoint; polished ones are made again."""
        lowest: dict[str, Plain] = {str(series): float(reached) for series, reached in self._lowest.items()}
        asked = self.fits.asked.copy()
        return lambda: Kept("retriever", {"lowest": lowest}, {"asked": asked})

    def go_on(self, it: Kept) -> None:
        """Know that again."""
        self._lowest = {int(series): kept.real(v) for series, v in kept.section(it.told["lowest"]).items()}
        self.fits.asked[:] = it.arrays["asked"]

    def retrieve(self, dual: DualPoint) -> Candidate:
        """A candidate with no more atoms than the budget allows; as few as meet the bound where it is left open."""
        first = dual.gauge == 0.0 if dual.primal is None else dual.primal.face.size == 0
        if self.open:
            return self._few(dual, first=first)
        found = self._short_cut(dual) if first else None
        if found is not None:
            return found
        if not self.spliced:
            return self.otherwise.retrieve(self.problem, dual)
        return self._polished(self._fitted(dual), dual.series)

    def _few(self, dual: DualPoint, *, first: bool) -> Candidate:
        """As few atoms as meet the bound; what shrinking the same atoms gave is remembered."""
        fits, fewest = self.fits, self.ways.fewest
        with linalg.single_thread():
            support = fewest.begun(fits, dual, first=first)
            if not self.problem.meets(support.loss):
                return fits.candidate(support)
            key = np.sort(support.classes).tobytes()
            if key not in self._known:
                found = fits.candidate(fewest.shrunk(fits, self.ways.splice, support))
                if len(self._known) >= self.ways.memory:
                    return found
                self._known[key] = found
        return self._known[key]

    def begin(self, classes: IntArray) -> Candidate:
        """An earlier answer's classes, the largest contributions first, brought to this problem."""
        with linalg.single_thread():
            candidate = self.fits.candidate(self.fits.fit(self.view.chosen(classes, self.problem.budget.most)))
        return self.ways.splice(self.fits, candidate) if self.spliced else candidate

    def quick(self, dual: DualPoint, most: int, *, even: bool) -> Candidate | None:
        """What a few products lead to from x = 0, if it meets the bound; supports grow to so many atoms at most, and
        only with images of one length if that is asked for."""
        problem, pursuit, fewest = self.problem, self.ways.pursuit, self.ways.fewest
        if self.open:
            with linalg.single_thread():
                support = fewest.grown(self.fits, most, dual.z, even=even)
                if not problem.meets(support.loss):
                    return None
                support = fewest.shrunk(self.fits, self.ways.splice, support)
                return None if self._doubtful(support) else self.fits.candidate(support)
        assert pursuit is not None
        grown = None if pursuit.pays(problem, self.view, dual.z) else self._grown(dual.z, most, even=even)
        if grown is None:
            found, _ = pursuit.chase(problem, self.view, dual.z)
            grown = found if problem.meets(found.loss) else self._grown(dual.z, most, even=even)
        return grown if grown is not None and problem.meets(grown.loss) else None

    def _doubtful(self, support: Support) -> bool:
        """Whether a support that was grown atom by atom may have more than are needed: some explain half of another,
        so the first ones may sit beside the right ones. What leaves nothing is right all the same."""
        slots = self.fits.images.slots(support.classes)
        G = self.fits.images.gram[np.ix_(slots, slots)]
        squares = np.maximum(G.diagonal(), 1e-300)
        common = G**2 / squares / squares[:, None]
        return not self.problem.exact(support.loss) and bool((np.triu(common, 1) > OVERLAP).any())

    # The short cut ----------------------------------------------------------------------------------------------------

    def _short_cut(self, dual: DualPoint) -> Candidate | None:
        """What a few products lead to; with a matrix at hand, only if it meets the bound."""
        problem, view, pursuit = self.problem, self.view, self.ways.pursuit
        if pursuit is None or not pursuit.applies(problem, view):
            return None
        dear = view.at_hand is None
        grown = self._grown(dual.z) if dear and not pursuit.pays(problem, view, dual.z) else None
        if grown is not None and problem.meets(grown.loss):
            return grown
        found, easy = pursuit.chase(problem, view, dual.z)
        if problem.meets(found.loss):
            return found
        if not dear:
            return None
        if grown is None and (problem.alpha is not None or not easy):
            grown = self._grown(dual.z)
        found = grown if grown is not None and problem.objective(grown) < problem.objective(found) else found
        return self.ways.splice(self.fits, found) if self.spliced else found

    def _grown(self, z: ModelDual, most: int | None = None, *, even: bool = False) -> Candidate | None:
        """A support grown until it meets the bound, then shrunk to the budget; without a bound, to that at once."""
        problem, fewest, k = self.problem, self.ways.fewest, self.problem.budget.single
        if k * self.view.largest > self.view.images.room:
            return None
        with linalg.single_thread():
            limit = k if problem.alpha is None else fewest.limit(k)
            support = fewest.grown(self.fits, min(limit, most or limit), z, even=even)
            if problem.meets(support.loss):
                support = fewest.shrunk(self.fits, self.ways.splice, support, k)
            if support.classes.size > k:
                support = self.fits.fit(cheapest_gone(self.fits, support, k), support)
        return self.fits.candidate(support)

    # Identify, fit, polish --------------------------------------------------------------------------------------------

    def _fitted(self, dual: DualPoint) -> Candidate:
        """The reduced fit over the atoms identified; iterative ones begin at the oracle's own point."""
        fits, primal, k = self.fits, dual.primal, self.problem.budget.single
        searching = not fits.squares and self.problem.alpha is None and not self.view.forced.size
        if searching and primal is not None and 0 < 2 * primal.face.size < k:
            return primal  # on its way down, with few atoms yet: not worth Newton's method
        with linalg.single_thread():
            support = fits.fit(
                self._generous(dual) if primal is None else self._leading(dual, primal), fits.near(primal)
            )
            if support.classes.size > k:
                support = fits.fit(self.view.chosen(self._most(fits.candidate(support), k), k), support)
        return fits.candidate(support)

    def _leading(self, dual: DualPoint, primal: Candidate) -> IntArray:
        """The k atoms that contribute most to the oracle's own point, topped up with the best aligned ones."""
        view, k = self.view, self.problem.budget.single
        inside = view.chosen(self._most(primal, k), k)
        if inside.size < k:
            a = view.alignments(view.pull(dual.z))
            a[inside] = -np.inf
            more = linalg.top_k(a, k - inside.size)
            inside = np.concatenate([inside, more[a[more] > 0]])
        return inside

    def _generous(self, dual: DualPoint) -> IntArray:
        """Where the oracle has no point of its own: the k best aligned atoms and what is tied with them."""
        face = Generous()(self.problem, dual)
        room = self.view.images.room // self.view.largest
        return self.view.chosen(self.view.classes_of(face), room)

    def _most(self, candidate: Candidate, k: int) -> IntArray:
        """The classes of the k atoms that contribute most."""
        return self.view.classes_of(candidate.face.prune(candidate.c, k, candidate.norms)[0])

    def _polished(self, candidate: Candidate, series: int) -> Candidate:
        """Polish, or remember what polishing these very atoms gave: nearby dual vectors repeat themselves."""
        known, lowest, reached = self._known, self._lowest, self.problem.objective(candidate)
        lowest[series] = min(reached, lowest.get(series, reached))
        if self.problem.alpha is None and reached > self.ways.hope * lowest[series]:
            return candidate
        key = candidate.face.key()
        if key is None or key not in known:
            polished = self.ways.splice(self.fits, candidate)
            if key is None or len(known) >= self.ways.memory:
                return polished
            known[key] = polished
        return known[key]

    def finish(self, leaders: Sequence[Candidate], *, last: bool) -> Candidate:
        """The last polish of the best candidates, and coefficients to the last digit."""
        leaders = [self.fits.whole(leader) for leader in leaders]
        best = self.ways.splice.last(self.fits, leaders) if last and self.spliced else leaders[0]
        with linalg.single_thread():
            if last and not self.open and not self.fits.squares:
                best = best_of_few(self.fits, best, self.problem.budget.single)
            return self.fits.settled(best)
