"""Faces of rank-one matrices, as pairs of factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.capabilities import FactorFits, FactorImages
from fewatoms.faces.base import Cone, Face, leading
from fewatoms.faces.tangents import LowRankTangent
from fewatoms.kept import Kept
from fewatoms.reduced import Implicit, ReducedOperator

if TYPE_CHECKING:
    from fewatoms.operators.base import Operator
RANK_TOLERANCE = 1e-13  # a singular value of C below this share of the largest is rounding, not an atom


@dataclass(frozen=True, eq=False)
class Factors(Face):
    """The matrices U C V^T with orthonormal U (p x r), V (q x r') and any C, flat in C order: the essential cone of
    rank-one matrices, which is also their essential span."""

    U: Array
    V: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (self.U.shape[0], self.V.shape[0]))

    @property
    def size(self) -> int:
        return min(self.U.shape[1], self.V.shape[1])

    @property
    def dim(self) -> int:
        return self.U.shape[1] * self.V.shape[1]

    @property
    def freedom(self) -> int:
        return self.size * (sum(self.shape) - self.size)

    def matrix(self, c: FloatArray) -> Array:
        """C."""
        return c.reshape(self.U.shape[1], self.V.shape[1])

    def point(self, c: FloatArray) -> Array:
        return self.U @ self.matrix(c) @ self.V.T

    def adjoint(self, z: ModelDual) -> FloatArray:
        return np.asarray(self.U.T @ (linalg.as_matrix(z, (self.shape[0], self.shape[1])) @ self.V)).ravel()

    def project(self, c: FloatArray) -> FloatArray:
        return c

    def _svd(self, c: FloatArray) -> tuple[Array, FloatArray, Array]:
        """u, s, v with C = u diag(s) v^T, largest first, without what is rounding."""
        if self.dim == 0:
            return np.zeros((self.U.shape[1], 0)), np.zeros(0), np.zeros((self.V.shape[1], 0))
        u, s, vh = np.linalg.svd(self.matrix(c), full_matrices=False)
        keep = s > RANK_TOLERANCE * s[0]
        return u[:, keep], s[keep], vh[keep].T

    def triplets(self, c: FloatArray) -> tuple[Array, FloatArray, Array]:
        """The singular triplets of `point(c)`, largest first, without what is rounding."""
        u, s, v = self._svd(c)
        return self.U @ u, s, self.V @ v

    def gauge(self, c: FloatArray) -> float:
        return float(self.values(c).sum())

    def mean_atom(self) -> FloatArray:
        return np.eye(self.U.shape[1], self.V.shape[1]).ravel() / max(1, self.size)

    def contributions(self, c: FloatArray, norms: FloatArray | None = None) -> FloatArray:
        """The singular values. Norms are not used: they belong to the entries of C, not to its singular vectors."""
        return self.values(c)

    def prune(self, c: FloatArray, k: BudgetLike, norms: FloatArray | None = None) -> tuple[Factors, FloatArray]:
        u, s, v = self._svd(c)
        return Factors(self.U @ u[:, :k], self.V @ v[:, :k]), np.diag(s[:k]).ravel()

    def merge(self, other: Self) -> Factors:
        return Factors(linalg.orthonormal(self.U, other.U), linalg.orthonormal(self.V, other.V))

    def restrict(self, M: Operator) -> ReducedOperator:
        fits = M.offers(FactorFits)
        return Implicit(M, self) if fits is None else fits.restrict_factors(self)

    def images(self, M: Operator) -> Matrix:
        together = M.offers(FactorImages)
        if together is None or not self.dim:
            return super().images(M)
        M.charge(self.dim)
        return together.factor_images(self.U, self.V)

    def image(self, M: Operator, c: FloatArray) -> FloatArray:
        return M.apply_factors(self.U @ self.matrix(c), self.V)

    def measure(self, M: Operator, c: FloatArray) -> FloatArray:
        return self.restrict(M).apply(c)

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return np.einsum("ij,ij->i", (self.U @ self.matrix(c))[rows], self.V[cols])

    def values(self, c: FloatArray) -> FloatArray:
        return self._svd(c)[1]

    def inner(self, c: FloatArray, other: Self, d: FloatArray) -> float:
        return float(np.sum(((self.U.T @ other.U) @ other.matrix(d) @ (other.V.T @ self.V)) * self.matrix(c)))

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        u, s, v = self._svd(c)
        return self.U @ (u * np.sqrt(s)), self.V @ (v * np.sqrt(s))

    def kept(self) -> Kept:
        return Kept("factors", {}, {"U": self.U, "V": self.V})

    def turning(self) -> FactorTurning:
        return FactorTurning(self)

    def tangent(self, c: FloatArray) -> LowRankTangent:
        return LowRankTangent(*self.triplets(c))


@dataclass(frozen=True, eq=False)
class FactorTurning:
    """Unknowns L (p x r) and R (q x r), one flat after the other: the points L R^T of r atoms."""

    face: Factors

    def unfold(self, c: FloatArray) -> FloatArray:
        return np.concatenate([widened(factor, self.face.size).ravel() for factor in self.face.factors(c)])

    def pair(self, v: FloatArray) -> tuple[Array, Array]:
        """L and R."""
        (p, q), r = self.face.shape, self.face.size
        return v[: p * r].reshape(p, r), v[p * r :].reshape(q, r)

    def fold(self, v: FloatArray) -> tuple[Factors, FloatArray]:
        left, right = self.pair(v)
        (U, S), (V, T) = np.linalg.qr(left), np.linalg.qr(right)
        return Factors(U, V), (S @ T.T).ravel()

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        left, right = self.pair(v)
        Z = linalg.as_matrix(z, (len(left), len(right)))
        return np.concatenate([np.asarray(Z @ right).ravel(), np.asarray(Z.T @ left).ravel()])

    def lower(self) -> FloatArray:
        return np.full(self.face.size * sum(self.face.shape), -np.inf)


def widened(factor: Array, count: int) -> Array:
    """A factor with zero columns appended up to so many: a point may need fewer atoms than its face has."""
    return np.pad(factor, ((0, 0), (0, count - factor.shape[1])))


@dataclass(frozen=True, eq=False)
class NonnegativeFactors(Face):
    """The matrices P diag(c) Q^T with nonnegative P (p x r) and Q (q x r), columns of length 1, and c >= 0."""

    P: Array
    Q: Array

    cone = Cone.NONNEGATIVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (self.P.shape[0], self.Q.shape[0]))

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

    def prune(
        self, c: FloatArray, k: BudgetLike, norms: FloatArray | None = None
    ) -> tuple[NonnegativeFactors, FloatArray]:
        keep = leading(self.contributions(c, norms), k)
        keep = keep[c[keep] > 0]
        return NonnegativeFactors(self.P[:, keep], self.Q[:, keep]), c[keep]

    def merge(self, other: Self) -> NonnegativeFactors:
        alike = (self.P.T @ other.P) * (self.Q.T @ other.Q)  # 1 where two atoms are the same
        fresh = ~(alike > 1 - 1e-12).any(axis=0)
        return NonnegativeFactors(np.hstack([self.P, other.P[:, fresh]]), np.hstack([self.Q, other.Q[:, fresh]]))

    def restrict(self, M: Operator) -> ReducedOperator:
        return Implicit(M, self)

    def image(self, M: Operator, c: FloatArray) -> FloatArray:
        return M.apply_factors(self.P * c, self.Q)

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return np.einsum("ij,ij->i", (self.P * c)[rows], self.Q[cols])

    def inner(self, c: FloatArray, other: Self, d: FloatArray) -> float:
        return float(c @ ((self.P.T @ other.P) * (self.Q.T @ other.Q)) @ d)

    def spans(self) -> None:
        """The factors are fitted, with the coefficients."""
        return None

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        return self.P * np.sqrt(c), self.Q * np.sqrt(c)

    def kept(self) -> Kept:
        return Kept("nonnegative factors", {}, {"P": self.P, "Q": self.Q})
