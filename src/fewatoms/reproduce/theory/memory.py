"""Dual methods keep vectors of the data's length: O(m) numbers where a semidefinite matrix would have n^2."""

from __future__ import annotations

import tracemalloc

import numpy as np

from fewatoms.atoms import PSDRankOne
from fewatoms.doors import fit
from fewatoms.methods.paper import Paper
from fewatoms.operators import CodedDiffraction, Quadratic
from fewatoms.reproduce.contract import Cell, Claim, Drawing, Experiment, Findings, Listener, Settings, Table
from fewatoms.reproduce.drawing import Sheet, axes, labelled, legend, line, slope

PATTERNS = 10  # masks: m = 10 n
WALKED = 2  # of the dual method
heads = ("n", "m", "peak, MB", "peak / (8 m bytes)", "X, MB", "peak / X")


def peak(n: int, rng: np.random.Generator, listener: Listener) -> int:
    """Bytes that the paper's method holds at most for phases of n numbers, beyond its data."""
    A = CodedDiffraction.random(n, PATTERNS, rng=rng)
    x = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    M, b = Quadratic(A), np.abs(A @ x) ** 2
    was = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        fit(
            M, b, atoms=PSDRankOne(n), k=1, misfit=0.1, max_iterations=WALKED, method=Paper(),
            callback=listener.callback,
        )  # fmt: skip
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not was:
            tracemalloc.stop()


def run(settings: Settings, listener: Listener) -> Findings:
    sizes = (512, 1024, 2048) if settings.quick else (512, 1024, 2048, 4096)
    rng = settings.rng(2, 11)
    listener.stage("a first run, so that imports are not counted")
    peak(32, rng, listener)
    rows: list[list[Cell]] = []
    for n in sizes:
        listener.stage(f"n = {n}")
        held, m, whole = peak(n, rng, listener), PATTERNS * n, 16 * n * n
        rows.append([n, m, held / 2**20, held / (8 * m), whole / 2**20, held / whole])
    table = Table("memory", f"Peak memory of {WALKED} steps of the paper's method", heads, rows)
    found = np.array(rows, dtype=float)
    grows = slope(found[:, 0].tolist(), found[:, 2].tolist())
    claims = (
        Claim("memory grows in proportion to m: the slope against m is at most 1.25", grows <= 1.25),
        Claim(f"at n = {sizes[-1]} it is less than a tenth of what X would take", float(rows[-1][5] or 1) < 0.1),
    )
    note = f"The slope of memory against m, log-log, is {grows:.2f}; that of X is 2."
    return Findings((table,), (_figure(table),), claims, (note,))


def _figure(table: Table) -> Drawing:
    found = np.array(table.rows, dtype=float)

    def draw(figure: Sheet) -> None:
        (panel,) = axes(figure)
        n = found[:, 0].tolist()
        line(panel, 0, n, found[:, 2].tolist(), "held at most, measured", marks=True)
        line(panel, 1, n, found[:, 4].tolist(), "X, n by n complex numbers", marks=True)
        line(panel, 2, n, (8 * found[:, 1] / 2**20).tolist(), "one vector of m numbers", marks=True)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        labelled(panel, f"n (m = {PATTERNS} n)", "MB")
        legend(panel)

    ends = [f"{found[0, at]:.2g} to {found[-1, at]:.2g} MB" for at in (2, 4)]
    alt = f"Memory against n: measured {ends[0]}, X {ends[1]}."
    return Drawing("memory", "Memory over semidefinite atoms", alt, draw)


experiment = Experiment(
    "memory",
    "Memory",
    "Phases from coded diffraction patterns: the dual vector has m numbers, the matrix X that is never formed n^2.",
    run,
)
