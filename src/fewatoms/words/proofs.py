"""What is proven about an answer, and what is not, in prose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fewatoms.budget import Budget

if TYPE_CHECKING:
    from fewatoms.certificates import Certificate
    from fewatoms.figures import Relaxed


class Claim(NamedTuple):
    """One sentence of a certificate, and its kind: "checked", "bound", "gauge", "relaxation", "floor" or "aligned" for
    what holds, "unknown" and "open" for what is not known and not proven."""

    kind: str
    text: str


def proven(found: Certificate) -> str:
    """A certificate in one line; nothing is computed for it."""
    bound = {None: "", True: ", bound met", False: ", bound not met"}[found.meets_bound]
    known = found.known().relaxed
    low, high = (-math.inf, math.inf) if known is None else optimum(known)
    gap = "" if math.isinf(high - low) else f", gap {high - low:.3g}"
    return f"Certificate(loss {found.loss:.6g} with {Budget(found.cardinality).words}{bound}{gap})"


def optimum(known: Relaxed) -> tuple[float, float]:
    """What the optimum of a relaxation lies between: of all bounds that are proven the tightest one on each side. That
    of (P3), over the very set that was asked for, is the least gauge, which has a bound of its own."""
    low = known.primal - known.gap if math.isfinite(known.gap) else -math.inf
    own = known.named is not None and known.named.name == "P3" and not known.in_units
    return (max(low, known.tau_lower) if own else low), known.primal


def certificate(proven: Certificate) -> str:
    """What is proven about an answer, and what is not."""
    return "\n".join(claim.text for claim in claims(proven))


def claims(proven: Certificate) -> list[Claim]:
    """The same sentence by sentence. A quantity has one bound, the tightest that is proven."""
    asked = proven.asked
    budget, alpha = asked.budget, asked.alpha
    allowed = "" if budget.nothing_said else f" of {budget.figures} allowed"
    paid = f", objective {proven.objective:.6g}" if asked.ridge else ""
    words = Budget(proven.cardinality).words
    told = [Claim("checked", f"Recomputed: loss {proven.loss:.6g} with {words}{allowed}{paid}.")]
    if alpha is not None:
        slack = f" + {asked.slack:.6g}" if asked.slack else ""
        met = "met" if proven.meets_bound else "not met"
        told.append(Claim("bound", f"The bound alpha = {alpha:.6g}{slack} is {met}."))
    if not proven.knows_gap:
        lost = "What the relaxation proves was not asked for while M and b were there: attach(M, b) gives them back."
        return [*told, Claim("unknown", lost)]
    relaxation = proven.relaxation  # first: it settles what the run has collected
    known = proven.known().relaxed
    assert known is not None
    if math.isinf(known.tau_lower):
        told.append(Claim("gauge", "Proven: no x meets alpha."))
    if relaxation is None:
        told += [Claim("gauge", _least_gauge(known.tau_lower))] * (0 < known.tau_lower < math.inf)
        return [*told, Claim("unknown", "No dual vector was computed, so nothing else is proven.")]
    told += _of_the_relaxation(proven, known)
    if known.tau_lower < math.inf and proven.meets_bound is not False:
        undecided = "Not proven: that no other k atoms fit better. The relaxation does not decide this."
        told.append(Claim("open", undecided))
    return told


def _least_gauge(least: float) -> str:
    return f"Proven: every x that meets alpha has a gauge of at least {least:.6g}."


def _of_the_relaxation(proven: Certificate, known: Relaxed) -> list[Claim]:
    name, parameter = known.named or ("", math.nan)
    units = ", atoms in units of their images" if known.in_units else ""
    ridge, on_gauge = proven.asked.ridge, proven.asked.on_gauge
    shrunk = f", ridge {ridge:.6g}" if ridge and not on_gauge and name == "P1" else ""
    about = f"({name} at {parameter:.6g}{shrunk}{units})"
    low, high = optimum(known)
    own = name == "P3" and not known.in_units
    least = max(low, known.tau_lower) if own else known.tau_lower
    told, bounded = [], math.isfinite(high - low)
    if 0 < least < math.inf:
        between = f" The optimum of the relaxation {about} lies between that and {high:.6g}." * (own and bounded)
        told.append(Claim("gauge", _least_gauge(least) + between))
    if not bounded and not (name == "P3" and math.isinf(known.tau_lower)):
        text = f"No feasible pair of the relaxation {about} was found: its gap is not known."
        told.append(Claim("unknown", text))
    itself = ridge > 0 and name == "P1" and parameter == (ridge if on_gauge else 0.0)
    if bounded and not (own and least > 0):
        where = f"between {low:.6g} and {high:.6g}" if itself else f"within {high - low:.3g} of {high:.6g}"
        told.append(Claim("relaxation", f"Proven: the relaxation {about} has its optimum {where}."))
    if itself and bounded:
        what = f"loss + {ridge:.6g} gauge" if on_gauge else "an objective"
        text = f"So no x, with any number of atoms, has {what} below {low:.6g}; this one has {proven.objective:.6g}."
        told.append(Claim("floor", text))
    elif ridge and not on_gauge and name == "P3":
        text = "The ridge plays no part in that: it speaks of the loss and the gauge alone."
        told.append(Claim("relaxation", text))
    if proven.knows_epsilon and proven.epsilon is None:
        text = "No epsilon: the operator's norm, a feasible pair or bounds on beta are missing."
        told.append(Claim("unknown", text))
    elif proven.knows_epsilon:
        text = f"Proven: atoms of its solutions are aligned with M*y to at least {proven.threshold:.6g}."
        told.append(Claim("aligned", text))
    return told
