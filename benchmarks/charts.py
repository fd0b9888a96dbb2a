"""Pictures of where we stand, as SVG written here: the same numbers give the same file, byte for byte."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from benchmarks.standing import Compared

COLOURS = {"ours": "#0b6fa4", "equal": "#8a8a8a", "peer": "#c1440e", "peer, but worse": "#e2a98f"}
WORDS = {
    "ours": "ours is better", "equal": "no difference", "peer": "a peer is better",
    "peer, but worse": "a faster peer, whose answer is worse",
}  # fmt: skip
LEFT, RIGHT, LINE, TOP, WIDTH = 170, 20, 22, 64, 860
ENDS = 100.0  # ratios beyond this are drawn at the rim


def dots(title: str, found: Sequence[Compared]) -> str:
    """One line for each part, one dot for each case: ours over the best peer's, on a logarithmic scale."""
    parts = list(dict.fromkeys(f.part for f in found))
    height = TOP + LINE * len(parts) + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title)}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>',
        *_legend(found),
        *_axis(TOP, TOP + LINE * len(parts)),
    ]
    for i, part in enumerate(parts):
        y = TOP + LINE * i + LINE / 2
        lines.append(f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(part)}</text>')
        lines += [_dot(f, y) for f in found if f.part == part]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _legend(found: Sequence[Compared]) -> list[str]:
    there = [kind for kind in COLOURS if any(f.outcome == kind for f in found)]
    marks = []
    for i, kind in enumerate(there):
        x = LEFT + 5 + 150 * i
        marks.append(f'<circle cx="{x}" cy="38" r="4" fill="{COLOURS[kind]}"/>')
        marks.append(f'<text x="{x + 9}" y="42" fill="#333">{WORDS[kind]}</text>')
    return marks


def _axis(top: float, bottom: float) -> list[str]:
    lines = []
    for ratio in (0.01, 0.1, 1.0, 10.0, 100.0):
        x, strong = _place(ratio), ratio == 1.0
        lines.append(
            f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="{"#555" if strong else "#ddd"}"/>'
        )
        lines.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{ratio:g}</text>')
    lines.append(
        f'<text x="{_place(1.0):.1f}" y="{bottom + 32}" text-anchor="middle" fill="#333">'
        "ours over the best peer&#8217;s: to the left of 1 ours is better</text>"
    )
    return lines


def _place(ratio: float) -> float:
    inside = min(max(ratio, 1 / ENDS), ENDS)
    return LEFT + (WIDTH - LEFT - RIGHT - 20) * (math.log10(inside) / math.log10(ENDS) + 1) / 2 + 10


def _dot(f: Compared, y: float) -> str:
    told = f"{f.part}, {f.case}, {f.figure}: {f.who} beside {f.peer}"
    return (
        f'<circle cx="{_place(f.ratio):.1f}" cy="{y:.1f}" r="4" fill="{COLOURS[f.outcome]}" fill-opacity="0.75">'
        f"<title>{escape(told)}</title></circle>"
    )
