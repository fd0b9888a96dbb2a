"""Matrices from some of their entries: temperatures, ratings, planted ones, and the first fit of a process."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.peers.answers import Factors, Filled, Vector

Judged = tuple[dict[str, float], Any]
MISSING = -9999  # in the temperatures of cities


@dataclass(frozen=True, eq=False)
class Entries:
    """Some entries of a matrix, row by row."""

    rows: Any
    cols: Any
    values: Vector
    shape: tuple[int, int]

    @property
    def size(self) -> int:
        return self.values.size

    def at(self, places: Any) -> Entries:
        return Entries(self.rows[places], self.cols[places], self.values[places], self.shape)

    def coo(self) -> sparse.coo_matrix:
        """For cmfrec, which refuses other indices; zeros among the values stay entries."""
        places = self.rows.astype(np.int32, copy=False), self.cols.astype(np.int32, copy=False)
        return sparse.coo_matrix((self.values, places), shape=self.shape)

    def csr(self) -> sparse.csr_matrix:
        A = sparse.csr_matrix((self.values, (self.rows, self.cols)), shape=self.shape)
        A.sort_indices()
        return A

    def dense(self) -> Vector:
        """With NaN where nothing is known."""
        X = np.full(self.shape, np.nan)
        X[self.rows, self.cols] = self.values
        return X


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix, which of its entries are known, and which of those are shown."""

    known: Entries
    shown: Any  # places among the known
    held: Any
    k: int
    scale: tuple[float, float] | None = None  # of ratings: predictions are clipped to it
    train: Entries = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "train", self.known.at(self.shown))

    def judge(self, answer: Any) -> Judged:
        trace = getattr(answer, "trace", None)
        if self.scale is not None:
            test = self.known.at(self.held)
            off = np.clip(answer.predict(test.rows, test.cols), *self.scale) - test.values
            return {**answer.facts, "rmse": float(np.sqrt(np.mean(off**2)))}, trace
        off = answer.predict(self.known.rows, self.known.cols) - self.known.values
        held = float(np.linalg.norm(off[self.held]) / np.linalg.norm(self.known.values[self.held]))
        figures = {**answer.facts, "held_out": held}
        if not isinstance(answer, Filled):  # imputers return what they were given: they have no error there
            figures["known"] = float(np.linalg.norm(off) / np.linalg.norm(self.known.values))
        return figures, trace


def small(name: str) -> Any:
    """Enough entries that loops are compiled which would not be for fewer."""
    if name == "first_fit":
        return first_fit(20_000, "inherited", 0)
    p = planted(400, 100, 3, 36_000, 0)
    if name == "planted":
        return p
    order = np.random.default_rng(0).permutation(p.train.size)
    scale = (-10.0, 10.0) if name in ("ratings", "rated") else None
    return Table(p.train, np.sort(order[:30_000]), np.sort(order[30_000:]), 3, scale)


def temperatures(
    file: str, k: int, folder: Path, seed: int, *, days: int | None = None, rows: int | None = None
) -> Table:
    """Half of the known entries; cities have few gaps, station-years none."""
    data = np.load(folder / file)
    if "tavg_f_x10" in data:
        tenths = data["tavg_f_x10"][:, :days]
        missing = tenths == MISSING
        kept = missing.mean(axis=1) <= 0.05
        X, known = ((tenths[kept] / 10 - 32) / 1.8).T, ~missing[kept].T
    else:
        X = data["tavg_x20"][:rows] / 20
        known = np.ones(X.shape, dtype=bool)
    at = np.nonzero(known)
    entries = Entries(*at, X[at], X.shape)
    order = np.random.default_rng(seed).permutation(entries.size)
    half = entries.size // 2
    return Table(entries, np.sort(order[:half]), np.sort(order[half:]), k)


def ratings(
    file: str, k: int, scale: tuple[float, float], folder: Path, seed: int, *, users: int | None = None
) -> Table:
    """Nine tenths are shown."""
    data = np.load(folder / file)
    if "user" in data:
        rows, cols = data["user"].astype(np.intp) - 1, data["item"].astype(np.intp) - 1
        whole = Entries(rows, cols, data["rating"].astype(np.float64), (int(rows.max()) + 1, int(cols.max()) + 1))
    else:
        hundredths = data["ratings_x100"][:users]
        at = np.nonzero(hundredths != -32768)
        whole = Entries(*at, hundredths[at] / 100.0, hundredths.shape)
    order = np.random.default_rng(seed).permutation(whole.size)
    cut = round(0.9 * whole.size)
    return Table(whole, np.sort(order[:cut]), np.sort(order[cut:]), k, scale)


def rated(
    p: int, q: int, count: int, k: int, scale: tuple[float, float], step: float, seed: Any, *, noise: float = 0.8
) -> Table:
    """Ratings in steps, of rank 8 beside biases and noise; few rows and columns have most of them. Nine tenths are
    shown."""
    rng = np.random.default_rng(seed)
    often = [rng.permutation(np.arange(1, n + 1) ** -0.8) for n in (p, q)]
    places = np.zeros(0, dtype=np.int64)
    while places.size < count:
        i, j = (rng.choice(w.size, 2 * count, p=w / w.sum()) for w in often)
        places = np.unique(np.concatenate([places, i * q + j]))
    rows, cols = np.divmod(np.sort(rng.choice(places, count, replace=False)), q)
    U, V = rng.standard_normal((p, 8)), rng.standard_normal((q, 8)) * 0.7 ** np.arange(8)
    low = np.einsum("ij,ij->i", U[rows], V[cols])
    beside = 0.4 * rng.standard_normal(p)[rows] + 0.5 * rng.standard_normal(q)[cols]
    values = sum(scale) / 2 + 0.3 + beside + 0.5 * low / low.std() + noise * rng.standard_normal(count)
    whole = Entries(rows, cols, np.clip(np.round(values / step) * step, *scale), (p, q))
    order, cut = rng.permutation(count), round(0.9 * count)
    return Table(whole, np.sort(order[:cut]), np.sort(order[cut:]), k, scale)


# Planted

NOISE = 0.1  # standard deviation, in units of that of the entries


@dataclass(frozen=True, eq=False)
class Planted:
    """A matrix of low rank, U V', and some of its entries with noise."""

    U: Vector
    V: Vector
    train: Entries

    @property
    def k(self) -> int:
        return self.U.shape[1]

    def judge(self, answer: Any) -> Judged:
        """|X - X0| / |X0| in Frobenius norm, from the factors: X = left right' is not formed."""
        p = np.concatenate([np.asarray(answer.left, dtype=np.float64), self.U], axis=1)
        q = np.concatenate([np.asarray(answer.right, dtype=np.float64), -self.V], axis=1)
        # QR first: the difference is small, and would drown in the rounding of its square
        off = np.linalg.qr(p, mode="r") @ np.linalg.qr(q, mode="r").T
        truth = np.linalg.qr(self.U, mode="r") @ np.linalg.qr(self.V, mode="r").T
        # what noise of this size leaves to the best of estimates, to first order
        ideal = NOISE * math.sqrt(sum(self.train.shape) * self.k / self.train.size)
        return {**answer.facts, "over_ideal": float(np.linalg.norm(off) / np.linalg.norm(truth)) / ideal}, None

    def memory(self, extra: int) -> dict[str, float]:
        return {"per_entry": extra / self.train.size}


def planted(p: int, q: int, k: int, count: int, seed: Any) -> Planted:
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((p, k)), rng.standard_normal((q, k))
    if 3 * count > p * q:
        places = np.sort(rng.choice(p * q, count, replace=False))
    else:  # draws with repetitions, a few too many, thinned out to distinct ones: no list of all places
        places = np.zeros(0, dtype=np.int64)
        while places.size < count:
            places = np.unique(np.concatenate([places, rng.integers(p * q, size=count - places.size + count // 50)]))
        places = np.delete(places, rng.choice(places.size, places.size - count, replace=False))
    rows, cols = (places // q).astype(np.int32), (places % q).astype(np.int32)
    del places
    values = Factors(U, V).predict(rows, cols)
    values += NOISE * values.std() * rng.standard_normal(count)
    return Planted(U, V, Entries(rows, cols, values, (p, q)))


# The first fit of a process

START = """
import json, logging, sys, time

lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append(record.getMessage())
logging.getLogger("fewatoms").addHandler(handler)
logging.getLogger("fewatoms").setLevel(logging.INFO)

import numpy as np
import fewatoms as fa

p, q, count = 2000, 1000, int(sys.argv[1])
rng = np.random.default_rng(0)
rows, cols = np.divmod(np.sort(rng.choice(p * q, count, replace=False)), q)
U, V = rng.standard_normal((p, 5)), rng.standard_normal((q, 5))
values = np.einsum("ij,ij->i", U[rows], V[cols]) + 0.1 * rng.standard_normal(count)
seconds = []
for _ in range(2):
    began = time.perf_counter()
    fa.fit(fa.Sampling(rows, cols, (p, q)), values, atoms=fa.RankOne(p, q), k=5)
    seconds.append(time.perf_counter() - began)
print(json.dumps({"overhead": seconds[0] - seconds[1], "logged": len(lines)}))
"""


@dataclass(frozen=True, eq=False)
class FirstFit:
    """A fresh process that fits twice; with compiled loops on disk, or with none."""

    count: int
    cache: str

    def run(self) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as empty:
            changed = {"NUMBA_CACHE_DIR": empty} if self.cache == "empty" else {}
            command = [sys.executable, "-c", START, str(self.count)]
            done = subprocess.run(command, env={**os.environ, **changed}, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
        return json.loads(done.stdout.splitlines()[-1])

    def judge(self, answer: dict[str, float]) -> Judged:
        return answer, None


def first_fit(count: int, cache: str, seed: int) -> FirstFit:
    return FirstFit(count, cache)
