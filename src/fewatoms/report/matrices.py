"""Matrices in a report: singular values, cells known and filled in, residuals; parts of a sum, frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import FloatArray, IntArray
from fewatoms.drawn.decomposition import Decomposition, titles_of
from fewatoms.drawn.grids import Grid, scale
from fewatoms.drawn.matrix import Matrix
from fewatoms.report import cells, plots, png, shell
from fewatoms.report.plots import Series, told
from fewatoms.report.shell import Column, name

if TYPE_CHECKING:
    from fewatoms.report.extras import Extras
    from fewatoms.solution import Solution

LISTED_ENTRIES = 100  # of a part that are listed
LISTED_VALUES = 12  # singular values of a part


def matrix(found: Solution, extras: Extras) -> str:
    """All pictures of a matrix of low rank."""
    drawn = Matrix.of(found)
    if not drawn.singular.size:
        return shell.paragraphs("The matrix is zero.")
    p, q = drawn.fitted.shape
    label = f"{drawn.singular.size} singular values, from {told(drawn.singular.max())} to {told(drawn.singular.min())}"
    values = plots.bars(drawn.singular, "number", "singular value", label=label)
    known, ends = drawn.known, scale(drawn.fitted, *([] if drawn.known is None else [drawn.known]))
    pictures = []
    if known is not None:
        share = f"{drawn.entries} of {p * q} entries are known ({drawn.entries / (p * q):.1%})."
        pictures.append(_cells(known, ends, "known", f"The data. {share}", extras))
    pictures.append(_cells(drawn.fitted, ends, "fitted", "The matrix that was found, filled in everywhere.", extras))
    if drawn.left is not None:
        pictures.append(_cells(drawn.left, scale(drawn.left), "left", "What the fit leaves of the data.", extras))
    side = f'<div class="side">{"".join(pictures)}</div>'
    film = "" if extras.frame is None else frames(Decomposition.of(found), extras.frame, extras)
    return shell.figure(values, "Singular values of the matrix, largest first.") + side + film + _worst(drawn, extras)


def _cells(grid: Grid, ends: tuple[float, float], slug: str, caption: str, extras: Extras) -> str:
    p, q = grid.shape
    down, across = grid.step
    means = f" Each cell is the mean of up to {down} x {across} entries." if down * across > 1 else ""
    picture = cells.heat(
        grid, ends, slug, across=f"{q} columns", up=f"{p} rows", label=f"{caption} {p} x {q} cells",
        rows=extras.rows, cols=extras.cols,
    )  # fmt: skip
    return shell.figure(picture, caption + means)


def _worst(drawn: Matrix, extras: Extras) -> str:
    worst = drawn.worst
    if not worst:
        return ""
    most = max(abs(one.data - one.fit) for one in worst)
    left = [one.data - one.fit for one in worst]
    columns = [
        shell.labels("row", [extras.row(one.row) for one in worst]),
        shell.labels("column", [extras.col(one.col) for one in worst]),
        Column("", [plots.bar(value, most) for value in left]),
        Column("residual", [told(value) for value in left], left),
        Column("data", [told(one.data) for one in worst], [one.data for one in worst]),
        Column("fit", [told(one.fit) for one in worst], [one.fit for one in worst]),
    ]
    return shell.table(f"The entries with the largest residuals{extras.counted}", columns)


# Parts of a sum ------------------------------------------------------------------------------------------------------


def decomposition(found: Solution, extras: Extras) -> str:
    """Data and parts: frames with a slider where columns are pictures, cells of matrices, curves of signals."""
    drawn = Decomposition.of(found)
    if drawn.matrices[0].ndim != 2:
        return _signals(drawn)
    if extras.frame is not None:
        return frames(drawn, extras.frame, extras)
    pictures = [
        _cells(grid, ends, f"part{i}", f"{shell.capital(title)}.", extras)
        for i, (title, grid, ends) in enumerate(zip(drawn.titles, drawn.grids, drawn.scales(), strict=True))
    ]
    return f'<div class="side">{"".join(pictures)}</div>'


def listed_parts(found: Solution, extras: Extras) -> str:
    """The parts in numbers, folded where they are many: singular values, entries by their places; nothing where a part
    is of another kind."""
    told_ = []
    for title, part in zip(titles_of(found), found.parts, strict=True):
        called = shell.capital(title)
        values = np.asarray(part.coefficients, dtype=np.float64)
        if part.compact[0].spans() is None and values.ndim == 1:
            sizes = ", ".join(told(v) for v in np.abs(values[:LISTED_VALUES]).tolist())
            more = ", ..." if values.size > LISTED_VALUES else ""
            told_.append(shell.paragraphs(f"{called}: singular values {sizes}{more}."))
        elif part.indices.ndim == 2:
            table = _entries(part.indices, values, extras)
            told_.append(shell.folded(f"{called}: the largest of them", table))
        else:
            return ""
    return "".join(told_)


def _entries(places: IntArray, values: FloatArray, extras: Extras) -> str:
    """The largest entries of a matrix; where columns are frames, by frame, row and column."""
    order = np.argsort(-np.abs(values), kind="stable")[:LISTED_ENTRIES]
    (rows, cols), values_ = places[order].T, values[order]
    if extras.frame is None:
        where = [
            shell.labels("row", [extras.row(i) for i in rows.tolist()]),
            shell.labels("column", [extras.col(j) for j in cols.tolist()]),
        ]
    else:
        down, across = (v + extras.first for v in np.divmod(rows, extras.frame[1]))
        where = [
            shell.labels("frame", [extras.col(j) for j in cols.tolist()]),
            shell.labels("row", down.tolist()),
            shell.labels("column", across.tolist()),
        ]
    bars = [plots.bar(v, float(np.abs(values_).max(initial=0.0))) for v in values_.tolist()]
    told_ = Column("value", [told(v) for v in values_.tolist()], values_.tolist())
    some = f"the {LISTED_ENTRIES} largest of {values.size}" if values.size > LISTED_ENTRIES else "largest first"
    return shell.table(f"Entries, {some}{extras.counted}", [*where, Column("", bars), told_])


def _signals(drawn: Decomposition) -> str:
    curves = []
    for i, (title, values) in enumerate(zip(drawn.titles, drawn.matrices, strict=True)):
        x, y = plots.thinned(np.ravel(values))
        curves.append(Series(x, y, title, 7 if title == "data" else i % plots.KINDS, "dash" if title == "data" else ""))
    picture = plots.curves(curves, "entry", "value", label=f"Data and {len(curves) - 1} parts of them")
    return shell.figure(picture, "The data, and the parts that they are the sum of.")


def frames(drawn: Decomposition, shape: tuple[int, int], extras: Extras) -> str:
    """Some frames, each with its parts side by side; a slider goes through them."""
    some = drawn.frames(shape)
    ends = drawn.shades([[parts[j] for _, parts in some] for j in range(len(drawn.titles))])
    values = [extras.frame_name(number) for number, _ in some]
    steps = []
    for value, (_, parts) in zip(values, some, strict=True):
        pictures = [
            _frame(part, ends[j], f"{drawn.titles[j]}, {value}", few=drawn.few[j]) for j, part in enumerate(parts)
        ]
        steps.append(f'<div class="step"><h3>{name(value)}</h3><div class="side">{"".join(pictures)}</div></div>')
    control = shell.slider("frames", "Frame", values, 0)
    total = drawn.matrices[0].shape[1]
    spread = f"{len(some)} of {total} frames, evenly spread" if len(some) < total else f"{total} frames"
    counted = ", counted from 0" if extras.cols is None else ""
    said = "Data and parts have one scale from dark to light; few entries are orange below 0 and blue above."
    return f'{shell.paragraphs(f"{spread}{counted}. {said}")}<div data-steps="frames">{control}{"".join(steps)}</div>'


def _frame(pixels: FloatArray, ends: tuple[float, float], label: str, *, few: bool) -> str:
    height, width = pixels.shape
    picture = png.uri(png.colours(pixels, *ends, png.DIVERGING if few else png.SHADES))
    image = f'<img class="pixels" src="{picture}" width="{width}" height="{height}" alt="{shell.text(label)}">'
    return shell.figure(image, f"{label} ({told(ends[0])} to {told(ends[1])})")
