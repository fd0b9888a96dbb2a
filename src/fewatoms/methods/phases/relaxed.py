"""What a run over small semidefinite matrices keeps of its relaxation: solved once for starts, again for proofs."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, FloatArray
from fewatoms.candidates import Candidate, DualPoint
from fewatoms.methods.phases.barrier import Barrier, Central
from fewatoms.problem import Problem
from fewatoms.relaxations import P1, P3
from fewatoms.retrieval.forms import Semiforms, semiforms, slope_of

DOWNWARD = 0.2  # from one penalty to the next, until one is below the bound
HALVED_PENALTIES = 16  # of penalties, on the way to the one that goes with a bound
AT_BOUND = 0.02  # relative; losses this close to a bound are at it


class Relaxed:
    """Of a problem over the semidefinite set itself.

    starts, proof : how the relaxation is solved, for each
    lightest : penalty of the relaxation where there is no bound, as a share of the one at which the answer is zero
    """

    def __init__(self, problem: Problem, starts: Barrier, proof: Barrier, lightest: float) -> None:
        self.problem, self.starts, self.proof, self.lightest = problem, starts, proof, lightest
        self.central: Central | None = None
        self._solved = False

    @cached_property
    def forms(self) -> Semiforms:
        """M and b written out, when they are first needed."""
        return semiforms(self.problem)

    @property
    def written(self) -> bool:
        """Whether they are at hand."""
        return "forms" in vars(self)

    @cached_property
    def top(self) -> float:
        """The penalty at which the answer is zero; 0 where, up to rounding, no atom is aligned with the data."""
        z = self.forms.adjoint(slope_of(self.forms, self.forms.b))
        top = float(linalg.top_eigh(z, 1)[0][0])
        return top if top > len(z) * np.finfo(float).eps * float(np.linalg.norm(z)) else 0.0

    @property
    def gauge(self) -> float:
        """About that of an answer."""
        if self.central is not None:
            return self.central.gauge
        return float(np.linalg.norm(self.forms.b)) ** 2 / max(self.top, 1e-300)

    @property
    def endless(self) -> bool:
        """Whether it is known that nothing of a sensible size meets the bound."""
        return self.central is not None and self.central.endless

    def solved(self) -> Central | None:
        """For starts: once, for all numbers of atoms; None where that is dear."""
        if not self._solved and self.starts.affordable(self.forms):
            self.central = self._start()
        self._solved = True
        return self.central

    def _start(self) -> Central | None:
        """(P3) with a bound; where nothing meets it, and without one, (P1) at a small penalty."""
        found = self._bounded(self.starts) if self.problem.loss.squares else None
        if found is not None and found.solved:
            return found
        light = self.starts.penalised(self.forms, self.lightest * self.top)
        return light if found is None or light is None else replace(light, endless=found.endless)

    def _bounded(self, barrier: Barrier) -> Central | None:
        """(P3), if there is a bound: of losses with limits by way of (P1), whose penalty is looked for."""
        alpha = self.problem.alpha
        if alpha is None:
            return None
        if self.problem.loss.squares:
            return barrier.bounded(self.forms, math.sqrt(2 * alpha))
        low, high, best, most = 0.0, self.top, None, -math.inf
        for _ in range(HALVED_PENALTIES):  # the loss rises with the penalty
            lam = math.sqrt(low * high) if low else DOWNWARD * high
            found = barrier.penalised(self.forms, lam)
            if found is None or not found.solved:
                break
            if (proven := self._worth(found)) > most:
                best, most = found, proven
            if abs(found.loss - alpha) <= AT_BOUND * alpha:
                break
            low, high = (lam, high) if found.loss < alpha else (low, lam)
        return best

    def _worth(self, found: Central) -> float:
        """What its dual vector proves of (P3)."""
        y = self._unweighted(found.y)
        z = self.problem.M.adjoint(y)
        return -P3(self.problem).feasible(y, z, self.problem.atoms.ceiling(z))[1]

    def _unweighted(self, y: FloatArray) -> FloatArray:
        """A dual vector for M and b as they are."""
        w = self.problem.loss.weights
        return self.problem.loss.clip(y if w is None else np.sqrt(w) * y)

    def bound(self, found: Candidate, larger: float) -> float:
        """A loss that nothing has less than whose gauge is at most so many times that of an answer: the loss is convex
        in X, f(X') >= f(X) - <M*y, X' - X>; where no atom is aligned with what X leaves over, none is better."""
        w = self.problem.loss.weights
        y = self.problem.loss.gradient(found.residual)
        z = self.forms.adjoint(y if w is None else y / np.sqrt(w))
        left = found.face.factors(found.c)[0]
        inside = float(np.vdot(left, z @ left).real)
        top = max(float(linalg.top_eigh(z, 1)[0][0]), 0.0)
        return found.loss + inside - top * larger * max(found.gauge, self.gauge)

    # What is proven ---------------------------------------------------------------------------------------------------

    def proven(self, problem: Problem, at: Candidate, scale: float) -> DualPoint:
        """The relaxation solved, to what the proof asks, for the same problem over `scale` times the set: (P3), or (P1)
        at the penalty that the answer's residual is feasible for, if that is not next to nothing."""
        able = self.proof.affordable(self.forms)
        if problem.alpha is not None:
            return self._dual(problem, self._bounded(self.proof) if able else None, P3(problem), at, scale)
        y = problem.loss.gradient(at.residual)
        lam = max(problem.atoms.ceiling(problem.M.adjoint(y)), self.lightest * scale * self.top)
        central = self.proof.penalised(self.forms, lam / scale) if able else None
        return self._dual(problem, central, P1(problem, lam), at, scale)

    def _dual(
        self, problem: Problem, central: Central | None, relaxation: P1 | P3, at: Candidate, scale: float
    ) -> DualPoint:
        if central is None:
            y = problem.loss.gradient(at.residual)
            z = problem.M.adjoint(y)
            return DualPoint(y, z, problem.atoms.ceiling(z), relaxation, at.loss, at.gauge)
        y = self._unweighted(central.y)
        z = problem.M.adjoint(y)
        return DualPoint(y, z, problem.atoms.ceiling(z), relaxation, central.loss, central.gauge / scale)


def flat(left: Array) -> FloatArray:
    """A factor as real unknowns."""
    return np.ascontiguousarray(left).ravel().view(np.float64)


def root(X: Array, k: int) -> Array:
    """The k leading directions of a positive definite matrix, with their sizes."""
    values, vectors = linalg.top_eigh(X, k)
    return vectors * np.sqrt(np.maximum(values, 0.0))


__all__ = ["Relaxed", "flat", "root"]
