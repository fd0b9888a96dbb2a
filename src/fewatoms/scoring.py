"""What answers are compared by: how well they predict data left out, criteria of information, the elbow of a path.

Losses on data left out are sums, and compared as sums. For least squares they are told as root mean square errors, in
the weights of the loss, which do not depend on how many data were left out. Where single data may be grossly wrong, as
in a sum with a part that explains them one by one, those that are left out would decide by themselves: squares are cut
off there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import FloatArray, IntArray
from fewatoms.budget import Budget
from fewatoms.capabilities import SeenAsIs
from fewatoms.losses import Loss
from fewatoms.problem import Problem

if TYPE_CHECKING:
    from fewatoms.solution import Solution

GROSS = 3.0  # standard deviations, as the median tells them, beyond which an error counts as much as there
OF_MEDIAN = 1.4826  # the standard deviation of normal errors, in units of the median of their sizes


def unit(loss: Loss) -> str:
    """What scores are."""
    return "root mean square error" if loss.squares else "loss"


def weight(problem: Problem, held: IntArray) -> float:
    """What data count for."""
    w = problem.base_loss.weights
    return float(held.size) if w is None or w.size != problem.m else float(w[held].sum())


def told(loss: Loss, sums: FloatArray, weight: float) -> FloatArray:
    """Losses of data with so much weight together as users read them."""
    return np.sqrt(2.0 * np.maximum(sums, 0.0) / weight) if loss.squares else sums


def told_errors(loss: Loss, sums: FloatArray, errors: FloatArray, weight: float) -> FloatArray:
    """How much higher that is where the losses are higher by their standard errors."""
    return told(loss, sums + errors, weight) - told(loss, sums, weight)


def gross(problem: Problem) -> bool:
    """Whether a part of the atoms explains single data: those left out are not predicted by it."""
    seen = problem.measured.offers(SeenAsIs) is not None
    listings = [part.listing() for part in problem.atoms.parts]
    some = any(listing is not None and not listing.maps for listing in listings)
    return seen and some and not all(listing is not None for listing in listings) and problem.base_loss.squares


def cut_off(loss: Loss, left: Sequence[FloatArray]) -> FloatArray:
    """Losses of what several answers leave of the same data, none of which counts for more than a gross error of the
    best of them."""
    most = GROSS * OF_MEDIAN * min(float(np.median(np.abs(r))) for r in left)
    return np.array([loss.value(np.clip(r, -most, most)) for r in left])


# Nothing left out -----------------------------------------------------------------------------------------------------


def done(answer: Solution, budget: Budget) -> bool:
    """Whether an answer is one for its budget: of a run that was stopped, if it came to as many atoms."""
    most = answer.cardinality if budget.parts else budget.most or 1
    return answer.status.name != "STOPPED" or answer.cardinality >= max(1, most)


def of_answers(by: str, problem: Problem, answers: Sequence[Solution], gamma: float) -> FloatArray:
    """Scores of one of these names, and of "held-out" what entries held out said when a ridge was chosen by them."""
    if by == "held-out":
        return np.array([math.inf if s.held_out is None else s.held_out for s in answers])
    if by == "elbow":
        return elbow(problem, answers)
    return information(problem, answers, gamma if by == "ebic" else 0.0)


def information(problem: Problem, answers: Sequence[Solution], gamma: float) -> FloatArray:
    """m log(loss / m), or twice a loss that is a likelihood, plus the price of the coefficients."""
    m, width = problem.m // problem.width, problem.width
    telling = 1.0 if width == 1 else (width - 1) / width  # what all classes share says nothing
    scores = np.empty(len(answers))
    for i, answer in enumerate(answers):
        fit = (
            m * math.log(max(answer.loss, 1e-28 * problem.reference, 1e-300) / m)
            if problem.loss.anchored
            else 2 * answer.loss
        )
        ways = math.lgamma(problem.atoms.count + 1) if gamma else 0.0
        if gamma:
            size = min(answer.cardinality, problem.atoms.count)
            ways -= math.lgamma(size + 1) + math.lgamma(problem.atoms.count - size + 1)
        free = telling * (answer.compact[0].freedom + problem.beside.count)
        nothing_left = free >= m  # to tell how well it fits
        scores[i] = math.inf if nothing_left else fit + math.log(m) * free + 2 * gamma * ways
    return scores


def elbow(problem: Problem, answers: Sequence[Solution]) -> FloatArray:
    """Height of the misfit's logarithm above the line between its ends, both scaled to 1."""
    if len(answers) < 3:
        raise ValueError(f"by='elbow' needs a path of at least 3 budgets; this one has {len(answers)}")
    sizes = np.array([answer.cardinality for answer in answers], dtype=float)
    losses = np.array([answer.loss for answer in answers])
    height = np.log(np.maximum(losses, max(1e-28 * problem.reference, 1e-300)))
    first, last = int(np.argmin(sizes)), int(np.argmax(sizes))
    span, fall = max(sizes[last] - sizes[first], 1.0), max(height[first] - height[last], 1e-300)
    return np.asarray((height - height[first]) / fall + (sizes - sizes[first]) / span)


__all__ = ["cut_off", "done", "elbow", "gross", "information", "of_answers", "told", "told_errors", "unit", "weight"]
