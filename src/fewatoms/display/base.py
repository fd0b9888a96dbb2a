"""What displays share: axes that are given, or new ones; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import Foreign

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, QUIET = "#0b5cad", "#b35900", "0.4"
SIGNS = "PuOr"  # matplotlib's colours from brown, below 0, to purple
MIXED = ("#0b5cad", "#b35900", "#007a6c", "#8f3a84", "#6b6b00", "#4a5a8c", "#9c2f2f", "#4d4d4d")


class Display:
    """Something that can be drawn: `.plot(ax=...)` draws it and returns the display.

    ax_, figure_ : where it was drawn, once it was; where there are several axes, an array of them
    """

    ax_: Foreign
    figure_: Foreign

    def _axes(self, ax: Axes | None, size: tuple[float, float] = (6.4, 4.0)) -> Axes:
        """The axes that were given, or those of a new figure."""
        if ax is None:
            ax = plotting().subplots(figsize=size, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _several(self, ax: object, count: int, size: tuple[float, float]) -> list[Axes]:
        """As many axes as there are pictures: given in an array, or those of a new figure in a row."""
        if ax is None:
            ax = plotting().subplots(1, count, figsize=size, layout="constrained", squeeze=False)[1]
        given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if given.size != count:
            raise ValueError(f"ax must be {count} axes, one for each picture; got {given.size}")
        self.ax_, self.figure_ = (given[0] if count == 1 else given), given[0].figure
        return list(given)


def plotting() -> Foreign:
    """matplotlib's drawing board, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install 'fewatoms[plot]'") from None
    return plt


def short(label: str, most: int = 40) -> str:
    """A name as an axis can show it: without what matplotlib would read as a formula, or leave out of a legend."""
    shown = label if len(label) <= most else label[: most - 1] + "…"
    shown = f" {shown}" if shown.startswith("_") else shown
    return "".join(c if c.isprintable() else " " for c in shown).replace("$", r"\$")
