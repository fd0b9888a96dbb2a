"""Tangents: which points lie near a point of a face, at the same number of atoms, to first order, and back to the set.

At X = U diag(s) V^T the matrices of the same rank lie along U A^T + B V^T. Unlike the unknowns of a turning these
directions do not depend on the sizes of the atoms, so that fits along them are well conditioned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fewatoms._types import Array, FloatArray

if TYPE_CHECKING:
    from fewatoms.faces.base import Face


class Tangent(Protocol):
    """Directions at one point, in coordinates d, and the points that they lead to."""

    @property
    def dim(self) -> int:
        """How many coordinates there are."""
        ...

    def push(self, d: FloatArray) -> Array:
        """The direction with these coordinates, in the model's shape."""
        ...

    def pull(self, z: Array) -> FloatArray:
        """The transpose of `push`, for z in the model's shape."""
        ...

    def moved(self, d: FloatArray) -> tuple[Face, FloatArray]:
        """The point of the set, with as many atoms, nearest to this point moved by d."""
        ...


@dataclass(frozen=True, eq=False)
class Flat:
    """Atoms that stay put: the coefficients move."""

    face: Face
    c: FloatArray

    @property
    def dim(self) -> int:
        return self.face.dim

    def push(self, d: FloatArray) -> Array:
        return self.face.point(d)

    def pull(self, z: Array) -> FloatArray:
        return self.face.adjoint(z)

    def moved(self, d: FloatArray) -> tuple[Face, FloatArray]:
        return self.face, self.face.project(self.c + d)


@dataclass(frozen=True, eq=False)
class LowRankTangent:
    """At U diag(s) V^T: U A^T + B V^T with B orthogonal to U; A (q x r) and B (p x r), one flat after the other."""

    U: Array
    s: FloatArray
    V: Array

    @property
    def dim(self) -> int:
        return self.U.size + self.V.size

    def _pair(self, d: FloatArray) -> tuple[Array, Array]:
        A, B = d[: self.V.size].reshape(self.V.shape), d[self.V.size :].reshape(self.U.shape)
        return A, B - self.U @ (self.U.T @ B)

    def push(self, d: FloatArray) -> Array:
        A, B = self._pair(d)
        return np.concatenate([self.U, B], axis=1) @ np.concatenate([A, self.V], axis=1).T

    def pull(self, z: Array) -> FloatArray:
        right = z @ self.V
        return np.concatenate([(z.T @ self.U).ravel(), (right - self.U @ (self.U.T @ right)).ravel()])

    def nearest(self, d: FloatArray) -> tuple[Array, FloatArray, Array]:
        """The leading singular triplets of the point moved by d."""
        A, B = self._pair(d)
        left, L = np.linalg.qr(np.concatenate([self.U, B], axis=1))
        right, R = np.linalg.qr(np.concatenate([self.V * self.s + A, self.V], axis=1))
        u, s, vh = np.linalg.svd(L @ R.T)
        r = self.s.size
        return left @ u[:, :r], s[:r], right @ vh[:r].T

    def moved(self, d: FloatArray) -> tuple[Face, FloatArray]:
        from fewatoms.faces.factors import Factors

        u, s, v = self.nearest(d)
        return Factors(u, v), np.diag(s).ravel()
