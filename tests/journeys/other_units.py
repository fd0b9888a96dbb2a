"""Problems of every family that can be asked in any units, and what the units of their answers are then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import fewatoms as fa
from journeys.planting import cosines, low_rank, semidefinite

m, n = 24, 12


@dataclass(frozen=True)
class Units:
    """What things are multiplied by, each of them by itself.

    b, M : data and measurements
    columns, free : columns of M and free columns, by powers of these between -1 and 1, one for each
    atoms : all atoms; groups by the reciprocals of their weights
    weights : those of the loss
    """

    b: float = 1.0
    M: float = 1.0
    columns: float = 1.0
    free: float = 1.0
    atoms: float = 1.0
    weights: float = 1.0

    def each(self, base: float, count: int) -> np.ndarray:
        """A factor for each of so many columns, the two extremes among them."""
        return base ** np.linspace(-1.0, 1.0, count)[np.random.default_rng(5).permutation(count)]


@dataclass(frozen=True)
class Asked:
    """Arguments of `fit`, and the units of the answer: of x, of free coefficients, of the loss, of the gauge."""

    words: dict[str, Any]
    x: Any
    loss: float
    free: Any = 1.0


@dataclass(frozen=True)
class Case:
    """A question, and the units that it can be asked in."""

    units: tuple[str, ...]
    ask: Callable[[Units], Asked]
    fit: Callable[..., Any] = field(default=lambda M, b, **words: fa.fit(M, b, **words))


def _data(u: Units, seed: int = 0, labels: bool = False):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((m, n)) + 0.7 * rng.standard_normal((m, 1))
    b = D[:, [1, 4, 7]] @ np.array([2.0, -1.5, 1.0]) + 0.3 * rng.standard_normal(m)
    return u.M * (D * u.each(u.columns, n)), b if labels else u.b * b


def _vector(atoms, k=3, units=("b", "M", "columns", "weights"), **words) -> Case:
    """Listed atoms and least squares, or a loss in units of b."""

    def ask(u: Units) -> Asked:
        M, b = _data(u)
        said = {name: value(u) if callable(value) else value for name, value in words.items()}
        loss = said.pop("loss", None)
        if loss is None:
            loss = fa.LeastSquares() if u.weights == 1 else fa.LeastSquares(np.full(m, u.weights))
        asked = {"M": M, "b": b, "atoms": atoms(u), "k": k, "loss": loss, **said}
        x = u.b / u.M / u.each(u.columns, n)
        count = np.ndim(said.get("free")) and np.shape(said["free"])[1]
        return Asked(asked, x, u.weights * u.b**2, u.b / u.each(u.free, count) if count else u.b)

    return Case(units, ask)


def _free(u: Units) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.stack([np.ones(m), np.arange(m) / m, rng.standard_normal(m)], axis=1) * u.each(u.free, 3)


def _signed(u: Units) -> fa.AtomicSet:
    return fa.SignedOneHot(n)


def _groups(u: Units) -> fa.AtomicSet:
    return fa.Groups(np.arange(n) // 3, weights=np.array([1.0, 2.0, 0.5, 1.0]) / u.atoms)


def _classes(loss: fa.Loss, count: int, **words) -> Case:
    def ask(u: Units) -> Asked:
        M, b = _data(u, labels=True)
        labels = np.digitize(
            b + np.random.default_rng(9).standard_normal(m), np.quantile(b, [0.5] if count == 2 else [0.3, 0.6])
        )
        said = {name: value(u) if callable(value) else value for name, value in words.items()}
        x = 1.0 / u.M / u.each(u.columns, n)
        asked = {"M": M, "b": labels, "atoms": _signed(u), "k": 2, "loss": loss, "ridge": 0.3, **said}
        return Asked(asked, x if count == 2 else x[:, None], 1.0)

    return Case(("M",) if "cap" in words else ("M", "columns"), ask)


def _entries(**words) -> Case:
    def ask(u: Units) -> Asked:
        rng = np.random.default_rng(1)
        X = low_rank(rng, 9, 8, 2) + 0.05 * rng.standard_normal((9, 8))
        seen = np.flatnonzero(rng.random(72) < 0.85)
        rows, cols = np.divmod(seen, 8)
        said = {name: value(u) if callable(value) else value for name, value in words.items()}
        loss = fa.LeastSquares() if u.weights == 1 else fa.LeastSquares(np.full(seen.size, u.weights))
        asked = {"M": fa.Sampling(rows, cols, (9, 8)), "b": u.b * X.ravel()[seen], "atoms": fa.RankOne(9, 8), "k": 2}
        return Asked({**asked, "loss": loss, **said}, u.b, u.weights * u.b**2)

    return Case(("b", "weights"), ask)


def _robust(join, k, **words) -> Case:
    def ask(u: Units) -> Asked:
        rng = np.random.default_rng(2)
        X = low_rank(rng, 10, 8, 1) + 0.01 * rng.standard_normal((10, 8))
        X.flat[[3, 30, 61]] += np.array([4.0, -5.0, 6.0])
        atoms = join(fa.RankOne(10, 8), fa.SignedOneHot((10, 8)))
        asked = {"M": fa.Identity((10, 8)), "b": u.b * X, "atoms": atoms, "k": k, **words}
        return Asked(asked, u.b, u.b**2)

    return Case(("b",), ask)


def _phases(complex_: bool, **words) -> Case:
    def ask(u: Units) -> Asked:
        rng = np.random.default_rng(4)
        X = semidefinite(rng, 5, 1, complex_)
        A = rng.standard_normal((40, 5)) + (1j * rng.standard_normal((40, 5)) if complex_ else 0.0)
        b = np.einsum("ij,jl,il->i", A, X, A.conj()).real * (1 + 0.01 * rng.standard_normal(40))
        asked = {"M": fa.Quadratic(u.M * A), "b": u.b * b, "atoms": fa.PSDRankOne(5), "k": 1, **words}
        return Asked(asked, u.b / u.M**2, u.b**2)

    return Case(("b", "M"), ask)


def _matrix(atoms, k, **words) -> Case:
    """A matrix measured by an array."""

    def ask(u: Units) -> Asked:
        rng = np.random.default_rng(6)
        X = semidefinite(rng, 5, 1)
        M = rng.standard_normal((40, 25))
        b = M @ X.ravel() + 0.05 * rng.standard_normal(40)
        return Asked({"M": u.M * M, "b": u.b * b, "atoms": atoms, "k": k, **words}, u.b / u.M, u.b**2)

    return Case(("b", "M"), ask)


def _huber(u: Units) -> fa.Loss:
    return fa.Huber(0.5 * u.b, None if u.weights == 1 else np.full(m, u.weights))


def _alpha(u: Units) -> float:
    return 2.0 * u.weights * u.b**2


def _joint() -> Case:
    def ask(u: Units) -> Asked:
        M, b = _data(u)
        B = np.stack([b, b[::-1], 2 * b], axis=1)
        return Asked(
            {"M": M, "b": B, "atoms": fa.Joint(_signed(u)), "k": 3}, (u.b / u.M / u.each(u.columns, n))[:, None], u.b**2
        )

    return Case(("b", "M", "columns"), ask)


def _spikes(join) -> Case:
    def ask(u: Units) -> Asked:
        rng = np.random.default_rng(8)
        B, M = cosines(n), rng.standard_normal((m, n))
        x = np.zeros(n)
        x[[2, 5]] = [3.0, -2.0]
        b = M @ (x + 2.0 * B[:, 3]) + 0.05 * rng.standard_normal(m)
        atoms = join(fa.SignedOneHot(n), fa.Mapped(B, fa.SignedOneHot(n)))
        return Asked({"M": u.M * M, "b": u.b * b, "atoms": atoms, "k": (2, 1)}, u.b / u.M, u.b**2)

    return Case(("b", "M"), ask)


def _dictionary(symmetric: bool) -> Callable[[Units], fa.AtomicSet]:
    D = np.random.default_rng(7).standard_normal((n, 18))
    return lambda u: fa.Dictionary(u.atoms * D, symmetric=symmetric)


ONE = ("b", "M", "weights")  # where columns of M are not atoms
CASES: dict[str, Case] = {
    "signed": _vector(_signed),
    "signed by misfit": _vector(_signed, k=4, misfit=0.4),
    "signed by alpha": _vector(_signed, k=4, alpha=_alpha),
    "fewest": _vector(_signed, k=None, misfit=0.3),
    "ridge": _vector(_signed, ridge=0.5),
    "ridge and bound": _vector(_signed, k=6, ridge=0.1, misfit=0.5),
    "chosen ridge": _vector(_signed, ridge="auto"),
    "cap": _vector(_signed, units=ONE, cap=lambda u: 0.9 * (u.b / u.M)),
    "cap and ridge": _vector(_signed, units=ONE, cap=lambda u: 0.9 * (u.b / u.M), ridge=0.2),
    "nonnegative": _vector(lambda u: fa.NonnegativeOneHot(n)),
    "nonnegative by misfit": _vector(lambda u: fa.NonnegativeOneHot(n), k=4, misfit=0.75),
    "cone": _vector(lambda u: fa.NonnegativeCone(n)),
    "groups": _vector(_groups, k=2, units=("b", "M", "columns", "weights", "atoms")),
    "groups by misfit": _vector(_groups, k=3, units=("b", "M", "columns", "weights", "atoms"), misfit=0.4),
    "dictionary": _vector(_dictionary(True), units=(*ONE, "atoms")),
    "nonnegative dictionary": _vector(_dictionary(False), units=(*ONE, "atoms")),
    "mapped": _vector(lambda u: fa.Mapped(u.atoms * cosines(n), fa.SignedOneHot(n)), units=(*ONE, "atoms")),
    "multiple": _vector(lambda u: u.atoms * fa.SignedOneHot(n), units=(*ONE, "columns", "atoms")),
    "huber": _vector(_signed, loss=_huber),
    "huber with ridge": _vector(_signed, loss=_huber, ridge=0.5),
    "huber by alpha": _vector(_signed, k=5, loss=_huber, alpha=_alpha),
    "huber beside columns": _vector(_signed, loss=_huber, free=_free, units=("b", "M", "columns", "free")),
    "beside columns": _vector(_signed, free=_free, units=("b", "M", "columns", "weights", "free")),
    "beside columns by misfit": _vector(_signed, k=4, misfit=0.4, free=_free, units=("b", "M", "columns", "free")),
    "intercept": _vector(_signed, free="intercept"),
    "huber with intercept": _vector(_signed, loss=_huber, free="intercept"),
    "groups beside columns": _vector(_groups, k=2, free=_free, units=("b", "M", "columns", "free", "atoms")),
    "include and exclude": _vector(lambda u: fa.SignedOneHot(n).restricted(include=[3], exclude=[7])),
    "joint": _joint(),
    "logistic": _classes(fa.Logistic(), 2),
    "logistic with intercept": _classes(fa.Logistic(), 2, free="intercept"),
    "logistic with cap": _classes(fa.Logistic(), 2, cap=lambda u: 0.8 / u.M),
    "multinomial": _classes(fa.Multinomial(), 3),
    "multinomial with intercept": _classes(fa.Multinomial(), 3, free="intercept"),
    "entries": _entries(),
    "entries by misfit": _entries(misfit=0.1),
    "entries with ridge": _entries(ridge=lambda u: 0.5 * u.b * u.weights),
    "entries with biases": _entries(ridge=lambda u: 0.5 * u.b * u.weights, free=lambda u: fa.Biases(0.3 * u.weights)),
    "low rank + sparse": _robust(lambda a, b: a + b, (1, 3)),
    "low rank + sparse, open": _robust(lambda a, b: a + b, (1, None)),
    "pursuit": _robust(lambda a, b: a | b, None, misfit=0.02),
    "low rank | sparse": _robust(lambda a, b: a | b, (1, 3)),
    "phases": _phases(False),
    "complex phases": _phases(True),
    "psd": _matrix(fa.PSDRankOne(5), 1),
    "rank one": _matrix(fa.RankOne(5, 5), 1),
    "rank one by misfit": _matrix(fa.RankOne(5, 5), 1, misfit=0.2),
    "sum": _spikes(lambda a, b: a + b),
    "union": _spikes(lambda a, b: a | b),
}  # fmt: skip


def asked(name: str, **units: float) -> Asked:
    """A case in these units."""
    case = CASES[name]
    if any(unit not in case.units and value != 1 for unit, value in units.items()):
        raise ValueError(f"{name} has units of {case.units} only")
    return case.ask(Units(**units))
