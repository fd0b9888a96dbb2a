"""The figure of the demo: six panels, truth in grey, what was found in colour."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fewatoms.demo import Job, aligned
from fewatoms.solution import Solution

TRUTH, FOUND = "#9a9a9a", "#0b6fa4"


def demo_figure(results: Sequence[tuple[Job, Solution]], path: str | Path) -> None:
    """Draw the jobs and their answers, one panel each, and write the file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = 3
    rows = -(-len(results) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.2 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for axis in axes[len(results) :]:
        axis.set_axis_off()
    for axis, (job, solution) in zip(axes, results, strict=False):
        DRAWINGS[job.kind](axis, job, solution)
        atoms = f"{solution.cardinality} atom" + ("" if solution.cardinality == 1 else "s")
        axis.set_title(f"{job.title}\n{atoms}, misfit {solution.misfit:.1e}", fontsize=10)
        axis.tick_params(labelsize=8)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    figure.savefig(path, dpi=110)


def _signal(axis: Any, job: Job, solution: Solution) -> None:
    from fewatoms.datasets import HaarSynthesis

    axis.plot(job.truth, color=TRUTH, linewidth=3, label="data")
    axis.plot(HaarSynthesis(1024, 5).matvec(solution.x), color=FOUND, linewidth=1, label="71 wavelets")
    axis.set_xlabel("sample", fontsize=8)
    axis.legend(fontsize=8, frameon=False)


def _stems(axis: Any, job: Job, solution: Solution) -> None:
    true = np.flatnonzero(job.truth)
    axis.vlines(true, 0, job.truth[true], color=TRUTH, linewidth=4, label="truth")
    axis.vlines(solution.indices, 0, solution.coefficients, color=FOUND, linewidth=1)
    axis.plot(solution.indices, solution.coefficients, "o", color=FOUND, markersize=3, label="found")
    axis.axhline(0, color="black", linewidth=0.5)
    axis.set_xlabel("feature", fontsize=8)
    axis.set_ylabel("coefficient", fontsize=8)
    axis.set_ylim(top=1.5 * np.abs(job.truth).max())  # room for the legend
    axis.legend(fontsize=8, frameon=False, loc="upper right", ncols=2)


def _spectrum(axis: Any, job: Job, solution: Solution) -> None:
    channels, library, mixed = job.truth
    axis.plot(channels, mixed, color=TRUTH, linewidth=3, label="measured")
    for index, share in zip(solution.indices, solution.coefficients, strict=True):
        axis.fill_between(channels, share * library[:, index], alpha=0.35, label=f"material {index}: {share:.2f}")
    axis.set_xlabel("wavelength", fontsize=8)
    axis.set_ylim(bottom=0)
    axis.legend(fontsize=7, frameon=False)


def _matrix(axis: Any, job: Job, solution: Solution) -> None:
    data = job.truth
    truth = data.left @ data.right.T
    found = solution.left @ solution.right.T
    unseen = np.ones(data.shape, dtype=bool)
    unseen[data.rows, data.cols] = False
    axis.plot(truth[unseen], found[unseen], ".", color=FOUND, markersize=1.5, alpha=0.5)
    ends = [truth.min(), truth.max()]
    axis.plot(ends, ends, color=TRUTH, linewidth=1)
    axis.set_xlabel("entries never seen: truth", fontsize=8)
    axis.set_ylabel("filled in", fontsize=8)


def _sum(axis: Any, job: Job, solution: Solution) -> None:
    sparse = np.zeros(job.truth.X.shape)
    spots = solution.parts[1].indices
    sparse[spots[:, 0], spots[:, 1]] = solution.parts[1].coefficients
    low = solution.parts[0].left @ solution.parts[0].right.T
    gap = np.full((low.shape[0], 3), np.nan)
    axis.imshow(np.hstack([job.truth.X, gap, low, gap, sparse]), cmap="RdBu_r", vmin=-4, vmax=4, aspect="auto")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_xlabel("data  =  rank 2  +  sparse", fontsize=8)


def _phases(axis: Any, job: Job, solution: Solution) -> None:
    found = aligned(solution.left[:, 0], job.truth)
    axis.plot(job.truth.real, job.truth.imag, "o", color=TRUTH, markersize=7, label="truth")
    axis.plot(found.real, found.imag, ".", color=FOUND, markersize=4, label="from magnitudes")
    axis.set_aspect("equal", adjustable="datalim")
    axis.set_xlabel("real part", fontsize=8)
    axis.set_ylabel("imaginary part", fontsize=8)
    axis.legend(fontsize=8, frameon=False)


DRAWINGS = {
    "signal": _signal,
    "stems": _stems,
    "spectrum": _spectrum,
    "matrix": _matrix,
    "sum": _sum,
    "phases": _phases,
}
