"""Which rank predicts entries held out best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Unpack

from fewatoms import callbacks
from fewatoms._types import Vector
from fewatoms.choosing import budgets_of
from fewatoms.doors import Words, fit, posed
from fewatoms.effort import RANKS
from fewatoms.operators import Operator
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
    with way.listening():
        found = None if problem.m < 2 else solve_best(problem, budgets, way, NO_BETTER)
        if found is None:
            return Ranked(fit(M, b, k=min(ranks), **(words | {"callback": callback})), {})
        best, scores = found
    return Ranked(best, {budget.single: score for budget, score in scores.items()})


__all__ = ["RANKS", "Ranked", "best_rank"]
