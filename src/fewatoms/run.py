"""Algorithm 1 of the paper: dual vectors in, few atoms out, a certificate with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain

import numpy as np

from fewatoms import callbacks, journal, ledger
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.compressed import Found
from fewatoms.continued import answers_again, answers_kept
from fewatoms.effort import NORMAL, Effort
from fewatoms.evidence import Evidence
from fewatoms.faces import Face
from fewatoms.kept import Kept
from fewatoms.methods.base import Job, Method, Part, Sketch, choose
from fewatoms.problem import Problem
from fewatoms.reach import out_of_reach
from fewatoms.records import Progress, Record
from fewatoms.solution import Solution, Status
from fewatoms.source import Prove
from fewatoms.splits import Split

PROOFS = 1e9  # multiplications for proofs that bounds are out of reach
Callback = Callable[[Progress], object]
Parts = Callable[[int], Part | None]


class Ear:
    """A callback that remembers its stop: no budget, data vector or fold that is still to come is begun after it."""

    def __init__(self, callback: Callback) -> None:
        self._callback, self.stopped = callback, False

    def __call__(self, progress: Progress) -> None:
        book = journal.current()
        try:
            with journal.keeping(None):  # what a callback asks for is no step of the run
                self._callback(progress)
        except StopIteration:
            self.stopped = True
            if book is not None:
                book.freeze()
            raise


@dataclass(frozen=True, eq=False)
class Way:
    """How a problem is to be solved.

    methods : who is asked, in turn; the first that opens the problem serves
    """

    methods: Sequence[Method]
    start: Solution | None = None
    max_iterations: int = 10_000
    callback: Callback | None = None
    rng: object = None
    effort: Effort = NORMAL

    @cached_property
    def ear(self) -> Ear | None:
        """Who listens: one for all that is solved this way."""
        return None if self.callback is None else Ear(self.callback)

    def comparing(self, effort: Effort) -> Way:
        """The same for fits that are compared with each other: who listens is the same one."""
        other = replace(self, start=None, effort=effort)
        if self.ear is not None:
            vars(other)["ear"] = self.ear
        return other

    def listening(self) -> AbstractContextManager[object]:
        """The time in which the callback is called: one that has something to put up and take down does so."""
        return nullcontext() if self.callback is None else callbacks.entered(self.callback)

    @property
    def stopped(self) -> bool:
        """Whether the callback has ended it all."""
        return self.ear is not None and self.ear.stopped


def solve(problem: Problem, budgets: Sequence[Budget], way: Way) -> list[Solution]:
    """Find x with f(b - Mx) <= alpha made of at most k atoms, for every k: each is answered as if it were alone."""
    with closing(choose(way.methods, problem, budgets, way.effort)) as job:
        return _answers(job, budgets, way)


def solve_best(
    problem: Problem, budgets: Sequence[Budget], way: Way, patience: int
) -> tuple[Solution, dict[Budget, float]] | None:
    """The answer of the budget that predicts data held out best, the first among equals, and what they said of those
    that were tried: in turn until so many predict no better. Only the best is fitted to all data. None where nobody has
    a short way to such scores."""
    with closing(choose(way.methods, problem, budgets, way.effort)) as job:
        records, scores = [Record(problem.with_budget(budgets[0]), job)], dict[Budget, float]()
        best, lowest, since = budgets[0], math.inf, 0
        with ledger.opened(_fresh(way.rng), lambda: _tell(records, way.ear)) as spent, suppress(ledger.Stopped):
            compared = None if problem.zero_suffices else job.compared(None)
            if compared is None:
                return None
            for budget, score in compared:
                scores[budget], since = score, since + 1
                if score < lowest:
                    best, lowest, since = budget, score, 0
                if since == patience:
                    break
        (answer,) = _answers(job.narrowed(best), [best], way)
        answer.products += spent.products
        answer.passes += spent.passes
        return answer, scores


def foretold(problem: Problem, budgets: Sequence[Budget], held: IntArray, way: Way) -> FloatArray | None:
    """The root mean square errors on data held out of quick fits to the others, for every budget; None where nobody has
    a short way to them. Where the callback has ended it all, those of budgets that were not reached are nan."""
    if problem.zero_suffices:
        return None
    with closing(choose(way.methods, problem, budgets, way.effort)) as job:
        records, found = [Record(problem.with_budget(budgets[0]), job)], dict.fromkeys(budgets, math.nan)
        with ledger.opened(_fresh(way.rng), lambda: _tell(records, way.ear)), suppress(ledger.Stopped):
            compared = job.compared(held)
            if compared is None:
                return None
            found |= compared
        return np.array([found[budget] for budget in budgets])


def parted(problem: Problem, budgets: Sequence[Budget], splits: Sequence[Split], way: Way) -> Parts | None:
    """The parts that splits make of a problem, where somebody has them without going through rows for each; they are
    made when they are asked for."""
    if problem.zero_suffices:
        return None
    job = choose(way.methods, problem, budgets, way.effort)
    known, records = job.parted(splits), [Record(problem.with_budget(budgets[0]), job)]

    def part(i: int) -> Part | None:
        with ledger.opened(_fresh(way.rng), lambda: _tell(records, way.ear)), suppress(ledger.Stopped):
            return None if known is None else known(i)
        return None

    return None if known is None else part


def solve_priced(problems: Sequence[Problem], budgets: Sequence[Budget], way: Way) -> list[list[Solution]]:
    """The same problem with other prices, one after the other: what a job keeps it hands on to the next."""
    job, answers = choose(way.methods, problems[0], budgets, way.effort), []
    try:
        for i, problem in enumerate(problems):
            if problem is not problems[0]:
                fresh = job.serves(problem) or choose(way.methods, problem, budgets, way.effort)
                job.close()
                job = fresh
            with ledger.counted("ridge", i, len(problems)), ledger.step("ridge"):
                answers.append(_answers(job, budgets, way))
    finally:
        job.close()
    return answers


def sketched(problem: Problem, budgets: Sequence[Budget], ridges: Sequence[float], way: Way) -> Sketch | None:
    """Answers of every budget for each ridge, without records, for comparing; None where nobody has a short way to
    them, or the callback has ended it all."""
    with closing(choose(way.methods, problem, budgets, way.effort)) as job:
        records = [Record(problem.with_budget(budgets[0]), job)]
        with ledger.opened(_fresh(way.rng), lambda: _tell(records, way.ear)):
            found = None
            with suppress(ledger.Stopped):
                _tell(records, way.ear)  # it may be stopped before it begins
                found = None if way.stopped else job.sketched(ridges)
                _tell(records, way.ear)
            return found


def solve_each(problems: Iterable[Problem], way: Way, total: int = 1) -> Iterator[Solution]:
    """One problem for several data vectors: what a job keeps for one of them it hands on to the next."""
    job: Job | None = None
    try:
        for i, problem in enumerate(problems):
            next_job = None if job is None else job.serves(problem)
            if job is not None:
                job.close()
            job = choose(way.methods, problem, [problem.budget], way.effort) if next_job is None else next_job
            with ledger.counted("data vector", i, total), ledger.step("data vector"):
                answers = _answers(job, [problem.budget], way)
            yield from answers
    finally:
        if job is not None:
            job.close()


def solve_together(problem: Problem, data: Array, way: Way) -> tuple[Found, int] | None:
    """One problem for several data vectors, the columns of `data`, at once, and the products that took; None where each
    has to be solved by itself."""
    if way.start is not None:
        return None
    with (
        closing(choose(way.methods, problem, [problem.budget], way.effort)) as job,
        ledger.opened() as spent,
        ledger.step("data vectors") as here,
    ):
        together = job.together(data.shape[1])
        if together is None:
            return None
        found = [] if here.found is None else [together.skipped(data[:, :1]).again(here.found)]
        done = sum(map(len, found))
        with closing(together.blocks(data[:, done:])) as blocks:
            for block in chain([None], blocks):  # the callback may stop it before it begins
                if block is not None:
                    found.append(block)
                    done += len(block)
                    here.mark(lambda: Found.joined(found).kept())
                spent.stage = f"data vector {done} of {data.shape[1]}"
                with ledger.counted("data vector", done, data.shape[1]):
                    if way.stopped or not _heard(problem, data[:, :done], block, spent, way.ear):
                        break
        if done < data.shape[1]:
            found.append(together.skipped(data[:, done:]))
        return _proven(Found.joined(found), problem, data), spent.products


def _proven(found: Found, problem: Problem, data: Array) -> Found:
    """With bounds that are out of reach, if that is not too dear to prove."""
    missed = np.flatnonzero(~(np.isnan(found.alpha) | found.met | found.zero | found.stopped | found.bad | found.left))
    if missed.size * float(problem.m) * problem.M.shape[1] ** 2 <= PROOFS:
        for i in missed:
            found.unreachable[i] = out_of_reach(problem.with_data(data[:, i]))
    return found


def _heard(problem: Problem, data: Array, block: Found | None, spent: ledger.Ledger, ear: Ear | None) -> bool:
    """Show the callback the last answer of a block; whether it wants more."""
    if ear is None:
        return True
    candidate = None
    if block is not None and not block.bad.all():
        i, held = int(np.flatnonzero(~block.bad)[-1]), block.held
        problem = problem.with_data(data[:, i - len(block)])
        face, c = held.face(i), held.c[held.starts[i] : held.starts[i + 1]]
        candidate = Candidate(float(block.loss[i]), face.gauge(c), lambda: (face, c), lambda: problem.b)
    loss = problem.at_zero if candidate is None else candidate.loss
    try:
        seen = spent.stage, data.shape[1], loss, spent.products, problem, candidate, None, Evidence(problem)
        ear(Progress(*seen, ledger.counts()))
    except StopIteration:
        return False
    return True


def proving(way: Way) -> Prove:
    """What makes the evidence about an answer that was found before: as the run that found it would have."""

    def prove(problem: Problem, face: Face, c: FloatArray) -> Evidence | None:
        job = choose(way.methods, problem, [problem.budget], way.effort)
        if not job.retells:
            return None

        def evaluate(iterate: Iterate) -> DualPoint:
            with closing(job):
                at = job.reached(face, c)
                if at.primal is not None:
                    evidence.see_candidate(at.primal)
                return job.evaluate(at)

        evidence = Evidence(problem, evaluate)
        evidence.see(Iterate(worth=0.0))
        return evidence

    return prove


def _answers(job: Job, budgets: Sequence[Budget], way: Way) -> list[Solution]:
    answers: dict[Budget, Solution] = {}
    courses = job.courses()  # budgets that one stream of dual vectors serves
    for i, course in enumerate(courses):
        with ledger.counted("budget", i, len(courses)), ledger.step("budget") as here:
            if here.found is None:
                found = _solved(job, course, way)
                if here.live:
                    here.mark(partial(answers_kept, found, job.snapshot()))
            else:
                found, handed = answers_again(here.found, job.problem)
                if handed is not None:
                    job.restore(handed)
            answers |= zip(course, found, strict=True)
    return [answers[budget] for budget in budgets]


def _solved(job: Job, course: Sequence[Budget], way: Way) -> list[Solution]:
    """Algorithm 1."""
    records = [Record(job.problem.with_budget(job.settled(k)), job) for k in course]
    with ledger.opened(_fresh(way.rng), lambda: _tell(_live(records), way.ear)) as spent:
        spent.witness = _Witness(records, job)
        try:
            if way.stopped:
                raise ledger.Stopped
            with ledger.step("beginning"):
                records[:] = _begun(job, records, course, way.start)
            for iterate in job.iterates(course) if _live(records) else ():  # y <- oracle
                for record in _live(records):
                    x = job.retrieve(iterate, record.problem.budget)  # x <- (PR), at most k atoms
                    record.see(iterate, x)  # keep the best, and what is proven
                spent.tell()
                for record in _live(records):
                    record.judge()  # f(b - Mx) <= alpha?
                if not _live(records) or _live(records)[0].iterations >= way.max_iterations:
                    break
            for record in _live(records):
                record.end(way.max_iterations)
        except ledger.Stopped:
            spent.hear = None
            for record in _live(records):
                record.stop(spent.found, job.so_far(record.problem.budget))
        return [_answered(record, spent, way.ear) for record in records]


@dataclass(frozen=True)
class _Witness:
    """The records of a course, and its job, who see what its stream has yielded: a run that goes on has seen it as
    well."""

    records: list[Record]
    job: Job

    def noted(self) -> Callable[[], Kept]:
        each, more = [record.noted() for record in self.records], self.job.noted()
        return lambda: Kept("records", {}, {}, (*(one() for one in each), *(() if more is None else (more(),))))

    def go_on(self, it: Kept) -> None:
        for record, known in zip(self.records, it.inner, strict=False):
            record.go_on(known)
        for known in it.inner[len(self.records) :]:
            self.job.go_on(known)


def _begun(job: Job, records: list[Record], course: Sequence[Budget], start: Solution | None) -> list[Record]:
    """What was left to us is settled, and an earlier answer is taken up."""
    problem = job.decide(course)
    if problem is not job.problem:
        records = [Record(problem.with_budget(job.settled(k)), job) for k in course]
    for record in _live(records):
        candidate = None if start is None else job.begin(start, record.problem)
        if candidate is not None:
            record.begin(candidate)
    return records


def _live(records: list[Record]) -> list[Record]:
    return [record for record in records if record.status is None]


def _tell(records: list[Record], callback: Callback | None) -> None:
    """Show the callback how far each budget is."""
    if callback is None:
        return
    spent = ledger.current()
    for record in records:
        try:
            callback(record.progress(spent))
        except StopIteration:
            raise ledger.Stopped from None


def _answered(record: Record, spent: ledger.Ledger, callback: Callback | None) -> Solution:
    """The last polish may be stopped as well; the answer is then made without it."""
    stopped = record.status is Status.STOPPED
    spent.hear, spent.found = None if stopped else lambda: _tell([record], callback), None
    try:
        return record.answer(spent)
    except ledger.Stopped:
        spent.hear = None
        record.stop(spent.found)
        return record.answer(spent)


def _fresh(rng: object) -> object:
    """A generator in the same state for every course: each budget is answered as if it were alone."""
    return deepcopy(rng)
