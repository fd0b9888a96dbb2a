"""The contract of faces, and what follows from it alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from enum import Enum
from typing import TYPE_CHECKING, Self

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.faces.tangents import Flat, Tangent
from fewatoms.kept import Kept

if TYPE_CHECKING:
    from fewatoms.faces.turning import Turning
    from fewatoms.operators.base import Operator
    from fewatoms.reduced import ReducedOperator


class Cone(Enum):
    """Where coefficients may lie."""

    FREE = "free"
    NONNEGATIVE = "nonnegative"
    PSD = "positive semidefinite"
    MIXED = "mixed"


class Face(ABC):
    """A few atoms a_i of one set, with the set of their coefficients: the points x = sum_i c_i a_i.

    Required: `shape`, `size`, `dim`, `point`, `adjoint`, `project`, `prune`, `merge`, `restrict`. The rest follows for
    faces with one coefficient per atom, and is overridden where the structure offers more. Faces are values: no method
    changes one.

    shape : of the model
    cone : where coefficients may lie; `project` goes there
    """

    shape: tuple[int, ...]
    cone: Cone = Cone.FREE

    @property
    @abstractmethod
    def size(self) -> int:
        """How many atoms a point of the face can need."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """How many real coefficients there are."""

    @abstractmethod
    def point(self, c: FloatArray) -> Array:
        """x = sum_i c_i a_i, in the model's shape."""

    @abstractmethod
    def adjoint(self, z: ModelDual) -> FloatArray:
        """The transpose of `point`: the inner products <a_i, z>."""

    @abstractmethod
    def project(self, c: FloatArray) -> FloatArray:
        """The nearest coefficients that are allowed."""

    @abstractmethod
    def prune(self, c: FloatArray, k: BudgetLike, norms: FloatArray | None = None) -> tuple[Face, FloatArray]:
        """At most k atoms, those that contribute most to `point(c)`, largest first, and their coefficients.

        `norms`, one per coefficient, are |M a_i| where they are known: contributions are then measured in the data.
        Atoms that contribute nothing are dropped; without a budget (None) nothing else is.
        """

    @abstractmethod
    def merge(self, other: Self) -> Face:
        """The face of both faces' atoms, each of them once."""

    @abstractmethod
    def restrict(self, M: Operator) -> ReducedOperator:
        """The reduced operator c -> M point(c), in the form that suits what M offers."""

    # Sizes

    def gauge(self, c: FloatArray) -> float:
        """The gauge of this representation: an upper bound of the set's gauge at `point(c)`."""
        return float(np.abs(c).sum())

    def mean_atom(self) -> FloatArray:
        """Coefficients of the average of the atoms as they were exposed; its gauge is 1 (0 if there are none)."""
        return np.full(self.dim, 1.0 / max(1, self.dim))

    def contributions(self, c: FloatArray, norms: FloatArray | None = None) -> FloatArray:
        """What each atom adds to `point(c)`, in no order: |c_i|, times |M a_i| where norms are given.

        By these numbers the parts of a sum compete for one budget.
        """
        return np.abs(c) if norms is None else np.abs(c) * norms

    @property
    def freedom(self) -> int:
        """How many numbers the points of such faces are free to choose: the coefficients, and directions of atoms."""
        return self.dim

    def inner(self, c: FloatArray, other: Self, d: FloatArray) -> float:
        """The inner product of two compact points of one set (for images of a set: of their preimages)."""
        return float(np.vdot(self.point(c), other.point(d)).real)

    # The set of coefficients

    def nonnegative(self) -> Array | None:
        """Which coefficients must not be negative; None where the coefficient set is no orthant (PSD)."""
        return None if self.cone is Cone.PSD else np.full(self.dim, self.cone is Cone.NONNEGATIVE)

    def as_cone(self) -> Face:
        """The paper's essential cone: the same atoms with nonnegative coefficients, where that differs."""
        return self

    def turning(self) -> Turning | None:
        """How the atoms themselves move within their set; None where they stay put."""
        return None

    def tangent(self, c: FloatArray) -> Tangent | None:
        """Where points with as many atoms lie, near `point(c)`; None where nobody has said how atoms move."""
        return Flat(self, c) if self.turning() is None else None

    def spans(self) -> IntArray | None:
        """Where the coefficients of each atom begin, the end appended; None where atoms share coefficients, or are
        moved by a fit."""
        return np.arange(self.size + 1) if self.size == self.dim and self.turning() is None else None

    # What users read

    def labels(self) -> Array:
        """What names the atoms: indices, group labels, or a running number for atoms that have no name."""
        return np.arange(self.size)

    def values(self, c: FloatArray) -> Array:
        """The coefficients as a user reads them: with their signs, one row per atom."""
        return c

    def members(self) -> list[IntArray] | None:
        """The entries of x, flat, that each atom has its coefficients at, where atoms are groups; None elsewhere."""
        return None

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        """Entries (rows, cols) of the matrix `point(c)`."""
        return self.point(c)[rows, cols]

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        """left, right with point(c) = left @ right.T, the scale split evenly."""
        raise AttributeError(f"atoms of {type(self).__name__} are no factor pairs: left and right do not exist here")

    def key(self) -> Hashable:
        """What tells faces with the same atoms apart from others; None where that is not known."""
        return None

    def kept(self) -> Kept:
        """What a file keeps of it. Here: the atoms one by one as arrays, so that faces of one's own come back as
        `faces.Explicit`, with their labels for names."""
        atoms = [self.point(e) for e in np.eye(self.dim)]
        stacked = np.stack(atoms) if atoms else np.zeros((0, *self.shape))
        cone = Cone.NONNEGATIVE if self.cone is Cone.NONNEGATIVE else Cone.FREE
        arrays = {"atoms": stacked} | ({"names": np.asarray(self.labels())} if self.size == self.dim else {})
        return Kept("explicit", {"cone": cone.value}, arrays)

    # Measurements

    def image(self, M: Operator, c: FloatArray) -> FloatArray:
        """M point(c) by one product."""
        return M.apply(self.point(c))

    def images(self, M: Operator) -> Matrix:
        """The images of the basis, m x dim: dim products."""
        each = []
        for e in np.eye(self.dim):
            ledger.tick()
            each.append(M.apply(self.point(e)))
        return np.stack(each, axis=1) if each else np.zeros((M.shape[0], 0))

    def measure(self, M: Operator, c: FloatArray) -> FloatArray:
        """M point(c), in the cheapest way."""
        return self.image(M, c)

    # Sums

    @property
    def parts(self) -> tuple[Face, ...]:
        """The faces of the summands; the face itself where there is one only."""
        return (self,)

    def split(self, c: FloatArray) -> tuple[FloatArray, ...]:
        """The coefficients of each part."""
        return (c,)


def leading(shares: FloatArray, k: BudgetLike) -> IntArray:
    """Indices of the k largest shares, largest first; of all of them without a budget."""
    assert not isinstance(k, tuple)
    return linalg.top_k(shares, shares.size if k is None else k)
