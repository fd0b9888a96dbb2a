"""The three convex relaxations (P1), (P2), (P3) and their duals.

With our signs strong duality reads p* = -d*, and gap(x, y) = p(x) + d(y) >= 0 for feasible x and y.
They relax the cardinality problem (P): what they prove, they prove about themselves.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from fewatoms import _checks, linalg
from fewatoms._types import Array, FloatArray, ModelDual
from fewatoms.problem import Problem

FEASIBLE = 1 + 1e-10  # a constraint met up to this factor counts as met


class Relaxation(ABC):
    """A primal-dual pair. Values at infeasible points are infinite."""

    name: str

    def __init__(self, problem: Problem) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(f"problem must be a fewatoms.Problem; got {type(problem).__name__}")
        self.problem = problem

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and isinstance(other, Relaxation)
            and self.problem is other.problem
            and self.parameter == other.parameter
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    @abstractmethod
    def parameter(self) -> float:
        """lambda, tau or alpha."""

    @abstractmethod
    def primal_value(self, loss: float, gauge: float) -> float:
        """The primal objective at a point with this loss and gauge."""

    @abstractmethod
    def dual_value(self, y: FloatArray, sigma: float) -> float:
        """The dual objective at y with sigma = support(M*y)."""

    @abstractmethod
    def scale(self, y: FloatArray, sigma: float) -> float:
        """The factor t >= 0 that makes t y feasible, with as good a value as is had without a product."""

    def primal(self, x: Array) -> float:
        """p(x), one product. x in the model's shape or flat."""
        problem = self.problem
        x = problem.atoms.read_point(x)
        return self.primal_value(problem.loss.value(problem.b - problem.M.apply(x)), problem.atoms.gauge(x))

    def dual(self, y: Any) -> float:
        """d(y), one product with M*."""
        y = _checks.real_vector("y", y, self.problem.m)
        return self.dual_value(y, self.problem.atoms.support(self.problem.M.adjoint(y)))

    def gap(self, x: Array, y: Any) -> float:
        """p(x) + d(y): not negative, up to rounding, and 0 exactly at a primal-dual solution."""
        return self.primal(x) + self.dual(y)

    def feasible(self, y: FloatArray, z: ModelDual, sigma: float) -> tuple[FloatArray, float]:
        """A feasible dual point made from y in dom f*, and its value; infinite if none was found."""
        if math.isinf(sigma):
            return self._shifted(y, z)
        t = self.scale(y, sigma)
        return t * y, self.dual_value(t * y, t * sigma)

    def _shifted(self, y: FloatArray, z: ModelDual) -> tuple[FloatArray, float]:
        """For the nonnegative cone: y - t 1 with the smallest t that makes M*y <= 0, if M*1 > 0, shrunk into dom f*."""
        down = self.problem.adjoint_of_ones
        if down.min() <= 0:
            return y, math.inf
        t = max(0.0, float(np.max(linalg.as_flat(z) / down)))
        shifted = y - t * (1 + 1e-12)
        shifted = shifted * self.share_in_domain(shifted)  # M*y <= 0 is kept by any share of y
        return shifted, self.dual_value(shifted, 0.0)

    def share_in_domain(self, y: FloatArray) -> float:
        """The largest t <= 1 with t y in dom f*, which is convex and holds 0."""
        conjugate = self.problem.loss.conjugate
        if math.isfinite(conjugate(y)):
            return 1.0
        low, high = 0.0, 1.0
        while low < (middle := 0.5 * (low + high)) < high and high - low > 1e-16:
            low, high = (middle, high) if math.isfinite(conjugate(middle * y)) else (low, middle)
        return low * (1 - 1e-11)  # conjugates forgive rounding at the border; this is inside of it


class P1(Relaxation):
    """minimise f(b - Mx) + lam gauge(x); dual: minimise f*(y) - <b, y> subject to support(M*y) <= lam."""

    name = "P1"

    def __init__(self, problem: Problem, lam: float) -> None:
        super().__init__(problem)
        self.lam = _checks.number("lam", lam)

    @property
    def parameter(self) -> float:
        return self.lam

    def primal_value(self, loss: float, gauge: float) -> float:
        return loss + self.lam * gauge if math.isfinite(gauge) else math.inf

    def dual_value(self, y: FloatArray, sigma: float) -> float:
        if sigma > self.lam * FEASIBLE:
            return math.inf
        return self.problem.loss.conjugate(y) - float(np.dot(self.problem.b, y))

    def scale(self, y: FloatArray, sigma: float) -> float:
        return 1.0 if sigma <= self.lam else self.lam / sigma


class P2(Relaxation):
    """minimise f(b - Mx) subject to gauge(x) <= tau; dual: minimise f*(y) - <b, y> + tau support(M*y)."""

    name = "P2"

    def __init__(self, problem: Problem, tau: float) -> None:
        super().__init__(problem)
        self.tau = _checks.number("tau", tau)

    @property
    def parameter(self) -> float:
        return self.tau

    def primal_value(self, loss: float, gauge: float) -> float:
        if gauge <= self.tau:
            return loss
        if gauge > self.tau * FEASIBLE:
            return math.inf
        share = self.tau / gauge  # of x: feasible, and f is convex
        return share * loss + (1 - share) * self.problem.at_zero

    def dual_value(self, y: FloatArray, sigma: float) -> float:
        if math.isinf(sigma):
            return math.inf
        return self.problem.loss.conjugate(y) - float(np.dot(self.problem.b, y)) + self.tau * sigma

    def scale(self, y: FloatArray, sigma: float) -> float:
        return 1.0


class P3(Relaxation):
    """minimise gauge(x) subject to f(b - Mx) <= alpha; dual: minimise over y and beta > 0
    beta (f*(y / beta) + alpha) - <b, y> subject to support(M*y) <= 1."""

    name = "P3"

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        if problem.alpha is None:
            raise ValueError("problem must have a bound, alpha or misfit, for (P3); it has none")
        self.alpha = problem.alpha

    @property
    def parameter(self) -> float:
        return self.alpha

    def primal_value(self, loss: float, gauge: float) -> float:
        return gauge if self.problem.meets(loss) else math.inf

    def dual_value(self, y: FloatArray, sigma: float) -> float:
        if sigma > FEASIBLE:
            return math.inf
        return self.problem.loss.support_of_sublevel(y, self.alpha) - float(np.dot(self.problem.b, y))

    def dual_at(self, y: FloatArray, beta: float) -> float:
        """d3(y, beta), without the infimum over beta."""
        return self.problem.loss.perspective(y, beta, self.alpha) - float(np.dot(self.problem.b, y))

    def scale(self, y: FloatArray, sigma: float) -> float:
        # The objective is positively homogeneous: all of the room is used if the direction is any good.
        return 1.0 / sigma if sigma > 0 else 1.0
