"""Tables of features: several outcomes, classes, groups, features that must be in; blocks of rows; the estimators."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import fewatoms as fa
from fuzzed import judging

OUTCOMES = ("number", "numbers", "two classes", "classes", "several classes")
DOORS = ("fit", "fit", "fit", "fit", "path", "choose", "estimator", "estimator", "estimator")


@dataclass(frozen=True)
class Drawn:
    """A table X and what is to be explained.

    outcome : one of OUTCOMES; loss : by its name; labels : groups of features, or None; kind : how X is given
    """

    outcome: str
    loss: str
    X: np.ndarray
    b: np.ndarray
    kind: str
    labels: np.ndarray | None
    k: int | None
    words: dict[str, Any]
    door: str
    weights: np.ndarray | None = None
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        words = [f"{name}={value}" for name, value in self.words.items()]
        more = [f"{name}={getattr(self, name)}" for name in ("include", "exclude") if getattr(self, name)]
        parts = ["groups"] * (self.labels is not None) + ["weights"] * (self.weights is not None)
        told = (self.outcome, self.loss, self.kind, str(self.X.shape), self.door, f"k={self.k}")
        return (*told, *words, *more, *parts)


def drawn(seed: int) -> Drawn:
    rng = np.random.default_rng([seed, 2])
    outcome, door = str(rng.choice(OUTCOMES)), str(rng.choice(DOORS))
    tall = rng.random() < 0.25
    m, n = int(rng.integers(60, 400) if tall else rng.integers(6, 60)), int(rng.integers(2, 25))
    X = _table(m, n, rng)
    labels = rng.integers(0, max(1, n // 2), n) if rng.random() < 0.2 else None
    few = np.unique(labels).size if labels is not None else n
    k: int | None = int(rng.integers(1, min(6, few) + 1))
    b = _outcome(outcome, X, rng)
    classes = "class" in outcome
    loss = ("multinomial" if outcome == "classes" else "logistic") if classes else str(rng.choice(["squares", "huber"]))
    words = _words(outcome, loss, door, b, rng)
    if {"misfit", "alpha"} & set(words) and rng.random() < 0.3:
        k = None
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    if door != "estimator" and k is not None and rng.random() < 0.25:
        who = np.unique(labels) if labels is not None else np.arange(n)
        some = rng.permutation(who.size).tolist()
        include, exclude = tuple(some[: int(rng.integers(0, k + 1))]), tuple(some[k : k + int(rng.integers(0, 3))])
    kinds = ["array", "array", "sparse", *(["blocks", "blocks"] if door != "estimator" else [])]
    weighed = rng.random() < 0.15 and outcome in ("number", "two classes", "classes")
    return Drawn(
        outcome, loss, X, b, str(rng.choice(kinds)), labels, k, words, door,
        weights=rng.uniform(0.2, 3.0, m) ** 2 if weighed else None, include=include, exclude=exclude,
    )  # fmt: skip


def _table(m: int, n: int, rng: Any) -> np.ndarray:
    """Now and then with twins, columns of zeros, whole numbers, or units of all sizes."""
    X = rng.standard_normal((m, n))
    way = rng.random()
    if way < 0.15:
        X = np.round(X)
    elif way < 0.3:
        X = X * 10 ** rng.uniform(-5, 5, n)
    elif way < 0.4:
        X[:, int(rng.integers(n))] = 0.0
    elif way < 0.5:
        X[:, int(rng.integers(n))] = X[:, int(rng.integers(n))]
    elif way < 0.6:
        X = X + 10.0 * rng.standard_normal((m, 1))
    return X


def _outcome(outcome: str, X: np.ndarray, rng: Any) -> np.ndarray:
    m, n = X.shape
    Z = X / np.maximum(np.linalg.norm(X, axis=0), 1e-300) * np.sqrt(m)
    count = {"number": 1, "two classes": 1}.get(outcome, 3)
    few = rng.choice(n, min(n, 3), replace=False)
    signal = Z[:, few] @ rng.standard_normal((few.size, count)) + 10 ** rng.uniform(-2, 1) * rng.standard_normal(
        (m, count)
    )
    if outcome == "number":
        return signal[:, 0] + float(rng.choice([0.0, 5.0]))
    if outcome == "numbers":
        return signal
    if outcome == "classes":
        b = signal.argmax(axis=1)
        b[:3] = [0, 1, 2]
        return b
    labels = signal > 0
    labels[:2] = [[True], [False]]
    return np.where(labels[:, 0], "yes", "no") if outcome == "two classes" else labels


def _words(outcome: str, loss: str, door: str, b: np.ndarray, rng: Any) -> dict[str, Any]:
    words: dict[str, Any] = {}
    classes = "class" in outcome
    if rng.random() < 0.5:
        words["free"] = "intercept"
    if rng.random() < (0.6 if classes else 0.3):
        words["ridge"] = float(10 ** rng.uniform(-3, -0.5))
        if rng.random() < 0.2 and door in ("fit", "estimator"):
            words["ridge"] = "auto"
    if rng.random() < 0.3 and words.get("ridge") != "auto" and door != "estimator":
        if loss == "squares" and rng.random() < 0.6:
            words["misfit"] = float(10 ** rng.uniform(-3, 0))
        else:
            words["alpha"] = float(10 ** rng.uniform(-3, 0)) * b.size
    if rng.random() < 0.1 and door != "estimator" and words.get("ridge") != "auto":
        words["cap"] = float(10 ** rng.uniform(-1, 1))
    if rng.random() < 0.1:
        words["effort"] = str(rng.choice(["quick", "thorough"]))
    return words


# Answering -----------------------------------------------------------------------------------------------------------


def _loss(it: Drawn) -> fa.Loss:
    makes: dict[str, Callable[[], fa.Loss]] = {
        "squares": lambda: fa.LeastSquares(it.weights),
        "huber": lambda: fa.Huber(1.0, it.weights),
        "logistic": lambda: fa.Logistic(it.weights),
        "multinomial": lambda: fa.Multinomial(it.weights),
    }
    return makes[it.loss]()


def _asking(it: Drawn) -> dict[str, Any]:
    n = it.X.shape[1]
    atoms: Any = fa.SignedOneHot(n) if it.labels is None else fa.Groups(it.labels)
    if it.include or it.exclude:
        names = np.arange(n) if it.labels is None else np.unique(it.labels)
        told = {"include": names[list(it.include)].tolist(), "exclude": names[list(it.exclude)].tolist()}
        atoms = atoms.restricted(**{name: some for name, some in told.items() if some})
    if it.b.ndim == 2:
        atoms = fa.Joint(atoms)
    return {"atoms": atoms, "loss": _loss(it), **it.words}


def answers(it: Drawn) -> list[tuple[Any, int | None]]:
    if it.door == "estimator":
        return _estimated(it)
    M: Any = {"array": it.X, "sparse": sp.csr_array(it.X)}.get(it.kind)
    if M is None:
        M = fa.RowBlocks.of(np.array_split(it.X, 5), engine="serial")
    words = _asking(it)
    if it.door == "fit" or it.k is None:
        return [(fa.fit(M, it.b, k=it.k, **words), it.k)]
    ks = list(range(max(1, len(it.include)), it.k + 1))
    path = fa.fit_path(M, it.b, k=ks, **words)
    if it.door == "choose":
        assert path.choose_k(folds=3, repeats=1) in ks, "a size that nobody asked for"
    return [(path[k], k) for k in ks]


def _estimated(it: Drawn) -> list[tuple[Any, int | None]]:
    """The answer within an estimator; what it predicts is what its attributes say."""
    from fewatoms.estimators import SparseClassifier, SparseCoder, SparseRegressor

    X = sp.csr_array(it.X) if it.kind == "sparse" else it.X
    words = {"fit_intercept": "free" in it.words, "ridge": it.words.get("ridge", 0.0), "groups": it.labels}
    if it.outcome in ("numbers", "several classes"):
        coder = SparseCoder(it.X.T, it.k).fit(np.asarray(it.b, dtype=float).T)
        codes = coder.transform(np.asarray(it.b, dtype=float).T)
        assert np.isfinite(codes).all(), "codes that are not finite"
        assert np.count_nonzero(codes, axis=1).max() <= it.k, "more atoms than k"
        return []
    model: Any = SparseRegressor(it.k, loss="squared" if it.loss == "squares" else "huber", **words)
    if it.outcome != "number":
        model = SparseClassifier(it.k, **words)
    model.fit(X, it.b, sample_weight=it.weights)
    margins = X @ np.asarray(model.coef_).T + model.intercept_
    if it.outcome == "number":
        predicted = model.predict(X)
        assert np.abs(predicted - margins).max() <= 1e-9 * (1 + np.abs(margins).max()), "another prediction"
    else:
        chances = model.predict_proba(X)
        assert np.abs(chances.sum(axis=1) - 1).max() <= 1e-9, "probabilities that do not sum to 1"
        assert (np.take(model.classes_, chances.argmax(axis=1)) == model.predict(X)).mean() > 0.999, "another class"
    assert np.isfinite(model.score(X, it.b)), "a score that is not finite"
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all(), "a pickle that predicts something else"
    return [(model.solution_, it.k)] if it.loss != "huber" else []  # that chooses its delta


# Judging -------------------------------------------------------------------------------------------------------------


def asked(it: Drawn, k: int | None) -> judging.Asked:
    w = np.ones(len(it.X)) if it.weights is None else it.weights
    classes = "class" in it.outcome
    count = {"classes": 3}.get(it.outcome)
    signs = np.where(it.b == "yes", 1.0, -1.0) if it.outcome == "two classes" else np.where(it.b, 1.0, -1.0)
    each: dict[str, Callable[[Any], Any]] = {
        "squares": lambda r: 0.5 * r**2,
        "huber": lambda r: np.where(np.abs(r) <= 1.0, 0.5 * r**2, np.abs(r) - 0.5),
        "logistic": lambda r: np.logaddexp(0.0, signs * r),
        "multinomial": lambda r: np.logaddexp.reduce(-r, axis=1) + r[np.arange(len(r)), it.b],
    }

    def value(r: Any) -> float:
        terms = each[it.loss](np.asarray(r))
        return float(np.sum(w * terms.T))

    def image(s: Any) -> Any:
        return it.X @ np.asarray(s.x) + s.intercept

    b = np.zeros((len(it.X), count) if count else it.b.shape) if classes else it.b
    return judging.Asked(
        value, image, b, lambda s: _features(it, s), k, it.words, misfits=it.loss == "squares",
        pays="ridge" in it.words or it.door == "estimator",
        include=it.include if it.labels is None else (), exclude=it.exclude if it.labels is None else (),
    )  # fmt: skip


def _features(it: Drawn, s: Any) -> int:
    """Features, or groups of them, with coefficients."""
    used = np.flatnonzero(np.asarray(s.x).reshape(it.X.shape[1], -1).any(axis=1))
    return used.size if it.labels is None else np.unique(it.labels[used]).size


def trial(seed: int) -> tuple[tuple[str, ...], Callable[[], list[str]]]:
    it = drawn(seed)

    def run() -> list[str]:
        found = answers(it)
        return [f"{word} ({s.status.name})" for s, k in found for word in judging.complaints(asked(it, k), s)]

    return it.told, run
