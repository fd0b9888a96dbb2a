"""The report of a path: misfit against k, with a slider that says what each k's answer is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fewatoms import words
from fewatoms._types import FloatArray
from fewatoms.drawn.atoms import Atoms
from fewatoms.drawn.grids import Grid, scale
from fewatoms.drawn.path import Curve, Supports
from fewatoms.measures import work
from fewatoms.report import plots, proven, shell
from fewatoms.report.plots import Series, told
from fewatoms.report.shell import Column, Section, name
from fewatoms.report.single import lead, numbers
from fewatoms.report.single import sections as of_answer

if TYPE_CHECKING:
    from fewatoms.path import Path
    from fewatoms.report.extras import Extras
    from fewatoms.solution import Solution

SLID_ATOMS = 200  # of an answer that are listed
MAPPED = 60  # atoms whose comings and goings are drawn
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
        Section("asked", f"What was asked, what was found for k = {k}", lead(shown) + _asked(shown, extras)),
        Section("path", "Every k", _slid(found, at)),
        Section("sizes", "All of them side by side", _sizes(found)),
        *[Section(s.slug, f"{s.title} for k = {k}", s.inside) for s in rest],
        Section("proven", f"What is proven for k = {k}, and what is not", proven.told(shown.certificate)),
    ]
    return shell.page(extras.title or f"Path over {len(found)} numbers of atoms", head, sections)


def _asked(shown: Solution, extras: Extras) -> str:
    return shell.paragraphs(shown.message, *words.besides(shown), *extras.notes)


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
                ],
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
        f'<div class="side">{_curves(found, at)}{_supports(drawn, at)}</div>'
        f"{_table(drawn[at], heads, rows[at], _caption(found, at, drawn[at]))}</div>"
        f"{shell.data('path', known)}"
    )


def _drawn(answers: list[Solution], at: int) -> list[Atoms]:
    """The atoms of each answer; contributions and costs of all of them where that is quickly had, otherwise of the one
    that is shown."""
    dear = sum(work(s.certificate.problem, s.compact[0]) for s in answers if s.certificate.attached) > MEASURED
    return [Atoms.unmeasured(s) if dear and i != at else Atoms.of(s) for i, s in enumerate(answers)]


def _rows(drawn: list[Atoms]) -> tuple[list[str], list[FloatArray]]:
    """The columns of numbers that tables have for every k, and those numbers, a row for each atom."""
    several = any(len(atoms.heads) > 1 for atoms in drawn)
    heads = [*dict.fromkeys(head for atoms in drawn for head in atoms.heads)]
    measured = {"contribution": [a.shares for a in drawn], "cost": [a.costs for a in drawn]}
    known = {head: values for head, values in measured.items() if not all(np.isnan(v).all() for v in values)}
    rows = []
    for i, atoms in enumerate(drawn):
        columns = [atoms.sizes] if several else []
        columns += [_column(atoms, head) for head in heads] + [values[i] for values in known.values()]
        rows.append(np.column_stack(columns)[:SLID_ATOMS])
    return ["size"] * several + heads + [*known], rows


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
    first = rows[:, 0]
    most = float(np.nanmax(np.abs(first), initial=0.0))
    columns = [
        Column("atom", [name(label) for label in labels], labels, words=True),
        Column("", [plots.bar(float(v), most) for v in first]),
        *[numbers(head, values) for head, values in zip(heads, rows.T, strict=True)],
    ]
    return shell.table(caption, columns)


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


def _supports(drawn: list[Atoms], at: int) -> str:
    """Which atoms are in for which k."""
    if len(drawn) < 2 or not any(atoms.labels for atoms in drawn):
        return ""
    supports = Supports.of([dict(zip(atoms.labels, atoms.sizes.tolist(), strict=True)) for atoms in drawn])
    some = supports.values[:MAPPED]
    first = f" The {MAPPED} of {len(supports.labels)} that are in most often." if len(supports.labels) > MAPPED else ""
    label = f"Which of {len(some)} atoms are in for each of {len(drawn)} k, coloured by their coefficients"
    grid = Grid(some, (len(some), len(drawn)))
    picture = plots.heat(
        grid, scale(some), "supports", across="k, in the order asked for", up="atoms", label=label, at=at,
        missing="not in",
    )  # fmt: skip
    return shell.figure(picture, f"Which atoms are in for which k, a row each, coloured by their coefficients.{first}")


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
            cells = [shell.text(words.cell(head, value)) for value in values]
            keys = [_key(i, head, value) for i, value in enumerate(values)]
            shown.append(Column(head, cells, keys))
    return shell.table("Each k, how many atoms its answer has and how well it fits; the buttons sort them", shown)


def _key(i: int, head: str, value: object) -> float | str:
    """What a cell is sorted by: k may be a tuple, and then goes by its place."""
    if head == "k":
        return float(i)
    return float(value) if shell.is_number(value) else ""
