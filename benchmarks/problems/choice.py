"""Rows and labels that were not shown: genes, a table with interactions, correlated blocks, words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.peers.answers import Vector

Judged = tuple[dict[str, Any], Any]
FOLDS = 5
LEAST = 1e-15  # a probability; nobody is punished for more


@dataclass(frozen=True, eq=False)
class Split:
    """Rows that are shown, X and y, and rows that are not.

    ks : numbers of atoms to choose from
    classes : y holds labels +1 and -1
    """

    X: Any
    y: Vector
    X_new: Any
    y_new: Vector
    ks: Sequence[int]
    classes: bool = False
    seed: int = 0

    @cached_property
    def folds(self) -> Vector:
        """The fold of each row, the same for all peers who take them; classes are spread over all of them."""
        rng = np.random.default_rng([self.seed, FOLDS])
        order = np.lexsort([rng.random(self.y.size), self.y if self.classes else np.zeros(self.y.size)])
        folds = np.empty(self.y.size, dtype=np.intp)
        folds[order] = np.arange(self.y.size) % FOLDS
        return folds

    def judge(self, answer: Any) -> Judged:
        figures = {**answer.facts, "features": answer.features}
        values = answer.predict(self.X_new)
        if not self.classes:
            off = float(np.mean((self.y_new - values) ** 2))
            return {**figures, "mse": off / float(np.mean((self.y_new - self.y.mean()) ** 2))}, None
        margins = np.clip(self.y_new * values, np.log(LEAST), None)
        return {**figures, "log_loss": float(np.logaddexp(0.0, -margins).mean())}, None


def small(name: str) -> Any:
    if name == "path":
        return path(30, 8, 1, 0.3, 0.3, 0)
    if name == "separating":
        return separating(80, 12, 2, 0.2, 0)
    if name in ("expression", "newsgroups"):
        return _halved(*_labelled(60, 12, np.random.default_rng(0)), (1, 2, 3), 0, classes=True)
    return blocks(40, 60, 5, (1, 2, 3), 0)


def _halved(X: Any, y: Vector, ks: Sequence[int], seed: int, *, share: float = 0.8, classes: bool = False) -> Split:
    """A share of the rows, drawn, of each class its own."""
    rng = np.random.default_rng(seed)
    order = np.lexsort([rng.random(y.size), y if classes else np.zeros(y.size)])
    shown = np.zeros(y.size, dtype=bool)
    if classes:
        for label in np.unique(y):
            mine = order[y[order] == label]
            shown[mine[: round(share * mine.size)]] = True
    else:
        shown[order[: round(share * y.size)]] = True
    return Split(X[shown], y[shown], X[~shown], y[~shown], ks, classes, seed)


def expression(
    file: str, keys: Sequence[tuple[str, str]], ks: Sequence[int], folder: Path, seed: int, *, classes: bool = False
) -> Split:
    """Genes, all samples put together and split anew; labels as classes, or as numbers to be predicted."""
    data = np.load(folder / file)
    X = np.concatenate([np.asarray(data[x], dtype=np.float64) for x, _ in keys])
    y = np.concatenate([np.ravel(np.asarray(data[y], dtype=np.float64)) for _, y in keys])
    return _halved(X, y, ks, seed, classes=classes)


def diabetes(degree: int, ks: Sequence[int], seed: int) -> Split:
    """442 people, ten measurements and all their products up to a degree; powers of the sex are left out."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    columns = [
        X[:, list(some)].prod(axis=1)
        for size in range(1, degree + 1)
        for some in combinations_with_replacement(range(X.shape[1]), size)
        if some.count(1) <= 1
    ]
    return _halved(np.stack(columns, axis=1), y, ks, seed)


def blocks(m: int, n: int, size: int, ks: Sequence[int], seed: int, *, new: int = 1000) -> Split:
    """Blocks of columns with correlation .8 inside, ten of them with one or two coefficients; 40 % of the variance is
    noise."""
    rng = np.random.default_rng(seed)
    rows = m + new
    shared = np.repeat(rng.standard_normal((rows, n // size)), size, axis=1)
    X = np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.standard_normal((rows, n))
    x = np.zeros(n)
    for block in rng.choice(n // size, min(10, n // size), replace=False):
        places = block * size + rng.choice(size, int(rng.integers(1, 3)), replace=False)
        x[places] = rng.standard_normal(places.size)
    clean = X @ x
    y = clean + np.sqrt(0.4 / 0.6) * clean.std() * rng.standard_normal(rows)
    return Split(X[:m], y[:m], X[m:], y[m:], ks, seed=seed)


def path(m: int, n: int, k: int, correlation: float, noise: float, seed: int, *, new: int = 2000) -> Split:
    """k Gaussian coefficients; neighbouring columns are correlated; the ks are 1 to 3 k, as many as are asked for."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((n, m + new))
    for j in range(1, n):
        columns[j] = correlation * columns[j - 1] + np.sqrt(1 - correlation**2) * columns[j]
    X = columns.T.copy()
    clean = X[:, rng.choice(n, k, replace=False)] @ rng.standard_normal(k)
    y = clean + noise * clean.std() * rng.standard_normal(m + new)
    return PathSplit(X[:m], y[:m], X[m:], y[m:], range(1, 3 * k + 1), seed=seed)


class PathSplit(Split):
    """The training loss at every k is judged too."""

    def judge(self, answer: Any) -> Judged:
        figures = super().judge(answer)[0] if answer.features is not None else {}
        y = self.y - self.y.mean()
        if answer.along is not None:
            figures["loss"] = np.array([float(r @ r) / float(y @ y) for r in answer.along(self)])
        return figures, None


def newsgroups(ks: Sequence[int], folder: Path, seed: int, *, rows: int | None = None) -> Split:
    """One class, by the seed, against the rest; as the source splits it."""
    labels = np.load(folder / "newsgroups20_labels.npz")
    X, X_new = (
        sparse.csr_array(sparse.load_npz(folder / f"newsgroups20_{part}_tfidf.npz"), dtype=np.float64)
        for part in ("train", "test")
    )
    y, y_new = (np.where(labels[name] == seed % 20, 1.0, -1.0) for name in ("y_train", "y_test"))
    some = np.random.default_rng(seed).permutation(y.size)[:rows]
    return Split(X[some], y[some], X_new, y_new, ks, True, seed)


# Classes at a given k


@dataclass(frozen=True, eq=False)
class Separating:
    """Labels t, +1 and -1, from k of the columns of X; with an intercept."""

    X: Vector
    t: Vector
    k: int

    @cached_property
    def ordered(self) -> Vector:
        return np.asfortranarray(self.X)

    def judge(self, answer: Any) -> Judged:
        margins = self.t * answer.predict(self.X)
        assert answer.features <= self.k
        loss = float(np.logaddexp(0.0, -margins).sum())
        return {**answer.facts, "loss": loss, "features": answer.features}, None


def separating(m: int, n: int, k: int, correlation: float, seed: int) -> Separating:
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((n, m))
    for j in range(1, n):
        columns[j] = correlation * columns[j - 1] + np.sqrt(1 - correlation**2) * columns[j]
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = rng.standard_normal(k)
    odds = columns.T @ x
    odds = 2.5 * odds / odds.std() + 0.5
    return Separating(columns.T.copy(), np.where(rng.random(m) < 1 / (1 + np.exp(-odds)), 1.0, -1.0), k)


def _labelled(m: int, n: int, rng: Any) -> tuple[Vector, Vector]:
    X = rng.standard_normal((m, n))
    return X, np.where(X[:, 0] + rng.standard_normal(m) > 0, 1.0, -1.0)
