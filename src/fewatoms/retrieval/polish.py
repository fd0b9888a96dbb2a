"""Better answers at the same cardinality: exchange atoms, turn singular vectors, as long as the loss falls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewatoms import linalg
from fewatoms._types import Budget, FloatArray
from fewatoms.problem import Problem
from fewatoms.retrieval.reduced_fit import reduced_fit, refit
from fewatoms.solution import Candidate


@dataclass(frozen=True)
class Turn:
    """Descend on the factors of matrix faces (and the coefficients of others) at fixed cardinality, by L-BFGS.

    One product with M* and one measurement of the point an evaluation. Faces that cannot turn are left as they are.

    steps : iterations at most
    """

    steps: int = 200

    def __call__(self, problem: Problem, candidate: Candidate) -> Candidate:
        face, c = candidate.face.prune(candidate.c, problem.k)
        if not face.turns or face.dim == 0 or candidate.loss <= 1e-30 * problem.at_zero:
            return candidate
        from scipy.optimize import minimize

        M, b, loss = problem.M, problem.b, problem.loss
        start = face.unfold(c)
        # the minimiser's tolerances and first step are absolute: it sees a loss of 1 and unknowns of length 1
        size, unit = max(candidate.loss, 1e-300), max(float(np.linalg.norm(start)), 1e-300)

        def objective(v: FloatArray) -> tuple[float, FloatArray]:
            turned, coefficients = face.fold(unit * v)
            residual = b - turned.measure(M, coefficients)
            slope = -face.pull(unit * v, M.adjoint(loss.gradient(residual)))
            return loss.value(residual) / size, slope * (unit / size)

        def enough(intermediate_result: object) -> None:
            if problem.meets(intermediate_result.fun * size):  # type: ignore[attr-defined]
                raise StopIteration

        lower = face.lower()
        with linalg.single_thread():
            result = minimize(
                objective,
                start / unit,
                jac=True,
                method="L-BFGS-B",
                bounds=list(zip(lower, np.full(lower.size, np.inf), strict=True)) if np.isfinite(lower).any() else None,
                callback=enough,
                options={"maxiter": self.steps, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-12},
            )
        turned, _ = face.fold(unit * result.x)
        trial = reduced_fit(problem, turned)
        return trial if trial.loss < candidate.loss else candidate


@dataclass(frozen=True)
class Exchange:
    """Merge, fit, prune, refit, and accept only a lower loss.

    Each round takes y = grad f(b - Mx) of the candidate at hand and offers it the atoms best aligned with M*y, as many
    as k at first and half as many after each refusal. The union is fitted, pruned back to k atoms, fitted again and,
    for faces that can turn, turned. One product with M* a round, plus what the fits cost.

    rounds : offers at most
    gain : an offer must lower the loss by this share to count
    turn : how matrix faces are turned
    """

    rounds: int = 40
    gain: float = 1e-6
    turn: Turn = Turn()

    def __call__(self, problem: Problem, candidate: Candidate) -> Candidate:
        best = self.turn(problem, candidate)
        share = 1.0
        for _ in range(self.rounds):
            y = problem.loss.gradient(best.residual)
            if problem.meets(best.loss) or share == 0 or not y.any():
                break
            offer = problem.atoms.expose(problem.M.adjoint(y), _part_of(problem.k, share))
            merged = best.face.merge(offer)
            accepted = False
            if best.face.dim < merged.dim <= problem.m:
                trial = self.turn(problem, refit(problem, reduced_fit(problem, merged), problem.k))
                accepted = trial.loss < best.loss * (1 - self.gain)
            if accepted:
                best = trial
            else:
                share = _halved(share, problem.k)
        return best


def _part_of(k: Budget, share: float) -> Budget:
    return tuple(_part_of(j, share) for j in k) if isinstance(k, tuple) else max(1, int(np.ceil(k * share)))


def _largest(k: Budget) -> int:
    return max(_largest(j) for j in k) if isinstance(k, tuple) else int(k)


def _halved(share: float, k: Budget) -> float:
    """Half the share, or 0 when a single atom was on offer already."""
    return 0.0 if _largest(_part_of(k, share)) == 1 else 0.5 * share


__all__ = ["Exchange", "Turn"]
