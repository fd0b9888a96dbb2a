"""What is proven about an answer, and what is not, in prose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fewatoms.budget import Budget
from fewatoms.words.decided import VACUOUS, decided, undecided

if TYPE_CHECKING:
    from fewatoms.certificates import Certificate
    from fewatoms.figures import Relaxed


class Claim(NamedTuple):
    """One sentence of a certificate, and its kind: "unreachable", "checked", "bound", "gauge", "relaxation", "floor",
    "aligned" or "decided" for what holds, "unknown" and "open" for what is not known and not proven."""

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
    told = [*_out_of_reach(proven), *_recomputed(proven)]
    if not proven.knows_gap:
        lost = "What the relaxation proves was not asked for while M and b were there: attach(M, b) gives them back."
        return [*told, Claim("unknown", lost), *_of_a_proof(proven)]
    relaxation = proven.relaxation  # first: it settles what the run has collected
    known = proven.known().relaxed
    assert known is not None
    if relaxation is None:
        told += [Claim("gauge", _least_gauge(known.tau_lower))] * (0 < known.tau_lower < math.inf)
        else_ = "" if proven.decided is None else " by duality"
        lost = f"No dual vector was computed, so nothing else is proven{else_}."
        return [*told, Claim("unknown", lost), *_of_a_proof(proven)]
    told += _of_the_relaxation(proven, known)
    return told + _about_k(proven)


def _about_k(proven: Certificate) -> list[Claim]:
    """What is proven of (P) itself: nothing, but where nothing is left to be explained, or a proof was made."""
    few = proven.asked.alpha is not None and proven.asked.budget.nothing_said
    if proven.exact and not few and not proven.unreachable and proven.meets_bound is not False:
        return [Claim("floor", "Proven: no x fits better, with any number of atoms: the loss is 0 up to rounding.")]
    if proven.decided is not None:
        return _of_a_proof(proven)
    if proven.unreachable or proven.meets_bound is False:
        return []
    undecided = "that fewer atoms could not meet the bound" if few else "that no other k atoms fit better"
    of_fewer = f" of the answer for k={proven.cardinality - 1}" if few else ""
    who = "" if proven.asked.budget.parts or (few and proven.cardinality < 2) else f" fewatoms.prove{of_fewer} may."
    return [Claim("open", f"Not proven: {undecided}. The relaxation does not decide this.{who}")]


def _of_a_proof(proven: Certificate) -> list[Claim]:
    """What is proven of all other choices of atoms, and what is not; nothing where there was no proof."""
    found, alpha = proven.decided, proven.asked.alpha
    if found is None:
        return []
    told = [Claim("decided", text) for text in [decided(found)] if text]
    if alpha is not None and found.what == "loss" and found.lower > alpha * (1 + 1e-12):
        told.append(Claim("decided", f"So no {found.subject} meets the bound."))
    return told + [Claim("open", text) for text in [undecided(found)] if text]


def _out_of_reach(proven: Certificate) -> list[Claim]:
    text = "Proven: no x, with any number of atoms, meets alpha (to working precision)."
    return [Claim("unreachable", text)] * proven.unreachable


def _recomputed(proven: Certificate) -> list[Claim]:
    """What was computed again from the answer alone."""
    asked, budget = proven.asked, proven.asked.budget
    allowed = "" if budget.nothing_said else f" of {budget.figures} allowed"
    paid = f", objective {proven.objective:.6g}" if asked.ridge else ""
    words = Budget(proven.cardinality).words
    share = ", what biases pay in it" if asked.free == "biases" and asked.shrink else ""
    told = [Claim("checked", f"Recomputed: loss {proven.loss:.6g} with {words}{allowed}{share}{paid}.")]
    if asked.alpha is not None:
        met = "met" if proven.meets_bound else "not met"
        told.append(Claim("bound", f"The bound alpha = {asked.alpha:.6g} is {met}{_slack(proven)}."))
    return told


def _slack(proven: Certificate) -> str:
    """Where a method adds a slack to the bound, whether it is met with that."""
    asked = proven.asked
    if not asked.slack or asked.alpha is None or proven.meets_bound:
        return ""
    total = asked.alpha + asked.slack
    held = "it is" if proven.loss <= total * (1 + 1e-12) else "nor is it"
    return f"; {held} with the slack of the method, {asked.alpha:.6g} + {asked.slack:.6g} = {total:.6g}"


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
    if 0 < least < math.inf and not proven.unreachable:
        between = f" The optimum of the relaxation {about} lies between that and {high:.6g}." * (own and bounded)
        told.append(Claim("gauge", _least_gauge(least) + between))
    if not bounded and not (name == "P3" and proven.unreachable):
        text = f"No feasible pair of the relaxation {about} was found: its gap is not known."
        told.append(Claim("unknown", text))
    itself = ridge > 0 and name == "P1" and parameter == (ridge if on_gauge else 0.0)
    if bounded and not (own and least > 0):
        told.append(_between(about, low, high, another=name == "P3" and known.in_units and bool(told)))
    if itself and bounded and low > 0:
        what = f"loss + {ridge:.6g} gauge" if on_gauge else "an objective"
        text = f"So no x, with any number of atoms, has {what} below {low:.6g}; this one has {proven.objective:.6g}."
        told.append(Claim("floor", text))
    elif ridge and not on_gauge and name == "P3":
        text = "The ridge plays no part in that: it speaks of the loss and the gauge alone."
        told.append(Claim("relaxation", text))
    return told + _aligned(proven)


def _between(about: str, low: float, high: float, *, another: bool) -> Claim:
    """Both ends of the optimum of a relaxation; that the lower one is nothing, or next to it, is no proof worth its
    name. Over atoms in units of their images the gauge is another one than that of the set, which is told beside it."""
    if low <= 0:
        text = f"Nothing is known of the optimum of the relaxation {about} but that it is at most {high:.6g}."
        return Claim("unknown", text)
    ends = f"between {low:.6g} and {high:.6g}"
    if low < VACUOUS * high:
        return Claim("unknown", f"Little is known of the relaxation {about}: its optimum lies {ends}.")
    units = " That is the gauge with atoms in those units, another quantity than the one before." * another
    return Claim("relaxation", f"Proven: the relaxation {about} has its optimum {ends}.{units}")


def _aligned(proven: Certificate) -> list[Claim]:
    """What Theorem 2 says, where somebody has asked for it."""
    if not proven.knows_epsilon:
        return []
    if proven.epsilon is None:
        text = "No epsilon: the operator's norm, a feasible pair or bounds on beta are missing."
        return [Claim("unknown", text)]
    text = f"Proven: atoms of its solutions are aligned with M*y to at least {proven.threshold:.6g}."
    return [Claim("aligned", text)]
