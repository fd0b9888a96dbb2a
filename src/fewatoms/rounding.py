"""Rounding, outwards: what sums of numbers of double precision may be off by.

An inner product of n terms is off by at most gamma_n times the sum of the sizes of its terms, in whatever order, blocks
or fused steps it is summed: gamma_n = n u / (1 - n u), u = 2^-53. What underflows is off by less than the smallest
number for each term.

Reference: Higham, Accuracy and Stability of Numerical Algorithms (2002), section 3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fewatoms._types import FloatArray

UNIT = 2.0**-53
SMALLEST_NUMBER = 5e-324
DECOMPOSED = 16  # terms for each row and column: what a decomposition does to a matrix


def gamma(terms: int) -> float:
    """gamma_n; infinite where there are so many terms that nothing is known."""
    share = terms * UNIT
    return share / (1.0 - share) * (1.0 + 4.0 * UNIT) if share < 0.5 else math.inf


def doubt(terms: int, sizes: float) -> float:
    """What a sum of so many products is off by at most, for the sum of their sizes, which is a computed one itself."""
    return gamma(2 * terms + 4) * sizes + terms * SMALLEST_NUMBER


def above(value: float, steps: int = 4) -> float:
    """A number that is no smaller than what so many roundings have made this one of."""
    return value + gamma(steps) * abs(value)


def below(value: float, steps: int = 4) -> float:
    """A number that is no larger than what so many roundings have made this one of."""
    return value - gamma(steps) * abs(value)


@dataclass(frozen=True, eq=False)
class Summed:
    """What M*y is summed from.

    terms : of each of its entries, at most
    whole : for y of length 1, what the root of the sum of the squares of all sizes that are summed comes to at most
    each : the same entry by entry, the lengths of the columns of M; None where they are not at hand
    """

    terms: int
    whole: float
    each: FloatArray | None = None
