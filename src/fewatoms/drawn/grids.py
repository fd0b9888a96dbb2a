"""Matrices as pictures: of a sensible size, with cells that nobody knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray

CELLS = 160  # along a side at most


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of a matrix, each the mean of the entries that are known there.

    values : nan where none is known
    shape : of the matrix
    step : how many rows and columns a cell stands for
    """

    values: FloatArray
    shape: tuple[int, int]
    step: tuple[int, int]

    @classmethod
    def of(cls, matrix: Array, cells: int = CELLS) -> Grid:
        """A matrix at hand; nan are missing entries."""
        rows, cols = np.nonzero(~np.isnan(matrix))
        return cls.sampled(rows, cols, np.asarray(matrix[rows, cols], dtype=np.float64), matrix.shape, cells)

    @classmethod
    def sampled(
        cls, rows: IntArray, cols: IntArray, values: FloatArray, shape: tuple[int, ...], cells: int = CELLS
    ) -> Grid:
        """Of entries, without the matrix."""
        p, q = shape
        down, across = -(-p // cells), -(-q // cells)
        size = -(-p // down), -(-q // across)
        place = (rows // down) * size[1] + cols // across
        count = np.bincount(place, minlength=size[0] * size[1])
        total = np.bincount(place, weights=values, minlength=size[0] * size[1])
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return cls(mean.reshape(size), (p, q), (down, across))

    @classmethod
    def of_factors(cls, left: Array, right: Array, cells: int = CELLS) -> Grid:
        """Of left @ right.T, which is not formed: means of rows and of columns of the factors."""
        (a, down), (b, across) = _means(left, cells), _means(right, cells)
        return cls(a @ b.T, (len(left), len(right)), (down, across))

    @property
    def missing(self) -> bool:
        return bool(np.isnan(self.values).any())


def _means(factor: Array, cells: int) -> tuple[FloatArray, int]:
    """Of so many rows that follow each other, and how many."""
    step = -(-len(factor) // cells)
    starts = np.arange(0, len(factor), step)
    sums = np.add.reduceat(factor, starts, axis=0)
    return sums / np.diff(np.append(starts, len(factor)))[:, None], step


def scale(*grids: Grid | FloatArray) -> tuple[float, float]:
    """The ends of a scale that serves all of them: around 0 where there are both signs; extremes of a hundredth of the
    cells on either side are left out, since one outlier would hide all others."""
    values = [np.ravel(grid.values if isinstance(grid, Grid) else grid) for grid in grids]
    known = np.concatenate([v[np.isfinite(v)] for v in values])
    if not known.size:
        return 0.0, 1.0
    low, high = (float(v) for v in np.quantile(known, [0.01, 0.99]))
    if low < 0 < high:
        low, high = -max(-low, high), max(-low, high)
    return (low, high) if high > low else (low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0))
