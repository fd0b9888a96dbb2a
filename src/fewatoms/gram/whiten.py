"""Blocks of columns in coordinates in which each block is orthonormal, ridge included.

Twice the objective over coefficients x of unit columns is

    |b - Mx|^2 + ridge |x|^2  =  |b|^2 - 2 h'x + x'Kx,   h = M'b,   K = M'M + ridge I.

With x_g = T_g u_g on each block it has the same form in u, with T'h and T'KT. The ridge stands in the blocks on the
diagonal alone, and these become unit matrices if T_g'K_gg T_g = I. So losses and exchanges are those of the ridge on
unit columns, whatever bases are taken; x = Tu gives the coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewatoms._types import FloatArray, IntArray
from fewatoms.gram.state import PIVOT


@dataclass(frozen=True, eq=False)
class Whitened:
    """Inner products G and moments h of orthonormal blocks, block g in starts[g] to starts[g + 1], and the way back."""

    G: FloatArray
    h: FloatArray
    starts: IntArray
    bases: list[FloatArray]

    def back(self, blocks: IntArray, c: FloatArray) -> FloatArray:
        """Coefficients of the unit columns of these blocks, one block after the other, from those of the engine."""
        ends = np.cumsum([self.bases[g].shape[1] for g in blocks], dtype=np.int64)
        parts = [self.bases[g] @ u for g, u in zip(blocks, np.split(c, ends[:-1]), strict=True)] if len(ends) else []
        return np.concatenate([np.zeros(0), *parts])


def whiten(gram: FloatArray, moments: FloatArray, starts: IntArray, ridge: float) -> Whitened:
    """Blocks in coordinates of their own.

    `gram` holds the inner products of unit columns (without the ridge), `moments` those with the data; block g has the
    columns starts[g] to starts[g + 1].

    Directions within a block of which a Gram matrix sees nothing are let go; a block may have none left.
    """
    bases = _bases(gram, starts, ridge)
    ends = np.concatenate([[0], np.cumsum([T.shape[1] for T in bases], dtype=np.int64)])
    half, h = np.empty((ends[-1], moments.size)), np.empty(ends[-1])
    G = np.empty((ends[-1], ends[-1]))
    for T, start, stop, first, last in zip(bases, starts[:-1], starts[1:], ends[:-1], ends[1:], strict=True):
        np.matmul(T.T, gram[start:stop], out=half[first:last])
        np.matmul(T.T, moments[start:stop], out=h[first:last])
    for T, start, stop, first, last in zip(bases, starts[:-1], starts[1:], ends[:-1], ends[1:], strict=True):
        np.matmul(T.T, half[:, start:stop].T, out=G[first:last])
        G[first:last, first:last] = np.eye(last - first)  # with the ridge, and beyond rounding
    return Whitened(G, h, ends, bases)


def _bases(gram: FloatArray, starts: IntArray, ridge: float) -> list[FloatArray]:
    """T_g for each block: eigenvectors of its inner products, in units of their lengths."""
    lengths = np.diff(starts)
    out: list[FloatArray] = [np.zeros((0, 0))] * lengths.size
    for length in np.unique(lengths[lengths > 0]):
        labels = np.flatnonzero(lengths == length)
        columns = starts[labels, None] + np.arange(length)
        E = gram[columns[:, :, None], columns[:, None, :]]
        values, V = np.linalg.eigh(E)
        values += ridge
        good = values > PIVOT
        V /= np.sqrt(np.maximum(values, PIVOT))[:, None, :]
        for g, T, kept in zip(labels, V, good, strict=True):
            out[g] = T if kept.all() else T[:, kept]
    return out
