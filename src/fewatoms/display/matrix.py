"""A matrix of low rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from fewatoms.display.base import BLUE, SIGNS, Display, plotting
from fewatoms.drawn.grids import Grid, scale
from fewatoms.drawn.matrix import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fewatoms.solution import Solution


class MatrixDisplay(Display):
    """What was known of a matrix and what is filled in, as cells; or its singular values.

    MatrixDisplay.from_solution(s).plot(), or .plot(kind="singular values")

    drawn : what is drawn, in numbers; ax_, figure_ : where, once it was
    """

    def __init__(self, drawn: Matrix) -> None:
        self.drawn = drawn

    @classmethod
    def from_solution(cls, solution: Solution) -> Self:
        return cls(Matrix.of(solution))

    def plot(self, ax: Axes | None = None, *, kind: str = "fitted") -> Self:
        """Draw one picture: "fitted" is the matrix that was found, "known" the data with missing cells hatched,
        "residuals" what the fit leaves of them, "singular values" those."""
        pictures = {"fitted": self.drawn.fitted, "known": self.drawn.known, "residuals": self.drawn.left}
        if kind not in (*pictures, "singular values"):
            raise ValueError(f"kind must be one of {', '.join(map(repr, pictures))} or 'singular values'; got {kind!r}")
        if kind == "singular values":
            ax, values = self._axes(ax), self.drawn.singular
            ax.bar(np.arange(1, values.size + 1), values, color=BLUE)
            ax.set_xlabel("number")
            ax.set_ylabel("singular value")
            return self
        grid = pictures[kind]
        if grid is None:
            raise ValueError(f"kind {kind!r} needs data that are entries of the matrix; attach(M, b) gives them back")
        ax = self._axes(ax, (5.2, 4.2))
        cells(ax, grid, scale(grid))
        ax.set_title(kind)
        return self


def cells(ax: Axes, grid: Grid, ends: tuple[float, float]) -> None:
    """Cells in colours, with their scale; missing ones are hatched."""
    p, q = grid.shape
    if grid.missing:
        ax.patch.set(hatch="////", edgecolor="0.7")
    maps = plotting().colormaps
    colours = maps[SIGNS if ends[0] < 0 < ends[1] else "cividis"]
    image = ax.imshow(
        np.ma.masked_invalid(grid.values), cmap=colours, vmin=ends[0], vmax=ends[1], extent=(0, q, p, 0), aspect="auto",
        interpolation="nearest",
    )  # fmt: skip
    beyond = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    ax.figure.colorbar(image, ax=ax, extend=beyond[grid.beyond(ends)])
    ax.set_xlabel("column")
    ax.set_ylabel("row")
