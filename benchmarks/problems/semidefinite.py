"""Semidefinite matrices by chance: data enough for them or not, real and complex, units far apart, noise.

An answer must be what it says, read from `x` alone, and a bound that is met with k atoms is met with one more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.answers import Vector

Judged = tuple[dict[str, Any], Any]
CLOSE = 1e-6  # relative, and of |b|: what rounding may do to a misfit
LONGEST = 30  # rows of a matrix


@dataclass(frozen=True, eq=False)
class Forms:
    """b_j = <Z_j, X> + noise.

    kind : "quadratic" (`given` is A), "sampling" (rows and columns of entries) or "array" (m x n^2)
    """

    kind: str
    given: Any
    b: Vector
    n: int
    k: int
    misfit: float | None

    def image(self, X: Vector) -> Vector:
        """The data of a matrix that is written out."""
        if self.kind == "quadratic":
            return np.einsum("ij,jk,ik->i", self.given, X, self.given.conj()).real
        return X.real[self.given] if self.kind == "sampling" else self.given @ X.real.ravel()

    def judge(self, answer: Any) -> Judged:
        complaints = [why for s in answer.found for why in self._complaints(s)]
        met = [bool(s.success) for s in answer.found]
        lost = self.misfit is not None and len(met) > 1 and met[0] and not met[1]
        said = complaints[0] if complaints else "a bound that was met with one atom less" if lost else ""
        return {"wrong": float(bool(complaints)), "lost": float(lost), "slowest": max(answer.seconds)}, said

    def _complaints(self, s: Any) -> list[str]:
        X, size = np.asarray(s.x), float(np.linalg.norm(self.b))
        if not np.isfinite(X).all():
            return ["not finite"]
        misfit = float(np.linalg.norm(self.b - self.image(X))) / size
        values = np.linalg.eigvalsh(X)
        left = s.left @ s.left.conj().T
        bound = math.inf if self.misfit is None else self.misfit
        tests = {
            "a misfit that is not its own": abs(misfit - s.misfit) > CLOSE * (1 + misfit),
            "a bound that is not met": s.success and misfit > bound * (1 + CLOSE) + 1e-9,
            "a bound that is met": not s.success and misfit < bound * (1 - CLOSE),
            "a matrix that is not semidefinite": values[0] < -1e-9 * max(values[-1], 0.0),
            "more than k atoms": s.cardinality > self.k + 1,
            "factors of another matrix": np.abs(left - X).max() > 1e-9 * max(np.abs(X).max(), 1e-300),
        }
        return [name for name, found in tests.items() if found]


def small(name: str) -> Forms:
    return drawn(seed=1)


def drawn(seed: int, kinds: tuple[str, ...] = ("quadratic",) * 4 + ("sampling", "array")) -> Forms:
    rng = np.random.default_rng(seed)
    n, kind = int(rng.integers(1, LONGEST + 1)), kinds[rng.integers(len(kinds))]
    cplx = kind == "quadratic" and bool(rng.integers(2))
    few = min(n, 4)

    def some() -> int:
        """A few, or any number up to n."""
        return int(rng.integers(1, few + 1) if rng.random() < 0.5 else rng.integers(1, n + 1))

    def draw(*shape: int) -> Vector:
        return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if cplx else 0.0)

    m, L = int(rng.integers(1, 4 * n + 1)), draw(n, some())
    if kind == "quadratic":
        given: Any = draw(m, n)
        units = rng.integers(4)  # those of rows or of columns, in half of the draws
        given = given * 10.0 ** rng.uniform(-2, 2, (m, 1) if units == 1 else n) if units in (1, 2) else given
    elif kind == "sampling":
        given = np.divmod(rng.permutation(n * n)[: min(m, n * n)], n)
    else:
        given = draw(m, n * n)
    problem = Forms(kind, given, np.zeros(0), n, some(), [None, 1e-6, 1e-3, 0.1][rng.integers(4)])
    b = problem.image(L @ L.conj().T)
    level = (0.0, 0.0, 1e-3, 0.1, 1.0)[rng.integers(5)]
    b = b + level * np.linalg.norm(b) / math.sqrt(b.size) * rng.standard_normal(b.size)
    b = b if b.max() > 0 else np.abs(b) + 1e-3
    return Forms(kind, given, b, n, problem.k, problem.misfit)
