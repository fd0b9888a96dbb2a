"""An operator seen past free columns: what they can explain is taken out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fewatoms import linalg
from fewatoms._types import Array, FloatArray, IntArray, Matrix
from fewatoms.capabilities import ColumnBlocks, Norms
from fewatoms.operators.base import Operator
from fewatoms.operators.wrapper import Wrapper


class Projected(Wrapper):
    """P M, where P projects the data (in the inner product of the weights) onto what the columns of F leave over.

    min over v of |b - Mx - Fv| is |P (b - Mx)|: with least squares, unpenalised columns are gone from the problem.
    """

    def __init__(self, M: Operator, F: FloatArray, weights: FloatArray | None = None) -> None:
        super().__init__(M)
        self.weighted = weights is not None
        self.root = np.ones(1) if weights is None else np.sqrt(weights)
        whitened = F * self.root[:, None]
        lengths = np.linalg.norm(whitened, axis=0)
        self.basis = linalg.orthonormal(whitened / np.where(lengths > 0, lengths, 1.0))

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
class _Columns:
    M: Projected
    inner: ColumnBlocks

    @property
    def image_size(self) -> float:
        return self.M.shape[0]  # no longer sparse

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        lengths = self.inner.column_lengths(weights)
        if lengths is None:
            return None
        M = self.M
        inside = M.inner.adjoint_block(M.root[:, None] * M.basis)
        left = np.maximum(lengths**2 - np.einsum("ij,ij->i", inside, inside), 0.0)
        # what is left of columns with a large offset is all cancellation: those are measured after the projection
        near = np.flatnonzero(left < 1e-6 * lengths**2)
        w = np.ones(1) if weights is None else weights
        for some in np.array_split(near, max(1, near.size // 256)):
            block = self.read(some)
            left[some] = np.einsum("ij,ij->j", block, block * w[:, None])
        return np.sqrt(np.where(left > 1e-24 * lengths**2, left, 0.0))  # less is rounding: F spans the column

    def read(self, indices: IntArray) -> Matrix:
        return self.M.seen(self.inner.read(indices))

    def times(self, X: Array) -> Array:
        return self.M.seen(self.inner.times(X))


@dataclass(frozen=True, eq=False)
class _Norms:
    """A projection shortens images; one in the inner product of weights does so in another norm."""

    M: Projected
    inner: Norms

    def column_norms(self) -> FloatArray | None:
        at_hand = None if self.M.weighted else self.M.offers(ColumnBlocks)
        return None if at_hand is None else at_hand.column_lengths()

    def block_norms(self, blocks: Sequence[IntArray]) -> FloatArray | None:
        return None if self.M.weighted else self.inner.block_norms(blocks)

    def rank_one_norm(self) -> float | None:
        return None if self.M.weighted else self.inner.rank_one_norm()

    def psd_norm(self) -> float | None:
        return None if self.M.weighted else self.inner.psd_norm()


Projected.lifts = {ColumnBlocks: _Columns, Norms: _Norms}
