"""Groups of columns, and coefficients that must not be negative."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.peers.answers import Vector

Judged = tuple[dict[str, Any], Any]


@dataclass(frozen=True, eq=False)
class Structured:
    """b = M x + noise with the coefficients of few groups, or few positive ones.

    labels : the group of each column, in their order; None for single columns
    """

    M: Vector
    b: Vector
    k: int
    labels: Any = None

    @cached_property
    def ordered(self) -> Vector:
        """For peers that want columns one after the other."""
        return np.asfortranarray(self.M)

    def judge(self, answer: Any) -> Judged:
        x = np.asarray(answer.x)
        kept = np.flatnonzero(x)
        atoms = kept if self.labels is None else np.unique(self.labels[kept])
        assert atoms.size <= self.k
        assert self.labels is not None or x.min() >= 0
        misfit = float(np.linalg.norm(self.b - self.M @ x) / np.linalg.norm(self.b))
        return {**answer.facts, "misfit": misfit, "atoms": atoms.size}, None


def small(name: str) -> Structured:
    return grouped(40, 8, 3, 2, 0.3, 0.2, 0) if name == "grouped" else positive(30, 40, 3, 0.1, 0, design="gaussian")


def grouped(m: int, groups: int, size: int, k: int, correlation: float, noise: float, seed: int) -> Structured:
    """Columns i and j, of all groups, have the correlation `correlation` ** |i - j|."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((groups * size, m))
    for j in range(1, len(columns)):
        columns[j] = correlation * columns[j - 1] + np.sqrt(1 - correlation**2) * columns[j]
    labels = np.repeat(np.arange(groups), size)
    x = np.isin(labels, rng.choice(groups, k, replace=False)) * rng.standard_normal(labels.size)
    return Structured(columns.T.copy(), _noisy(columns.T @ x, noise, rng), k, labels)


def positive(m: int, n: int, k: int, noise: float, seed: int, *, design: str) -> Structured:
    """Gaussian columns, or their absolute values, which all point the same way."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, n))
    M = np.abs(M) if design == "positive" else M
    clean = M[:, rng.choice(n, k, replace=False)] @ rng.uniform(0.5, 1.5, k)
    return Structured(M, _noisy(clean, noise, rng), k)


def _noisy(clean: Vector, noise: float, rng: Any) -> Vector:
    e = rng.standard_normal(clean.size)
    return clean + noise * np.linalg.norm(clean) / np.linalg.norm(e) * e
