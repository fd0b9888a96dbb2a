"""Least squares over single columns, for those who prove that no other k of them are better."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.answers import Vector
from benchmarks.problems import signals

Judged = tuple[dict[str, Any], Any]
GAP = 1e-4  # relative, asked of everybody


@dataclass(frozen=True, eq=False)
class Proven:
    """Half the squares of b - Mx and ridge / 2 times those of x, over at most k columns of length 1."""

    M: Vector
    b: Vector
    k: int
    ridge: float = 0.0
    nonnegative: bool = False
    cap: float | None = None

    def objective(self, x: Vector) -> float:
        r = self.b - self.M @ x
        return 0.5 * float(r @ r) + 0.5 * self.ridge * float(x @ x)

    def judge(self, answer: Any) -> Judged:
        x = np.asarray(answer.x, dtype=np.float64)
        assert not (self.nonnegative and x.min() < 0), "a negative coefficient"
        assert not (self.cap and np.abs(x).max() > self.cap * (1 + 1e-9)), "a coefficient beyond the cap"
        return {**answer.facts, "value": self.objective(x)}, None

    @cached_property
    def atoms(self) -> Any:
        import fewatoms as fa

        n = self.M.shape[1]
        return fa.NonnegativeOneHot(n) if self.nonnegative else fa.SignedOneHot(n)

    @cached_property
    def along(self) -> tuple[float, Vector]:
        """For those who price the number of atoms: a price at which k are best, if any is, and our answer."""
        import fewatoms as fa

        fits = [fa.fit(self.M, self.b, atoms=self.atoms, k=k, ridge=self.ridge) for k in range(self.k - 1, self.k + 2)]
        return 0.5 * (fits[0].objective - fits[2].objective), np.asarray(fits[1].x)


def small(name: str) -> Proven:
    return planted(0, m=30, n=12, k=3, ridge=0.3, design="correlated", snr=1.0)


def _units(M: Vector) -> Vector:
    return np.ascontiguousarray(M / np.linalg.norm(M, axis=0))


def planted(seed: int, *, m: int, n: int, k: int, ridge: float, design: str, snr: float) -> Proven:
    """Gaussian rows, independent or with a correlation of .9 from one column to the next; coefficients +-1."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((m, n))
    if design == "correlated":
        for j in range(1, n):
            M[:, j] = 0.9 * M[:, j - 1] + np.sqrt(1 - 0.81) * M[:, j]
    M = _units(M)
    clean = M[:, rng.choice(n, k, replace=False)] @ rng.choice([-1.0, 1.0], k)
    e = rng.standard_normal(m)
    return Proven(M, clean + e * np.linalg.norm(clean) / np.linalg.norm(e) / np.sqrt(snr), k, ridge)


def diabetes(seed: int, *, k: int) -> Proven:
    """442 patients, ten features, their squares and products: 64 columns, none of them another one over again."""
    from sklearn.datasets import load_diabetes

    X, b = load_diabetes(return_X_y=True)
    i, j = np.triu_indices(X.shape[1])
    M = np.c_[X, X[:, i] * X[:, j]]
    M = M - M.mean(axis=0)
    unit = _units(M)
    twice = np.triu(np.abs(unit.T @ unit), 1).max(axis=0) > 1 - 1e-9
    return Proven(np.ascontiguousarray(unit[:, ~twice]), b - b.mean(), k)


def genes(seed: int, *, name: str, k: int, ridge: float, folder: Path) -> Proven:
    """Expressions of genes, and what they are asked to explain."""
    held = np.load(folder / f"{name}.npz")
    X, b = (held["X"], held["y"]) if "X" in held else (held["X_train"], held["y_train"])
    X = X - X.mean(axis=0)
    return Proven(_units(X[:, np.linalg.norm(X, axis=0) > 0]), b - b.mean(), k, ridge)


def minerals(seed: int, *, folder: Path) -> Proven:
    """A pixel that is a mixture of three spectra of a library, with shares of at most 1."""
    seen = signals.minerals(1, 3, folder, seed)
    return Proven(np.asarray(seen.D), np.asarray(seen.B)[:, 0], 3, nonnegative=True, cap=1.0)
