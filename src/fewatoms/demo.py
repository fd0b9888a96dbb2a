"""The main job on six small problems made here: what the library does, seen in half a minute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewatoms import datasets
from fewatoms._types import Array
from fewatoms.atoms import NonnegativeOneHot, PSDRankOne, RankOne, SignedOneHot
from fewatoms.doors import fit
from fewatoms.operators import Identity, Quadratic, Sampling
from fewatoms.records import Progress
from fewatoms.solution import Solution

Callback = Callable[[Progress], object]


@dataclass(frozen=True)
class Job:
    """One problem: what is asked, how to solve it, and the truth to draw beside the answer."""

    title: str
    asked: str
    solve: Callable[[Callback | None], Solution]
    truth: Any
    kind: str  # which drawing in display/ shows it


def jobs(seed: int = 0) -> list[Job]:
    """The six problems, from one seed."""
    rng = np.random.default_rng(seed)
    return [_blocks(), _regression(rng), _spectra(rng), _completion(rng), _background(rng), _phases(rng)]


def _blocks() -> Job:
    data = datasets.blocksig()

    def solve(callback: Callback | None) -> Solution:
        return fit(data.M, data.b, atoms=SignedOneHot(1024), k=71, misfit=1e-3, callback=callback)

    return Job("Blocks in a Haar basis", "71 wavelets, misfit 1e-3", solve, data.b, "signal")


def _regression(rng: np.random.Generator) -> Job:
    data = datasets.sparse_regression(200, 1000, 20, noise=0.1, rng=rng)

    def solve(callback: Callback | None) -> Solution:
        return fit(data.M, data.b, atoms=SignedOneHot(1000), k=20, callback=callback)

    return Job("Sparse regression, 10 % noise", "20 features, smallest loss", solve, data.x, "stems")


def _spectra(rng: np.random.Generator) -> Job:
    channels = np.linspace(0.0, 1.0, 240)
    library = sum(
        rng.uniform(0.3, 1.0, 80)
        * np.exp(-(((channels[:, None] - rng.uniform(0, 1, 80)) / rng.uniform(0.01, 0.06, 80)) ** 2))
        for _ in range(4)
    )
    shares = np.zeros(80)
    shares[rng.choice(80, 4, replace=False)] = [0.5, 0.25, 0.15, 0.1]
    mixed = library @ shares
    mixed += 0.01 * np.linalg.norm(mixed) / np.sqrt(mixed.size) * rng.standard_normal(mixed.size)

    def solve(callback: Callback | None) -> Solution:
        return fit(library, mixed, atoms=NonnegativeOneHot(80), k=4, misfit=0.02, callback=callback)

    return Job("Unmixing a spectrum", "4 materials of 80, misfit 2 %", solve, (channels, library, mixed), "spectrum")


def _completion(rng: np.random.Generator) -> Job:
    data = datasets.low_rank(120, 90, 3, observed=0.3, noise=0.01, rng=rng)

    def solve(callback: Callback | None) -> Solution:
        M = Sampling(data.rows, data.cols, data.shape)
        return fit(M, data.values, atoms=RankOne(*data.shape), k=3, misfit=0.02, callback=callback)

    return Job("Completing a matrix, 30 % seen", "rank 3, misfit 2 %", solve, data, "matrix")


def _background(rng: np.random.Generator) -> Job:
    data = datasets.low_rank_plus_sparse(60, 50, 2, corrupted=0.05, rng=rng)
    shape = data.X.shape

    def solve(callback: Callback | None) -> Solution:
        sets = RankOne(*shape) + SignedOneHot(shape)
        return fit(Identity(shape), data.X, atoms=sets, k=(2, data.sparse.nnz), misfit=1e-4, callback=callback)

    return Job("Robust PCA, 5 % corrupted", f"rank 2 + {data.sparse.nnz} entries, misfit 1e-4", solve, data, "sum")


def _phases(rng: np.random.Generator) -> Job:
    data = datasets.phases(64, 6 * 64, rng=rng)

    def solve(callback: Callback | None) -> Solution:
        return fit(Quadratic(data.A), data.b, atoms=PSDRankOne(64), k=1, misfit=1e-6, callback=callback)

    return Job("Phase retrieval", "1 matrix v v*, misfit 1e-6", solve, data.x, "phases")


def aligned(left: Array, truth: Array) -> Array:
    """A vector multiplied by the unit number that brings it nearest to the truth: phases are known up to that."""
    overlap = np.vdot(left, truth)
    return left * (overlap / abs(overlap)) if overlap != 0 else left
