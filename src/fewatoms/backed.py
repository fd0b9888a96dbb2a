"""Entries in front of a background: small regressions row by row in which all cells count, the others as zeros.

A row's regression on features f_j is over all columns j: sum over its entries of w (value - <x, f_j>)^2 + background
times the squares of <x, f_j> at all others + the ridge. Its normal equations are those of the background, the same for
every row, corrected at the entries. The loops are in `_backed.py`; their twins here say what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from fewatoms import kernels
from fewatoms._types import Array, FloatArray, Foreign
from fewatoms.sides import Regressed, Side

RANK = 1e-12  # of the largest eigenvalue of normal equations: others are rounding
SOLVED = 0.1  # share of a residual that conjugate gradients may leave: each sweep begins where the one before ended
PASSES = 50  # of coordinate descent, where factors must not be negative


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
        Never worse than `begin`, from where long loops improve; short ones are exact where nothing is bound."""
        V = np.ascontiguousarray(V)
        base = self.background * (V.T @ V) + lam * np.eye(V.shape[1])
        if not bound and not self.beyond.any():
            return self._alike(V, base)
        out, left = np.array(begin, order="C"), self.nothing.copy()
        if self.side.others.size < kernels.WORTHWHILE:
            self._plainly(V, base, out, left, bound)
        elif bound:
            self._bound(V, base, out, left)
        else:
            out = self._free(V, base, out, left)
        return Regressed(out, kernels.NONE, left)

    def _alike(self, V: Array, base: FloatArray) -> Regressed:
        """Where entries weigh as much as other cells, all rows have the same normal equations."""
        h = kernels.scattered(self.pull, V, self.side.starts, self.side.others)
        x = h @ np.linalg.pinv(base, rcond=RANK, hermitian=True)
        return Regressed(x, kernels.NONE, self.nothing - np.einsum("ia,ia->i", h, x))

    def _free(self, V: Array, base: FloatArray, begin: FloatArray, left: FloatArray) -> FloatArray:
        """In coordinates in which the background's normal equations are the identity: entries are a small correction,
        and conjugate gradients need few steps."""
        side, (forth, back) = self.side, _whitened(base)
        out = np.ascontiguousarray(begin @ back)
        head = (self.beyond, self.pull, np.ascontiguousarray(V @ forth), side.starts, side.others, SOLVED)
        kernels.run("solves", _loops().solves, side.starts, 6.0 * V.shape[1], head, (out, left))
        return out @ forth.T

    def _bound(self, V: Array, base: FloatArray, out: FloatArray, left: FloatArray) -> None:
        side = self.side
        head = (self.beyond, self.pull, V, base, side.starts, side.others, PASSES)
        work = 0.5 * (V.shape[1] + 1) ** 2
        kernels.run("improvements", _loops().improvements, side.starts, work, head, (out, left))

    def _plainly(self, V: Array, base: FloatArray, out: FloatArray, left: FloatArray, bound: bool) -> None:
        side = self.side
        h = kernels.scattered(self.pull, V, side.starts, side.others)
        G = base + kernels.row_grams(self.beyond, V, side.starts, side.others, 0, len(out))
        if bound:
            _descend(G, h, out)
        else:
            out[:] = np.einsum("iab,ib->ia", np.linalg.pinv(G, rcond=RANK, hermitian=True), h)
        left += np.einsum("ia,ia->i", out, np.einsum("iab,ib->ia", G, out) - 2.0 * h)


def _whitened(base: FloatArray) -> tuple[FloatArray, FloatArray]:
    """T and S with T' base T = 1 and, where base is definite, T S' = 1: coordinates y = S'x, x = T y."""
    values, vectors = np.linalg.eigh(base)
    there = values > RANK * values.max(initial=0.0)
    roots = np.sqrt(np.where(there, values, 0.0))
    return vectors * np.divide(1.0, roots, out=np.zeros_like(roots), where=there), vectors * roots


def _descend(G: FloatArray, h: FloatArray, x: FloatArray) -> None:
    """Coordinate descent over x >= 0, all rows together."""
    for _ in range(PASSES):
        before = x.copy()
        for a in range(x.shape[1]):
            d = G[:, a, a]
            step = (h[:, a] - np.einsum("ib,ib->i", G[:, a], x)) / np.where(d > 0, d, 1.0)
            x[:, a] = np.where(d > 0, np.maximum(x[:, a] + step, 0.0), 0.0)
        if np.abs(x - before).max(initial=0.0) <= 1e-9 * np.abs(x).max(initial=0.0):
            break
