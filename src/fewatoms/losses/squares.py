"""Least squares, and what is like it."""

from __future__ import annotations

import math

import numpy as np

from fewatoms._types import FloatArray, Vector
from fewatoms.kept import Kept
from fewatoms.losses.base import Loss
from fewatoms.spread import Spread, spread

WEIGHED_AT_ONCE = 1 << 20  # data that are weighed together: no product as long as all of them is formed


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
    """f(r) = 1/2 sum_i w_i r_i^2.

    Parameters
    ----------
    weights : (m,) array of positive numbers, optional
        Multiplies the terms of the sum; all are 1 by default.
    """

    squares = True

    def kept(self) -> Kept | None:
        return Kept(type(self).__name__) if self.weights is None else None

    def value(self, r: FloatArray) -> float:
        w = self.weights
        if w is None:
            return 0.5 * float(r @ r)
        parts = (slice(start, start + WEIGHED_AT_ONCE) for start in range(0, r.size, WEIGHED_AT_ONCE))
        return 0.5 * sum(float(np.dot(r[some], w[some] * r[some])) for some in parts)

    def with_background(self, background: float) -> Loss:
        return Everywhere(self.weights, background) if background else self

    def gradient(self, r: FloatArray) -> FloatArray:
        return self._w * r

    def conjugate(self, y: FloatArray) -> float:
        return 0.5 * float(y @ (y if self.weights is None else y / self.weights))


class Everywhere(LeastSquares):
    """f(r) = 1/2 sum of w_i r_i^2 over the sampled entries of a matrix + background / 2 times the squares at all other
    cells: what `LeastSquares` means beside Sampling(..., background=...).

    Residuals and y are `Spread`, or arrays for vectors that are zero beyond the sampled entries, as data are.
    """

    def __init__(self, weights: FloatArray | None, background: float) -> None:
        super().__init__(weights)
        self.background = background

    def _settings(self) -> str:
        return ", ".join(filter(None, (super()._settings(), f"background={self.background:g}")))

    def __repr__(self) -> str:
        return f"LeastSquares({self._settings()})"

    def kept(self) -> Kept | None:
        return LeastSquares(self.weights).kept()  # the background is M's

    @property
    def smoothness(self) -> float:
        return max(super().smoothness, self.background)

    def value(self, r: Vector) -> float:
        all_ = spread(r)
        return super().value(all_.seen) + 0.5 * self.background * all_.rest

    def gradient(self, r: Vector) -> Vector:
        return spread(r).weighed(self._w, self.background)

    def conjugate(self, y: Vector) -> float:
        all_ = spread(y)
        return super().conjugate(all_.seen) + 0.5 * all_.rest / self.background

    def read_dual(self, y: object, size: int) -> Vector:
        return Spread.of(y, size) or super().read_dual(y, size)
