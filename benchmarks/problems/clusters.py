"""Problems during which workers of a cluster are killed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchmarks.problems import blocks, matrices

Judged = tuple[dict[str, float], Any]


@dataclass(frozen=True, eq=False)
class Killed:
    """A problem, and during how many fits a worker is killed; what comes back are figures."""

    problem: Any
    kills: int

    def judge(self, answer: dict[str, float]) -> Judged:
        return answer, None


def entries(p: int, q: int, k: int, count: int, kills: int, seed: int) -> Killed:
    return Killed(matrices.planted(p, q, k, count, seed), kills)


def rows(m: int, n: int, k: int, classes: bool, kills: int, seed: int) -> Killed:
    return Killed(blocks.tall(m, n, k, classes, seed, max(1, m // 8)), kills)


@dataclass(frozen=True, eq=False)
class Three:
    """Fits that ask different things of a network: blocks that go along with small vectors, blocks with long ones of
    their own, and factors that everybody needs."""

    tall: blocks.Made
    long: blocks.Made
    planted: matrices.Planted
    network: Mapping[str, float]

    def judge(self, answer: dict[str, float]) -> Judged:
        return answer, None


@lru_cache(maxsize=1)
def _drawn(m: int, count: int, seed: int) -> tuple[blocks.Made, blocks.Made, matrices.Planted]:
    return (
        blocks.tall(m, 50, 5, True, seed, max(1, m // 40)),
        blocks.tall(10 * m, 4, 2, True, seed, max(1, m // 4)),
        matrices.planted(count // 100, count // 400, 10, count, seed),
    )


def three(m: int, count: int, workers: int, latency: float, wire: float, seed: int) -> Three:
    return Three(*_drawn(m, count, seed), {"workers": workers, "latency": latency, "wire": wire})


def nothing(seed: int) -> Killed:
    """What is asked is asked of a formula."""
    return Killed(None, 0)


def small(name: str) -> Any:
    if name == "three":
        return three(2000, 50_000, 2, 1e-3, 1e8, 0)
    if name == "nothing":
        return nothing(0)
    return entries(400, 100, 3, 20_000, 0, 0) if name == "entries" else rows(800, 6, 2, False, 0, 0)
