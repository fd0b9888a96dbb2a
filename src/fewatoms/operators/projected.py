"""An operator seen past free columns: what they can explain is taken out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fewatoms import linalg
from fewatoms._types import Array, FloatArray, IntArray, Matrix
from fewatoms.capabilities import ColumnBlocks, FactorImages, Norms
from fewatoms.norms import block_lengths, dense
from fewatoms.operators.base import Operator
from fewatoms.operators.wrapper import SeenColumns, SeenImages, Wrapper
from fewatoms.rounding import Summed


class Projected(Wrapper):
    """P M, where P projects the data (in the inner product of the weights) onto what the columns of F leave over.

    min over v of |b - Mx - Fv| is |P (b - Mx)|: with least squares, unpenalised columns are gone from the problem.
    """

    def __init__(self, M: Operator, F: FloatArray, weights: FloatArray | None = None) -> None:
        super().__init__(M)
        self.weights = weights
        self.root = np.ones(1) if weights is None else np.sqrt(weights)
        whitened = F * self.root[:, None]
        lengths = np.linalg.norm(whitened, axis=0)
        self.basis = linalg.orthonormal(whitened / np.where(lengths > 0, lengths, 1.0))

    def summed(self) -> Summed | None:
        """Data are projected before: what that rounds is as long as they are, times what the weights differ by."""
        known, uneven = self.inner.summed(), float(self.root.max() / self.root.min())
        if known is None:
            return None
        factor, terms = 1.0 + 2.0 * uneven, known.terms + self.shape[0] + 2 * self.basis.shape[1] + 8
        return Summed(terms, factor * known.whole, None if known.each is None else factor * known.each)

    def projects_in(self, weights: FloatArray | None) -> bool:
        """Whether the projection is an orthogonal one in the norm of these weights."""
        if weights is None or self.weights is None:
            return weights is self.weights
        return np.array_equal(weights, self.weights)

    def _column(self, like: Array) -> FloatArray:
        """The roots of the weights, to be multiplied by a vector or by the columns of a block."""
        return self.root if like.ndim == 1 else self.root[:, None]

    def seen(self, images: Matrix) -> Matrix:
        block = images.toarray() if sp.issparse(images) else images
        root = self._column(block)
        return block - (self.basis @ (self.basis.T @ (root * block))) / root

    def unseen(self, y: Array) -> Array:
        root = self._column(y)
        return y - root * (self.basis @ (self.basis.T @ (y / root)))


@dataclass(frozen=True, eq=False)
class _Columns(SeenColumns):
    M: Projected

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        lengths, M = self.inner.column_lengths(weights), self.M
        if lengths is None or not M.projects_in(weights):
            return None if lengths is None else super().column_lengths(weights)
        units = np.where(lengths > 0, lengths, 1.0)[:, None]
        inside = M.inner.adjoint_block(M.root[:, None] * M.basis) / units
        left = lengths * np.sqrt(np.maximum(1.0 - np.einsum("ij,ij->i", inside, inside), 0.0))
        # what is left of columns with a large offset is all cancellation: those are measured after the projection
        near = np.flatnonzero(left < 1e-3 * lengths)
        for some in np.array_split(near, max(1, near.size // 256)):
            left[some] = block_lengths(dense(self.read(some)), weights)
        return np.where(left > 1e-12 * lengths, left, 0.0)  # less is rounding: F spans the column


@dataclass(frozen=True, eq=False)
class _Norms:
    """A projection shortens images; one in the inner product of weights does so in another norm."""

    M: Projected
    inner: Norms

    def column_norms(self) -> FloatArray | None:
        if not self.M.projects_in(None):
            return None
        at_hand = self.M.offers(ColumnBlocks)
        return self.inner.column_norms() if at_hand is None else at_hand.column_lengths()

    def block_norms(self, blocks: Sequence[IntArray]) -> FloatArray | None:
        return self.inner.block_norms(blocks) if self.M.projects_in(None) else None

    def rank_one_norm(self) -> float | None:
        return self.inner.rank_one_norm() if self.M.projects_in(None) else None

    def psd_norm(self) -> float | None:
        return self.inner.psd_norm() if self.M.projects_in(None) else None


Projected.lifts = {ColumnBlocks: _Columns, FactorImages: SeenImages, Norms: _Norms}
