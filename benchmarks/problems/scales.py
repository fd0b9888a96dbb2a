"""Pictures that are sums over scales: a few pixels, blocks of rank one of two sizes, and a matrix of low rank."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.answers import Vector

SIDES = (1, 4, 16)
KINDS = ("windows", "smooth", "noise")
CLOSE = 0.02  # of a part, beyond what noise moves it by: it is found


@dataclass(frozen=True, eq=False)
class Scales:
    """b = the sum of the parts, finest first, and noise; k : how many atoms each has; misfit : the noise."""

    b: Vector
    parts: tuple[Vector, ...]
    k: tuple[int, ...]
    misfit: float = 0.0
    seen: Vector | None = None

    def judge(self, answer: Any) -> tuple[dict[str, float], Any]:
        """The truth need not be the only answer that explains the data: `as_good` does not ask for it."""
        seen = np.ones(self.b.shape, dtype=bool) if self.seen is None else self.seen
        found = answer.parts
        errors = [
            np.linalg.norm((x - t)[seen]) / np.linalg.norm(t[seen]) for x, t in zip(found, self.parts, strict=True)
        ]
        left, truth = (float(np.linalg.norm((self.b - sum(p))[seen])) for p in (found, self.parts))
        size = float(np.linalg.norm(self.b[seen]))
        figures = {"residual": left / size, "part": float(max(errors))}
        figures["parts_found"] = float(max(errors) <= CLOSE + 3 * self.misfit)
        figures["as_good"] = float(left <= truth * 1.001 + 1e-9 * size)
        return figures | dict(answer.facts), None

    def memory(self, extra: float) -> dict[str, float]:
        return {"memory": extra / self.b.nbytes}


def authors(file: str, folder: Path, seed: int) -> Scales:
    """The picture of the authors of the paper, rounded to three digits."""
    data = np.load(folder / file)
    parts = tuple(data[name] for name in ("pixels", "blocks4", "blocks16", "whole"))
    return Scales(data["b"], parts, (10, 6, 4, 1))


def drawn(
    seed: int, *, kind: str, side: int = 64, k: tuple[int, ...] = (10, 6, 4, 1), noise: float = 0.0, share: float = 1.0
) -> Scales:
    """A picture of the same build: places, signs and sizes (.7 to 1.3) at random.

    kind : what factors look like: `windows`, all alike and positive, as the authors have them, `smooth` waves under a
        window, or `noise`
    """
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    parts: list[Vector] = []
    for count, length in reversed(list(zip(k, (*SIDES, side), strict=True))):
        parts.insert(0, _part(rng, kind, side, length, count, parts))
    b = sum(parts, start=np.zeros((side, side)))
    e = rng.standard_normal(b.shape)
    b = b + noise * np.linalg.norm(b) / np.linalg.norm(e) * e
    return Scales(b, tuple(parts), k, noise, None if share == 1.0 else rng.random(b.shape) < share)


def _part(rng: np.random.Generator, kind: str, side: int, length: int, count: int, coarser: list[Vector]) -> Vector:
    x, across = np.zeros((side, side)), side // length
    free = np.arange(across**2)
    if length == 1 and kind == "windows":  # a pixel on a window of four entries is not the only way to make their sum
        free = np.flatnonzero(coarser[0].ravel() == 0)
    for place in rng.choice(free, count, replace=length == side):
        i, j = (int(v) * length for v in divmod(int(place), across))
        u, v = _factor(rng, kind, length), _factor(rng, kind, length)
        sign = 1.0 if kind == "windows" else rng.choice([-1.0, 1.0])
        x[i : i + length, j : j + length] += sign * rng.uniform(0.7, 1.3) * np.outer(u, v)
    return x


def _factor(rng: np.random.Generator, kind: str, length: int) -> Vector:
    if length == 1:
        return np.ones(1)
    if kind == "noise":
        u = rng.standard_normal(length)
    elif kind == "smooth":
        t = np.linspace(0.0, 1.0, length)
        wave = 1 + 0.8 * np.cos(2 * np.pi * (rng.uniform(0, 2) * t + rng.random()))
        u = np.hanning(length + 2)[1:-1] * wave
    else:
        u = np.hanning(length)
    return u / np.abs(u).max()


def small(name: str) -> Scales:
    return drawn(0, kind="noise", side=32, k=(3, 2, 1, 1))
