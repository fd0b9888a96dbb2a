"""The same problem for a range of k, and how to choose k."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from fewatoms import _checks
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.atoms import AtomicSet
from fewatoms.fit import default_ridge, joint_problem, several, solve
from fewatoms.losses import LeastSquares, Loss
from fewatoms.operators import Projected, as_operator
from fewatoms.oracles import Oracle
from fewatoms.problem import Problem
from fewatoms.retrieval import Retrieval
from fewatoms.separated import weighed
from fewatoms.solution import Progress, Solution

WAYS = ("cv", "held-out", "bic", "ebic", "elbow")


def fit_path(
    M: Any,
    b: Any,
    *,
    atoms: AtomicSet,
    k: Iterable[Any],
    alpha: float | None = None,
    misfit: float | None = None,
    loss: Loss = LeastSquares(),
    free: Any = None,
    include: Any = None,
    exclude: Any = None,
    cap: float | None = None,
    biases: bool = False,
    ridge: Any = None,
    nonnegative: bool = False,
    joint: bool = False,
    start: Solution | None = None,
    oracle: Oracle | None = None,
    retrieval: Retrieval | None = None,
    max_iterations: int = 1000,
    callback: Callable[[Progress], object] | None = None,
    rng: Any = None,
) -> Path:
    """Fit for every k asked for: each answer is what `fit` gives for its k alone, up to rounding.

    Where dual vectors depend on neither k nor the bound, one run of them serves all. Low-rank matrices from sampled
    entries are fitted one k after the other, with the entries sorted once.

    Parameters
    ----------
    k : iterable of budgets, e.g. range(1, 51)
        In any order; each once.
    M, b, atoms, ... : as for `fit`
        b is one data vector, or several with `joint=True`.

    Returns
    -------
    Path: path[k] is the Solution for k; `path.choose_k("cv")` and its like choose one; `path.plot()` draws.
    """
    operator, atoms = as_operator(M), weighed(atoms)
    if not joint and several(operator, b) is not None:
        raise ValueError(f"b must be one data vector, or several with joint=True; got shape {np.shape(b)}")
    asked = {
        "k": None, "alpha": alpha, "misfit": misfit, "loss": loss, "free": free,
        "include": include, "exclude": exclude, "cap": cap,
        "biases": biases, "ridge": default_ridge(ridge, biases, alpha, misfit), "nonnegative": nonnegative,
    }  # fmt: skip
    if joint:
        problem = joint_problem(operator, b, atoms, asked)
    else:
        problem = Problem(operator, b, atoms=atoms, **asked)
    budgets = _budgets(problem, k)
    how = {"oracle": oracle, "retrieval": retrieval, "max_iterations": max_iterations, "rng": rng}
    return Path(problem, budgets, solve(problem, budgets, callback=callback, start=start, **how), how)


def choose_k(
    M: Any, b: Any, *, atoms: AtomicSet, k: Iterable[Any], by: str = "cv", folds: int = 5, rng: Any = None, **asked: Any
) -> Any:
    """The k that `by` prefers among those of an iterable: `fit_path(M, b, ...).choose_k(by)`."""
    return fit_path(M, b, atoms=atoms, k=k, rng=rng, **asked).choose_k(by, folds=folds, rng=rng)


def _budgets(problem: Problem, k: Any) -> list[Any]:
    demand = "k must be an iterable of budgets such as range(1, 51)"
    try:
        budgets = [problem.atoms.budget(j) for j in k]
    except TypeError as error:
        if not hasattr(k, "__iter__"):
            raise TypeError(f"{demand}; got {k!r}") from None
        raise error
    if not budgets:
        raise ValueError(f"{demand}; got none")
    if len(set(budgets)) < len(budgets):
        raise ValueError(f"{demand}, each once; got {budgets}")
    return budgets


class Path:
    """The answers for a range of k.

    k : the budgets, in the order asked for
    losses, misfits : arrays in that order
    scores : what `choose_k` compared, by the name of the way
    chosen : the k chosen last, or None

    `path[k]` is the Solution for k; `len(path)`, iteration over the k and `k in path` work as for a mapping.
    """

    def __init__(self, problem: Problem, k: list[Any], solutions: list[Solution], how: dict[str, Any]) -> None:
        self._problem, self._how = problem, how
        self.k = k
        self._solutions = dict(zip(k, solutions, strict=True))
        self.scores: dict[str, FloatArray] = {}
        self.chosen: Any = None

    def __getitem__(self, k: Any) -> Solution:
        try:
            return self._solutions[k]
        except KeyError:
            raise KeyError(f"k = {k!r} is not on this path; it has {self.k}") from None

    def __len__(self) -> int:
        return len(self.k)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.k)

    def __contains__(self, k: Any) -> bool:
        return k in self._solutions

    def __repr__(self) -> str:
        chosen = "" if self.chosen is None else f", chosen k={self.chosen}"
        shown = f"{self.k[0]}" if len(self.k) == 1 else f"{self.k[0]} to {self.k[-1]}"
        return f"Path({len(self)} answers, k={shown}, smallest loss {self.losses.min():.6g}{chosen})"

    @property
    def losses(self) -> FloatArray:
        return np.array([self._solutions[k].loss for k in self.k])

    @property
    def misfits(self) -> FloatArray:
        return np.array([self._solutions[k].misfit for k in self.k])

    @property
    def best(self) -> Solution:
        """The answer for the chosen k."""
        if self.chosen is None:
            raise ValueError("no k has been chosen yet; call choose_k first")
        return self._solutions[self.chosen]

    # Choosing ---------------------------------------------------------------------------------------------------------

    def choose_k(
        self, by: str = "cv", *, folds: int = 5, share: float | None = None, gamma: float = 1.0, rng: Any = None
    ) -> Any:
        """The k that `by` prefers; the fewest atoms among equals. Lower scores are better, kept in `scores[by]`.

        Parameters
        ----------
        by : "cv", "held-out", "bic", "ebic" or "elbow"
            "cv": loss on rows left out, `folds` times, summed over all rows; "held-out": once, for a `share` of them
            (a fifth; where a ridge was chosen for each k by entries held out, those serve unless a share is given).
            "bic": m log(loss) + log(m) times the coefficients (twice the loss for Logistic, whose scale is known);
            "ebic" adds 2 gamma log of the number of ways to choose the atoms. "elbow": where the logarithm of the
            misfit lies farthest below the straight line between its ends. Fits to parts of the rows are made without
            the dearest steps of the default retrieval: they are for comparing budgets.
        rng : seed or Generator
            Of the split of the rows; the default is a fixed one.
        """
        if by not in WAYS:
            raise ValueError(f"by must be one of {', '.join(map(repr, WAYS))}; got {by!r}")
        if by == "cv":
            scores = self._cross_validated(self._folds(_checks.integer("folds", folds, 2, self._rows), rng))
        elif by == "held-out" and self._problem.ridge is None and share is None and rng is None:
            scores = np.array([self._solutions[k].held_out for k in self.k])
        elif by == "held-out":
            share = 0.2 if share is None else share
            if not 0 < _checks.number("share", share) < 1:
                raise ValueError(f"share must lie between 0 and 1; got {share!r}")
            count = min(self._rows - 1, max(1, round(share * self._rows)))
            scores = self._cross_validated([np.sort(_checks.generator(rng).permutation(self._rows)[:count])])
        elif by == "elbow":
            scores = self._elbow()
        else:
            scores = self._information(_checks.number("gamma", gamma) if by == "ebic" else 0.0)
        self.scores[by] = scores
        sizes = np.array([self._solutions[k].cardinality for k in self.k])
        near = np.flatnonzero(scores <= scores.min() + 1e-12 * abs(scores.min()))
        self.chosen = self.k[near[np.argmin(sizes[near])]]
        return self.chosen

    @property
    def _columns(self) -> int:
        """How many data vectors share their rows."""
        return self._problem.atoms.shape[1] if self._problem.M.by_columns else 1

    @property
    def _rows(self) -> int:
        return self._problem.m // self._columns

    def _folds(self, count: int, rng: Any) -> list[IntArray]:
        order = _checks.generator(rng).permutation(self._rows)
        return [np.sort(part) for part in np.array_split(order, count)]

    def _cross_validated(self, folds: list[IntArray]) -> FloatArray:
        """The loss on the rows of each fold of the fit to the others, summed."""
        problem = self._problem
        M: Any = problem.M.inner
        M = M.M if isinstance(M, Projected) else M
        total = np.zeros(len(self.k))
        for fold in folds:
            held = (fold[:, None] * self._columns + np.arange(self._columns)).ravel()
            rest = np.setdiff1d(np.arange(problem.m), held)
            free = None if problem.free is None else problem.free[rest]
            present = slice(None) if free is None else np.flatnonzero(free.any(axis=0))
            free = free[:, present] if free is not None and free.any() else None
            part = Problem(
                M.subset(rest),
                problem.data[rest],
                atoms=problem.atoms,
                loss=problem.base_loss.subset(rest),
                free=free,
                cap=problem.cap,
                biases=problem.biases,
                ridge="auto" if problem.ridge is None else (problem.ridge, problem.shrink or 0.0),
                nonnegative=problem.nonnegative,
            )
            part.forced, part.barred = problem.forced, problem.barred
            seen, loss = M.subset(held), problem.base_loss.subset(held)
            for i, answer in enumerate(solve(part, self.k, quick=True, **self._how)):
                left = problem.data[held] - seen.restrict(answer._face).apply(answer._c)
                if answer.biases is not None:
                    left = left - answer.biases.at(seen.rows, seen.cols)
                if problem.free is not None:
                    left = left - problem.free[held][:, present] @ np.ravel(answer.free_coefficients)
                total[i] += loss.value(left)
        return total

    def _information(self, gamma: float) -> FloatArray:
        """m log(loss / m), or twice a loss that is a likelihood, plus the price of the coefficients."""
        problem, m = self._problem, self._problem.m
        scores = np.empty(len(self.k))
        for i, k in enumerate(self.k):
            answer = self._solutions[k]
            fit = (
                m * math.log(max(answer.loss, 1e-28 * problem.reference, 1e-300) / m)
                if problem.loss.anchored
                else 2 * answer.loss
            )
            ways = math.lgamma(problem.atoms.count + 1) if gamma else 0.0
            if gamma:
                size = min(answer.cardinality, problem.atoms.count)
                ways -= math.lgamma(size + 1) + math.lgamma(problem.atoms.count - size + 1)
            beside = answer.free_coefficients.size + (sum(problem.atoms.shape) if answer.biases is not None else 0)
            if answer._face.freedom + beside >= m:  # nothing is left to tell how well it fits
                scores[i] = math.inf
                continue
            scores[i] = fit + math.log(m) * (answer._face.freedom + beside) + 2 * gamma * ways
        return scores

    def _elbow(self) -> FloatArray:
        """Height of the misfit's logarithm above the line between its ends, both scaled to 1."""
        if len(self.k) < 3:
            raise ValueError(f"by='elbow' needs a path of at least 3 budgets; this one has {len(self.k)}")
        sizes = np.array([self._solutions[k].cardinality for k in self.k], dtype=float)
        height = np.log(np.maximum(self.losses, max(1e-28 * self._problem.reference, 1e-300)))
        first, last = int(np.argmin(sizes)), int(np.argmax(sizes))
        span, fall = max(sizes[last] - sizes[first], 1.0), max(height[first] - height[last], 1e-300)
        return np.asarray((height - height[first]) / fall + (sizes - sizes[first]) / span)

    # Drawing ----------------------------------------------------------------------------------------------------------

    def plot(self, ax: Any = None) -> Any:
        """Draw misfit (or loss) against k, with the scores compared last and the k chosen; returns the axes.

        matplotlib is needed: pip install 'fewatoms[plot]'.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("plot() needs matplotlib: pip install 'fewatoms[plot]'") from None
        ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")[1] if ax is None else ax
        sizes = np.array([self._solutions[k].cardinality for k in self.k])
        order = np.argsort(sizes, kind="stable")
        means_something = not np.isnan(self.misfits).any()
        heights: Array = self.misfits if means_something else self.losses
        ax.plot(sizes[order], heights[order], "o-", color="#1f4e79", markersize=4, label="fit to the data")
        positive = heights[heights > 0]
        if positive.size and positive.max() > 30 * positive.min():
            ax.set_yscale("log")
        ax.set_xlabel("atoms used")
        ax.set_ylabel("misfit |b - Mx| / |b|" if means_something else "loss")
        handles = list(ax.get_lines()[-1:])
        if self.scores:
            way, scores = next(reversed(self.scores.items()))
            other = ax.twinx()
            other.plot(sizes[order], scores[order], "s--", color="#c55a11", markersize=3, label=f"score ({way})")
            other.set_ylabel(f"score ({way}), lower is better")
            handles += list(other.get_lines())
        if self.chosen is not None:
            at = self._solutions[self.chosen].cardinality
            handles.append(ax.axvline(at, color="0.4", linewidth=1, linestyle=":", label=f"chosen: k = {self.chosen}"))
        ax.legend(handles=handles, frameon=False)
        return ax
