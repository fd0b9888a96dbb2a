"""What rounding may do to the numbers that dual vectors prove: each is in doubt by so much, and is moved by that."""

from __future__ import annotations

from fewatoms._types import FloatArray
from fewatoms.problem import Problem
from fewatoms.rounding import doubt, gamma
from fewatoms.spread import length_of


def of_product(problem: Problem, y: FloatArray) -> float:
    """By how much <b, y> may be off."""
    return doubt(y.size + 4, problem.measured.bound_of_sizes(problem.b, y))


def of_values(problem: Problem, y: FloatArray) -> float:
    """By how much <b, y> - f*(y) may be off."""
    return of_product(problem, y) + problem.loss.conjugate_doubt(y)


def of_support(problem: Problem, y: FloatArray, beta: float = 1.0) -> float:
    """By how much support(M*y) may be above what it is computed to be, also where y / beta is only near dom f*, up to
    rounding, and stands for the nearest point in it. 0 where M does not say what it sums."""
    off = problem.off_by
    if not off:
        return 0.0
    out = 0.0 if problem.loss.squares else beta * length_of(y / beta - problem.loss.clip(y / beta))
    summed = problem.summed if out else None
    most = 0.0 if summed is None else 2.0 * off / gamma(max(1, summed.terms))  # support(M*y) for y of length 1
    return off * length_of(y) * (1.0 + gamma(y.size + 4)) + most * out


def of_entries(problem: Problem, y: FloatArray) -> FloatArray | float:
    """By how much entries of M*y may be off; 0 where M does not say."""
    summed = problem.summed
    each = None if summed is None else summed.each
    return 0.0 if summed is None or each is None else each * (gamma(summed.terms) * length_of(y))
