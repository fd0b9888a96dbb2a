"""Groups of columns, and losses other than least squares, for proofs that no other k classes are better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.answers import Vector
from benchmarks.problems.proven import Judged


@dataclass(frozen=True, eq=False)
class Bent:
    """A loss of b - Mx and ridge / 2 times the squares of x, over at most k columns of length 1, or groups of them."""

    M: Vector
    b: Vector
    k: int
    ridge: float
    atoms: Any
    loss: Any

    def judge(self, answer: Any) -> Judged:
        return {**answer.facts, "value": answer.facts["value"]}, None


def small(name: str) -> Bent:
    if name == "groups":
        return groups(0, m=40, count=8, size=3, k=2, ridge=0.3, correlation=0.5, snr=1.0)
    return smooth(0, m=60, n=12, k=2, ridge=0.3, correlation=0.5, loss="huber")


def _columns(rng: np.random.Generator, m: int, n: int, correlation: float) -> Vector:
    """Gaussian rows with a correlation from one column to the next."""
    M = rng.standard_normal((m, n))
    for j in range(1, n if correlation else 0):
        M[:, j] = correlation * M[:, j - 1] + np.sqrt(1 - correlation**2) * M[:, j]
    return np.ascontiguousarray(M / np.linalg.norm(M, axis=0))


def _noisy(clean: Vector, e: Vector, snr: float) -> Vector:
    return np.asarray(clean + e * np.linalg.norm(clean) / np.linalg.norm(e) / np.sqrt(snr))


def groups(seed: int, *, m: int, count: int, size: int, k: int, ridge: float, correlation: float, snr: float) -> Bent:
    """Gaussian coefficients in k groups, Gaussian noise."""
    import fewatoms as fa

    rng = np.random.default_rng(seed)
    M, labels = _columns(rng, m, count * size, correlation), np.repeat(np.arange(count), size)
    x = np.where(np.isin(labels, rng.choice(count, k, replace=False)), rng.standard_normal(labels.size), 0.0)
    return Bent(M, _noisy(M @ x, rng.standard_normal(m), snr), k, ridge, fa.Groups(labels), fa.LeastSquares())


def smooth(seed: int, *, m: int, n: int, k: int, ridge: float, correlation: float, loss: str) -> Bent:
    """k columns with coefficients +-1 in units of their deviation: labels drawn from what they say, or noise with heavy
    tails and a signal five times as loud."""
    import fewatoms as fa

    rng = np.random.default_rng(seed)
    M = _columns(rng, m, n, correlation)
    clean = np.sqrt(m) * M[:, rng.choice(n, k, replace=False)] @ rng.choice([-1.0, 1.0], k)
    if loss == "huber":
        b = _noisy(clean, rng.standard_t(2, m), 5.0)
        delta = 1.35 * 1.4826 * float(np.median(np.abs(b - clean)))
        return Bent(M, b, k, ridge, fa.SignedOneHot(n), fa.Huber(delta))
    seen = clean + rng.logistic(size=m)
    if loss == "multinomial":
        return Bent(M, np.digitize(seen, [-1.0, 1.0]), k, ridge, fa.SignedOneHot(n), fa.Multinomial())
    return Bent(M, (seen > 0).astype(np.int64), k, ridge, fa.SignedOneHot(n), fa.Logistic())
