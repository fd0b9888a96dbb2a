"""What was asked, what was found, and what that means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fewatoms.budget import Budget
from fewatoms.capabilities import Semidefinite

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
    why: str = "",
) -> str:
    """What was asked, what was found, whether it holds, and what has to be said beside that.

    why : what ended the search, a word of `ENDS`, where that is known
    """
    parts = final.face.parts
    found = Budget(parts=tuple(Budget(f.size) for f in parts)) if len(parts) > 1 else Budget(parts[0].size)
    shown = "" if math.isnan(misfit) else f" (misfit {misfit:.3g})"
    shown += _of_biases(problem, final, misfit)
    shown += f" and objective {problem.objective(final):.6g}" if problem.price.on_squares else ""
    text = (
        f"Asked: {_asked(problem, goal)}. Found: {found.words} with loss {final.loss:.6g}{shown}. "
        f"{sentence(_ending(problem, status, goal, _reason(why, final)))}{_proof(problem, status)}"
    )
    return f"{text} Note: {'; '.join(notes)}." if notes else text


def _of_biases(problem: Problem, final: Candidate, misfit: float) -> str:
    """What biases pay in the loss, past half the square of what is left of b."""
    biases = problem.beside.biases
    if biases is None or not biases.shrink or math.isnan(misfit):
        return ""
    return f", {max(0.0, final.loss - misfit**2 * problem.reference):.6g} of it for biases"


def sentence(text: str) -> str:
    """With a capital letter."""
    return text[0].upper() + text[1:]


# What ends a search for the smallest loss, by the word that a run keeps for it.
ENDS = {
    "": "",
    "exact": "none can be smaller: it is 0 up to rounding",
    "isolated": "no atom outside comes near those inside",
    "descended": "descents from several places have ended there",
    "patience": "no better one turned up for many iterates",
    "complete": "all that the method tries has been tried",
}


def _reason(why: str, final: Candidate) -> str:
    """Atoms that move have been looked for by descents, others by their alignments."""
    return ENDS["descended" if why == "isolated" and final.face.turning() is not None else why]


def _asked(problem: Problem, goal: Goal) -> str:
    bound = "" if problem.alpha is None else f"a loss of at most {problem.alpha:.6g}"
    bound += f" ({problem.slack:.6g} more by the slack of the method)" if bound and problem.slack else ""
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


def _ending(problem: Problem, status: Status, goal: Goal, reason: str) -> str:
    if status.name == "SMALLEST_LOSS" and problem.ridge:
        paid = "ridge times gauge" if problem.price.on_gauge else "ridge / 2 times squares"
        return f"this is the smallest loss + {paid} found with at most k atoms."
    if status.name == "NOT_REACHED" and problem.ridge:
        return (
            "the bound was not reached with the ridge and the atoms allowed, and progress has stopped: give a "
            "smaller ridge (0 leaves it to the bound), more atoms or a larger bound."
        )
    told = goal.endings.get(status.name, status.value)
    return f"{told[:-1]}; {reason}." if reason and told == status.value and status.name == "SMALLEST_LOSS" else told


def _proof(problem: Problem, status: Status) -> str:
    if status.name != "UNREACHABLE":
        return ""
    if problem.atoms.unwrapped().inner.offers(Semidefinite) is not None:
        return " Proved: data that are negative where no semidefinite matrix is leave more by themselves."
    return " Proved: all columns of M together, whatever their coefficients, leave more of b, rounding included."
