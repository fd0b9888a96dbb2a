"""Problems of every family, door and option by chance; what an answer says is recomputed from what its reader has.

python tests/fuzzing.py --count 20000        # from the root, with tests on the path
"""

from __future__ import annotations

import argparse
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import fewatoms as fa
from journeys.planting import COMPLEX_SETS, LOSSES, MATRIX_SETS, SETS, SQUARE_SETS, Planted, plant

SECONDS = 20.0
LISTED = {"signed", "nonnegative", "cone", "dictionary", "nonnegative-dictionary", "groups", "mapped", "scaled"}
SINGLE = LISTED | {"rank-one", "rank-one-in-blocks", "psd", "symmetric", "complex-psd"}
PARTS = set(SETS) - SINGLE
CLOSE = 1e-6
SAYS_BOUND = {"BOUND_MET", "NOT_REACHED", "UNREACHABLE", "WITHIN_SLACK"}
NO_SUCCESS = {"NOT_REACHED", "UNREACHABLE", "BAD_DATA"}


@dataclass(frozen=True)
class Drawn:
    """A problem, and how it is asked.

    words : options of the door; free : columns beside M, as an array, or None; ks : of a path
    """

    planted: Planted
    name: str
    door: str
    k: Any
    words: dict[str, Any]
    free: np.ndarray | None = None
    ks: tuple[int, ...] = ()
    stops: int | None = None
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
    k, words = _asked(planted, set_name, loss_name, rng)
    free = None
    if loss_name != "logistic" and set_name in LISTED and rng.random() < 0.2:
        free = np.ones((planted.b.size, 1)) if rng.random() < 0.5 else rng.standard_normal((planted.b.size, 2))
        words["free"] = "intercept" if free.shape[1] == 1 else free
    several = ["path", "path", *(["many"] if set_name in LISTED else [])]
    doors = ["fit"] * 4 + (several if set_name in SINGLE and isinstance(k, int) else [])
    door = str(rng.choice(doors))
    ks = tuple(range(1, k + 1)) if door == "path" else ()
    stops = int(rng.integers(0, 12)) if door == "fit" and rng.random() < 0.1 else None
    return Drawn(planted, set_name, door, k, words, free, ks, stops, (set_name, operator_name, loss_name))


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
    if listed and rng.random() < 0.15:
        words["ridge"] = float(10 ** rng.uniform(-3, 0))
    if rng.random() < 0.15:
        words["effort"] = str(rng.choice(["quick", "thorough"]))
    if rng.random() < 0.1:
        words["max_iterations"] = int(rng.integers(1, 6))
    if listed and {"alpha", "misfit"} & set(words) and rng.random() < 0.3:
        k = None
    return k, words


# Asked and judged ----------------------------------------------------------------------------------------------------


def answers(it: Drawn) -> list[tuple[Any, np.ndarray, Any]]:
    """Solutions, each with its data and its k."""
    p = it.planted
    words = {"atoms": p.atoms, "loss": p.loss, **it.words}
    if it.door == "many":
        B = np.column_stack([p.b, p.b[::-1]]) if p.loss.squares else np.column_stack([p.b, p.b])
        return [(s, B[:, i], it.k) for i, s in enumerate(fa.fit_many(p.M, B, k=it.k, **words))]
    if it.door == "path":
        path = fa.fit_path(p.M, p.b, k=list(it.ks), **words)
        return [(path[k], p.b, k) for k in it.ks]
    if it.stops is not None:
        words["callback"] = _stopping(it.stops)
    return [(fa.fit(p.M, p.b, k=it.k, **words), p.b, it.k)]


def _stopping(after: int) -> Any:
    seen = []

    def callback(progress: Any) -> None:
        seen.append(progress)
        if len(seen) > after:
            raise StopIteration

    return callback


def complaints(it: Drawn, s: Any, b: np.ndarray, k: Any) -> list[str]:
    """What an answer says that is not so."""
    p, name = it.planted, s.status.name
    x = np.asarray(s.x)
    said = [s.loss, s.misfit if p.loss.squares and b.any() else 0.0, *np.ravel(s.free_coefficients)]
    c = np.concatenate([np.ravel(part.coefficients) for part in (s.parts or [s])])
    if not (np.isfinite(x).all() and np.isfinite(said).all() and np.isfinite(c).all()):
        return ["not finite"]
    beside = 0.0 if it.free is None else it.free @ np.ravel(s.free_coefficients)
    image = p.forward(x) + beside
    own = p.value(b - image)
    scale = p.value(b) + p.value(image)
    bound = it.words.get("alpha")
    if "misfit" in it.words:
        bound = it.words["misfit"] ** 2 * p.value(b)
    tests = {
        "more atoms than k": k is not None and bool((np.atleast_1d(p.count(s)) > np.atleast_1d(k)).any()),
        "a loss that is not its own": abs(s.loss - own) > CLOSE * own + 1e-11 * scale,
        "a misfit that is not its own": p.loss.squares
        and bool(b.any())
        and abs(s.misfit - np.sqrt(own / p.value(b))) > CLOSE * (1 + s.misfit),
        "success without the bound": bound is not None and s.success and own > bound * (1 + 1e-6) + 1e-11 * scale,
        "failure with the bound met": bound is not None
        and name in NO_SUCCESS
        and own < bound * (1 - 1e-6) - 1e-11 * scale,
        "a status of bounds without a bound": bound is None and name in SAYS_BOUND,
        "success that is none": s.success and name in NO_SUCCESS,
        "zero that is not": name == "ZERO" and bool(x.any()),
        "a loss above that of nothing": "ridge" not in it.words and own > p.value(b) * (1 + CLOSE) + 1e-11 * scale,
        "a coefficient beyond the cap": "cap" in it.words
        and np.abs(c).max(initial=0.0) > it.words["cap"] * (1 + CLOSE),
        "out of reach, and it is planted": name == "UNREACHABLE" and _reaches(it, b, bound),
    }
    return [test for test, failed in tests.items() if failed]


def _reaches(it: Drawn, b: np.ndarray, bound: float | None) -> bool:
    """Whether what was planted meets the bound well."""
    p = it.planted
    return bound is not None and "cap" not in it.words and p.value(b - p.forward(p.x)) < 0.5 * bound


def judged(seed: int) -> tuple[str, str]:
    """What became of a problem: "fine", "refused", "crash", "wrong" or "slow", and why."""
    it = drawn(seed)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = answers(it)
    except (ValueError, TypeError) as error:
        if isinstance(error, np.linalg.LinAlgError) or not str(error):
            return "crash", traceback.format_exc(limit=-3)
        return "refused", str(error)
    except Exception:
        return "crash", traceback.format_exc(limit=-3)
    try:
        why = [word for s, b, k in found for word in complaints(it, s, b, k)]
    except Exception:  # what is asked of an answer is its own as well
        return "crash", traceback.format_exc(limit=-3)
    for s, _, _ in found:
        if "nan" in f"{s!r}".replace("misfit=nan", "") and it.planted.b.any():
            why.append("nan in words")
    if why:
        return (
            "wrong",
            f"{', '.join(dict.fromkeys(why))}: {it.told} {it.door} k={it.k} {it.words}: {found[0][0].status.name}",
        )
    seconds = time.process_time() - start
    return ("slow", f"{seconds:.1f} s: {it.told}") if seconds > SECONDS else ("fine", "")


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--count", type=int, default=20_000)
    ask.add_argument("--first", type=int, default=0)
    asked = ask.parse_args()
    became: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for seed in range(asked.first, asked.first + asked.count):
        kind, why = judged(seed)
        became[kind] += 1
        if kind == "refused":
            refusals[why[:70]] += 1
        elif kind != "fine":
            print(seed, kind, why, flush=True)  # noqa: T201
    print(dict(became), *refusals.most_common(12), sep="\n")  # noqa: T201


if __name__ == "__main__":
    main()
