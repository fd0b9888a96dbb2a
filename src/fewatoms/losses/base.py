"""The contract of losses, and what follows from it alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from fewatoms import _checks, rounding
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.classes import Labels
from fewatoms.kept import Kept

if TYPE_CHECKING:
    from fewatoms.reduced import ReducedOperator


INFIMUM = 1e-15  # share of f(0) that is rounding


class Bend(Protocol):
    """The Hessian of a loss at some residual, or what stands for it."""

    @property
    def diagonal(self) -> FloatArray:
        """H_ii for all i."""
        ...

    def times(self, v: FloatArray) -> FloatArray:
        """H v."""
        ...

    def gram(self, R: ReducedOperator) -> FloatArray:
        """R' H R, or what has the same Newton steps: directions that change nothing may be bent."""
        ...


@dataclass(frozen=True, eq=False)
class Diagonal:
    """That of a loss which is separable."""

    diagonal: FloatArray

    def times(self, v: FloatArray) -> FloatArray:
        return self.diagonal * v

    def gram(self, R: ReducedOperator) -> FloatArray:
        return R.gram(self.diagonal)


class Loss(ABC):
    """A smooth convex loss, separable over the entries of the residual unless `bend` says otherwise.

    Parameters
    ----------
    weights : (m,) array of positive numbers, optional
        Multiplies the terms of the sum. A row of weight zero is a row to leave out.

    Notes
    -----
    A loss of your own needs the abstract members below and nothing else, a constructor neither. Residuals and y are
    real.
    """

    anchored = True  # f >= 0 and f(0) = 0, so that b = 0 asks for nothing
    linear_beyond: float | None = None  # the size up to which residuals count by half their squares, for Huber's loss
    squares = False  # f is half the (weighted) squared norm: normal equations solve it
    labelled = False  # data are labels of classes
    weights: FloatArray | None = None
    labels: Labels | None = None  # of the data, where these are labels: b is 0 then

    def __init__(self, weights: object = None) -> None:
        if weights is not None:
            given = _checks.real_vector("weights", weights)
            if given.size and given.min() <= 0:
                raise ValueError(f"weights must be positive (leave rows of weight 0 out); got {given.min()}")
            if given.size:  # those that are small beside others are nobody's concern
                _checks.ordinary("weights", max(1.0, float(given.max())))
            self.weights = given

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings()})"

    def _settings(self) -> str:
        return "" if self.weights is None else f"weights=<{self.weights.size}>"

    def subset(self, rows: IntArray) -> Loss:
        """The same loss for some of the data."""
        other = copy(self)
        other.weights = None if self.weights is None else self.weights[rows]
        other.labels = None if self.labels is None else self.labels.at(rows)
        return other

    def nothing(self, size: int) -> float:
        """What is as good as the infimum of f, for so many data, where no residual reaches it: rounding of f(0). On
        separable classes f would fall for ever."""
        return 0.0 if self.anchored else INFIMUM * self.value(np.zeros(size))

    # Labels -----------------------------------------------------------------------------------------------------------

    def width(self, classes: int) -> int:
        """How many numbers a model says of one datum, where data are labels of so many classes."""
        return 1

    def of_labels(self, labels: Labels) -> Self:
        """The same loss for data that are these labels."""
        raise TypeError(f"b must hold numbers with {self!r}; got labels of {labels.count} classes")

    def without_labels(self) -> Loss:
        """The same loss before it was told any."""
        return self

    def margins(self, images: Array) -> Array:
        """Where data are labels: by how much an image, or each column of a block, speaks for the class of each datum
        (against every other one)."""
        raise TypeError(f"margins are for losses of classes; got {self!r}")

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

    def bend(self, r: FloatArray) -> Bend:
        """The (generalised) Hessian of f at r."""
        return Diagonal(self.curvature(r))

    def bowl(self, r: FloatArray) -> Bend:
        """The same, and where there is no curvature (Huber's tails) that of the parabola through the slope."""
        w = self.curvature(r)
        flat = w <= 0
        if flat.any():
            w = np.where(flat, np.abs(self.gradient(r)) / np.maximum(np.abs(r), 1e-300), w)
        return Diagonal(w)

    @abstractmethod
    def conjugate(self, y: FloatArray) -> float:
        """f*(y) = sup over w of <y, w> - f(w); infinite outside dom f*."""

    def conjugate_doubt(self, y: FloatArray) -> float:
        """By how much f*(y) may be off as it is computed: here, of sums whose terms are of one sign, each of them good
        to some digits in the last place. Of a loss of one's own that is taken for granted."""
        return rounding.doubt(y.size + 16, abs(self.conjugate(y)))

    def perspective_doubt(self, y: FloatArray, alpha: float, beta: float | None = None) -> float:
        """The same of beta (f*(y / beta) + alpha), at its best beta if none is given."""
        beta = self.best_beta(y, alpha) if beta is None else beta
        if not 0.0 < beta < math.inf:
            return rounding.doubt(y.size + 16, abs(self.support_of_sublevel(y, alpha)))
        return beta * (self.conjugate_doubt(y / beta) + rounding.gamma(16) * alpha)

    def read_dual(self, y: object, size: int) -> FloatArray:
        """A dual vector as a user gives it, checked."""
        return _checks.real_vector("y", y, size)

    def with_background(self, background: float) -> Loss:
        """The same loss where cells of a matrix that were not sampled count as zeros of this weight; 0: they do not
        count."""
        if background:
            raise TypeError(f"loss must be LeastSquares with Sampling(..., background={background:g}); got {self!r}")
        return self

    def check_rows(self, rows: int, arrays: bool) -> None:
        """Refuse data of so many rows that this loss does not go with: other than its weights are for, or, for all but
        squares, data that stand in for an array without being one."""
        if self.weights is not None and self.weights.size != rows:
            raise ValueError(f"weights of the loss must have {rows} entries, one per row of M; got {self.weights.size}")
        if not (arrays or self.squares):
            raise TypeError(f"loss must be LeastSquares() where data stay in blocks, as entries do; got {self!r}")

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
