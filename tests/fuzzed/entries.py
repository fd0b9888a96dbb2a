"""Sampled entries of matrices: ridges, biases, signs, weights, backgrounds; in memory and in blocks; the estimator."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fewatoms as fa
from fewatoms.callbacks import Deadline
from fuzzed import judging

WAYS = ("plain", "biases", "nonnegative", "background", "weights", "blocks", "estimator")


@dataclass(frozen=True)
class Drawn:
    """Entries (rows, cols) with values b of a matrix of some shape, and how they are asked about.

    way : one of WAYS; ks : of a path or a choice; seconds : until a deadline
    """

    way: str
    shape: tuple[int, int]
    rows: np.ndarray
    cols: np.ndarray
    b: np.ndarray
    k: int | None
    words: dict[str, Any]
    door: str
    weights: np.ndarray | None = None
    background: float = 0.0
    scale: float = 1.0
    seconds: float | None = None
    certified: bool = False

    @property
    def told(self) -> tuple[str, ...]:
        words = [f"{name}={value}" for name, value in self.words.items()]
        more = [f"{name}={getattr(self, name)}" for name in ("background", "scale", "seconds") if getattr(self, name)]
        return (self.way, f"{self.b.size} of {self.shape}", self.door, f"k={self.k}", *words, *more)


def drawn(seed: int) -> Drawn:
    rng = np.random.default_rng([seed, 1])
    way, (p, q) = str(rng.choice(WAYS)), (int(n) for n in rng.integers(2, 31, 2))
    rank = int(rng.integers(1, 4))
    factors = [np.abs(f) if way == "nonnegative" else f for f in (rng.standard_normal((n, rank)) for n in (p, q))]
    X = factors[0] @ factors[1].T + (2.0 + rng.standard_normal((p, 1)) if way == "biases" else 0.0)
    there = rng.random((p, q)) < rng.uniform(0.05, 1.0)
    there[rng.integers(p), rng.integers(q)] = True
    rows, cols = np.nonzero(there)
    order = rng.permutation(rows.size)
    rows, cols = rows[order], cols[order]
    noise = 10 ** rng.uniform(-8, 0.5) * rng.standard_normal(rows.size)
    b = (X[rows, cols] + noise) * 10 ** rng.uniform(-4, 4) ** float(rng.random() < 0.2)
    if rng.random() < 0.15:
        b = np.round(b)
    if way == "background":
        b = np.ones(rows.size) if rng.random() < 0.7 else b
    k, words, door = _asked(way, min(p, q, 5), rng)
    weighed = way == "weights" or (way in ("background", "biases") and rng.random() < 0.4)
    return Drawn(
        way, (p, q), rows, cols, b, k, words, door,
        weights=rng.uniform(0.1, 3.0, rows.size) ** 2 if weighed else None,
        background=float(10 ** rng.uniform(-2, 0.5)) if way == "background" else 0.0,
        scale=float(rng.choice([1.0, 1.0, 1.0, 2.5])) if way in ("plain", "weights") else 1.0,
        seconds=float(10 ** rng.uniform(-4, -1)) if door == "fit" and rng.random() < 0.08 else None,
        certified=bool(rng.random() < 0.2),
    )  # fmt: skip


def _asked(way: str, most: int, rng: Any) -> tuple[int | None, dict[str, Any], str]:
    """k, other words and the door."""
    words: dict[str, Any] = {}
    k: int | None = int(rng.integers(1, most + 1))
    bounded = way not in ("background", "estimator") and rng.random() < 0.3
    if bounded:
        words["misfit"] = float(10 ** rng.uniform(-4, 0))
        k = None if way in ("plain", "weights", "blocks") and rng.random() < 0.4 else k
    if rng.random() < 0.6 and not bounded:
        words["ridge"] = "auto" if rng.random() < 0.4 else float(10 ** rng.uniform(-3, 1))
    if way == "biases" or (way == "blocks" and rng.random() < 0.4 and k is not None):
        paid = 0.0 if bounded else float(10 ** rng.uniform(-2, 1))
        words["free"] = fa.Biases(paid) if bounded or isinstance(words.get("ridge"), float) else "biases"
    if rng.random() < 0.1 and way != "estimator":
        words["effort"] = str(rng.choice(["quick", "thorough"]))
    if way == "estimator" and rng.random() < 0.3:
        k = None
    several = k is not None and way not in ("blocks", "estimator")
    door = str(rng.choice(["fit", "fit", "fit", "path", "choose"])) if several else "fit"
    return k, words, door


# Answering -----------------------------------------------------------------------------------------------------------


def _operator(it: Drawn) -> Any:
    background = {"background": it.background} if it.background else {}
    return fa.Sampling(it.rows, it.cols, it.shape, **background)


def _words(it: Drawn) -> dict[str, Any]:
    atoms = fa.RankOne(*it.shape, nonnegative=it.way == "nonnegative")
    words = {"atoms": atoms if it.scale == 1.0 else it.scale * atoms, "loss": fa.LeastSquares(it.weights), **it.words}
    return words if it.seconds is None else {**words, "callback": Deadline(it.seconds)}


def answers(it: Drawn) -> list[tuple[Any, int | None]]:
    if it.way == "estimator":
        return [_estimated(it)]
    if it.way == "blocks":
        return [(_in_blocks(it), it.k)]
    M, words = _operator(it), _words(it)
    if it.door == "fit":
        return [(fa.fit(M, it.b, k=it.k, **words), it.k)]
    ks = list(range(1, (it.k or 1) + 1))
    path = fa.fit_path(M, it.b, k=ks, **words)
    if it.door == "choose":
        assert path.choose_k() in ks
    return [(path[k], k) for k in ks]


def _in_blocks(it: Drawn) -> Any:
    """From a table of ids, beside the answer to the entries in memory."""
    i, rows = np.unique(it.rows, return_inverse=True)
    j, cols = np.unique(it.cols, return_inverse=True)
    shape, order = (i.size, j.size), np.lexsort((cols, rows))
    text = "a,b,v\n" + "".join(
        f"u{r:03d},{3 * c},{v!r}\n" for r, c, v in zip(it.rows, it.cols, it.b.tolist(), strict=True)
    )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.csv").write_text(text)
        M, b = fa.EntryBlocks.of(Path(folder) / "x.csv", engine="serial", entries=1 + it.b.size // 5, folder=folder)
        with M:
            words = _words(it) | {"atoms": fa.RankOne(*shape)}
            s = fa.fit(M, b, k=it.k, **words)
            here = fa.fit(fa.Sampling(rows[order], cols[order], shape), it.b[order], k=it.k, **words)
            if it.seconds is None:
                told = _compared(it, s, here)
                assert not told, f"in blocks and in memory: {told}, {s.status.name} {s.loss!r} for {here.loss!r}"
    return s


def _compared(it: Drawn, s: Any, here: Any) -> list[str]:
    """Where entries abound answers are alike to many digits. Where they are scarce, minima are flat or many, and what
    sums are rounded to decides: what is minimised is alike then."""
    if it.b.size >= 3 * (it.k or 5) * sum(it.shape):
        return judging.alike(s, here)
    size = 0.5 * float(it.b @ it.b)
    same = abs(s.objective - here.objective) <= 1e-3 * max(s.objective, here.objective) + 1e-9 * size
    return [] if same or {s.status.name, here.status.name} != {"SMALLEST_LOSS"} else ["another objective"]


def _estimated(it: Drawn) -> tuple[Any, int | None]:
    """The estimator's answer; what it predicts is what its attributes say."""
    from fewatoms.estimators import MatrixCompletion

    pairs = np.column_stack([it.rows, it.cols])
    model = MatrixCompletion(it.k, biases="free" in it.words, ridge=it.words.get("ridge"))
    model.fit(pairs, it.b)
    i = np.searchsorted(model.row_ids_, it.rows)
    j = np.searchsorted(model.col_ids_, it.cols)
    own = np.einsum("ij,ij->i", model.left_[i], model.right_[j]) + model.center_
    own = own + np.broadcast_to(model.row_biases_, len(model.row_ids_))[i]
    own = own + np.broadcast_to(model.col_biases_, len(model.col_ids_))[j]
    size = np.abs(it.b).max() + np.abs(own).max()
    assert np.abs(model.predict(pairs) - own).max() <= 1e-9 * size, "predictions that are not their own"
    assert it.k is None or model.rank_ <= it.k, "a rank above the one asked for"
    return model.solution_, it.k


# Judging -------------------------------------------------------------------------------------------------------------


def asked(it: Drawn, s: Any, k: int | None) -> judging.Asked:
    rows, cols = it.rows, it.cols
    if np.shape(s.x) != it.shape:  # of the ids that there are
        rows, cols = (np.unique(one, return_inverse=True)[1] for one in (rows, cols))
    W, D = np.full(np.shape(s.x), it.background), np.zeros(np.shape(s.x))
    W[rows, cols], D[rows, cols] = (1.0 if it.weights is None else it.weights), it.b
    beside = {"free", "ridge"} & set(it.words) or it.way in ("background", "estimator")

    def value(r: Any) -> float:
        return 0.5 * float(np.sum(W * np.reshape(r, W.shape) ** 2))

    def image(s: Any) -> Any:
        if s.biases is None:
            return np.asarray(s.x)
        return np.asarray(s.x) + s.biases.center + s.biases.rows[:, None] + s.biases.cols

    def pays(s: Any) -> float:
        """The share of the biases' ridge."""
        return 0.0 if s.biases is None else 0.5 * s.ridge[1] * float(s.biases.rows @ s.biases.rows + _square(s))

    def objective(s: Any) -> float:
        factors = 0.5 * float(np.sum(s.left**2) + np.sum(s.right**2))
        return value(D - image(s)) + pays(s) + s.ridge[0] * factors

    return judging.Asked(
        value, image, D, _rank, k, it.words, pays=bool(beside), extra=pays,
        objective=objective if it.scale == 1.0 else None,
    )  # fmt: skip


def _square(s: Any) -> float:
    return float(s.biases.cols @ s.biases.cols)


def _rank(s: Any) -> int:
    """Of nonnegative factors the number of pairs, which may be above the rank."""
    values = np.linalg.svd(np.asarray(s.x), compute_uv=False)
    return int(np.sum(values > 1e-9 * max(values[0], 1e-300)))


def trial(seed: int) -> tuple[tuple[str, ...], Callable[[], list[str]]]:
    it = drawn(seed)

    def run() -> list[str]:
        found = answers(it)
        wrong = [(word, s) for s, k in found for word in judging.complaints(asked(it, s, k), s)]
        if it.certified and it.way != "blocks":
            wrong += [(word, s) for s, _ in found for word in judging.proven(s)]
        return [f"{word} ({s.status.name})" for word, s in wrong]

    return it.told, run
