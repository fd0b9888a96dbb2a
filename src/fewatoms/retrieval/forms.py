"""Data as forms of factors: small problems whose M is written out once and read from then on.

A datum of a positive semidefinite matrix X = L L^H is <L, Z_j L>, one of X = L R^T is <L, T_j R>. With all Z_j (or T_j)
at hand an image, its derivative by the factors and its curvature are a few dense products each. Data and forms are in
the loss's weights: the loss is half of |b - image|^2, or that of Huber with a limit for each datum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, FloatArray
from fewatoms.capabilities import ColumnBlocks, Intensities, RankOnePairs, Semidefinite, need
from fewatoms.problem import Problem

ROOM = 4_000_000  # numbers of all forms of semidefinite matrices: 32 MB, or 64 where they are complex
ARRAY_ROOM = 50_000_000  # the same for pairs, where M is an array that is there already


class Forms(Protocol):
    """Data that are quadratic in unknowns v, which are a matrix of k columns: image(v), homogeneous of degree 2."""

    @property
    def b(self) -> FloatArray:
        """The data, in the loss's weights."""
        ...

    @property
    def limits(self) -> FloatArray | None:
        """Sizes of residuals beyond which the loss is linear; None where it is half the squares."""
        ...

    def image(self, v: FloatArray, k: int) -> FloatArray:
        """Of unknowns of k atoms."""
        ...

    def slopes(self, v: FloatArray, k: int) -> FloatArray:
        """The derivative of the image, m x v.size; image(v) is half of it times v."""
        ...

    def core(self, y: FloatArray) -> Array:
        """The second derivative of <y, image>, which is the same Hermitian matrix for each column of unknowns."""
        ...


class Semiforms(Forms, Protocol):
    """Forms of semidefinite matrices, of n rows, complex or not."""

    @property
    def n(self) -> int:
        """Rows, and columns, of the matrix."""
        ...

    @property
    def complex(self) -> bool:
        """Whether it is complex."""
        ...

    def adjoint(self, y: FloatArray) -> Array:
        """M*y, n x n, in the loss's weights."""
        ...

    def of_matrix(self, X: Array) -> FloatArray:
        """The image of a Hermitian matrix that is written out."""
        ...

    def seen_by(self, root: Array) -> tuple[FloatArray, FloatArray]:
        """The traces of all root Z_j root^H, and their inner products with each other (m x m)."""
        ...

    @property
    def work(self) -> float:
        """Multiplications that `seen_by` takes."""
        ...


@dataclass(frozen=True, eq=False)
class SymmetricForms:
    """<L, Z_j L> for unknowns L (n x k), real and imaginary parts side by side.

    Z : (m, n, n), Hermitian
    """

    Z: Array
    b: FloatArray
    limits: FloatArray | None = None

    @property
    def n(self) -> int:
        return self.Z.shape[1]

    @property
    def complex(self) -> bool:
        return np.iscomplexobj(self.Z)

    def _pulled(self, v: FloatArray) -> FloatArray:
        m, n, _ = self.Z.shape
        W = self.Z.reshape(m * n, n) @ v.view(self.Z.dtype).reshape(n, -1)
        return np.ascontiguousarray(W.reshape(m, -1)).view(np.float64)

    def image(self, v: FloatArray, k: int) -> FloatArray:
        return np.asarray(self._pulled(v) @ v)

    def slopes(self, v: FloatArray, k: int) -> FloatArray:
        return 2.0 * self._pulled(v)

    def core(self, y: FloatArray) -> Array:
        return 2.0 * self.adjoint(y)

    def adjoint(self, y: FloatArray) -> Array:
        m, n, _ = self.Z.shape
        return np.asarray(y @ self.Z.reshape(m, n * n)).reshape(n, n)

    def of_matrix(self, X: Array) -> FloatArray:
        flat = np.ascontiguousarray(X.astype(self.Z.dtype)).ravel().view(np.float64)
        return np.asarray(self.Z.reshape(len(self.Z), -1).view(np.float64) @ flat)

    def seen_by(self, root: Array) -> tuple[FloatArray, FloatArray]:
        near = np.matmul(np.matmul(root, self.Z), root.conj().T)
        flat = np.ascontiguousarray(near.reshape(len(near), -1)).view(np.float64)
        return np.trace(near, axis1=1, axis2=2).real, flat @ flat.T

    @property
    def work(self) -> float:
        m, n, _ = self.Z.shape
        return (4.0 if self.complex else 1.0) * (2.0 * m * n**3 + 0.5 * float(m * n) ** 2)


@dataclass(frozen=True, eq=False)
class QuadraticForms:
    """The same where Z_j = a_j^H a_j, for the rows a_j of A (m x n): nothing of m times n^2 numbers."""

    A: Array
    b: FloatArray
    limits: FloatArray | None = None

    @property
    def n(self) -> int:
        return self.A.shape[1]

    @property
    def complex(self) -> bool:
        return np.iscomplexobj(self.A)

    def _seen(self, v: FloatArray) -> Array:
        return np.asarray(self.A @ v.view(self.A.dtype).reshape(self.n, -1))

    def image(self, v: FloatArray, k: int) -> FloatArray:
        W = self._seen(v)
        return np.asarray((W.real**2 + W.imag**2).sum(axis=1) if self.complex else (W * W).sum(axis=1))

    def slopes(self, v: FloatArray, k: int) -> FloatArray:
        J = 2.0 * self.A.conj()[:, :, None] * self._seen(v)[:, None, :]
        return J.reshape(len(self.A), -1).view(np.float64)

    def core(self, y: FloatArray) -> Array:
        return 2.0 * self.adjoint(y)

    def adjoint(self, y: FloatArray) -> Array:
        return np.asarray(self.A.conj().T @ (y[:, None] * self.A))

    def of_matrix(self, X: Array) -> FloatArray:
        return np.einsum("ij,ij->i", self.A @ X, self.A.conj()).real

    def seen_by(self, root: Array) -> tuple[FloatArray, FloatArray]:
        W = self.A @ root.conj().T
        K = W @ W.conj().T
        return np.diag(K).real.copy(), K.real**2 + K.imag**2 if self.complex else K * K

    @property
    def work(self) -> float:
        m, n = self.A.shape
        return (4.0 if self.complex else 1.0) * float(m * n * (m + n))


@dataclass(frozen=True, eq=False)
class PairForms:
    """<L, T_j R> for unknowns L (p x k) and R (q x k), one after the other.

    T : (m, p, q)
    """

    T: FloatArray
    b: FloatArray
    limits: FloatArray | None = None

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

    def core(self, y: FloatArray) -> Array:
        m, p, q = self.T.shape
        core = np.zeros((p + q, p + q))
        core[:p, p:] = (y @ self.T.reshape(m, p * q)).reshape(p, q)
        core[p:, :p] = core[:p, p:].T
        return core


def loss_of(forms: Forms, r: FloatArray) -> float:
    """The loss of a residual, in its weights."""
    if forms.limits is None:
        return 0.5 * float(r @ r)
    size = np.abs(r)
    small = np.minimum(size, forms.limits)
    return float(small @ (size - 0.5 * small))


def slope_of(forms: Forms, r: FloatArray) -> FloatArray:
    """The gradient of the loss at a residual."""
    return r if forms.limits is None else np.clip(r, -forms.limits, forms.limits)


def parabola(forms: Forms, r: FloatArray) -> FloatArray | None:
    """Square roots of weights whose least squares touch the loss at a residual and are nowhere below it; None where
    they are the loss."""
    if forms.limits is None:
        return None
    return np.sqrt(np.minimum(1.0, forms.limits / np.maximum(np.abs(r), 1e-300)))


def _suits(problem: Problem) -> bool:
    """Whether the loss is half the squares of residuals, or Huber's."""
    return problem.loss.squares or problem.loss.linear_beyond is not None


def _limits(problem: Problem, root: FloatArray) -> FloatArray | None:
    """Where the loss turns linear, for residuals in its weights, of which `root` are the square roots."""
    return None if problem.loss.squares else float(problem.loss.linear_beyond or 0.0) * root


def writes_out(problem: Problem) -> bool:
    """Whether a problem is one over semidefinite matrices whose loss forms know, with forms of a sensible size."""
    n = problem.atoms.shape[0]
    suits = _suits(problem) and problem.atoms.offers(Semidefinite) is not None
    return suits and problem.m * n * (1 if problem.M.offers(Intensities) else n) <= ROOM


def semiforms(problem: Problem) -> Semiforms:
    """The data of such a problem: m products, or n where they are intensities; none where M is an array."""
    M, n, m, w = problem.M, problem.atoms.shape[0], problem.m, problem.loss.weights
    root = np.ones(m) if w is None else np.sqrt(w)
    intensities, columns = M.offers(Intensities), M.offers(ColumnBlocks)
    if intensities is not None:
        return QuadraticForms(np.sqrt(root)[:, None] * intensities.vectors(), root * problem.b, _limits(problem, root))
    if columns is not None:
        Z = linalg.dense(columns.read(np.arange(n * n))).reshape(m, n, n)
    else:
        Z = M.adjoint_block(np.eye(m)).T.reshape(m, n, n)
    Z = 0.5 * (Z + Z.conj().transpose(0, 2, 1))
    Z = root[:, None, None] * (Z if M.complex else Z.real)
    Z = np.ascontiguousarray(Z, dtype=np.complex128 if M.complex else np.float64)
    return SymmetricForms(Z, root * problem.b, _limits(problem, root))


def reads_pairs(problem: Problem) -> bool:
    """Whether a problem is one over rank-one pairs whose loss forms know, with an M that is an array of a sensible
    size."""
    pairs, columns = problem.atoms.offers(RankOnePairs), problem.M.offers(ColumnBlocks)
    suits = _suits(problem) and pairs is not None and not pairs.nonnegative and len(problem.atoms.shape) == 2
    return suits and columns is not None and problem.m * problem.M.shape[1] <= ARRAY_ROOM


def pair_forms(problem: Problem) -> PairForms:
    """The data of such a problem. No products: M is read."""
    columns, (p, q), w = need(problem.M, ColumnBlocks), problem.atoms.shape, problem.loss.weights
    T, root = linalg.dense(columns.read(np.arange(p * q))), np.ones(problem.m) if w is None else np.sqrt(w)
    T = np.ascontiguousarray(T if w is None else root[:, None] * T, dtype=np.float64)
    return PairForms(T.reshape(problem.m, p, q), root * problem.b, _limits(problem, root))


def enough(m: int, n: int, complex_: bool) -> int:
    """Atoms that suffice for whatever any number of them can do about m data, and one to spare: a semidefinite matrix
    that meets m equations can be had with r atoms, r (r + 1) / 2 <= m (r^2 where it is complex).

    Reference: Pataki, "On the rank of extreme matrices in semidefinite programs", Math. Operations Research 23 (1998).
    """
    r = math.isqrt(m) if complex_ else (math.isqrt(8 * m + 1) - 1) // 2
    return min(r + 1, n)
