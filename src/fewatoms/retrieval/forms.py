"""Data as forms of factors: small problems whose M is written out once, row by row, and read from then on.

A datum of a positive semidefinite matrix X = L L^H is <L, Z_j L>, one of X = L R^T is <L, T_j R>. With all Z_j (or T_j)
at hand an image, its derivative by the factors and its curvature are a few dense products each. Data and rows are in
the loss's weights: the loss is half of |b - image|^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, FloatArray
from fewatoms.capabilities import ColumnBlocks, Intensities, RankOnePairs, Semidefinite, need
from fewatoms.faces import SymmetricFactors
from fewatoms.problem import Problem

ROOM = 4_000_000  # numbers of all rows of M, for semidefinite matrices: 32 MB, or 64 where they are complex
ARRAY_ROOM = 50_000_000  # the same for pairs, where M is an array that is there already


class Forms(Protocol):
    """Data that are quadratic in unknowns v: image(v), homogeneous of degree 2."""

    b: FloatArray  # the data, in the loss's weights

    def image(self, v: FloatArray, k: int) -> FloatArray:
        """Of unknowns of k atoms."""
        ...

    def slopes(self, v: FloatArray, k: int) -> FloatArray:
        """The derivative of the image, m x v.size; image(v) is half of it times v."""
        ...

    def bend(self, y: FloatArray, k: int) -> FloatArray:
        """The second derivative of <y, image(v)>, which does not depend on v."""
        ...

    @property
    def cost(self) -> float:
        """What the gauge costs in squares of unknowns: the least gauge of a point is cost |v|^2, over its v."""
        ...


@dataclass(frozen=True, eq=False)
class SymmetricForms:
    """<L, Z_j L> for unknowns L (n x k), real and imaginary parts side by side.

    Z : (m, n, n), Hermitian
    """

    Z: Array
    b: FloatArray
    cost = 1.0

    @property
    def n(self) -> int:
        return self.Z.shape[1]

    @property
    def complex(self) -> bool:
        return np.iscomplexobj(self.Z)

    def left(self, v: FloatArray) -> Array:
        """L."""
        return v.view(self.Z.dtype).reshape(self.n, -1)

    def _pulled(self, v: FloatArray) -> FloatArray:
        m, n, _ = self.Z.shape
        W = np.ascontiguousarray((self.Z.reshape(m * n, n) @ self.left(v)).reshape(m, -1))
        return W.view(np.float64)

    def image(self, v: FloatArray, k: int) -> FloatArray:
        return np.asarray(self._pulled(v) @ v)

    def slopes(self, v: FloatArray, k: int) -> FloatArray:
        return 2.0 * self._pulled(v)

    def adjoint(self, y: FloatArray) -> Array:
        """M*y, in the loss's weights."""
        m, n, _ = self.Z.shape
        return np.asarray(y @ self.Z.reshape(m, n * n)).reshape(n, n)

    def of_matrix(self, X: Array) -> FloatArray:
        """The image of a Hermitian matrix that is written out."""
        m = len(self.Z)
        flat = np.ascontiguousarray(X.astype(self.Z.dtype)).ravel().view(np.float64)
        return np.asarray(self.Z.reshape(m, -1).view(np.float64) @ flat)

    def bend(self, y: FloatArray, k: int) -> FloatArray:
        return _spread(2.0 * self.adjoint(y), k)


def _spread(Z: Array, k: int) -> FloatArray:
    """L -> Z L as a matrix over the real unknowns of L (n x k)."""
    n, eye = len(Z), np.eye(k)
    if not np.iscomplexobj(Z):
        return np.einsum("ij,ab->iajb", Z, eye).reshape(n * k, n * k)
    parts = np.array([[Z.real, -Z.imag], [Z.imag, Z.real]])
    return np.einsum("stij,ab->iasjbt", parts, eye).reshape(2 * n * k, 2 * n * k)


@dataclass(frozen=True, eq=False)
class PairForms:
    """<L, T_j R> for unknowns L (p x k) and R (q x k), one flat after the other.

    T : (m, p, q)
    """

    T: FloatArray
    b: FloatArray
    cost = 0.5

    def _pair(self, v: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
        _, p, q = self.T.shape
        return v[: p * k].reshape(p, k), v[p * k :].reshape(q, k)

    def image(self, v: FloatArray, k: int) -> FloatArray:
        L, R = self._pair(v, k)
        return np.asarray(self.T.reshape(len(self.T), -1) @ (L @ R.T).ravel())

    def slopes(self, v: FloatArray, k: int) -> FloatArray:
        m, p, q = self.T.shape
        L, R = self._pair(v, k)
        J = np.empty((m, (p + q) * k))
        J[:, : p * k] = (self.T.reshape(m * p, q) @ R).reshape(m, p * k)
        J[:, p * k :] = np.matmul(self.T.transpose(0, 2, 1), L).reshape(m, q * k)
        return J

    def bend(self, y: FloatArray, k: int) -> FloatArray:
        m, p, q = self.T.shape
        Z = (y @ self.T.reshape(m, p * q)).reshape(p, q)
        H, eye = np.zeros(((p + q) * k, (p + q) * k)), np.eye(k)
        H[: p * k, p * k :] = np.einsum("ij,ab->iajb", Z, eye).reshape(p * k, q * k)
        H[p * k :, : p * k] = H[: p * k, p * k :].T
        return H


def symmetric_forms(problem: Problem) -> SymmetricForms | None:
    """Those of a least-squares problem over semidefinite matrices; None where they are too many numbers, or another
    problem. Costs m products, or n where data are intensities."""
    M, n = problem.M, problem.atoms.shape[0]
    suits = problem.loss.squares and problem.atoms.offers(Semidefinite) is not None
    if not suits or problem.m * n * n > ROOM:
        return None
    Z = _written(problem, n)
    Z = 0.5 * (Z + Z.conj().transpose(0, 2, 1))
    Z = Z if M.complex else Z.real
    w = problem.loss.weights
    root = np.ones(problem.m) if w is None else np.sqrt(w)
    kind = np.complex128 if M.complex else np.float64
    return SymmetricForms(np.ascontiguousarray(root[:, None, None] * Z, dtype=kind), root * problem.b)


def _written(problem: Problem, n: int) -> Array:
    """M*e_j for all j, m x n x n."""
    M, m = problem.M, problem.m
    intensities, columns = M.offers(Intensities), M.offers(ColumnBlocks)
    if intensities is not None:
        eye = np.eye(n, dtype=np.complex128 if M.complex else np.float64)
        rows = intensities.restrict_symmetric(SymmetricFactors(eye)).formed().matrix
        return _squared(np.asarray(rows), n, M.complex)
    if columns is not None:
        return linalg.dense(columns.read(np.arange(n * n))).reshape(m, n, n)
    return M.adjoint_block(np.eye(m)).T.reshape(m, n, n)


def _squared(rows: FloatArray, n: int, complex_: bool) -> Array:
    """Hermitian matrices from their coordinates, a matrix for each row: `hermitian` for many at once."""
    upper = np.triu_indices(n, 1)
    count = upper[0].size
    above = rows[:, n : n + count] / np.sqrt(2.0)
    above = above + 1j * rows[:, n + count :] / np.sqrt(2.0) if complex_ else above
    Z = np.zeros((len(rows), n, n), dtype=above.dtype)
    Z[:, upper[0], upper[1]] = above
    Z[:, upper[1], upper[0]] = above.conj()
    Z[:, np.arange(n), np.arange(n)] = rows[:, :n]
    return Z


def reads_pairs(problem: Problem) -> bool:
    """Whether a problem is one of least squares over rank-one pairs, with an M that is an array of a sensible size."""
    pairs, columns = problem.atoms.offers(RankOnePairs), problem.M.offers(ColumnBlocks)
    suits = problem.loss.squares and pairs is not None and not pairs.nonnegative and len(problem.atoms.shape) == 2
    return suits and columns is not None and problem.m * problem.M.shape[1] <= ARRAY_ROOM


def pair_forms(problem: Problem) -> PairForms:
    """The data of such a problem. No products: M is read."""
    columns, (p, q), w = need(problem.M, ColumnBlocks), problem.atoms.shape, problem.loss.weights
    T, b = linalg.dense(columns.read(np.arange(p * q))), problem.b
    T, b = (T, b) if w is None else (np.sqrt(w)[:, None] * T, np.sqrt(w) * b)
    return PairForms(np.ascontiguousarray(T, dtype=np.float64).reshape(problem.m, p, q), b)
