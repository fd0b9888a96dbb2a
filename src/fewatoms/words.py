"""The one place that speaks: messages of answers, notes, certificates in prose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewatoms._types import BudgetLike, IntArray
from fewatoms.budget import Budget

if TYPE_CHECKING:
    from fewatoms.candidates import Candidate
    from fewatoms.certificates import Certificate
    from fewatoms.figures import Relaxed
    from fewatoms.goals import Goal
    from fewatoms.path import Path
    from fewatoms.points import Point
    from fewatoms.price import Price
    from fewatoms.problem import Problem
    from fewatoms.solution import Solution, Status
    from fewatoms.solutions import Solutions


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


# Answers -------------------------------------------------------------------------------------------------------------

ROWS = 20  # atoms that are listed
FEW_ROWS = 5  # the same in a few lines
SIZES = 4  # k of a path that are told one by one


def answer(found: Solution) -> str:
    """An answer in one line, and its atoms by name with their coefficients where they have names."""
    rows = [row for part in found.parts for row in _named(part)]
    more = [f"  and {len(rows) - ROWS} more"] if len(rows) > ROWS else []
    return "\n".join([repr(found), *rows[:ROWS], *more])


def _named(part: Point) -> list[str]:
    if part.names is None:
        return []
    width = max((len(name) for name in part.names), default=0)
    return [
        f"  {name:<{width}}  {', '.join(f'{value:.6g}' for value in np.atleast_1d(row))}"
        for name, row in zip(part.names, part.coefficients, strict=True)
    ]


def summary(found: Solution) -> str:
    """An answer in a few lines: what was asked and found, the atoms that contribute most, what is proven."""
    head, rows, more = cells(found.by_atom, FEW_ROWS)
    return "\n".join([found.message, *aligned(head, rows, more), *besides(found), str(found.certificate)])


def figures(found: Solution) -> str:
    """How well it fits, in one line."""
    known = [("loss", found.loss, ".6g"), ("misfit", found.misfit, ".3g"), ("R\u00b2", found.r2, ".4g")]
    told = [f"{name} {value:{form}}" for name, value, form in known if not math.isnan(value)]
    paid = [f"objective {found.objective:.6g}"] if found.objective != found.loss else []
    return ", ".join([Budget(found.cardinality).words, *told, *paid])


def besides(found: Solution) -> list[str]:
    """What a table of the atoms does not say, a line each."""
    lost = not found.certificate.attached and found.measures is None and found.compact[0].spans() is not None
    gone = ["Contributions and costs were not asked for while M and b were there: attach(M, b) gives them back."]
    return _beside(found) + gone * (lost and found.cardinality > 0)


def _beside(found: Solution) -> list[str]:
    """What was fitted beside the atoms, in a line if there is any."""
    if found.biases is not None:
        return [f"Beside them: biases of rows and columns around {found.biases.center:.6g}."]
    free = np.ravel(found.free_coefficients)
    if not free.size:
        return []
    told = [f"{value:.6g}" for value in free[:FEW_ROWS]] + ["..."] * (free.size > FEW_ROWS)
    kind = "intercept" if found.beside.intercept else "free columns"
    return [f"Beside them: {kind} {', '.join(told)}."]


def cells(columns: Mapping[str, Sequence[object]], most: int, near: int = 0) -> tuple[list[str], list[list[str]], int]:
    """A table as text: its head, some rows (the first ones, or those around a place), and how many more there are. What
    nobody knows has no column."""
    known = {key: column for key, column in columns.items() if any(value is not None for value in column)}
    more = max(0, len(next(iter(columns.values()), [])) - most)
    some = slice(first := min(max(0, near - most // 2), more), first + most)
    rows = zip(*([cell(key, value) for value in column[some]] for key, column in known.items()), strict=True)
    return [*known], [list(row) for row in rows], more


def cell(key: str, value: object) -> str:
    """One number of a table as it is read."""
    if value is None:
        return ""
    if key == "contribution":
        return f"{value:.1%}"
    return f"{value:.{4 if key == 'cost' else 6}g}" if isinstance(value, float) else str(value)


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], more: int) -> list[str]:
    """A table in lines of text."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in (head, *rows)]
    return [*lines, f"  and {more} more"] if more else lines


def sizes(found: Path) -> tuple[dict[str, list[object]], int]:
    """The columns of a path, sizes, how well they fit, what was compared last and what was chosen; and where that is
    among them."""
    answers = [found[k] for k in found]
    columns: dict[str, list[object]] = {
        "k": [str(k) for k in found],
        "atoms": [s.cardinality for s in answers],
        "loss": [float(s.loss) for s in answers],
        "misfit": [None if math.isnan(s.misfit) else float(s.misfit) for s in answers],
    }
    if found.scores:
        way, scores = next(reversed(found.scores.items()))
        columns[way] = (scores[found.ridges.index(found.ridge)] if scores.ndim > 1 else scores).tolist()
    if found.chosen is None:
        return columns, 0
    place = found.k.index(found.chosen)
    return {**columns, "": ["chosen" * (i == place) for i in range(len(found))]}, place


def path_summary(found: Path) -> str:
    """The answers for several k, a line each; those around the one chosen where there are many."""
    columns, place = sizes(found)
    return "\n".join([path(found), *aligned(*cells(columns, ROWS, place))])


def path(found: Path) -> str:
    """The answers for several k in one line."""
    return f"Path({path_figures(found)})"


def path_figures(found: Path) -> str:
    """How many there are, for which k, and how well they fit."""
    answers = [found[k] for k in found]
    many = "1 answer" if len(answers) == 1 else f"{len(answers)} answers"
    ridges = f", the same for {len(found.ridges)} ridges" if len(found.ridges) > 1 else ""
    losses = [f"{loss:.6g}" for loss in (found.losses.max(), found.losses.min())]
    fell = losses[0] if losses[0] == losses[1] else f"from {losses[0]} to {losses[1]}"
    at = f" at ridge {found.ridge:.4g}" if len(found.ridges) > 1 else ""
    chosen = "" if found.chosen is None else f", chosen k={found.chosen}{at}"
    over = answers[0].certificate.asked.atoms_told
    return f"{many} over {over}, k={_sizes(found.k)}{ridges}, loss {fell}{chosen}"


def _sizes(sizes: Sequence[BudgetLike]) -> str:
    shown = sizes if len(sizes) <= SIZES else [*sizes[:2], "...", sizes[-1]]
    return ", ".join(map(str, shown))


def answers(found: Solutions, met: int) -> str:
    """The answers for several data vectors in one line; so many are as asked."""
    bad = np.array([status.name == "BAD_DATA" for status in found.status], dtype=bool)
    misfit, loss = found.misfit[~bad], found.loss[~bad].max(initial=0.0)
    means_nothing = misfit.size > 0 and np.isnan(misfit).all()
    largest = f"loss {loss:.6g}" if means_nothing else f"misfit {misfit.max(initial=0.0):.3g}"
    told = f"{len(found)} data vector{'s' * (len(found) != 1)}, {met} as asked, largest {largest}"
    return f"Solutions({told}, {bad.sum()} with bad data)" if bad.any() else f"Solutions({told})"


def vectors(found: Solutions) -> dict[str, list[object]]:
    """The columns of answers for several data vectors."""
    labels: list[object] = [*range(len(found))] if found.data_names is None else [*found.data_names]
    columns: dict[str, list[object]] = {
        "data": labels,
        "ended": [status.name for status in found.status],
        "atoms": found.cardinality.tolist(),
        "loss": found.loss.tolist(),
        "misfit": [None if math.isnan(v) else v for v in found.misfit.tolist()],
    }
    return columns


# Notes ---------------------------------------------------------------------------------------------------------------


def idle_atoms(idle: IntArray) -> str:
    """Of atoms that were to be included."""
    return f"{idle.size} of the atoms to include add nothing and have coefficient 0, number {idle[0]} for one"


def same_image(pair: tuple[int, int]) -> str:
    return f"atoms {pair[0]} and {pair[1]}, for one pair, have the same image: which one is used is arbitrary"


def same_parts(i: int, j: int) -> str:
    return f"parts {i} and {j} are the same set: how their atoms are shared out is arbitrary"


def empty_lines(name: str, empty: IntArray, instead: str) -> str:
    """Of rows or columns without entries."""
    many, are = (f"{empty.size} {name}s have", "are") if empty.size > 1 else (f"1 {name} has", "is")
    return f"{many} no entries (number {empty[0]} for one) and {are} predicted by {instead}"


def too_many_unknowns(unknowns: int, entries: int) -> str:
    return f"{unknowns} unknowns are more than {_entries(entries)} can determine: a smaller k or a ridge would help"


def few_entries(unknowns: int, entries: int) -> str:
    told = _entries(entries)
    return f"{told} are few for {unknowns} unknowns: noise in them is fitted too, a smaller k or a ridge would help"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def negative_intensities(negative: int, count: int) -> str:
    verb = "is" if negative == 1 else "are"
    return f"{negative} of {count} intensities {verb} negative, which only noise explains"


def underdetermined(unknowns: int, count: int) -> str:
    return f"{unknowns} unknowns are more than {count} measurements can determine"


def asymmetric(pairs: int) -> str:
    return f"{pairs} pairs of entries (i, j) and (j, i) differ: a symmetric matrix fits their means"


def stands_out(count: int, deviation: float, times: float) -> str:
    told = f"{count} entries stand out of noise of standard deviation {deviation:.3g}"
    return f"{told}, by {times:.3g} times as much or more" if count and times < 1e3 else told


# Certificates --------------------------------------------------------------------------------------------------------


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
