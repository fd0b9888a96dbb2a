"""Low rank plus sparse: a matrix, seen whole or in part, as few rank-one matrices and few entries.

`roles` tells the parts apart, `matrix` keeps the data, `trimming` keeps to budgets, `splitting` solves the relaxation.
`standing` finds L where nobody says how many entries there are, with `reweighted` where matrices are small, `held_out`
the rank where nobody says that, `taken_back` what was given up though it can be explained.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fewatoms import words
from fewatoms.budget import Budget
from fewatoms.candidates import DualPoint, Iterate
from fewatoms.capabilities import SeenAsIs
from fewatoms.faces import Face
from fewatoms.goals import Goal, SmallestGauge
from fewatoms.methods.base import Job, Method
from fewatoms.methods.separation.matrix import Kept, Mixture
from fewatoms.methods.separation.roles import Roles
from fewatoms.methods.separation.splitting import Ends, Splitting
from fewatoms.methods.separation.trimming import Trimming
from fewatoms.methods.sums import SumJob, dual_of, plain_squares, weights_differ
from fewatoms.problem import Problem


@dataclass(frozen=True)
class Separation(Method):
    """A sum or union of rank-one matrices and matrix entries, data that are entries, least squares or Huber's loss.

    With budgets, given or left open: `trimming`. A union without any k is principal component pursuit, (P3) itself:
    `splitting`; for least squares, not with weights that differ.

    trimming, splitting : how these are done
    counted, open_ended, pursued : arrays of the size of the data, beside these, that steps take where all budgets are
        numbers; where one is left open, or the loss is not squares; where the relaxation itself is asked for. Measured
        from 1000 x 1000 to 10000 x 1000: 3.2, 6.2 and 9
    narrow : columns, of the shorter side, up to which matrices of this form can be held
    empty : times the entries seen: the largest matrix that is filled in for them
    """

    trimming: Trimming = field(default_factory=Trimming)
    splitting: Splitting = field(default_factory=Splitting)
    counted: float = 3.6
    open_ended: float = 6.8
    pursued: float = 9.5
    narrow: int = 20_000
    empty: int = 20

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        roles = Roles.of(problem.atoms)
        if roles is None or not plain_squares(problem, huber=True) or min(problem.atoms.shape) > self.narrow:
            return None
        if problem.M.offers(SeenAsIs) is None or problem.M.shape[1] > self.empty * problem.M.shape[0]:
            return None
        job = SeparationJob(problem, budgets, self, roles)
        pursued = any(map(job.pursues, budgets))
        if pursued and not problem.loss.squares:
            return None
        if pursued and weights_differ(problem):
            raise ValueError(
                f"k must give one budget for each of the 2 parts of {problem.atoms!r} where data have weights: without "
                "it principal component pursuit is asked for, which takes data of equal weight; got None"
            )
        return job


class SeparationJob(SumJob):
    """The data are split once, and kept for all budgets."""

    remedy = "separate some of the rows or columns at a time, or use a machine with more memory"

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: Separation, roles: Roles) -> None:
        super().__init__(problem, budgets)
        self.method, self.roles, self.kept = method, roles, Kept(problem)
        self._ends: Ends | None = None  # of a pursuit
        self._posed: dict[Budget, Problem] = {}

    def needs(self) -> dict[str, float]:
        """The data filled in, arrays of their size that steps take, and in a pursuit those of the shorter side."""
        problem, method = self.problem, self.method
        size, side = 8.0 * math.prod(problem.atoms.shape), 8.0 * min(problem.atoms.shape) ** 2
        pursued = any(map(self.pursues, self.budgets))
        numbers = all(None not in (part.most for part in k.for_parts(2)) for k in map(self.settled, self.budgets))
        steps = method.pursued if pursued else method.counted if numbers and problem.loss.squares else method.open_ended
        masks = (0.125 if problem.m < size / 8 else 0.0) + (1.0 if problem.loss.weights is not None else 0.0)
        needs = {"the matrix": size * (1 + masks), "residuals and steps": size * steps}
        return needs | ({"products of its shorter side": 7 * side} if pursued else {})

    def pursues(self, budget: Budget) -> bool:
        """Whether the relaxation itself is asked for."""
        return budget.nothing_said and self.problem.atoms.gauges_add

    def settled(self, budget: Budget) -> Budget:
        return budget if self.pursues(budget) else super().settled(budget)

    def decide(self, course: Sequence[Budget]) -> Problem:
        """Pursuit needs a bound."""
        (budget,) = course
        if budget not in self._posed:
            problem = self.problem.with_budget(self.settled(budget))
            unbounded = self.pursues(budget) and problem.alpha is None
            self._posed[budget] = problem.bounded(misfit=self.method.splitting.misfit) if unbounded else problem
        return self._posed[budget]

    def goal(self, problem: Problem) -> Goal:
        return SmallestGauge(problem) if self.pursues(problem.budget) else super().goal(problem)

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        mixture = Mixture(self.decide(course), self.roles, self.kept)
        if self.pursues(course[0]):
            self._ends = Ends()
            return self.method.splitting.iterates(mixture, self._ends)
        return self.method.trimming.iterates(mixture)

    def notes(self, problem: Problem, face: Face) -> list[str]:
        ends, tol = self._ends, self.method.splitting.tol
        chosen = self._rank_chosen(problem, face) if ends is None else []
        missed = [] if ends is None or ends.gap <= tol else [words.gap_missed(ends.gap, tol, low=not ends.not_low)]
        return super().notes(problem, face) + chosen + missed

    def _rank_chosen(self, problem: Problem, face: Face) -> list[str]:
        low = self.roles.low
        if problem.alpha is not None or problem.budget.for_parts(2)[low].most is not None:
            return []
        return [words.rank_chosen(face.parts[low].size, held_out=problem.m > self.method.trimming.small)]

    def evaluate(self, iterate: Iterate) -> DualPoint:
        if iterate.dual is not None:
            return iterate.dual
        assert isinstance(iterate.at, Problem)
        assert iterate.primal is not None
        return dual_of(iterate.at, iterate.primal)

    def forget(self) -> None:
        self.kept.forget()


__all__ = ["Separation", "Splitting", "Trimming"]
