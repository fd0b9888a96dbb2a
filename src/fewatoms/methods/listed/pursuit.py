"""Least squares over coordinates or groups: a candidate in as few products as possible.

A short probe tells easy problems from hard ones. Where conjugate gradients on the k atoms best aligned with M*b about
halve the misfit at each step, rounds of "a few steps on the support, a gradient step to choose the next one" finish the
job at two products a step. Where they do not, a support has to be grown (`Fewest`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import FloatArray, IntArray, ModelDual
from fewatoms.candidates import Candidate
from fewatoms.methods.listed.view import View
from fewatoms.problem import Problem


@dataclass(frozen=True, eq=False)
class Pursuit:
    """A candidate from the dual vector of x = 0, for sets of coordinates or groups with free coefficients.

    steps : conjugate-gradient steps on one support at most
    rounds : supports at most
    settled : the steps on a support end when its gradient is below this share of the largest one elsewhere
    easy : the factor by which each step on the first support must shrink the misfit, for the problem to count as easy
    falling : the factor by which each further support must
    few : budgets up to which atoms had better be taken one by one
    guessed, loose : the same where so many atoms seem to do, which can be trusted from this misfit on
    """

    steps: int = 4
    rounds: int = 12
    settled: float = 0.3
    easy: float = 0.58
    falling: float = 0.45
    few: int = 24
    guessed: int = 8
    loose: float = 0.03

    def applies(self, problem: Problem, view: View) -> bool:
        """Whether there is anything to gain: for a matrix at hand, where products are cheap and images cheaper, only if
        there is a bound that may be met soon."""
        chosen = view.forced.size or view.barred.size or view.cap is not None
        free = problem.loss.squares and not view.nonnegative and not view.overlaps
        return free and not chosen and (problem.alpha is not None or view.at_hand is None)

    def pays(self, problem: Problem, view: View, z: ModelDual) -> bool:
        """Whether rounds are to be tried before a support is grown, where products are dear; z is M*y at x = 0.

        Growing costs a product for each atom, so it comes first where the budget is small, or a few atoms seem to
        explain the data down to a loose bound: they would, with n / m sum z_i^2 / |z|^2, if M were a tight frame.
        """
        if problem.alpha is None or problem.budget.single <= self.few:
            return problem.alpha is None
        if problem.alpha < self.loose**2 * problem.reference:
            return True
        pulled, (m, n) = view.pull(z), problem.M.shape
        alignments = view.alignments(pulled)
        best = np.maximum(alignments[linalg.top_k(alignments, self.guessed)], 0.0)
        left = 1.0 - max(1.0, n / m) * float(best @ best) / max(float(pulled @ pulled), 1e-300)
        return left * problem.reference > problem.alpha

    def chase(self, problem: Problem, view: View, z: ModelDual) -> tuple[Candidate, bool]:
        """The best answer of the rounds, and whether the problem was easy as far as they went; z is M*y at x = 0."""
        return _Chase(problem, view, self).run(view.pull(z))


@dataclass(frozen=True, eq=False)
class _Here:
    """A support with coefficients of its images."""

    classes: IntArray
    spots: IntArray  # its coordinates
    c: FloatArray


class _Chase:
    """One run, in the space of the coefficients."""

    def __init__(self, problem: Problem, view: View, settings: Pursuit) -> None:
        self.problem, self.view, self.settings = problem, view, settings
        weights = problem.loss.weights
        self.weights: FloatArray | float = 1.0 if weights is None else weights

    def run(self, z: FloatArray) -> tuple[Candidate, bool]:
        """Conjugate gradients on k atoms, a gradient step to choose the next k, and again."""
        problem, settings = self.problem, self.settings
        here, residual = self._best(z), problem.b
        best: tuple[float, _Here, FloatArray] | None = None
        misfit = 1.0  # reached on the last support
        for turn in range(settings.rounds):
            here, residual, z, length, steps = self._descend(here, residual, z, first=turn == 0)
            loss = problem.loss.value(residual)
            best = (loss, here, residual) if best is None or loss < best[0] else best
            if problem.meets(loss):
                return self._candidate(*best), True
            reached = math.sqrt(loss / problem.reference)
            if self._hard(loss, steps) if turn == 0 else reached > settings.falling * misfit:
                return self._candidate(*best), False
            misfit = reached
            x = self._spread(here.spots, here.c)
            chosen = self._best(x + length * z)
            dropped = x.copy()
            dropped[chosen.spots] = 0.0
            here = _Here(chosen.classes, chosen.spots, x[chosen.spots])
            if dropped.any():
                residual = residual + self.view.image(dropped)
                z = self._pull(residual)
        assert best is not None
        return self._candidate(*best), True

    def _descend(
        self, here: _Here, residual: FloatArray, z: FloatArray, *, first: bool
    ) -> tuple[_Here, FloatArray, FloatArray, float, int]:
        """A few steps on a support; the first step's length, and how many there were, come with what they led to."""
        problem, spots, c = self.problem, here.spots, here.c
        direction, before, length, step = np.zeros(spots.size), math.inf, 0.0, 0
        for step in range(self.settings.steps):
            ledger.tick()
            slope = z[spots]
            size = float(np.dot(slope, slope))
            direction = slope + (size / before if step else 0.0) * direction
            image = self.view.image(self._spread(spots, direction))
            bend = float(np.dot(image, self.weights * image))
            if size == 0.0 or bend == 0.0:
                break
            before = size
            c = c + (size / bend) * direction
            residual = residual - (size / bend) * image
            length = size / bend if step == 0 else length
            loss = problem.loss.value(residual)
            if problem.meets(loss) or (first and self._hard(loss, step + 1)):
                break
            z = self._pull(residual)
            outside = z.copy()
            outside[spots] = 0.0
            if np.abs(z[spots]).max() < self.settings.settled * self.view.alignments(outside).max(initial=0.0):
                break
        return _Here(here.classes, spots, c), residual, z, length, step + 1

    def _hard(self, loss: float, steps: int) -> bool:
        """Whether so many steps on the first support should have led further."""
        return loss > self.settings.easy ** (2 * steps) * self.problem.reference

    def _best(self, z: FloatArray) -> _Here:
        """The k classes best aligned with z, without coefficients."""
        classes = linalg.top_k(self.view.alignments(z), self.problem.budget.single)
        spots = self.view.coordinates(classes)
        return _Here(classes, spots, np.zeros(spots.size))

    def _spread(self, spots: IntArray, values: FloatArray) -> FloatArray:
        x = np.zeros(self.view.M.shape[1])
        x[spots] = values
        return x

    def _pull(self, residual: FloatArray) -> FloatArray:
        return self.view.pull(self.view.outer.adjoint(self.weights * residual))

    def _candidate(self, loss: float, here: _Here, residual: FloatArray) -> Candidate:
        view, scale = self.view, self.view.user_scale(here.classes)
        norms = None if view.scale is None else np.where(scale > 0, 1.0 / np.where(scale > 0, scale, 1.0), 0.0)
        units = None if view.unit_atoms is None else view.gauge(here.classes, here.c)
        return Candidate.of(view.face(here.classes), here.c * scale, residual, loss, norms, unit_gauge=units)
