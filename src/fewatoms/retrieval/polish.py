"""Better answers at the same cardinality: exchange atoms, turn singular vectors, as long as the loss falls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import FloatArray
from fewatoms.candidates import Candidate
from fewatoms.faces import Turning
from fewatoms.problem import Problem
from fewatoms.retrieval.reduced_fit import reduced_fit, refit

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Pull = Callable[[FloatArray], FloatArray]
Measuring = Callable[[FloatArray], tuple[FloatArray, Pull]]


@dataclass(frozen=True, eq=False)
class Turn:
    """Descend on the factors of matrix faces (and the coefficients of others) at fixed cardinality, by L-BFGS.

    One product with M* and one measurement of the point an evaluation. Faces that cannot turn are left as they are.

    steps : iterations at most
    """

    steps: int = 300

    def __call__(self, problem: Problem, candidate: Candidate) -> Candidate:
        return self.settle(problem, candidate)

    @staticmethod
    def _ends(problem: Problem, loss: float) -> bool:
        """Whether there is nothing to gain."""
        return problem.meets(loss) or problem.exact(loss)

    def settle(self, problem: Problem, candidate: Candidate) -> Candidate:
        """Descend on the loss until it hardly falls."""
        best, left = candidate, self.steps
        while left > 0 and best.face.turning() is not None and best.face.dim and not self._ends(problem, best.loss):
            trial, used = self._descend(problem, best, left)
            left -= used
            if not trial.loss < best.loss:
                break
            far = trial.loss < 0.1 * best.loss  # still falling fast: go on in the new units
            best = trial
            if not far or best.loss <= 1e-30 * problem.at_zero:
                break
        return best

    def _descend(self, problem: Problem, candidate: Candidate, steps: int) -> tuple[Candidate, int]:
        """One run of the minimiser, in units in which the loss is 1 and the unknowns have length 1: its tolerances and
        its first step are absolute."""
        from scipy.optimize import minimize

        b, loss = problem.b, problem.loss
        face, c = candidate.face.prune(candidate.c, problem.k)
        turning = face.turning()
        assert turning is not None
        start, lower = turning.unfold(c), turning.lower()
        size, unit = max(candidate.loss, 1e-300), max(float(np.linalg.norm(start)), 1e-300)
        measured = self.measured(problem, turning)

        def objective(v: FloatArray) -> tuple[float, FloatArray]:
            ledger.tick()
            image, pull = measured(unit * v)
            residual = b - image
            slope = -pull(loss.gradient(residual))
            return loss.value(residual) / size, slope * (unit / size)

        def enough(intermediate_result: OptimizeResult) -> None:
            if problem.meets(intermediate_result.fun * size):
                raise StopIteration

        with linalg.single_thread():
            result = minimize(
                objective,
                start / unit,
                jac=True,
                method="L-BFGS-B",
                bounds=[(low, None) for low in lower] if np.isfinite(lower).any() else None,
                callback=enough,
                options={"maxiter": steps, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-10},
            )
        turned, _ = turning.fold(unit * result.x)
        return reduced_fit(problem, turned), max(1, int(result.nit))

    def measured(self, problem: Problem, turning: Turning) -> Measuring:
        """v -> the image of the unknowns v, and the function y -> the gradient of <y, image> by v."""
        M = problem.M

        def by_dual(v: FloatArray) -> tuple[FloatArray, Pull]:
            turned, c = turning.fold(v)
            return turned.measure(M, c), lambda y: turning.pull(v, M.adjoint(y))

        return by_dual


@dataclass(frozen=True, eq=False)
class Exchange:
    """Merge, fit, prune, refit, and accept only a lower loss.

    Each round takes y = grad f(b - Mx) of the candidate at hand and offers it the atoms best aligned with M*y, as many
    as k at first and half as many after each refusal. The union is fitted, pruned to k atoms and fitted again; what
    is accepted is turned, where it can. One product with M* a round, plus what the fits cost.

    rounds : offers at most
    gain : an offer must lower the loss by this share to count
    turn : how matrix faces are turned
    """

    rounds: int = 40
    gain: float = 1e-6
    turn: Callable[[Problem, Candidate], Candidate] = field(default_factory=Turn)

    def __call__(self, problem: Problem, candidate: Candidate) -> Candidate:
        best = self.turn(problem, candidate)
        share = 1.0
        for _ in range(self.rounds):
            y = problem.loss.gradient(best.residual)
            if problem.meets(best.loss) or problem.exact(best.loss) or share == 0 or not y.any():
                break
            if problem.alpha is None and best.isolated:
                break
            offer = problem.atoms.expose(problem.M.adjoint(y), problem.budget.share(share).k)
            merged = best.face.merge(offer)
            trial = best
            if best.face.dim < merged.dim <= problem.m:
                trial = refit(problem, reduced_fit(problem, merged), problem.k)
            if trial.loss < best.loss * (1 - self.gain):
                best = self.turn(problem, trial)
            else:
                share = 0.0 if problem.budget.share(share).largest == 1 else 0.5 * share
        return best


__all__ = ["Exchange", "Turn"]
