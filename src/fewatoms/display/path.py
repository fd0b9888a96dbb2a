"""A path over k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from fewatoms import curves
from fewatoms.display.base import Display
from fewatoms.drawn.path import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fewatoms.path import Path


class PathDisplay(Display):
    """Misfit, or loss, against the number of atoms, with scores and the k that was chosen.

    PathDisplay.from_path(path).plot(), which is what `path.plot()` draws

    drawn : what is drawn, in numbers; ax_, figure_ : where, once it was
    """

    def __init__(self, drawn: Curve) -> None:
        self.drawn = drawn

    @classmethod
    def from_path(cls, path: Path) -> Self:
        return cls(Curve.of(path))

    @classmethod
    def from_solution(cls, solution: Path) -> Self:
        """The same, under the name that all displays have."""
        return cls.from_path(solution)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw it."""
        curves.path(self.drawn, self._axes(ax))
        return self
