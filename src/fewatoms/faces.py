"""Faces: the compact forms that a few atoms take, and the set their coefficients live in.

A face is where atoms and operators meet. It stands for the points x = sum_i c_i a_i over its atoms a_i; coefficients
are one flat real vector `c` of length `dim`, free, nonnegative or (as a small Hermitian matrix) positive semidefinite.
Nothing of the model's size is stored; `point(c)` forms it when asked.

Orders of business a face offers: `point`, its transpose `adjoint`, `project` onto the coefficient set, `gauge` of the
representation, `prune` to fewer atoms, `merge` with another face, `restrict` an operator to itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewatoms import linalg
from fewatoms._types import Array, Budget, FloatArray, IntArray, ModelDual

RANK_TOLERANCE = 1e-13  # a singular value of C below this share of the largest is rounding, not an atom


class Cone(Enum):
    """Where coefficients may lie."""

    FREE = "free"
    NONNEGATIVE = "nonnegative"
    PSD = "positive semidefinite"
    MIXED = "mixed"


class Face(ABC):
    """A few atoms of one set, with the set of their coefficients."""

    cone: Cone
    shape: tuple[int, ...]  # of the model

    @property
    @abstractmethod
    def size(self) -> int:
        """How many atoms a point of the face can need."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """How many real coefficients there are."""

    @property
    def freedom(self) -> int:
        """How many numbers the points of such faces are free to choose: the coefficients, and directions of atoms."""
        return self.dim

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
    def gauge(self, c: FloatArray) -> float:
        """The gauge of this representation: an upper bound of the set's gauge at `point(c)`."""

    @abstractmethod
    def mean_atom(self) -> FloatArray:
        """Coefficients of the average of the atoms as they were exposed; its gauge is 1 (0 if there are none)."""

    @abstractmethod
    def prune(self, c: FloatArray, k: Budget, norms: FloatArray | None = None) -> tuple[Face, FloatArray]:
        """At most k atoms, those that contribute most to `point(c)`, largest first, and their coefficients.

        `norms`, one per coefficient, are |M a_i| where they are known: contributions are then measured in the data.
        Atoms that contribute nothing are dropped.
        """

    @abstractmethod
    def merge(self, other: Any) -> Face:
        """The face of both faces' atoms. `other` is of the same type."""

    @abstractmethod
    def restrict(self, M: Any) -> Any:
        """The reduced operator c -> M point(c)."""

    @abstractmethod
    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        """Entries (rows, cols) of the matrix `point(c)`, which is not formed."""

    @abstractmethod
    def labels(self) -> Array:
        """What names the atoms: indices, group labels, or a running number for atoms that have no name."""

    @abstractmethod
    def values(self, c: FloatArray) -> Array:
        """The coefficients as a user reads them: with their signs, one row per atom."""

    @abstractmethod
    def inner(self, c: FloatArray, other: Any, d: FloatArray) -> float:
        """The inner product of two compact points of one set (for images of a set: of their preimages)."""

    def key(self) -> Any:
        """What tells faces with the same atoms apart from others; None where that is not known."""
        return None

    def nonnegative(self) -> Array | None:
        """Which coefficients must not be negative; None where the coefficient set is no orthant (PSD)."""
        return None if self.cone is Cone.PSD else np.full(self.dim, self.cone is Cone.NONNEGATIVE)

    # Faces that can turn: matrix faces move in their set by moving their factors. `unfold` gives real unknowns v for a
    # point, `fold` the face and coefficients of v, `pull` the derivative of <z, point> by v. Other faces stay put.

    turns = False

    def unfold(self, c: FloatArray) -> FloatArray:
        """Unknowns for `point(c)`: the factors of matrix faces, the coefficients of others."""
        return c

    def fold(self, v: FloatArray) -> tuple[Face, FloatArray]:
        """The face and coefficients of the unknowns v."""
        return self, v

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        """The gradient by v of <z, point>."""
        return self.adjoint(z)

    def lower(self) -> FloatArray:
        """The least values that the unknowns may take."""
        return np.full(self.dim, 0.0 if self.cone is Cone.NONNEGATIVE else -np.inf)

    def image(self, M: Any, c: FloatArray) -> FloatArray:
        """M point(c) by one product."""
        return M.apply(self.point(c))

    def measure(self, M: Any, c: FloatArray) -> FloatArray:
        """M point(c), in the cheapest way."""
        return self.image(M, c)

    def as_cone(self) -> Face:
        """The paper's essential cone: the same atoms with nonnegative coefficients, where that differs."""
        return self

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        """left, right with point(c) = left @ right.T, the scale split evenly."""
        raise AttributeError(f"atoms of {type(self).__name__} are no factor pairs: left and right do not exist here")

    @property
    def parts(self) -> tuple[Face, ...]:
        """The faces of the summands; the face itself where there is one only."""
        return (self,)

    def split(self, c: FloatArray) -> tuple[FloatArray, ...]:
        """The coefficients of each part."""
        return (c,)


# Coordinates ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Coordinates(Face):
    """Signed one-hot atoms s_i e_i. point(c)[indices] = signs * c."""

    indices: IntArray
    signs: FloatArray
    shape: tuple[int, ...]
    cone: Cone = Cone.FREE
    rays: bool = False  # atoms of a cone, whose gauge is 0

    @property
    def size(self) -> int:
        return self.indices.size

    @property
    def dim(self) -> int:
        return self.indices.size

    def point(self, c: FloatArray) -> Array:
        x = np.zeros(int(np.prod(self.shape)))
        x[self.indices] = self.signs * c
        return x.reshape(self.shape)

    def adjoint(self, z: ModelDual) -> FloatArray:
        return self.signs * _pick(z, self.indices, self.shape)

    def project(self, c: FloatArray) -> FloatArray:
        return c if self.cone is Cone.FREE else np.maximum(c, 0.0)

    def gauge(self, c: FloatArray) -> float:
        return 0.0 if self.rays else float(np.abs(c).sum())

    def mean_atom(self) -> FloatArray:
        return np.full(self.dim, 1.0 / max(1, self.dim))

    def prune(self, c: FloatArray, k: Budget, norms: FloatArray | None = None) -> tuple[Coordinates, FloatArray]:
        share = np.abs(c) if norms is None else np.abs(c) * norms
        keep = linalg.top_k(share, k)
        keep = keep[c[keep] != 0]
        return replace(self, indices=self.indices[keep], signs=self.signs[keep]), c[keep]

    def merge(self, other: Coordinates) -> Coordinates:
        fresh = ~np.isin(other.indices, self.indices)
        return replace(
            self,
            indices=np.concatenate([self.indices, other.indices[fresh]]),
            signs=np.concatenate([self.signs, other.signs[fresh]]),
        )

    def restrict(self, M: Any) -> Any:
        return M.restrict_columns(self, self.indices, self.signs)

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        row, col = np.divmod(self.indices, self.shape[1])
        return _sparse_entries(sp.csr_array((self.signs * c, (row, col)), shape=self.shape), rows, cols)

    def labels(self) -> Array:
        return np.stack(np.unravel_index(self.indices, self.shape), axis=1) if len(self.shape) > 1 else self.indices

    def values(self, c: FloatArray) -> Array:
        return self.signs * c

    def key(self) -> Any:
        return np.sort(self.indices).tobytes()

    def as_cone(self) -> Coordinates:
        return replace(self, cone=Cone.NONNEGATIVE)

    def inner(self, c: FloatArray, other: Coordinates, d: FloatArray) -> float:
        return _sparse_dot(self.indices, self.signs * c, other.indices, other.signs * d)


def _sparse_dot(i: IntArray, a: FloatArray, j: IntArray, b: FloatArray) -> float:
    _, at_i, at_j = np.intersect1d(i, j, assume_unique=True, return_indices=True)
    return float(np.dot(a[at_i], b[at_j]))


def _pick(z: ModelDual, indices: IntArray, shape: tuple[int, ...]) -> Array:
    """Entries of z, flat in C order, without forming a sparse z."""
    if sp.issparse(z):
        return _sparse_entries(sp.csr_array(z), *np.divmod(indices, shape[1]))
    return linalg.as_flat(z)[indices]


def _sparse_entries(matrix: Any, rows: IntArray, cols: IntArray) -> Array:
    """Entries of a sparse matrix; asked for none, SciPy would answer with a sparse array."""
    return np.asarray(matrix[rows, cols]).ravel() if rows.size else np.zeros(0)


@dataclass(frozen=True, eq=False)
class GroupCoordinates(Face):
    """Whole groups of coordinates, free. The atoms of a group are the unit sphere of its coordinates (over its weight).

    indices : coordinates, group after group; starts : where each group begins in them, with the end appended;
    directions : the exposed atom of each group, as coefficients; group, names, weights : one per group.
    """

    indices: IntArray
    starts: IntArray
    directions: FloatArray
    group: IntArray
    names: Array
    weights: FloatArray
    shape: tuple[int, ...]
    cone: Cone = Cone.FREE

    @property
    def size(self) -> int:
        return self.group.size

    @property
    def dim(self) -> int:
        return self.indices.size

    def _norms(self, c: FloatArray) -> FloatArray:
        return np.sqrt(np.add.reduceat(c * c, self.starts[:-1])) if self.size else np.zeros(0)

    def point(self, c: FloatArray) -> Array:
        x = np.zeros(int(np.prod(self.shape)))
        x[self.indices] = c
        return x.reshape(self.shape)

    def adjoint(self, z: ModelDual) -> FloatArray:
        return _pick(z, self.indices, self.shape)

    def project(self, c: FloatArray) -> FloatArray:
        return c

    def gauge(self, c: FloatArray) -> float:
        return float(np.dot(self.weights, self._norms(c)))

    def mean_atom(self) -> FloatArray:
        return self.directions / max(1, self.size)

    def key(self) -> Any:
        return np.sort(self.group).tobytes()

    def _take(self, keep: IntArray) -> tuple[GroupCoordinates, IntArray]:
        spots = [np.arange(self.starts[g], self.starts[g + 1]) for g in keep]
        where = np.concatenate(spots) if spots else np.empty(0, dtype=np.intp)
        face = replace(
            self,
            indices=self.indices[where],
            starts=np.concatenate([[0], np.cumsum([s.size for s in spots])]).astype(np.intp),
            directions=self.directions[where],
            group=self.group[keep],
            names=self.names[keep],
            weights=self.weights[keep],
        )
        return face, where

    def prune(self, c: FloatArray, k: Budget, norms: FloatArray | None = None) -> tuple[GroupCoordinates, FloatArray]:
        share = self._norms(c if norms is None else c * norms)
        keep = linalg.top_k(share, k)
        face, where = self._take(keep[share[keep] > 0])
        return face, c[where]

    def merge(self, other: GroupCoordinates) -> GroupCoordinates:
        fresh, _ = other._take(np.flatnonzero(~np.isin(other.group, self.group)))
        return replace(
            self,
            indices=np.concatenate([self.indices, fresh.indices]),
            starts=np.concatenate([self.starts, self.starts[-1] + fresh.starts[1:]]),
            directions=np.concatenate([self.directions, fresh.directions]),
            group=np.concatenate([self.group, fresh.group]),
            names=np.concatenate([self.names, fresh.names]),
            weights=np.concatenate([self.weights, fresh.weights]),
        )

    def restrict(self, M: Any) -> Any:
        return M.restrict_columns(self, self.indices, np.ones(self.dim))

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return Coordinates(self.indices, np.ones(self.dim), self.shape).entries(c, rows, cols)

    def labels(self) -> Array:
        return self.names

    def inner(self, c: FloatArray, other: GroupCoordinates, d: FloatArray) -> float:
        return _sparse_dot(self.indices, c, other.indices, d)

    def values(self, c: FloatArray) -> Array:
        """One row per group; groups of different sizes give an array of arrays."""
        rows = [c[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]
        if len({r.size for r in rows}) <= 1:
            return np.array(rows)
        out = np.empty(len(rows), dtype=object)
        out[:] = rows
        return out


# Factors -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Factors(Face):
    """The matrices U C V^T with orthonormal U (p x r), V (q x r') and any C, flat in C order: the essential cone of
    rank-one matrices, which is also their essential span."""

    U: Array
    V: Array
    cone: Cone = Cone.FREE

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.U.shape[0], self.V.shape[0])

    @property
    def size(self) -> int:
        return min(self.U.shape[1], self.V.shape[1])

    @property
    def dim(self) -> int:
        return self.U.shape[1] * self.V.shape[1]

    def matrix(self, c: FloatArray) -> Array:
        """C."""
        return c.reshape(self.U.shape[1], self.V.shape[1])

    @property
    def freedom(self) -> int:
        return self.size * (sum(self.shape) - self.size)

    def point(self, c: FloatArray) -> Array:
        return self.U @ self.matrix(c) @ self.V.T

    def adjoint(self, z: ModelDual) -> FloatArray:
        return np.asarray(self.U.T @ (linalg.as_matrix(z, (self.shape[0], self.shape[1])) @ self.V)).ravel()

    def project(self, c: FloatArray) -> FloatArray:
        return c

    def _svd(self, c: FloatArray) -> tuple[Array, FloatArray, Array]:
        if self.dim == 0:
            return np.zeros((self.U.shape[1], 0)), np.zeros(0), np.zeros((self.V.shape[1], 0))
        u, s, vh = np.linalg.svd(self.matrix(c), full_matrices=False)
        keep = s > RANK_TOLERANCE * s[0]
        return u[:, keep], s[keep], vh[keep].T

    def gauge(self, c: FloatArray) -> float:
        return float(self._svd(c)[1].sum())

    def mean_atom(self) -> FloatArray:
        r = self.size
        return np.eye(self.U.shape[1], self.V.shape[1]).ravel() / max(1, r)

    def prune(self, c: FloatArray, k: Budget, norms: FloatArray | None = None) -> tuple[Factors, FloatArray]:
        u, s, v = self._svd(c)
        return Factors(self.U @ u[:, :k], self.V @ v[:, :k]), np.diag(s[:k]).ravel()

    def image(self, M: Any, c: FloatArray) -> FloatArray:
        return M.apply_factors(self.U @ self.matrix(c), self.V)

    def merge(self, other: Factors) -> Factors:
        return Factors(linalg.orthonormal(self.U, other.U), linalg.orthonormal(self.V, other.V))

    def restrict(self, M: Any) -> Any:
        return M.restrict_factors(self)

    def measure(self, M: Any, c: FloatArray) -> FloatArray:
        return self.restrict(M).apply(c)

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return np.einsum("ij,ij->i", (self.U @ self.matrix(c))[rows], self.V[cols])

    def labels(self) -> Array:
        return np.arange(self.size)

    def values(self, c: FloatArray) -> Array:
        return self._svd(c)[1]

    turns = True

    def unfold(self, c: FloatArray) -> FloatArray:
        return np.concatenate([f.ravel() for f in self.factors(c)])

    def _pair(self, v: FloatArray) -> tuple[Array, Array]:
        p, q = self.shape
        r = v.size // (p + q)
        return v[: p * r].reshape(p, r), v[p * r :].reshape(q, r)

    def fold(self, v: FloatArray) -> tuple[Factors, FloatArray]:
        left, right = self._pair(v)
        (U, S), (V, T) = np.linalg.qr(left), np.linalg.qr(right)
        return Factors(U, V), (S @ T.T).ravel()

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        left, right = self._pair(v)
        Z = linalg.as_matrix(z, (self.shape[0], self.shape[1]))
        return np.concatenate([np.asarray(Z @ right).ravel(), np.asarray(Z.T @ left).ravel()])

    def lower(self) -> FloatArray:
        return np.full(self.size * sum(self.shape), -np.inf)

    def inner(self, c: FloatArray, other: Factors, d: FloatArray) -> float:
        return float(np.sum(((self.U.T @ other.U) @ other.matrix(d) @ (other.V.T @ self.V)) * self.matrix(c)))

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        u, s, v = self._svd(c)
        return self.U @ (u * np.sqrt(s)), self.V @ (v * np.sqrt(s))


@dataclass(frozen=True, eq=False)
class NonnegativeFactors(Face):
    """The matrices P diag(c) Q^T with nonnegative P (p x r) and Q (q x r), columns of length 1, and c >= 0."""

    P: Array
    Q: Array
    cone: Cone = Cone.NONNEGATIVE

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.P.shape[0], self.Q.shape[0])

    @property
    def size(self) -> int:
        return self.P.shape[1]

    @property
    def dim(self) -> int:
        return self.P.shape[1]

    @property
    def freedom(self) -> int:
        return self.size * (sum(self.shape) - self.size)

    def point(self, c: FloatArray) -> Array:
        return (self.P * c) @ self.Q.T

    def adjoint(self, z: ModelDual) -> FloatArray:
        Z = linalg.as_matrix(z, (self.shape[0], self.shape[1]))
        return np.einsum("ia,ia->a", self.P, np.asarray(Z @ self.Q))

    def project(self, c: FloatArray) -> FloatArray:
        return np.maximum(c, 0.0)

    def gauge(self, c: FloatArray) -> float:
        return float(c.sum())

    def mean_atom(self) -> FloatArray:
        return np.full(self.dim, 1.0 / max(1, self.dim))

    def prune(self, c: FloatArray, k: Budget, norms: FloatArray | None = None) -> tuple[NonnegativeFactors, FloatArray]:
        keep = linalg.top_k(c if norms is None else c * norms, k)
        keep = keep[c[keep] > 0]
        return NonnegativeFactors(self.P[:, keep], self.Q[:, keep]), c[keep]

    def merge(self, other: NonnegativeFactors) -> NonnegativeFactors:
        alike = (self.P.T @ other.P) * (self.Q.T @ other.Q)  # 1 where two atoms are the same
        fresh = ~(alike > 1 - 1e-12).any(axis=0)
        return NonnegativeFactors(np.hstack([self.P, other.P[:, fresh]]), np.hstack([self.Q, other.Q[:, fresh]]))

    def restrict(self, M: Any) -> Any:
        return M.restrict_any(self)

    def image(self, M: Any, c: FloatArray) -> FloatArray:
        return M.apply_factors(self.P * c, self.Q)

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return np.einsum("ij,ij->i", (self.P * c)[rows], self.Q[cols])

    def labels(self) -> Array:
        return np.arange(self.size)

    def values(self, c: FloatArray) -> Array:
        return c

    def inner(self, c: FloatArray, other: NonnegativeFactors, d: FloatArray) -> float:
        return float(c @ ((self.P.T @ other.P) * (self.Q.T @ other.Q)) @ d)

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        return self.P * np.sqrt(c), self.Q * np.sqrt(c)


@dataclass(frozen=True, eq=False)
class SymmetricFactors(Face):
    """The matrices V C V^H with orthonormal V (n x r) and C positive semidefinite: the essential cone of the PSD
    rank-one matrices. Coefficients are C in an orthonormal basis of the Hermitian (or real symmetric) matrices."""

    V: Array
    cone: Cone = Cone.PSD

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.V.shape[0], self.V.shape[0])

    @property
    def size(self) -> int:
        return self.V.shape[1]

    @property
    def complex(self) -> bool:
        return np.iscomplexobj(self.V)

    @property
    def dim(self) -> int:
        r = self.V.shape[1]
        return r * r if self.complex else r * (r + 1) // 2

    def matrix(self, c: FloatArray) -> Array:
        """C, Hermitian."""
        return hermitian(c, self.size, self.complex)

    @property
    def freedom(self) -> int:
        n, r = self.V.shape
        return 2 * n * r - r * r if self.complex else n * r - r * (r - 1) // 2

    def point(self, c: FloatArray) -> Array:
        return self.V @ self.matrix(c) @ self.V.conj().T

    def adjoint(self, z: ModelDual) -> FloatArray:
        return hermitian_coordinates(self.V.conj().T @ (linalg.as_matrix(z, (self.shape[0], self.shape[1])) @ self.V))

    def project(self, c: FloatArray) -> FloatArray:
        values, vectors = np.linalg.eigh(self.matrix(c))
        return hermitian_coordinates((vectors * np.maximum(values, 0.0)) @ vectors.conj().T)

    def _eigh(self, c: FloatArray) -> tuple[FloatArray, Array]:
        values, vectors = np.linalg.eigh(self.matrix(c))
        values, vectors = values[::-1], vectors[:, ::-1]
        keep = values > RANK_TOLERANCE * max(values[0], 0.0) if values.size else np.zeros(0, dtype=bool)
        return values[keep], vectors[:, keep]

    def gauge(self, c: FloatArray) -> float:
        return float(np.trace(self.matrix(c)).real)

    def mean_atom(self) -> FloatArray:
        return hermitian_coordinates(np.eye(self.size, dtype=self.V.dtype) / max(1, self.size))

    def prune(self, c: FloatArray, k: Budget, norms: FloatArray | None = None) -> tuple[SymmetricFactors, FloatArray]:
        values, vectors = self._eigh(c)
        face = SymmetricFactors(self.V @ vectors[:, :k])
        return face, hermitian_coordinates(np.diag(values[:k]).astype(self.V.dtype))

    def merge(self, other: SymmetricFactors) -> SymmetricFactors:
        return SymmetricFactors(linalg.orthonormal(self.V, other.V))

    def restrict(self, M: Any) -> Any:
        return M.restrict_symmetric(self)

    def measure(self, M: Any, c: FloatArray) -> FloatArray:
        return self.restrict(M).apply(c)

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return np.einsum("ij,ij->i", (self.V @ self.matrix(c))[rows], self.V.conj()[cols])

    def labels(self) -> Array:
        return np.arange(self.size)

    def values(self, c: FloatArray) -> Array:
        return self._eigh(c)[0]

    turns = True

    def unfold(self, c: FloatArray) -> FloatArray:
        return self.factors(c)[0].ravel().view(np.float64)

    def left(self, v: FloatArray) -> Array:
        """The unknowns v as a factor L, with L L^H for the point."""
        return v.view(self.V.dtype).reshape(self.shape[0], -1)

    def fold(self, v: FloatArray) -> tuple[SymmetricFactors, FloatArray]:
        V, S = np.linalg.qr(self.left(v))
        return SymmetricFactors(V), hermitian_coordinates(S @ S.conj().T)

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        slope = 2.0 * np.asarray(linalg.hermitian_part(z, self.shape[0]) @ self.left(v))
        return slope.astype(self.V.dtype, copy=False).ravel().view(np.float64)

    def lower(self) -> FloatArray:
        return np.full(self.size * self.shape[0] * (2 if self.complex else 1), -np.inf)

    def inner(self, c: FloatArray, other: SymmetricFactors, d: FloatArray) -> float:
        cross = self.V.conj().T @ other.V
        return float(np.sum((cross @ other.matrix(d) @ cross.conj().T) * self.matrix(c).conj()).real)

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        values, vectors = self._eigh(c)
        left = self.V @ (vectors * np.sqrt(values))
        return left, left.conj()


@cache
def upper_triangle(r: int) -> tuple[IntArray, IntArray]:
    """The places above the diagonal of an r x r matrix, found once: small matrices come by the thousand."""
    rows, cols = np.triu_indices(r, 1)
    return rows, cols


def hermitian_coordinates(C: Array) -> FloatArray:
    """The Hermitian part of C in an orthonormal basis: the diagonal, then sqrt(2) times the real (and imaginary) parts
    above it. Frobenius inner products become dot products."""
    C = 0.5 * (C + C.conj().T)
    above = C[upper_triangle(C.shape[0])] * np.sqrt(2.0)
    pieces = [np.diag(C).real, above.real] + ([above.imag] if np.iscomplexobj(C) else [])
    return np.concatenate(pieces)


def hermitian(c: FloatArray, r: int, complex_: bool) -> Array:
    """The inverse of `hermitian_coordinates`."""
    C = np.zeros((r, r), dtype=complex if complex_ else float)
    upper = upper_triangle(r)
    count = upper[0].size
    above = c[r : r + count] / np.sqrt(2.0)
    if complex_:
        above = above + 1j * c[r + count :] / np.sqrt(2.0)
    C[upper] = above
    C += C.conj().T
    C[np.diag_indices(r)] = c[:r]
    return C


# Faces made of faces -------------------------------------------------------------------------------------------------


class WrappedFace(Face):
    """The atoms of another face after a linear map: coefficients, and all that concerns them alone, are the other's."""

    inner_face: Face

    @abstractmethod
    def around(self, inner: Face) -> WrappedFace:
        """The same map around another face."""

    @abstractmethod
    def pulled(self, z: ModelDual) -> ModelDual:
        """z as the inner face sees it: the transpose of the map."""

    @property
    def cone(self) -> Cone:  # type: ignore[override]
        return self.inner_face.cone

    @property
    def size(self) -> int:
        return self.inner_face.size

    @property
    def dim(self) -> int:
        return self.inner_face.dim

    @property
    def freedom(self) -> int:
        return self.inner_face.freedom

    @property
    def turns(self) -> bool:  # type: ignore[override]
        return self.inner_face.turns

    def adjoint(self, z: ModelDual) -> FloatArray:
        return self.inner_face.adjoint(self.pulled(z))

    def project(self, c: FloatArray) -> FloatArray:
        return self.inner_face.project(c)

    def gauge(self, c: FloatArray) -> float:
        return self.inner_face.gauge(c)

    def mean_atom(self) -> FloatArray:
        return self.inner_face.mean_atom()

    def inner(self, c: FloatArray, other: WrappedFace, d: FloatArray) -> float:
        return self.inner_face.inner(c, other.inner_face, d)

    def prune(self, c: FloatArray, k: Budget, norms: FloatArray | None = None) -> tuple[Face, FloatArray]:
        inner, c = self.inner_face.prune(c, k, norms)
        return self.around(inner), c

    def merge(self, other: WrappedFace) -> Face:
        return self.around(self.inner_face.merge(other.inner_face))

    def as_cone(self) -> Face:
        return self.around(self.inner_face.as_cone())

    def labels(self) -> Array:
        return self.inner_face.labels()

    def key(self) -> Any:
        return self.inner_face.key()

    def values(self, c: FloatArray) -> Array:
        return self.inner_face.values(c)

    def unfold(self, c: FloatArray) -> FloatArray:
        return self.inner_face.unfold(c)

    def fold(self, v: FloatArray) -> tuple[Face, FloatArray]:
        inner, c = self.inner_face.fold(v)
        return self.around(inner), c

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        return self.inner_face.pull(v, self.pulled(z))

    def lower(self) -> FloatArray:
        return self.inner_face.lower()


@dataclass(frozen=True, eq=False)
class ScaledFace(WrappedFace):
    """Atoms scale * a for the atoms a of another face."""

    scale: float
    inner_face: Face

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.inner_face.shape

    def around(self, inner: Face) -> ScaledFace:
        return replace(self, inner_face=inner)

    def pulled(self, z: ModelDual) -> ModelDual:
        return self.scale * z

    def point(self, c: FloatArray) -> Array:
        return self.scale * self.inner_face.point(c)

    def restrict(self, M: Any) -> Any:
        return self.inner_face.restrict(M).scaled(self.scale)

    def measure(self, M: Any, c: FloatArray) -> FloatArray:
        return self.scale * self.inner_face.measure(M, c)

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return self.scale * self.inner_face.entries(c, rows, cols)

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        left, right = self.inner_face.factors(c)
        root = np.sqrt(abs(self.scale))
        return np.sign(self.scale) * root * left, root * right


@dataclass(frozen=True, eq=False)
class MappedFace(WrappedFace):
    """Atoms B a for the atoms a of another face, with a linear map B given by `forward` and `backward`."""

    map: Any
    inner_face: Face
    shape: tuple[int, ...]

    def around(self, inner: Face) -> MappedFace:
        return replace(self, inner_face=inner)

    def pulled(self, z: ModelDual) -> ModelDual:
        return self.map.backward(linalg.as_flat(z))

    def point(self, c: FloatArray) -> Array:
        return self.map.forward(self.inner_face.point(c).ravel()).reshape(self.shape)

    def restrict(self, M: Any) -> Any:
        return self.inner_face.restrict(M.after(self.map, self.inner_face.shape))

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return self.point(c)[rows, cols]


@dataclass(frozen=True, eq=False)
class SumFace(Face):
    """x = x_1 + x_2 + ..., one summand per part; coefficients are the parts', one after the other.

    `joined` tells a union (gauges add) from a sum of sets (the largest gauge counts).
    """

    faces: tuple[Face, ...]
    joined: bool
    shape: tuple[int, ...]

    @property
    def cone(self) -> Cone:  # type: ignore[override]
        kinds = {f.cone for f in self.faces if f.dim}
        return kinds.pop() if len(kinds) == 1 and kinds != {Cone.PSD} else Cone.FREE if not kinds else Cone.MIXED

    @property
    def size(self) -> int:
        return sum(f.size for f in self.faces)

    @property
    def dim(self) -> int:
        return sum(f.dim for f in self.faces)

    @property
    def freedom(self) -> int:
        return sum(f.freedom for f in self.parts)

    @property
    def parts(self) -> tuple[Face, ...]:
        return self.faces

    def split(self, c: FloatArray) -> tuple[FloatArray, ...]:
        return tuple(np.split(c, np.cumsum([f.dim for f in self.faces])[:-1]))

    def nonnegative(self) -> Array | None:
        masks = [f.nonnegative() for f in self.faces if f.dim]
        if any(m is None for m in masks):
            return None
        return np.concatenate([np.zeros(0, dtype=bool), *(m for m in masks if m is not None)])

    def _pairs(self, c: FloatArray) -> list[tuple[Face, FloatArray]]:
        return list(zip(self.faces, self.split(c), strict=True))

    def point(self, c: FloatArray) -> Array:
        return sum((f.point(p).reshape(self.shape) for f, p in self._pairs(c)), start=np.zeros(self.shape))

    def adjoint(self, z: ModelDual) -> FloatArray:
        return np.concatenate([f.adjoint(z) for f in self.faces])

    def project(self, c: FloatArray) -> FloatArray:
        return np.concatenate([f.project(p) for f, p in self._pairs(c)])

    def gauge(self, c: FloatArray) -> float:
        gauges = [f.gauge(p) for f, p in self._pairs(c)]
        return sum(gauges) if self.joined else max(gauges)

    def mean_atom(self) -> FloatArray:
        if not self.joined:
            return np.concatenate([f.mean_atom() for f in self.faces])
        return np.concatenate([f.mean_atom() * (f.size / max(1, self.size)) for f in self.faces])

    def prune(self, c: FloatArray, k: Budget, norms: FloatArray | None = None) -> tuple[SumFace, FloatArray]:
        pieces: Sequence[Any] = [None] * len(self.faces) if norms is None else self.split(norms)
        if isinstance(k, int):  # for all parts together: shared out by whoever chose the atoms
            k = (None,) * len(self.faces)
        pruned = [
            f.prune(p, f.size if j is None else j, w) for (f, p), j, w in zip(self._pairs(c), k, pieces, strict=True)
        ]
        return replace(self, faces=tuple(f for f, _ in pruned)), np.concatenate([p for _, p in pruned])

    def merge(self, other: SumFace) -> SumFace:
        return replace(self, faces=tuple(f.merge(g) for f, g in zip(self.faces, other.faces, strict=True)))

    def restrict(self, M: Any) -> Any:
        return M.restrict_sum(self)

    def measure(self, M: Any, c: FloatArray) -> FloatArray:
        images = (f.measure(M, p) for f, p in self._pairs(c) if f.dim)
        total = np.zeros(M.shape[0])
        for image in images:
            total += image
        return total

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return sum((f.entries(p, rows, cols) for f, p in self._pairs(c)), start=np.zeros(len(rows)))

    def labels(self) -> Array:
        raise AttributeError("the atoms of a sum are told part by part: use parts[i].indices")

    def values(self, c: FloatArray) -> Array:
        raise AttributeError("the coefficients of a sum are told part by part: use parts[i].coefficients")

    @property
    def turns(self) -> bool:  # type: ignore[override]
        return any(f.turns for f in self.faces)

    def _pieces(self, v: FloatArray) -> list[tuple[Face, FloatArray]]:
        cuts = np.cumsum([f.lower().size for f in self.faces])[:-1]
        return list(zip(self.faces, np.split(v, cuts), strict=True))

    def unfold(self, c: FloatArray) -> FloatArray:
        return np.concatenate([f.unfold(p) for f, p in self._pairs(c)])

    def fold(self, v: FloatArray) -> tuple[SumFace, FloatArray]:
        folded = [f.fold(p) for f, p in self._pieces(v)]
        return replace(self, faces=tuple(f for f, _ in folded)), np.concatenate([p for _, p in folded])

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        return np.concatenate([f.pull(p, z) for f, p in self._pieces(v)])

    def lower(self) -> FloatArray:
        return np.concatenate([f.lower() for f in self.faces])

    def inner(self, c: FloatArray, other: SumFace, d: FloatArray) -> float:
        pairs = zip(self._pairs(c), other._pairs(d), strict=True)
        return sum(f.inner(p, g, q) for (f, p), (g, q) in pairs)

    def as_cone(self) -> SumFace:
        return replace(self, faces=tuple(f.as_cone() for f in self.faces))


def within(face: Face, k: Budget) -> bool:
    """Whether a face has at most k atoms, part by part; always without a budget."""
    if isinstance(k, tuple):
        return all(within(f, j) for f, j in zip(face.parts, k, strict=True))
    return k is None or face.size <= k
