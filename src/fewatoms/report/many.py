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
from fewatoms.report import cells, plots, proven, shell
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
    said = repr(found).removeprefix("Solutions(").removesuffix(")").replace("data vector", extras.words[0])
    figures = shell.text(said, 400)
    head = f'<p><span class="status {kind}">{shell.text(told_)}</span> {figures}</p>'
    looked = drawn.looked_at()
    first = None if not looked else found[looked[len(looked) // 2]]
    sections = [
        Section("asked", "What was asked, what was found", shell.paragraphs(found.message, *extras.notes)),
        Section("atoms", "The atoms used", _atoms(drawn, len(found), extras)),
        Section("maps", "Where they are", _maps(drawn, extras)),
        Section("misfits", "How well they fit", _misfits(drawn)),
        Section("vectors", "A few of them", _vectors(found, looked, extras)),
        Section("all", "All of them", _all(found, extras)),
        Section("proven", "What is proven, and what is not", "" if first is None else _proven(found, looked, extras)),
    ]
    return shell.page(extras.title or f"{len(found)} {extras.words[0]}s", head, sections)


def _atoms(drawn: Abundances, count: int, extras: Extras) -> str:
    if not drawn.labels:
        return shell.paragraphs("No atom is used.")
    some = slice(VECTORS)
    used = drawn.used[some].astype(np.float64)
    columns = [
        shell.labels("atom", drawn.labels[some]),
        Column("", [plots.bar(float(v), float(used.max())) for v in used]),
        numbers("used by", used),
        Column("share", [f"{v / count:.1%}" for v in used], (used / count).tolist()),
        numbers("mean coefficient", drawn.means[some]),
    ]
    caption = f"Atoms by the number of the {count} {extras.words[0]}s that use them; the buttons sort them"
    return shell.table(caption, columns, more=max(0, len(drawn.labels) - VECTORS))


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
        picture = cells.heat(
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
    picture, beyond = plots.histogram(known, what, label=said)
    return shell.paragraphs(said) + shell.figure(picture, f"All {known.size} of them{beyond}.")


def _vectors(found: Solutions, looked: list[int], extras: Extras) -> str:
    """Some data vectors with what atoms add to them, from the best fitted to the worst; a slider goes through them."""
    answers = [(i, found[i]) for i in looked]
    if not answers or not all(s.certificate.attached and s.classes is None for _, s in answers):
        return ""
    steps, values = [], []
    for i, s in answers:
        values.append(
            f"{shell.cut(extras.col(i), 30)}, "
            + (f"loss {told(s.loss)}" if math.isnan(s.misfit) else f"misfit {told(s.misfit)}")
        )
        spectra = Spectra.of(s, extras.called)
        steps.append(
            f'<div class="step"><h3>{name(values[-1])}</h3>{spectrum(spectra, extras.words[1], extras.first)}</div>'
        )
    control = shell.slider("vectors", f"{extras.words[0].capitalize()}, from the best fitted to the worst", values, 0)
    return f'<div data-steps="vectors">{control}{"".join(steps)}</div>'


def _all(found: Solutions, extras: Extras) -> str:
    some = slice(VECTORS)
    shown = [shell.labels(extras.words[0], [extras.col(i) for i in range(len(found))[some]])]
    for head, values in words.vectors(found).items():
        same = head == "ended" and len({*values}) == 1  # which is said above
        if head == "data" or same or all(value is None for value in values):
            continue
        said = [told(value) if shell.is_number(value) else words.cell(head, value) for value in values[some]]
        cells_ = [shell.text(cell) for cell in said]
        keys = [value if shell.is_number(value) else shell.cut(value or "") for value in values[some]]
        shown.append(Column(head, cells_, keys, words=head == "ended"))
    caption = f"{extras.words[0].capitalize()}s{extras.counted}; the buttons sort them"
    return shell.table(caption, shown, more=max(0, len(found) - VECTORS))


def _proven(found: Solutions, looked: list[int], extras: Extras) -> str:
    """That of the one in the middle: each has its own."""
    i, what = looked[len(looked) // 2], extras.words[0]
    said = f"Each {what} has a certificate of its own. This is that of {shell.cut(extras.col(i))}, in the middle above."
    return shell.paragraphs(said) + proven.told(found[i].certificate)
