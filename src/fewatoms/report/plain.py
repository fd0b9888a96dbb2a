"""Reports of commands that have no answer of their own: predictions, and whatever a command prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from fewatoms._types import Array
from fewatoms.report import plots, shell
from fewatoms.report.shell import Column, Section, name

PREDICTED = 500  # predictions that are listed


def predictions(title: str, columns: Mapping[str, Array], model: Sequence[Section], notes: Sequence[str]) -> str:
    """New data as a model sees them: a picture and a table, and the model behind them."""
    numeric = {
        head: np.asarray(v, dtype=np.float64) for head, v in columns.items() if np.asarray(v).dtype.kind in "fiu"
    }
    count = len(next(iter(columns.values()), []))
    pictures = []
    for head, values in numeric.items():
        known = values[np.isfinite(values)]
        if known.size:
            shown = shell.cut(head, 60)
            label = f"{shown}: {known.size} numbers from {plots.told(known.min())} to {plots.told(known.max())}"
            picture, beyond = plots.histogram(known, shown, label=label)
            pictures.append(shell.figure(picture, label + beyond))
    listed = [_column(head, np.asarray(values)[:PREDICTED]) for head, values in columns.items()]
    rows = Column("row", [str(i + 1) for i in range(min(count, PREDICTED))], [*range(1, min(count, PREDICTED) + 1)])
    table = shell.table(
        "Predictions, row by row; the buttons sort them", [rows, *listed], more=max(0, count - PREDICTED)
    )
    said = shell.paragraphs(f"{count} rows were predicted.", *notes)
    sections = [
        Section("predictions", "Predictions", f'{said}<div class="side">{"".join(pictures)}</div>{table}'),
        *[Section(f"model-{s.slug}", f"The model: {s.title[0].lower()}{s.title[1:]}", s.inside) for s in model],
    ]
    return shell.page(title, "", sections)


def _column(head: str, values: Array) -> Column:
    if values.dtype.kind in "fiu":
        numbers = [float(v) for v in values]
        keys = [v if math.isfinite(v) else "" for v in numbers]
        return Column(head, [plots.told(v) for v in numbers], keys)
    labels = ["" if v is None else shell.cut(v) for v in values.tolist()]
    return Column(head, [name(label) for label in labels], labels, words=True)


def printed(title: str, lines: Sequence[str], table: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """What a command prints, as a page."""
    inside = shell.paragraphs(*lines, *notes) + cells(table)
    return shell.page(title, "", [Section("found", "What was found", inside)])


def cells(table: Sequence[Sequence[str]]) -> str:
    """A table of words, with its heads first; nothing where there is none."""
    if not table:
        return ""
    heads, *rows = table
    columns = [
        Column(head, [name(cell) for cell in column], [shell.cut(cell) for cell in column], words=True)
        for head, column in zip(heads, zip(*rows, strict=True), strict=True)
    ]
    return shell.table("What was found; the buttons sort it", columns, kind="plain")
