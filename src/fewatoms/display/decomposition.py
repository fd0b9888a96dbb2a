"""Data as a sum of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from fewatoms import _checks
from fewatoms.display.base import MIXED, QUIET, SIGNS, Display
from fewatoms.display.matrix import cells
from fewatoms.drawn.decomposition import Decomposition

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fewatoms.solution import Solution


class DecompositionDisplay(Display):
    """The data and the parts that they are the sum of, side by side: cells of matrices, frames where columns are
    pictures, curves of signals.

    DecompositionDisplay.from_solution(s).plot(), or .plot(frame=(height, width), column=7)

    drawn : what is drawn, in numbers; ax_, figure_ : where, once it was; ax_ is an array where there are several axes
    """

    def __init__(self, drawn: Decomposition) -> None:
        self.drawn = drawn

    @classmethod
    def from_solution(cls, solution: Solution) -> Self:
        return cls(Decomposition.of(solution))

    def plot(self, ax: object = None, *, frame: tuple[int, int] | None = None, column: int = 0) -> Self:
        """Draw the parts in so many axes as `drawn.titles` has; with a frame, one column of each as a picture."""
        titles, matrices = self.drawn.titles, self.drawn.matrices
        if matrices[0].ndim != 2:
            return self._signals(ax)
        axes = self._several(ax, len(titles), (3.6 * len(titles), 3.4))
        if frame is not None:
            return self._frame(axes, frame, column)
        for axis, title, grid, ends in zip(axes, titles, self.drawn.grids, self.drawn.scales(), strict=True):
            cells(axis, grid, ends)
            axis.set_title(title, fontsize=10)
        return self

    def _frame(self, axes: list[Axes], frame: tuple[int, int], column: int) -> Self:
        height, width = frame
        rows, count = self.drawn.matrices[0].shape
        if height * width != rows:
            raise ValueError(f"frame must be a height and a width whose product is {rows}; got {frame}")
        column = _checks.integer("column", column, 0, count - 1)
        pictures = [matrix[:, column].reshape(height, width) for matrix in self.drawn.matrices]
        ends = self.drawn.shades([[matrix] for matrix in self.drawn.matrices])
        for i, (axis, title, (low, high)) in enumerate(zip(axes, self.drawn.titles, ends, strict=True)):
            colours = SIGNS if self.drawn.few[i] else "gray"
            axis.imshow(pictures[i], interpolation="nearest", cmap=colours, vmin=low, vmax=high)
            axis.set_title(f"{title}, column {column}", fontsize=9)
            axis.set_axis_off()
        return self

    def _signals(self, ax: object) -> Self:
        (axis,) = self._several(ax, 1, (6.4, 4.0))
        for i, (title, values) in enumerate(zip(self.drawn.titles, self.drawn.matrices, strict=True)):
            data = title == "data"
            axis.plot(values, color=QUIET if data else MIXED[i % len(MIXED)], linewidth=3 if data else 1, label=title)
        axis.set_xlabel("entry")
        axis.legend(frameon=False)
        return self
