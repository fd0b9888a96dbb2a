"""Nonnegative factors of a matrix that is known by factors with signs: a start that costs no pass over the entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array, FloatArray
from fewatoms.methods.lowrank.entries import Triple, normalised, without_signs


@dataclass(frozen=True)
class Unsigned:
    """minimise |X - A B^T| over nonnegative A and B, for X = P diag(s) Q^T, by hierarchical alternating least squares
    (Cichocki and Phan, 2009): a pass costs (p + q) r^2 multiplications, whatever X was fitted to.

    passes : at most
    tol : a pass that lowers the square by less than this share is the last
    """

    passes: int = 500
    tol: float = 1e-5

    def start(self, at: Triple) -> Triple:
        """Nonnegative factors, as many; the biases stay."""
        if not at.rank:
            return without_signs(at)
        U, V = (np.ascontiguousarray(half.T) for half in at.halves())
        A, B = (np.ascontiguousarray(half.T) for half in without_signs(at).halves())
        reached, total = np.inf, float(np.sum(at.s**2))
        for _ in range(self.passes):
            _pass(A, B, (B @ V.T) @ U)
            H = (A @ U.T) @ V
            _pass(B, A, H)
            ledger.tick()
            value = total - 2.0 * float(np.sum(H * B)) + float(np.sum((A @ A.T) * (B @ B.T)))
            if not reached - value > self.tol * abs(value):
                break
            reached = value
        return Triple(*normalised(A.T, B.T), at.row, at.col, signed=False)


def _pass(A: Array, B: Array, H: FloatArray) -> None:
    """Each row of A, a column of the factor, in turn, in place."""
    G = B @ B.T
    for a in np.flatnonzero(np.diag(G) > 0):
        np.maximum(A[a] + (H[a] - G[a] @ A) / G[a, a], 0.0, out=A[a])


__all__ = ["Unsigned"]
