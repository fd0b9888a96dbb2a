"""The data as a matrix, seen whole or in part, and the numbers that the methods for low rank plus sparse take from it.

All arrays have the shorter side as columns: products with q x q matrices replace decompositions.
Entries that are not seen are free: the sparse part explains them at no price, so that they say nothing about the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fewatoms import kernels
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.capabilities import SeenAsIs, need
from fewatoms.methods.separation.roles import Roles
from fewatoms.problem import Problem

Low = tuple[Array, Array]  # L = U V^T with orthonormal V


class Separated:
    """The data as a dense matrix D, rows on the longer side, and what its entries count.

    seen : which entries are given; None for all of them
    root : square roots of the weights, in units of the largest one, 0 where nothing is seen; None where all are equal
    mask : what residuals are multiplied by: `root`, `seen`, or None
    unit : the largest weight
    count : how many entries are given
    share : what is seen of the matrix, weights counted
    size : |root * D|
    bend : the size, in units of the data, beyond which residuals count linearly (Huber's loss); None for squares

    Residuals are root * (D - L): the loss is unit / 2 times their squares, and what moves L is root times them. For
    weights w that is the step of the majoriser unit |L - L_0 - (w / unit) (D - L_0)|^2 / 2.
    """

    def __init__(
        self,
        b: FloatArray,
        shape: Sequence[int],
        places: IntArray | None,
        weights: FloatArray | None,
        bend: float | None = None,
    ) -> None:
        p, q = shape
        self.bend = bend
        self.turned = p < q
        self._shape = (q, p) if self.turned else (p, q)
        self._places = places
        if places is not None and self.turned:  # flat indices of the data as they stand here
            rows, cols = np.divmod(places, q)
            self._places = cols * p + rows
        self.D, self.count = self._filled(b), b.size
        self.seen: Array | None = None
        if places is not None and b.size < self.D.size:
            self.seen = np.zeros(self._shape, dtype=bool)
            self.seen.ravel()[self._places] = True
        self.unit, self.root, self.share = 1.0, None, b.size / self.D.size
        if weights is not None:
            self.unit = float(weights.max())
            if weights.min() < self.unit:
                self.root = np.sqrt(self._filled(weights / self.unit))
                self.share = float(weights.sum()) / self.unit / self.D.size
        self.mask = self.seen if self.root is None else self.root
        self.size = float(np.linalg.norm(self.nothing_explained))

    def _filled(self, values: FloatArray) -> Array:
        """Data as a matrix, 0 where nothing is seen."""
        if self._places is None:
            return np.ascontiguousarray(
                values.reshape(self._shape[::-1]).T if self.turned else values.reshape(self._shape)
            )
        filled = np.zeros(self._shape)
        filled.ravel()[self._places] = values
        return filled

    @property
    def nothing_explained(self) -> Array:
        """The residual of L = 0; not to be changed."""
        return self.D if self.root is None else self.root * self.D

    @cached_property
    def top(self) -> float:
        """The largest singular value of D."""
        return math.sqrt(max(float(np.linalg.eigvalsh(gram(self.D))[-1]), 0.0))

    @cached_property
    def largest(self) -> float:
        """The largest size of a residual of L = 0."""
        R = self.nothing_explained
        return float(max(R.max(), -R.min()))

    def left(self, left: Array, right: Array) -> Array:
        """The residual of L = left right^T."""
        R = self.D - left @ right.T
        if self.mask is not None:
            R *= self.mask
        return R

    def weighed(self, R: Array) -> Array:
        """Residuals as gradients of squares, in place."""
        if self.root is not None:
            R *= self.root
        return R

    def pulled(self, R: Array) -> Array:
        """What a residual moves L by, in place."""
        if self.bend is not None:
            t = self._turn()
            np.clip(R, -t, t, out=R)
        return self.weighed(R)

    def priced(self, R: Array) -> Array:
        """Residuals whose squares are twice what R costs; R itself for squares."""
        if self.bend is None:
            return R
        size = np.abs(R)
        small = np.minimum(size, self._turn())
        return np.copysign(np.sqrt(small * (2 * size - small)), R)

    def _turn(self) -> Array | float:
        """Where residuals begin to count linearly."""
        assert self.bend is not None
        return self.bend if self.root is None else self.bend * self.root

    def lengths(self, R: Array, where: Array) -> FloatArray:
        """Sizes of residuals, in units of the data, where a mask says so."""
        return np.abs(R[where]) if self.root is None else np.abs(R[where]) / self.root[where]

    def entries(self, R: Array, where: Array) -> tuple[IntArray, FloatArray]:
        """Flat indices, in the order of the model, and residuals in units of the data, where a mask says so."""
        R, where, root = (
            (R.T, where.T, None if self.root is None else self.root.T) if self.turned else (R, where, self.root)
        )
        flat = np.flatnonzero(where)
        values = R.ravel()[flat]
        return flat, values if root is None else values / root.ravel()[flat]

    def as_data(self, R: Array) -> FloatArray:
        """A residual as a vector in the order and the units of the data."""
        R = R if self.root is None else np.divide(R, self.root, out=np.zeros_like(R), where=self.root > 0)
        if self._places is None:
            return np.ascontiguousarray(R.T if self.turned else R).ravel()
        return R.ravel()[self._places]

    def as_model(self, Y: Array) -> Array:
        """A matrix of this form in the shape of the model."""
        return Y.T if self.turned else Y

    def some(self, rows: IntArray, out: Array | None = None) -> Separated:
        """Some of the rows alone; entries of them that a mask says so count as not seen."""
        given = np.ones((rows.size, self.D.shape[1]), dtype=bool) if self.seen is None else self.seen[rows]
        given = given if out is None else given & ~out
        weights = None if self.root is None else self.unit * np.square(self.root[rows][given])
        return Separated(self.D[rows][given], given.shape, np.flatnonzero(given), weights, self.bend)

    def factors(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Factors of the model from factors of this form."""
        return (right, left) if self.turned else (left, right)


class Kept:
    """The data of a job: made when somebody asks for them, and made anew after they were let go."""

    def __init__(self, problem: Problem, data: Separated | None = None) -> None:
        self.problem = problem
        self._data = data

    @property
    def data(self) -> Separated:
        if self._data is None:
            problem = self.problem
            places = need(problem.M, SeenAsIs).places()
            loss = problem.loss
            self._data = Separated(problem.b, problem.atoms.shape, places, loss.weights, loss.linear_beyond)
        return self._data

    def forget(self) -> None:
        self._data = None


@dataclass(frozen=True, eq=False)
class Mixture:
    """One budget of a job: what is asked, which part is which, and the data.

    whole : where these are some of the rows only, all of them
    """

    problem: Problem
    roles: Roles
    kept: Kept
    whole: Mixture | None = None

    def some(self, rows: IntArray, out: Array | None = None) -> Mixture:
        """Some of the rows, with some of their entries not seen."""
        data = self.data.some(rows, out)
        return Mixture(self.problem, self.roles, Kept(self.problem, data), self)

    @property
    def data(self) -> Separated:
        return self.kept.data

    @property
    def wanted(self) -> tuple[int | None, int | None]:
        """The rank and the number of entries allowed; None for what is left open."""
        parts = self.problem.budget.for_parts(2)
        return parts[self.roles.low].most, parts[self.roles.sparse].most

    def charge(self, columns: int) -> None:
        """A pass over the data is as many products as columns; over some of the rows, as many less."""
        if self.whole is not None:
            columns = math.ceil(columns * self.data.D.size / self.whole.data.D.size)
        self.problem.M.charge(columns)

    @property
    def delta(self) -> float | None:
        """The bound as the length of a residual."""
        alpha = self.problem.alpha
        return None if alpha is None else math.sqrt(2 * alpha / self.data.unit)


def gram(X: Array) -> FloatArray:
    """X^T X."""
    return np.asarray(X.T @ X, dtype=np.float64)  # half the work: NumPy sees that it is symmetric


def decomposed(left: Array, V: Array) -> tuple[Array, FloatArray, Array]:
    """P, s, Q with left V^T = P diag(s) Q^T, for orthonormal V."""
    A, R = np.linalg.qr(left)
    u, s, vh = np.linalg.svd(R, full_matrices=False)
    return A @ u, s, V @ vh.T


def cut_to(R: Array, delta: float, guess: float = 0.0) -> float:
    """The t for which |clip(R, -t, t)| = delta, or the largest entry if |R| is not longer."""
    top = float(max(R.max(initial=0.0), -R.min(initial=0.0)))
    if float(np.vdot(R, R)) <= delta**2 or top == 0.0:
        return top
    low, high, goal = 0.0, top, delta**2
    t = guess if 0 < guess < top else delta / math.sqrt(R.size)  # the value is at most R.size t^2
    for _ in range(60):
        value, _, _, above = kernels.clipped_sums(R, t)
        low, high = (t, high) if value <= goal else (low, t)
        if value <= goal and goal - value <= 1e-9 * goal:
            break
        # sum over a <= t of a^2 + above t^2 = goal, as if no entry changed sides
        inside = value - above * t * t
        t = math.sqrt(max(goal - inside, 0.0) / above) * (1 - 1e-10) if above else 0.5 * (low + high)
        if not low < t < high:
            t = 0.5 * (low + high)
    return low


def largest(a: FloatArray, count: int, guess: float | None = None, near: Sequence[float] = (0.1,)) -> float:
    """The count-th largest of some numbers that are not negative; infinite for none of them.

    Near a good guess only the numbers around it are sorted; `near` says how far below it they are looked for, as shares
    of it, one try after the other.
    """
    if count == 0:
        return math.inf
    if guess is not None and 0 < guess < math.inf:
        for width in near:
            above = a >= guess * (1 - width)
            inside = int(np.count_nonzero(above))
            if inside < count:
                continue
            window = a[above]
            if inside > 4 * count + a.size // 4:
                break
            return float(np.partition(window, inside - count)[inside - count])
    return float(np.partition(a, a.size - count)[a.size - count])
