"""One data vector and what each atom adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from fewatoms.display.base import BLUE, MIXED, Display, short
from fewatoms.drawn.spectra import Spectra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fewatoms.solution import Solution


class SpectraDisplay(Display):
    """Data as a curve, and what the largest atoms add to them: as areas where nothing is negative, else as curves.

    SpectraDisplay.from_solution(s).plot(), of an answer to one data vector over atoms that can be listed; those of
    `fit_many` are asked one by one

    drawn : what is drawn, in numbers; ax_, figure_ : where, once it was
    """

    def __init__(self, drawn: Spectra) -> None:
        self.drawn = drawn

    @classmethod
    def from_solution(cls, solution: Solution) -> Self:
        return cls(Spectra.of(solution))

    def plot(self, ax: Axes | None = None, *, x: npt.ArrayLike | None = None) -> Self:
        """Draw it; `x` are places of the data, such as wavelengths."""
        drawn = self.drawn
        places = np.arange(drawn.data.size) if x is None else np.asarray(x, dtype=np.float64)
        if places.shape != drawn.data.shape:
            raise ValueError(f"x must have shape {drawn.data.shape}, a place for each datum; got {places.shape}")
        ax = self._axes(ax)
        labels = [short(label) for label in drawn.labels]
        if len(drawn.parts) and (drawn.parts >= 0).all():
            ax.stackplot(places, drawn.beside, *drawn.parts, labels=["", *labels], colors=["none", *MIXED], alpha=0.5)
        else:
            for label, part, colour in zip(labels, drawn.parts, MIXED, strict=False):
                ax.plot(places, part, color=colour, linewidth=1, label=label)
            ax.plot(places, drawn.fit, color=BLUE, linestyle="--", label="fit")
        ax.plot(places, drawn.data, color="black", linewidth=1.5, label="data")
        ax.legend(frameon=False, fontsize=8)
        return self
