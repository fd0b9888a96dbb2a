"""What a proof has found out about all other choices of atoms, in prose; numbers are rounded outwards."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fewatoms.figures import Decided

VACUOUS = 0.05  # a lower end below this share of the upper one says next to nothing
DIGITS, MOST_DIGITS = 6, 12  # that are shown of a number


def between(lower: float, upper: float) -> tuple[str, str]:
    """Both ends as they are read, with as many digits as tell them apart: the lower one is never told too high, nor the
    upper one too low."""
    apart = (upper - lower) / abs(upper) if upper else 1.0
    digits = DIGITS if not 0 < apart < 1 else min(MOST_DIGITS, max(DIGITS, 1 + math.ceil(-math.log10(apart))))
    return _shown(lower, digits, ROUND_FLOOR), _shown(upper, digits, ROUND_CEILING)


def _shown(value: float, digits: int, rounding: str) -> str:
    """A number with thousands apart; very large and very small ones with a power of ten."""
    if not value or not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(value)
    exponent = exact.adjusted() - digits + 1
    cut = (
        exact.quantize(Decimal(1).scaleb(exponent), rounding=rounding)
        if exponent < 0
        else exact.quantize(Decimal(1), rounding=rounding)
    )
    if not -5 < exact.adjusted() < 15:
        cut = exact.scaleb(-exponent).to_integral_value(rounding=rounding).scaleb(exponent)
        return f"{cut:e}"
    text = f"{cut:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def decided(found: Decided) -> str:
    """What is proven, in one sentence; "" where that is next to nothing."""
    if not found.proven and found.lower <= VACUOUS * found.upper:
        return ""
    low, high = between(found.lower, found.upper)
    article = "an" if found.what[0] in "aeiou" else "a"
    told = f"Proven: no {found.subject} has {article} {found.what} below {low}; ours is {high}"
    if found.proven:
        return f"{told}: proven to {tolerance(found.gap)}."
    return f"{told}, of which {share(found):.2%} could be gained at most."


def tolerance(gap: float) -> str:
    """A relative gap as people write it: 1e-4, 0.02."""
    return f"{gap:.3g}" if gap >= 0.001 else re.sub(r"e-0*", "e-", f"{Decimal(repr(gap)).normalize():e}")


def undecided(found: Decided) -> str:
    """What is not, and what to do; "" where all is decided."""
    if found.proven:
        return ""
    remedy = found.remedy or MORE_TIME
    return f"Not proven: that no other {found.subject} has a lower {found.what}. {remedy[0].upper()}{remedy[1:]}"


MORE_TIME = "More seconds, or a larger gap, may decide it."


def share(found: Decided) -> float:
    """The share of what the answer has that could be gained by others at most."""
    return max(0.0, found.upper - found.lower) / found.upper if found.upper > 0 else 0.0
