"""The report of one answer: what was asked, what was found, what is proven, and pictures that fit it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import words
from fewatoms._types import FloatArray
from fewatoms.drawn.atoms import Atoms
from fewatoms.drawn.bounds import Bounds
from fewatoms.drawn.convergence import Convergence
from fewatoms.drawn.decomposition import kind_of
from fewatoms.drawn.grids import Grid, scale
from fewatoms.drawn.phases import Phases
from fewatoms.drawn.spectra import Spectra
from fewatoms.faces import Cone
from fewatoms.report import cells, plots, proven, shell
from fewatoms.report.matrices import decomposition, listed_parts, matrix
from fewatoms.report.plots import Series, told
from fewatoms.report.shell import Column, Section

if TYPE_CHECKING:
    from fewatoms.report.extras import Extras
    from fewatoms.solution import Solution

MOST_ATOMS = 500  # atoms that are listed
LATE = 0.5  # seconds before the first answer that are worth a word
WORST = 20  # residuals
MEANT = {
    "contribution": (
        "contribution: the length of what an atom adds to the fit, as a share of the sum of all these lengths."
    ),
    "cost": "cost: what the objective would rise by if the atom were left out and the others fitted again.",
}
NEIGHBOURLY = 0.5  # correlation of neighbours from which on data are drawn as a curve


def page(found: Solution, extras: Extras) -> str:
    return shell.page(extras.title or _title(found), lead(found), sections(found, extras))


def _title(found: Solution) -> str:
    """What the answer is, where nobody says what it is about."""
    if len(found.parts) > 1:
        return shell.capital(" and ".join(kind_of(part) for part in found.parts))
    if found.compact[0].spans() is None:
        p, q = found.compact[0].shape
        return f"A {p} x {q} matrix of rank {found.cardinality}"
    return f"{found.cardinality} atom{'s' * (found.cardinality != 1)}"


def lead(found: Solution) -> str:
    """How it ended, and the figures."""
    kind = "holds" if found.success else "missed"
    figures = f"{words.figures(found)}, on the data that were fitted."
    return f'<p><span class="status {kind}">{found.status.name}</span> {shell.text(figures, 400)}</p>'


def sections(found: Solution, extras: Extras) -> list[Section]:
    """All of them; those that do not fit the answer are empty, and left out."""
    face, _ = found.compact
    fixed = face.spans() is not None
    return [
        Section("asked", "What was asked, what was found", asked(found, extras)),
        *_of_parts(found, extras, fixed),
        Section("fit", "Data and fit", _fit(found, extras) if fixed else ""),
        Section("convergence", "How it was found", _convergence(found, extras)),
        Section("proven", "What is proven, and what is not", proven.told(found.certificate) + bounds(extras)),
    ]


def _of_parts(found: Solution, extras: Extras, fixed: bool) -> list[Section]:
    """Pictures of matrices and of sums, before any list; atoms in a table."""
    if len(found.parts) > 1:
        pictures = Section("parts", "The parts", decomposition(found, extras))
        listed = listed_parts(found, extras) if len(found.compact[0].shape) == 2 else ""
        return [pictures, Section("atoms", "The atoms", listed or _atoms(found, extras))]
    if fixed:
        return [Section("atoms", "The atoms", _atoms(found, extras))]
    if found.compact[0].cone is Cone.PSD:
        return [Section("phases", "The vectors found", phases(found))]
    return [Section("matrix", "The matrix", matrix(found, extras))]


# Words and figures ---------------------------------------------------------------------------------------------------


def asked(found: Solution, extras: Extras) -> str:
    """The message, figures with their names, notes."""
    question = found.certificate.asked
    facts = {
        "atoms from": shell.cut(question.atoms_told, 120),
        "loss": shell.cut(question.loss_told, 120),
        "loss found": told(found.loss),
        "misfit": told(found.misfit),
        "R² of the data fitted": told(found.r2),
        "objective": told(found.objective) if found.objective != found.loss else "",
        "ridge": ", ".join(told(float(r)) for r in np.atleast_1d(found.ridge)) if np.any(found.ridge) else "",
        "held-out error": "" if found.held_out is None else told(found.held_out),
        "iterations": str(found.iterations),
        "products with M": str(found.products),
    }
    known = shell.facts({key: value for key, value in facts.items() if value})
    return shell.paragraphs(found.message) + known + shell.paragraphs(*words.besides(found), *extras.notes)


def _atoms(found: Solution, extras: Extras) -> str:
    """A table of names, bars, coefficients, contributions and costs."""
    atoms = Atoms.of(found, extras.called)
    if not atoms.labels:
        return shell.paragraphs("There are none.")
    return atom_table(atoms, "Atoms of the answer; the buttons sort them") + _side_by_side(atoms)


def atom_table(atoms: Atoms, caption: str) -> str:
    some = slice(MOST_ATOMS)
    columns = [
        shell.labels("atom", atoms.labels[some]),
        Column("", [plots.bar(float(v), 1.0) for v in atoms.weights[some]]),
    ]
    for head, values in zip(atoms.heads, atoms.values.T, strict=True):
        columns.append(numbers(head, values[some]))
    for head, values in (("contribution", atoms.shares), ("cost", atoms.costs)):
        if not np.isnan(values).all():
            columns.append(numbers(head, values[some]))
    table = shell.table(caption, columns, more=max(0, len(atoms.labels) - MOST_ATOMS))
    return table + explained([column.head for column in columns])


def explained(heads: Sequence[str]) -> str:
    """What the columns of a table of atoms mean, a line each."""
    what = "contributions" if "contribution" in heads else "coefficients"
    bars = f"Bars show {what}, in blue where coefficients are positive, in orange where they are negative."
    return shell.remarks(bars, [MEANT[head] for head in heads if head in MEANT])


def numbers(head: str, values: FloatArray) -> Column:
    """A column of numbers."""
    cells = [f"{v:.1%}" if head == "contribution" and math.isfinite(v) else told(v) for v in values.tolist()]
    return Column(head, cells, [v if math.isfinite(v) else "" for v in values.tolist()])


def _side_by_side(atoms: Atoms) -> str:
    """Where several data vectors or classes share the atoms: their coefficients as cells."""
    if len(atoms.heads) < 2:
        return ""
    ends = scale(atoms.values)
    label = f"Coefficients of {len(atoms.labels)} atoms for {len(atoms.heads)} data vectors or classes"
    picture = cells.heat(
        Grid.of(atoms.values), ends, "shared", across="data vectors or classes", up="atoms", label=label,
        rows=atoms.labels, cols=[head.removeprefix("coefficient of ") for head in atoms.heads],
    )  # fmt: skip
    return shell.figure(picture, "Coefficients, a row for each atom in the order of the table as it came.")


def _fit(found: Solution, extras: Extras) -> str:
    """Data, the fit and what it leaves, where M and b are at hand and data are numbers."""
    proven = found.certificate
    if not proven.attached or proven.problem.classes is not None or found.shares_atoms or proven.problem.m < 2:
        return ""
    spectra = Spectra.of(found, extras.called)
    if not spectra.data.any():
        return ""
    across = "datum" if extras.rows is None else "row"
    pictures = [spectrum(spectra, across, extras.first)] if _in_order(spectra.data) else []
    return f'<div class="side">{"".join([*pictures, _against(spectra)])}</div>{_worst(spectra, extras)}'


def _in_order(data: FloatArray) -> bool:
    """Whether neighbours among the data resemble each other, as those of a spectrum or a signal do: curves over data
    that come in no order show nothing."""
    apart = data - data.mean()
    return float(apart[1:] @ apart[:-1]) > NEIGHBOURLY * float(apart @ apart)


def spectrum(spectra: Spectra, across: str, first: int) -> str:
    """Data as a curve, counted from `first`; what atoms add as areas where nothing is negative, otherwise the fit as a
    curve."""
    x, data = plots.thinned(spectra.data)
    x = x + first
    base, parts, fit = (plots.thinned(v)[1] for v in (spectra.beside, spectra.parts, spectra.fit))
    step = -(-len(spectra.data) // plots.POINTS)
    thin = f" Each point is the mean of {step} neighbours." if step > 1 else ""
    others = f" {spectra.others} more atoms are not drawn." if spectra.others else ""
    label = f"Data and fit over {len(spectra.data)} entries; the largest residual is {told(_largest(spectra))}"
    if len(parts) and (parts >= -1e-9 * np.abs(parts).max()).all():
        picture = plots.stack(x, base, parts, spectra.labels, data, across=across, label=label)
        return shell.figure(picture, f"The data, and what each atom adds to them.{others}{thin}")
    curves = [Series(x, data, "data", 7), Series(x, fit, "fit", 0, "dash")]
    return shell.figure(plots.curves(curves, across, "value", label=label), f"The data and the fit.{thin}")


def _largest(spectra: Spectra) -> float:
    return float(np.abs(spectra.residual).max(initial=0.0))


def _against(spectra: Spectra) -> str:
    """Fit against data; a share of them where there are many."""
    some = np.linspace(0, len(spectra.data) - 1, min(len(spectra.data), 1000)).round().astype(int)
    x, y = spectra.data[some], spectra.fit[some]
    ends = np.array([x.min(), x.max()])
    curves = [Series(ends, ends, "equal", 7, "dash"), Series(x, y, "data and fit", 0, "dots")]
    label = "Fit against data: points near the line are fitted well"
    part = f" {some.size} of {len(spectra.data)} are drawn." if some.size < len(spectra.data) else ""
    return shell.figure(plots.curves(curves, "data", "fit", label=label), f"Fit against data.{part}")


def _worst(spectra: Spectra, extras: Extras) -> str:
    order = np.argsort(-np.abs(spectra.residual), kind="stable")[:WORST]
    most = _largest(spectra)
    columns = [
        shell.labels("datum" if extras.rows is None else "row", [extras.row(i) for i in order.tolist()]),
        Column("", [plots.bar(float(v), most) for v in spectra.residual[order]]),
        numbers("residual", spectra.residual[order]),
        numbers("data", spectra.data[order]),
        numbers("fit", spectra.fit[order]),
    ]
    return shell.table(f"The largest residuals{extras.counted}", columns)


# Pictures ------------------------------------------------------------------------------------------------------------


def _convergence(found: Solution, extras: Extras) -> str:
    if extras.trace is None or not len(extras.trace):
        return ""
    run = Convergence.of(extras.trace, found)
    if np.ptp(run.seconds) == 0:
        return shell.paragraphs("The first answer that was looked at was the last one: there is no way to be drawn.")
    label = f"{run.label} of the best so far, from {told(run.heights[0])} to {told(run.heights[-1])}"
    steps = np.repeat(np.arange(len(run.seconds)), 2)  # the best so far stays until there is a better one
    x, y = run.seconds[steps[1:]], run.heights[steps[:-1]]
    lines = [Series(x, y), Series(run.seconds, run.heights, "", 0, "dots")]
    picture = plots.curves(lines, "seconds", run.label, label=label, may_be_log=True, bound=run.bound)
    late = f" The first one was there after {run.seconds[0]:.1f} seconds." if run.seconds[0] >= LATE else ""
    bound = "" if run.bound is None else " The dashed line is the bound that was asked for."
    bound += " Below it fewer atoms are better, even if they fit worse." if bound and _rises(run.heights) else ""
    return shell.figure(picture, f"The best answer so far, while the search went on.{late}{bound}")


def bounds(extras: Extras) -> str:
    """What a proof has found out, while it went on."""
    if extras.proof is None:
        return ""
    drawn = Bounds.of(extras.proof)
    steps = np.repeat(np.arange(len(drawn.seconds)), 2)  # a bound holds until the next
    x = drawn.seconds[steps[1:]]
    label = f"Between {told(drawn.lower[-1])} and {told(drawn.upper[-1])} after {drawn.seconds[-1]:.3g} seconds"
    lines = [
        Series(x, drawn.upper[steps[:-1]], "best answer known"),
        Series(x, drawn.lower[steps[:-1]], "no choice is below", 1),
    ]
    picture = plots.curves(lines, "seconds", drawn.label, label=label, bound=drawn.close)
    said = (
        "What is known of the best choice there is: it lies between the curves. The dashed line is where it is proven."
    )
    return shell.figure(picture, said)


def _rises(heights: FloatArray) -> bool:
    return bool(np.any(np.diff(heights) > 0))


def phases(found: Solution) -> str:
    """Magnitudes and phases of the vectors behind quadratic measurements."""
    drawn = Phases.of(found)
    parts = []
    for i in range(min(drawn.vectors.shape[1], 4)):
        v = drawn.vectors[:, i]
        x, sizes = plots.thinned(np.abs(v) if drawn.complex else np.real(v))
        up = "magnitude" if drawn.complex else "entry"
        label = f"{up} of {len(v)} entries of vector {i + 1}"
        pictures = [shell.figure(plots.curves([Series(x, sizes)], "entry", up, label=label), f"Vector {i + 1}: {up}.")]
        if drawn.complex:
            turns = Series(np.arange(len(v)), np.where(v == 0, np.nan, np.angle(v)), "", 1, "dots")
            label = f"Phases of the entries of vector {i + 1}, between -pi and pi"
            picture = plots.curves([turns], "entry", "phase", label=label)
            pictures.append(shell.figure(picture, f"Vector {i + 1}: phase, in radians."))
            some = np.linspace(0, len(v) - 1, min(len(v), 500)).round().astype(int)
            label = f"Entries of vector {i + 1} in the complex plane"
            said = (
                f"Vector {i + 1}: entries in the complex plane, {some.size} of {len(v)}. Data tell them up to a turn."
            )
            pictures.append(shell.figure(plots.cloud(v[some], label=label), said))
        parts.append(f'<div class="side">{"".join(pictures)}</div>')
    values = ", ".join(told(float(v)) for v in drawn.values[:8])
    return shell.paragraphs(f"Eigenvalues: {values}.") + "".join(parts)
