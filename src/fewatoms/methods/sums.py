"""What jobs over sums and unions of sets share: a stream per budget, whose own points keep it."""

from __future__ import annotations

from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.faces import Face
from fewatoms.goals import FewestNumbers, Goal, Latest
from fewatoms.methods.base import Job, Pace
from fewatoms.methods.general import twin_parts
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3
from fewatoms.retrieval import reduced_fit
from fewatoms.solution import Solution

NORMAL_MEDIAN = 1.4826  # standard deviations of a normal number, in units of the median of its size


class SumJob(Job):
    """Budgets of parts may be left open; where nothing is said of them, they all are."""

    pace = Pace(patience=1_000_000, complete=True)  # streams end by themselves

    def courses(self) -> list[list[Budget]]:
        return [[budget] for budget in self.budgets]

    def settled(self, budget: Budget) -> Budget:
        return Budget(parts=budget.for_parts(len(self.problem.atoms.parts))) if budget.nothing_said else budget

    def begin(self, start: Solution, problem: Problem) -> Candidate | None:
        face, c = start.compact
        return reduced_fit(problem, face if problem.budget.allows(face) else face.prune(c, problem.k)[0])

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        assert iterate.primal is not None
        return iterate.primal

    def goal(self, problem: Problem) -> Goal:
        if not problem.budget.parts or not problem.budget.open:
            return super().goal(problem)
        return Latest(problem) if problem.alpha is None else FewestNumbers(problem)

    def notes(self, problem: Problem, face: Face) -> list[str]:
        return twin_parts(problem)


def dual_of(problem: Problem, candidate: Candidate) -> DualPoint:
    """The dual point of a residual: of (P3) with a bound, otherwise of (P1) at the penalty for which it is feasible."""
    y = problem.loss.gradient(candidate.residual)
    z = problem.M.adjoint(y)
    sigma = problem.atoms.ceiling(z)
    relaxation = P1(problem, sigma) if problem.alpha is None else P3(problem)
    return DualPoint(y, z, sigma, relaxation, candidate.loss, candidate.gauge, candidate)


def plain_squares(problem: Problem, *, huber: bool = False) -> bool:
    """Whether least squares is all there is: nothing beside the atoms, nothing that coefficients pay.

    huber : whether squares that become linear will do as well
    """
    price, loss = problem.price, problem.loss
    return (
        (loss.squares or (huber and loss.linear_beyond is not None))
        and problem.plain
        and price.ridge == 0
        and price.cap is None
    )


def weights_differ(problem: Problem) -> bool:
    """Whether some data count more than others: weights that are all equal are a unit."""
    w = problem.loss.weights
    return w is not None and bool(w.min() < w.max())
