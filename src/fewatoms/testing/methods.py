"""Does a method keep its contract?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fewatoms import ledger
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate
from fewatoms.methods import Job, Method
from fewatoms.problem import Problem
from fewatoms.records import Progress
from fewatoms.run import Callback, Way, solve
from fewatoms.solution import Solution, Status
from fewatoms.testing.saying import at_most, equal, require

LOOSER = 1.5  # a bound that an answer is known to meet, as a multiple of its loss


class Watched(Method):
    """Another method, with the jobs that it opened."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.jobs: list[Job] = []

    def __repr__(self) -> str:
        return repr(self.method)

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        job = self.method.open(problem, budgets)
        self.jobs += [] if job is None else [job]
        return job


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of one method, after each of which its jobs must be closed."""

    method: Watched
    max_iterations: int
    rng: object

    def solved(self, problem: Problem, callback: Callback | None = None) -> Solution:
        """The answer of one run."""
        way = Way([self.method], max_iterations=self.max_iterations, callback=callback, rng=self.rng)
        try:
            (answer,) = solve(problem, [problem.budget], way)
        finally:
            jobs, self.method.jobs = self.method.jobs, []
            still = sum(not job.closed for job in jobs)
            require(not still, "jobs are closed when the run is over", f"{still} of {len(jobs)} are open")
        return answer


class OutOfOrder(Exception):
    """What a callback of the checker raises."""


def check_method(
    method: Method,
    problems: Problem | Sequence[Problem],
    rng: object = None,
    *,
    tol: float = 1e-8,
    max_iterations: int = 1000,
) -> None:
    """Check a method by short runs over problems that are its own.

    `open` makes no products;  candidates keep their budget, and have the loss and gauge that they claim;  what is
    answered is the best that was seen;  a bound is met by what is called a success, and is a success where it is met;
    a callback that stops the run gets the best so far;  other exceptions pass through;  jobs are closed in all cases;
    a counter around M agrees with the products told;  the same seed, the same answer.

    Parameters
    ----------
    method : Method
    problems : Problem, or several
        Each one that the method opens, with its budget; small ones do.
    rng : seed, optional
    tol : float
        Relative.
    max_iterations : int
        Iterates of a run at most.
    """
    for problem in [problems] if isinstance(problems, Problem) else problems:
        runs = Runs(Watched(method), max_iterations, rng)
        _check_opening(method, problem)
        answer = _check_run(problem, runs, tol)
        _check_tally(problem, runs, answer, tol)
        _check_bound(problem, runs, answer, tol)
        _check_stopping(problem, runs, tol)
        _check_raising(problem, runs)


def _check_opening(method: Method, problem: Problem) -> None:
    with ledger.opened(0) as spent:
        job = method.open(problem, [problem.budget])
    require(job is not None, "open(problem, budgets) gives a job for its own problems", f"None for {problem!r}")
    assert job is not None
    require(isinstance(job, Job), "open gives a Job", f"{type(job).__name__}")
    require(spent.products == 0, "open makes no products", f"{spent.products} products")
    job.close()
    require(job.closed, "close() closes the job", "closed is False")


def _check_run(problem: Problem, runs: Runs, tol: float) -> Solution:
    """A run to its end; every candidate that a callback sees is checked."""
    reached: list[float] = []

    def look(progress: Progress) -> None:
        if progress.candidate is not None:
            with ledger.opened(0):  # what checking costs is not the method's
                _check_candidate(progress.candidate, progress.problem, tol)
            reached.append(progress.problem.objective(progress.candidate))

    before = problem.b.copy()
    answer = runs.solved(problem, look)
    require(np.array_equal(problem.b, before), "the data stay as they are", "they were modified")
    _check_answer(answer, tol)
    if problem.alpha is None and reached:
        best = min(reached)
        at_most("the answer is the best that was seen", answer.objective, best, best + problem.at_zero, tol)
    return answer


def _check_candidate(candidate: Candidate, problem: Problem, tol: float) -> None:
    face, c = candidate.face, candidate.c
    allowed = problem.budget.allows(face)
    require(allowed, "candidates keep the budget", f"{face.size} atoms for k = {problem.k}")
    left = problem.b - problem.M.apply(face.point(c))
    loss, size = problem.loss.value(left), problem.at_zero
    if problem.plain:
        equal("a candidate's loss is that of its point", candidate.loss, loss, size + loss, tol)
    else:  # what stands beside the atoms need not be the best yet
        at_most("a candidate's loss is no less than that of its point", loss, candidate.loss, size + loss, tol)
    gauge = face.gauge(c)
    equal("a candidate's gauge is that of its representation", candidate.gauge, gauge, gauge, tol)
    if problem.ridged is not None and candidate.squares is not None:
        squares = problem.ridged.squares(face, c)
        equal("its squares are those of coefficients of images of length 1", candidate.squares, squares, squares, tol)


def _check_answer(answer: Solution, tol: float) -> None:
    """The answer against its own certificate's problem, which has what the run settled."""
    problem = answer.certificate.problem
    face, c = answer.compact
    allowed = problem.budget.allows(face)
    require(allowed, "answers keep the budget", f"{face.size} atoms for k = {problem.k}")
    with ledger.opened(0):
        loss = problem.loss.value(problem.b - problem.M.apply(face.point(c)))
    equal("the answer's loss is that of its point", answer.loss, loss, problem.at_zero + loss, tol)
    if problem.alpha is not None:
        met = problem.meets(answer.loss)
        told = f"loss {answer.loss:.17g} against alpha {problem.alpha:.17g}, success is {answer.success}"
        require(answer.success == met, "success means that the bound is met", told)


def _check_tally(problem: Problem, runs: Runs, answer: Solution, tol: float) -> None:
    """Products told against a counter around M; and the same seed, the same answer."""
    measured, counter = problem.measured.counted()
    again = runs.solved(replace(problem, measured=measured).paying(problem.price, problem.beside))
    told = f"{again.products} told, {counter.products} counted"
    require(again.products == counter.products, "products are all counted", told)
    equal("the same seed gives the same answer", again.loss, answer.loss, problem.at_zero, tol)


def _check_bound(problem: Problem, runs: Runs, answer: Solution, tol: float) -> None:
    """The same problem with a bound that the answer is known to meet, if the method is for bounds too."""
    if problem.alpha is not None or answer.loss == 0 or problem.price.ridge != 0:
        return
    bounded = problem.bounded(LOOSER * answer.loss)
    job = runs.method.method.open(bounded, [bounded.budget])
    if job is None:
        return
    job.close()
    found = runs.solved(bounded)
    _check_answer(found, tol)
    told = f"status {found.status.name} with loss {found.loss:.6g}, bound {bounded.alpha:.6g}"
    require(found.success, "a bound that can be met is met", told)


def _check_stopping(problem: Problem, runs: Runs, tol: float) -> None:
    """A callback that ends the run: at once, and when the second candidate has been seen."""
    for calls in (1, 2):
        seen: list[float] = []

        def stop(progress: Progress, seen: list[float] = seen, calls: int = calls) -> None:
            seen.append(progress.problem.objective(progress.candidate) if progress.candidate else problem.at_zero)
            if len(seen) == calls:
                raise StopIteration

        answer = runs.solved(problem, stop)
        _check_answer(answer, tol)
        if len(seen) < calls:
            return  # it was over before
        stopped = answer.status is Status.STOPPED
        require(stopped, "StopIteration ends the run", f"status {answer.status.name}")
        if problem.alpha is None:
            found = answer.objective
            at_most("a run that is stopped answers with the best so far", found, seen[-1], problem.at_zero, tol)


def _check_raising(problem: Problem, runs: Runs) -> None:
    """Other exceptions of a callback pass through, and leave no job open."""

    def fail(progress: Progress) -> None:
        raise OutOfOrder

    try:
        runs.solved(problem, fail)
    except OutOfOrder:
        return
    require(problem.zero_suffices, "exceptions of a callback pass through", "the run went on")
