"""Clicks instead of ratings, and nonnegative factors of matrices with gaps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.answers import Vector
from benchmarks.problems.matrices import Entries

FIRST = 10  # recommendations that are judged
STARTS = 3  # seeds of who solves, for each split


class Clicked(NamedTuple):
    """Rows and columns that were clicked on."""

    rows: Any
    cols: Any


def ndcg(left: Vector, right: Vector, seen: Clicked, held: Clicked) -> float:
    """Of the first ten columns of each row that were not seen: the mean over rows that hold something out."""
    scores = np.asarray(left, dtype=np.float64) @ np.asarray(right, dtype=np.float64).T
    scores[seen.rows, seen.cols] = -np.inf
    wanted = np.zeros(scores.shape, dtype=bool)
    wanted[held.rows, held.cols] = True
    first = np.argsort(-scores, axis=1, kind="stable")[:, :FIRST]
    discounts = 1.0 / np.log2(np.arange(FIRST) + 2.0)
    gained = np.take_along_axis(wanted, first, axis=1) @ discounts
    count = wanted.sum(axis=1)
    ideal = np.cumsum(discounts)[np.minimum(count, FIRST) - 1]
    return float(np.mean((gained / ideal)[count > 0]))


@dataclass(frozen=True, eq=False)
class Clicks:
    """Clicks that are shown, those of them that settings are chosen by, and those that are not shown.

    start : the seed of whoever solves
    """

    shape: tuple[int, int]
    shown: Clicked
    part: Clicked
    chosen_by: Clicked
    held: Clicked
    start: int

    def judge(self, answer: Any) -> tuple[dict[str, float], Any]:
        return {**answer.facts, "ndcg": ndcg(answer.left, answer.right, self.shown, self.held)}, None


def _clicks(rows: Any, cols: Any, shape: tuple[int, int], seed: int) -> Clicks:
    """A fifth is not shown; a tenth of the rest is what settings are chosen by."""
    order = np.random.default_rng(seed // STARTS).permutation(rows.size)
    cut, tenth = rows.size // 5, (rows.size - rows.size // 5) // 10
    held, by, part = order[:cut], order[cut : cut + tenth], order[cut + tenth :]
    at = [Clicked(rows[np.sort(some)], cols[np.sort(some)]) for some in (order[cut:], part, by, held)]
    return Clicks(shape, *at, seed % STARTS)


def films(file: str, folder: Path, seed: int, *, users: int | None = None) -> Clicks:
    """Ratings of 4 and 5 as clicks."""
    data = np.load(folder / file)
    rows, cols = data["user"].astype(np.intp) - 1, data["item"].astype(np.intp) - 1
    liked = data["rating"] >= 4
    if users is not None:
        liked &= rows < users
    rows, cols = rows[liked], cols[liked]
    return _clicks(rows, cols, (int(rows.max()) + 1, int(cols.max()) + 1), seed)


# Nonnegative factors


@dataclass(frozen=True, eq=False)
class Parts:
    """A matrix with nonnegative factors and noise, and some of its entries."""

    train: Entries
    k: int

    def judge(self, answer: Any) -> tuple[dict[str, float], Any]:
        left, right = (np.asarray(half, dtype=np.float64) for half in (answer.left, answer.right))
        if min(left.min(), right.min()) < 0:
            raise ValueError("factors must not be negative")
        off = np.einsum("ij,ij->i", left[self.train.rows], right[self.train.cols]) - self.train.values
        return {**answer.facts, "loss": 0.5 * float(off @ off)}, None


def parts(p: int, q: int, k: int, missing: float, seed: int, *, noise: float = 0.1, zeros: float = 0.0) -> Parts:
    """`zeros` : share of the entries of the factors that are zero."""
    rng = np.random.default_rng(seed)
    U, V = (rng.gamma(1.0, 1.0, (n, k)) * (rng.random((n, k)) >= zeros) for n in (p, q))
    X = U @ V.T
    X = np.maximum(X + noise * X.std() * rng.standard_normal(X.shape), 0.0)
    rows, cols = np.nonzero(rng.random(X.shape) >= missing)
    return Parts(Entries(rows, cols, X[rows, cols], X.shape), k)


def small(name: str) -> Any:
    """Enough entries that loops are compiled which would not be for fewer."""
    if name == "parts":
        return parts(300, 200, 3, 0.3, 0)
    rng = np.random.default_rng(0)
    taste = rng.integers(4, size=300)[:, None] == rng.integers(4, size=300)
    rows, cols = np.nonzero(rng.random(taste.shape) < np.where(taste, 0.9, 0.5))
    return _clicks(rows, cols, taste.shape, 0)
