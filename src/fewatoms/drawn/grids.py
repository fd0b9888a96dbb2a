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
    """

    values: FloatArray
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: Array, cells: int | tuple[int, int] = CELLS) -> Grid:
        """A matrix at hand; nan are missing entries."""
        rows, cols = np.nonzero(~np.isnan(matrix))
        return cls.sampled(rows, cols, np.asarray(matrix[rows, cols], dtype=np.float64), matrix.shape, cells)

    @classmethod
    def sampled(
        cls,
        rows: IntArray,
        cols: IntArray,
        values: FloatArray,
        shape: tuple[int, ...],
        cells: int | tuple[int, int] = CELLS,
    ) -> Grid:
        """Of entries, without the matrix; so many cells along each side at most, or along both."""
        p, q = shape
        size = (min(p, cells), min(q, cells)) if isinstance(cells, int) else cells
        place = (rows * size[0] // p) * size[1] + cols * size[1] // q
        count = np.bincount(place, minlength=size[0] * size[1])
        total = np.bincount(place, weights=values, minlength=size[0] * size[1])
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        return cls(mean.reshape(size), (p, q))

    @classmethod
    def of_factors(cls, left: Array, right: Array, cells: int = CELLS) -> Grid:
        """Of left @ right.T, which is not formed: means of rows and of columns of the factors."""
        return cls(_means(left, cells) @ _means(right, cells).T, (len(left), len(right)))

    @property
    def step(self) -> tuple[int, int]:
        """How many rows and columns a cell stands for at most."""
        (p, q), (down, across) = self.shape, self.values.shape
        return -(-p // down), -(-q // across)

    @property
    def missing(self) -> bool:
        return bool(np.isnan(self.values).any())

    def beyond(self, ends: tuple[float, float]) -> tuple[bool, bool]:
        """Whether cells lie below the low end of a scale, and above the high one: they have the colour of that end."""
        return bool((self.values < ends[0]).any()), bool((self.values > ends[1]).any())


def _means(factor: Array, cells: int) -> FloatArray:
    """Of rows that share a cell."""
    count = min(len(factor), cells)
    starts = -(-np.arange(count) * len(factor) // count)  # row i is in cell i * count // rows
    sums = np.add.reduceat(factor, starts, axis=0)
    return np.asarray(sums / np.diff(np.append(starts, len(factor)))[:, None])


def span(*grids: Grid | FloatArray) -> tuple[float, float]:
    """The ends of a scale that serves all of them; extremes of a hundredth of the cells on either side are left out,
    since one outlier would hide all others."""
    values = [np.ravel(grid.values if isinstance(grid, Grid) else grid) for grid in grids]
    known = np.concatenate([v[np.isfinite(v)] for v in values])
    if not known.size:
        return 0.0, 1.0
    low, high = (float(v) for v in np.quantile(known, [0.01, 0.99]))
    return (low, high) if high > low else (low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0))


def scale(*grids: Grid | FloatArray) -> tuple[float, float]:
    """The same, even around 0 where there are both signs: for colours that tell signs."""
    low, high = span(*grids)
    return (-max(-low, high), max(-low, high)) if low < 0 < high else (low, high)
