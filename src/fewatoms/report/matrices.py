"""Matrices in a report: singular values, cells known and filled in, residuals; parts of a sum, frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.drawn.decomposition import Decomposition
from fewatoms.drawn.grids import Grid, scale
from fewatoms.drawn.matrix import Matrix
from fewatoms.report import plots, png, shell
from fewatoms.report.plots import Series, told
from fewatoms.report.shell import Column, name

if TYPE_CHECKING:
    from fewatoms.report.extras import Extras
    from fewatoms.solution import Solution


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
        pictures.append(_cells(known, ends, "known", f"The data. {share}"))
    pictures.append(_cells(drawn.fitted, ends, "fitted", "The matrix that was found, filled in everywhere."))
    if drawn.left is not None:
        pictures.append(_cells(drawn.left, scale(drawn.left), "left", "What the fit leaves of the data."))
    side = f'<div class="side">{"".join(pictures)}</div>'
    film = "" if extras.frame is None else frames(Decomposition.of(found), extras.frame, extras)
    return shell.figure(values, "Singular values of the matrix, largest first.") + side + film + _worst(drawn, extras)


def _cells(grid: Grid, ends: tuple[float, float], slug: str, caption: str) -> str:
    p, q = grid.shape
    down, across = grid.step
    means = f" Each cell is the mean of up to {down} x {across} entries." if down * across > 1 else ""
    picture = plots.heat(grid, ends, slug, across=f"{q} columns", up=f"{p} rows", label=f"{caption} {p} x {q} cells")
    return shell.figure(picture, caption + means)


def _worst(drawn: Matrix, extras: Extras) -> str:
    worst = drawn.worst
    if not worst:
        return ""
    most = max(abs(one.data - one.fit) for one in worst)
    rows, cols = [shell.cut(extras.row(one.row)) for one in worst], [shell.cut(extras.col(one.col)) for one in worst]
    left = [one.data - one.fit for one in worst]
    columns = [
        Column("row", [name(row) for row in rows], rows, words=True),
        Column("column", [name(col) for col in cols], cols, words=True),
        Column("", [plots.bar(value, most) for value in left]),
        Column("residual", [told(value) for value in left], left),
        Column("data", [told(one.data) for one in worst], [one.data for one in worst]),
        Column("fit", [told(one.fit) for one in worst], [one.fit for one in worst]),
    ]
    return shell.table("The entries with the largest residuals", columns)


# Parts of a sum ------------------------------------------------------------------------------------------------------


def decomposition(found: Solution, extras: Extras) -> str:
    """Data and parts: frames with a slider where columns are pictures, cells of matrices, curves of signals."""
    drawn = Decomposition.of(found)
    if drawn.matrices[0].ndim != 2:
        return _signals(drawn)
    if extras.frame is not None:
        return frames(drawn, extras.frame, extras)
    grids = drawn.grids
    pictures = []
    for i, (title, grid) in enumerate(zip(drawn.titles, grids, strict=True)):
        entries = grid.values[grid.values != 0] if "few entries" in title else grid.values
        pictures.append(_cells(grid, scale(entries), f"part{i}", f"{title[0].upper()}{title[1:]}."))
    return f'<div class="side">{"".join(pictures)}</div>'


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
    ends = [_ends(drawn.titles[j], [parts[j] for _, parts in some]) for j in range(len(drawn.titles))]
    steps = []
    for number, parts in some:
        pictures = [
            _frame(part, ends[j], f"{drawn.titles[j]}, frame {extras.col(number)}") for j, part in enumerate(parts)
        ]
        title = f"<h3>Frame {name(extras.col(number))}</h3>"
        steps.append(f'<div class="step">{title}<div class="side">{"".join(pictures)}</div></div>')
    values = [f"frame {extras.col(number)}" for number, _ in some]
    control = shell.slider("frames", "Frame", values, 0)
    total = drawn.matrices[0].shape[1]
    spread = f"{len(some)} of {total} frames, evenly spread." if len(some) < total else f"{total} frames."
    return f'{shell.paragraphs(spread)}<div data-steps="frames">{control}{"".join(steps)}</div>'


def _ends(title: str, parts: list[FloatArray]) -> tuple[float, float]:
    """One scale for all frames of a part: of few entries, of those that are there."""
    values = np.concatenate([np.ravel(part) for part in parts])
    if "few entries" in title:
        most = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        return -most, most
    return scale(values)


def _frame(cells: FloatArray, ends: tuple[float, float], label: str) -> str:
    anchors = png.DIVERGING if ends[0] == -ends[1] else png.SHADES
    height, width = cells.shape
    picture = png.uri(png.colours(cells, *ends, anchors))
    image = f'<img class="pixels" src="{picture}" width="{width}" height="{height}" alt="{shell.text(label)}">'
    return shell.figure(image, f"{label} ({told(ends[0])} to {told(ends[1])})")
