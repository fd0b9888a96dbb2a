"""Which k ranks entries left out best, among all columns of their rows that were not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from fewatoms import ledger, ranking, scoring
from fewatoms._types import FloatArray
from fewatoms.budget import Budget
from fewatoms.capabilities import SampledEntries, need
from fewatoms.choosing import LeftOut, apart, cross_validated, held_out, split
from fewatoms.effort import QUICK
from fewatoms.kept import Kept
from fewatoms.losses import Loss
from fewatoms.price import Price
from fewatoms.problem import Problem
from fewatoms.ranking import Ranking
from fewatoms.run import Way, solve
from fewatoms.splits import Split

RANKED = ("ndcg@10", "precision@10", "recall@10")  # or any other number


def ranks(by: object) -> bool:
    """Whether that is one of these."""
    return ranking.Way.read(by) is not None


def others(asked: tuple[Problem, Way] | None) -> tuple[str, ...]:
    """Those that are there for a problem."""
    return () if asked is None or asked[0].measured.offers(SampledEntries) is None else RANKED


class Missed(LeftOut):
    """Shares that are missed are told as they are."""

    def told(self, loss: Loss) -> tuple[FloatArray, FloatArray]:
        return self.scores, self.errors


def metric_of(problem: Problem, by: str) -> ranking.Way | None:
    """The figure by which answers to a problem are compared; None where that is something else. NDCG for clicks."""
    metric, background = ranking.Way.read(by), problem.measured.background
    if metric is not None and (problem.measured.offers(SampledEntries) is None or len(problem.atoms.summands) > 1):
        raise ValueError(f"by={by!r} ranks entries of matrices: it is for Sampling and RankOne; got {problem!r}")
    if background and by in ("bic", "ebic"):
        raise ValueError(f"by must leave clicks out where all cells count (background), 'cv' or 'ndcg@10'; got {by!r}")
    return ranking.NDCG if background and by in ("cv", "held-out") else metric


def splits_of(
    problem: Problem, by: str, folded: tuple[object, int | None, int], share: float | None, rng: object, *,
    settled: bool,
) -> tuple[list[Split] | None, int]:  # fmt: skip
    """The rows that are left out, and how often each of them is; None where none are.

    folded : how many folds, how often, and how often if nobody says; settled : whether entries held out have said all
    """
    if by == "cv" or (metric_of(problem, by) is not None and by != "held-out"):
        return split(problem, *folded, rng)
    if by == "held-out" and not settled:
        return apart([held_out(problem, 0.2 if share is None else share, rng)]), 1
    return None, 1


def unit(problem: Problem) -> str:
    """What scores of data left out are."""
    return "1 - NDCG" if problem.measured.background else scoring.unit(problem.base_loss)


def compared(
    problem: Problem, budgets: Sequence[Budget], prices: Sequence[Price], folds: Sequence[Split], way: Way, times: int,
    metric: ranking.Way | None,
) -> LeftOut | None:  # fmt: skip
    """What data left out say of each price and budget: by how they are ranked, or else by their loss."""
    if metric is None:
        return cross_validated(problem, budgets, prices, folds, way, times)
    return ranked_out(problem, budgets, prices, folds, way, metric)


def ranked_out(
    problem: Problem, budgets: Sequence[Budget], prices: Sequence[Price], folds: Sequence[Split], way: Way,
    metric: ranking.Way,
) -> LeftOut | None:  # fmt: skip
    """1 less the figure, for each price (rows) and budget (columns): the mean over the folds, with its standard error;
    None where the callback ended it before one fold was done."""
    found: list[FloatArray] = []
    for i, part in enumerate(folds):
        with ledger.counted("fold", i, len(folds)), ledger.step("fold") as here:
            figures = None if here.found is None else here.found.arrays["figures"]
            if figures is None:
                figures = _figures(problem, budgets, prices, part, way.comparing(QUICK), metric)
            here.mark(partial(Kept, "fold", {}, {"figures": figures}))
        if way.stopped:
            break
        found.append(figures)
    if not found:
        return None
    missed = 1.0 - np.array(found)
    spread = missed.std(axis=0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.zeros(missed.shape[1:])
    data = sum(split.held.size for split in folds[: len(found)])
    return Missed(missed.mean(axis=0), spread, len(found), 1.0, data)


def _figures(
    problem: Problem, budgets: Sequence[Budget], prices: Sequence[Price], split: Split, way: Way, metric: ranking.Way
) -> FloatArray:
    """Of the fits to the rest, by the entries left out; with a background those whose value is positive: clicks."""
    rows, cols = need(problem.measured, SampledEntries).positions
    wanted = split.held[problem.data[split.held] > 0] if problem.measured.background else split.held
    if not wanted.size:
        raise ValueError("b must have a positive entry among those left out of each fold; got one without: fewer folds")
    fitted = split.rest(problem.m)
    held, rest = (rows[wanted], cols[wanted]), (rows[fitted], cols[fitted])
    ignored = np.setdiff1d(split.held, wanted)  # no candidates either
    seen = np.concatenate([rest[0], rows[ignored]]), np.concatenate([rest[1], cols[ignored]])
    part, figures = problem.subset(fitted), []
    for price in prices:
        answers = solve(part.paying(price), budgets, way)
        figures.append([Ranking.of(s.model, held, seen).figure(metric) for s in answers])
    return np.array(figures)
