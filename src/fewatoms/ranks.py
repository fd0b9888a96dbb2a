"""Which rank predicts entries held out best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Unpack

import numpy as np

from fewatoms import callbacks
from fewatoms._types import Vector
from fewatoms.calls import call
from fewatoms.choosing import budgets_of
from fewatoms.continued import answer_again
from fewatoms.doors import Words, fit, posed
from fewatoms.effort import RANKS
from fewatoms.kept import Kept
from fewatoms.operators import Operator
from fewatoms.problem import Problem
from fewatoms.run import solve_best
from fewatoms.solution import Solution

NO_BETTER = 3  # ranks in a row that end the search: higher ones cost more


class Ranked(NamedTuple):
    """The answer of the best rank, and the root mean square errors on entries held out of those that were tried."""

    best: Solution
    scores: dict[int, float]


def best_rank(M: Operator, b: Vector, ranks: Sequence[int], **words: Unpack[Words]) -> Ranked:
    """The answer of the rank that predicts entries held out best, the lowest among equals; `words` are those of `fit`.
    The same entries are held out for each; ranks are tried in turn, each from the one before, until three predict no
    better. Where nothing can be held out, the lowest rank."""
    words["callback"] = callback = callbacks.read(words.get("callback"))
    problem, way = posed(M, b, None, **words)
    budgets = budgets_of(problem, sorted(ranks))
    with way.listening(), call("best_rank", problem, way, budgets=budgets) as here:
        if here.found is not None:
            return _again(here.found, problem)
        found = None if problem.m < 2 else solve_best(problem, budgets, way, NO_BETTER)
        if found is None:
            ranked = Ranked(fit(M, b, k=min(ranks), **(words | {"callback": callback})), {})
        else:
            ranked = Ranked(found[0], {budget.single: score for budget, score in found[1].items()})
        here.mark(lambda: _kept(ranked))
    return ranked


def _kept(ranked: Ranked) -> Kept:
    arrays = {"ranks": np.array([*ranked.scores], dtype=np.intp), "scores": np.array([*ranked.scores.values()])}
    return Kept("ranked", {}, arrays, (ranked.best.kept(),))


def _again(it: Kept, problem: Problem) -> Ranked:
    scores = dict(zip(it.arrays["ranks"].tolist(), it.arrays["scores"].tolist(), strict=True))
    return Ranked(answer_again(it.inner[0], problem), scores)


__all__ = ["RANKS", "Ranked", "best_rank"]
