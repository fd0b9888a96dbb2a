"""Problems during which workers of a cluster are killed."""

from __future__ import annotations

from dataclasses import dataclass
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


def small(name: str) -> Killed:
    return entries(400, 100, 3, 20_000, 0, 0) if name == "entries" else rows(800, 6, 2, False, 0, 0)
