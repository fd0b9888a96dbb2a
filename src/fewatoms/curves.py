"""Curves of a path over k; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fewatoms.drawn.path import Curve

SPREAD = 30  # largest over smallest height from which on a scale is logarithmic


def path(drawn: Curve, ax: Axes | None) -> Axes:
    """Misfits, or losses, against numbers of atoms; scores by the name of what they are for on an axis of their own; a
    line at the size that was chosen, with the k it was chosen for."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install 'fewatoms[plot]'") from None
    ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1] if ax is None else ax
    sizes, heights = drawn.sizes, drawn.heights
    order = np.argsort(sizes, kind="stable")
    handles = list(ax.plot(sizes[order], heights[order], "o-", color="#1f4e79", markersize=4, label="fit to the data"))
    positive = heights[heights > 0]
    if positive.size and positive.max() > SPREAD * positive.min():
        ax.set_yscale("log")
    ax.set_xlabel("atoms used")
    ax.set_ylabel(drawn.label)
    if drawn.scored is not None:
        way, scores = drawn.scored
        other, label = ax.twinx(), f"score ({way})"
        handles += other.plot(sizes[order], scores[order], "s--", color="#c55a11", markersize=3, label=label)
        other.set_ylabel(f"{label}, lower is better")
    if drawn.chosen is not None:
        at, k = sizes[drawn.chosen], drawn.k[drawn.chosen]
        handles.append(ax.axvline(at, color="0.4", linewidth=1, linestyle=":", label=f"chosen: k = {k}"))
    ax.legend(handles=handles, frameon=False)
    return ax
