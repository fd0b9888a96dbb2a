"""Matrices as sums of parts: low rank, entries, blocks; with gaps, with budgets left open; the estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import fewatoms as fa
from fewatoms.callbacks import Deadline
from fuzzed import judging

WAYS = ("sum", "sum", "union", "two scales", "estimator")


@dataclass(frozen=True)
class Drawn:
    """A matrix X, parts of which may be missing, and what is asked of it."""

    way: str
    X: np.ndarray
    seen: np.ndarray
    block: tuple[int, int]
    k: Any
    words: dict[str, Any]
    huber: bool = False
    seconds: float | None = None
    certified: bool = False

    @property
    def told(self) -> tuple[str, ...]:
        words = [f"{name}={value}" for name, value in self.words.items()]
        gaps = f"{int((~self.seen).sum())} missing"
        more = ["huber"] * self.huber + [f"seconds={self.seconds}"] * (self.seconds is not None)
        return (self.way, str(self.X.shape), gaps, f"k={self.k}", *words, *more)


def drawn(seed: int) -> Drawn:
    rng = np.random.default_rng([seed, 3])
    way, (p, q) = str(rng.choice(WAYS)), (int(n) for n in rng.integers(3, 31, 2))
    r, s = int(rng.integers(1, 3)), int(rng.integers(1, 1 + p * q // 6))
    X = rng.standard_normal((p, r)) @ rng.standard_normal((r, q)) + 10 ** rng.uniform(-6, 0) * rng.standard_normal(
        (p, q)
    )
    block = int(rng.integers(1, p + 1)), int(rng.integers(1, q + 1))
    if way == "two scales":
        X[: block[0], : block[1]] += 3.0 * rng.standard_normal((block[0], 1)) * rng.standard_normal(block[1])
    else:
        X.flat[rng.choice(p * q, s, replace=False)] += 5.0 * rng.standard_normal(s)
    if rng.random() < 0.15:
        X = np.round(X)
    X = X * 10 ** rng.uniform(-4, 4) ** float(rng.random() < 0.2)
    gaps = way in ("sum", "estimator") and rng.random() < 0.3
    seen = rng.random((p, q)) < 0.8 if gaps else np.ones((p, q), dtype=bool)
    seen[0, 0] = True
    k: Any = (r, s)
    words: dict[str, Any] = {}
    if rng.random() < 0.4:
        k = tuple(None if rng.random() < 0.6 else one for one in k)
    if rng.random() < 0.4 and way != "estimator":
        words["misfit"] = float(10 ** rng.uniform(-5, -0.3))
    if way == "union":
        k = k if rng.random() < 0.5 else None
    if way == "two scales":
        k = r, int(rng.integers(1, 4))
    if rng.random() < 0.1 and way != "estimator":
        words["effort"] = str(rng.choice(["quick", "thorough"]))
    huber = way == "sum" and "misfit" not in words and rng.random() < 0.15
    seconds = float(10 ** rng.uniform(-4, -1)) if way != "estimator" and rng.random() < 0.1 else None
    return Drawn(way, X, seen, block, k, words, huber, seconds, bool(rng.random() < 0.2))


def answer(it: Drawn) -> Any:
    p, q = it.X.shape
    low, few = fa.RankOne(p, q), fa.SignedOneHot((p, q))
    if it.way == "estimator":
        return _estimated(it)
    atoms = {
        "sum": lambda: low + few,
        "union": lambda: low | few,
        "two scales": lambda: low + fa.BlockRankOne((p, q), it.block),
    }[it.way]()
    words: dict[str, Any] = {"atoms": atoms, "k": it.k, **it.words}
    if it.huber:
        words["loss"] = fa.Huber(1.0)
    if it.seconds is not None:
        words["callback"] = Deadline(it.seconds)
    if it.seen.all():
        return fa.fit(fa.Identity((p, q)), it.X, **words)
    return fa.fit(fa.Sampling(*np.nonzero(it.seen), (p, q)), it.X[it.seen], **words)


def _estimated(it: Drawn) -> Any:
    from fewatoms.estimators import RobustPCA

    rank, few = it.k if isinstance(it.k, tuple) else (it.k, None)
    model = RobustPCA(rank, few).fit(np.where(it.seen, it.X, np.nan))
    L = model.low_rank_
    assert np.isfinite(L).all(), "a matrix that is not finite"
    assert rank is None or model.rank_ <= rank, "more atoms than k"
    assert np.linalg.norm(model.components_ @ model.components_.T - np.eye(model.rank_)) < 1e-8, "not orthonormal"
    return model.solution_


def asked(it: Drawn) -> judging.Asked:
    def each(r: Any) -> Any:
        return np.where(np.abs(r) <= 1.0, 0.5 * r**2, np.abs(r) - 0.5) if it.huber else 0.5 * r**2

    def count(s: Any) -> Any:
        return tuple(part.cardinality for part in s.parts)

    words = it.words if it.way != "union" or it.k is not None else {"misfit": 1e-6, **it.words}
    return judging.Asked(
        lambda r: float(np.sum(each(np.asarray(r)))), lambda s: np.asarray(s.x)[it.seen], it.X[it.seen], count,
        it.k if isinstance(it.k, tuple) else None, words, misfits=not it.huber,
    )  # fmt: skip


def parts(it: Drawn, s: Any) -> list[str]:
    """Whether parts add up, and are what they are called."""
    own = sum(np.asarray(part.x) for part in s.parts)
    size = np.abs(it.X).max() + max(np.abs(np.asarray(part.x)).max() for part in s.parts)
    values = np.linalg.svd(np.asarray(s.parts[0].x), compute_uv=False)
    rank = int(np.sum(values > 1e-9 * max(values[0], 1e-300)))
    tests = {
        "parts that do not add up": bool((np.abs(own - s.x) > 1e-9 * size).any()),
        "a rank above its own": rank > s.parts[0].cardinality,
        "more entries than their number": it.way != "two scales"
        and np.count_nonzero(s.parts[1].x) > s.parts[1].cardinality,
    }
    return [test for test, failed in tests.items() if failed]


def trial(seed: int) -> tuple[tuple[str, ...], Callable[[], list[str]]]:
    it = drawn(seed)

    def run() -> list[str]:
        s = answer(it)
        wrong = judging.complaints(asked(it), s) + parts(it, s)
        wrong += judging.proven(s) if it.certified else []
        return [f"{word} ({s.status.name})" for word in wrong]

    return it.told, run
