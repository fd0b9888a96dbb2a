"""The report of answers for many data vectors: which atoms they use, where, and a few of them one by one."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import words
from fewatoms.drawn.abundances import Abundances
from fewatoms.drawn.grids import Grid, scale
from fewatoms.drawn.spectra import Spectra
from fewatoms.report import plots, proven, shell
from fewatoms.report.plots import told
from fewatoms.report.shell import Column, Section, name
from fewatoms.report.single import numbers, spectrum

if TYPE_CHECKING:
    from fewatoms.report.extras import Extras
    from fewatoms.solutions import Solutions

VECTORS = 200  # atoms and data vectors that are listed


def page(found: Solutions, extras: Extras) -> str:
    drawn = Abundances.of(found, extras.called)
    kind = "holds" if found.success else "missed"
    ends = Counter(status.name for status in found.status)
    told_ = ", ".join(f"{count} {status}" for status, count in ends.items())
    figures = shell.text(repr(found).removeprefix("Solutions(").removesuffix(")"), 400)
    head = f'<p><span class="status {kind}">{shell.text(told_)}</span> {figures}</p>'
    looked = drawn.looked_at()
    first = None if not looked else found[looked[len(looked) // 2]]
    sections = [
        Section("asked", "What was asked, what was found", shell.paragraphs(found.message, *extras.notes)),
        Section("atoms", "The atoms used", _atoms(drawn, len(found))),
        Section("maps", "Where they are", _maps(drawn, extras)),
        Section("misfits", "How well they fit", _misfits(drawn)),
        Section("vectors", "A few of them", _vectors(found, looked, extras)),
        Section("all", "All of them", _all(found)),
        Section("proven", "What is proven, and what is not", "" if first is None else _proven(found, looked)),
    ]
    return shell.page(extras.title or f"{len(found)} data vectors", head, sections)


def _atoms(drawn: Abundances, count: int) -> str:
    if not drawn.labels:
        return shell.paragraphs("No atom is used.")
    some = slice(VECTORS)
    labels = [shell.cut(label) for label in drawn.labels[some]]
    used = drawn.used[some].astype(np.float64)
    columns = [
        Column("atom", [name(label) for label in labels], labels, words=True),
        Column("", [plots.bar(float(v), float(used.max())) for v in used]),
        numbers("used by", used),
        Column("share", [f"{v / count:.1%}" for v in used], (used / count).tolist()),
        numbers("mean coefficient", drawn.means[some]),
    ]
    caption = f"Atoms by the number of the {count} data vectors that use them; the buttons sort them"
    return shell.table(caption, columns, more=len(drawn.labels) - len(labels))


def _maps(drawn: Abundances, extras: Extras) -> str:
    """The amounts of the most frequent atoms as pictures, where the data vectors are pixels of one."""
    if extras.frame is None or not len(drawn.amounts):
        return ""
    height, width = extras.frame
    count = drawn.amounts.shape[1]
    if height * width != count:
        raise ValueError(f"frame must be a height and a width whose product is {count}; got {extras.frame}")
    pictures = []
    for i, (label, amounts) in enumerate(zip(drawn.labels, drawn.amounts, strict=False)):
        grid = Grid.of(amounts.reshape(height, width))
        shown = shell.cut(label, 60)
        picture = plots.heat(
            grid, scale(grid), f"map{i}", across=f"{width} columns", up=f"{height} rows", label=f"Amounts of {shown}"
        )
        pictures.append(shell.figure(picture, f"{shown}: {int(drawn.used[i])} of {count} pixels."))
    return f'<div class="side">{"".join(pictures)}</div>'


def _misfits(drawn: Abundances) -> str:
    known = drawn.misfits[np.isfinite(drawn.misfits)]
    if not known.size:
        return shell.paragraphs("Nothing was fitted.")
    what = "misfit |b - Mx| / |b|" if drawn.means_misfit else "loss"
    low, middle, high = (told(float(v)) for v in np.quantile(known, [0.05, 0.5, 0.95]))
    said = f"The middle {what} is {middle}; nine in ten lie between {low} and {high}."
    return shell.paragraphs(said) + shell.figure(plots.histogram(known, what, label=said), f"All {known.size} of them.")


def _vectors(found: Solutions, looked: list[int], extras: Extras) -> str:
    """Some data vectors with what atoms add to them, from the best fitted to the worst; a slider goes through them."""
    answers = [(i, found[i]) for i in looked]
    if not answers or not all(s.certificate.attached and s.classes is None for _, s in answers):
        return ""
    steps, values = [], []
    for i, s in answers:
        label = str(i) if found.data_names is None else found.data_names[i]
        values.append(
            f"{shell.cut(label, 30)}, "
            + (f"loss {told(s.loss)}" if math.isnan(s.misfit) else f"misfit {told(s.misfit)}")
        )
        spectra = Spectra.of(s, extras.called)
        steps.append(f'<div class="step"><h3>{name(values[-1])}</h3>{spectrum(spectra, "datum")}</div>')
    control = shell.slider("vectors", "Data vector, from the best fitted to the worst", values, 0)
    return f'<div data-steps="vectors">{control}{"".join(steps)}</div>'


def _all(found: Solutions) -> str:
    columns = words.vectors(found)
    some = slice(VECTORS)
    shown = []
    for head, values in columns.items():
        if all(value is None for value in values):
            continue
        labels = head in ("data", "ended")
        cells = [shell.text(words.cell(head, value)) for value in values[some]]
        keys = [value if shell.is_number(value) else shell.cut(value or "") for value in values[some]]
        shown.append(Column(head, [name(cell) for cell in cells] if labels else cells, keys, words=labels))
    return shell.table("Data vectors; the buttons sort them", shown, more=max(0, len(found) - VECTORS))


def _proven(found: Solutions, looked: list[int]) -> str:
    """That of the one in the middle: each has its own."""
    i = looked[len(looked) // 2]
    label = str(i) if found.data_names is None else found.data_names[i]
    said = f"Each data vector has a certificate of its own. This is that of {shell.cut(label)}, in the middle above."
    return shell.paragraphs(said) + proven.told(found[i].certificate)
