"""Least squares, and what is like it."""

from __future__ import annotations

import math

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.kept import Kept
from fewatoms.losses.base import Loss


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
        return 0.5 * float(np.dot(r, r if self.weights is None else self.weights * r))

    def gradient(self, r: FloatArray) -> FloatArray:
        return self._w * r

    def conjugate(self, y: FloatArray) -> float:
        return 0.5 * float(np.dot(y, y if self.weights is None else y / self.weights))
