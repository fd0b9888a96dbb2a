"""Figures: one look for all of them, in colours that colour-blind readers tell apart, with marks and dashes besides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fewatoms._types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Sheet: TypeAlias = "Figure"
Panel: TypeAlias = "Axes"

# After Okabe and Ito, on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#5a5a5a")
GREY = "#8a8a8a"
BEST, UPPER_RIGHT, UPPER_LEFT, LOWER_LEFT, LOWER_RIGHT = (
    0,
    1,
    2,
    3,
    4,
)  # where a legend is, in the numbers of matplotlib
MARKS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))


def axes(figure: Sheet, across: int = 1, down: int = 1) -> list[Panel]:
    """Panels, with nothing drawn that says nothing."""
    panels = list(np.atleast_1d(figure.subplots(down, across)).ravel())
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=9)
        panel.grid(color="#e4e4e4", linewidth=0.6)
        panel.set_axisbelow(True)
    return panels


def labelled(panel: Panel, x: str, y: str, title: str = "") -> None:
    panel.set_xlabel(x, fontsize=10)
    panel.set_ylabel(y, fontsize=10)
    if title:
        panel.set_title(title, fontsize=10.5)


def legend(panel: Panel, *, ncols: int = 1, at: int = BEST) -> None:
    panel.legend(fontsize=9, frameon=False, ncols=ncols, loc=at)


def line(panel: Panel, which: int, x: Sequence[float], y: Sequence[float], label: str, *, marks: bool = False) -> None:
    """The curve number `which`: with its colour and dashes, and marks where points are few."""
    which %= len(COLOURS)
    mark = MARKS[which] if marks else ""
    panel.plot(
        x, y, color=COLOURS[which], linestyle=DASHES[which], linewidth=1.7, label=label, marker=mark, markersize=5
    )


def level(panel: Panel, value: float, label: str, *, below: bool = False) -> None:
    """A horizontal line with its name above or below it, on a ground that no curve strikes."""
    panel.axhline(value, color=GREY, linewidth=1.2, linestyle=(0, (2, 2)), zorder=1.5)
    ground = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    panel.annotate(
        label, (1.0, value), (-3, -3 if below else 3), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="right", va="top" if below else "bottom", fontsize=8.5, color="#5a5a5a",
        bbox=ground, zorder=4,
    )  # fmt: skip


def pictures(figure: Sheet, rows: Sequence[tuple[str, FloatArray, str, FloatArray | None]], top: float) -> None:
    """Rows of (name, brightness up to `top`, name, signed or None); signed ones in the scale of their own row, which
    is told."""
    panels = np.asarray(figure.subplots(len(rows), 2))
    for (left, right), (name, bright, second, signed) in zip(panels, rows, strict=True):
        left.imshow(bright, cmap="gray", vmin=0.0, vmax=top)
        left.set_title(name, fontsize=9, loc="left", pad=2)
        for panel in (left, right):
            panel.set_xticks([])
            panel.set_yticks([])
        if signed is None:
            right.set_visible(False)
            continue
        sizes = np.abs(signed[signed != 0])
        scale = float(np.quantile(sizes, 0.98)) if sizes.size else top
        right.imshow(signed, cmap="RdBu_r", vmin=-scale, vmax=scale)
        right.set_title(f"{second}: red above 0, blue below, full at {scale:.2g}", fontsize=9, loc="left", pad=2)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of log y against log x, by least squares; nan where there are fewer than two points."""
    pairs = [(math.log(a), math.log(b)) for a, b in zip(x, y, strict=True) if a > 0 and b > 0]
    if len({a for a, _ in pairs}) < 2:
        return math.nan
    across, up = np.array(pairs).T
    return float(np.polyfit(across, up, 1)[0])


def guide(panel: Panel, which: int, x: Sequence[float], through: tuple[float, float], power: float) -> None:
    """A straight line of this slope in a log-log plot, thin, in the colour of the curve it belongs to, labelled."""
    ends = np.array([min(x), max(x)])
    panel.plot(
        ends, through[1] * (ends / through[0]) ** power, color=COLOURS[which], linewidth=1.0,
        linestyle=((0, (1, 2)), (0, (4, 2, 1, 2)))[which % 2], label=f"the corollary's slope for it, {power:g}",
    )  # fmt: skip
