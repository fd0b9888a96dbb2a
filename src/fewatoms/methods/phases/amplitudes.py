"""Starts for quadratic measurements: a descent on amplitudes instead of intensities, from several places.

The intensities |a_i L|^2 that the loss compares with b make a landscape with traps where data are few, and one whose
curvature goes with the fourth power of the rows. On amplitudes, smoothed and with every row in units of its length,

    sum_i (sqrt(|a_i L|^2 + b_i) - sqrt(2 b_i))^2 / |a_i|^2,

a descent hardly ever ends in a trap and takes a third of the steps. Data without noise have the same answer either way;
with noise it is where the descent on the loss itself begins.

Reference: Gao, Sun, Wang, "Perturbed amplitude flow for phase retrieval", IEEE Trans. Signal Processing 68 (2020).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, FloatArray
from fewatoms.faces import Face, SymmetricFactors
from fewatoms.losses import Huber, LeastSquares
from fewatoms.operators import Quadratic
from fewatoms.problem import Problem
from fewatoms.retrieval.reduced_fit import reduced_fit
from fewatoms.solution import Candidate

STEPS = 500  # of one descent at most
WINDOW, FALL = 10, 0.02  # a descent ends when this many steps lower its value by less than this share
IDLE = 1e-6  # weights below this share of the largest do not count
ROUNDING = 1e-30  # a value, of 1 at zero, that cannot become smaller


@dataclass(frozen=True, eq=False)
class Amplitudes:
    """The amplitudes of a problem with a `Quadratic` operator, and descents on them."""

    problem: Problem

    @staticmethod
    def apply_to(problem: Problem, face: Face) -> bool:
        """Whether the data are intensities and the unknown a factor."""
        fits = isinstance(problem.M.inner, Quadratic) and isinstance(problem.loss, (LeastSquares, Huber))
        return fits and isinstance(face, SymmetricFactors)

    @property
    def M(self) -> Quadratic:
        assert isinstance(self.problem.M.inner, Quadratic)
        return self.problem.M.inner

    @cached_property
    def used(self) -> FloatArray:
        """1 for data that count, 0 for those whose weight is next to nothing."""
        w = self.problem.loss.weights
        return np.ones(self.problem.m) if w is None else (w > IDLE * float(w.max())).astype(np.float64)

    @cached_property
    def units(self) -> FloatArray:
        """1 / |a_i|^2; 0 for rows that are zero or do not count."""
        squares = self.M.row_squares()
        return np.divide(self.used, squares, out=np.zeros_like(squares), where=squares > 0)

    @cached_property
    def intensities(self) -> FloatArray:
        """b, without what noise has made negative."""
        return np.maximum(self.problem.b, 0.0)

    def starts(self, candidate: Candidate, *, all_of_them: bool) -> Iterator[Candidate]:
        """Candidates to descend from on the loss itself, the most promising first."""
        k, n = self.problem.k, self.M.n
        face, c = candidate.face.prune(candidate.c, k)
        assert isinstance(face, SymmetricFactors)
        if not face.size:
            return
        left = face.factors(c)[0]
        yield self.fitted(self.descent(left, self.units))
        if not all_of_them:
            return
        wider = min(n, k + max(1, k // 2))  # a column to spare leads around many traps
        yield self.fitted(self.descent(self.pruned(self.descent(self.spectral(wider), self.units)), self.units))
        if np.ptp(self.units) > 0:  # noise may have drowned the short rows
            yield self.fitted(self.descent(left, self.used))
        anywhere = linalg.generator().standard_normal((2, n, wider))
        left = anywhere[0] + 1j * anywhere[1] if self.M.complex else anywhere[0]
        yield self.fitted(self.descent(self.pruned(self.descent(left, self.units)), self.units))

    def pruned(self, left: Array) -> Array:
        """The k leading directions of a factor, with their sizes."""
        u, s, _ = np.linalg.svd(left, full_matrices=False)
        return (u * s)[:, : self.problem.k]

    def fitted(self, left: Array) -> Candidate:
        """The loss fitted on the span of a factor."""
        return reduced_fit(self.problem, SymmetricFactors(np.linalg.qr(left)[0]))

    def spectral(self, k: int) -> Array:
        """The leading eigenvectors of A^H diag(t) A, with t = (s - 1) / (s + sqrt(m / n) - 1) for intensities s of mean
        1: of all functions of the data the one whose leading vector tells most about a random signal.

        Reference: Mondelli, Montanari, "Fundamental limits of weak recovery with applications to phase retrieval",
        Foundations of Computational Mathematics 19 (2019).
        """
        s = self.units * self.intensities
        s = s / max(float(s.sum() / max(self.used.sum(), 1.0)), 1e-300)
        t = (s - 1.0) / (s + max(math.sqrt(self.problem.m / self.M.n), 1.0 + 1e-3) - 1.0)
        z = self.problem.M.adjoint(self.units * t)
        return linalg.top_eigh(linalg.hermitian_part(z, self.M.n), k, tol=1e-3)[1]

    def descent(self, left: Array, units: FloatArray) -> Array:
        """Descend on amplitudes from a factor of any size to one that fits."""
        from scipy.optimize import minimize

        M, b, size = self.M, self.intensities, left.shape[1]
        left = left.astype(np.complex128 if M.complex else np.float64)
        goal = np.sqrt(2.0 * b)
        total = max(float(np.dot(units, b)), 1e-300)
        image, _ = M.measure_factor(left)
        length = math.sqrt(total / max(float(np.dot(units, image)), 1e-300)) * float(np.linalg.norm(left))
        left = left / max(float(np.linalg.norm(left)), 1e-300)
        values: list[float] = []

        def objective(v: FloatArray) -> tuple[float, FloatArray]:
            L = length * v.view(left.dtype).reshape(left.shape)
            image, pull = M.measure_factor(L)
            self.problem.M.products += 2 * size
            smooth = np.sqrt(image + b)
            off = smooth - goal
            # at b = 0 and a_i L = 0 the term is |a_i L|^2 itself
            share = np.divide(off, smooth, out=np.ones_like(off), where=smooth > 0)
            slope = pull(units * share) * (length / total)
            return float(np.dot(units, off * off)) / total, slope.ravel().view(np.float64)

        def enough(intermediate_result: Any) -> None:
            values.append(float(intermediate_result.fun))
            if values[-1] <= ROUNDING or (len(values) > WINDOW and values[-1] > (1 - FALL) * values[-1 - WINDOW]):
                raise StopIteration

        with linalg.single_thread():
            result = minimize(
                objective,
                np.ascontiguousarray(left).ravel().view(np.float64),
                jac=True,
                method="L-BFGS-B",
                callback=enough,
                options={"maxiter": STEPS, "maxfun": 2 * STEPS, "maxcor": 10, "ftol": 0.0, "gtol": 0.0},
            )
        return length * result.x.view(left.dtype).reshape(left.shape)

    def spare(self, face: Face) -> float:
        """The share of the data beyond as many as there are unknowns."""
        return max(0.0, 1.0 - face.freedom / max(float(self.used.sum()), 1.0))

    def judged(self, candidate: Candidate) -> Candidate:
        """The candidate with its margin: what the least of its atoms is worth over all that is left to explain, which
        is more than any atom outside can add; the lower one, of that in the loss and that with rows in units. Unknowns
        nearly as many as data explain most of these even in a trap, so that the margin shrinks with what is spare."""
        problem = self.problem
        if not candidate.face.size:
            return candidate
        face, _ = candidate.face.prune(candidate.c, candidate.face.size - 1)
        without = reduced_fit(problem, face)
        margins = [(without.loss - candidate.loss) / max(candidate.loss, 1e-300)]
        here, there = (float(np.sum((self.units * r) ** 2)) for r in (candidate.residual, without.residual))
        margins.append((there - here) / max(here, 1e-300))
        return replace(candidate, margin=max(0.0, min(margins)) * self.spare(candidate.face) ** 3)


__all__ = ["Amplitudes"]
