"""Reduced operators: M restricted to a face, a map from a few coefficients to the data.

The contract is `dim`, `apply(c)`, `adjoint(r)` and `normal_equations(b, weights)`; where columns are at hand `matrix`
holds them, and `direct` says that the normal equations cost little. None holds m times (k squared) numbers: what has
k squared coefficients accumulates its Gram matrix block by block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from fewatoms import ledger
from fewatoms._types import Array, FloatArray, Matrix

if TYPE_CHECKING:
    from fewatoms.faces import Face
    from fewatoms.operators import Operator

BLOCK = 1 << 21  # numbers held at a time while a Gram matrix is accumulated


@dataclass(frozen=True)
class Costs:
    """Products with M or M* that a call of each method makes."""

    apply: int = 0
    adjoint: int = 0
    normal_equations: int = 0


class ReducedOperator(ABC):
    """c -> M point(c)."""

    dim: int
    direct = False  # normal_equations is cheap and exact enough to solve with
    matrix: Matrix = None  # the columns, dense or sparse, where they have been formed
    formed_by = 0  # products that it was made by, for who counts
    costs = Costs()  # products with M or M* that its methods make, where M does not count them itself

    @abstractmethod
    def apply(self, c: FloatArray) -> FloatArray:
        """M point(c)."""

    @abstractmethod
    def adjoint(self, r: FloatArray) -> FloatArray:
        """The transpose: the inner products <M a_i, r>."""

    @abstractmethod
    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """G = R^T W R (dim x dim) and R^T W b, with W = diag(weights)."""

    def gram(self, weights: FloatArray) -> FloatArray:
        """G alone."""
        return self.normal_equations(weights, weights)[0]

    def norms(self) -> FloatArray | None:
        """|M a_i| for each coefficient, where they cost nothing."""
        return None

    def summed(self, V: FloatArray) -> FloatArray:
        """Rows of R times V, summed over those that follow each other in a row of V."""
        return _summed(V, self.formed().matrix)

    def formed(self) -> ReducedOperator:
        """The same operator with its columns formed."""
        if self.dim == 0:
            return Columns(np.zeros((self.apply(np.zeros(0)).size, 0)))
        columns = []
        for e in np.eye(self.dim):
            ledger.tick()
            columns.append(self.apply(e))
        return Columns(np.stack(columns, axis=1))

    def scaled(self, scale: float) -> ReducedOperator:
        """The reduced operator of atoms multiplied by `scale`."""
        return Scaled(self, scale)


class Columns(ReducedOperator):
    """Columns that have been formed, m x dim, dense or sparse."""

    direct = True

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.dim = matrix.shape[1]

    def apply(self, c: FloatArray) -> FloatArray:
        return np.asarray(self.matrix @ c, dtype=np.float64)

    def adjoint(self, r: FloatArray) -> FloatArray:
        return np.asarray(self.matrix.T @ r, dtype=np.float64)

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        A = self.matrix
        if sp.issparse(A):
            WA = A if weights is None else A.multiply(weights[:, None]).tocsc()
            return (A.T @ WA).toarray(), np.asarray(WA.T @ b)
        G, h = np.zeros((self.dim, self.dim)), np.zeros(self.dim)
        rows = max(1, BLOCK // max(1, self.dim))
        for start in range(0, A.shape[0], rows):
            block = A[start : start + rows]
            weighted = block if weights is None else block * weights[start : start + rows, None]
            G += weighted.T @ block
            h += weighted.T @ b[start : start + rows]
        return G, h

    def norms(self) -> FloatArray:
        if sp.issparse(self.matrix):
            return np.sqrt(np.asarray(self.matrix.multiply(self.matrix).sum(axis=0)).ravel())
        return np.sqrt(np.einsum("ij,ij->j", self.matrix, self.matrix))

    def formed(self) -> ReducedOperator:
        return self

    def scaled(self, scale: float) -> ReducedOperator:
        return Columns(scale * self.matrix)


class Bordered(ReducedOperator):
    """Columns, dense or sparse, beside a few dense ones: for fits with free columns, and many weights in turn."""

    direct = True

    def __init__(self, A: Matrix, F: FloatArray | None) -> None:
        self.A: Matrix = sp.csr_array(A) if sp.issparse(A) else A
        self.A_T: Matrix = sp.csr_array(A.T) if sp.issparse(A) else A.T
        self.F = np.zeros((A.shape[0], 0)) if F is None else F
        self.dim = A.shape[1] + self.F.shape[1]

    def apply(self, c: FloatArray) -> FloatArray:
        cut = self.A.shape[1]
        return np.asarray(self.A @ c[:cut]) + self.F @ c[cut:]

    def adjoint(self, r: FloatArray) -> FloatArray:
        return np.concatenate([np.asarray(self.A_T @ r), self.F.T @ r])

    def gram(self, weights: FloatArray) -> FloatArray:
        """[A F]' diag(weights) [A F], for weights that are not negative."""
        inside, G = self.A.shape[1], np.empty((self.dim, self.dim))
        if sp.issparse(self.A_T):
            T = self.A_T
            weighted = sp.csr_array((T.data * weights[T.indices], T.indices, T.indptr), shape=T.shape)
            G[:inside, :inside] = (weighted @ self.A).toarray()
            cross = weighted @ self.F
        else:
            root = np.sqrt(weights)
            half = self.A_T * root
            G[:inside, :inside] = half @ half.T  # of one matrix with itself BLAS does half the work
            cross = half @ (root[:, None] * self.F)
        G[:inside, inside:], G[inside:, :inside] = cross, cross.T
        G[inside:, inside:] = self.F.T @ (weights[:, None] * self.F)
        return G

    def diagonal(self, weights: FloatArray) -> FloatArray:
        """The diagonal of `gram`, with empty columns given a little."""
        T = self.A_T
        squares = sp.csr_array((T.data**2, T.indices, T.indptr), shape=T.shape) if sp.issparse(T) else T * T
        d = np.concatenate([np.asarray(squares @ weights), (self.F * self.F).T @ weights])
        return np.maximum(d, 1e-12 * max(float(d.max(initial=0.0)), 1e-300))

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        w = np.ones(b.size) if weights is None else weights
        return self.gram(w), self.adjoint(w * b)

    def summed(self, V: FloatArray) -> FloatArray:
        return np.concatenate([_summed(V, self.A), _summed(V, self.F)], axis=1)


class Implicit(ReducedOperator):
    """Any operator and any face: one product each way, nothing formed."""

    def __init__(self, M: Operator, face: Face) -> None:
        self.M, self.face, self.dim = M, face, face.dim

    def apply(self, c: FloatArray) -> FloatArray:
        return self.face.image(self.M, c)

    def adjoint(self, r: FloatArray) -> FloatArray:
        return self.face.adjoint(self.M.adjoint(r))

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        w = 1.0 if weights is None else weights
        G = np.stack([self.adjoint(w * self.apply(e)) for e in np.eye(self.dim)]) if self.dim else np.zeros((0, 0))
        return 0.5 * (G + G.T), self.adjoint(w * b)

    def formed(self) -> ReducedOperator:
        return Columns(self.M.images(self.face))


class Scaled(ReducedOperator):
    """A multiple of another reduced operator."""

    def __init__(self, inner: ReducedOperator, scale: float) -> None:
        self.inner, self.scale, self.dim = inner, scale, inner.dim
        self.direct, self.costs = inner.direct, inner.costs

    def apply(self, c: FloatArray) -> FloatArray:
        return self.scale * self.inner.apply(c)

    def adjoint(self, r: FloatArray) -> FloatArray:
        return self.scale * self.inner.adjoint(r)

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        G, h = self.inner.normal_equations(b, weights)
        return self.scale**2 * G, self.scale * h

    def formed(self) -> ReducedOperator:
        return self.inner.formed().scaled(self.scale)


class Stacked(ReducedOperator):
    """The parts of a sum side by side: c -> sum_i R_i c_i."""

    def __init__(self, parts: Sequence[ReducedOperator]) -> None:
        self.parts = list(parts)
        self.dim = sum(p.dim for p in self.parts)
        self.cuts = np.cumsum([p.dim for p in self.parts])[:-1]
        if all(p.matrix is not None and not sp.issparse(p.matrix) for p in self.parts):
            self.matrix = np.concatenate([p.matrix for p in self.parts], axis=1)
            self.direct = True

    def apply(self, c: FloatArray) -> FloatArray:
        pieces = zip(self.parts, np.split(c, self.cuts), strict=True)
        first, *others = [p.apply(piece) for p, piece in pieces if p.dim] or [self.parts[0].apply(c)]
        return sum(others, start=first)

    def adjoint(self, r: FloatArray) -> FloatArray:
        return np.concatenate([p.adjoint(r) if p.dim else np.zeros(0) for p in self.parts])

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        w = 1.0 if weights is None else weights
        if self.matrix is not None:
            return Columns(self.matrix).normal_equations(b, weights)
        G = np.stack([self.adjoint(w * self.apply(e)) for e in np.eye(self.dim)]) if self.dim else np.zeros((0, 0))
        return 0.5 * (G + G.T), self.adjoint(w * b)

    def formed(self) -> ReducedOperator:
        return Columns(np.concatenate([np.asarray(_dense(p.formed().matrix)) for p in self.parts], axis=1))


def _dense(matrix: Matrix) -> Array:
    return matrix.toarray() if sp.issparse(matrix) else matrix


def _summed(V: FloatArray, matrix: Matrix) -> FloatArray:
    m, together = V.shape
    if sp.issparse(matrix):
        starts = np.arange(0, m * together + 1, together)
        E = sp.csr_array((V.ravel(), np.arange(m * together), starts), shape=(m, m * together))
        return np.asarray((E @ matrix).toarray())
    total = V[:, :1] * matrix[::together]
    for place in range(1, together):
        total += V[:, place : place + 1] * matrix[place::together]
    return np.asarray(total)


class Tallied(ReducedOperator):
    """Another reduced operator whose products are counted."""

    def __init__(self, inner: ReducedOperator, count: Callable[[int], None]) -> None:
        self.inner, self.count, self.dim = inner, count, inner.dim
        self.direct, self.matrix, self.costs = inner.direct, inner.matrix, inner.costs
        self.formed_by = inner.formed_by

    def apply(self, c: FloatArray) -> FloatArray:
        self.count(self.costs.apply)
        return self.inner.apply(c)

    def adjoint(self, r: FloatArray) -> FloatArray:
        self.count(self.costs.adjoint)
        return self.inner.adjoint(r)

    def normal_equations(self, b: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        self.count(self.costs.normal_equations)
        return self.inner.normal_equations(b, weights)
