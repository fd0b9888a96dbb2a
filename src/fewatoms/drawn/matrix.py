"""A low-rank matrix: singular values, what was known, what is filled in, where it fits worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import FloatArray, IntArray
from fewatoms.capabilities import SampledEntries, SeenAsIs
from fewatoms.drawn.grids import Grid

if TYPE_CHECKING:
    from fewatoms.lowrank import LowRank
    from fewatoms.problem import Problem
    from fewatoms.solution import Solution

WORST = 20  # residuals that are listed


@dataclass(frozen=True, eq=False)
class Entries:
    """Entries of a matrix that are data."""

    rows: IntArray
    cols: IntArray
    values: FloatArray

    @classmethod
    def of(cls, problem: Problem, shape: tuple[int, ...]) -> Entries | None:
        """Where data are entries of a matrix; None elsewhere."""
        sampled, seen = problem.measured.offers(SampledEntries), problem.measured.offers(SeenAsIs)
        if sampled is not None:
            return cls(*sampled.positions, problem.data)
        if seen is None or len(shape) != 2:
            return None
        places = seen.places()
        rows, cols = np.divmod(np.arange(problem.data.size) if places is None else places, shape[1])
        return cls(rows, cols, problem.data)


@dataclass(frozen=True, eq=False)
class Residual:
    """One entry that fits badly."""

    row: int
    col: int
    data: float
    fit: float


@dataclass(frozen=True, eq=False)
class Matrix:
    """What is drawn of a matrix.

    singular : its singular values, largest first
    fitted : the matrix, biases included
    known : the data, with missing cells; None where they are no entries, or left behind
    left : what the fit leaves of them
    worst : the entries with the largest residuals, largest first
    """

    singular: FloatArray
    fitted: Grid
    known: Grid | None
    left: Grid | None
    worst: list[Residual]
    entries: int = 0

    @classmethod
    def of(cls, solution: Solution) -> Matrix:
        """Of an answer over matrices of low rank."""
        proven = solution.certificate
        data = Entries.of(proven.problem, solution.compact[0].shape) if proven.attached else None
        singular = np.abs(np.ravel(solution.coefficients)).astype(np.float64)
        fitted = of_model(solution.model)
        if data is None:
            return cls(singular, fitted, None, None, [])
        fit = solution.predict(data.rows, data.cols)
        known = Grid.sampled(data.rows, data.cols, data.values, fitted.shape)
        left = Grid.sampled(data.rows, data.cols, data.values - fit, fitted.shape)
        order = np.argsort(-np.abs(data.values - fit), kind="stable")[:WORST]
        worst = [
            Residual(int(data.rows[i]), int(data.cols[i]), float(data.values[i]), float(fit[i])) for i in order.tolist()
        ]
        return cls(singular, fitted, known, left, worst, data.values.size)


def of_model(model: LowRank) -> Grid:
    """The whole matrix, biases included."""
    left, right, biases = model.left, model.right, model.biases
    if biases is not None:
        ones = np.ones((len(left), 1)), np.ones((len(right), 1))
        left = np.hstack([left, biases.center + biases.rows[:, None], ones[0]])
        right = np.hstack([right, ones[1], biases.cols[:, None]])
    return Grid.of_factors(left, right)
