"""Problems so small that all supports can be tried: designs that are easy and designs that are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.answers import Vector

Judged = tuple[dict[str, Any], Any]
DESIGNS = ("plain", "correlated", "units", "mixtures")


@dataclass(frozen=True, eq=False)
class Tiny:
    """Minimise the loss, or the loss plus a ridge, over at most k atoms.

    labels, weights : of groups; None for single columns
    include : columns that are in the answer, where they count
    free : "intercept", or nothing
    classes : b holds labels +-1, and the loss is logistic
    hidden : M is told as an operator that does nothing but multiply
    """

    M: Vector
    b: Vector
    k: int
    labels: Any = None
    weights: Any = None
    nonnegative: bool = False
    include: tuple[int, ...] = ()
    cap: float | None = None
    ridge: float | None = None
    free: str = ""
    classes: bool = False
    hidden: bool = False

    def loss(self, x: Vector, intercept: float = 0.0) -> float:
        """What is minimised, over its value without any atom; the best intercept of least squares is known."""
        if self.classes:
            at = np.logaddexp(0.0, -self.b * (self.M @ x + intercept)).sum()
            return float(at) / (self.b.size * float(np.log(2)))
        lengths = np.linalg.norm(self.centred(self.M), axis=0)
        paid = (self.ridge or 0.0) * float(np.sum((lengths * x) ** 2))
        b = self.centred(self.b)
        return (float(np.sum((b - self.centred(self.M) @ x) ** 2)) + paid) / float(b @ b)

    def centred(self, X: Vector) -> Vector:
        return X - X.mean(axis=0) if self.free else X

    def judge(self, answer: Any) -> Judged:
        x = np.asarray(answer.x, dtype=np.float64)
        chosen = set(np.flatnonzero(x)) | set(self.include)
        atoms = chosen if self.labels is None else set(self.labels[sorted(chosen)])
        assert len(atoms) <= self.k, "more than k atoms"
        assert not (self.nonnegative and x.min() < 0), "a negative coefficient"
        assert not (self.cap and np.abs(x).max() > self.cap * (1 + 1e-9)), "a coefficient beyond the cap"
        return {"loss": self.loss(x, answer.facts.get("intercept", 0.0)), "atoms": len(atoms)}, None


def small(name: str) -> Tiny:
    return columns(7) if name != "classes" else classes(7)


def columns(
    seed: int, *, nonnegative: bool = False, forced: int = 0, capped: bool = False, ridge: float | None = None,
    free: str = "", hidden: bool = False, most: tuple[int, int] = (14, 4), designs: tuple[str, ...] = DESIGNS,
) -> Tiny:  # fmt: skip
    """Least squares over single columns, designs in turn."""
    rng, design = np.random.default_rng(seed), designs[seed % len(designs)]
    n = int(rng.integers(5, most[0] + 1))
    k = int(rng.integers(1 + min(forced, 2), most[1] + 1))
    m = int(rng.integers(3, n)) if design == "wide" else int(rng.integers(n, 2 * n + 8))
    M = _matrix(design, m, n, nonnegative, rng)
    include = tuple(int(j) for j in rng.choice(n, min(forced, k - 1), replace=False)) if forced else ()
    b, x = _data(M, min(k, m), nonnegative, rng)
    cap = float(np.abs(x).max() * rng.uniform(0.3, 1.0)) if capped else None
    return Tiny(M, b, k, nonnegative=nonnegative, include=include, cap=cap, ridge=ridge, free=free, hidden=hidden)


def groups(seed: int, *, weighted: bool = False, correlation: float = 0.0) -> Tiny:
    """Up to seven groups of one to four columns."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 8))
    sizes = np.array([1 + int(s) for s in rng.multinomial(14 - count, np.ones(count) / count)]).clip(1, 4)
    labels, n = np.repeat(np.arange(count), sizes), int(sizes.sum())
    k, m = int(rng.integers(1, min(4, count - 1) + 1)), int(rng.integers(n, 2 * n + 8))
    M = _matrix("correlated" if correlation else "plain", m, n, False, rng, correlation)
    x = np.isin(labels, rng.choice(count, k, replace=False)) * rng.standard_normal(n)
    weights = rng.uniform(0.3, 3.0, count) if weighted else None
    return Tiny(M, _noisy(M @ x, rng), k, labels, weights)


def classes(seed: int, *, free: str = "") -> Tiny:
    """Labels drawn from a few columns, and every seventh of them drawn from nothing."""
    rng, design = np.random.default_rng(seed), DESIGNS[seed % 3]
    n, k, m = int(rng.integers(5, 11)), int(rng.integers(1, 4)), int(rng.integers(50, 90))
    M = _matrix(design, m, n, False, rng)
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = rng.standard_normal(k)
    margins = M @ x
    odds = 2 * margins / margins.std() + (0.5 if free else 0.0)
    chance = np.where(np.arange(m) % 7 == 0, 0.5, 1 / (1 + np.exp(-odds)))
    return Tiny(M, np.where(rng.random(m) < chance, 1.0, -1.0), k, free=free, classes=True)


def _matrix(design: str, m: int, n: int, positive: bool, rng: Any, correlation: float = 0.9) -> Vector:
    columns = rng.standard_normal((n, m))
    if design == "correlated":
        for j in range(1, n):
            columns[j] = correlation * columns[j - 1] + np.sqrt(1 - correlation**2) * columns[j]
    columns = np.abs(columns) if positive else columns
    if design == "units":
        columns *= 10 ** rng.uniform(-2, 2, (n, 1))
    if design == "mixtures":  # some are sums of others
        mixed = max(1, n // 3)
        columns[:mixed] = rng.random((mixed, n - mixed)) @ columns[mixed:] / 3
    return columns.T.copy()


def _data(M: Vector, k: int, positive: bool, rng: Any) -> tuple[Vector, Vector]:
    """Mostly a few columns and noise; now and then one column alone, or nothing but noise."""
    m, n = M.shape
    kind, x = rng.random(), np.zeros(n)
    x[rng.choice(n, k, replace=False)] = np.abs(rng.standard_normal(k)) if positive else rng.standard_normal(k)
    x /= np.linalg.norm(M, axis=0)
    if kind < 0.1:
        x = np.eye(n)[int(rng.integers(n))]
        return M @ x, x
    if kind < 0.2:
        return np.abs(rng.standard_normal(m)) if positive else rng.standard_normal(m), x
    return _noisy(M @ x, rng), x


def _noisy(clean: Vector, rng: Any) -> Vector:
    e = rng.standard_normal(clean.size)
    return clean + rng.uniform(0, 0.5) * np.linalg.norm(clean) / np.linalg.norm(e) * e
