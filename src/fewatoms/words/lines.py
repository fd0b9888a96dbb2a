"""Answers in lines and tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import BudgetLike
from fewatoms.budget import Budget

if TYPE_CHECKING:
    from fewatoms.path import Path
    from fewatoms.points import Point
    from fewatoms.solution import Solution
    from fewatoms.solutions import Solutions


ROWS = 20  # atoms that are listed
FEW_ROWS = 5  # the same in a few lines
SIZES = 4  # k of a path that are told one by one


def answer(found: Solution) -> str:
    """An answer in one line, and its atoms by name with their coefficients where they have names."""
    rows = [row for part in found.parts for row in _named(part)]
    more = [f"  and {len(rows) - ROWS} more"] if len(rows) > ROWS else []
    return "\n".join([repr(found), *rows[:ROWS], *more])


def _named(part: Point) -> list[str]:
    """A line for each atom; a group of several columns lists these."""
    if part.names is None:
        return []
    width = max((len(name) for name in part.names), default=0)
    members = part.members if part.called.columns is not None and not part.shares_atoms else None
    inside: Sequence[Sequence[object]] = [()] * part.cardinality if members is None else members
    return [
        f"  {name:<{width}}  {_values(np.ravel(row).tolist(), some)}"
        for name, row, some in zip(part.names, part.coefficients, inside, strict=True)
    ]


def _values(values: Sequence[float], members: Sequence[object]) -> str:
    """Coefficients with their signs, and whose they are where there are several."""
    if len(values) == 1 or not members:
        return ", ".join(f"{value:.6g}" for value in values)
    return ", ".join(f"{name} {value:.6g}" for name, value in zip(members, values, strict=True))


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
    over = answers[0].certificate.asked.atoms_told
    return f"{many} over {over}, k={_sizes(found.k)}{ridges}, loss {fell}{_cut_short(found)}{_chosen(found)}"


def _cut_short(found: Path) -> str:
    """How far a path came that was stopped."""
    return f", stopped after {len(found.fitted)} of {len(found.k)}" if found.stopped else ""


def _chosen(found: Path) -> str:
    """The k chosen; and the one with the lowest score, where that is another one: why, `choose_k` says."""
    if found.chosen is None:
        return ""
    several, way = len(found.ridges) > 1, found.chosen_by
    text = f", chosen k={found.chosen}" + (f" at ridge {found.ridge:.4g}" if several else "")
    scores = np.atleast_2d(found.scores.get(way or "", np.zeros((0, 0))))
    if not np.isfinite(scores).any():
        return text
    row, column = divmod(int(np.nanargmin(scores)), scores.shape[1])
    own = float(scores[found.ridges.index(found.ridge), found.k.index(found.chosen)])
    if not scores[row, column] < own:
        return text
    lower = f"k={found.k[column]}" + (f" at ridge {found.ridges[row]:.4g}" if several else "")
    return f"{text} by {way} {own:.4g}; {lower} has {scores[row, column]:.4g}"


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
