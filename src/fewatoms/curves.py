"""Curves of a path over k; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPREAD = 30  # largest over smallest height from which on a scale is logarithmic


def path(
    sizes: IntArray,
    heights: Array,
    misfits: bool,
    scored: tuple[str, FloatArray] | None,
    chosen: tuple[int, object] | None,
    ax: Axes | None,
) -> Axes:
    """Misfits, or losses, against numbers of atoms; scores by the name of what they are for on an axis of their own; a
    line at the size that was chosen, with the k it was chosen for."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot() needs matplotlib: pip install 'fewatoms[plot]'") from None
    ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1] if ax is None else ax
    order = np.argsort(sizes, kind="stable")
    handles = list(ax.plot(sizes[order], heights[order], "o-", color="#1f4e79", markersize=4, label="fit to the data"))
    positive = heights[heights > 0]
    if positive.size and positive.max() > SPREAD * positive.min():
        ax.set_yscale("log")
    ax.set_xlabel("atoms used")
    ax.set_ylabel("misfit |b - Mx| / |b|" if misfits else "loss")
    if scored is not None:
        way, scores = scored
        other, label = ax.twinx(), f"score ({way})"
        handles += other.plot(sizes[order], scores[order], "s--", color="#c55a11", markersize=3, label=label)
        other.set_ylabel(f"{label}, lower is better")
    if chosen is not None:
        at, k = chosen
        handles.append(ax.axvline(at, color="0.4", linewidth=1, linestyle=":", label=f"chosen: k = {k}"))
    ax.legend(handles=handles, frameon=False)
    return ax
