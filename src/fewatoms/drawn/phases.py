"""The vectors behind quadratic measurements: magnitudes and phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import Array, FloatArray

if TYPE_CHECKING:
    from fewatoms.solution import Solution


@dataclass(frozen=True, eq=False)
class Phases:
    """Columns of a factor L of the answer L L^H, each turned so that its largest entry is real and positive: data tell
    them up to such a turn.

    vectors : one in a column
    values : eigenvalues
    """

    vectors: Array
    values: FloatArray

    @classmethod
    def of(cls, solution: Solution) -> Phases:
        left = np.asarray(solution.left)
        largest = np.take_along_axis(left, np.abs(left).argmax(axis=0)[None], axis=0)
        turned = left * (np.abs(largest) / np.where(largest == 0, 1.0, largest))
        return cls(turned, np.asarray(solution.coefficients, dtype=np.float64))

    @property
    def complex(self) -> bool:
        return self.vectors.dtype.kind == "c"
