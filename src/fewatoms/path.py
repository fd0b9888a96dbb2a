"""The same problem for a range of k, and how to choose k."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
import numpy.typing as npt

from fewatoms import _checks, files, kept
from fewatoms._renamed import renamed
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray
from fewatoms.asked import plain_budget, read_budget
from fewatoms.budget import Budget
from fewatoms.effort import QUICK
from fewatoms.fit import Words, posed
from fewatoms.kept import Kept
from fewatoms.problem import Problem
from fewatoms.run import Callback, Way, solve
from fewatoms.solution import Solution
from fewatoms.solution import restored as answer_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WAYS = ("cv", "held-out", "bic", "ebic", "elbow")


@renamed
def fit_path(M: object, b: npt.ArrayLike, *, k: Iterable[object], **words: Unpack[Words]) -> Path:
    """Fit for every k asked for: each answer is what `fit` gives for its k alone, up to rounding.

    Where dual vectors depend on neither k nor the bound, one run of them serves all. Where they do, budgets are served
    one after the other, with what they share kept.

    Parameters
    ----------
    M, b : as for `fit`
    k : iterable of budgets, e.g. range(1, 51)
        In any order; each once.
    atoms, ... : as for `fit`

    Returns
    -------
    Path: path[k] is the Solution for k; `path.choose_k("cv")` and its like choose one; `path.plot()` draws.
    """
    problem, way = posed(M, b, None, **words)
    budgets = _budgets(problem, k)
    return Path((problem, way), budgets, solve(problem, budgets, way))


@renamed
def choose_k(
    M: object, b: npt.ArrayLike, *, k: Iterable[object], by: str = "cv", folds: int = 5, **words: Unpack[Words]
) -> BudgetLike:
    """The k that `by` prefers among those of an iterable: `fit_path(M, b, ...).choose_k(by)`."""
    path = fit_path(M, b, k=k, **words)
    return path.choose_k(by, folds=folds, rng=words.get("rng"), callback=words.get("callback"))


def _budgets(problem: Problem, k: Iterable[object]) -> list[Budget]:
    demand = "k must be an iterable of budgets such as range(1, 51)"
    if not isinstance(k, Iterable):
        raise TypeError(f"{demand}; got {k!r}")
    budgets = [Budget.of(j, problem.atoms) for j in k]
    if not budgets:
        raise ValueError(f"{demand}; got none")
    if len(set(budgets)) < len(budgets):
        raise ValueError(f"{demand}, each once; got {[budget.k for budget in budgets]}")
    return budgets


class Path:
    """The answers for a range of k.

    k : the budgets, in the order asked for
    losses, misfits : arrays in that order
    scores : what `choose_k` compared, by the name of the way
    chosen : the k chosen last, or None

    `path[k]` is the Solution for k; `len(path)`, iteration over the k and `k in path` work as for a mapping. Files and
    pickles leave M and b out: k is chosen before, and single answers are attached to them again.
    """

    def __init__(self, asked: tuple[Problem, Way] | None, budgets: list[Budget], solutions: list[Solution]) -> None:
        self._asked = asked  # None once M and b are gone
        self._budgets = budgets
        self.k: list[BudgetLike] = [budget.k for budget in budgets]
        self._solutions = dict(zip(self.k, solutions, strict=True))
        self.scores: dict[str, FloatArray] = {}
        self.chosen: BudgetLike = None

    def __getitem__(self, k: BudgetLike) -> Solution:
        try:
            return self._solutions[k]
        except KeyError:
            raise KeyError(f"k = {k!r} is not on this path; it has {self.k}") from None

    def __len__(self) -> int:
        return len(self.k)

    def __iter__(self) -> Iterator[BudgetLike]:
        return iter(self.k)

    def __contains__(self, k: object) -> bool:
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

    @property
    def _problem(self) -> Problem:
        return self._known()[0]

    def _known(self) -> tuple[Problem, Way]:
        if self._asked is None:
            raise ValueError(
                "choosing k needs M and b, which files and pickles leave out: choose before, or fit the path again"
            )
        return self._asked

    def save(self, file: files.PathLike) -> None:
        """Write to a file under the very name given, all or nothing; M and b are not in it. `load` reads it."""
        files.save(file, self.kept())

    def __reduce__(self) -> tuple[object, ...]:
        return restored, (self.kept(),)

    def kept(self) -> Kept:
        """All of it but M and b, for files and pickles."""
        told: dict[str, kept.Plain] = {
            "k": [plain_budget(budget) for budget in self._budgets],
            "ways": [*self.scores],
            "chosen": None if self.chosen is None else self.k.index(self.chosen),
        }
        scores = np.stack([*self.scores.values()]) if self.scores else np.zeros((0, len(self.k)))
        answers = [self._solutions[k].kept() for k in self.k]
        told["called"] = kept.section(answers[0].told["asked"])["called"]  # once for all: M may have many columns
        return Kept("path", told, {"scores": scores}, tuple(_called(answer, None) for answer in answers))

    # Choosing ---------------------------------------------------------------------------------------------------------

    def choose_k(
        self,
        by: str = "cv",
        *,
        folds: int = 5,
        share: float | None = None,
        gamma: float = 1.0,
        rng: object = None,
        callback: Callback | None = None,
    ) -> BudgetLike:
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
        callback : as for `fit`
            Heard while rows are left out; StopIteration ends the choice with the folds that are done, or with the first
            one as far as it came.
        """
        if by not in WAYS:
            raise ValueError(f"by must be one of {', '.join(map(repr, WAYS))}; got {by!r}")
        if by == "cv":
            scores = self._cross_validated(self._folds(_checks.integer("folds", folds, 2, self._rows), rng), callback)
        elif by == "held-out" and self._problem.price.ridge is None and share is None and rng is None:
            scores = np.array([self._solutions[k].held_out for k in self.k], dtype=np.float64)
        elif by == "held-out":
            share = 0.2 if share is None else share
            if not 0 < _checks.number("share", share) < 1:
                raise ValueError(f"share must lie between 0 and 1; got {share!r}")
            count = min(self._rows - 1, max(1, round(share * self._rows)))
            held = np.sort(_checks.generator(rng).permutation(self._rows)[:count])
            scores = self._cross_validated([held], callback)
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
        return self._problem.atoms.shape[1] if self._problem.measured.by_columns else 1

    @property
    def _rows(self) -> int:
        return self._problem.m // self._columns

    def _folds(self, count: int, rng: object) -> list[IntArray]:
        order = _checks.generator(rng).permutation(self._rows)
        return [np.sort(part) for part in np.array_split(order, count)]

    def _cross_validated(self, folds: list[IntArray], callback: Callback | None) -> FloatArray:
        """The loss on the rows of each fold of the fit to the others, summed."""
        (problem, way), total = self._known(), np.zeros(len(self.k))
        way = replace(way, callback=callback, start=None, effort=QUICK)
        for done, fold in enumerate(folds):
            held = (fold[:, None] * self._columns + np.arange(self._columns)).ravel()
            rest = np.setdiff1d(np.arange(problem.m), held)
            loss = problem.base_loss.subset(held)
            answers = solve(problem.subset(rest), self._budgets, way)
            if way.stopped and done:  # a fold cut short does not compare with the others
                break
            for i, answer in enumerate(answers):
                total[i] += loss.value(problem.data[held] - self._predicted(answer, held, rest))
            if way.stopped:
                break
        return total

    def _predicted(self, answer: Solution, held: IntArray, rest: IntArray) -> FloatArray:
        """What a fit to the rest says about the data held out."""
        M = self._problem.measured.subset(held)
        face, c = answer.compact
        values = face.measure(M, c) if face.dim else np.zeros(held.size)
        return values + self._problem.beside.predicted(answer.beside, M, held, rest)

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
            beside = problem.beside.count
            if answer.compact[0].freedom + beside >= m:  # nothing is left to tell how well it fits
                scores[i] = math.inf
                continue
            scores[i] = fit + math.log(m) * (answer.compact[0].freedom + beside) + 2 * gamma * ways
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

    def plot(self, ax: Axes | None = None) -> Axes:
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


def restored(it: Kept) -> Path:
    """The path that was kept, without M and b."""
    told, chosen = it.told, it.told["chosen"]
    answers = [answer_of(_called(answer, told["called"])) for answer in it.inner]
    path = Path(None, [read_budget(k) for k in kept.rows(told["k"])], answers)
    path.scores = dict(zip(map(str, kept.rows(told["ways"])), it.arrays["scores"], strict=True))
    path.chosen = None if chosen is None else path.k[kept.whole(chosen)]
    return path


def _called(answer: Kept, called: kept.Plain) -> Kept:
    """What is kept of an answer, with other names in it."""
    asked = {**kept.section(answer.told["asked"]), "called": called}
    return replace(answer, told={**answer.told, "asked": asked})


files.READERS["path"] = restored
