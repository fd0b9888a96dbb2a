"""Planted points of every set, by every operator and loss, asked through every door with every option."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import fewatoms as fa
from fewatoms import ledger
from fewatoms.callbacks import Checkpoint, Deadline
from fuzzed import judging
from journeys.planting import COMPLEX_SETS, LOSSES, MATRIX_SETS, SETS, SQUARE_SETS, Planted, plant
from killed import After, Killed

LISTED = {"signed", "nonnegative", "cone", "dictionary", "nonnegative-dictionary", "groups", "mapped", "scaled"}
SINGLE = LISTED | {"rank-one", "rank-one-in-blocks", "psd", "symmetric", "complex-psd"}
PARTS = set(SETS) - SINGLE
ENTRIES = {"signed", "nonnegative", "cone", "scaled", "groups"}  # coefficients are the entries of x
KEPT = {"signed", "nonnegative", "cone", "rank-one", "rank-one-in-blocks", "psd", "symmetric", "complex-psd"}


@dataclass(frozen=True)
class Drawn:
    """A problem, and how it is asked.

    words : options of the door; free : columns beside M, as an array, or None; ks : of a path
    stops : calls of the clock until a callback stops the run, or dies of it; seconds : until a deadline
    blocks : rows of M in a block, or None; weights : of the data, or None
    filed : whether the answer goes through a file; certified : whether its certificate is looked at
    """

    planted: Planted
    name: str
    door: str
    k: Any
    words: dict[str, Any]
    free: np.ndarray | None = None
    ks: tuple[int, ...] = ()
    stops: int | None = None
    seconds: float | None = None
    blocks: int | None = None
    weights: np.ndarray | None = None
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    filed: bool = False
    certified: bool = False
    told: tuple[str, ...] = field(default=())


def operators(set_name: str) -> list[str]:
    """Those that fit a set."""
    if set_name in COMPLEX_SETS:
        return ["quadratic"]
    some = ["dense", "sparse", "linear-operator", "pylops", "identity"]
    if set_name in SQUARE_SETS:
        return [*some, "quadratic", "sampling"]
    return [*some, "sampling"] if set_name in MATRIX_SETS else some


def drawn(seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    set_name = str(rng.choice(sorted(SETS)))
    loss_name = str(rng.choice(sorted(LOSSES), p=[0.2, 0.2, 0.6]))  # huber, logistic, squares
    operator_name = str(rng.choice(operators(set_name)))
    planted = _bent(plant(set_name, operator_name, loss_name, seed), rng)
    weights = rng.uniform(0.2, 3.0, planted.b.size) ** 2 if rng.random() < 0.15 else None
    planted = planted if weights is None else _weighed(planted, loss_name, weights)
    k, words = _asked(planted, set_name, loss_name, rng)
    more: dict[str, Any] = {"weights": weights}
    if loss_name != "logistic" and set_name in LISTED and rng.random() < 0.2:
        free = np.ones((planted.b.size, 1)) if rng.random() < 0.5 else rng.standard_normal((planted.b.size, 2))
        words["free"] = "intercept" if free.shape[1] == 1 else free
        more["free"] = free
    if operator_name in ("dense", "sparse") and rng.random() < 0.25:
        more["blocks"] = int(rng.integers(1, 20))
    if set_name in LISTED and k is not None and rng.random() < 0.15:
        planted, chosen = _restricted(planted, k, rng)
        more |= chosen
    more |= _door(set_name, k, max(1, len(more.get("include", ()))), rng)
    return Drawn(planted, set_name, k=k, words=words, told=(set_name, operator_name, loss_name), **more)


def _door(set_name: str, k: Any, least: int, rng: Any) -> dict[str, Any]:
    """Which door, and what happens meanwhile and afterwards."""
    several = ["path", "path", "choose", *(["many"] if set_name in LISTED else [])]
    doors = ["fit"] * 6 + (several if set_name in SINGLE and isinstance(k, int) else [])
    door = str(rng.choice(doors))
    more: dict[str, Any] = {"door": door}
    if door in ("path", "choose"):
        more["ks"] = tuple(range(least, k + 1))
    way = rng.random()
    if door == "fit" and way < 0.3:
        more |= {"stops": int(rng.integers(0, 12))}
        if way < 0.08:
            more |= {"stops": None, "seconds": float(10 ** rng.uniform(-4, -1))}
        elif way < 0.18:
            more["door"] = "killed"
    more["filed"], more["certified"] = bool(rng.random() < 0.1), bool(rng.random() < 0.2)
    return more


def _bent(planted: Planted, rng: Any) -> Planted:
    """Now and then more noise, other units, data with ties or zeros, or none of what was planted."""
    b, way = planted.b, rng.random()
    if planted.loss.squares and way < 0.5:
        size = float(np.linalg.norm(b))
        noise = rng.standard_normal(b.size) / np.sqrt(b.size)
        b = {
            0: lambda: b + 10 ** rng.uniform(-3, 0.5) * size * noise,
            1: lambda: np.round(b),
            2: lambda: 10 ** rng.uniform(-5, 5) * b,
            3: lambda: np.where(rng.random(b.size) < 0.3, 0.0, b),
            4: lambda: np.zeros(b.size),
        }[int(rng.choice(5, p=[0.5, 0.2, 0.15, 0.13, 0.02]))]()
        if "quadratic" in repr(planted.M).lower():
            b = np.abs(b)
    return replace(planted, b=b, alpha=10 ** rng.uniform(-6, 0) * planted.value(b))


def _weighed(planted: Planted, loss_name: str, weights: np.ndarray) -> Planted:
    """The same with a weight for each datum."""
    each = {
        "squares": lambda r: 0.5 * r**2,
        "huber": lambda r: np.where(np.abs(r) <= 1.0, 0.5 * r**2, np.abs(r) - 0.5),
        "logistic": lambda r: np.logaddexp(0.0, r),
    }[loss_name]
    loss = {
        "squares": lambda: fa.LeastSquares(weights),
        "huber": lambda: fa.Huber(1.0, weights),
        "logistic": lambda: fa.Logistic(weights),
    }[loss_name]()
    share = planted.alpha / max(planted.value(planted.b), 1e-300)

    def value(r: Any) -> float:
        return float(weights @ each(np.asarray(r)))

    return replace(planted, loss=loss, value=value, alpha=share * value(planted.b))


def _restricted(planted: Planted, k: Any, rng: Any) -> tuple[Planted, dict[str, Any]]:
    """Some atoms have to be there, others must not."""
    some = rng.permutation(planted.atoms.count)[:6].tolist()
    include = tuple(some[: int(rng.integers(0, min(k, 3) + 1))])
    exclude = tuple(some[3 : 3 + int(rng.integers(0 if include else 1, 4))])
    atoms = planted.atoms.restricted(include=list(include) or None, exclude=list(exclude) or None)
    return replace(planted, atoms=atoms), {"include": include, "exclude": exclude}


def _asked(planted: Planted, set_name: str, loss_name: str, rng: Any) -> tuple[Any, dict[str, Any]]:
    """k and other words."""
    k: Any = planted.k
    if rng.random() < 0.5:
        k = tuple(max(1, j + int(rng.integers(-1, 2))) for j in k) if isinstance(k, tuple) else int(rng.integers(1, 7))
    words: dict[str, Any] = {}
    if rng.random() < 0.45:
        words["alpha"] = planted.alpha
        if loss_name == "squares" and rng.random() < 0.5:
            words["misfit"] = float(np.sqrt(words.pop("alpha") / max(planted.value(planted.b), 1e-300)))
    listed = set_name in LISTED
    if listed and set_name != "cone" and rng.random() < 0.15:
        words["cap"] = float(10 ** rng.uniform(-1, 1))
    if listed and rng.random() < 0.2:
        words["ridge"] = float(10 ** rng.uniform(-3, 0))
        if not {"alpha", "misfit", "cap"} & set(words) and rng.random() < 0.3:
            words["ridge"] = "auto"
    if rng.random() < 0.15:
        words["effort"] = str(rng.choice(["quick", "thorough"]))
    if rng.random() < 0.1:
        words["max_iterations"] = int(rng.integers(1, 6))
    if listed and {"alpha", "misfit"} & set(words) and rng.random() < 0.3:
        k = None
    return k, words


# Answering -----------------------------------------------------------------------------------------------------------


def answers(it: Drawn) -> list[tuple[Any, np.ndarray, Any]]:
    """Solutions, each with its data and its k."""
    p, M = it.planted, _measured(it)
    words = {"atoms": p.atoms, "loss": p.loss, **it.words}
    if it.door == "many":
        B = np.column_stack([p.b, p.b[::-1]]) if p.loss.squares else np.column_stack([p.b, p.b])
        return [(s, B[:, i], it.k) for i, s in enumerate(fa.fit_many(M, B, k=it.k, **words))]
    if it.door in ("path", "choose"):
        path = fa.fit_path(M, p.b, k=list(it.ks), **words)
        if it.door == "choose":
            path.choose_k(folds=3, repeats=1)
        return [(path[k], p.b, k) for k in it.ks]
    if it.stops is not None and it.door == "fit":
        words["callback"] = _stopping(it.stops)
    if it.seconds is not None:
        words["callback"] = Deadline(it.seconds)
    s = _killed(it, M, words) if it.door == "killed" else fa.fit(M, p.b, k=it.k, **words)
    return [(_through_a_file(it, M, s) if it.filed else s, p.b, it.k)]


def _measured(it: Drawn) -> Any:
    """M, or its rows in blocks."""
    M = it.planted.M
    if it.blocks is None:
        return M
    return fa.RowBlocks.of([M[i : i + it.blocks] for i in range(0, M.shape[0], it.blocks)], engine="serial")


def _stopping(after: int) -> Callable[[Any], None]:
    seen = []

    def callback(progress: Any) -> None:
        seen.append(progress)
        if len(seen) > after:
            raise StopIteration

    return callback


def _again(it: Drawn) -> dict[str, Any]:
    """What is not kept with an answer or a checkpoint."""
    named = {} if it.name in KEPT and not it.include + it.exclude else {"atoms": it.planted.atoms}
    named |= {} if it.weights is None else {"loss": it.planted.loss}
    return named if it.free is None or it.free.shape[1] == 1 else named | {"free": it.free}


def _killed(it: Drawn, M: Any, words: dict[str, Any]) -> Any:
    """The answer of a run that is killed at some call of the clock, and gone on with."""
    every, ledger.EVERY = ledger.EVERY, 0.0
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.ckpt"
            try:
                s = fa.fit(M, it.planted.b, k=it.k, **words, callback=[Checkpoint(file, 0.0), After(3 * it.stops)])
            except Killed:
                s = fa.resume(file, M, it.planted.b, **_again(it))
    finally:
        ledger.EVERY = every
    alone = fa.fit(M, it.planted.b, k=it.k, **words)
    told = judging.alike(s, alone)
    assert not told, f"killed after {3 * it.stops} calls: {told}, {s.status.name} {s.loss!r} for {alone.loss!r}"
    return s


def _through_a_file(it: Drawn, M: Any, s: Any) -> Any:
    """What a file holds of an answer, with its data again."""
    with tempfile.TemporaryDirectory() as folder:
        s.save(Path(folder) / "answer")
        found = fa.load(Path(folder) / "answer")
    told = judging.alike(found, s)
    assert not told, f"through a file: {told}"
    return found.attach(M, it.planted.b, **_again(it))


# Judging -------------------------------------------------------------------------------------------------------------


def asked(it: Drawn, b: np.ndarray, k: Any) -> judging.Asked:
    p = it.planted

    def image(s: Any) -> Any:
        beside = 0.0 if it.free is None else it.free @ np.ravel(s.free_coefficients)
        return p.forward(np.asarray(s.x)) + beside

    ridge = it.words.get("ridge")
    reached = p.value(b - p.forward(p.x)) if "cap" not in it.words and not it.exclude + it.include else None
    return judging.Asked(
        p.value, image, b, p.count, k, it.words, misfits=p.loss.squares, pays=ridge is not None,
        objective=_objective(it, b, image) if it.name in ENTRIES else None, planted=reached,
        include=it.include, exclude=it.exclude,
    )  # fmt: skip


def _objective(it: Drawn, b: np.ndarray, image: Callable[[Any], Any]) -> Callable[[Any], float]:
    """The loss and half the ridge times the squares of the coefficients of images of length 1."""
    p = it.planted

    def lengths(x: Any) -> np.ndarray:
        """Of the images of entries, in the weights of the loss, past what stands beside M."""
        columns = np.stack([p.forward(one.reshape(np.shape(x))) for one in np.eye(np.size(x))], axis=1)
        root = np.ones(b.size) if it.weights is None else np.sqrt(it.weights)
        if it.free is not None:
            beside, _ = np.linalg.qr(root[:, None] * it.free)
            columns = root[:, None] * columns
            return np.linalg.norm(columns - beside @ (beside.T @ columns), axis=0)
        return np.linalg.norm(root[:, None] * columns, axis=0)

    def value(s: Any) -> float:
        x, ridge = np.asarray(s.x), s.ridge if it.words.get("ridge") is not None else 0.0
        return p.value(b - image(s)) + (0.5 * ridge * float(np.sum((x.ravel() * lengths(x)) ** 2)) if ridge else 0.0)

    return value


def complaints(it: Drawn, s: Any, b: np.ndarray, k: Any) -> list[str]:
    """What an answer says that is not so."""
    return judging.complaints(asked(it, b, k), s)


def _primal(it: Drawn) -> Callable[[float], float] | None:
    """(P1)'s objective at what was planted."""
    p = it.planted
    if it.name in PARTS or it.name in COMPLEX_SETS or "ridge" in it.words or "cap" in it.words:
        return None
    if it.free is not None or it.include + it.exclude:
        return None
    gauge = p.atoms.gauge(p.x)
    return lambda lam: p.value(p.b - p.forward(p.x)) + lam * gauge


def trial(seed: int) -> tuple[tuple[str, ...], Callable[[], list[str]]]:
    it = drawn(seed)
    told = (*it.told, it.door, f"k={it.k}", *(f"{name}={_short(value)}" for name, value in it.words.items()))
    others = ("stops", "seconds", "blocks", "include", "exclude", "filed", "certified")
    told += tuple(f"{name}={getattr(it, name)}" for name in others if getattr(it, name))
    told += ("weights",) if it.weights is not None else ()

    def run() -> list[str]:
        found = answers(it)
        wrong = [word for s, b, k in found for word in complaints(it, s, b, k)]
        if it.certified and it.door != "many":
            wrong += [word for s, _, _ in found for word in judging.proven(s, _primal(it))]
        return [f"{word} ({found[0][0].status.name})" for word in wrong]

    return told, run


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "columns" if isinstance(value, np.ndarray) else str(value)
