"""The same problem for a range of k, and how to choose k."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np
import numpy.typing as npt

from fewatoms import _checks, callbacks, curves, files, kept, pages, pathkept, scoring, words
from fewatoms._renamed import renamed
from fewatoms._types import BudgetLike, FloatArray
from fewatoms.atoms import AtomicSet
from fewatoms.budget import Budget
from fewatoms.calls import call
from fewatoms.choosing import REPEATS, STEADY, budgets_of, in_order, preferred
from fewatoms.doors import Words, posed_path
from fewatoms.drawn.path import Curve
from fewatoms.kept import Kept
from fewatoms.losses import Loss
from fewatoms.methods import METHODS
from fewatoms.price import Price
from fewatoms.problem import Problem
from fewatoms.recommended import compared, metric_of, others, ranks, splits_of, unit
from fewatoms.report import path as reported
from fewatoms.run import Callback, Way, solve, solve_priced
from fewatoms.solution import Solution, Status
from fewatoms.splits import Split, choice_told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WAYS = ("cv", "held-out", "bic", "ebic", "elbow")


@renamed
def fit_path(M: object, b: npt.ArrayLike, *, k: Iterable[object], **words: Unpack[Words]) -> Path:
    """Fit for every k asked for, each begun from those beside it.

    Where dual vectors depend on neither k nor the bound, one run of them serves all. Where they do, budgets are served
    one after the other, with what they share kept: ranks of matrices from sampled entries from the smallest on, each
    begun from the one before where entries abound or a ridge is chosen, for which entries are held out once. For least
    squares over columns at hand supports grow from k to k + 1 and shrink from k + 1 to k, each exchanged until no
    single exchange lowers the objective; the answer that is chosen is then searched as `fit` would.

    Parameters
    ----------
    M, b : as for `fit`
    k : iterable of budgets, e.g. range(1, 51)
        In any order; each once.
    **words : as for `fit`
        For atoms that can be listed `ridge` may be a sequence of floats: several are fitted, and `choose_k` chooses
        among them too; "auto" stands for a grid of six: 0 to 3, or .001 to .3 for losses of classes.

    Returns
    -------
    Path
        path[k] is the Solution for k; `path.choose_k("cv")` and its like choose one; `path.plot()` draws. Where a
        callback has stopped the work, answers are the best found by then, and ridges that were not reached are not on
        the path.
    """
    problem, way, ridges = posed_path(M, b, words)
    budgets = budgets_of(problem, k)
    problems = [problem] if ridges is None else [problem.paying(problem.price.at(r)) for r in ridges]

    def told() -> tuple[dict[str, kept.Plain], None]:
        return {"ridges": None if ridges is None else [*ridges]}, None

    with way.listening(), call("fit_path", problem, way, told, budgets=budgets) as here:
        if here.found is not None:
            return restored(here.found).over(problems[0], way)
        answers = solve_priced(problems[::-1], budgets, way)[::-1]
        found = dict(zip(ridges or [problem.ridge], answers, strict=True))
        if way.stopped:  # before the smallest ridges, which come last
            found = {r: some for r, some in found.items() if any(s.cardinality for s in some)} or found
        path = Path((problems[0], way), budgets, found)
        here.mark(path.kept)
    return path


class Path:
    """The answers for a range of k.

    k : the budgets, in the order asked for
    ridges, ridge : what coefficients pay, and the one of these that answers are for: the one chosen last, or the first
    losses, misfits : arrays in the order of k
    scores : what `choose_k` compared, by the name of the way
    errors : their standard errors over the folds, for "cv"
    chosen, chosen_by : the k chosen last, and the name of the way by which it was; or None
    folds : how many were done, and how many there were to be, where rows were left out

    `path[k]` is the Solution for k; as of a mapping, `for k in path` gives the k, not the answers. Files and pickles
    leave M and b out; `attach(M, b)` gives them back.
    """

    def __init__(
        self, asked: tuple[Problem, Way] | None, budgets: list[Budget], answers: Mapping[float, Sequence[Solution]]
    ) -> None:
        self._asked = asked  # None once M and b are gone
        self._budgets = budgets
        self.k: list[BudgetLike] = [budget.k for budget in budgets]
        self.ridges: list[float] = [*answers]
        self.ridge = self.ridges[0]
        self._answers = {ridge: dict(zip(self.k, given, strict=True)) for ridge, given in answers.items()}
        self.scores: dict[str, FloatArray] = {}
        self.errors: dict[str, FloatArray] = {}
        self.chosen: BudgetLike = None
        self.chosen_by: str | None = None
        self.folds: tuple[int, int] | None = None

    @property
    def _solutions(self) -> dict[BudgetLike, Solution]:
        """The answers for the ridge in force."""
        return self._answers[self.ridge]

    def at(self, ridge: float) -> Path:
        """The path of another ridge alone."""
        if ridge not in self._answers:
            raise KeyError(f"ridge = {ridge!r} is not on this path; it has {self.ridges}")
        asked = self._asked
        if asked is not None and asked[0].price.ridge is not None:
            problem, way = asked
            asked = problem.paying(problem.price.at(ridge)), way
        return Path(asked, self._budgets, {ridge: [*self._answers[ridge].values()]})

    def __getitem__(self, k: BudgetLike) -> Solution:
        try:
            return self._solutions[k]
        except (KeyError, TypeError):
            raise KeyError(f"k = {k!r} is not on this path; it has {self.k}") from None

    def __len__(self) -> int:
        return len(self.k)

    def __iter__(self) -> Iterator[BudgetLike]:
        return iter(self.k)

    def __contains__(self, k: object) -> bool:
        return k in self.k

    def __repr__(self) -> str:
        return words.path(self)

    summary, report, _repr_html_ = words.path_summary, reported, pages.path

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
            again = "choose before, or fit the path again"
            way = again if self._settled_by_entries else "path.attach(M, b) gives them back"
            raise ValueError(f"choosing k needs M and b, which files and pickles leave out: {way}")
        return self._asked

    def save(self, file: files.PathLike) -> None:
        """Write to a file under the very name given, all or nothing; M and b are not in it. `load` reads it."""
        files.save(file, self.kept())

    def attach(
        self, M: object, b: npt.ArrayLike, *, atoms: AtomicSet | None = None, loss: Loss | None = None,
        free: object = None,
    ) -> Path:  # fmt: skip
        """This path with M and b, which it had before it was pickled or saved: see `Solution.attach`, which does the
        same for one answer. One product for the fingerprint of all; the path itself does not change.

        Certificates can be had again, and k be chosen, as the default method does at normal effort. Where a ridge was
        chosen for each k by entries held out, how is not known any more, and k is chosen before.
        """
        first = self[self.k[0]]
        return self.over(first.certificate.asked.again(M, b, atoms, loss, free))

    def over(self, problem: Problem, way: Way | None = None) -> Path:
        """The same with its problem; how it was solved tells how k is chosen, where that is known still."""
        answers = {
            ridge: [s.attached_to(s.certificate.asked.beside(problem)) for s in given.values()]
            for ridge, given in self._answers.items()
        }
        asked = None if way is None else (problem, way)
        if way is None and not self._settled_by_entries:
            asked = replace(problem, budget=Budget(), slack=0.0), Way(METHODS)
        path = Path(asked, self._budgets, answers)
        path.ridge, path.chosen = self.ridge, self.chosen
        path.scores, path.errors = dict(self.scores), dict(self.errors)
        return path

    def __reduce__(self) -> tuple[object, ...]:
        return restored, (self.kept(),)

    def kept(self) -> Kept:
        """All of it but M and b, for files and pickles."""
        return pathkept.told(self._budgets, self._answers, (self.scores, self.errors), self.ridge, self.chosen)

    # Choosing ---------------------------------------------------------------------------------------------------------

    def choose_k(
        self,
        by: str = "cv",
        *,
        folds: int | Iterable[object] = 5,
        repeats: int | None = None,
        rule: str = "best",
        share: float | None = None,
        gamma: float = 1.0,
        rng: object = None,
        callback: Callback | Sequence[Callback] | None = None,
    ) -> BudgetLike:
        """The k that `by` prefers, and with several ridges the ridge as well: `path.best` is the answer for both,
        `path.ridge` the ridge. The fewest atoms among equals; lower scores are better, kept in `scores[by]`. Where rows
        are left out, five sizes or more that follow each other are compared by averages of neighbouring scores: a score
        that is low by itself is chance. None is taken that is higher than the lowest by more than its standard error.

        Parameters
        ----------
        by : "cv", "held-out", "bic", "ebic" or "elbow"; or "ndcg@10" and the like
            "cv": how well rows left out are predicted, `folds` times, all of them once: the root mean square error for
            least squares (gross errors cut off in a sum with a part for them), otherwise the loss, summed; "held-out":
            once, for a `share` of them (a fifth; where a ridge was chosen for each k by entries held out, those serve
            unless a share is given).
            "bic": m log(loss) + log(m) times the coefficients (twice the loss of classes, whose scale is known);
            "ebic" adds 2 gamma log of the number of ways to choose the atoms. "elbow": where the logarithm of the
            misfit lies farthest below the straight line between its ends. Fits to parts of the rows are made without
            the dearest steps of a search: they are for comparing budgets. The answer chosen is searched once more.
            Of matrices with sampled entries also "ndcg@10", "precision@10", "recall@10", or another number: where
            entries left out stand among all columns of their rows that were not fitted to, see `Ranking`; means over
            the folds, the higher the better. With a background "cv" and "held-out" are 1 - NDCG, for all places.
        folds : int, or iterable of index arrays
            How many, drawn from all rows (of each class as large a share as of the others); or the rows left out each
            time, or pairs (rows fitted to, rows left out) as the splitters of scikit-learn give them.
        repeats : int, optional
            How often rows are split anew for "cv": once, or three times where ridges are compared as well.
        rule : "best" or "1se"
            "1se" takes the fewest atoms whose score is within one standard error (over the folds) of the best one.
        rng : seed or Generator
            Of the split of the rows; the default is a fixed one.
        callback : as for `fit`
            Heard while rows are left out; StopIteration ends the choice with the folds done, or by "bic" where none
            was: see `chosen_by`, `folds`. That of `fit_path` is not heard; sizes that it stopped have scores of nan.
        """
        ways, among = (WAYS, "") if len(self.ridges) == 1 else (WAYS[:2], " where ridges are compared")
        if by not in ways and not ranks(by):
            raise ValueError(f"by must be one of {', '.join(map(repr, ways + others(self._asked)))}{among}; got {by!r}")
        if rule not in ("best", "1se"):
            raise ValueError(f"rule must be 'best' or '1se'; got {rule!r}")
        problem, way = self._known()
        heard = callbacks.read(callback)
        if heard is None and not self.fitted:
            raise ValueError("no k was fitted before the callback stopped the path: fit it again with more time")
        settled, one = self._settled_by_entries and share is None and rng is None, len(self.ridges) == 1
        splits, times = splits_of(problem, by, (folds, repeats, 1 if one else REPEATS), share, rng, settled=settled)
        return self.choose(by, rule, _checks.number("gamma", gamma), splits, times, replace(way, callback=heard))

    def choose(self, by: str, rule: str, gamma: float, splits: list[Split] | None, times: int, way: Way) -> BudgetLike:
        """The same for rows that have been drawn, each left out so many times."""
        told = choice_told(by, rule, (gamma, times), self.ridges, splits, self.kept)
        with way.listening(), call("Path.choose_k", self._problem, way, told, budgets=self._budgets) as here:
            if here.found is not None:
                self._take(here.found, way)
            else:
                self._choose(by, rule, gamma, splits, times, way)
                folds: kept.Plain = [*(self.folds or ())]
                here.mark(lambda: Kept("chosen", {"by": self.chosen_by, "folds": folds}, {}, (self.kept(),)))
        return self.chosen

    def _take(self, it: Kept, way: Way) -> None:
        """The choice that was made before."""
        asked, counts = self._asked, [kept.whole(n) for n in kept.rows(it.told["folds"])]
        vars(self).update(vars(restored(it.inner[0]).over(self._problem, way)))
        self._asked, self.chosen_by, self.folds = asked, str(it.told["by"]), (counts[0], counts[1]) if counts else None

    def _choose(self, by: str, rule: str, gamma: float, splits: list[Split] | None, times: int, way: Way) -> None:
        problem, errors, spread, chance = self._problem, None, None, math.inf
        if splits is None:
            shown = scores = self._compared(by, gamma)
        else:
            metric, budgets = metric_of(problem, by), [self._budgets[i] for i in self._among]
            left_out = compared(problem, budgets, self._prices, splits, way, times, metric)
            self.folds = 0 if left_out is None else left_out.folds, len(splits)
            if left_out is None:
                by, splits = "bic", None
                shown = scores = self._compared("bic")
            else:
                scores, errors, chance = left_out.scores, left_out.errors, left_out.chance
                shown, spread = left_out.told(problem.base_loss)
                shown = shown if by in WAYS else 1.0 - shown
        self.chosen_by, self.scores[by] = by, self._told(shown)
        if by != "held-out" and spread is not None:
            self.errors[by] = self._told(spread)
        lowest = None if errors is None or rule == "best" else float(errors.flat[int(scores.argmin())])
        self._settle(scores, lowest, way, steady=splits is not None and rule == "best", chance=chance)

    @property
    def stopped(self) -> bool:
        """Whether a callback ended the work: some answers are what was there by then."""
        return any(s.status is Status.STOPPED for given in self._answers.values() for s in given.values())

    @property
    def fitted(self) -> list[BudgetLike]:
        """The k with an answer of their own: all of them unless the work was stopped before."""
        done = (any(scoring.done(s[b.k], b) for s in self._answers.values()) for b in self._budgets)
        return [k for k, one in zip(self.k, done, strict=True) if one]

    @property
    def _among(self) -> list[int]:
        """Which sizes are compared: those that were fitted; if none was, as long as a callback lets them be."""
        return [self.k.index(k) for k in self.fitted or self.k]

    def _told(self, compared: FloatArray) -> FloatArray:
        """What was compared in the order of k, and of ridges if there are several; nan for sizes that were not."""
        told = np.full((len(self.ridges), len(self.k)), np.nan)
        told[:, self._among] = compared
        return told[0] if len(self.ridges) == 1 else told

    def _compared(self, by: str, gamma: float = 0.0) -> FloatArray:
        """Scores for which nothing is left out now, for each ridge."""
        answers = ([some[self.k[i]] for i in self._among] for some in self._answers.values())
        return np.stack([scoring.of_answers(by, self._problem, some, gamma) for some in answers])

    @property
    def unit(self) -> str:
        """What scores of rows left out are: root mean square errors for least squares, 1 - NDCG for clicks, otherwise
        losses."""
        return unit(self._problem)

    @property
    def _prices(self) -> list[Price]:
        problem = self._problem
        if problem.price.ridge is None:
            return [problem.price]
        return [problem.price.at(ridge) for ridge in self.ridges]

    @property
    def _settled_by_entries(self) -> bool:
        """Whether a ridge was chosen for each k by entries held out."""
        return any(s.held_out is not None for s in self._solutions.values())

    @property
    def averaged(self) -> bool:
        """Whether scores of rows left out are averaged with those of neighbouring sizes to choose the best one."""
        some = [self._budgets[i] for i in self._among]
        return len(some) >= STEADY and in_order(some)[1]

    def _settle(
        self, scores: FloatArray, error: float | None, way: Way, *, steady: bool, chance: float = math.inf
    ) -> None:
        """Take the answer with the best score, of those that were fitted, and search it once more."""
        among = self._among
        sizes = np.array([[given[self.k[i]].cardinality for i in among] for given in self._answers.values()])
        order, beside = in_order([self._budgets[i] for i in among])
        row, place = preferred(scores[:, order], sizes[:, order], error, steady=steady and beside, chance=chance)
        column = among[int(order[place])]
        self.ridge, self.chosen = self.ridges[row], self.k[column]
        problem = self._problem.with_budget(self._budgets[column])
        if len(self.k) * len(self.ridges) > 1 and problem.price.ridge is not None and not way.stopped:
            problem = problem.paying(self._prices[row])
            (again,) = solve(problem, [problem.budget], replace(way, start=self.best))
            if again.objective < self.best.objective * (1 - 1e-9):
                self._solutions[self.chosen] = again

    # Drawing ----------------------------------------------------------------------------------------------------------

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw misfit (or loss) against k, with the scores compared last and the k chosen; returns the axes.

        matplotlib is needed: pip install 'fewatoms[plot]'.
        """
        return curves.path(Curve.of(self), ax)


def restored(it: Kept) -> Path:
    """The path that was kept, without M and b."""
    known = pathkept.read(it)
    path = Path(None, known.budgets, known.answers)
    path.ridge, path.scores, path.errors = known.ridge, known.scores, known.errors
    path.chosen = None if known.chosen is None else path.k[known.chosen]
    return path


files.READERS["path"] = restored
