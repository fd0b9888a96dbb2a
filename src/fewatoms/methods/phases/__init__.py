"""Positive semidefinite matrices from quadratic measurements: phase retrieval, distances, covariance sketches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from fewatoms import kept, ledger, words
from fewatoms._types import FloatArray
from fewatoms.asked import plain_budget, read_budget
from fewatoms.budget import Budget
from fewatoms.candidates import Candidate, Iterate
from fewatoms.capabilities import Intensities, Semidefinite, need
from fewatoms.continued import found_once
from fewatoms.faces import Face, SymmetricTurning, Turning
from fewatoms.goals import FewestAtoms, Goal
from fewatoms.kept import Kept, Plain
from fewatoms.methods.base import Job, Method
from fewatoms.methods.general import General, GeneralJob
from fewatoms.methods.phases.amplitudes import AmplitudeFlow, Amplitudes
from fewatoms.oracles import Oracle
from fewatoms.problem import Problem
from fewatoms.retrieval import Exchange, Retrieval, Turn
from fewatoms.retrieval.polish import Measuring, Pull


@dataclass(frozen=True, eq=False)
class Phases(Method):
    """The general stream of dual vectors, and a retrieval that turns factors along amplitudes first, then on the loss.

    Traps are many and the best answer is one. So the first candidate of a budget descends from several places; where
    two or three of them end alike, the search is over. Later candidates descend from where they are.

    oracle : where dual vectors come from; by default as for `General`
    flow : how descents on amplitudes go
    agree : relative; losses this close are one answer
    scarce : share of the data beyond the number of unknowns below which traps are met twice, so that three descents
        must agree instead of two
    outstanding : an answer whose least atom is worth this many times all that is left to explain is not searched
        further
    """

    oracle: Oracle | None = None
    flow: AmplitudeFlow = field(default_factory=AmplitudeFlow)
    agree: float = 1e-5
    scarce: float = 0.6
    outstanding: float = 12.0

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        inside = problem.atoms.unwrapped()
        shaped = problem.M.offers(Intensities) is not None and inside.inner.offers(Semidefinite) is not None
        if not shaped or inside.maps or inside.scale < 0 or not problem.plain:
            return None
        if not problem.loss.anchored or problem.price.ridge != 0:
            return None  # amplitudes fit data by a residual of zero, and know no price
        if problem.alpha is None and any(k.open for k in budgets):
            return None
        refuse_negative(problem)
        return PhasesJob(problem, budgets, self)


def refuse_negative(problem: Problem) -> None:
    """Noise makes some intensities negative, not all of them."""
    largest = float(problem.data.max())
    if problem.M.offers(Intensities) is not None and largest <= 0 and problem.data.any():
        raise ValueError(
            "b must have a positive entry, the intensities of a positive semidefinite matrix are not negative; "
            f"got {problem.m} entries of at most {largest:.3g}"
        )


class PhasesJob(GeneralJob):
    """Works over the semidefinite set itself; a positive multiple of it is put around what was found.

    amplitudes : of each budget that has tried all starts
    """

    def __init__(self, problem: Problem, budgets: Sequence[Budget], method: Phases) -> None:
        super().__init__(problem, budgets, General(method.oracle))
        self.method = method
        self.scale, self.inside = problem.atoms.unwrapped().scale, problem.over(problem.atoms.unwrapped().inner)
        self.M, self.atoms = need(problem.M, Intensities), need(self.inside.atoms, Semidefinite)
        self.by_factors = FactorTurn(M=self.M)
        self.settle: Callable[[Problem, Candidate], Candidate] = self.by_factors.settle
        self.retrieval = Retrieval(polish=Exchange(turn=self.turned))
        self.amplitudes: dict[Budget, Amplitudes] = {}
        self.begun: set[Budget] = set()  # of which all starts were tried before a kill
        self.dice: Callable[[], np.random.Generator] = np.random.default_rng

    def noted(self) -> Callable[[], Kept]:
        known = super().noted()
        told: list[Plain] = [plain_budget(budget) for budget in {*self.amplitudes, *self.begun}]
        return lambda: Kept("phases", {"begun": told}, {}, (known(),))

    def go_on(self, it: Kept) -> None:
        super().go_on(it.inner[0])
        self.begun = {read_budget(budget) for budget in kept.rows(it.told["begun"])}

    def iterates(self, course: Sequence[Budget]) -> Iterator[Iterate]:
        self.dice = ledger.dice()  # each budget draws as if it were alone
        return super().iterates(course)

    def retrieve(self, iterate: Iterate, budget: Budget) -> Candidate:
        dual = iterate.dual
        assert dual is not None

        if not budget.open:
            return self._around(self.retrieval.retrieve(self.asked(budget).over(self.inside.atoms), dual))

        def with_most(k: int) -> Candidate:  # too few atoms are many of those that are asked for: no search is long
            return self.retrieval.retrieve(self.asked(Budget(k)).over(self.inside.atoms).bounded(), dual)

        return self._around(self.few.retrieve(with_most))

    def goal(self, problem: Problem) -> Goal:
        return FewestAtoms(problem, at_once=True) if problem.budget.open else super().goal(problem)

    def _around(self, found: Candidate) -> Candidate:
        """A candidate over the set that was asked for."""
        if self.scale == 1.0:
            return found
        face, c = self.problem.atoms.around(found.face), found.c / self.scale
        return replace(found, gauge=face.gauge(c), make=lambda: (face, c))

    def _keep(self, found: Candidate) -> None:
        """Note a candidate that is better than what this piece of work has found so far."""
        known = ledger.current().found
        if known is None or found.loss < known.loss:
            ledger.keep(self._around(found))

    def forget(self) -> None:
        self.amplitudes.clear()

    def turned(self, problem: Problem, candidate: Candidate) -> Candidate:
        """Descend on amplitudes, then on the loss: from several starts the first time, from the candidate later."""
        settle, method, budget = self.settle, self.method, problem.budget
        ledger.keep(self._around(candidate))
        if _ends(problem, candidate.loss):
            return candidate
        first = budget not in self.amplitudes and budget not in self.begun
        if budget not in self.amplitudes:
            self.amplitudes[budget] = Amplitudes(problem, self.M, self.atoms, method.flow, self.dice, self._keep)
        amplitudes = self.amplitudes[budget]
        best, losses, agreed = candidate, [], False
        for start in amplitudes.starts(candidate, all_of_them=first):
            self._keep(start)
            trial = found_once("descent", problem, partial(settle, problem, start))
            if trial.loss < best.loss:
                best = trial
                self._keep(best)
            losses.append(trial.loss)
            alike = sum(loss <= best.loss * (1 + method.agree) for loss in losses)
            agreed = alike >= (2 if amplitudes.spare(best.face) > method.scarce else 3)
            if agreed or _ends(problem, best.loss):
                break
        if best is candidate:
            best = settle(problem, candidate)
        return replace(best, isolated=agreed or amplitudes.margin(best) >= method.outstanding)

    def notes(self, problem: Problem, face: Face) -> list[str]:
        negative, told = int(np.count_nonzero(problem.data < 0)), []
        if negative:
            told.append(words.negative_intensities(negative, problem.m))
        if face.freedom > problem.m:
            told.append(words.underdetermined(face.freedom, problem.m))
        return told


def _ends(problem: Problem, loss: float) -> bool:
    """Whether there is nothing to gain."""
    return problem.meets(loss) or problem.exact(loss)


@dataclass(frozen=True, eq=False)
class FactorTurn(Turn):
    """Descents on a factor of the semidefinite matrix: a product with A and one with A^H for each of its columns."""

    M: Intensities = field(kw_only=True)

    def measured(self, problem: Problem, turning: Turning) -> Measuring:
        assert isinstance(turning, SymmetricTurning)
        left = turning.left

        def by_products(v: FloatArray) -> tuple[FloatArray, Pull]:
            image, pull = self.M.measure_factor(left(v))
            return image, lambda y: pull(y).ravel().view(np.float64)

        return by_products


__all__ = ["AmplitudeFlow", "Amplitudes", "Phases", "PhasesJob"]
