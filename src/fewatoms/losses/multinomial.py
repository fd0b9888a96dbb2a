"""Classes of any number."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.classes import Labels
from fewatoms.kept import Kept
from fewatoms.losses.base import Loss
from fewatoms.losses.logistic import beta_of_errors, doubt_of_logarithms, xlogx

if TYPE_CHECKING:
    from fewatoms.reduced import ReducedOperator

INSIDE = 1e-12  # what probabilities may be off the simplex by and still count as being in it


class Multinomial(Loss):
    """f(R) = sum_i w_i (log sum_c exp(-R_ic) + R_il), l the class of datum i, for residuals with a column per class.

    `fit(X, labels, atoms=SignedOneHot(n), loss=Multinomial())` takes labels of two or more values, of any type, as b.
    An atom is a feature with its row of coefficients, one for each class, so x is n x classes, as with `Joint`; an
    intercept has one number for each class. With 0 in the place of b, the model gives the probabilities
    softmax(<X_i, x>) to the classes, and f is -log of those of the labels. `predict` gives <X_i, x>, a column per
    class. What is the same for all classes changes no probability: rows of coefficients sum to 0.

    Without coefficients f is not 0, and a misfit |b - Mx| / |b| means nothing: bound the loss with `alpha`. Classes
    that k atoms separate have no best coefficients (`Status.SEPARABLE`): give a ridge, a cap or a bound.

    f*(Y) = sum_i w_i sum_c p_ic log p_ic with p_i = e_l - Y_i / w_i in the simplex, and infinite elsewhere.

    Parameters
    ----------
    weights : (m,) array of positive numbers, optional
        Multiplies the terms of the sum; all are 1 by default.
    """

    anchored = False
    labelled = True

    @property
    def classes(self) -> int:
        """How many there are; 0 where no labels are known yet."""
        return 0 if self.labels is None else self.labels.count

    @property
    def _codes(self) -> IntArray:
        if self.labels is None:
            raise ValueError("labels must be known for the loss of their classes: fit(X, labels, loss=Multinomial())")
        return self.labels.codes

    def kept(self) -> Kept | None:
        return Kept(type(self).__name__) if self.weights is None else None

    def _settings(self) -> str:  # one weight for each datum, however many classes there are
        return "" if self.weights is None else f"weights=<{self.weights.size // max(1, self.classes)}>"

    # Labels -----------------------------------------------------------------------------------------------------------

    def width(self, classes: int) -> int:
        return classes

    def of_labels(self, labels: Labels) -> Self:
        other = self.without_labels()
        if other.weights is not None:
            other.weights = np.repeat(other.weights, labels.count)
        other.labels = labels
        return other

    def without_labels(self) -> Self:
        other = copy(self)
        if self.weights is not None:
            other.weights = self.weights[:: max(1, self.classes)]
        other.labels = None
        return other

    def subset(self, rows: IntArray) -> Loss:
        """For some of the data, whole rows of residuals."""
        assert self.labels is not None
        other = copy(self)
        other.weights = None if self.weights is None else self.weights[rows]
        other.labels = self.labels.at(rows[:: self.classes] // self.classes)
        return other

    @property
    def _of_row(self) -> FloatArray | float:
        return 1.0 if self.weights is None else self.weights[:: self.classes]

    def _rows(self, r: FloatArray) -> FloatArray:
        return r.reshape(self._codes.size, self.classes)

    def _own(self, R: Array) -> Array:
        """What stands at the label of each row."""
        return R[np.arange(len(R)), self._codes]

    def _indicated(self, P: FloatArray) -> FloatArray:
        """e_l - P, in P's place."""
        np.negative(P, out=P)
        P[np.arange(len(P)), self._codes] += 1.0
        return P

    def margins(self, images: Array) -> Array:
        """Those of the label over each other class, a row of the block for each of them."""
        R = images.reshape(-1, self.classes, *images.shape[1:])
        others = np.arange(self.classes) != self._codes[:, None]
        return (self._own(R)[:, None] - R)[others]

    # The loss ---------------------------------------------------------------------------------------------------------

    @property
    def smoothness(self) -> float:
        return 0.5 if self.weights is None else 0.5 * float(self.weights.max())

    def value(self, r: FloatArray) -> float:
        D = self._own(self._rows(r))[:, None] - self._rows(r)  # against the label, which has 0
        rows, top = np.arange(len(D)), D.argmax(axis=1)
        most = D[rows, top]
        E = np.exp(D - most[:, None])
        E[rows, top] = 0.0  # the 1 in the logarithm: small losses are kept to the last digit
        return float(np.sum(self._of_row * (most + np.log1p(E.sum(axis=1)))))

    def _probabilities(self, r: FloatArray) -> FloatArray:
        R = self._rows(r)
        P = np.exp(R.min(axis=1)[:, None] - R)
        P /= P.sum(axis=1)[:, None]
        return P

    def gradient(self, r: FloatArray) -> FloatArray:
        P, rows = self._probabilities(r), np.arange(len(self._rows(r)))
        P[rows, self._codes] = 0.0
        P[rows, self._codes] = -P.sum(axis=1)  # 1 less the label's own, to the last digit
        return np.asarray(-self._w * P.ravel())

    def curvature(self, r: FloatArray) -> FloatArray:
        p = self._probabilities(r).ravel()
        return self._w * p * (1.0 - p)

    def bend(self, r: FloatArray) -> Spread:
        return Spread(self._probabilities(r), self._of_row * np.ones(r.size // self.classes))

    def bowl(self, r: FloatArray) -> Spread:
        return self.bend(r)

    def conjugate(self, y: FloatArray) -> float:
        P = self._indicated(np.array(self._rows(y / self._w)))
        if P.size and (P.min() < -INSIDE or np.abs(P.sum(axis=1) - 1.0).max() > INSIDE * self.classes):
            return math.inf
        return float(np.sum(self._of_row * xlogx(np.clip(P, 0.0, 1.0)).sum(axis=1)))

    def conjugate_doubt(self, y: FloatArray) -> float:
        return super().conjugate_doubt(y) + doubt_of_logarithms(y, self.weights)

    def clip(self, y: FloatArray) -> FloatArray:
        return self._w * self._indicated(_onto_simplex(self._indicated(np.array(self._rows(y / self._w))))).ravel()

    def best_beta(self, y: FloatArray, alpha: float) -> float:
        Y = self._rows(y / self._w)
        lost, size = self._own(Y), float(np.abs(Y).max(initial=0.0))
        gained = np.where(np.arange(self.classes) == self._codes[:, None], 0.0, Y)
        if gained.max(initial=0.0) > INSIDE * size or np.abs(Y.sum(axis=1)).max(initial=0.0) > INSIDE * size * 10:
            return math.inf if alpha == 0 else 1.0  # y / beta never enters dom f*: every beta gives infinity
        return beta_of_errors(lost, self._of_row, alpha)

    def support_of_sublevel(self, y: FloatArray, alpha: float) -> float:
        if alpha == 0:  # {f <= 0} is empty
            return -math.inf
        return super().support_of_sublevel(y, alpha)


@dataclass(frozen=True, eq=False)
class Spread:
    """w_i (diag(p_i) - p_i p_i') for each datum: nothing is bent along what all classes share.

    P : probabilities, a row for each datum; w : its weight
    """

    P: FloatArray
    w: FloatArray

    @property
    def diagonal(self) -> FloatArray:
        return (self.w[:, None] * self.P * (1.0 - self.P)).ravel()

    def times(self, v: FloatArray) -> FloatArray:
        V = v.reshape(self.P.shape)
        return (self.w[:, None] * self.P * (V - np.einsum("ij,ij->i", self.P, V)[:, None])).ravel()

    @cached_property
    def _filling(self) -> FloatArray:
        """A bend of all classes at once, of the size of the others. Gradients are 0 along it, so that it turns no step,
        and a Hessian has its inverse."""
        spread = self.w * (1.0 - np.einsum("ij,ij->i", self.P, self.P)) / self.P.shape[1] ** 2
        return np.broadcast_to(np.sqrt(np.maximum(spread, 0.0))[:, None], self.P.shape)

    def gram(self, R: ReducedOperator) -> FloatArray:
        root = np.sqrt(self.w)[:, None]
        own = R.normal_equations(self.P.ravel(), (self.w[:, None] * self.P).ravel())[0]
        shared, filled = R.summed(root * self.P), R.summed(self._filling)
        return own - shared.T @ shared + filled.T @ filled


def _onto_simplex(P: FloatArray) -> FloatArray:
    """The nearest point of the simplex to each row; rows of the simplex stay as they are."""
    if not P.size:
        return P
    falling = -np.sort(-P, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, P.shape[1] + 1)
    last = np.count_nonzero(falling > excess, axis=1) - 1
    near: FloatArray = np.maximum(P - excess[np.arange(len(P)), last][:, None], 0.0)
    inside = (P.min(axis=1) >= -INSIDE) & (np.abs(P.sum(axis=1) - 1.0) <= INSIDE)
    near[inside] = np.maximum(P[inside], 0.0)
    return near
