"""Squares of small residuals, sizes of large ones."""

from __future__ import annotations

import math

import numpy as np

from fewatoms import _checks
from fewatoms._types import FloatArray
from fewatoms.kept import Kept
from fewatoms.losses.base import Loss

EFFICIENT = 1.35  # scales of the residual: 95 % as good as least squares where the noise is Gaussian
GAUSSIAN = 1.4826  # standard deviations per median of absolute values


def usual_delta(residual: FloatArray, weights: FloatArray | None = None) -> float:
    """Where the loss may well turn linear, from the residual of a first fit: 1.35 times the median distance from the
    median, as a standard deviation; the mean one where more than half are nothing, and 1 where all are."""
    w = np.ones(residual.size) if weights is None else weights
    sizes = np.abs(residual - _median(residual, w))
    middle, mean = GAUSSIAN * _median(sizes, w), float(np.average(sizes, weights=w))
    return EFFICIENT * (middle if middle > 1e-12 * mean else mean or 1.0)


def _median(values: FloatArray, weights: FloatArray) -> float:
    """That of values repeated as often as their weights say."""
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    low = int(np.searchsorted(sums, sums[-1] / 2))
    high = int(np.searchsorted(sums, sums[-1] / 2, side="right"))
    return float((values[order[low]] + values[order[min(high, values.size - 1)]]) / 2)


class Huber(Loss):
    """f(r) = sum_i w_i h(r_i), with h(t) = t^2 / 2 for |t| <= delta and delta |t| - delta^2 / 2 beyond.

    (cvxpy's `huber` is twice this.)

    Parameters
    ----------
    delta : float
        Where large residuals begin, in units of b.
    weights : (m,) array of positive numbers, optional
        Multiplies the terms of the sum; all are 1 by default.
    """

    def __init__(self, delta: float = 1.0, weights: object = None) -> None:
        super().__init__(weights)
        self.delta = self.linear_beyond = _checks.number("delta", delta, positive=True)
        _checks.ordinary("delta", self.delta)

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
