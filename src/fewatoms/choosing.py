"""How budgets and ridges are compared by rows left out: which rows, which fits, which of the answers is preferred."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from fewatoms import _checks, ledger, scoring
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.budget import Budget
from fewatoms.candidates import Compact
from fewatoms.capabilities import ColumnBlocks
from fewatoms.effort import QUICK
from fewatoms.kept import Kept
from fewatoms.losses import Loss
from fewatoms.operators import Operator
from fewatoms.price import Price, price
from fewatoms.problem import Problem
from fewatoms.run import Parts, Way, foretold, parted, sketched, solve
from fewatoms.solution import Solution
from fewatoms.splits import Split

GRID = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0)
GRID_OF_CLASSES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
REPEATS, FOLDS = 3, 5  # of the folds where ridges are compared, and how many there are
BESIDE = (1.0, 0.6, 0.135)  # weights of a score, and of those one and two sizes away
STEADY = 5  # sizes from which on scores are averaged
CLIPPED = 3.0  # standard errors above the lowest score from which on it says nothing how much higher a score is
STAY, CHANCE = 3, 1.0  # ridges at most that later rounds compare; the standard errors that these may be behind
ANSWERS = 64  # whose values are computed at a time


def grid_of(problem: Problem) -> list[float]:
    """The ridges that "auto" stands for."""
    return list(GRID_OF_CLASSES if problem.base_loss.labelled else GRID)


def ridges_of(given: object) -> list[float] | None:
    """Several ridges to be compared, in increasing order; None where no list of them was given."""
    if not _checks.several(given):
        return None
    demand = 'ridge must be a nonnegative number, a list of them, or "auto"'
    try:
        ridges = sorted({_checks.number("ridge", ridge) for ridge in np.asarray(given, dtype=object).tolist()})
    except (TypeError, ValueError) as error:
        raise type(error)(f"{demand}; got {_checks.came(given)}") from None
    if not ridges:
        raise ValueError(f"{demand}; got none")
    return ridges


def refuse_several(problem: Problem, given: object) -> None:
    """Where ridges cannot be compared."""
    if problem.atoms.listing() is None:
        price(given, None, listed=False)  # says of a list what it says in `fit`
    if problem.alpha is not None:
        raise ValueError(f"ridge must be one number where there is a bound; got {_checks.came(given)}")


def budgets_of(problem: Problem, k: object) -> list[Budget]:
    """The budgets that a user asks for."""
    demand = "k must be an iterable of budgets such as range(1, 51)"
    if not _checks.several(k):
        raise TypeError(f"{demand}; got {_checks.came(k)}")
    budgets = [Budget.of(j, problem.atoms) for j in cast("Iterable[object]", k)]
    if not budgets:
        raise ValueError(f"{demand}; got none")
    if len(set(budgets)) < len(budgets):
        raise ValueError(f"{demand}, each once; got {[budget.k for budget in budgets]}")
    return budgets


def in_order(budgets: Sequence[Budget]) -> tuple[IntArray, bool]:
    """The order of budgets by size, and whether sizes follow each other: else neighbours are far apart."""
    single = not any(budget.parts or budget.most is None for budget in budgets)
    most = np.array([budget.most or 0 if single else 0 for budget in budgets])
    order = np.argsort(most, kind="stable")
    return order, single and bool((np.diff(most[order]) == 1).all())


def with_ridge(problem: Problem, way: Way) -> Problem:
    """The problem with the ridge that predicts rows left out best, where that is left to us over atoms that can be
    listed."""
    if problem.price.ridge is not None or problem.atoms.listing() is None:
        return problem
    prices = [problem.price.at(ridge) for ridge in grid_of(problem)]
    rows = rows_of(problem)
    if rows < 2:
        return problem.paying(prices[0])
    splits = apart(folded(problem, min(FOLDS, rows), REPEATS, None))
    found = cross_validated(problem, [problem.budget], prices, splits, way, REPEATS)
    return problem.paying(prices[0 if found is None else int(found.scores[:, 0].argmin())])


# Rows left out --------------------------------------------------------------------------------------------------------


def _columns(problem: Problem) -> int:
    """How many data vectors share their rows."""
    return problem.atoms.shape[1] if problem.measured.by_columns else 1


def rows_of(problem: Problem) -> int:
    """How many rows there are to be left out."""
    return problem.m // _columns(problem)


def _data(problem: Problem, rows: IntArray) -> IntArray:
    """The data of these rows."""
    columns = _columns(problem)
    return np.asarray((rows[:, None] * columns + np.arange(columns)).ravel())


def _shuffled(problem: Problem, generator: np.random.Generator) -> tuple[IntArray, bool]:
    """All rows in an order drawn, class after class where data are labels, and whether they are."""
    order, labels = generator.permutation(rows_of(problem)), problem.base_loss.labels
    if labels is None:
        return order, False
    _, codes = np.unique(labels.codes.reshape(order.size, -1), axis=0, return_inverse=True)
    return order[np.argsort(codes.ravel()[order], kind="stable")], True


def folded(problem: Problem, folds: int, times: int, rng: object) -> list[IntArray]:
    """The data left out each time; of each class as large a share as of the others."""
    generator, splits = _checks.generator(rng), []
    for _ in range(times):
        order, classes = _shuffled(problem, generator)
        splits.extend([order[i::folds] for i in range(folds)] if classes else np.array_split(order, folds))
    return [_data(problem, np.sort(part)) for part in splits]


def split(problem: Problem, folds: object, repeats: int | None, usual: int, rng: object) -> tuple[list[Split], int]:
    """The rows left out and those fitted to, from a number of folds or as they are given, and how often each row is
    left out: as often as is `usual` where nobody says."""
    if _checks.several(folds):
        if repeats is not None:
            raise ValueError(f"repeats must be left out where folds are arrays of rows; got {repeats!r}")
        return given(problem, cast("Iterable[object]", folds)), 1
    times = _checks.integer("repeats", usual if repeats is None else repeats, 1)
    count = _checks.integer("folds", folds, 2, rows_of(problem))
    return apart(folded(problem, count, times, rng)), times


def held_out(problem: Problem, share: float, rng: object) -> IntArray:
    """The data left out once; of each class as large a share as of the others."""
    if not 0 < _checks.number("share", share) < 1:
        raise ValueError(f"share must lie between 0 and 1; got {share!r}")
    rows = rows_of(problem)
    count = min(rows - 1, max(1, round(share * rows)))
    order, classes = _shuffled(problem, _checks.generator(rng))
    evenly = np.arange(count) * rows // count  # of rows class after class
    return _data(problem, np.sort(order[evenly if classes else np.arange(count)]))


def apart(parts: Sequence[IntArray]) -> list[Split]:
    """Each of these data left out of all others."""
    return [Split(held) for held in parts]


def given(problem: Problem, folds: Iterable[object]) -> list[Split]:
    """The splits that a user wrote: rows left out of all others, or pairs of rows fitted to and rows left out, as
    scikit-learn's splitters give them."""
    demand = "folds must be a number, arrays of the rows left out, or pairs (rows fitted to, rows left out)"
    rows, splits = rows_of(problem), []
    for fold in folds:
        parts = list(cast("Iterable[object]", fold)) if _checks.several(fold) else None
        if parts is None:
            raise TypeError(f"{demand}; got one that is {_checks.came(fold)}")
        paired = len(parts) == 2 and all(map(_checks.several, parts))
        *fitted, held = [np.unique(_checks.indices("folds", part, rows)) for part in (parts if paired else [parts])]
        rest = fitted[0] if fitted else np.setdiff1d(np.arange(rows), held)
        both = np.intersect1d(held, rest).size
        if not held.size or not rest.size or both:
            sizes = f"{held.size} left out, {rest.size} fitted to, {both} in both"
            raise ValueError(f"{demand}, some of each and none in both; got {sizes}")
        splits.append(Split(_data(problem, held), _data(problem, rest)))
    if not splits:
        raise ValueError(f"{demand}; got none")
    return splits


class LeftOut(NamedTuple):
    """What rows left out say of each price (rows) and budget (columns).

    scores : the loss on them, summed over one round in which each row is left out once
    errors : the standard errors of these sums over the folds: 0 where there is one fold alone
    folds : that were done
    weight : of all data of a round
    data : how many those are
    """

    scores: FloatArray
    errors: FloatArray
    folds: int
    weight: float
    data: int

    @property
    def chance(self) -> float:
        """The standard error of the lowest score: over the folds, and of one fold alone what normal errors of so many
        data would have."""
        at = int(self.scores.argmin())
        alone = math.sqrt(2.0 / max(self.data, 1)) * float(self.scores.flat[at])
        return alone if self.folds == 1 else float(self.errors.flat[at])

    def told(self, loss: Loss) -> tuple[FloatArray, FloatArray]:
        """Scores and errors as users read them: root mean square errors for least squares."""
        return (
            scoring.told(loss, self.scores, self.weight),
            scoring.told_errors(loss, self.scores, self.errors, self.weight),
        )


def cross_validated(
    problem: Problem,
    budgets: Sequence[Budget],
    prices: Sequence[Price],
    folds: Sequence[Split],
    way: Way,
    times: int = 1,
) -> LeftOut | None:
    """The loss on the rows of each fold of the fit to the others; None where the callback ended it before one fold was
    done: a fold cut short tells nothing. Where each row is left out several `times`, prices that the first round finds
    clearly worse are not looked at again, and errors are those of one round: rounds that share their rows do not make
    them smaller."""
    found = np.full((len(folds), len(prices), len(budgets)), np.nan)
    racing, done, round_ = list(range(len(prices))), 0, max(1, len(folds) // times)
    parts = parted(problem.paying(prices[0]), budgets, folds, way.comparing(QUICK))
    for i, split in enumerate(folds):
        with ledger.counted("fold", i, len(folds)), ledger.step("fold") as here:
            losses = None if here.found is None else here.found.arrays["losses"]
            if losses is None:
                racers = [prices[r] for r in racing]
                losses = None if parts is None else _of_part(parts, i, budgets, racers, way)
            if losses is None and not way.stopped:
                losses = _left_out(problem, budgets, racers, split, way)
            if losses is not None:
                here.mark(partial(Kept, "fold", {}, {"losses": losses}))
        if way.stopped:
            break
        found[i, racing] = losses
        done += 1
        if times > 1 and done == round_:
            racing = ahead(found[:done])
    if not done:
        return None
    spread = np.zeros(found.shape[1:]) if done == 1 else _spread(found[:done])
    share = round_ / done
    weight = sum(scoring.weight(problem, split.held) for split in folds[:done]) * share
    data = round(sum(split.held.size for split in folds[:done]) * share)
    return LeftOut(np.nanmean(found[:done], axis=0) * round_, spread * math.sqrt(round_), done, weight, data)


def _spread(found: FloatArray) -> FloatArray:
    """The standard deviation over the folds that each was in."""
    unit = float(np.nanmax(np.abs(found))) or 1.0
    return unit * np.asarray(np.nanstd(found / unit, axis=0, ddof=1))


def ahead(losses: FloatArray) -> list[int]:
    """The prices (second axis) that may still be the best after some folds (first axis): each at its own best budget,
    no more behind the leader than chance may put it, and a few at most."""
    losses = losses / (np.abs(losses).max() or 1.0)  # their squares are to be numbers
    total = losses.sum(axis=0)
    own = losses[:, np.arange(total.shape[0]), total.argmin(axis=1)]  # folds x prices
    behind = own - own[:, [int(own.sum(axis=0).argmin())]]
    error = behind.std(axis=0, ddof=1) * math.sqrt(len(behind)) if len(behind) > 1 else np.full(len(total), np.inf)
    lag = behind.sum(axis=0)
    order = np.argsort(lag, kind="stable")[:STAY]
    return sorted(int(r) for r in order if lag[r] <= CHANCE * error[r])


def _of_part(parts: Parts, i: int, budgets: Sequence[Budget], prices: Sequence[Price], way: Way) -> FloatArray | None:
    """The same by a small problem, where that tells enough."""
    part, way, ridges = parts(i), way.comparing(QUICK), [price.ridge or 0.0 for price in prices]
    if part is None:
        return None
    sketch = sketched(part.problem.paying(prices[0]), budgets, ridges, way)
    answers = None if sketch is None else [sketch[ridge] for ridge in ridges]
    if answers is None:
        answers = [[s.compact for s in solve(part.problem.paying(paid), budgets, way)] for paid in prices]
    return np.array([[part.loss(answer) for answer in row] for row in answers])


def _left_out(
    problem: Problem, budgets: Sequence[Budget], prices: Sequence[Price], split: Split, way: Way
) -> FloatArray:
    way = way.comparing(QUICK)
    if split.fitted is None and len(prices) == 1:
        scores = foretold(problem.paying(prices[0]), budgets, split.held, way)
        if scores is not None:
            return 0.5 * scoring.weight(problem, split.held) * scores[None] ** 2
    rest = split.rest(problem.m)
    part = problem.subset(rest)
    fold = _Fold(problem, part, split.held, rest)
    if all(price.ridge is not None for price in prices):
        ridges = [price.ridge or 0.0 for price in prices]
        sketch = sketched(part.paying(prices[0]), budgets, ridges, way)
        if sketch is not None:
            return np.stack([fold.losses(sketch[ridge]) for ridge in ridges])
    answers: list[Solution] = []
    for i, paid in enumerate(prices):
        with ledger.counted("ridge", i, len(prices)), ledger.step("ridge"):
            answers += solve(part.paying(paid), budgets, way)
    left = [fold.left(answer) for answer in answers]
    losses = (
        scoring.cut_off(fold.loss_there, left) if scoring.gross(problem) else [fold.loss_there.value(r) for r in left]
    )
    return np.reshape(losses, (len(prices), len(budgets)))


class _Fold:
    """What a fit to the rest says about data held out."""

    def __init__(self, problem: Problem, part: Problem, held: IntArray, rest: IntArray) -> None:
        self.problem, self.part, self.held, self.rest = problem, part, held, rest
        self.M = problem.measured.subset(held)
        self.loss_there = problem.base_loss.subset(held)
        self.data = problem.data[held]

    def left(self, answer: Solution) -> FloatArray:
        """What an answer leaves of them."""
        face, c = answer.compact
        values = face.measure(self.M, c) if face.dim else np.zeros(self.held.size)
        return self.data - values - self.problem.beside.predicted(answer.beside, self.M, self.held, self.rest)

    def losses(self, answers: Sequence[Compact]) -> FloatArray:
        """Of answers in compact form, whose numbers beside the atoms are still to be fitted."""
        out = np.empty(len(answers))
        for first in range(0, len(answers), ANSWERS):
            some = answers[first : first + ANSWERS]
            none = np.zeros(self.M.shape[1])
            X = np.stack([face.point(c).ravel() if face.dim else none for face, c in some], axis=1)
            values = _images(self.M, X)
            known = _images(self.part.measured, X) if self.part.beside.count else None
            for i in range(len(some)):
                beside = 0.0 if known is None else self._beside(known[:, i])
                out[first + i] = self.loss_there.value(self.data - values[:, i] - beside)
        return out

    def _beside(self, image: FloatArray) -> FloatArray:
        told = self.part.beside.told(self.part.seen.fitted(image))
        return self.problem.beside.predicted(told, self.M, self.held, self.rest)


def _images(M: Operator, X: Array) -> Array:
    """M X for models with few entries."""
    if M.offers(ColumnBlocks) is None:
        return M.apply_block(X)
    used = np.flatnonzero(X.any(axis=1))
    return np.asarray(M.columns(used) @ X[used]) if used.size else np.zeros((M.shape[0], X.shape[1]))


def preferred(
    scores: FloatArray, sizes: Array, error: float | None, *, steady: bool, chance: float = math.inf
) -> tuple[int, int]:
    """The row and column of the best score, or of one within an error of it, with the fewest atoms among those; then
    the lowest score, then the first row. With `steady` the best score is that of `steadied`, and never one that is
    higher than the lowest of all by more than `chance`."""
    compared = scores
    if steady and scores.shape[1] >= STEADY:
        row, columns = steadied(scores, chance)
        compared = np.full(scores.shape, np.inf)
        compared[row, columns] = scores[row, columns]
    best = float(compared.min())
    near = np.argwhere(compared <= best + (1e-12 * abs(best) if error is None else error))
    order = np.lexsort((scores[tuple(near.T)], sizes[tuple(near.T)]))
    chosen = near[order[0]]
    return int(chosen[0]), int(chosen[1])


def steadied(scores: FloatArray, chance: float = math.inf) -> tuple[int, slice]:
    """Where the lowest score is, once each is averaged with those of the sizes beside it: its row, and its column with
    the two before, among which the scores themselves decide.

    A score that is low by itself, between others that are not, owes that to the rows that were left out: over five data
    sets, choices made so had 7 % less error on rows not shown. But chance does only so much: scores beyond the lowest
    by more than `chance`, its standard error, are not compared, and beyond `CLIPPED` of these it does not matter by how
    much: a size whose fit has come apart says nothing of the one before it. A steep fall is no chance either: scores of
    smaller sizes count for no more than the highest of those at and after a size.
    """
    reach, width, lowest = len(BESIDE) - 1, scores.shape[1], float(scores.min())
    clipped = np.minimum(scores, lowest + CLIPPED * chance)
    padded = np.pad(clipped, ((0, 0), (reach, reach)), mode="edge")
    shifted = [
        padded[:, reach + i : reach + i + width] for i in range(-reach, reach + 1)
    ]  # from two before to two after
    after = np.max(shifted[reach:], axis=0)
    averages = BESIDE[0] * clipped
    for i, weight in enumerate(BESIDE[1:], start=1):
        averages = averages + weight * (np.minimum(shifted[reach - i], after) + shifted[reach + i])
    averages[scores > lowest + chance] = math.inf
    row, column = divmod(int(np.argmin(averages)), width)
    return row, slice(max(0, column - reach), column + 1)
