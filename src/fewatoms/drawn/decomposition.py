"""Data as a sum of parts: matrices side by side, or frame by frame where columns are pictures; signals as curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.drawn.grids import Grid
from fewatoms.drawn.matrix import Entries

if TYPE_CHECKING:
    from fewatoms.points import Point
    from fewatoms.solution import Solution

FRAMES = 24  # that are looked at, evenly spread
PIXELS = 128  # along a side of a frame at most


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The data and each part of the answer, in one shape.

    titles : "data", where they are seen as they are, and what the parts are
    matrices : nan where nothing is known
    """

    titles: list[str]
    matrices: list[FloatArray]

    @classmethod
    def of(cls, solution: Solution) -> Decomposition:
        shape, proven = solution.compact[0].shape, solution.certificate
        titles = [_title(part, i, alone=len(solution.parts) == 1) for i, part in enumerate(solution.parts)]
        matrices: list[FloatArray] = [np.real(part.x).astype(np.float64) for part in solution.parts]
        data = None if not proven.attached else _seen(solution, shape)
        if data is not None:
            titles, matrices = ["data", *titles], [data, *matrices]
        return cls(titles, matrices)

    @property
    def grids(self) -> list[Grid]:
        """Matrices, of a size that can be seen; vectors are no matrices."""
        return [Grid.of(matrix) for matrix in self.matrices if matrix.ndim == 2]

    def frames(self, shape: tuple[int, int], most: int = FRAMES) -> list[tuple[int, list[FloatArray]]]:
        """Some columns as pictures of that shape, each with its number."""
        height, width = shape
        rows, count = self.matrices[0].shape
        if height * width != rows:
            raise ValueError(f"frame must be a height and a width whose product is {rows}; got {shape}")
        chosen = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()
        return [(i, [_small(m[:, i].reshape(height, width)) for m in self.matrices]) for i in chosen]


def _title(part: Point, i: int, *, alone: bool) -> str:
    what = "low rank" if part.compact[0].spans() is None else "few entries" if part.x.ndim == 2 else "few atoms"
    return f"{what} ({part.cardinality})" if alone else f"part {i}: {what} ({part.cardinality})"


def _seen(solution: Solution, shape: tuple[int, ...]) -> FloatArray | None:
    """The data in the shape of the model, nan where nothing is known; None where data are something else."""
    problem = solution.certificate.problem
    if len(shape) == 1:
        return problem.data.copy() if problem.data.size == shape[0] else None
    known = Entries.of(problem, shape)
    if known is None:
        return None
    data = np.full(shape, np.nan)
    data[known.rows, known.cols] = known.values
    return data


def _small(frame: Array) -> FloatArray:
    """In its own proportions."""
    shrunk = min(1.0, PIXELS / max(frame.shape))
    return Grid.of(frame, (max(1, round(shrunk * frame.shape[0])), max(1, round(shrunk * frame.shape[1])))).values
