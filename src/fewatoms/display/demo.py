"""The figure of the demo: one row of panels for each job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fewatoms.demo import Job
from fewatoms.solution import Solution

GREY, BLUE, RED = "#9a9a9a", "#0b6fa4", "#c1440e"
FINE = 8
HEIGHTS = {"features": 3.8, "completion": 3.8, "decomposition": 2.6}  # inches


def demo_figure(results: Sequence[tuple[Job, Solution]], path: str | Path) -> None:
    """Draw the jobs and their answers, a row for each, and write the file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    heights = [HEIGHTS[job.kind] for job, _ in results]
    figure = Figure(figsize=(13.5, sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    rows = figure.subfigures(len(results), 1, hspace=0.04, squeeze=False, height_ratios=heights)[:, 0]
    for row, (job, solution) in zip(rows, results, strict=True):
        row.suptitle(f"{job.title}: {job.asked}", fontsize=12, fontweight="bold", x=0.01, ha="left")
        DRAWINGS[job.kind](row, job, solution)
    figure.savefig(path, dpi=110)


def _plain(axis: Any, title: str) -> None:
    axis.set_title(title, fontsize=10)
    axis.tick_params(labelsize=FINE)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _features(row: Any, job: Job, s: Solution) -> None:
    """Coefficients by name, and the patients who were not shown."""
    bars, points = row.subplots(1, 2, width_ratios=[3, 2])
    assert s.names is not None
    names, values = list(s.names), np.asarray(s.coefficients)
    bars.barh(range(len(names)), values, color=np.where(values > 0, BLUE, RED), height=0.65)
    bars.set_yticks(range(len(names)), names)
    bars.invert_yaxis()
    bars.axvline(0, color="black", linewidth=0.8)
    bars.set_xlabel("coefficient, measurements in standard deviations", fontsize=FINE)
    _plain(bars, f"{s.cardinality} features of {len(job.data.names)}, by name")
    some = ~job.data.shown
    true, found = job.data.progression[some], s.predict(job.data.columns[some])
    _against(points, true, found, "progression after a year", "predicted")
    _plain(points, f"{int(some.sum())} patients not shown: {job.data.explained(s):.0%} explained")


def _completion(row: Any, job: Job, s: Solution) -> None:
    """What was seen, what was filled in, and how near that is."""
    seen, whole, points = row.subplots(1, 3, width_ratios=[3, 3, 2])
    months = job.data
    ends = float(months.values.min()), float(months.values.max())
    filled = months.filled(s)
    holes = np.where(months.seen, months.values, np.nan)
    for axis, matrix, title in ((seen, holes, "seen; holes in white"), (whole, filled, "filled in: El Niño in red")):
        image = axis.imshow(
            matrix.T, aspect="auto", cmap="RdYlBu_r", vmin=ends[0], vmax=ends[1], interpolation="nearest",
            extent=(months.years[0] - 0.5, months.years[-1] + 0.5, 11.5, -0.5),
        )  # fmt: skip
        axis.set_yticks([0, 3, 6, 9], ["Jan", "Apr", "Jul", "Oct"])
        _plain(axis, title)
    row.colorbar(image, ax=whole, label="°C", shrink=0.9)
    hidden = ~months.seen
    _against(points, months.values[hidden], filled[hidden], "°C, hidden", "°C, filled in")
    usual = months.error(months.usual)
    _plain(points, f"off by {months.error(filled):.2f} °C\n(the mean of each month: {usual:.2f} °C)")


def _decomposition(row: Any, job: Job, s: Solution) -> None:
    """The photograph, the paper, the ink."""
    axes = row.subplots(1, 3)
    paper, ink = s.parts
    light = paper.left @ paper.right.T
    strokes = np.zeros(job.data.shape)
    strokes[ink.indices[:, 0], ink.indices[:, 1]] = ink.coefficients
    pictures = (
        ("photograph", job.data, 0, 200),
        ("paper: rank 1", light, 0, 200),
        (f"what stands out: {len(ink.indices)} pixels", strokes, -90, 0),
    )
    for axis, (title, picture, low, high) in zip(axes, pictures, strict=True):
        axis.imshow(picture, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        axis.set(xticks=[], yticks=[])
        axis.set_title(title, fontsize=10)


def _against(axis: Any, true: Any, found: Any, across: str, up: str) -> None:
    ends = [min(true.min(), found.min()), max(true.max(), found.max())]
    axis.plot(ends, ends, color=GREY, linewidth=1)
    axis.plot(true, found, "o", color=BLUE, markersize=3, alpha=0.6)
    axis.set_xlabel(across, fontsize=FINE)
    axis.set_ylabel(up, fontsize=FINE)


DRAWINGS = {"features": _features, "completion": _completion, "decomposition": _decomposition}
