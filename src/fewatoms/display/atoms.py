"""The atoms of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from fewatoms.display.base import BLUE, ORANGE, Display, short
from fewatoms.drawn.atoms import Atoms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fewatoms.solution import Solution


class AtomsDisplay(Display):
    """Coefficients as bars with the names of the atoms, and their contributions beside them.

    AtomsDisplay.from_solution(s).plot()

    drawn : what is drawn, in numbers; ax_, figure_ : where, once it was; bars_ : the bars
    """

    def __init__(self, drawn: Atoms) -> None:
        self.drawn = drawn

    @classmethod
    def from_solution(cls, solution: Solution) -> Self:
        return cls(Atoms.of(solution))

    def plot(self, ax: Axes | None = None, *, most: int = 30) -> Self:
        """Draw the first ones, the largest contributions, `most` of them."""
        labels, sizes, shares = self.drawn.labels[:most], self.drawn.sizes[:most], self.drawn.shares[:most]
        ax = self._axes(ax, (6.4, max(1.6, 0.8 + 0.28 * len(labels))))
        places = np.arange(len(labels))
        self.bars_ = ax.barh(places, sizes, color=np.where(sizes < 0, ORANGE, BLUE))
        ax.set_yticks(places, [short(label) for label in labels])
        ax.invert_yaxis()
        ax.axvline(0, color="black", linewidth=0.5)
        told = ["" if np.isnan(share) else f"{share:.0%}" for share in shares]
        ax.bar_label(self.bars_, told, padding=3, fontsize=8)
        ax.margins(x=0.15)
        ax.set_xlabel("coefficient" if len(self.drawn.heads) == 1 else "size of the coefficients")
        return self
