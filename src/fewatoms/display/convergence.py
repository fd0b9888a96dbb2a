"""How a run came to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from fewatoms.display.base import BLUE, QUIET, Display
from fewatoms.drawn.convergence import Convergence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fewatoms.callbacks import Trace
    from fewatoms.solution import Solution


class ConvergenceDisplay(Display):
    """Misfit, or loss, of the best so far against seconds.

    ConvergenceDisplay.from_solution(s, trace).plot(), for `trace = Trace()` and `s = fit(..., callback=trace)`

    drawn : what is drawn, in numbers; ax_, figure_ : where, once it was; line_ : the curve
    """

    def __init__(self, drawn: Convergence) -> None:
        self.drawn = drawn

    @classmethod
    def from_solution(cls, solution: Solution, trace: Trace) -> Self:
        """Of an answer and the trace that heard its run."""
        return cls(Convergence.of(trace, solution))

    @classmethod
    def from_trace(cls, trace: Trace) -> Self:
        """Of a trace alone."""
        return cls(Convergence.of(trace))

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw it."""
        ax, drawn = self._axes(ax), self.drawn
        (self.line_,) = ax.step(drawn.seconds, drawn.heights, where="post", color=BLUE, marker="o", markersize=3)
        positive = drawn.heights[drawn.heights > 0]
        if positive.size == drawn.heights.size and positive.max() > 30 * positive.min():
            ax.set_yscale("log")
        if drawn.bound is not None:
            ax.axhline(drawn.bound, color=QUIET, linestyle="--", linewidth=1, label="bound asked for")
            ax.legend(frameon=False)
        ax.set_xlabel("seconds")
        ax.set_ylabel(drawn.label)
        return self
