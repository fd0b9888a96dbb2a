"""Two classes."""

from __future__ import annotations

import math
from copy import copy
from typing import Self

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.classes import Labels
from fewatoms.kept import Kept
from fewatoms.losses.base import Loss
from fewatoms.rounding import gamma

LOGARITHM = 128  # roundings of a probability that its logarithm may show


class Logistic(Loss):
    """f(r) = sum_i w_i log(1 + exp(t_i r_i)), with a sign t_i = +1 or -1 for each of two classes.

    `fit(X, labels, loss=Logistic())` takes labels of two values, of any type, as b. With X in the place of M and 0 in
    that of b, t_i <X_i, x> is the margin of row i, and f the usual logistic loss: -log of the probability that the
    model gives to the labels, 1 / (1 + exp(-margin)) each. An intercept is an intercept, and `predict` gives <X_i, x>,
    which is positive for the second class.

    In the paper's form signs are in M = diag(t) X already, and b is 0: then all t_i are 1 here, and an intercept is a
    free column t. Numbers that are all 0 are always read so: labels that happen to be 0 in every row cannot be told
    from it, while other labels of one class are refused. Truth values and strings are labels in any case.

    Without coefficients f is not 0, and a misfit |b - Mx| / |b| means nothing: bound the loss with `alpha`. Classes
    that k atoms separate have no best coefficients (`Status.SEPARABLE`): give a ridge, a cap or a bound.

    Parameters
    ----------
    weights : (m,) array of positive numbers, optional
        Multiplies the terms of the sum; all are 1 by default.
    """

    anchored = False
    labelled = True

    def kept(self) -> Kept | None:
        return Kept(type(self).__name__) if self.weights is None else None

    def of_labels(self, labels: Labels) -> Self:
        other = copy(self)
        other.labels = labels
        return other

    def without_labels(self) -> Loss:
        other = copy(self)
        other.labels = None
        return other

    @property
    def _t(self) -> FloatArray | float:
        """The signs."""
        return 1.0 if self.labels is None else self.labels.signs

    def margins(self, images: Array) -> Array:
        return images if self.labels is None else (images.T * self._t).T

    @property
    def smoothness(self) -> float:
        return 0.25 if self.weights is None else 0.25 * float(self.weights.max())

    def value(self, r: FloatArray) -> float:
        return float(np.sum(self._w * np.logaddexp(0.0, self._t * r)))

    def gradient(self, r: FloatArray) -> FloatArray:
        t = self._t
        return self._w * (t * _expit(t * r))

    def curvature(self, r: FloatArray) -> FloatArray:
        return self._w * (_expit(r) * _expit(-r))

    def conjugate(self, y: FloatArray) -> float:
        p = self._t * y / self._w
        if p.size and (p.min() < -1e-12 or p.max() > 1 + 1e-12):
            return math.inf
        p = np.clip(p, 0.0, 1.0)
        return float(np.sum(self._w * (xlogx(p) + xlogx(1.0 - p))))

    def conjugate_doubt(self, y: FloatArray) -> float:
        return super().conjugate_doubt(y) + doubt_of_logarithms(y, self.weights)

    def clip(self, y: FloatArray) -> FloatArray:
        t = self._t
        return self._w * (t * np.clip(t * y / self._w, 0.0, 1.0))

    def best_beta(self, y: FloatArray, alpha: float) -> float:
        p = self._t * y / self._w
        if p.size and p.min() < -1e-12 * p.max():
            return math.inf if alpha == 0 else 1.0  # y / beta never enters dom f*: every beta gives infinity
        return beta_of_errors(p, self._w, alpha)

    def support_of_sublevel(self, y: FloatArray, alpha: float) -> float:
        if alpha == 0:  # {f <= 0} is empty
            return -math.inf
        return super().support_of_sublevel(y, alpha)


def beta_of_errors(p: FloatArray, w: FloatArray | float, alpha: float) -> float:
    """The best beta of losses of classes, for y that gives away the share p of the probability of each label.

    The derivative in beta, alpha + sum w log(1 - p / beta), rises from -infinity at max p to alpha at infinity.
    """
    top = float(p.max()) if p.size else 0.0
    if top <= 0:
        return 0.0
    if alpha == 0:
        return math.inf

    def slope(beta: float) -> float:
        with np.errstate(divide="ignore"):
            return alpha + float(np.sum(w * np.log1p(-np.clip(p / beta, 0.0, 1.0))))

    low, high = top, 2.0 * top
    while slope(high) < 0:
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return high


def doubt_of_logarithms(y: FloatArray, weights: FloatArray | None) -> float:
    """What sums of t log t are off by since t is: logarithms of numbers that a double tells from 0 are below 40."""
    return gamma(LOGARITHM) * (y.size if weights is None else float(weights.sum()))


def xlogx(t: FloatArray) -> FloatArray:
    return np.where(t > 0, t * np.log(np.where(t > 0, t, 1.0)), 0.0)


def _expit(r: FloatArray) -> FloatArray:
    """1 / (1 + exp(-r)). The import is late: SciPy's special functions take a quarter of the time of importing us."""
    from scipy.special import expit

    return np.asarray(expit(r))
