"""Many atoms, or many more than there is room for images of: a first answer at once, better ones by products alone.

The first answer is a pursuit's. Where exchanges no longer move it, what is left looks like noise, and no atom outside
has much in common with those inside, that is the answer. Else a ladder of penalties is gone down on all coefficients
at once, and from each rung the k atoms that contribute most are fitted by conjugate gradients: a few dozen products,
whatever k is. The answer is that of the first rung whose own point has k atoms, or of what follows. A bound that is
met before is no reason to stop, since all k atoms may be used: on pictures of which 40 % of the pixels are seen,
answers that just met it had errors on the other pixels several times as high. Where there are too few data to tell k
atoms from others, small gains afterwards are those of fitting noise, and are not taken: a loss lower by a quarter came
with errors that were higher by a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from fewatoms import kept, ledger
from fewatoms._types import FloatArray
from fewatoms.asked import plain_budget, read_budget
from fewatoms.atoms import Listing
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.capabilities import ColumnBlocks
from fewatoms.effort import QUICK, THOROUGH, Effort
from fewatoms.goals import FewestAtoms, Goal, LowestLoss, MeetBound
from fewatoms.journal import Step
from fewatoms.kept import Kept, Plain
from fewatoms.methods.base import Job, Method, Pace
from fewatoms.methods.listed.budgeted import Allowed, Search, Unlimited
from fewatoms.methods.listed.images import IMAGE_ROOM
from fewatoms.methods.listed.pursuit import Pursuit
from fewatoms.methods.listed.space import Descent, Ends, Fit, Space
from fewatoms.methods.listed.view import View, image_room, listed
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3, Relaxation
from fewatoms.solution import Solution
from fewatoms.units import in_coefficients, scale_of


@dataclass(frozen=True, eq=False)
class ManyAtoms(Method):
    """Problems over listed atoms with budgets for which exchanges by way of images are too dear.

    room : numbers kept as images of atoms at most; where twice k of them have no room, the problem is this method's
    many, large : budgets beyond which it is, too, where columns are not at hand and images of all atoms have no room,
        and how many numbers the images of k atoms must hold for smaller ones to be
    boxed : columns of a black box up to which it is asked for them all
    pursuit : the first answer
    probes, more : products for a first and a second look at the lengths of the images
    uneven : the spread of their logarithms from which on atoms are measured in units of their images. A smaller one
        comes from how much of an atom is seen, and had better stay: one that is hardly seen would get a large
        coefficient (wavelets, 40 % of the pixels: errors of .21 instead of .19)
    far, near : factors from rung to rung, on the way and where answers are to be expected
    steps, tol, weighings, relief : see `Descent`
    floor : the last rung, as a share of the first penalty
    refit, last : when fits end, from a rung and of the answer
    hurried : whether the first answer that meets a bound ends the search
    settling : exchanges from the first answer at most, before the ladder
    moving : they have ended where one leaves more than this share of the loss
    noisy : what is left looks like noise if the best alignment with it is at most so many times that of noise
    overlap, signs : what atoms outside may have in common with those inside for that to be the answer, in so many draws
        of signs
    beyond : rungs after the ladder's own point has k atoms, and exchanges after those, at most
    telling, much : k of n atoms can be told from others if k (1 + log(n / k)) is at most this share of the number of
        data m. If not, answers found there count where they meet a bound or leave at most the share (1 - k / m)^much of
        the loss: k atoms explain the share k / m of noise, and more if they are chosen for it
    idle : of those that lower the loss by less than a hundredth in a row, so many are enough
    sight : without k, a rung is worth a fit where its loss is at most so many times the bound
    close : without k, the share of the atoms to which their number is found
    """

    room: int = IMAGE_ROOM
    many: int = 250
    large: int = 500_000
    boxed: int = 256
    pursuit: Pursuit = field(default_factory=Pursuit)
    probes: int = 4
    more: int = 12
    uneven: float = 1.0
    far: float = 0.5
    near: float = 0.8
    steps: int = 10
    tol: float = 1e-2
    weighings: int = 2
    relief: float = 5.0
    floor: float = 1e-5
    refit: Ends = field(default_factory=lambda: Ends(8, settled=0.3))
    last: Ends = field(default_factory=lambda: Ends(60, gain=1e-4))
    hurried: bool = False
    settling: int = 4
    moving: float = 0.999
    noisy: float = 1.2
    overlap: float = 0.5
    signs: int = 2
    beyond: int = 8
    telling: float = 1 / 3
    much: float = 3.0
    idle: int = 2
    sight: float = 4.0
    close: float = 0.01

    def at(self, effort: Effort) -> ManyAtoms:
        if effort == QUICK:
            return replace(self, beyond=0, hurried=True)
        return replace(self, beyond=40, telling=math.inf, steps=40) if effort == THOROUGH else self

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        given, price = problem.atoms.listing(), problem.price
        if given is None or price.ridge != 0 or price.cap is not None or given.forced.size or given.barred.size:
            return None
        if any(budget.parts for budget in budgets):
            return None
        listing = listed(problem)
        if listing is None or _overlapping(listing):
            return None
        served = any(self._serves(problem, listing, budget) for budget in budgets)
        return ManyJob(problem, budgets, self) if served else None

    def _serves(self, problem: Problem, listing: Listing, budget: Budget) -> bool:
        """Whether so many atoms are too many for images."""
        M = in_coefficients(problem.M, listing)
        room = image_room(M, listing, self.room)
        dear = M.offers(ColumnBlocks) is None and M.shape[1] > max(self.boxed, room)
        if budget.most is None:
            return problem.alpha is not None and dear
        largest = 1 if listing.blocks is None else max(block.size for block in listing.blocks)
        k = budget.most * largest
        return (dear and (k > self.many or k * M.shape[0] > self.large)) or min(2 * k, M.shape[1]) > room


class Telling(LowestLoss):
    """The smallest loss that is not a fit of noise."""

    @property
    def endings(self) -> Mapping[str, str]:
        told = (
            "this is the smallest loss found with at most k atoms, but for gains no larger than those of fitting noise."
        )
        return {"SMALLEST_LOSS": told}


class Unhurried(MeetBound):
    """An answer that meets the bound, as good a one as the search ends with."""

    def enough(self, best: Candidate) -> bool:
        return self.problem.exact(best.loss)


SETTLED, EXCHANGING = 2, 3  # what is done: the first answers, and what follows from them; the ladder
Asking = Callable[[Search], Candidate | None]


class ManyJob(Job):
    """Owns the space of the coefficients, made when the first iterate is asked for."""

    pace = Pace(complete=True)

    def __init__(
        self, problem: Problem, budgets: Sequence[Budget], method: ManyAtoms, units: FloatArray | None = None
    ) -> None:
        super().__init__(problem, budgets)
        self.method, self._units = method, units
        self._space: Space | None = None
        self._searches: dict[Budget, Search] = {}
        self._asked: set[Budget] = set()  # budgets that the latest iterate has served
        self._ask: Asking = lambda search: None

    def _seen(self) -> Space:
        """The space, made when it is first needed."""
        if self._space is None:
            view = View(self.problem, self.problem.M, self.method.room)
            if self._units is None:
                self._units = _comparable(Space(self.problem, view), self.method)
            self._space = Space(self.problem, view, self._units)
        return self._space

    def _search(self, budget: Budget) -> Search:
        if budget not in self._searches:
            kind = Unlimited if budget.nothing_said else Allowed
            self._searches[budget] = kind(self.problem.with_budget(budget), self._seen(), self.method)
        return self._searches[budget]

    def goal(self, problem: Problem) -> Goal:
        if problem.budget.nothing_said:
            return FewestAtoms(problem)
        if problem.alpha is None:
            return Telling(problem)
        return MeetBound(problem) if self.method.hurried else Unhurried(problem)

    def begin(self, start: Solution, problem: Problem) -> Candidate:
        space, method = self._seen(), self.method
        classes = space.view.classes_of(start.compact[0])[: problem.budget.most]
        fit = space.start(classes, np.zeros(space.size))
        return space.candidate(space.descend(fit, method.last))

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        space = self._seen()
        at_zero = space.start(np.empty(0, dtype=np.intp), np.zeros(space.size))
        start = float(space.sizes(at_zero.pulled).max(initial=0.0))
        first = self._dual(at_zero)
        with ledger.step("ladder") as here:
            done, lam, descent = self._taken_up(here.found, at_zero, start)
            for i, ask in enumerate((lambda search: search.first(first), lambda search: search.settled())):
                if i >= done:
                    yield self._posed(first, ask)
                    self._mark(here, i + 1, lam)
            if done < EXCHANGING:
                yield from self._down(here, start, lam, descent, at_zero)
            while live := [search for search in self._live() if not search.spent]:
                yield self._posed(
                    self._dual(live[0].best or at_zero), lambda search: search.exchange() or search.answer()
                )
                self._mark(here, EXCHANGING, lam)

    def _down(self, here: Step, start: float, lam: float, descent: Descent | None, at_zero: Fit) -> Iterator[Iterate]:
        """The ladder."""
        space, problem, method = self._seen(), self.problem, self.method
        live = [search for search in self._live() if not search.done]
        if live and descent is None:
            descent = Descent(space, at_zero, method.relief)
        while descent and live and lam > max(method.floor * start, 0.0):
            near = any(search.near(descent) for search in live)
            lam *= method.near if near else method.far
            descent.rung(lam, method.steps, method.tol, method.weighings if near else 1)
            rung = descent.here
            yield self._posed(self._dual(rung), partial(_shown, descent))
            if rung.classes.size >= 0.95 * problem.m or problem.exact(1e-3 * rung.loss):
                break
            self._mark(here, SETTLED, lam, descent)
            live = [search for search in self._live() if not search.done]

    def _mark(self, here: Step, done: int, lam: float, descent: Descent | None = None) -> None:
        """Note what is done, and what was found by then, for a checkpoint."""
        if here.live:
            asked = [budget for budget in self._searches if budget in self._asked]
            told: dict[str, Plain] = {"done": done, "lam": lam, "asked": [plain_budget(budget) for budget in asked]}
            inner = [self._searches[budget].kept() for budget in asked]
            inner += [] if descent is None else [descent.kept()]
            here.mark(lambda: Kept("many", told, {}, tuple(inner)))

    def _taken_up(self, found: Kept | None, at_zero: Fit, start: float) -> tuple[int, float, Descent | None]:
        """What was done before a kill, the penalty that was reached, and the point there."""
        if found is None:
            return 0, start, None
        budgets = [read_budget(k) for k in kept.rows(found.told["asked"])]
        self._asked = set(budgets)
        for budget, known in zip(budgets, found.inner, strict=False):
            self._search(budget).go_on(known)
        more = found.inner[len(budgets) :]
        descent = Descent(self._seen(), at_zero, self.method.relief, more[0]) if more else None
        return kept.whole(found.told["done"]), kept.real(found.told["lam"]), descent

    def _live(self) -> list[Search]:
        """Of the budgets that are still asked for."""
        return [self._searches[budget] for budget in self._asked]

    def _posed(self, dual: DualPoint, ask: Asking) -> Iterate:
        """An iterate, and what is asked of each search when it is seen."""
        self._asked, self._ask = set(), ask
        return Iterate(dual, dual.primal)

    def _dual(self, fit: Fit) -> DualPoint:
        """The dual vector of what a fit leaves of the data; without a bound (P1) has the penalty that admits it."""
        problem, space = self.problem, self._seen()
        unit = problem if space.view.unit_atoms is None else problem.over(space.view.unit_atoms)
        support, primal = unit.atoms.ceiling(fit.z), space.candidate(fit)
        gauge = primal.gauge if primal.unit_gauge is None else primal.unit_gauge
        if not problem.atoms.bounded:
            relaxation: Relaxation = P1(unit, 0.0)
        else:
            relaxation = P1(unit, support) if problem.alpha is None else P3(unit)
        return DualPoint(fit.y, fit.z, support, relaxation, fit.loss, gauge, primal)

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        assert iterate.primal is not None
        self._asked.add(budget)
        found = self._ask(self._search(budget))
        return iterate.primal if found is None else found

    def serves(self, problem: Problem) -> Job:
        """Units stay."""
        return ManyJob(problem, self.budgets, self.method, self._units)

    def forget(self) -> None:
        self._space = None
        self._searches = {}


def _shown(descent: Descent, search: Search) -> Candidate | None:
    """What a search makes of a rung."""
    search.see(descent)
    return search.answer()


def _comparable(space: Space, method: ManyAtoms) -> FloatArray:
    """Units in which images are about as long as each other, if they differ much; of length 1 on average otherwise."""
    if space.view.scale is not None:
        return np.ones(space.size)
    rng = ledger.generator()
    lengths, spread = space.lengths(method.probes, rng)
    if spread > method.uneven:
        return scale_of(space.lengths(method.more, rng)[0])
    seen = lengths > 0
    typical = float(np.exp(np.log(lengths[seen]).mean())) if seen.any() else 1.0
    return np.full(space.size, 1.0 / typical)


def _overlapping(listing: Listing) -> bool:
    """Whether blocks share coordinates."""
    if listing.blocks is None:
        return False
    places = np.concatenate(listing.blocks)
    return bool(np.unique(places).size < places.size)
