"""Quadratic measurements of a Hermitian matrix: phase retrieval, covariance sketches, squared distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from fewatoms import _checks
from fewatoms._types import Array, FloatArray, ModelDual
from fewatoms.faces import SymmetricFactors
from fewatoms.operators.base import Operator
from fewatoms.operators.reduced import QuadraticFactors, ReducedOperator

FORM_SIDE = 300  # up to this n, M*y is formed as an n x n array: its exact decomposition is as cheap


class Quadratic(Operator):
    """M(X) = diag(A X A^H), so that X = x x^H gives |A x|^2 for `A @ x`, complex included.

    Parameters
    ----------
    A : (m, n) array, sparse matrix or operator with matvec and rmatvec, real or complex
        Rows are the measurement vectors. Squared distances between points i and j are the row e_i - e_j.

    X is n x n and Hermitian (real symmetric if A is real). M*y = A^H diag(y) A is formed only when small.
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

    def _forward(self, X: Array) -> Array:
        if 0 in X.shape:  # not every operator takes an empty block
            return np.zeros((self.m, 0), dtype=X.dtype)
        return np.asarray(self.op @ X)

    def _backward(self, Y: Array) -> Array:
        if 0 in Y.shape:
            return np.zeros((self.n, 0), dtype=Y.dtype)
        return np.asarray((self.op.H if self.array is None else self.array.conj().T) @ Y)

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
        return LinearOperator(
            (self.n, self.n), matvec=product, rmatvec=product, matmat=product, rmatmat=product, dtype=kind
        )

    def restrict_symmetric(self, face: SymmetricFactors) -> ReducedOperator:
        return QuadraticFactors(face, self._forward(face.V) if face.size else np.zeros((self.m, 0)))

    def psd_norm(self) -> float | None:
        # |M(v v^H)|^2 = sum |a_i v|^4 <= max |a_i|^2 |A|_2^2
        if self.array is None:
            return None
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
