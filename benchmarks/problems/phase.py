"""Phase retrieval: Gaussian rows, coded diffraction, a picture, hard draws. Errors are up to a global phase."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.answers import Vector
from fewatoms import phase
from fewatoms.operators import CodedDiffraction

Judged = tuple[dict[str, float], Any]
FOUND = 1e-5


@dataclass(frozen=True, eq=False)
class Intensities:
    """b = |A x|^2 + noise."""

    A: Any
    b: Vector
    x: Vector
    misfit: float | None = None
    side: int = 0  # of a picture

    def judge(self, answer: Any) -> Judged:
        if self.misfit is not None:  # the lifted problem: X = x x*
            X = np.outer(self.x, self.x.conj())
            figures = {"error": float(np.linalg.norm(answer.x - X) / np.linalg.norm(X))}
            proven = {"least": answer.proven()["least"]} if answer.certified else {}
            return {**answer.facts, **figures, **proven, "trace": float(np.trace(answer.x).real)}, None
        error = phase.relative_error(answer.x, self.x) if np.isfinite(answer.x).all() else math.inf
        shown = phase.align(answer.x, self.x).real.reshape(self.side, self.side) if self.side else None
        figures = {**answer.facts, "error": error, "found": float(error <= FOUND)}
        return figures, {"picture": (self.x.reshape(self.side, self.side), shown)} if self.side else None

    def memory(self, extra: int) -> dict[str, float]:
        return {}


def small(name: str) -> Intensities:
    return gaussian(8, 8, False, 0, misfit=1e-3 if name == "lift" else None)


def _draw(n: int, m: int, cplx: bool, seed: int) -> tuple[Vector, Vector]:
    """A and x with entries of variance 1."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Vector:
        real = rng.standard_normal(shape)
        return (real + 1j * rng.standard_normal(shape)) / math.sqrt(2) if cplx else real

    return draw(m, n), draw(n)


def _measured(A: Any, x: Vector, level: float, seed: int, **facts: Any) -> Intensities:
    b = np.abs(A @ x) ** 2
    if level:
        e = np.random.default_rng(10_000 + seed).standard_normal(b.size)
        b = b + level * np.linalg.norm(b) * e / np.linalg.norm(e)
    return Intensities(A, b, x, **facts)


def gaussian(
    n: int, ratio: float, cplx: bool, seed: int, *, noise: float = 0.0, misfit: float | None = None
) -> Intensities:
    A, x = _draw(n, round(ratio * n), cplx, seed)
    return _measured(A, x, noise, seed, misfit=misfit)


def lift(n: int, ratio: float, cplx: bool, noise: float, misfit: float, seed: int) -> Intensities:
    A, x = _draw(n, round(ratio * n), cplx, seed)
    return _measured(A / math.sqrt(n), x, noise, seed, misfit=misfit)


def coded(n: int, patterns: int, seed: int) -> Intensities:
    """Octanary masks."""
    return _measured(CodedDiffraction.random(n, patterns, rng=seed), _draw(n, 1, True, seed)[1], 0.0, seed)


def image(side: int, patterns: int, noise: float, seed: int) -> Intensities:
    A = CodedDiffraction.random((side, side), patterns, rng=seed)
    return _measured(A, picture(side).ravel(), noise, seed, side=side)


def hard(kind: str, n: int, ratio: float, cplx: bool, seed: int) -> Intensities:
    A, x = _draw(n, round(ratio * n), cplx, seed)
    rng = np.random.default_rng(20_000 + seed)
    if kind == "Cauchy rows":
        A = A * rng.standard_cauchy(len(A))[:, None]
    elif kind == "one huge row":
        A[rng.integers(len(A))] *= 1e6
    elif kind == "sparse rows":
        A = A * (rng.random(A.shape) < 0.2)
    elif kind == "sparse signal":
        x = x * (rng.permutation(n) < 3)
    return _measured(A, x, 0.0, seed)


def picture(side: int) -> Vector:
    """A picture of a few smooth and sharp things, values from 0 to 1: sky, hills, a sun, a house, a fence."""
    v, u = np.mgrid[0:side, 0:side] / side
    image = 0.35 + 0.3 * (1 - v)
    image[(u - 0.75) ** 2 + (v - 0.22) ** 2 < 0.011] = 1.0
    for height, tone in ((0.55, 0.55), (0.68, 0.4)):
        ridge = height + 0.06 * np.sin(9 * u + 20 * height) + 0.03 * np.sin(23 * u)
        image = np.where(v > ridge, tone + 0.1 * np.sin(40 * u) * np.sin(35 * v), image)
    image[(np.abs(u - 0.3) < 0.12) & (np.abs(v - 0.68) < 0.12)] = 0.85
    image[(v < 0.56) & (v > 0.42 + 0.9 * np.abs(u - 0.3)) & (np.abs(u - 0.3) < 0.16)] = 0.2
    image[(np.abs(u - 0.27) < 0.03) & (np.abs(v - 0.74) < 0.06)] = 0.1
    image[(v > 0.86) & (v < 0.95) & ((u * 24) % 1 < 0.4)] = 0.95
    return np.clip(image, 0.0, 1.0)
