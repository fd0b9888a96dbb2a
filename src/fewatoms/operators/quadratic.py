"""Quadratic measurements of a Hermitian matrix: phase retrieval, covariance sketches, squared distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from fewatoms import _checks, linalg
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.faces import SymmetricFactors
from fewatoms.operators.base import Operator
from fewatoms.operators.on_factors import QuadraticFactors
from fewatoms.reduced import ReducedOperator
from fewatoms.rounding import Summed

FORM_SIDE = 300  # up to this n, M*y is formed as an n x n array: its exact decomposition is as cheap


class Quadratic(Operator):
    """M(X) = diag(A X A^H), so that X = x x^H gives |A x|^2 for `A @ x`, complex included.

    Parameters
    ----------
    A : (m, n) array, sparse matrix or operator with matvec and rmatvec, real or complex
        Rows are the measurement vectors. Squared distances between points i and j are the row e_i - e_j.

    Notes
    -----
    X is n x n and Hermitian (real symmetric if A is real); of any other X only the Hermitian part is measured.
    M*y = A^H diag(y) A is formed only when small. Data may be negative, as noise makes them.
    """

    def __init__(self, A: Any) -> None:
        if isinstance(A, LinearOperator) or (hasattr(A, "matvec") and not isinstance(A, np.ndarray)):
            self.array = None
            self.op = A
        else:
            A = A.tocsr() if sp.issparse(A) else np.asarray(A)
            if A.ndim != 2 or 0 in A.shape:
                raise ValueError(f"A must be a matrix with rows and columns; got shape {A.shape}")
            if A.dtype.kind not in "biufc":
                raise TypeError(f"A must hold numbers; got an array of {A.dtype}")
            _checks.finite("A", A.data if sp.issparse(A) else A)
            self.array = self.op = A if A.dtype.kind in "fc" else A.astype(np.float64)
        self.m, self.n = (int(s) for s in A.shape)
        self.complex = np.dtype(self.op.dtype if self.op.dtype is not None else float).kind == "c"
        self.shape = (self.m, self.n * self.n)

    def __repr__(self) -> str:
        return f"Quadratic({self.m} {'complex' if self.complex else 'real'} measurements of {self.n} x {self.n})"

    @property
    def model_shape(self) -> tuple[int, ...]:
        return (self.n, self.n)

    def read_data(self, b: npt.ArrayLike) -> FloatArray:
        if not sp.issparse(b) and np.asarray(b).dtype.kind == "c":
            raise TypeError(
                f"b must be real, the intensities |A x|^2; got an array of {np.asarray(b).dtype}: "
                "pass numpy.abs(b) ** 2 if it holds A x itself"
            )
        return super().read_data(b)

    def _forward(self, X: Array) -> Array:
        if 0 in X.shape:  # not every operator takes an empty block
            return np.zeros((self.m, 0), dtype=X.dtype)
        return np.asarray(self.op @ X) if self.array is None else _product(self.array, X)

    def _backward(self, Y: Array) -> Array:
        if 0 in Y.shape:
            return np.zeros((self.n, 0), dtype=Y.dtype)
        if self.array is None:
            return np.asarray(self.op.H @ Y)
        return _product(self.array.T, Y.conj()).conj()  # the conjugate of A would be a copy of it

    def apply(self, x: Array) -> FloatArray:
        X = np.asarray(x).reshape(self.n, self.n)
        X = 0.5 * (X + X.conj().T)
        values, vectors = np.linalg.eigh(X)
        keep = np.abs(values) > 1e-16 * max(np.abs(values).max(), 1e-300)
        return (np.abs(self._forward(vectors[:, keep])) ** 2) @ values[keep]

    def adjoint(self, y: FloatArray) -> ModelDual:
        y = y.copy()  # the operator below outlives the call
        if self.array is not None and self.n <= FORM_SIDE:
            scaled = self.array.multiply(y[:, None]) if sp.issparse(self.array) else y[:, None] * self.array
            Z = self.array.conj().T @ scaled
            return Z.toarray() if sp.issparse(Z) else Z

        def product(X: Array) -> Array:
            return self._backward((y[:, None] if X.ndim == 2 else y) * self._forward(X))

        # in double precision, whatever A's: the largest eigenvalue backs certificates
        kind = np.complex128 if self.complex else np.float64
        return linalg.Hermitian(self.n, product, kind)

    def summed(self) -> Summed | None:
        squares = self.row_squares()
        return None if squares is None else Summed(4 * (self.m + self.n), 2.0 * linalg.length(squares))

    def restrict_symmetric(self, face: SymmetricFactors) -> ReducedOperator:
        return QuadraticFactors(face, self._forward(face.V) if face.size else np.zeros((self.m, 0)))

    def measure_factor(self, L: Array) -> tuple[FloatArray, Callable[[FloatArray], Array]]:
        """M(L L^H), and the function y -> 2 (M*y) L, its gradient: one product with A and one with A^H a column."""
        W = self._forward(L)
        return (W.real**2 + W.imag**2 if self.complex else W * W).sum(
            axis=1
        ), lambda y: 2.0 * self._backward(y[:, None] * W)

    def row_squares(self) -> FloatArray | None:
        """|a_i|^2 for the rows of A; None for an operator that does not know them (`row_squares`)."""
        if self.array is not None:
            A = self.array
            return np.asarray((abs(A).power(2) if sp.issparse(A) else _squares(A)).sum(axis=1), np.float64).ravel()
        return np.asarray(self.op.row_squares(), dtype=np.float64) if hasattr(self.op, "row_squares") else None

    def vectors(self) -> Array:
        """A, as an array in double precision."""
        kind = np.complex128 if self.complex else np.float64
        if self.array is None:
            return np.asarray(self._forward(np.eye(self.n, dtype=kind)), dtype=kind)
        return np.asarray(self.array.toarray() if sp.issparse(self.array) else self.array, dtype=kind)

    def column_norms(self) -> None:
        return None

    def block_norms(self, blocks: Sequence[IntArray]) -> None:
        return None

    def rank_one_norm(self) -> float | None:
        return self.psd_norm()  # |M(u v^T)| is that of its Hermitian part, a mean of two such

    def psd_norm(self) -> float | None:
        # |M(v v^H)|^2 = sum |a_i v|^4 <= max |a_i|^2 |A|_2^2
        if self.array is None:
            known = hasattr(self.op, "row_squares") and hasattr(self.op, "spectral_norm")
            return float(np.sqrt(np.max(self.op.row_squares()))) * self.op.spectral_norm() if known else None
        A = self.array.astype(np.complex128 if self.complex else np.float64, copy=False)
        rows = np.sqrt(np.asarray(abs(A).power(2).sum(axis=1) if sp.issparse(A) else (np.abs(A) ** 2).sum(axis=1)))
        frobenius = float(np.linalg.norm(rows))
        if min(A.shape) <= 2000:
            gram = A @ A.conj().T if self.m <= self.n else A.conj().T @ A
            top = float(np.linalg.eigvalsh(gram.toarray() if sp.issparse(gram) else gram)[-1])
            spectral = float(np.sqrt(top * (1 + 1e-12) + 1e-14 * frobenius**2))
        else:
            spectral = frobenius
        return float(rows.max()) * spectral


def _squares(X: Array) -> FloatArray:
    """|x|^2 for each entry."""
    return X.real**2 + X.imag**2 if np.iscomplexobj(X) else X * X


def _product(A: Any, X: Array) -> Array:
    """A X. Of two columns each is multiplied alone: BLAS is several times slower on such a pair."""
    if X.ndim == 2 and X.shape[1] == 2 and not sp.issparse(A):
        return np.stack([A @ np.ascontiguousarray(x) for x in X.T], axis=1)
    return np.asarray(A @ X)
