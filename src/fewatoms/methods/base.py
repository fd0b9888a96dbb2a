"""The contract of methods, and the one choice among them.

A method is frozen settings. It opens a problem that is its own: the job that it returns owns everything that one run
keeps (images, entries in both orders, split data), and is closed by the run. Methods are asked in turn, and the first
that opens serves; nothing else in the package decides how a problem is solved.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fewatoms._types import FloatArray, IntArray
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, Compact, DualPoint, Iterate
from fewatoms.compressed import Together
from fewatoms.effort import NORMAL, Effort
from fewatoms.faces import Face
from fewatoms.goals import Goal, LowestLoss, MeetBound
from fewatoms.kept import Kept
from fewatoms.memory import afford_fit
from fewatoms.problem import Problem
from fewatoms.splits import Split

if TYPE_CHECKING:
    from fewatoms.solution import Solution


class Method(ABC):
    """Who solves what: frozen settings, and this one question."""

    @abstractmethod
    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        """A job for this problem and these budgets, or None where they are not this method's. Cheap: no products."""

    def at(self, effort: Effort) -> Method:
        """The same with another effort: itself, where there is nothing to spare and nothing to add."""
        return self


Sketch = dict[float, list[Compact]]  # for each ridge, an answer of every budget


@dataclass(frozen=True)
class Pace:
    """How long a run goes on.

    patience : iterates without a better answer that are enough
    complete : whether the end of the stream means that all there is has been tried
    """

    patience: int = 200
    complete: bool = False


@dataclass(frozen=True, eq=False)
class Part:
    """A problem without the rows held out, in a small place, and the loss of its answers on these."""

    problem: Problem
    loss: Callable[[Compact], float]


class Job(ABC):
    """One run of a method. A method of one's own writes `iterates` and `retrieve`; the rest has its use elsewhere."""

    pace = Pace()
    ranks = False  # whether `finish` has a use for more than the best candidate
    closed = False
    spreads = False  # whether it knows residuals and y that are no arrays, see `spread`
    remedy = "take fewer data, or a machine with more memory"  # where it needs more memory than there is
    retells = False  # whether `reached` knows the way back to an answer

    def __init__(self, problem: Problem, budgets: Sequence[Budget]) -> None:
        self.problem, self.budgets = problem, list(budgets)

    def needs(self) -> Mapping[str, float]:
        """About how many bytes the run takes at most beside M and b, by what they are for; nothing where that is little
        beside those. By arithmetic alone: it is asked before any work, and more than is free is refused."""
        return {}

    def courses(self) -> list[list[Budget]]:
        """Budgets that one stream of iterates serves together: all of them, unless the stream depends on the budget."""
        return [self.budgets]

    def settled(self, budget: Budget) -> Budget:
        """A budget as it is worked with and told: what was asked for, unless something was left to us."""
        return budget

    def decide(self, course: Sequence[Budget]) -> Problem:
        """Settle what was left to us (a ridge, a bound), and return the problem that this course solves."""
        return self.problem

    def begin(self, start: Solution, problem: Problem) -> Candidate | None:
        """An earlier answer over the same set, brought to this problem and its budget; None if it is taken up by the
        stream itself, or no use."""
        return None

    @abstractmethod
    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        """The stream of a course: dual vectors, or points that know theirs."""

    @abstractmethod
    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        """A candidate with no more atoms than the budget allows."""

    def so_far(self, budget: Budget) -> Candidate | None:
        """What the work under way has for a budget, where it is stopped between two iterates; None if nothing, or if
        that was told already (`ledger.keep`)."""
        return None

    def goal(self, problem: Problem) -> Goal:
        """What counts as better, and as enough, for a problem with its budget."""
        return LowestLoss(problem) if problem.alpha is None else MeetBound(problem)

    def finish(self, problem: Problem, leaders: Sequence[Candidate], *, last: bool) -> Candidate:
        """The final form of the best candidates of a run, best first; `last` says that they are worth a last polish."""
        return leaders[0]

    def evaluate(self, iterate: Iterate) -> DualPoint:
        """The dual point of an iterate that came without it."""
        assert iterate.dual is not None
        return iterate.dual

    def notes(self, problem: Problem, face: Face) -> list[str]:
        """What has to be said beside the status of an answer with these atoms."""
        return []

    def held_out(self, budget: Budget) -> float | None:
        """Where a ridge was chosen by entries held out, the root mean square error there; 1 - NDCG for clicks."""
        return None

    def serves(self, problem: Problem) -> Job | None:
        """A job for the same problem with other data that takes over what this one keeps; None if nothing is shared."""
        return None

    def together(self, count: int) -> Together | None:
        """Who answers to so many data vectors at once, each as if it were alone; None where nothing is gained by
        that."""
        return None

    def reached(self, face: Face, c: FloatArray) -> Iterate:
        """The iterate of an answer that was found before, with the answer as its primal point, for `evaluate`."""
        raise NotImplementedError

    def compared(self, held: IntArray | None) -> Iterator[tuple[Budget, float]] | None:
        """Budgets with their root mean square errors on data held out of quick fits, one after the other: on these, or
        on some of its own choice, by which it may settle a ridge as well. None where there is no shorter way than to
        fit to parts of the data."""
        return None

    def narrowed(self, budget: Budget) -> Job:
        """This job for one of its budgets alone, with what was settled for it."""
        self.budgets = [budget]
        return self

    def parted(self, splits: Sequence[Split]) -> Callable[[int], Part | None] | None:
        """Who knows the part of the problem that each split leaves without going through its rows again; None where
        nobody does."""
        return None

    def sketched(self, ridges: Sequence[float]) -> Sketch | None:
        """For comparing only: for each ridge an answer of every budget, without records; None where there is no
        shorter way than to solve for them."""
        return None

    def snapshot(self) -> Kept | None:
        """What this job hands on from one course to the next, for a run that is killed and gone on with: None where
        courses have nothing to do with each other. Inside a course long work keeps its own steps (`ledger.step`)."""
        return None

    def restore(self, handed: Kept) -> None:
        """Go on as whoever told that `snapshot`: courses before are not run again."""
        return None

    def noted(self) -> Callable[[], Kept] | None:
        """Note what `retrieve` keeps from one iterate to the next, whenever a step of the stream is marked, so that a
        run that goes on there knows it again; None where that is nothing."""
        return None

    def go_on(self, it: Kept) -> None:
        """Know that again."""
        return None

    def forget(self) -> None:
        """Let go of what the run kept: nothing here. What is asked for afterwards is made anew."""
        return None

    def close(self) -> None:
        """The run is over."""
        self.closed = True
        self.forget()


def choose(methods: Sequence[Method], problem: Problem, budgets: Sequence[Budget], effort: Effort = NORMAL) -> Job:
    """The job of the first of these methods that opens the problem."""
    for method in methods:
        job = (method if effort == NORMAL else method.at(effort)).open(problem, budgets)
        if job is not None and not (problem.measured.arrays or job.spreads):
            background = problem.measured.background
            told = f"Sampling(..., background={background:g})" if background else repr(problem.measured)
            raise ValueError(
                f"{told} is for RankOne(p, q) or a multiple of it, a number of atoms k or a bound, and the default "
                f"method, Completion(); got {problem!r} and {method!r}, which wants residuals and y as arrays"
            )
        if job is not None:
            afford_fit(job.needs(), job.remedy)
            return job
    asked = ", ".join(map(repr, methods))
    raise ValueError(f"method must be one for this problem; {asked} is not one for {problem!r}")
