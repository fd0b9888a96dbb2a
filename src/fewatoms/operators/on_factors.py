"""Reduced operators of particular measurements: low-rank faces under sampled entries, the identity and quadratic forms.

None holds m times (k squared) numbers: Gram matrices are accumulated block by block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.faces import Factors, SymmetricFactors, hermitian_coordinates
from fewatoms.reduced import BLOCK, Costs, ReducedOperator

if TYPE_CHECKING:
    from fewatoms.operators import Sampling


class SampledFactors(ReducedOperator):
    """Entries (rows[e], cols[e]) of U C V^T; nothing of m times dim numbers is held."""

    direct = True

    def __init__(self, face: Factors, sampling: Sampling) -> None:
        self.face, self.sampling, self.dim = face, sampling, face.dim
        r = face.size
        self.costs = Costs(r, 1, self.dim + 1)

    def apply(self, c: FloatArray) -> FloatArray:
        return self.sampling.apply_factors(self.face.U @ self.face.matrix(c), self.face.V)

    def adjoint(self, r: FloatArray) -> FloatArray:
        return self.face.adjoint(self.sampling.adjoint(r))

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        U, V = self.face.U, self.face.V
        r, s = U.shape[1], V.shape[1]
        G, beyond, background = np.zeros((r * r, s * s)), weights, self.sampling.background
        if background:  # all cells with that weight, and what entries have beyond it
            G += background * np.outer(U.T @ U, V.T @ V)
            beyond = (np.ones(b.size) if weights is None else weights) - background
        for first, grams in self.sampling.row_grams(V, beyond):
            u = U[first : first + len(grams)]
            G += np.einsum("ia,ic->iac", u, u).reshape(len(u), r * r).T @ grams.reshape(len(u), s * s)
        G = G.reshape(r, r, s, s).transpose(0, 2, 1, 3).reshape(r * s, r * s)
        return G, self.adjoint(b if weights is None else weights * b)


class IdentityFactors(ReducedOperator):
    """All entries of U C V^T with orthonormal U and V: an isometry, so the Gram matrix is the identity."""

    direct = True

    def __init__(self, face: Factors) -> None:
        self.face, self.dim = face, face.dim
        self.costs = Costs(1, 1, 1)

    def apply(self, c: FloatArray) -> FloatArray:
        return np.asarray(self.face.point(c).ravel())

    def adjoint(self, r: FloatArray) -> FloatArray:
        return self.face.adjoint(r.reshape(self.face.shape))

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        if weights is None:
            return np.eye(self.dim), self.adjoint(b)
        U, V = self.face.U, self.face.V
        r, s = U.shape[1], V.shape[1]
        W = weights.reshape(self.face.shape)
        G = np.zeros((r * r, s * s))
        rows = max(1, BLOCK // max(1, V.size + s * s))
        for start in range(0, len(U), rows):
            u = U[start : start + rows]
            grams = np.einsum("jb,ij,jd->ibd", V, W[start : start + rows], V, optimize=True)
            G += np.einsum("ia,ic->iac", u, u).reshape(len(u), r * r).T @ grams.reshape(len(u), s * s)
        return G.reshape(r, r, s, s).transpose(0, 2, 1, 3).reshape(self.dim, self.dim), self.adjoint(weights * b)


class QuadraticFactors(ReducedOperator):
    """diag(W C W^H) with W = A V (m x r), formed once: r products with A."""

    direct = True

    def __init__(self, face: SymmetricFactors, W: Array) -> None:
        self.face, self.W, self.dim = face, W, face.dim
        self.formed_by = face.size

    def apply(self, c: FloatArray) -> FloatArray:
        return np.einsum("ia,ia->i", self.W @ self.face.matrix(c), self.W.conj()).real

    def adjoint(self, r: FloatArray) -> FloatArray:
        gathered = self.W.conj().T @ (r[:, None] * self.W)
        return hermitian_coordinates(gathered if self.face.complex else gathered.real)

    def _rows(self, W: Array) -> FloatArray:
        """The rows of the reduced matrix: the coordinates of w^H w for each row w of W."""
        upper = np.triu_indices(W.shape[1], 1)
        above = np.sqrt(2.0) * W[:, upper[0]].conj() * W[:, upper[1]]
        pieces = [np.abs(W) ** 2, above.real] + ([above.imag] if self.face.complex else [])
        return np.concatenate(pieces, axis=1)

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        G, h = np.zeros((self.dim, self.dim)), np.zeros(self.dim)
        rows = max(1, BLOCK // max(1, self.dim))
        for start in range(0, len(self.W), rows):
            block = self._rows(self.W[start : start + rows])
            weighted = block if weights is None else block * weights[start : start + rows, None]
            G += weighted.T @ block
            h += weighted.T @ b[start : start + rows]
        return G, h
