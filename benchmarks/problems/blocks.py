"""Matrices in blocks of rows: files that are mapped, and blocks that loaders make."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

Judged = tuple[dict[str, float], Any]
WRITTEN = 1 << 24  # numbers written at a time


@dataclass(frozen=True, eq=False)
class Stored:
    """A Gaussian matrix in a file, in double and in single precision; the files go when the problem does.

    M : the file, mapped
    """

    folder: tempfile.TemporaryDirectory[str]
    b: np.ndarray
    k: int

    def name(self, kind: str = "double") -> str:
        return str(Path(self.folder.name) / f"{kind}.npy")

    @property
    def M(self) -> np.ndarray:
        return np.load(self.name(), mmap_mode="r")

    def judge(self, answer: Any) -> Judged:
        """Of an answer, its misfit; of measurements, what they are."""
        if isinstance(answer, dict):
            return answer, None
        left = self.b - np.asarray(self.M[:, answer.indices]) @ answer.coefficients
        return {"misfit": float(np.linalg.norm(left) / np.linalg.norm(self.b)), **answer.facts}, None


@lru_cache(maxsize=1)
def _written(m: int, n: int, seed: int, single: bool) -> tuple[Stored, dict[str, Any]]:
    """The files of a Gaussian matrix, and where the random numbers went on; the last one stays for other data."""
    rng = np.random.default_rng(seed)
    problem = Stored(tempfile.TemporaryDirectory(prefix="fewatoms-"), np.empty(0), 0)
    kinds = {"double": np.float64, "single": np.float32} if single else {"double": np.float64}
    open_memmap = np.lib.format.open_memmap
    files = [open_memmap(problem.name(kind), "w+", dtype, (m, n)) for kind, dtype in kinds.items()]
    step = max(1, WRITTEN // n)
    for start in range(0, m, step):
        rows = rng.standard_normal((min(step, m - start), n))
        for file in files:
            file[start : start + step] = rows
    return problem, dict(rng.bit_generator.state)


def dense(m: int, n: int, k: int, noise: float, seed: int, *, single: bool = False) -> Stored:
    """k columns with signs, or with Gaussian coefficients where noise is large."""
    problem, state = _written(m, n, seed, single)
    rng = np.random.default_rng(seed)
    rng.bit_generator.state = state
    S = rng.choice(n, k, replace=False)
    clean = np.asarray(problem.M[:, S]) @ (rng.choice([-1.0, 1.0], k) if noise < 0.1 else rng.standard_normal(k))
    e = rng.standard_normal(m)
    return Stored(problem.folder, clean + noise * np.linalg.norm(clean) / np.linalg.norm(e) * e, k)


@dataclass(frozen=True, eq=False)
class Made:
    """Rows that loaders make."""

    loaders: Sequence[Callable[[], np.ndarray]]
    rows: Sequence[int]
    n: int
    k: int
    b: np.ndarray
    classes: bool
    least: float  # the loss of the planted coefficients

    def judge(self, answer: Any) -> Judged:
        if isinstance(answer, dict):
            return answer, None
        return {"objective_over": answer.facts["loss"] / self.least, **_without(answer.facts, "loss")}, None


def _without(facts: dict[str, float], name: str) -> dict[str, float]:
    return {key: value for key, value in facts.items() if key != name}


def block(seed: int, i: int, rows: int, n: int) -> np.ndarray:
    """Importable by workers."""
    return np.random.default_rng((seed, i)).standard_normal((rows, n))


def tall(m: int, n: int, k: int, classes: bool, seed: int, rows: int = 50_000) -> Made:
    rng = np.random.default_rng(seed)
    counts = [min(rows, m - start) for start in range(0, m, rows)]
    loaders = [partial(block, seed, i, count, n) for i, count in enumerate(counts)]
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = rng.uniform(0.3, 1.0, k) * rng.choice([-1.0, 1.0], k)
    clean = np.concatenate([load() @ x for load in loaders])
    if classes:
        b = (clean + rng.logistic(size=m) > 0).astype(int)
        return Made(loaders, counts, n, k, b, True, float(np.logaddexp(0.0, -(2 * b - 1) * clean).sum()))
    b = clean + rng.standard_normal(m)
    return Made(loaders, counts, n, k, b, False, 0.5 * float(np.sum((b - clean) ** 2)))


def small(name: str) -> Stored | Made:
    return dense(40, 60, 2, 0.05, 0, single=True) if name == "dense" else tall(300, 6, 2, False, 0, 100)
