"""What is kept of a path without M and b, and what of that its parts are made of again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fewatoms import kept
from fewatoms._types import BudgetLike, FloatArray
from fewatoms.asked import plain_budget, read_budget
from fewatoms.budget import Budget
from fewatoms.kept import Kept
from fewatoms.solution import Solution
from fewatoms.solution import restored as answer_of


def laid_up(
    budgets: Sequence[Budget],
    answers: Mapping[float, Iterable[Solution]],
    ridge: float,
    chosen: BudgetLike,
    scores: Mapping[str, FloatArray],
    errors: Mapping[str, FloatArray],
) -> Kept:
    """All of a path but M and b, for files and pickles."""
    ks = [budget.k for budget in budgets]
    told: dict[str, kept.Plain] = {
        "k": [plain_budget(budget) for budget in budgets],
        "ways": [*scores],
        "ridges": [*answers],
        "ridge": ridge,
        "chosen": None if chosen is None else ks.index(chosen),
    }
    shape = (len(ks),) if len(answers) == 1 else (len(answers), len(ks))
    compared = np.stack([*scores.values()]) if scores else np.zeros((0, *shape))
    arrays = {"scores": compared} | {f"errors of {by}": error for by, error in errors.items()}
    found = [answer.kept() for some in answers.values() for answer in some]
    told["called"] = kept.section(found[0].told["asked"])["called"]  # once: M may have many columns
    return Kept("path", told, arrays, tuple(_called(answer, None) for answer in found))


def budgets_of(it: Kept) -> list[Budget]:
    """Those of a path that was kept."""
    return [read_budget(k) for k in kept.rows(it.told["k"])]


def answers_of(it: Kept) -> dict[float, list[Solution]]:
    """Its answers, ridge by ridge."""
    answers = [answer_of(_called(answer, it.told["called"])) for answer in it.inner]
    ridges, many = [kept.real(r) for r in kept.rows(it.told["ridges"])], len(kept.rows(it.told["k"]))
    return {r: answers[i * many :][:many] for i, r in enumerate(ridges)}


def _called(answer: Kept, called: kept.Plain) -> Kept:
    """What is kept of an answer, with other names in it."""
    asked = {**kept.section(answer.told["asked"]), "called": called}
    return replace(answer, told={**answer.told, "asked": asked})


__all__ = ["answers_of", "budgets_of", "laid_up"]
