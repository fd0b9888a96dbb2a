"""Entries in front of a background: small regressions row by row in which all cells count, the others as zeros.

A row's regression on features f_j is over all columns j: sum over its entries of w (value - <x, f_j>)^2 + background
times the squares of <x, f_j> at all others + the ridge. Its normal equations are those of the background, the same for
every row, corrected at the entries. The loops are in `_backed.py`; their twins here say what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import scipy.sparse as sp

from fewatoms import kernels
from fewatoms._types import Array, FloatArray, Foreign, IntArray
from fewatoms.sides import Regressed, Side

ROUNDED_EIGENVALUE = 1e-12  # of the largest eigenvalue of normal equations: others are rounding
LEFT_BY_LOOPS = (
    0.1  # share of a residual that conjugate gradients may leave: each sweep begins where the one before ended
)
USUAL_WIDTH = 8  # factors, for which loops are worth compiling as anywhere else; with more of them earlier
LEFT_ELSEWHERE = 1e-3  # the same for what is small, where sweeps cost little


@cache
def _loops() -> Foreign:
    from fewatoms import _backed

    return _backed


@dataclass(frozen=True, eq=False)
class Backed:
    """Entries row by row (or column by column), and the weight of all other cells, which are zeros."""

    side: Side
    background: float

    @cached_property
    def pull(self) -> FloatArray:
        """Weight times value, of each entry."""
        side = self.side
        return side.weights * side.values if side.weights.size else side.values

    @cached_property
    def beyond(self) -> FloatArray:
        """Weight less the background, of each entry."""
        weights = self.side.weights
        return (weights if weights.size else np.ones(self.side.values.size)) - self.background

    @cached_property
    def nothing(self) -> FloatArray:
        """Per row, twice the loss of x = 0."""
        side = self.side
        ones = np.ones((side.others.max(initial=0) + 1, 1))
        return kernels.scattered(self.pull * side.values, ones, side.starts, side.others).ravel()

    def regress(self, V: Array, lam: float, begin: Array, *, bound: bool) -> Regressed:
        """Per row the u that minimises twice its loss + lam |u|^2, and the minimum: over u >= 0 where `bound` says so.
        Never worse than `begin`, from where it improves."""
        V = np.ascontiguousarray(V)
        base = self.background * (V.T @ V) + lam * np.eye(V.shape[1])
        if not bound and not self.beyond.any():
            return self._alike(V, base)
        out, left = np.array(begin, order="C"), self.nothing.copy()
        if bound:
            self._bound(V, base, out, left)
        else:
            out = self._free(V, base, out, left)
        return Regressed(out, kernels.NONE, left)

    def _compiled(self, width: int) -> bool:
        """Whether there is enough to do that compiled loops repay the import of numba."""
        return self.side.others.size * max(width, USUAL_WIDTH) >= kernels.WORTHWHILE * USUAL_WIDTH

    def _alike(self, V: Array, base: FloatArray) -> Regressed:
        """Where entries weigh as much as other cells, all rows have the same normal equations."""
        h = kernels.scattered(self.pull, V, self.side.starts, self.side.others)
        x = h @ np.linalg.pinv(base, rcond=ROUNDED_EIGENVALUE, hermitian=True)
        return Regressed(x, kernels.NONE, self.nothing - np.einsum("ia,ia->i", h, x))

    def _free(self, V: Array, base: FloatArray, begin: FloatArray, left: FloatArray) -> FloatArray:
        """In coordinates in which the background's normal equations are the identity: entries are a small correction,
        and conjugate gradients need few steps."""
        side, (forth, back) = self.side, _whitened(base)
        Y, out = np.ascontiguousarray(V @ forth), np.ascontiguousarray(begin @ back)
        if self._compiled(V.shape[1]):
            head = (self.beyond, self.pull, Y, side.starts, side.others, LEFT_BY_LOOPS)
            kernels.run("solves", _loops().solves, side.starts, 6.0 * V.shape[1], head, (out, left))
        else:
            self._solved(Y, out, left)
        return out @ forth.T

    def _solved(self, Y: Array, x: FloatArray, left: FloatArray) -> None:
        """Conjugate gradients, all rows together: the twin of the loop `solves`."""
        side = self.side
        rows, there = np.repeat(np.arange(len(x)), np.diff(side.starts)), Y[side.others]
        grid = sp.csr_array((self.pull, side.others, side.starts), shape=(len(x), len(Y)))

        def summed(values: FloatArray) -> FloatArray:
            grid.data = values
            return np.asarray(grid @ Y)

        def pressed(P: FloatArray) -> FloatArray:
            return P + summed(self.beyond * np.einsum("ij,ij->i", there, P[rows]))

        h = summed(self.pull)
        g = h - pressed(x)
        left -= np.einsum("ia,ia->i", x, h + g)
        p, square = g.copy(), np.einsum("ia,ia->i", g, g)
        enough = LEFT_ELSEWHERE**2 * square
        for _ in range(2 * Y.shape[1]):
            if not (square > enough).any():
                break
            Gp = pressed(p)
            bend = np.einsum("ia,ia->i", p, Gp)
            step = np.divide(square, bend, out=np.zeros_like(bend), where=(bend > 0) & (square > enough))
            x += step[:, None] * p
            g -= step[:, None] * Gp
            left -= step * square
            before, square = square, np.where(step > 0, np.einsum("ia,ia->i", g, g), square)
            p = g + np.divide(square, before, out=np.zeros_like(before), where=before > 0)[:, None] * p
            enough = np.where(step > 0, enough, np.inf)  # those stay as they are

    def _bound(self, V: Array, base: FloatArray, out: FloatArray, left: FloatArray) -> None:
        side, width = self.side, V.shape[1]
        if self._compiled(width):
            head = (self.beyond, self.pull, V, base, side.starts, side.others, kernels.DESCENT_PASSES)
            kernels.run("improvements", _loops().improvements, side.starts, 0.5 * (width + 1) ** 2, head, (out, left))
            return
        out[np.diff(side.starts) == 0] = 0.0  # nothing draws them away from zero
        for rows, G, h in self._systems(V, base):
            x = kernels.descended(G, h, out[rows], np.full(width, True))
            out[rows] = x
            left[rows] += np.einsum("ia,ia->i", x, np.einsum("iab,ib->ia", G, x) - 2.0 * h)

    def _systems(self, V: Array, base: FloatArray) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
        """G and h of the rows that have entries, some at a time."""
        side, width = self.side, V.shape[1]
        h = kernels.scattered(self.pull, V, side.starts, side.others)
        step = max(1, kernels.GATHER // max(1, width**2))
        for first in range(0, len(h), step):
            last = min(len(h), first + step)
            some = first + np.flatnonzero(np.diff(side.starts[first : last + 1]))
            if some.size:
                grams = kernels.row_grams(self.beyond, V, side.starts, side.others, first, last)
                yield some, base + grams[some - first], h[some]


def _whitened(base: FloatArray) -> tuple[FloatArray, FloatArray]:
    """T and S with T' base T = 1 and, where base is definite, T S' = 1: coordinates y = S'x, x = T y."""
    values, vectors = np.linalg.eigh(base)
    there = values > ROUNDED_EIGENVALUE * values.max(initial=0.0)
    roots = np.sqrt(np.where(there, values, 0.0))
    return vectors * np.divide(1.0, roots, out=np.zeros_like(roots), where=there), vectors * roots
