"""Matrices as cells in colours, inline SVG: with a scale, hatched where nothing is known, with names at their sides."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape

from fewatoms.drawn.grids import Grid
from fewatoms.report import png
from fewatoms.report.plots import chart, told, width
from fewatoms.report.shell import cut, text

SIDE = 300  # of the longer side
NAMED = 40  # rows that all have their names
PITCH = 15  # from one name to the next
LONGEST_ROW, LONGEST_COLUMN = 24, 12  # letters of names that are shown


def heat(
    grid: Grid,
    ends: tuple[float, float],
    slug: str,
    *,
    across: str,
    up: str,
    label: str,
    rows: Sequence[object] | None = None,
    cols: Sequence[object] | None = None,
    at: int | None = None,
    missing: str = "not known",
) -> str:
    """Cells with a scale below; those that are missing are hatched; names of rows and columns, as many as there is room
    for. A slider moves a frame from column to column, from the one that it stands `at`."""
    tall, wide = _sides(*grid.shape)
    tall = max(tall, PITCH * len(rows)) if rows is not None and len(rows) <= NAMED else tall
    shown = [] if rows is None else [cut(row, LONGEST_ROW) for row in rows]
    left = 40 if not shown else 28 + round(max(map(width, shown)))
    columns = [] if cols is None else _names_across(cols, left, tall, wide)
    floor = tall + (20 if columns else 4)
    anchors = png.anchors_for(*ends)
    picture = png.uri(png.colours(grid.values, *ends, anchors))
    place = f'x="{left}" y="8" width="{wide}" height="{tall}"'
    inside = [
        _hatching(slug),
        f'<rect class="hatched" {place}/><rect fill="url(#{slug}-hatch)" {place}/>',
        f'<image href="{picture}" {place} preserveAspectRatio="none" image-rendering="pixelated"/>',
        f'<rect class="frame" {place}/>',
        *_names_up(shown, left, tall),
        *columns,
        f'<text x="{left + wide / 2}" y="{floor + 20}" text-anchor="middle">{escape(across)}</text>',
        f'<text transform="translate(12 {8 + tall / 2}) rotate(-90)" text-anchor="middle">{escape(up)}</text>',
        _scale(anchors, _ends(grid, ends), slug, left, floor + 34, wide, missing if grid.missing else ""),
        "" if at is None else _here(grid.values.shape[1], at, left, tall, wide),
    ]
    return chart(label, "".join(inside), (left + wide + 20, floor + 78))


def _ends(grid: Grid, ends: tuple[float, float]) -> tuple[str, str]:
    """The ends of a scale as they stand below it: with a sign where cells lie beyond them."""
    below, above = grid.beyond(ends)
    return "≤ " * below + told(ends[0]), "≥ " * above + told(ends[1])


def _sides(p: int, q: int) -> tuple[int, int]:
    """Height and width of a picture of a matrix: in its own proportions as long as they can be seen."""
    ratio = min(max(p / q, 0.25), 1.4)
    return (round(SIDE * ratio), SIDE) if ratio <= 1 else (round(SIDE * 1.2), round(SIDE * 1.2 / ratio))


def _names_up(shown: list[str], left: int, tall: int) -> list[str]:
    """Those of the rows, or of some of them, evenly spread."""
    if not shown:
        return []
    pitch = tall / len(shown)
    return [
        f'<text class="quiet small" x="{left - 5}" y="{8 + (i + 0.5) * pitch + 4:.1f}" text-anchor="end">'
        f"{text(shown[i], LONGEST_ROW)}</text>"
        for i in range(0, len(shown), math.ceil(PITCH / pitch))
    ]


def _names_across(cols: Sequence[object], left: int, tall: int, wide: int) -> list[str]:
    """Those of the columns, if they are short."""
    shown = [cut(col) for col in cols]
    if max(map(len, shown)) > LONGEST_COLUMN:
        return []
    pitch = wide / len(shown)
    return [
        f'<text class="quiet small" x="{left + (i + 0.5) * pitch:.1f}" y="{tall + 22}" text-anchor="middle">'
        f"{text(shown[i])}</text>"
        for i in range(0, len(shown), math.ceil((max(map(width, shown)) + 6) / pitch))
    ]


def _here(cols: int, at: int, left: int, tall: int, wide: int) -> str:
    places = [[round(left + i * wide / cols, 1), 8] for i in range(cols)]
    return (
        f'<g data-marks="{json.dumps(places)}" transform="translate({places[at][0]} 8)">'
        f'<rect class="here" width="{wide / cols:.1f}" height="{tall}"/></g>'
    )


def _hatching(slug: str) -> str:
    return (
        f'<defs><pattern id="{slug}-hatch" width="5" height="5" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="5"/></pattern></defs>'
    )


def _scale(
    anchors: Sequence[tuple[int, ...]], ends: tuple[str, str], slug: str, x: int, y: int, wide: int, missing: str
) -> str:
    """The colours from the lowest to the highest number, and what hatched cells are."""
    stops = "".join(
        f'<stop offset="{i / (len(anchors) - 1):.3f}" stop-color="{png.hexadecimal(colour)}"/>'
        for i, colour in enumerate(anchors)
    )
    bar_wide = round(wide * (0.55 if missing else 0.8))
    low, high = ends
    shown = (
        f'<defs><linearGradient id="{slug}-scale">{stops}</linearGradient></defs>'
        f'<rect fill="url(#{slug}-scale)" x="{x}" y="{y}" width="{bar_wide}" height="12"/>'
        f'<text class="quiet" x="{x}" y="{y + 28}">{low}</text>'
        f'<text class="quiet" x="{x + bar_wide}" y="{y + 28}" text-anchor="end">{high}</text>'
    )
    if not missing:
        return shown
    at = x + bar_wide + 16
    return (
        f'{shown}<rect class="hatched" x="{at}" y="{y}" width="24" height="12"/>'
        f'<rect fill="url(#{slug}-hatch)" x="{at}" y="{y}" width="24" height="12"/>'
        f'<rect class="frame" x="{at}" y="{y}" width="24" height="12"/>'
        f'<text class="quiet" x="{at}" y="{y + 28}">{escape(missing)}</text>'
    )
