"""Low rank from sampled entries: matrix completion, by sweeps of small regressions on the factors.

Who reads on: ladder.py (which penalties lead to the answer), entries.py (one sweep), held_out.py, folds.py
(how a ridge is chosen), sweeps.py (what a run keeps), lifting.py (where certificates come from).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fewatoms import _checks, kept, ledger, words
from fewatoms._types import IntArray
from fewatoms.asked import plain_budget, read_budget
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.capabilities import EntryLines, RankOnePairs, SeenAsIs
from fewatoms.effort import QUICK, THOROUGH, Effort
from fewatoms.faces import Face
from fewatoms.goals import Goal
from fewatoms.kept import Kept, Plain
from fewatoms.methods.base import Job, Method, Pace
from fewatoms.methods.lowrank.again import Again
from fewatoms.methods.lowrank.entries import Factored, Triple
from fewatoms.methods.lowrank.growing import FewestRanks, Growing
from fewatoms.methods.lowrank.held_out import Choice, HeldOut
from fewatoms.methods.lowrank.ladder import Ladder
from fewatoms.methods.lowrank.lifting import Lifting
from fewatoms.methods.lowrank.starts import widened
from fewatoms.methods.lowrank.sweeps import Asked, Spot, Sweeps
from fewatoms.operators import Sampling, by_lines
from fewatoms.price import Factors
from fewatoms.problem import Problem
from fewatoms.solution import Solution


@dataclass(frozen=True)
class Completion(Method):
    """minimise f(b - M(U V^T)) + ridge gauge over factors with k columns, for sampled entries and least squares.

    For RankOne(p, q), its multiples and subclasses, with weights and with row and column biases beside. Each sweep is
    an iterate, and its point, of rank k at most, a candidate; y and z are formed if somebody asks. The sweeps depend on
    k: each budget has its own. State: the entries by rows and by columns, and factors; no vector of the length of the
    data beside them.

    tol : sweeps end when one lowers the objective by less than this share
    quick_tol : the same for fits that are only compared with each other
    chosen : times the tolerance, where the ridge was chosen by entries held out, which settle it less finely
    lift : whether the factors may grow beyond k columns, as (P1) or (P3) needs: the stream then converges to a solution
        of the relaxation, and answers are the leading atoms of its points, swept on. It takes a ridge or a bound
    scarce : entries per unknown below which an answer without a ridge fits much of the noise, which is said
    ladder, held_out, growing, again, lifting : which penalties lead down, how they are chosen, how a rank is looked for
        that meets a bound, what else is tried where that costs little, how far certificates go
    """

    tol: float = 1e-6
    quick_tol: float = 1e-4
    chosen: float = 10.0
    lift: bool = False
    scarce: float = 2.0
    ladder: Ladder = field(default_factory=Ladder, repr=False)
    held_out: HeldOut = field(default_factory=HeldOut, repr=False)
    growing: Growing = field(default_factory=Growing, repr=False)
    again: Again = field(default_factory=Again, repr=False)
    lifting: Lifting = field(default_factory=Lifting, repr=False)

    def __post_init__(self) -> None:
        _checks.number("tol", self.tol)
        _checks.flag("lift", self.lift)

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        inside = problem.atoms.unwrapped()
        pairs = inside.inner.offers(RankOnePairs)
        if pairs is None or inside.maps or not problem.base_loss.squares:
            return None
        if not (problem.plain or problem.beside.biases is not None):
            return None
        paid = problem.price.ridge != 0 or any(budget.nothing_said for budget in budgets)
        entries = entries_of(problem, filled=paid or pairs.nonnegative)
        if entries is None:
            return None
        if any(budget.most is None for budget in budgets):
            alone = len(budgets) == 1 and problem.alpha is not None and not self.lift
            return FewestJob(Asked(problem, entries, pairs, inside.scale), budgets, self) if alone else None
        if self.lift and not problem.ridge and problem.alpha is None:
            raise ValueError("lift needs a relaxation to solve: give a ridge or a bound (alpha or misfit)")
        return CompletionJob(Asked(problem, entries, pairs, inside.scale), budgets, self)

    def at(self, effort: Effort) -> Completion:
        if effort == QUICK:
            return replace(self, tol=max(self.tol, self.quick_tol))
        return replace(self, tol=0.1 * self.tol) if effort == THOROUGH else self


def entries_of(problem: Problem, *, filled: bool) -> EntryLines | None:
    """The entries that data are; with `filled` also where they are all of a matrix, for what nobody else does: signs,
    ridges, a bound alone."""
    entries = by_lines(problem.M)
    if entries is not None or not filled or len(problem.atoms.shape) != 2:
        return entries
    seen = problem.M.offers(SeenAsIs)
    if seen is None:
        return None
    places, (p, q) = seen.places(), problem.atoms.shape
    return by_lines(Sampling(*np.divmod(np.arange(p * q) if places is None else places, q), (p, q)))


@dataclass(eq=False)
class _Course:
    """What one budget has come to: what is asked of it, how well, where it begins, its score on entries held out."""

    asked: Asked
    tol: float
    begin: Triple | None = None
    held_out: float | None = None


class CompletionJob(Job):
    """One run of `Completion`: the entries in both orders, shared by all budgets."""

    pace = Pace(patience=100_000, complete=True)  # the stream ends by itself
    spreads = True
    remedy = "take fewer entries or atoms, or use a machine with more memory"

    def __init__(self, asked: Asked, budgets: Sequence[Budget], method: Completion) -> None:
        super().__init__(asked.problem, budgets)
        self.asked, self.method = asked, method
        self._settled: dict[Budget, _Course] = {}
        self._choices: dict[Budget, Choice] = {}
        self._reached: Triple | None = None  # where the budget before ended
        self._held: Triple | None = None  # the best point of a choice under way
        self._entries: Factored | None = None

    def needs(self) -> dict[str, float]:
        """Measured with 3 to 4 million entries, those of the data in no order: 17 to 32 bytes an entry, and ten times
        the factors while they are turned."""
        asked = self.asked
        count = float(self.problem.m) if asked.entries.in_arrays else 0.0
        atoms = max((budget.most or 1 for budget in self.budgets), default=1)
        weighted = self.problem.base_loss.weights is not None
        return {
            "the entries by rows and by columns": (40.0 if weighted else 24.0) * count,
            "what biases leave of them": 16.0 * count if asked.biased else 0.0,
            "factors": 80.0 * sum(self.problem.atoms.shape) * atoms,
        }

    @property
    def entries(self) -> Factored:
        """The entries by rows and by columns: made when somebody asks."""
        if self._entries is None:
            self._entries = self.asked.opened()
        return self._entries

    def forget(self) -> None:
        self._entries = None

    def courses(self) -> list[list[Budget]]:
        """From the smallest to the largest: each begins where the one before ended."""
        return [[budget] for budget in sorted(self.budgets, key=lambda budget: budget.single)]

    @property
    def _open(self) -> bool:
        """Whether a ridge, or what biases pay, is left to us."""
        biases = self.problem.beside.biases
        return self.problem.price.ridge is None or (biases is not None and biases.shrink is None)

    def decide(self, course: Sequence[Budget]) -> Problem:
        """Choose the ridge, and what biases pay, where that is left to us: for all budgets, before the first is
        fitted, so that entries are held out once and let go of before all of them are worked with."""
        (budget,) = course
        asked = self._asked(budget)
        if not self._open:
            settled = _Course(asked, self.method.tol)
        elif self.problem.zero_suffices:
            settled = _Course(_paying(asked, asked.lam, 0.0), self.method.tol, held_out=0.0)
        else:
            if budget not in self._choices:
                for _ in self._tried(None):
                    pass
            choice = self._choices.pop(budget)
            paying = _paying(asked, choice.lam, choice.shrink)
            settled = _Course(paying, self.method.chosen * self.method.tol, choice.start, choice.score)
        self._settled[budget] = settled
        return settled.asked.problem

    def snapshot(self) -> Kept:
        """Where the last budget ended, and what was chosen for those to come."""
        told: dict[str, Plain] = {"budgets": [plain_budget(budget) for budget in self._choices]}
        reached = () if self._reached is None else (self._reached.kept(),)
        return Kept("handed", told, {}, (*(choice.kept() for choice in self._choices.values()), *reached))

    def restore(self, handed: Kept) -> None:
        budgets = [read_budget(k) for k in kept.rows(handed.told["budgets"])]
        self._choices = dict(zip(budgets, map(Choice.read, handed.inner), strict=False))
        reached = handed.inner[len(budgets) :]
        self._reached = Triple.read(reached[0]) if reached else None

    def _asked(self, budget: Budget) -> Asked:
        return replace(self.asked, problem=self.problem.with_budget(budget))

    def compared(self, held: IntArray | None) -> Iterator[tuple[Budget, float]] | None:
        """Entries that are named say nothing of a ridge that is left to us: they would have chosen it."""
        return None if self._open and held is not None else self._tried(held)

    def _tried(self, held: IntArray | None) -> Iterator[tuple[Budget, float]]:
        """What was chosen for each budget is kept. Of a search that is stopped, the point that predicts best is kept
        too."""
        budgets = [budget for (budget,) in self.courses()]
        how, before = self.method.held_out, None
        with ledger.stage("choosing the ridge" if self._open else "predicting entries held out"):
            ledger.tell()
            trial = how.trial(self.asked, None if held is None else self.asked.entries.named(held))
            trial.keep, trial.ladder = self._hold, self.method.ladder
            for i, budget in enumerate(budgets):
                with ledger.counted("rank", i, len(budgets)), ledger.step("rank") as here:
                    if here.found is not None:
                        before = Choice.read(here.found)
                    else:
                        before = how.choose(trial, self._asked(budget), lambda: self.entries, before)
                    here.mark(before.kept)
                self._choices[budget] = before
                yield budget, before.score

    def _hold(self, at: Triple) -> None:
        self._held = at

    def so_far(self, budget: Budget) -> Candidate | None:
        """What entries held out say of a budget whose turn has not come: with other biases its loss is lower still."""
        choice = self._choices.get(budget)
        at = self._held if choice is None else choice.points[0]
        if at is None or not at.rank or at.rank > budget.single:
            return None
        asked = self._asked(budget)
        return Spot(asked, at, asked.loss(at), 0.0).candidate

    def begin(self, start: Solution, problem: Problem) -> Candidate | None:
        """The leading atoms of an earlier answer; sweeps go on from there."""
        if not start.cardinality:
            return None
        settled = self._settled[problem.budget]
        asked = settled.asked
        settled.begin = at = self._started(asked, start)
        return Spot(asked, at, self.entries.loss(at) + 0.5 * asked.shrink * at.biases_squared(), 0.0).candidate

    def _started(self, asked: Asked, start: Solution) -> Triple:
        F, p = self.entries, self.entries.shape[0]
        at = F.of(asked.sign * start.left, start.right).cut(asked.k)
        if not asked.biased:
            return at
        image = asked.entries.sampled(asked.sign * at.P * at.s, at.Q)
        v = asked.sign * asked.problem.seen.fitted(image)  # those that go best with it
        return replace(at, row=v[:p], col=v[p:])

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        (budget,) = course
        settled, method = self._settled[budget], self.method
        lift = method.lifting if method.lift else None
        begin, settled.begin = settled.begin, None  # let go of once the sweeps have moved on
        begins = self._begins(settled.asked, begin)
        self._reached, lowest = None, math.inf
        with ledger.stage("sweeping"):
            while begins:
                first = begins.pop(0)
                run, at = Sweeps(settled.asked, self.entries), None
                for spot in method.ladder.stream(run, settled.tol, first, lift):
                    at = spot.at
                    yield spot.iterate()
                reached, met = run.objective, run.asked.problem.meets(run.loss)  # known again after a kill as well
                if not lift and run.objective < lowest:
                    self._reached, lowest = at, run.objective
                if first is None and not lift and not met and method.again.worthwhile(run, reached, method.ladder):
                    for spot in method.again.stream(run, reached, method.ladder, method.growing, settled.tol):
                        yield spot.iterate()

    def _begins(self, asked: Asked, begin: Triple | None) -> list[Triple | None]:
        """Where sweeps begin, None being the singular vectors of M*y at x = 0. With entries in plenty they end in one
        place wherever that is; where signs are bound they need not, and both places are tried."""
        if begin is not None or not self.method.ladder.abounds(Sweeps(asked, self.entries)):
            return [begin]
        wider = self._wider(asked)
        return [None, wider] if wider is not None and self.entries.nonnegative else [wider]

    def _wider(self, asked: Asked) -> Triple | None:
        """Where the budget before ended, with the atoms that its residual asks for; None before the first, and where
        there is a bound, to which a penalty leads down."""
        at = self._reached
        if at is None or not 0 < at.rank < asked.k or asked.problem.alpha is not None:
            return None
        return widened(self.entries, at, asked.k, asked.lam)[0]

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        """The sweep's own point; where it was lifted beyond the budget, its leading atoms, swept on."""
        own, spot = iterate.primal, iterate.at
        assert own is not None
        assert isinstance(spot, Spot)
        if budget.allows(own.face):
            return own
        run = Sweeps(spot.asked, self.entries)
        return run.spot(run.fewer(spot.at, self.method.tol)).candidate

    def finish(self, problem: Problem, leaders: Sequence[Candidate], *, last: bool) -> Candidate:
        """The best as it is. The last budget lets go of the entries in both orders: an answer needs less room."""
        if problem.budget == self.courses()[-1][0]:
            self.forget()
        return leaders[0]

    def evaluate(self, iterate: Iterate) -> DualPoint:
        spot, lifting = iterate.at, self.method.lifting
        assert isinstance(spot, Spot)
        behind = spot
        if lifting.worthwhile(spot):
            behind = lifting.behind(spot, self.entries)
            if self.closed:
                self.forget()  # y, z and singular values of z follow: as much again
        return lifting.dual_point(spot, behind)

    def notes(self, problem: Problem, face: Face) -> list[str]:
        """What sampled entries do not tell about a matrix of so many atoms."""
        notes = []
        for name, counts, other in zip(("row", "column"), self.asked.entries.counts, ("column", "row"), strict=True):
            empty = np.flatnonzero(counts == 0)
            if empty.size:
                instead = f"the biases of the {other}s" if problem.beside.biases else "zero"
                notes.append(words.empty_lines(name, empty, instead))
        given = not problem.budget.nothing_said
        unknowns, entries = face.freedom, problem.m if not problem.measured.background else math.prod(face.shape)
        if unknowns > entries and not problem.ridge:
            notes.append(words.too_many_unknowns(unknowns, entries, given=given))
        elif self.method.scarce * unknowns > entries and not problem.ridge:
            notes.append(words.few_entries(unknowns, entries, given=given))
        return notes

    def held_out(self, budget: Budget) -> float | None:
        settled = self._settled.get(budget)
        return None if settled is None else settled.held_out


class FewestJob(CompletionJob):
    """The same where a bound is given alone: as low a rank as meets it."""

    _from: Triple | None = None

    def goal(self, problem: Problem) -> Goal:
        return FewestRanks(problem)

    def courses(self) -> list[list[Budget]]:
        return [self.budgets]

    def decide(self, course: Sequence[Budget]) -> Problem:
        return self.problem

    def compared(self, held: IntArray | None) -> None:
        return None

    def begin(self, start: Solution, problem: Problem) -> Candidate | None:
        """An earlier answer: ranks grow from its own, or shrink."""
        rank = start.cardinality
        if not rank:
            return None
        asked = self._asked(Budget(rank))
        self._from = at = self._started(asked, start)
        return Spot(asked, at, self.entries.loss(at), 0.0).candidate

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        method, begin = self.method, self._from
        self._from = None
        with ledger.stage("looking for a rank"):
            for spot in method.growing.stream(self.asked, self.entries, begin, method.ladder):
                yield spot.iterate()

    def so_far(self, budget: Budget) -> Candidate | None:
        return None


def _paying(asked: Asked, lam: float, shrink: float) -> Asked:
    """The same with other penalties on the nuclear norm and on the biases."""
    problem, biases = asked.problem, asked.problem.beside.biases
    price = Factors(lam * abs(asked.scale))
    return replace(asked, problem=problem.paying(price, None if biases is None else biases.shrunk(shrink)))


__all__ = ["Completion", "CompletionJob", "FewestJob", "Growing", "HeldOut", "Ladder", "Lifting"]
