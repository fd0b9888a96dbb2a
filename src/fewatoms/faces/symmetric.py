"""Faces of positive semidefinite rank-one matrices, and coordinates for small Hermitian matrices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Self

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, ModelDual
from fewatoms.capabilities import FactorFits, Intensities
from fewatoms.faces.base import Cone, Face
from fewatoms.faces.factors import RANK_TOLERANCE, Factors, widened
from fewatoms.kept import Kept
from fewatoms.reduced import Implicit, ReducedOperator

if TYPE_CHECKING:
    from fewatoms.operators.base import Operator


@dataclass(frozen=True, eq=False)
class SymmetricFactors(Face):
    """The matrices V C V^H with orthonormal V (n x r) and C positive semidefinite: the essential cone of the PSD
    rank-one matrices. Coefficients are C in an orthonormal basis of the Hermitian (or real symmetric) matrices."""

    V: Array

    cone = Cone.PSD

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (self.V.shape[0], self.V.shape[0]))

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

    @property
    def freedom(self) -> int:
        n, r = self.V.shape
        return 2 * n * r - r * r if self.complex else n * r - r * (r - 1) // 2

    def matrix(self, c: FloatArray) -> Array:
        """C, Hermitian."""
        return hermitian(c, self.size, self.complex)

    def point(self, c: FloatArray) -> Array:
        return self.V @ self.matrix(c) @ self.V.conj().T

    def adjoint(self, z: ModelDual) -> FloatArray:
        pulled = self.V.conj().T @ (linalg.as_matrix(z, (self.shape[0], self.shape[1])) @ self.V)
        return hermitian_coordinates(pulled if self.complex else pulled.real)

    def project(self, c: FloatArray) -> FloatArray:
        values, vectors = np.linalg.eigh(self.matrix(c))
        return hermitian_coordinates((vectors * np.maximum(values, 0.0)) @ vectors.conj().T)

    def _eigh(self, c: FloatArray) -> tuple[FloatArray, Array]:
        """Eigenvalues and eigenvectors of C, largest first, without what is rounding or negative."""
        values, vectors = np.linalg.eigh(self.matrix(c))
        values, vectors = values[::-1], vectors[:, ::-1]
        keep = values > RANK_TOLERANCE * max(values[0], 0.0) if values.size else np.zeros(0, dtype=bool)
        return values[keep], vectors[:, keep]

    def gauge(self, c: FloatArray) -> float:
        return float(np.trace(self.matrix(c)).real)

    def mean_atom(self) -> FloatArray:
        return hermitian_coordinates(np.eye(self.size, dtype=self.V.dtype) / max(1, self.size))

    def contributions(self, c: FloatArray, norms: FloatArray | None = None) -> FloatArray:
        """The eigenvalues. Norms are not used: they belong to the entries of C, not to its eigenvectors."""
        return self.values(c)

    def prune(
        self, c: FloatArray, k: BudgetLike, norms: FloatArray | None = None
    ) -> tuple[SymmetricFactors, FloatArray]:
        values, vectors = self._eigh(c)
        face = SymmetricFactors(self.V @ vectors[:, :k])
        return face, hermitian_coordinates(np.diag(values[:k]).astype(self.V.dtype))

    def merge(self, other: Self) -> SymmetricFactors:
        return SymmetricFactors(linalg.orthonormal(self.V, other.V))

    def restrict(self, M: Operator) -> ReducedOperator:
        intensities = M.offers(Intensities)
        if intensities is not None:
            return intensities.restrict_symmetric(self)
        fits = M.offers(FactorFits)
        if fits is not None and not self.complex:
            return Symmetrised(fits.restrict_factors(Factors(self.V, self.V)), self.size)
        return Implicit(M, self)

    def measure(self, M: Operator, c: FloatArray) -> FloatArray:
        return self.restrict(M).apply(c)

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return np.einsum("ij,ij->i", (self.V @ self.matrix(c))[rows], self.V.conj()[cols])

    def values(self, c: FloatArray) -> FloatArray:
        return self._eigh(c)[0]

    def inner(self, c: FloatArray, other: Self, d: FloatArray) -> float:
        cross = self.V.conj().T @ other.V
        return float(np.sum((cross @ other.matrix(d) @ cross.conj().T) * self.matrix(c).conj()).real)

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        values, vectors = self._eigh(c)
        left = self.V @ (vectors * np.sqrt(values))
        return left, left.conj()

    def kept(self) -> Kept:
        return Kept("symmetric factors", {}, {"V": self.V})

    def turning(self) -> SymmetricTurning:
        return SymmetricTurning(self)


@dataclass(frozen=True, eq=False)
class SymmetricTurning:
    """Unknowns L (n x r), flat, with real and imaginary parts side by side: the points L L^H of r atoms."""

    face: SymmetricFactors

    def unfold(self, c: FloatArray) -> FloatArray:
        return widened(self.face.factors(c)[0], self.face.size).ravel().view(np.float64)

    def left(self, v: FloatArray) -> Array:
        """L."""
        return v.view(self.face.V.dtype).reshape(self.face.V.shape)

    def fold(self, v: FloatArray) -> tuple[SymmetricFactors, FloatArray]:
        V, S = np.linalg.qr(self.left(v))
        return SymmetricFactors(V), hermitian_coordinates(S @ S.conj().T)

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        slope = 2.0 * np.asarray(linalg.hermitian_part(z, self.face.shape[0]) @ self.left(v))
        slope = slope if self.face.complex else slope.real
        return slope.astype(self.face.V.dtype).ravel().view(np.float64)

    def lower(self) -> FloatArray:
        return np.full(self.face.V.size * (2 if self.face.complex else 1), -np.inf)


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


class Symmetrised(ReducedOperator):
    """V C V^T through the reduced operator of the pairs (V, V): real symmetric C in its orthonormal coordinates."""

    def __init__(self, inner: ReducedOperator, r: int) -> None:
        self.inner, self.dim = inner, r * (r + 1) // 2
        self.direct, self.costs = inner.direct, inner.costs
        eye = np.eye(r * r).reshape(r * r, r, r)
        self.basis = np.stack([hermitian_coordinates(e) for e in eye]) if r else np.zeros((0, 0))

    def apply(self, c: FloatArray) -> FloatArray:
        return self.inner.apply(self.basis @ c)

    def adjoint(self, r: FloatArray) -> FloatArray:
        return self.basis.T @ self.inner.adjoint(r)

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        G, h = self.inner.normal_equations(b, weights)
        return self.basis.T @ G @ self.basis, self.basis.T @ h
