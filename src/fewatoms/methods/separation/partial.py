"""The few leading singular triplets of a dense matrix, near those of the last one, and a bound of the largest."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from fewatoms import ledger
from fewatoms._types import Array, FloatArray
from fewatoms.methods.separation.matrix import gram

Triplets = tuple[Array, FloatArray, Array]  # X V = U diag(s), largest first


class Leading:
    """A subspace that follows a matrix which changes a little from one look to the next.

    A pass is two products with a block of vectors; what it finds is from below. `most` vectors at most.
    """

    def __init__(self, columns: int, most: int, few: int = 10) -> None:
        self.most, self._few = min(most, columns), few
        self.V = self._random(columns, min(few, self.most))

    def _random(self, rows: int, columns: int) -> Array:
        return ledger.generator().standard_normal((rows, columns))

    def of(self, X: Array, above: float, passes: int) -> Triplets:
        """All triplets with values above a number, and some more, or as many as are allowed."""
        while True:
            U, s, V = self._passed(X, passes)
            size = s.size
            found = int(np.count_nonzero(s > above))
            if found < size or size == self.most:
                break
            more = min(max(self._few, size // 2), self.most - size)
            self.V = np.concatenate([V, self._random(len(V), more).astype(V.dtype)], axis=1)
        keep = min(self.most, found + max(self._few, found // 5))
        self.V = V[:, :keep]
        return U, s, V

    def _passed(self, X: Array, passes: int) -> Triplets:
        V = self.V.astype(X.dtype, copy=False)
        for _ in range(passes):
            ledger.tick()
            Q = np.linalg.qr(X @ V)[0]
            V, T = np.linalg.qr(X.T @ Q)
        u, s, vh = np.linalg.svd(T.T.astype(np.float64))
        return Q @ u.astype(X.dtype), s, V @ vh.T.astype(X.dtype)


def leading_right(X: Array, count: int, full: int = 1000, passes: int = 8) -> Array:
    """The right singular vectors of the largest values, the largest first; of long sides, nearly."""
    if X.shape[1] <= full:
        return np.linalg.eigh(gram(X))[1][:, ::-1][:, :count]
    near = Leading(X.shape[1], count + 10, count + 10)
    return near.of(X, math.inf, passes)[2][:, :count]


def at_most(X: Array, guess: float, wider: tuple[float, ...] = (3e-4, 2e-3, 1e-2, 0.1, 1.0)) -> float:
    """A number that no singular value of X exceeds, near a guess from below.

    t^2 - X^T X has a Cholesky factorisation only if it is positive definite, up to rounding: at most eps (p + 2 q)
    |X|^2 for the products and the factorisation together, which t^2 is lowered by. Where all tries fail, |X| itself.
    """
    G, size = gram(X), float(np.linalg.norm(X))
    p, q = X.shape
    slack = np.finfo(np.float64).eps * (p + 2 * q) * size**2
    np.negative(G, out=G)
    diagonal = np.diag(G).copy()
    for more in wider:
        t = guess * (1 + more)
        np.fill_diagonal(G, diagonal + (t * t - slack))
        if t < size and scipy.linalg.lapack.dpotrf(G, lower=1, clean=0)[1] == 0:
            return t
    return size * (1 + 1e-12)
