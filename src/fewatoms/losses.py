"""Losses f on residuals r = b - Mx: value, gradient, conjugate, smoothness; no data inside.

Losses are sums over the entries of r, never means. With weights w (positive, one per entry) each term is multiplied by
its weight. The dual vector of a residual is y = gradient(r), a point of dom f*.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy

import numpy as np

from fewatoms import _checks
from fewatoms._types import FloatArray, IntArray
from fewatoms.kept import Kept


class Loss(ABC):
    """A smooth convex loss, separable over the entries of the residual.

    Parameters
    ----------
    weights : (m,) array of positive numbers, optional
        Multiplies the terms of the sum. A row of weight zero is a row to leave out.

    A loss of your own needs the abstract members below and nothing else, a constructor neither. Residuals and y are
    real.
    """

    anchored = True  # f >= 0 and f(0) = 0, so that b = 0 asks for nothing
    squares = False  # f is half the (weighted) squared norm: normal equations solve it
    labelled = False  # labels are part of M: a column of ones is the column of labels there
    weights: FloatArray | None = None

    def __init__(self, weights: object = None) -> None:
        if weights is not None:
            given = _checks.real_vector("weights", weights)
            if given.size and given.min() <= 0:
                raise ValueError(f"weights must be positive (leave rows of weight 0 out); got {given.min()}")
            self.weights = given

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings()})"

    def _settings(self) -> str:
        return "" if self.weights is None else f"weights=<{self.weights.size}>"

    def subset(self, rows: IntArray) -> Loss:
        """The same loss for some of the data."""
        other = copy(self)
        other.weights = None if self.weights is None else self.weights[rows]
        return other

    def kept(self) -> Kept | None:
        """What an answer keeps of its loss: nothing where it is one's own, or has weights, which are data."""
        return None

    @property
    def _w(self) -> FloatArray | float:
        return 1.0 if self.weights is None else self.weights

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """L, the Lipschitz constant of the gradient."""

    @abstractmethod
    def value(self, r: FloatArray) -> float:
        """f(r)."""

    @abstractmethod
    def gradient(self, r: FloatArray) -> FloatArray:
        """The gradient of f at r."""

    @abstractmethod
    def curvature(self, r: FloatArray) -> FloatArray:
        """The diagonal of the (generalised) Hessian of f at r; it need not be positive."""

    @abstractmethod
    def conjugate(self, y: FloatArray) -> float:
        """f*(y) = sup over w of <y, w> - f(w); infinite outside dom f*."""

    def clip(self, y: FloatArray) -> FloatArray:
        """A point of dom f* near y: y itself if it lies there, else one between it and grad f(0), which does.

        Losses that know the nearest point say so.
        """
        if math.isfinite(self.conjugate(y)):
            return y
        inside = self.gradient(np.zeros_like(y))
        low, high = 0.0, 1.0
        while high - low > 1e-12:
            middle = 0.5 * (low + high)
            here = inside + middle * (y - inside)
            low, high = (middle, high) if math.isfinite(self.conjugate(here)) else (low, middle)
        return inside + low * (y - inside)

    def best_beta(self, y: FloatArray, alpha: float) -> float:
        """The beta > 0 that minimises beta (f*(y / beta) + alpha), a convex function; infinity where the infimum is a
        limit. Found here by search; losses that know a formula say so."""
        if not y.any():
            return 0.0
        if alpha == 0:
            return math.inf
        unit = max(float(np.abs(y).max()), 1e-300)
        return _lowest_beta(lambda beta: self.perspective(y, beta, alpha), unit)

    def perspective(self, y: FloatArray, beta: float, alpha: float) -> float:
        """beta (f*(y / beta) + alpha), the perspective map in (D3)."""
        if beta == 0.0:
            return 0.0 if not y.any() else math.inf
        return beta * (self.conjugate(y / beta) + alpha)

    def support_of_sublevel(self, y: FloatArray, alpha: float) -> float:
        """inf over beta > 0 of beta (f*(y / beta) + alpha), the support function of {r : f(r) <= alpha} at y."""
        return self.perspective(y, self.best_beta(y, alpha), alpha)


class Quadratic(Loss):
    """What losses that are homogeneous of degree two share."""

    @property
    def smoothness(self) -> float:
        return 1.0 if self.weights is None else float(self.weights.max())

    def curvature(self, r: FloatArray) -> FloatArray:
        return np.ones_like(r) * self._w

    def clip(self, y: FloatArray) -> FloatArray:
        return y

    def best_beta(self, y: FloatArray, alpha: float) -> float:
        half = self.conjugate(y)
        if half == 0.0:
            return 0.0
        return math.sqrt(half / alpha) if alpha > 0 else math.inf

    def support_of_sublevel(self, y: FloatArray, alpha: float) -> float:
        return 2.0 * math.sqrt(self.conjugate(y) * alpha)


class LeastSquares(Quadratic):
    """f(r) = 1/2 sum_i w_i r_i^2."""

    squares = True

    def kept(self) -> Kept | None:
        return Kept(type(self).__name__) if self.weights is None else None

    def value(self, r: FloatArray) -> float:
        return 0.5 * float(np.dot(r, r if self.weights is None else self.weights * r))

    def gradient(self, r: FloatArray) -> FloatArray:
        return self._w * r

    def conjugate(self, y: FloatArray) -> float:
        return 0.5 * float(np.dot(y, y if self.weights is None else y / self.weights))


class Huber(Loss):
    """f(r) = sum_i w_i h(r_i), with h(t) = t^2 / 2 for |t| <= delta and delta |t| - delta^2 / 2 beyond.

    (cvxpy's `huber` is twice this.)
    """

    def __init__(self, delta: float = 1.0, weights: object = None) -> None:
        super().__init__(weights)
        self.delta = _checks.number("delta", delta, positive=True)

    def _settings(self) -> str:
        return ", ".join(filter(None, [f"delta={self.delta:g}", super()._settings()]))

    def kept(self) -> Kept | None:
        return Kept(type(self).__name__, {"delta": self.delta}) if self.weights is None else None

    @property
    def smoothness(self) -> float:
        return 1.0 if self.weights is None else float(self.weights.max())

    def value(self, r: FloatArray) -> float:
        size = np.abs(r)
        small = np.minimum(size, self.delta)
        return float(np.sum(self._w * small * (size - 0.5 * small)))

    def gradient(self, r: FloatArray) -> FloatArray:
        return self._w * np.clip(r, -self.delta, self.delta)

    def curvature(self, r: FloatArray) -> FloatArray:
        return self._w * (np.abs(r) <= self.delta).astype(np.float64)

    def conjugate(self, y: FloatArray) -> float:
        # A point on the border, moved out by rounding, still counts as inside.
        if y.size and np.max(np.abs(y) / self._w) > self.delta * (1 + 1e-12):
            return math.inf
        return 0.5 * float(np.dot(y, y / self._w))

    def clip(self, y: FloatArray) -> FloatArray:
        return self._w * np.clip(y / self._w, -self.delta, self.delta)

    def best_beta(self, y: FloatArray, alpha: float) -> float:
        if not y.any():
            return 0.0
        if alpha == 0:
            return math.inf
        half = 0.5 * float(np.dot(y, y / self._w))
        return max(float(np.max(np.abs(y) / self._w)) / self.delta, math.sqrt(half / alpha))

    def support_of_sublevel(self, y: FloatArray, alpha: float) -> float:
        return 0.0 if alpha == 0 else super().support_of_sublevel(y, alpha)


class Logistic(Loss):
    """f(r) = sum_i w_i log(1 + exp(r_i)).

    Labels enter through the operator: with features X (m x n) and labels t_i = +1 or -1, pass M = diag(t) X and b = 0.
    Then r_i = -t_i <X_i, x>, the negative margin, and f is the usual logistic loss. An intercept is a column t of M.
    Zero data are not the zero problem here (f(0) > 0), a misfit |b - Mx| / |b| means nothing, and on separable data the
    loss has no minimiser: bound it with `alpha`.
    """

    anchored = False
    labelled = True

    def kept(self) -> Kept | None:
        return Kept(type(self).__name__) if self.weights is None else None

    @property
    def smoothness(self) -> float:
        return 0.25 if self.weights is None else 0.25 * float(self.weights.max())

    def value(self, r: FloatArray) -> float:
        return float(np.sum(self._w * np.logaddexp(0.0, r)))

    def gradient(self, r: FloatArray) -> FloatArray:
        return self._w * _expit(r)

    def curvature(self, r: FloatArray) -> FloatArray:
        return self._w * _expit(r) * _expit(-r)

    def conjugate(self, y: FloatArray) -> float:
        t = y / self._w
        if t.size and (t.min() < -1e-12 or t.max() > 1 + 1e-12):
            return math.inf
        t = np.clip(t, 0.0, 1.0)
        return float(np.sum(self._w * (_xlogx(t) + _xlogx(1.0 - t))))

    def clip(self, y: FloatArray) -> FloatArray:
        return self._w * np.clip(y / self._w, 0.0, 1.0)

    def best_beta(self, y: FloatArray, alpha: float) -> float:
        # The derivative in beta, alpha + sum w log(1 - t / beta), rises from -infinity at max t to alpha at infinity.
        t = y / self._w
        if t.size and t.min() < -1e-12 * t.max():
            return math.inf if alpha == 0 else 1.0  # y / beta never enters dom f*: every beta gives infinity
        top = float(t.max()) if t.size else 0.0
        if top <= 0:
            return 0.0
        if alpha == 0:
            return math.inf

        def slope(beta: float) -> float:
            with np.errstate(divide="ignore"):
                return alpha + float(np.sum(self._w * np.log1p(-np.clip(t / beta, 0.0, 1.0))))

        low, high = top, 2.0 * top
        while slope(high) < 0:
            low, high = high, 2.0 * high
        for _ in range(200):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (low, middle) if slope(middle) > 0 else (middle, high)
        return high

    def support_of_sublevel(self, y: FloatArray, alpha: float) -> float:
        if alpha == 0:  # {f <= 0} is empty
            return -math.inf
        return super().support_of_sublevel(y, alpha)


def _xlogx(t: FloatArray) -> FloatArray:
    return np.where(t > 0, t * np.log(np.where(t > 0, t, 1.0)), 0.0)


def _lowest_beta(value: Callable[[float], float], unit: float) -> float:
    """Where a convex function of beta > 0, infinite for small beta, is least: by golden sections of log beta."""
    grid = unit * np.geomspace(1e-12, 1e12, 97)
    values = [value(float(beta)) for beta in grid]
    i = int(np.argmin(values))
    low, high = math.log(grid[max(i - 1, 0)]), math.log(grid[min(i + 1, len(grid) - 1)])
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    while high - low > 1e-10:
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, b) if value(math.exp(a)) <= value(math.exp(b)) else (a, high)
    return math.exp(high)  # the side on which it is finite


def exact_step(loss: Loss, r: FloatArray, d: FloatArray, longest: float) -> float:
    """The theta in [0, longest] that minimises f(r - theta d): Newton on the slope, guarded by bisection.

    One evaluation is O(m); for least squares the first Newton step is exact.
    """

    def slope(theta: float) -> float:
        return -float(np.dot(loss.gradient(r - theta * d), d))

    if slope(0.0) >= 0:
        return 0.0
    low, high = 0.0, longest
    if math.isinf(high):
        high = 1.0
        while slope(high) < 0 and high < 1e16:
            low, high = high, 2.0 * high
    elif slope(high) <= 0:
        return longest
    theta = low
    for _ in range(60):
        bend = float(np.dot(d, loss.curvature(r - theta * d) * d))
        g = slope(theta)
        step = theta - g / bend if bend > 0 else math.inf
        theta_next = step if low < step < high else 0.5 * (low + high)
        g_next = slope(theta_next)
        low, high = (theta_next, high) if g_next < 0 else (low, theta_next)
        done = abs(theta_next - theta) <= 1e-14 * max(theta_next, 1e-300) or abs(g_next) <= 1e-14 * abs(g)
        theta = theta_next
        if done:
            break
    return theta


def _expit(r: FloatArray) -> FloatArray:
    """1 / (1 + exp(-r)). The import is late: SciPy's special functions take a quarter of the time of importing us."""
    from scipy.special import expit

    return np.asarray(expit(r))
