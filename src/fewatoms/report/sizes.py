"""The report of a path: misfit against k, with a slider that says what each k's answer is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fewatoms import words
from fewatoms._types import FloatArray
from fewatoms.drawn.atoms import Atoms
from fewatoms.drawn.grids import Grid
from fewatoms.drawn.path import Curve, Supports
from fewatoms.measures import work
from fewatoms.report import cells, plots, proven, shell
from fewatoms.report.plots import Series, told
from fewatoms.report.shell import Column, Section, name
from fewatoms.report.single import asked, bounds, explained, lead, numbers
from fewatoms.report.single import sections as of_answer

if TYPE_CHECKING:
    from fewatoms.path import Path
    from fewatoms.report.extras import Extras
    from fewatoms.solution import Solution

SLID_ATOMS = 200  # of an answer that are listed
MAPPED = 40  # atoms whose comings and goings are drawn
MEASURED = 5e10  # multiplications for contributions and costs of all answers
OF_ONE = ("matrix", "phases", "parts", "fit")  # sections about the answer that is shown first

Plain: TypeAlias = "str | float | list[Plain] | dict[str, Plain] | None"


def page(found: Path, extras: Extras) -> str:
    at = 0 if found.chosen is None else found.k.index(found.chosen)
    shown, k = found[found.k[at]], found.k[at]
    chosen = " No k has been chosen yet." if found.chosen is None else ""
    head = f"<p>{shell.text(words.sentence(words.path_figures(found)), 400)}.{chosen}</p>"
    rest = [s for s in of_answer(shown, extras) if s.slug in OF_ONE]
    sections = [
        Section("asked", f"What was asked, what was found for k = {k}", lead(shown) + asked(shown, extras)),
        Section("path", "Every k", _slid(found, at)),
        Section("sizes", "All of them side by side", _sizes(found)),
        *[Section(s.slug, f"{s.title} for k = {k}", s.inside) for s in rest],
        Section("proven", f"What is proven for k = {k}, and what is not", _proven(shown, extras)),
    ]
    return shell.page(extras.title or f"Path over {len(found)} numbers of atoms", head, sections)


def _proven(shown: Solution, extras: Extras) -> str:
    """Of the answer that is shown first; a proof knows more about it."""
    return proven.told(shown.certificate if extras.proof is None else extras.proof.solution.certificate) + bounds(
        extras
    )


def _slid(found: Path, at: int) -> str:
    """The slider and all that follows it."""
    answers = [found[k] for k in found]
    drawn = _drawn(answers, at)
    heads, rows = _rows(drawn)
    names = {label: i for i, label in enumerate(dict.fromkeys(label for atoms in drawn for label in atoms.labels))}
    figures = [_figures(found, i) for i in range(len(found))]
    known: Plain = {
        "names": [shell.cut(label) for label in names],
        "heads": [*heads],
        "answers": [
            {
                "caption": _caption(found, i, atoms),
                "figures": {**figures[i]},
                "rows": [
                    [names[label], *map(_short, row)]
                    for label, row in zip(atoms.labels[:SLID_ATOMS], rows[i], strict=True)
                ],  # the length of the bar first
            }
            for i, atoms in enumerate(drawn)
        ],
    }
    shown = "".join(
        f'<div><dt>{key}</dt><dd data-figure="{key}">{value}</dd></div>' for key, value in figures[at].items()
    )
    control = shell.slider("path", "Number of atoms, k", [f"k = {k}" for k in found.k], at)
    return (
        f'<div data-path="path">{control}<dl class="facts">{shown}</dl>'
        f'<div class="side">{_curves(found, at)}{_supports(found, drawn, at)}</div>'
        f"{_table(drawn[at], heads, rows[at], _caption(found, at, drawn[at]))}</div>"
        f"{shell.data('path', known)}"
    )


def _drawn(answers: list[Solution], at: int) -> list[Atoms]:
    """The atoms of each answer; contributions and costs of all of them where that is quickly had, otherwise of the one
    that is shown."""
    dear = sum(work(s.certificate.problem, s.compact[0]) for s in answers if s.certificate.attached) > MEASURED
    return [Atoms.unmeasured(s) if dear and i != at else Atoms.of(s) for i, s in enumerate(answers)]


def _rows(drawn: list[Atoms]) -> tuple[list[str], list[FloatArray]]:
    """The columns of numbers that tables have for every k; and for each k a row for each atom, the length of its bar
    before those numbers."""
    several = any(len(atoms.heads) > 1 for atoms in drawn)
    heads = [*dict.fromkeys(head for atoms in drawn for head in atoms.heads)]
    measured = {"contribution": [a.shares for a in drawn], "cost": [a.costs for a in drawn]}
    known = {head: values for head, values in measured.items() if not all(np.isnan(v).all() for v in values)}
    rows = []
    for i, atoms in enumerate(drawn):
        columns = [_bars(atoms, bool(known)), *([atoms.sizes] if several else [])]
        columns += [_column(atoms, head) for head in heads] + [values[i] for values in known.values()]
        rows.append(np.column_stack(columns)[:SLID_ATOMS])
    return ["size"] * several + heads + [*known], rows


def _bars(atoms: Atoms, measured: bool) -> FloatArray:
    """None where others have contributions and these have not: coefficients beside them would be of another kind."""
    unknown = measured and bool(np.isnan(atoms.shares).any())
    return np.full(len(atoms.labels), np.nan) if unknown else atoms.weights


def _column(atoms: Atoms, head: str) -> FloatArray:
    """The coefficients under a head; nan where an answer has no such column, as one without atoms."""
    return atoms.values[:, atoms.heads.index(head)] if head in atoms.heads else np.full(len(atoms.labels), np.nan)


def _short(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _figures(found: Path, i: int) -> dict[str, str]:
    """Those of one answer that mean something for this path."""
    answer = found[found.k[i]]
    known = {"loss": answer.loss, "misfit": answer.misfit, "R²": answer.r2}
    meant = {"loss": True, "misfit": not np.isnan(found.misfits).all(), "R²": True}
    figures = {key: told(value) or "none" for key, value in known.items() if meant[key]}
    return {"atoms": str(answer.cardinality), **figures, "ended": answer.status.name}


def _caption(found: Path, i: int, atoms: Atoms) -> str:
    many = len(atoms.labels)
    most = f", the first {SLID_ATOMS} of {many}" if many > SLID_ATOMS else ""
    return f"Atoms of the answer for k = {found.k[i]}{most}; the buttons sort them"


def _table(atoms: Atoms, heads: list[str], rows: FloatArray, caption: str) -> str:
    labels = [shell.cut(label) for label in atoms.labels[:SLID_ATOMS]]
    columns = [
        Column("atom", [name(label) for label in labels], labels, words=True),
        Column("", [plots.bar(float(v), 1.0) for v in rows[:, 0]]),
        *[numbers(head, values) for head, values in zip(heads, rows[:, 1:].T, strict=True)],
    ]
    return shell.table(caption, columns) + explained(heads)


def _curves(found: Path, at: int) -> str:
    """Misfits and scores against the number of atoms, with marks that the slider moves."""
    curve = Curve.of(found)
    order = np.argsort(curve.sizes, kind="stable")
    x, y = curve.sizes.astype(np.float64), curve.heights
    label = f"{curve.label} against atoms used, from {told(y[order[0]])} to {told(y[order[-1]])}"
    line = [Series(x[order], y[order])]
    picture = plots.curves(line, "atoms used", curve.label, label=label, may_be_log=True, marks=(x, y, at))
    pictures = [shell.figure(picture, "How well each answer fits. The mark is where the slider stands.")]
    if curve.scored is not None:
        way, scores = curve.scored
        label = f"Scores ({way}) against atoms used; lower is better"
        line = [Series(x[order], scores[order], "", 1)]
        picture = plots.curves(line, "atoms used", f"score ({way})", label=label, marks=(x, scores, at))
        pictures.append(shell.figure(picture, f"What k was chosen by ({way}); lower is better."))
    return "".join(pictures)


def _supports(found: Path, drawn: list[Atoms], at: int) -> str:
    """Which atoms are in for which k."""
    if len(drawn) < 2 or not any(atoms.labels for atoms in drawn):
        return ""
    measured = not any(np.isnan(atoms.shares).any() for atoms in drawn)
    shown = [a.weights if measured else np.sign(a.sizes) for a in drawn]
    supports = Supports.of([dict(zip(a.labels, v.tolist(), strict=True)) for a, v in zip(drawn, shown, strict=True)])
    some = supports.values[:MAPPED]
    by = "the signs of their coefficients"
    by = f"contributions, as shares of the largest for that k, with {by}" if measured else by
    first = f" The {MAPPED} of {len(supports.labels)} that are in most often." if len(supports.labels) > MAPPED else ""
    label = f"Which of {len(some)} atoms are in for each of {len(drawn)} k, coloured by {by}"
    picture = cells.heat(
        Grid(some, (len(some), len(drawn))), (-1.0, 1.0), "supports", across="k", up="", label=label,
        rows=supports.labels[:MAPPED], cols=found.k, at=at, missing="not in",
    )  # fmt: skip
    return shell.figure(picture, f"Which atoms are in for which k, coloured by {by}.{first}")


def _sizes(found: Path) -> str:
    """A line for each k."""
    columns, _ = words.sizes(found)
    shown = []
    for head, values in columns.items():
        if all(value is None for value in values):
            continue
        if head == "":
            shown.append(Column("chosen", [shell.text(value) for value in values], words=True))
        else:
            numbers_ = [told(value) if shell.is_number(value) else words.cell(head, value) for value in values]
            cells_ = [shell.text(number) for number in numbers_]
            keys = [_key(i, head, value) for i, value in enumerate(values)]
            shown.append(Column(head, cells_, keys))
    return shell.table("Each k, how many atoms its answer has and how well it fits; the buttons sort them", shown)


def _key(i: int, head: str, value: object) -> float | str:
    """What a cell is sorted by: k may be a tuple, and then goes by its place."""
    if head == "k":
        return float(i)
    return float(value) if shell.is_number(value) else ""
