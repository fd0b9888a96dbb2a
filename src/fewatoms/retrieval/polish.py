"""Better answers at the same cardinality: exchange atoms, turn singular vectors, as long as the loss falls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakSet

import numpy as np

from fewatoms import linalg
from fewatoms._types import Budget, FloatArray
from fewatoms.faces import SymmetricTurning, Turning
from fewatoms.operators import Quadratic
from fewatoms.problem import Problem
from fewatoms.retrieval.amplitudes import Amplitudes
from fewatoms.retrieval.reduced_fit import reduced_fit, refit
from fewatoms.retrieval.splice import ISOLATED
from fewatoms.solution import Candidate

AGREE = 1e-5  # relative: losses this close are one answer
SCARCE = 0.6  # share of the data beyond the number of unknowns below which traps are met twice


@dataclass(frozen=True, eq=False)
class Turn:
    """Descend on the factors of matrix faces (and the coefficients of others) at fixed cardinality, by L-BFGS.

    One product with M* and one measurement of the point an evaluation. Faces that cannot turn are left as they are.
    Where M is quadratic, a descent on amplitudes comes first, and is tried from several starts once a problem.

    steps : iterations at most
    """

    steps: int = 300
    _tried: WeakSet[Problem] = field(default_factory=WeakSet, init=False, repr=False, compare=False)

    def __call__(self, problem: Problem, candidate: Candidate) -> Candidate:
        if not Amplitudes.apply_to(problem, candidate.face) or self._ends(problem, candidate.loss):
            return self._settle(problem, candidate)
        amplitudes = Amplitudes(problem)
        first = problem not in self._tried
        self._tried.add(problem)
        best, losses, agreed = candidate, [], False
        for start in amplitudes.starts(candidate, all_of_them=first):
            trial = self._settle(problem, start)
            best = trial if trial.loss < best.loss else best
            losses.append(trial.loss)
            # traps are many and the best answer is one: where descents from elsewhere end alike, that is it
            alike = sum(loss <= best.loss * (1 + AGREE) for loss in losses)
            agreed = alike >= (2 if amplitudes.spare(best.face) > SCARCE else 3)
            if agreed or self._ends(problem, best.loss):
                break
        if best is candidate:
            best = self._settle(problem, candidate)
        return replace(best, margin=math.inf) if agreed else amplitudes.judged(best)

    @staticmethod
    def _ends(problem: Problem, loss: float) -> bool:
        """Whether there is nothing to gain."""
        return problem.meets(loss) or problem.exact(loss)

    def _settle(self, problem: Problem, candidate: Candidate) -> Candidate:
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
        measured = _measured(problem, turning)

        def objective(v: FloatArray) -> tuple[float, FloatArray]:
            image, pull = measured(unit * v)
            residual = b - image
            slope = -pull(loss.gradient(residual))
            return loss.value(residual) / size, slope * (unit / size)

        def enough(intermediate_result: Any) -> None:
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


Measured = tuple[FloatArray, Callable[[FloatArray], FloatArray]]


def _measured(problem: Problem, turning: Turning) -> Callable[[FloatArray], Measured]:
    """v -> the image of the unknowns v, and the function y -> the gradient of <y, image> by v."""
    M = problem.M
    if isinstance(M.inner, Quadratic) and isinstance(turning, SymmetricTurning):
        quadratic, left, size = M.inner, turning.left, turning.face.size

        def by_products(v: FloatArray) -> Measured:
            image, pull = quadratic.measure_factor(left(v))
            M.products += 2 * size
            return image, lambda y: pull(y).ravel().view(np.float64)

        return by_products

    def by_dual(v: FloatArray) -> Measured:
        turned, c = turning.fold(v)
        return turned.measure(M, c), lambda y: turning.pull(v, M.adjoint(y))

    return by_dual


@dataclass(frozen=True, eq=False)
class Alternate:
    """Sweeps of small regressions on the factors of a low-rank matrix with sampled entries.

    tol : they end when one lowers the loss by less than this share
    """

    tol: float = 1e-6

    def __call__(self, problem: Problem, candidate: Candidate) -> Candidate:
        F = problem.factored
        if candidate.face.dim == 0:
            return candidate
        at = F.of(*candidate.face.prune(candidate.c, problem.k))
        for at, reached in F.descent(at, 0.0, 0.0, self.tol):  # noqa: B020
            problem.M.products += 2 * at.rank
            if problem.meets(reached):
                break
        face, c = at.face()
        residual = problem.b - F.predicted(at)
        fresh = Candidate(face, c, residual, problem.loss.value(residual))
        return fresh if fresh.loss < candidate.loss else candidate


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
    turn: Turn | Alternate = Turn()

    def __call__(self, problem: Problem, candidate: Candidate) -> Candidate:
        best = self.turn(problem, candidate)
        share = 1.0
        for _ in range(self.rounds):
            y = problem.loss.gradient(best.residual)
            if problem.meets(best.loss) or problem.exact(best.loss) or share == 0 or not y.any():
                break
            if problem.alpha is None and best.margin >= ISOLATED:
                break
            offer = problem.atoms.expose(problem.M.adjoint(y), _part_of(problem.k, share))
            merged = best.face.merge(offer)
            trial = best
            if best.face.dim < merged.dim <= problem.m:
                trial = refit(problem, reduced_fit(problem, merged), problem.k)
            if trial.loss < best.loss * (1 - self.gain):
                best = self.turn(problem, trial)
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


__all__ = ["Alternate", "Exchange", "Turn"]
