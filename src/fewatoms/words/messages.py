"""What was asked, what was found, and what that means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fewatoms.budget import Budget

if TYPE_CHECKING:
    from fewatoms.candidates import Candidate
    from fewatoms.goals import Goal
    from fewatoms.price import Price
    from fewatoms.problem import Problem
    from fewatoms.solution import Status


def message(
    problem: Problem,
    status: Status,
    goal: Goal,
    final: Candidate,
    misfit: float,
    notes: Sequence[str],
) -> str:
    """What was asked, what was found, whether it holds, and what has to be said beside that."""
    parts = final.face.parts
    found = Budget(parts=tuple(Budget(f.size) for f in parts)) if len(parts) > 1 else Budget(parts[0].size)
    shown = "" if math.isnan(misfit) else f" (misfit {misfit:.3g})"
    shown += f" and objective {problem.objective(final):.6g}" if problem.price.on_squares else ""
    text = (
        f"Asked: {_asked(problem, goal)}. Found: {found.words} with loss {final.loss:.6g}{shown}. "
        f"{sentence(_ending(problem, status, goal))}{_proof(status)}"
    )
    return f"{text} Note: {'; '.join(notes)}." if notes else text


def sentence(text: str) -> str:
    """With a capital letter."""
    return text[0].upper() + text[1:]


def _asked(problem: Problem, goal: Goal) -> str:
    bound = "" if problem.alpha is None else f"a loss of at most {problem.alpha + problem.slack:.6g}"
    if problem.budget.nothing_said:
        asked = f"{goal.asked} with {bound}"
    else:
        words = problem.budget.words
        some = words if problem.budget.open else f"at most {words}"
        asked = f"{some}{bound and ' and '}{bound}"
    return f"{asked}, the loss plus {_ridge(problem.price)} to be small" if problem.ridge else asked


def _ridge(price: Price) -> str:
    """What coefficients pay."""
    if price.on_gauge:
        return f"{price.on_gauge:.4g} times the gauge"
    return f"{0.5 * price.on_squares:.4g} times the squares of the coefficients of images of length 1"


def _ending(problem: Problem, status: Status, goal: Goal) -> str:
    if status.name == "SMALLEST_LOSS" and problem.ridge:
        paid = "ridge times gauge" if problem.price.on_gauge else "ridge / 2 times squares"
        return f"this is the smallest loss + {paid} found with at most k atoms."
    if status.name == "NOT_REACHED" and problem.ridge:
        return (
            "the bound was not reached with the ridge and the atoms allowed, and progress has stopped: give a "
            "smaller ridge (0 leaves it to the bound), more atoms or a larger bound."
        )
    told = goal.ending if status.name == "SMALLEST_LOSS" else None
    return status.value if told is None else told


def _proof(status: Status) -> str:
    if status.name != "UNREACHABLE":
        return ""
    return " Proved: all columns of M together, whatever their coefficients, leave more of b, rounding included."
