"""What is kept of a path, without M and b: for files, pickles and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fewatoms import kept
from fewatoms._types import BudgetLike, FloatArray
from fewatoms.asked import plain_budget, read_budget
from fewatoms.budget import Budget
from fewatoms.kept import Kept
from fewatoms.solution import Solution, restored

Answers = Mapping[float, Mapping[BudgetLike, Solution]]  # for each ridge, and each k


class Read(NamedTuple):
    """What was kept; `chosen` is the place of the k chosen last."""

    budgets: list[Budget]
    answers: dict[float, list[Solution]]
    ridge: float
    scores: dict[str, FloatArray]
    errors: dict[str, FloatArray]
    chosen: int | None


def told(
    budgets: Sequence[Budget],
    answers: Answers,
    compared: tuple[Mapping[str, FloatArray], Mapping[str, FloatArray]],
    ridge: float,
    chosen: BudgetLike,
) -> Kept:
    """All of a path; `compared` are its scores, and their errors."""
    (scores, errors), ks = compared, [budget.k for budget in budgets]
    words: dict[str, kept.Plain] = {
        "k": [plain_budget(budget) for budget in budgets],
        "ways": [*scores],
        "ridges": [*answers],
        "ridge": ridge,
        "chosen": None if chosen is None else ks.index(chosen),
    }
    shape = (len(ks),) if len(answers) == 1 else (len(answers), len(ks))
    table = np.stack([*scores.values()]) if scores else np.zeros((0, *shape))
    arrays = {"scores": table} | {f"errors of {by}": error for by, error in errors.items()}
    each = [given[k].kept() for given in answers.values() for k in ks]
    words["called"] = kept.section(each[0].told["asked"])["called"]  # once: M may have many columns
    return Kept("path", words, arrays, tuple(_called(answer, None) for answer in each))


def read(it: Kept) -> Read:
    """The parts of the path that was kept."""
    words, chosen = it.told, it.told["chosen"]
    answers = [restored(_called(answer, words["called"])) for answer in it.inner]
    budgets = [read_budget(k) for k in kept.rows(words["k"])]
    ridges = [kept.real(r) for r in kept.rows(words["ridges"])]
    scores = dict(zip(map(str, kept.rows(words["ways"])), it.arrays["scores"], strict=True))
    return Read(
        budgets,
        {r: answers[i * len(budgets) :][: len(budgets)] for i, r in enumerate(ridges)},
        kept.real(words["ridge"]),
        scores,
        {by: it.arrays[f"errors of {by}"] for by in scores if f"errors of {by}" in it.arrays},
        None if chosen is None else kept.whole(chosen),
    )


def _called(answer: Kept, called: kept.Plain) -> Kept:
    """What is kept of an answer, with other names in it."""
    asked = {**kept.section(answer.told["asked"]), "called": called}
    return replace(answer, told={**answer.told, "asked": asked})
