"""A question in the form in which nodes are bounded: images as columns, class after class, and what loops work with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg

from fewatoms import linalg
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.losses import Huber, LeastSquares, Logistic, Loss, Multinomial
from fewatoms.problem import Problem
from fewatoms.proofs.paying import Paying
from fewatoms.rounding import doubt, gamma

SQUARES, HUBER, LOGISTIC, MULTINOMIAL = range(4)
KINDS: dict[type[Loss], int] = {LeastSquares: SQUARES, Huber: HUBER, Logistic: LOGISTIC, Multinomial: MULTINOMIAL}
FREE, IN, OUT = range(3)  # states of classes
SPANNED = 1e-11  # share of a free column's length that the others must leave for it to count
COPIES = 4  # arrays as large as all images that are held at a time
LEAST_EIGENVALUE = (
    1e-9  # smallest eigenvalue of the Gram matrix of unit images, from which on a part of it is moved out
)
INSIDE_OF = 1.0 - 1e-6  # what is moved out stays so far from what could be


class Given(NamedTuple):
    """What the loops work with.

    A : images, a row for each coordinate; gram, tau : with least squares their inner products and the largest
        eigenvalue within each class, else empty
    b, w, sign, code : data, weights, signs and classes of labels
    F : free columns, a row each
    starts : where the coordinates of each class begin, the end appended
    d, cap : what half the square of a coefficient pays, and its largest size
    shift : the part of d that was moved out of f
    classes, kind, delta, nonnegative : of the loss and of the coefficients
    """

    A: FloatArray
    gram: FloatArray
    tau: FloatArray
    b: FloatArray
    w: FloatArray
    sign: FloatArray
    code: IntArray
    F: FloatArray
    starts: IntArray
    d: FloatArray
    cap: FloatArray
    shift: FloatArray
    classes: int
    kind: int
    delta: float
    nonnegative: bool


def kind_of(problem: Problem) -> int | None:
    """Which of the losses whose conjugates are known this is; None for others."""
    return None if problem.beside.biases is not None else KINDS.get(type(problem.base_loss))


def needs(paying: Paying) -> float:
    """How many bytes a search wants for the images, roughly."""
    blocks = paying.listing.blocks
    n = paying.count if blocks is None else sum(block.size for block in blocks)
    return 8.0 * COPIES * n * (paying.problem.m + n * paying.problem.base_loss.squares)


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem over listed atoms.

    K : the images of all coordinates, class after class, m x n, as they are: with losses other than least squares
        free columns have not been taken out of them
    places, starts : their coordinates in the listing, and where those of each class begin
    told : a diagonal that is to be moved out of f, where somebody says which
    """

    paying: Paying
    kind: int
    K: FloatArray
    places: IntArray
    starts: IntArray
    told: FloatArray | None = None

    @classmethod
    def of(cls, paying: Paying, kind: int) -> Posed:
        blocks = paying.listing.blocks
        if blocks is None:
            places, sizes = np.arange(paying.count), np.ones(paying.count, dtype=np.int64)
        else:
            places, sizes = np.concatenate(blocks), np.array([block.size for block in blocks], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(paying, kind, np.asarray(paying.images(places), dtype=np.float64), places, starts)

    def shifted(self, told: FloatArray) -> Posed:
        """With this diagonal moved out of f: whether that may be is for `separable` to say."""
        return replace(self, told=told)

    @property
    def problem(self) -> Problem:
        return self.paying.problem

    @cached_property
    def live(self) -> Array:
        """Which coordinates have an image at all."""
        return np.asarray(self.paying.inverse[self.places] > 0)

    @cached_property
    def cap(self) -> FloatArray:
        """The largest sizes of the coefficients of images; 1 where there is no image."""
        caps = self.paying.caps
        return np.where(self.live, np.inf if caps is None else caps[self.places], 1.0)

    @cached_property
    def d(self) -> FloatArray:
        """What half their squares are multiplied by in a bound; 1 where there is no image."""
        return np.where(self.live, self.paying.ridge + self.shift, 1.0)

    @property
    def bounded(self) -> bool:
        """Whether every y proves something."""
        return bool(((self.d > 0) | np.isfinite(self.cap)).all())

    @cached_property
    def root_state(self) -> Array:
        """The states of all classes before anything is decided: those that are nothing count as left out."""
        state = np.full(self.starts.size - 1, FREE, dtype=np.int64)
        lively = np.add.reduceat(self.live.astype(np.int64), self.starts[:-1]) > 0
        state[~lively | ~self.paying.usable] = OUT
        state[self.paying.forced] = IN
        return state

    # The loss ---------------------------------------------------------------------------------------------------------

    @property
    def b(self) -> FloatArray:
        return self.problem.b

    @cached_property
    def w(self) -> FloatArray:
        weights = self.problem.base_loss.weights
        return np.ones(self.b.size) if weights is None else weights

    @cached_property
    def sign(self) -> FloatArray:
        labels = self.problem.base_loss.labels
        if labels is None or self.kind != LOGISTIC:
            return np.ones(self.b.size)
        return np.asarray(labels.signs, dtype=np.float64)

    @cached_property
    def code(self) -> IntArray:
        labels = self.problem.base_loss.labels
        if labels is None or self.kind != MULTINOMIAL:
            return np.zeros(0, dtype=np.int64)
        return np.asarray(labels.codes, dtype=np.int64)

    @property
    def classes(self) -> int:
        return self.b.size // self.code.size if self.code.size else 1

    @property
    def delta(self) -> float:
        return self.problem.base_loss.linear_beyond or 0.0

    @cached_property
    def F(self) -> FloatArray:
        """The free columns that are independent, m x q, in units in which they are about as long as each other; none
        with least squares, where they are gone from M. All others are taken to lie in their span."""
        columns = self.problem.beside.columns
        if columns is None or self.kind == SQUARES:
            return np.zeros((self.b.size, 0))
        alike = columns * np.ldexp(1.0, -np.frexp(np.linalg.norm(columns, axis=0))[1])
        stay: list[int] = []
        for k in range(alike.shape[1]):
            basis = linalg.orthonormal(alike[:, stay])
            rest = alike[:, k] - basis @ (basis.T @ alike[:, k])
            rest -= basis @ (basis.T @ rest)
            if np.linalg.norm(rest) > SPANNED * np.linalg.norm(alike[:, k]):
                stay.append(k)
        return np.ascontiguousarray(alike[:, stay])

    # A part of the Gram matrix moved out ------------------------------------------------------------------------------

    @cached_property
    def shift(self) -> FloatArray:
        """A diagonal that leaves the Gram matrix of least squares positive definite: it may be moved from f to what
        coefficients pay. 0 where images depend on each other."""
        nothing = np.zeros(self.places.size)
        live = np.flatnonzero(self.live)
        if self.kind != SQUARES or not 0 < live.size < self.b.size:
            return nothing
        G = self._gram(live)
        values, U = np.linalg.eigh(G)
        if values[0] <= LEAST_EIGENVALUE:
            return nothing
        each = 1.0 / ((U * U) @ (1.0 / values))
        root = np.sqrt(each)
        low = float(np.linalg.eigvalsh(G / np.outer(root, root))[0])
        even = np.full(live.size, float(values[0]))
        best = max(even, low * each, key=lambda out: float(out.sum()))
        nothing[live] = np.maximum(best * INSIDE_OF - 2.0 * self.unseen, 0.0)
        return nothing if self.separable(nothing) else np.zeros(self.places.size)

    def separable(self, shift: FloatArray) -> bool:
        """Whether so much may be moved out, whatever rounding did to what tells."""
        if not shift.any():
            return True
        live = np.flatnonzero(self.live)
        if shift.min() < 0 or not np.isfinite(shift).all() or shift[~self.live].any():
            return False
        left = self._gram(live) - np.diag(shift[live])
        return bool(np.linalg.eigvalsh(left)[0] >= self.unseen)

    @property
    def unseen(self) -> float:
        """What rounding may do to the eigenvalues of the Gram matrix."""
        m, n = self.K.shape
        return gamma(32 * (m + n)) * n + 2.0 * float((self.off**2).sum() + 2.0 * np.sqrt(n * (self.off**2).sum()))

    def _gram(self, live: IntArray) -> FloatArray:
        R = np.sqrt(self.w)[:, None] * self.K[:, live]
        return R.T @ R

    # Rounding ---------------------------------------------------------------------------------------------------------

    @cached_property
    def lengths(self) -> FloatArray:
        """The lengths of the columns of K."""
        return np.sqrt(np.einsum("ij,ij->j", self.K, self.K))

    @cached_property
    def off(self) -> FloatArray:
        """By how much alignments may be off, for y of length 1."""
        return self.paying.off[self.places] + gamma(2 * self.b.size + 32) * self.lengths

    @cached_property
    def off_data(self) -> float:
        """By how much <b, y> may be off for y of length 1, where free columns were projected out of b."""
        if self.kind != SQUARES or self.problem.plain:
            return 0.0
        w = self.w
        uneven = float(np.sqrt(w.max() / w.min()))
        return gamma(4 * (self.b.size + self.problem.beside.count) + 64) * uneven * linalg.length(self.problem.data)

    def free(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """The coefficients of free columns beside images, from those beside what is left of these past free columns."""
        return v - self._inside @ x if v.size else v

    def projected(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """The way back."""
        return v + self._inside @ x if v.size else v

    def objective(self, x: FloatArray, v: FloatArray) -> float:
        """f and what coefficients pay, rounded upwards."""
        r = self.b - self.K @ x - self.F @ v
        value = self.problem.base_loss.value(r) + 0.5 * self.paying.ridge * float(x @ x)
        return value + doubt(self.b.size + x.size + 16, abs(value))

    @cached_property
    def _inside(self) -> FloatArray:
        """What free columns explain of images, in the weights of the loss."""
        root = np.sqrt(self.w)[:, None]
        return np.asarray(np.linalg.lstsq(root * self.F, root * self.K, rcond=None)[0])

    # For loops --------------------------------------------------------------------------------------------------------

    @cached_property
    def given(self) -> Given:
        A, b, w = self.K, self.b, self.w
        if self.kind == SQUARES:
            A, b, w = _shorter(np.sqrt(w)[:, None] * A, np.sqrt(w) * b)
        elif self.F.shape[1]:
            A = A - self.F @ self._inside
        gram, tau = np.zeros((0, 0)), np.zeros(0)
        if self.kind == SQUARES:
            gram = A.T @ A - np.diag(self.shift)
            spans = zip(self.starts[:-1], self.starts[1:], strict=True)
            tau = np.array([np.linalg.eigvalsh(gram[i:j, i:j])[-1] if j - i > 1 else gram[i, i] for i, j in spans])
        rows = np.ascontiguousarray(A.T)
        return Given(
            rows, gram, tau, np.ascontiguousarray(b), w, self.sign, self.code, np.ascontiguousarray(self.F.T),
            self.starts, self.d, self.cap, np.where(self.live, self.shift, 0.0), self.classes, self.kind, self.delta,
            self.paying.listing.nonnegative,
        )  # fmt: skip


def _shorter(A: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares with no more rows than there are columns, and one: turned, nothing changes."""
    m, n = A.shape
    if m > n + 1:
        R: FloatArray = scipy.linalg.qr(np.concatenate([A, b[:, None]], axis=1), mode="r")[0][: n + 1]
        A, b = R[:, :n], R[:, n]
    return A, b, np.ones(b.size)
