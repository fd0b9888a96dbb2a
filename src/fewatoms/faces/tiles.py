"""A matrix cut into blocks: where they lie, and what of a matrix or of its entries lies in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fewatoms import linalg
from fewatoms._types import FloatArray, IntArray, Matrix, ModelDual

WRITTEN = 1 << 22  # numbers that blocks of a sparse matrix may be written out in, together


@dataclass(frozen=True)
class Tiles:
    """Blocks of `sides` entries of a matrix of `shape`, numbered row by row; those at the far edges may be smaller."""

    shape: tuple[int, int]
    sides: tuple[int, int]

    @property
    def grid(self) -> tuple[int, int]:
        """How many blocks there are, down and across."""
        (p, q), (s, t) = self.shape, self.sides
        return -(-p // s), -(-q // t)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.grid[0] * self.grid[1]

    def places(self, blocks: IntArray) -> IntArray:
        """(row, column) of blocks in the grid."""
        return np.stack(np.divmod(blocks, self.grid[1]), axis=1).astype(np.intp)

    def window(self, block: int) -> tuple[slice, slice]:
        """The rows and columns of a block."""
        i, j = divmod(int(block), self.grid[1])
        (p, q), (s, t) = self.shape, self.sides
        return slice(i * s, min(p, i * s + s)), slice(j * t, min(q, j * t + t))

    def size(self, block: int) -> tuple[int, int]:
        """How many rows and columns a block has."""
        down, across = self.window(block)
        return down.stop - down.start, across.stop - across.start

    def holding(self, rows: IntArray, cols: IntArray) -> IntArray:
        """The blocks that entries lie in."""
        return (rows // self.sides[0]) * self.grid[1] + cols // self.sides[1]

    def sorted_into(
        self, blocks: IntArray, rows: IntArray, cols: IntArray
    ) -> list[tuple[IntArray, IntArray, IntArray]]:
        """For each of these blocks, which of the entries lie in it, and their rows and columns there."""
        held = self.holding(rows, cols)
        order = np.argsort(held, kind="stable")
        inside = held[order]
        cuts = np.searchsorted(inside, blocks, "left"), np.searchsorted(inside, blocks, "right")
        found = (order[a:b] for a, b in zip(*cuts, strict=True))
        return [(which, rows[which] % self.sides[0], cols[which] % self.sides[1]) for which in found]

    def read(self, z: ModelDual, blocks: IntArray) -> list[Matrix]:
        """These blocks of a matrix, in order: arrays, or sparse ones where that is what z is and they are large."""
        if not sp.issparse(z):
            whole = linalg.written(z).reshape(self.shape)
            return [whole[self.window(block)] for block in blocks]
        if len(blocks) * self.sides[0] * self.sides[1] > WRITTEN:
            rows = sp.csr_array(z)
            return [rows[self.window(block)] for block in blocks]
        return self._written(sp.coo_array(z), blocks)

    def _written(self, z: sp.coo_array, blocks: IntArray) -> list[Matrix]:
        rows, cols = (np.asarray(i, dtype=np.intp) for i in z.coords)
        out: list[Matrix] = []
        for block, (which, i, j) in zip(blocks, self.sorted_into(blocks, rows, cols), strict=True):
            array = np.zeros(self.size(block))
            np.add.at(array, (i, j), z.data[which])
            out.append(array)
        return out

    def lengths(self, z: ModelDual) -> FloatArray:
        """The lengths of all blocks, by their numbers: no singular value of a block is larger."""
        if sp.issparse(z):
            entries = sp.coo_array(z)
            entries.sum_duplicates()
            held = self.holding(*(np.asarray(i, dtype=np.intp) for i in entries.coords))
            return np.sqrt(np.bincount(held, weights=entries.data**2, minlength=self.count))
        (p, q), (s, t) = self.shape, self.sides
        squares = linalg.written(z).reshape(p, q) ** 2
        down = np.add.reduceat(squares, np.arange(0, p, s), axis=0)
        return np.sqrt(np.add.reduceat(down, np.arange(0, q, t), axis=1)).ravel()


__all__ = ["Tiles"]
