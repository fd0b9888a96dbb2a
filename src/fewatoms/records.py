"""What a run keeps for one budget: the best candidate, what is proven, for how long nothing better came."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from functools import cached_property

from fewatoms import kept, ledger
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.certificates import Certificate
from fewatoms.continued import candidate_again, candidate_kept
from fewatoms.evidence import Evidence
from fewatoms.final import certify, no_atoms
from fewatoms.kept import Kept, Plain
from fewatoms.methods.base import Job
from fewatoms.problem import Problem
from fewatoms.reach import out_of_reach
from fewatoms.recession import separates
from fewatoms.solution import Solution, Status
from fewatoms.words import message

LEADERS = 3  # candidates kept for a last polish
AGAIN = 3  # iterates that one which descends to the same loss from another start counts for
SAME_LOSS = 1e-6  # relative: losses this close are one


@dataclass(frozen=True, eq=False)
class Progress:
    """What a callback sees after each iterate, and during long work; `StopIteration` raised there ends the run.

    stage : what the run is doing
    iteration : iterates so far
    candidate_loss : of the latest iterate's candidate
    products : with M and M*, so far
    problem, candidate : what is solved, and the best candidate so far (None if there is none yet)
    loss, misfit, cardinality : of that candidate, or of x = 0
    gap : the best duality gap so far of the relaxation in use; of this iterate alone where it is dear to evaluate
    counts : what is done one after the other (folds, ridges, budgets, data vectors) and how many of them are behind us,
        the outermost first
    share : of all that in one number, from 0 to 1; None where nothing is counted
    lower, upper, nodes : of a proof: no other choice of atoms has an objective below the one, the best known has the
        other, and so many nodes were looked at; -inf, inf and 0 elsewhere

    A pickle of it holds these figures alone: `figures()`, a record with the same names.
    """

    stage: str
    iteration: int
    candidate_loss: float
    products: int
    problem: Problem = field(repr=False)
    candidate: Candidate | None = field(repr=False)
    iterate: Iterate | None = field(repr=False)
    evidence: Evidence = field(repr=False)
    counts: tuple[ledger.Count, ...] = ()
    lower: float = -math.inf
    upper: float = math.inf
    nodes: int = 0

    @property
    def share(self) -> float | None:
        done, width = 0.0, 1.0
        for count in self.counts:
            width /= count.total
            done += width * count.done
        return done if self.counts else None

    @property
    def loss(self) -> float:
        return self.problem.at_zero if self.candidate is None else self.candidate.loss

    @cached_property
    def misfit(self) -> float:
        return self.problem.misfit_of(self.candidate or nothing(self.problem))

    @property
    def cardinality(self) -> int:
        return 0 if self.candidate is None else self.candidate.cardinality

    @property
    def dual(self) -> DualPoint | None:
        """The dual point of the latest iterate, made now if it is dear to evaluate."""
        if self.iterate is None:
            return None
        return self.iterate.dual or self.evidence.dual_at(self.iterate)

    def figures(self) -> ProgressFigures:
        """As a record that may be kept, sent and pickled."""
        return ProgressFigures(
            self.stage,
            self.iteration,
            float(self.candidate_loss),
            self.products,
            float(self.loss),
            float(self.misfit),
            self.cardinality,
            self.known_gap,
            self.share,
            self.lower,
            self.upper,
            self.nodes,
        )

    @property
    def known_gap(self) -> float:
        """The gap where it costs nothing; nan where it is dear and nobody has looked at it."""
        dear = self.iterate is not None and self.candidate is not None and self.iterate.dual is None
        return math.nan if dear and "gap" not in vars(self) else float(self.gap)

    def __reduce__(self) -> tuple[type[ProgressFigures], tuple[object, ...]]:
        return ProgressFigures, astuple(self.figures())

    @cached_property
    def gap(self) -> float:
        if self.iterate is None or self.candidate is None:
            return math.inf
        if self.iterate.dual is None:
            return self.evidence.gap_at(self.iterate, self.candidate)
        return self.evidence.gap


@dataclass(frozen=True)
class ProgressFigures:
    """The figures of a `Progress`, under the same names: what pickles and copies of one hold, since M, b and what a run
    has under way are not theirs to carry. gap : nan where it was dear and nobody had looked at it."""

    stage: str
    iteration: int
    candidate_loss: float
    products: int
    loss: float
    misfit: float
    cardinality: int
    gap: float
    share: float | None = None
    lower: float = -math.inf
    upper: float = math.inf
    nodes: int = 0


def nothing(problem: Problem) -> Candidate:
    """x = 0."""
    return Candidate(problem.at_zero, 0.0, lambda: no_atoms(problem), lambda: problem.b)


class Record:
    """The account of one budget."""

    def __init__(self, problem: Problem, job: Job) -> None:
        self.problem, self.job = problem, job
        self.goal = job.goal(problem)
        self.evidence = Evidence(problem, self._evaluate)
        self.best: Candidate | None = None
        self.leaders: list[Candidate] = []
        self.iterate: Iterate | None = None
        self.latest = math.inf
        self.status: Status | None = Status.ZERO if problem.zero_suffices else None
        self.iterations = self.since = 0
        self.why = ""  # what ended the search: see `words.ENDS`

    def _evaluate(self, iterate: Iterate) -> DualPoint:
        """The dual point of an iterate; what the job keeps for that is let go again once the run is over."""
        dual = self.job.evaluate(iterate)
        if self.job.closed:
            self.job.forget()
        return dual

    @property
    def live(self) -> bool:
        return self.status is None

    def noted(self) -> Callable[[], Kept]:
        """Note what is known so far, for a checkpoint."""
        best, leaders, levels = self.best, list(self.leaders), self.evidence.levels.told()
        told: dict[str, Plain] = {
            "latest": float(self.latest),
            "status": None if self.status is None else self.status.name,
            "iterations": self.iterations,
            "since": self.since,
            "why": self.why,
            "levels": levels,
            "best": best is not None,
        }
        known = leaders if best is None else [best, *leaders]
        return lambda: Kept("record", told, {}, tuple(candidate_kept(one) for one in known))

    def go_on(self, it: Kept) -> None:
        """Know that again. What is proven about candidates of before rests on dual vectors made from them."""
        told, known = it.told, [candidate_again(one, self.problem) for one in it.inner]
        self.best = known.pop(0) if told["best"] is True else None
        self.leaders, self.latest, self.why = known, kept.real(told["latest"]), str(told["why"])
        self.status = None if told["status"] is None else Status[str(told["status"])]
        self.iterations, self.since = kept.whole(told["iterations"]), kept.whole(told["since"])
        self.evidence = Evidence(self.problem, self._evaluate)
        self.evidence.levels.go_on(told["levels"])

    def begin(self, candidate: Candidate) -> None:
        """Take an earlier answer to start from."""
        self.best = candidate
        self.evidence.see_candidate(candidate)
        self._rank(candidate)
        if not self.problem.budget.nothing_said and self.problem.meets(candidate.loss):
            self.status = Status.BOUND_MET

    def see(self, iterate: Iterate, candidate: Candidate) -> None:
        """Take one iterate and its candidate: keep the best, and end if there is nothing more to ask for."""
        self.iterations += 1
        self.iterate, self.latest = iterate, candidate.loss
        self.evidence.see(iterate)
        self.evidence.see_candidate(candidate)
        self._keep(iterate, candidate)
        self._rank(candidate)

    def _better(self, candidate: Candidate) -> bool:
        return self.best is None or self.goal.better(candidate, self.best)

    def _keep(self, iterate: Iterate, candidate: Candidate) -> None:
        if self.best is None or self._better(candidate):
            self.since, self.best = 0, candidate
            return
        before, reached = self.problem.objective(self.best), self.problem.objective(candidate)
        # factors that descend to the same loss from another start say more than a worse candidate
        again = reached <= before * (1 + SAME_LOSS) and candidate.face.turning() is not None
        tried = candidate is not iterate.primal  # or it was not worth a fit of its own
        self.since += AGAIN if again else int(tried)
        if self.goal.counts_any_fall and reached < before:
            self.best = candidate

    def _rank(self, candidate: Candidate) -> None:
        """Keep the best few candidates, the best first, for a job that has a use for them."""
        if not self.job.ranks:
            return
        known = [candidate.face.key(), *(c.face.key() for c in self.leaders)]
        if known[0] is None or known[0] not in known[1:]:
            self.leaders = sorted([*self.leaders, candidate], key=self.problem.objective)[:LEADERS]

    def judge(self) -> None:
        """Whether the run ends here for this budget, and why."""
        problem, best = self.problem, self.best
        assert best is not None
        if self.goal.enough(best):
            self.status = self._settled()
            self.why = "exact" if problem.exact(problem.objective(best)) else "isolated" if best.isolated else ""
        elif self.evidence.hopeless:
            self.status = Status.NOT_REACHED
        elif self.since >= self.goal.patience(self.job.pace.patience):
            self.status, self.why = self._settled(), "patience"
        elif problem.alpha is None and best.isolated:
            self.status, self.why = Status.SMALLEST_LOSS, "isolated"

    def stop(self, *found: Candidate | None) -> None:
        """The callback has ended the run; candidates found in the middle of some work count."""
        for candidate in found:
            self.best = self._best_with(candidate)
        self.status = Status.STOPPED

    def _best_with(self, found: Candidate | None) -> Candidate | None:
        """The best so far, what was found on the way included."""
        counts = found is not None and found.face.size and self.problem.budget.allows(found.face)
        return found if found is not None and counts and self._better(found) else self.best

    def end(self, limit: int) -> None:
        """The stream is over."""
        if self.iterations == limit:
            self.status = Status.ITERATION_LIMIT
        else:
            self.status, self.why = (self._settled() if self.job.pace.complete else Status.STREAM_ENDED), "complete"

    def _settled(self) -> Status:
        """What the end of the search means."""
        if self.problem.alpha is None:
            return Status.SMALLEST_LOSS
        return Status.BOUND_MET if self.best is not None and self.problem.meets(self.best.loss) else Status.NOT_REACHED

    def progress(self, spent: ledger.Ledger) -> Progress:
        """How far this budget is; its best is what a stop would answer with."""
        best = self._best_with(spent.found)
        return Progress(
            spent.stage, self.iterations, self.latest, spent.products, self.problem, best, self.iterate, self.evidence,
            ledger.counts(),
        )  # fmt: skip

    def answer(self, spent: ledger.Ledger) -> Solution:
        """The answer in its final form, with loss and cardinality recomputed from the compact point alone."""
        problem, status = self.problem, self.status
        assert status is not None
        if status is Status.NOT_REACHED:
            status = Status.UNREACHABLE if out_of_reach(problem) else status
        best = self.best
        if best is not None:
            last = problem.alpha is None and status is not Status.STOPPED
            leaders = self.leaders if self.leaders and last else [best]
            best = self.job.finish(problem, leaders, last=last)
        final, beside = certify(problem, best)
        self.evidence.see_candidate(final)
        status = _held(problem, status, final.loss)
        success = status is Status.ZERO or (best is not None if problem.alpha is None else problem.meets(final.loss))
        if separates(problem, final, beside):
            status, success = (status if status is Status.STOPPED else Status.SEPARABLE), False
        notes = [final.note] * bool(final.note) + self.job.notes(problem, final.face)
        misfit, told = problem.misfit_of(final), problem.beside.told(beside)
        return Solution(
            final.face,
            final.c,
            status=status,
            success=success,
            message=message(problem, status, self.goal, final, misfit, notes, self.why),
            loss=final.loss,
            misfit=misfit,
            r2=problem.r2_of(final.loss),
            beside=told,
            several=problem.measured.by_columns,
            ridge=problem.price.told(told.shrink),
            iterations=self.iterations,
            products=spent.products,
            svd_products=spent.svd_products,
            passes=spent.passes,
            certificate=Certificate.of(problem, final, self.evidence, unreachable=status is Status.UNREACHABLE),
            held_out=self.job.held_out(problem.budget),
        )


def _held(problem: Problem, status: Status, loss: float) -> Status:
    """The status, if the final loss is what it says: rounding may have taken a bound back, and a slack that a method
    adds to the bound is not the bound."""
    if status is Status.BOUND_MET and not problem.meets(loss):
        return Status.NOT_REACHED
    claims = status is Status.BOUND_MET or (status is Status.ZERO and not problem.exact(loss))
    return Status.WITHIN_SLACK if claims and problem.slack and loss > problem.tolerance else status
