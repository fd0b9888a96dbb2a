"""The three convex relaxations (P1), (P2), (P3) and their duals.

With our signs strong duality reads p* = -d*, and gap(x, y) = p(x) + d(y) >= 0 for feasible x and y.
They relax the cardinality problem (P): what they prove, they prove about themselves.

A ridge on the coefficients of listed atoms is part of (P1). (P2) and (P3) leave it out and speak of f and the gauge
alone: a bound is on the loss, whatever chooses among those that meet it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy

import numpy as np

from fewatoms import _checks, doubts, linalg
from fewatoms._types import Array, FloatArray, ModelDual
from fewatoms.capabilities import Gauge
from fewatoms.problem import Problem
from fewatoms.ridged import Ridged
from fewatoms.rounding import above, below, gamma

Bounds = tuple[float, float]  # low and high
GapAt = Callable[[float], float]  # from the value of a dual point to its gap with the best primal point known

FEASIBLE = 1 + 1e-10  # a constraint met up to this factor counts as met
SECTIONS = 20  # of the shares of a dual vector, where there is a ridge: the best one to four digits


class Relaxation(ABC):
    """A primal-dual pair. Values at infeasible points are infinite."""

    name: str

    def __init__(self, problem: Problem) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(f"problem must be a fewatoms.Problem; got {type(problem).__name__}")
        self.problem = problem

    def __eq__(self, other: object) -> bool:
        alike = isinstance(other, Relaxation) and self.name == other.name and self.problem is other.problem
        return alike and isinstance(other, Relaxation) and self.parameter == other.parameter

    def __hash__(self) -> int:
        return hash((self.name, id(self.problem), self.parameter))

    @property
    @abstractmethod
    def parameter(self) -> float:
        """lambda, tau or alpha."""

    def over(self, problem: Problem) -> Relaxation:
        """The same of another problem, with the same parameter."""
        other = copy(self)
        other.problem = problem
        return other

    @abstractmethod
    def primal_value(self, loss: float, gauge: float, squares: float = math.inf) -> float:
        """The primal objective at a point with this loss and gauge, and these squares of coefficients of images, which
        are asked for where there is a ridge on them."""

    @abstractmethod
    def dual_value(self, y: FloatArray, sigma: float, z: ModelDual | None = None) -> float:
        """The dual objective at y with sigma = support(M*y), and z = M*y, which helps where there is a ridge."""

    @abstractmethod
    def doubt(self, y: FloatArray, sigma: float, gain: float = 0.0) -> float:
        """By how much the value at y may be above what is computed: rounding of <b, y>, of f*(y), and of the gain that
        a ridge adds in the place of the constraint. sigma : support(M*y), rounded up already.
        """

    @abstractmethod
    def scale(self, y: FloatArray, sigma: float) -> float:
        """The factor t >= 0 that makes t y feasible, with as good a value as is had without a product."""

    def primal(self, x: Array) -> float:
        """p(x), one product. x in the model's shape or flat."""
        problem = self.problem
        x = problem.atoms.read_point(x)
        gauge = problem.atoms.offers(Gauge)
        if gauge is None:
            raise TypeError(f"the gauge of {problem.atoms!r} is not known at single points: there is no p(x)")
        squares = math.inf if problem.ridged is None else problem.ridged.squares_at(x)
        return self.primal_value(problem.loss.value(problem.b - problem.M.apply(x)), gauge.gauge(x), squares)

    def dual(self, y: object) -> float:
        """d(y), one product with M*."""
        y = self.problem.loss.read_dual(y, self.problem.m)
        z = self.problem.M.adjoint(y)
        return self.dual_value(y, self.problem.atoms.ceiling(z), z)

    def gap(self, x: Array, y: object) -> float:
        """p(x) + d(y): not negative, up to rounding, and 0 exactly at a primal-dual solution."""
        return self.primal(x) + self.dual(y)

    def feasible(self, y: FloatArray, z: ModelDual, sigma: float) -> tuple[FloatArray, float]:
        """A feasible dual point made from y in dom f*, and its value, rounded up: the optimum is proven to be at least
        minus that. Infinite if none was found."""
        if not self.problem.atoms.bounded:
            return self._shifted(y, z, sigma)
        if math.isinf(sigma):
            return y, math.inf
        sigma = self.ceiling(y, sigma)
        t = self.scale(y, sigma)
        t = t if t == 1.0 else below(t)
        return t * y, self._doubted(t * y, t * sigma, self.dual_value(t * y, t * sigma))

    def ceiling(self, y: FloatArray, sigma: float) -> float:
        """sigma = support(M*y) rounded up, by what sums in M*y may hide as well where M says what they are of."""
        return above(sigma) + doubts.of_support(self.problem, y)

    def _doubted(self, y: FloatArray, sigma: float, value: float, gain: float = 0.0) -> float:
        """A value rounded up by what is in doubt."""
        return above(value + self.doubt(y, sigma, gain)) if math.isfinite(value) else value

    def _shifted(self, y: FloatArray, z: ModelDual, sigma: float) -> tuple[FloatArray, float]:
        """For the nonnegative cone: y - t 1 with the smallest t that makes M*y <= 0, if M*1 > 0, shrunk into dom f*."""
        atoms, pull = self.problem.atoms, doubts.of_support(self.problem, y)
        aligned = atoms.alignments(z)
        if sigma > 0 or (pull > 0 and aligned is not None and float(aligned.max()) + pull > 0):
            down, z = self.problem.adjoint_of_ones, linalg.as_flat(z)
            if down.min() <= 0:
                return y, math.inf
            # what rounding may hide in M*y is shifted away as well
            t = max(0.0, float(np.max((z + doubts.of_entries(self.problem, y)) / down))) * (1 + 1e-12)
            y, sigma = y - t, atoms.ceiling(z - t * down)  # 0 for the cone itself, not for its images
        if math.isinf(sigma):
            return y, math.inf
        share = self.share_in_domain(y)
        return share * y, self._doubted(share * y, 0.0, self.dual_value(share * y, share * sigma))

    # What Theorem 2 says about y, at a distance of at most `radius` from a multiple of the dual solution y*.

    def radius(self, y: FloatArray, dual: float, gap_at: GapAt, beta: Bounds | None) -> float | None:
        """A bound of |y - y*| for y with this dual value, from the gap that it leaves; None if there is none."""
        gap = gap_at(dual)
        return above(math.sqrt(2 * self.problem.loss.smoothness) * math.sqrt(gap)) if math.isfinite(gap) else None

    def level(self, y: FloatArray, sigma: Callable[[], float], beta: Bounds | None) -> float:
        """The alignment that atoms of solutions have with M*y, less what y may be off."""
        return sigma()

    def epsilon(self, norm: float, radius: float, level: float) -> float:
        """How far below the top of M*y their alignments may lie."""
        return above(norm * radius)

    def threshold(self, level: float, epsilon: float) -> float:
        """The least alignment of such atoms."""
        return level - epsilon - gamma(4) * (level + epsilon)

    def slack(self, norms: FloatArray | float, norm: float | None) -> FloatArray | float | None:
        """What each atom's alignment may be off by, in units of the radius, from |Ma| and the norm of M."""
        return norms

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
    """minimise f(b - Mx) + lam gauge(x); dual: minimise f*(y) - <b, y> subject to support(M*y) <= lam.

    With a ridge over listed atoms, (ridge / 2) |u|^2 for the coefficients u of images of length 1 is part of what is
    minimised, and the constraint gives way to what violating it costs (`Ridged`): dual: minimise f*(y) - <b, y> +
    sum_g h(z_g), h(z_g) = (|z_g| - lam)_+^2 / (2 ridge) over atoms in units of their images. The dual is as strongly
    convex as f* is, at least, and atoms of the solution have an alignment above lam with M*y*: what Theorem 2 says of
    y, radius, epsilon and safe set, holds as it does without a ridge, from every y and with a gap that is never
    infinite. Where lengths of images cannot be read without products the constraint stays: h = 0 where it is met.

    Parameters
    ----------
    problem : Problem
    lam : float
        lambda, what the gauge costs.
    """

    name = "P1"

    def __init__(self, problem: Problem, lam: float) -> None:
        super().__init__(problem)
        self.lam = _checks.number("lam", lam)

    @property
    def parameter(self) -> float:
        return self.lam

    def primal_value(self, loss: float, gauge: float, squares: float = math.inf) -> float:
        if not math.isfinite(gauge):
            return math.inf
        ridge = self.problem.price.on_squares
        return loss + self.lam * gauge + (0.5 * ridge * squares if ridge else 0.0)

    def dual_value(self, y: FloatArray, sigma: float, z: ModelDual | None = None) -> float:
        ridged = None if z is None else self._soft()
        if sigma <= self.lam or ridged is None:
            return self._dual(y, 0.0 if sigma <= self.lam * FEASIBLE else math.inf)
        return self._dual(y, ridged.gain(ridged.seen(z), self.lam))

    def _dual(self, y: FloatArray, cost: float) -> float:
        return self.problem.loss.conjugate(y) - float(self.problem.b @ y) + cost if cost < math.inf else math.inf

    def _soft(self) -> Ridged | None:
        """The ridge, where it takes the place of the constraint."""
        ridged = self.problem.ridged
        return None if ridged is None or ridged.lengths is None else ridged

    def doubt(self, y: FloatArray, sigma: float, gain: float = 0.0) -> float:
        ridged = self._soft()
        return doubts.of_values(self.problem, y) + (0.0 if ridged is None else ridged.doubt(gain, y))

    def scale(self, y: FloatArray, sigma: float) -> float:
        return 1.0 if sigma <= self.lam else self.lam / sigma

    def feasible(self, y: FloatArray, z: ModelDual, sigma: float) -> tuple[FloatArray, float]:
        ridged = self._soft()
        if ridged is None or sigma <= self.lam:
            return super().feasible(y, z, sigma)
        seen = ridged.seen(z)  # z itself is on loan
        met = 0.0 if math.isinf(sigma) else self.lam / sigma  # a smaller share meets the constraint, and is no better
        t, value = lowest(lambda t: self._dual(t * y, ridged.gain(t * seen, self.lam)), met, 1.0)
        return t * y, self._doubted(t * y, t * sigma, value, ridged.gain(t * seen, self.lam))

    def level(self, y: FloatArray, sigma: Callable[[], float], beta: Bounds | None) -> float:
        return self.lam if self.problem.atoms.bounded else 0.0


class P2(Relaxation):
    """minimise f(b - Mx) subject to gauge(x) <= tau; dual: minimise f*(y) - <b, y> + tau support(M*y).

    Parameters
    ----------
    problem : Problem
    tau : float
        The largest gauge allowed.
    """

    name = "P2"

    def __init__(self, problem: Problem, tau: float) -> None:
        super().__init__(problem)
        self.tau = _checks.number("tau", tau)

    @property
    def parameter(self) -> float:
        return self.tau

    def primal_value(self, loss: float, gauge: float, squares: float = math.inf) -> float:
        if gauge <= self.tau:
            return loss
        if gauge > self.tau * FEASIBLE:
            return math.inf
        share = self.tau / gauge  # of x: feasible, and f is convex
        return share * loss + (1 - share) * self.problem.at_zero

    def dual_value(self, y: FloatArray, sigma: float, z: ModelDual | None = None) -> float:
        if math.isinf(sigma):
            return math.inf
        return self.problem.loss.conjugate(y) - float(self.problem.b @ y) + self.tau * sigma

    def doubt(self, y: FloatArray, sigma: float, gain: float = 0.0) -> float:
        return doubts.of_values(self.problem, y) + gamma(8) * self.tau * sigma

    def scale(self, y: FloatArray, sigma: float) -> float:
        return 1.0

    def epsilon(self, norm: float, radius: float, level: float) -> float:
        return above(2 * norm * radius)  # the level itself is known from y alone

    def slack(self, norms: FloatArray | float, norm: float | None) -> FloatArray | float | None:
        return None if norm is None else norms + norm


class P3(Relaxation):
    """minimise gauge(x) subject to f(b - Mx) <= alpha; dual: see below.

    The dual: minimise over y and beta > 0 beta (f*(y / beta) + alpha) - <b, y> subject to support(M*y) <= 1.

    Parameters
    ----------
    problem : Problem
        Its alpha is the bound.
    """

    name = "P3"

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        if problem.alpha is None:
            raise ValueError("problem must have a bound, alpha or misfit, for (P3); it has none")
        self.alpha = problem.alpha

    @property
    def parameter(self) -> float:
        return self.alpha

    def primal_value(self, loss: float, gauge: float, squares: float = math.inf) -> float:
        return gauge if loss <= self.problem.tolerance else math.inf

    def dual_value(self, y: FloatArray, sigma: float, z: ModelDual | None = None) -> float:
        if sigma > FEASIBLE:
            return math.inf
        return self.problem.loss.support_of_sublevel(y, self.alpha) - float(self.problem.b @ y)

    def ceiling(self, y: FloatArray, sigma: float) -> float:
        beta = self.problem.loss.best_beta(y, self.alpha)  # it is y / beta that lies in dom f*
        return above(sigma) + doubts.of_support(self.problem, y, beta if 0.0 < beta < math.inf else 1.0)

    def doubt(self, y: FloatArray, sigma: float, gain: float = 0.0) -> float:
        return doubts.of_product(self.problem, y) + self.problem.loss.perspective_doubt(y, self.alpha)

    def _above_at(self, y: FloatArray, beta: float) -> float:
        """d3(y, beta), rounded up."""
        value, problem = self.dual_at(y, beta), self.problem
        if not math.isfinite(value):
            return value
        return above(value + doubts.of_product(problem, y) + problem.loss.perspective_doubt(y, self.alpha, beta))

    def dual_at(self, y: FloatArray, beta: float) -> float:
        """d3(y, beta), without the infimum over beta."""
        return self.problem.loss.perspective(y, beta, self.alpha) - float(self.problem.b @ y)

    def scale(self, y: FloatArray, sigma: float) -> float:
        # The objective is positively homogeneous: all of the room is used if the direction is any good.
        return 1.0 / sigma if sigma > 0 else 1.0

    def _share(self, y: FloatArray, beta: Bounds | None) -> float:
        """The share t of y that (D3) admits at all beta within the bounds, where t y / beta must lie in dom f*; 1 else.

        What Theorem 2 says of t y is told of y: it is within radius of y* / t, and support atoms have alignment 1 / t.
        """
        return self.share_in_domain(y / beta[0]) if beta is not None and beta[0] > 0 else 1.0

    def radius(self, y: FloatArray, dual: float, gap_at: GapAt, beta: Bounds | None) -> float | None:
        share = 0.0 if beta is None else self._share(y, beta)
        if beta is None or math.isinf(beta[1]) or math.isinf(gap_at(dual)) or share == 0:
            return None
        low, high = beta
        excess = gap_at(max(self._above_at(share * y, low), self._above_at(share * y, high)))
        excess += high * (self.problem.tolerance - self.alpha)  # x may use what counts as meeting alpha
        smoothness = self.problem.loss.smoothness
        return above(math.sqrt(2 * high * smoothness * excess) / share, 8) if math.isfinite(excess) else None

    def level(self, y: FloatArray, sigma: Callable[[], float], beta: Bounds | None) -> float:
        return 1.0 / self._share(y, beta)

    def epsilon(self, norm: float, radius: float, level: float) -> float:
        return max(0.0, 1.0 - level + above(norm * radius) + gamma(8) * level)

    def threshold(self, level: float, epsilon: float) -> float:
        return 1.0 - epsilon - gamma(4) * (1.0 + epsilon)


def lowest(value: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Where a convex function is lowest between two points, both included, and how low: by golden sections."""
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    a, b = high - golden * (high - low), low + golden * (high - low)
    tried = {t: value(t) for t in (high, low, a, b)}
    for _ in range(SECTIONS):
        if tried[a] <= tried[b]:
            high, b, a = b, a, b - golden * (b - low)
            tried[a] = value(a)
        else:
            low, a, b = a, b, a + golden * (high - a)
            tried[b] = value(b)
    best = min(tried, key=lambda t: tried[t])
    return best, tried[best]
