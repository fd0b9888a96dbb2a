"""Sound problems that are odd: what a crash is looked for in. Sizes, units, ties, kinds of arrays and words by chance.

Everything drawn here may be asked for: an exception is a crash, a refusal by a message is one too many, and an answer
must be what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from scipy.sparse.linalg import aslinearoperator

from benchmarks.peers.answers import Vector

Judged = tuple[dict[str, Any], Any]
CLOSE = 1e-6  # relative; beyond rounding, even on dependent columns


@dataclass(frozen=True, eq=False)
class Odd:
    """Words for `fit`, or for the door that is named.

    M, b : plain arrays; told : what the door gets for M
    kind : "signed", "nonnegative", "groups"; labels : of groups
    """

    M: Vector
    b: Vector
    told: Any
    k: int | None
    kind: str
    door: str
    words: Mapping[str, Any]
    labels: Any = None
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()

    @property
    def logistic(self) -> bool:
        return self.words.get("loss") == "logistic"

    def judge(self, answer: Any) -> Judged:
        if answer.refused:
            return {"refused": 1.0, "wrong": 0.0}, answer.refused
        why = next((w for s in answer.found for w in self.complaints(*s)), "")
        return {"refused": 0.0, "wrong": float(bool(why))}, why

    def complaints(self, s: Any, b: Vector) -> list[str]:
        """What is not as the answer says."""
        x = np.asarray(s.x, dtype=np.float64)
        if not np.isfinite(x).all() or not np.isfinite(s.loss):
            return ["not finite"]
        chosen = np.flatnonzero(x)
        atoms = chosen if self.labels is None else np.unique(self.labels[chosen])
        r = b - self.M @ x - (float(np.ravel(s.free_coefficients)[0]) if "free" in self.words else 0.0)
        bounded = "misfit" in self.words and not self.logistic
        size = float(np.linalg.norm(b))
        tests = {
            "more than k atoms": self.k is not None and atoms.size > self.k,
            "an atom that was left out": bool(set(atoms) & set(self.exclude)),
            "a negative coefficient": self.kind == "nonnegative" and x.min(initial=0.0) < 0,
            "a coefficient beyond the cap": "cap" in self.words
            and np.abs(x).max(initial=0.0) > self.words["cap"] * (1 + CLOSE),
            "a loss that is not its own": not self._same(s.loss, self._loss(r, b, x), b, x),
            "a loss above that of no atoms": "ridge" not in self.words and self._above_zero(s.loss, b),
            "a bound that is not met": bounded
            and s.success
            and np.linalg.norm(r) > self.words["misfit"] * size * 1.001,
            "a bound that can be met": s.status.name == "UNREACHABLE" and bounded and self._reachable(b),
        }
        return [name for name, found in tests.items() if found]

    def _loss(self, r: Vector, b: Vector, x: Vector) -> float:
        if self.logistic:  # the labels are in M, or they are b
            return float(np.logaddexp(0.0, r if not b.any() else -b * (b - r)).sum())
        return float(r @ r) / 2

    def _same(self, told: float, own: float, b: Vector, x: Vector) -> bool:
        """Up to the rounding of terms that cancel."""
        scale = float(b @ b) + float(np.sum((np.abs(self.M) @ np.abs(x)) ** 2)) * 1e-6 + self.logistic * b.size
        return abs(told - own) <= CLOSE * own + 1e-9 * scale

    def _above_zero(self, loss: float, b: Vector) -> bool:
        none = b.size * float(np.log(2)) if self.logistic else float(b @ b) / 2
        return loss > none * (1 + CLOSE)

    def _reachable(self, b: Vector) -> bool:
        """By any number of atoms, well within the bound."""
        if "cap" in self.words or self.exclude or "free" in self.words:
            return False
        lengths = np.linalg.norm(self.M, axis=0)
        M = self.M / np.where(lengths > 0, lengths, 1.0)
        least = nnls(M, b)[1] if self.kind == "nonnegative" else np.linalg.norm(b - M @ np.linalg.lstsq(M, b)[0])
        return bool(least < 0.5 * self.words["misfit"] * np.linalg.norm(b))


def small(name: str) -> Odd:
    return drawn(1)


def drawn(seed: int) -> Odd:
    rng = np.random.default_rng(seed)
    m, n = (int(rng.integers(1, 13)) for _ in range(2))
    kind = str(rng.choice(["signed", "nonnegative", "groups"], p=[0.4, 0.4, 0.2]))
    M = _matrix(m, n, kind, rng)
    labels = np.sort(rng.integers(0, max(1, n // 2), n)) if kind == "groups" else None
    count = n if labels is None else int(np.unique(labels).size)
    k: int | None = int(rng.integers(1, count + 1))
    b = _data(M, kind, rng)
    words, include, exclude = _words(m, rng), (), ()
    if words.get("loss") == "logistic":
        b = np.where(rng.random(m) < 0.5, 1.0, -1.0)
        b[: min(2, m)] = [1.0, -1.0][:m]
        if m == 1 or rng.random() < 0.5:
            M, b = M * b[:, None], np.zeros(m)
            words.pop("free", None)  # a column of ones is none beside labels in M
        words.pop("misfit", None)
    elif rng.random() < 0.15 and count > 2:
        names = np.arange(n) if labels is None else np.unique(labels)
        picked = tuple(int(j) for j in rng.permutation(names)[:2])
        include, exclude = ((picked[0],), ()) if rng.random() < 0.5 and k else ((), (picked[1],))
        k = max(1, min(k, count - 1))
    if "misfit" in words and rng.random() < 0.3:
        k = None
    # `fit_many` answers for each column, and a path has a budget for each answer
    doors = ["fit"] if include or exclude or k is None or words.get("loss") else ["fit", "fit", "fit", "many", "path"]
    door = str(rng.choice(doors))
    told = _told(M, rng) if words.get("loss") is None else M
    return Odd(M, b, told, k, kind, door, words, labels, include, exclude)


def _matrix(m: int, n: int, kind: str, rng: Any) -> Vector:
    """Gaussian, and now and then with columns that are equal, opposite, zero, mixed, nearly the same, or in odd units;
    all numbers small integers for ties."""
    M = rng.standard_normal((m, n))
    if kind == "nonnegative" and rng.random() < 0.7:
        M = np.abs(M)
    oddities = rng.random(6) < 0.2
    if oddities[0]:
        M = np.round(2 * M)
    if n > 1:
        i, j = rng.permutation(n)[:2]
        if oddities[1]:
            M[:, i] = rng.choice([1.0, -1.0, 2.0]) * M[:, j]
        if oddities[2]:
            M[:, i] = 0.0
        if oddities[3]:
            M[:, i] = M[:, j] + 10 ** rng.uniform(-9, -3) * M[:, i]
    if oddities[4] and n > 2:
        mixed = n // 3
        M[:, :mixed] = M[:, mixed:] @ rng.random((n - mixed, mixed)) / 3
    if oddities[5]:
        M *= 10 ** rng.uniform(-6, 6, n if rng.random() < 0.5 else 1)
    return M


def _data(M: Vector, kind: str, rng: Any) -> Vector:
    m, n = M.shape
    x = rng.standard_normal(n) * (rng.random(n) < 0.5)
    x = np.abs(x) if kind == "nonnegative" else x
    clean = M @ x
    noise = rng.standard_normal(m)
    which = rng.random()
    if which < 0.3:
        return clean
    if which < 0.4:
        return M[:, int(rng.integers(n))].copy()
    if which < 0.5:
        return noise
    if which < 0.53:
        return np.zeros(m)
    scale = float(np.linalg.norm(clean)) or 1.0
    return clean + 10 ** rng.uniform(-8, 0) * scale / np.sqrt(m) * noise


def _words(m: int, rng: Any) -> dict[str, Any]:
    chances = {
        "misfit": lambda: float(10 ** rng.uniform(-6, -0.3)),
        "cap": lambda: float(10 ** rng.uniform(-1, 1)),
        "ridge": lambda: float(10 ** rng.uniform(-2, 1)),
        "free": lambda: "intercept",
        "effort": lambda: str(rng.choice(["quick", "thorough"])),
        "loss": lambda: "logistic",
    }
    often = {"misfit": 0.25, "cap": 0.1, "ridge": 0.15, "free": 0.15, "effort": 0.1, "loss": 0.1}
    words = {name: make() for name, make in chances.items() if rng.random() < often[name]}
    if words.get("loss") and not {"cap", "ridge"} & set(words):
        words["cap"] = 10.0  # separable classes have no best coefficients without one
    if m < 2:
        words.pop("free", None)
    return words


def _told(M: Vector, rng: Any) -> Any:
    """The same numbers in another guise."""
    ways = (
        lambda: M,
        lambda: M,
        lambda: np.asfortranarray(M),
        lambda: np.repeat(M, 2, axis=1)[:, ::2],
        lambda: sparse.csr_array(M),
        lambda: aslinearoperator(M),
    )
    return ways[int(rng.integers(len(ways)))]()
