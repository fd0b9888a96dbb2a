"""Least squares over single columns as the searches see it: images of length 1, a target, what coefficients pay."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import lsq_linear

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.proofs.base import Question
from fewatoms.rounding import gamma

READ_AT_ONCE = 1 << 24  # numbers of images that are read at a time


@dataclass(frozen=True, eq=False)
class Table:
    """Atoms are numbered by their place among those that matter: not barred, with an image that is not 0.

    A : their images, a column each, of length 1 in the norm of the weights, which they have been multiplied by
    b : the data, likewise
    classes : what they are called in the problem; idle : classes that must be in every choice and explain nothing
    k : how many of them there may be
    forced : those that are in every choice
    d, C : what a coefficient u pays, d u^2 / 2 for |u| <= C (d is the ridge)
    nonneg : whether they must not be negative
    """

    A: FloatArray
    b: FloatArray
    classes: IntArray
    idle: IntArray
    k: int
    forced: IntArray
    d: FloatArray
    C: FloatArray
    nonneg: bool

    @classmethod
    def of(cls, question: Question) -> Table:
        paying, problem = question.paying, question.problem
        assert paying is not None
        places = coordinates(question)
        alive = paying.usable & (paying.lengths[places] > 0)
        classes = np.flatnonzero(alive)
        idle = np.setdiff1d(paying.forced, classes)
        n, m = classes.size, problem.b.size
        A, step = np.empty((m, n), order="F"), max(1, READ_AT_ONCE // max(1, m))
        for start in range(0, n, step):
            A[:, start : start + step] = paying.images(places[classes[start : start + step]])
        b = np.asarray(problem.b, dtype=np.float64)
        if paying.root is not None:
            A *= paying.root[:, None]
            b = b * paying.root
        C = np.full(n, np.inf) if paying.caps is None else paying.caps[places[classes]]
        forced = np.searchsorted(classes, np.intersect1d(paying.forced, classes))
        k = min(question.k - idle.size, n)
        return cls(A, b, classes, idle, k, forced, np.full(n, paying.ridge), C, paying.listing.nonnegative)

    @property
    def n(self) -> int:
        return self.classes.size

    @property
    def m(self) -> int:
        return self.b.size

    @cached_property
    def bb(self) -> float:
        return 0.5 * float(self.b @ self.b)

    @cached_property
    def size(self) -> float:
        return float(np.sqrt(2.0 * self.bb)) * (1.0 + gamma(self.m + 8))

    @property
    def bounded(self) -> bool:
        """Whether every y bounds: there is a ridge, or there are caps."""
        return self.n == 0 or bool(self.d[0] > 0) or bool(np.isfinite(self.C).all())

    @property
    def plain(self) -> bool:
        """Whether coefficients are free and pay nothing."""
        return not self.nonneg and self.n > 0 and self.d[0] == 0 and bool(np.isinf(self.C).all())

    def off(self, p: int) -> float:
        """By how much alignments with p atoms may be off, for |b| + |x|_1 = 1."""
        return 1.1 * (3.0 * gamma(self.m + 16) + gamma(p + 16))

    def start(self) -> Array:
        """The status of all atoms before anything is known."""
        status = np.zeros(self.n, dtype=np.int8)
        status[self.forced] = 1
        return status

    def called(self, places: IntArray) -> IntArray:
        """A choice as the problem calls it."""
        return np.union1d(self.classes[places], self.idle).astype(np.intp)

    def gram(self, places: IntArray) -> FloatArray:
        block = np.ascontiguousarray(self.A[:, places])
        return np.asarray(block.T @ block)

    def fitted(self, choice: IntArray) -> float:
        """The objective of a choice, its coefficients the best ones within their box."""
        A, n = self.A[:, choice], choice.size
        rows = np.vstack([A, np.diag(np.sqrt(self.d[choice]))])
        left = np.concatenate([self.b, np.zeros(n)])
        x = np.linalg.lstsq(rows, left, rcond=None)[0] if n else np.empty(0)
        low = np.zeros(n) if self.nonneg else -self.C[choice]
        if n and not ((x >= low) & (x <= self.C[choice])).all():
            x = np.clip(lsq_linear(rows, left, (low, self.C[choice]), method="bvls").x, low, self.C[choice])
        rest = left - rows @ x
        return 0.5 * float(rest @ rest)

    def below(self, value: float) -> float:
        """A number that is no larger than what rounding and a solver have made this objective of."""
        return value * (1.0 - 1e-9) - 1e-13 * self.bb


def coordinates(question: Question) -> IntArray:
    """The coordinate that each class is."""
    paying = question.paying
    assert paying is not None
    blocks = paying.listing.blocks
    return np.arange(paying.count) if blocks is None else np.array([block[0] for block in blocks], dtype=np.intp)


def singles(question: Question) -> bool:
    """Whether this is least squares over atoms that are single columns at hand."""
    problem, paying = question.problem, question.paying
    if paying is None or not problem.loss.squares or problem.measured.background or not problem.M.arrays:
        return False
    blocks = paying.listing.blocks
    return blocks is None or all(block.size == 1 for block in blocks)


@dataclass(frozen=True, eq=False)
class Ground:
    """Some of the atoms, with a diagonal D >= 0 moved out of their M'M: what points x over them prove.

    places : which atoms of the table; D : such that M'M - diag(D) is positive semidefinite
    """

    table: Table
    places: IntArray
    D: FloatArray

    @cached_property
    def A(self) -> FloatArray:
        if self.places.size == self.table.n:
            return self.table.A
        return np.asfortranarray(self.table.A[:, self.places])

    @cached_property
    def d(self) -> FloatArray:
        return np.asarray(self.table.d[self.places] + self.D)

    @cached_property
    def C(self) -> FloatArray:
        return np.asarray(self.table.C[self.places])

    def gains(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of points X, a column each: what stands before the gains in their bounds, rounded down, and the gains h of
        all atoms, no smaller than they are."""
        table = self.table
        used = np.flatnonzero(X.any(axis=1))
        Y = table.b[:, None] - self.A[:, used] @ X[used]
        reach = table.size + np.abs(X).sum(axis=0)
        off = table.off(self.places.size) * reach
        Z = self.A.T @ Y + self.D[:, None] * X
        size = np.maximum(Z if table.nonneg else np.abs(Z), -off) + off
        base = table.b @ Y - 0.5 * np.einsum("ij,ij->j", Y, Y) + 0.5 * np.einsum("ij,i,ij->j", X, self.D, X)
        return base - 4.0 * off * reach, conjugate(size, self.d, self.C)

    def proven_psd(self) -> bool:
        """Whether M'M - diag(D) is positive semidefinite beyond rounding: Cholesky's decomposition of less ends."""
        if not self.D.any():
            return True
        return shiftable(self.table.gram(self.places), self.D, self.table.m)


def conjugate(size: FloatArray, d: FloatArray, C: FloatArray) -> FloatArray:
    """h of alignments that are no smaller than 0, a row for each atom, rounded up."""
    d, C = d[:, None], C[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        best = np.minimum(np.where(size > 0, size / d, 0.0), C)
        h = np.where(np.isinf(best), np.inf, best * (size - 0.5 * d * np.where(np.isinf(best), 0.0, best)))
    return np.asarray(h * (1.0 + gamma(8)))


def margin(p: int, m: int) -> float:
    """What rounding in M'M and in a decomposition of it may do to its smallest eigenvalue, for p unit columns."""
    return 1.1 * p * (3.0 * gamma(m + 16) + gamma(p + 4)) + 1e-300


def shiftable(G: FloatArray, D: FloatArray, m: int) -> bool:
    """Whether the exact M'M less D is positive semidefinite for certain."""
    from scipy.linalg import lapack

    less = G - np.diag(D + margin(len(G), m))
    return not lapack.dpotrf(less, lower=1)[1]
