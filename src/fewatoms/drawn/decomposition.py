"""Data as a sum of parts: matrices side by side, or frame by frame where columns are pictures; signals as curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.drawn.grids import Grid, scale, span
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
    few : which of them have few entries, that stand out by their sign; the others are pictures like the data
    """

    titles: list[str]
    matrices: list[FloatArray]
    few: list[bool]

    @classmethod
    def of(cls, solution: Solution) -> Decomposition:
        shape, proven = solution.compact[0].shape, solution.certificate
        titles = titles_of(solution)
        matrices: list[FloatArray] = [np.real(part.x).astype(np.float64) for part in solution.parts]
        few = [_few_entries(part) for part in solution.parts]
        data = None if not proven.attached else _seen(solution, shape)
        if data is not None:
            titles, matrices, few = ["data", *titles], [data, *matrices], [False, *few]
        return cls(titles, matrices, few)

    @property
    def grids(self) -> list[Grid]:
        """Matrices, of a size that can be seen; vectors are no matrices."""
        return [Grid.of(matrix) for matrix in self.matrices if matrix.ndim == 2]

    def scales(self) -> list[tuple[float, float]]:
        """Ends of a scale for the cells of each matrix: one for all that are like the data, so that they can be
        compared."""
        return self._ends([grid.values for grid in self.grids], scale)

    def shades(self, shown: list[list[FloatArray]]) -> list[tuple[float, float]]:
        """The same for frames, a list of them for each matrix: from dark to light, whatever the signs."""
        return self._ends([np.concatenate([np.ravel(one) for one in frames]) for frames in shown], span)

    def _ends(self, values: list[FloatArray], way: Callable[..., tuple[float, float]]) -> list[tuple[float, float]]:
        alike = [v for v, few in zip(values, self.few, strict=True) if not few]
        common = way(*alike[:1]) if alike else (0.0, 1.0)  # that of the data, where they are there
        return [_around(v) if few else common for v, few in zip(values, self.few, strict=True)]

    def frames(self, shape: tuple[int, int], most: int = FRAMES) -> list[tuple[int, list[FloatArray]]]:
        """Some columns as pictures of that shape, each with its number."""
        height, width = shape
        rows, count = self.matrices[0].shape
        if height * width != rows:
            raise ValueError(f"frame must be a height and a width whose product is {rows}; got {shape}")
        chosen = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()
        return [(i, [_small(m[:, i].reshape(height, width)) for m in self.matrices]) for i in chosen]


def _few_entries(part: Point) -> bool:
    return part.compact[0].spans() is not None and part.x.ndim == 2


def _around(values: FloatArray) -> tuple[float, float]:
    """Even around 0, for the entries that are there."""
    there = np.abs(values[np.isfinite(values) & (values != 0)])
    most = float(np.quantile(there, 0.99)) if there.size else 1.0
    return -most, most


def kind_of(part: Point) -> str:
    """What a part of an answer is, in two words, and of how many atoms."""
    return f"{_what(part)} ({part.cardinality})"


def _what(part: Point) -> str:
    if part.compact[0].spans() is None:
        return "low rank in blocks" if part.indices.ndim == 2 else "low rank"
    return "few entries" if _few_entries(part) else "few atoms"


def titles_of(solution: Solution) -> list[str]:
    """What each part is, with its number where others are of the same kind."""
    kinds = [kind_of(part).split(" (", maxsplit=1)[0] for part in solution.parts]
    return [
        kind_of(part) if kinds.count(kind) == 1 else f"part {i}: {kind_of(part)}"
        for i, (kind, part) in enumerate(zip(kinds, solution.parts, strict=True))
    ]


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
