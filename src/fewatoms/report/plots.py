"""Small pictures as inline SVG: curves, bars, clouds, areas. Colours are those of the page's own style."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from unicodedata import east_asian_width

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.report.shell import name, text

WIDTH, HEIGHT = 420, 240  # of a chart, in its own units
RIGHT, TOP, BOTTOM = 12, 12, 42  # margins; that on the left is as wide as its numbers
LETTER, WIDE = 7.6, 12.0  # width of a digit, and of an M, at most, in the same units
LOG_FROM = 30  # largest over smallest height from which on a scale is logarithmic
FLAT = 1e-6  # share of heights below which they are drawn as one
OUTLYING = 1.0  # width of what nearly all numbers span, that a histogram goes beyond them on either side
KINDS = 8  # colours of curves
POINTS = 400  # of a curve that are drawn
FEW_DIGITS, ALL_DIGITS = 4, 15  # of numbers at an axis: where they are enough, and where numbers are hardly apart


def width(said: str) -> float:
    """Of a name in a chart, at most: capitals, and letters as wide as they are high, take more than digits."""
    full = sum(east_asian_width(c) in "WF" for c in said)
    wide = sum(c.isupper() or c in "mw@%…—" for c in said)
    return 2 * LETTER * full + WIDE * wide + LETTER * (len(said) - full - wide)


def told(value: float) -> str:
    """A number in few digits; nothing for none."""
    if not math.isfinite(value):
        return ""
    return f"{value:.0f}" if 9999.5 <= abs(value) < 1e7 else f"{value:.4g}"


def _at_axis(values: Sequence[float]) -> list[str]:
    """Round numbers as they stand at an axis: short, in as many digits as tell them apart."""
    tries = ([_rounded(value, digits) for value in values] for digits in range(FEW_DIGITS, ALL_DIGITS + 1))
    return next((said for said in tries if len({*said}) == len(said)), [_rounded(v, ALL_DIGITS) for v in values])


def _rounded(value: float, digits: int) -> str:
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits + 2}g}"
    fraction, power = f"{value:.{digits - 1}e}".split("e")
    return f"{float(fraction):.{digits}g}e{int(power)}"


@dataclass(frozen=True, eq=False)
class Series:
    """A curve: its places, heights (nan leaves a gap), name, colour and dress ("", "dash", "dots")."""

    x: Array
    y: Array
    label: str = ""
    colour: int = 0
    dress: str = ""


@dataclass(frozen=True, eq=False)
class Frame:
    """From numbers to places in a picture."""

    x: tuple[float, float]
    y: tuple[float, float]
    logarithmic: bool = False
    size: tuple[int, int] = field(default=(WIDTH, HEIGHT))
    counts: bool = False  # whether all that lies across are whole numbers: there are none between them

    @classmethod
    def around(cls, x: Array, y: Array, *, zero: bool = False, may_be_log: bool = False) -> Frame:
        """With all numbers in it; from 0 on if that is asked for; logarithmic where heights are far apart."""
        known = y[np.isfinite(y)]
        known = known if known.size else np.zeros(1)
        low, high = float(known.min()), float(known.max())
        positive = known[known > 0]
        logarithmic = (
            may_be_log and low >= 0 and positive.size > 0 and float(positive.max()) > LOG_FROM * float(positive.min())
        )
        if logarithmic:
            ends = float(positive.min()), float(positive.max())
            return cls(_apart(x), (ends[0] / 1.3, ends[1] * 1.3), True)
        low, high = (min(0.0, low), max(0.0, high)) if zero else (low, high)
        low, high = (low, high) if high - low > FLAT * abs(high) else (low, low)
        if zero and low == high == 0:
            return cls(_apart(x), (0.0, 1.0))
        room = 0.06 * (high - low) or 0.5 * (abs(high) or 1.0)
        return cls(_apart(x), (low if zero and low == 0 else low - room, high if zero and high == 0 else high + room))

    @cached_property
    def ticks(self) -> list[float]:
        """Where the axis that goes up has numbers."""
        return _powers(*self.y) if self.logarithmic else _ticks(*self.y, 4)

    @cached_property
    def left(self) -> int:
        """The margin that those numbers and the name of the axis take."""
        return 28 + round(LETTER * max(map(len, _at_axis(self.ticks)), default=1))

    def across(self, x: Array | float) -> FloatArray:
        width = self.size[0] - self.left - RIGHT
        return self.left + (np.asarray(x, dtype=np.float64) - self.x[0]) / (self.x[1] - self.x[0]) * width

    def up(self, y: Array | float) -> FloatArray:
        values, (low, high) = np.asarray(y, dtype=np.float64), self.y
        if self.logarithmic:
            values, low, high = np.log(np.maximum(values, low)), math.log(low), math.log(high)
        height = self.size[1] - TOP - BOTTOM
        return TOP + (high - values) / (high - low) * height

    def axes(self, across: str, up: str, places: tuple[Sequence[float], Sequence[str]] | None = None) -> str:
        """Lines, numbers and names of both axes."""
        left, right, floor = self.left, self.size[0] - RIGHT, self.size[1] - BOTTOM
        drawn = []
        for value, said in zip(self.ticks, _at_axis(self.ticks), strict=True):
            y = float(self.up(value))
            drawn.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            drawn.append(f'<text class="quiet" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{said}</text>')
        values, labels = places or ((ticks := _ticks(*self.x, 5, whole=self.counts)), _at_axis(ticks))
        room = (right - left) / max(1, len(values))
        every = math.ceil((LETTER * max(map(len, labels), default=1) + 6) / room)
        for value, label in list(zip(values, labels, strict=True))[::every]:
            x = float(self.across(value))
            drawn.append(
                f'<text class="quiet" x="{x:.1f}" y="{floor + 16}" text-anchor="middle">{text(label, 24)}</text>'
            )
        drawn.append(f'<line class="axis" x1="{left}" x2="{right}" y1="{floor}" y2="{floor}"/>')
        drawn.append(
            f'<text x="{(left + right) / 2}" y="{self.size[1] - 6}" text-anchor="middle">{escape(across)}</text>'
        )
        turned = f'transform="translate(12 {(TOP + floor) / 2}) rotate(-90)"'
        drawn.append(f'<text {turned} text-anchor="middle">{escape(up)}</text>')
        return "".join(drawn)


def _apart(x: Array) -> tuple[float, float]:
    low, high = float(np.min(x)), float(np.max(x))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float, about: int, *, whole: bool = False) -> list[float]:
    """Round numbers between two ends; whole ones where it is told that all are."""
    rough = max((high - low) / about, 1.0 if whole else 0.0)
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((s * power for s in (1, 2, 5, 10)), key=lambda s: abs(s - rough))
    places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [float(f"{i * step:.14g}") + 0.0 for i in places]


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten between two ends, few of them; more where there are none."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    step = max(1, (last - first) // 4)
    powers = [10.0**i for i in range(first, last + 1, step)]
    rough = low * 1.3, math.sqrt(low * high), high / 1.3
    return powers if len(powers) > 1 else [float(f"{value:.2g}") for value in rough]


def chart(label: str, inside: str, size: tuple[int, int] = (WIDTH, HEIGHT)) -> str:
    """A picture, with what it shows for those who do not see it."""
    box = f'viewBox="0 0 {size[0]} {size[1]}"'
    return f'<svg class="chart" {box} role="img" aria-label="{text(label, 600)}">{inside}</svg>'


# Curves --------------------------------------------------------------------------------------------------------------


def curves(
    series: Sequence[Series],
    across: str,
    up: str,
    *,
    label: str,
    zero: bool = False,
    may_be_log: bool = False,
    bound: float | None = None,
    marks: tuple[Array, Array, int] | None = None,
) -> str:
    """Curves in one frame; a dashed line at a bound; a mark that a slider moves between places, and where it is."""
    xs, ys = (np.concatenate([np.ravel(s) for s in some]) for some in ([s.x for s in series], [s.y for s in series]))
    frame = Frame.around(xs, ys if bound is None else np.append(ys, bound), zero=zero, may_be_log=may_be_log)
    frame = replace(frame, counts=bool((xs == np.round(xs)).all()))
    inside = [frame.axes(across, up)]
    if bound is not None:
        y = float(frame.up(bound))
        inside.append(f'<line class="bound" x1="{frame.left}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    inside += [_curve(frame, s) for s in series]
    inside += [] if marks is None else [_marks(frame, *marks)]
    return chart(label, "".join(inside)) + keys([(s.label, s.colour, s.dress) for s in series if s.label])


def _curve(frame: Frame, s: Series) -> str:
    x, y = frame.across(s.x), frame.up(s.y)
    if s.dress == "dots":
        return "".join(
            f'<circle class="f{s.colour}" cx="{a:.1f}" cy="{b:.1f}" r="2.5"/>'
            for a, b in zip(x, y, strict=True)
            if math.isfinite(b)
        )
    known = np.isfinite(y)
    path, pen = [], "M"
    for a, b, there in zip(x, y, known, strict=True):
        if there:
            path.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L" if there else "M"
    return f'<path class="l l{s.colour} {s.dress}" d="{"".join(path)}"/>'


def _marks(frame: Frame, x: Array, y: Array, at: int) -> str:
    """A line and a dot, with all places where a slider may put them."""
    across, up = frame.across(x), frame.up(y)
    lines = [[round(float(a), 1), 0] for a in across]
    dots = [[round(float(a), 1), round(float(b), 1)] for a, b in zip(across, up, strict=True)]
    floor = HEIGHT - BOTTOM
    return (
        f'<g data-marks="{json.dumps(lines)}" transform="translate({lines[at][0]} 0)">'
        f'<line class="here" x1="0" x2="0" y1="{TOP}" y2="{floor}"/></g>'
        f'<g data-marks="{json.dumps(dots)}" transform="translate({dots[at][0]} {dots[at][1]})">'
        '<circle class="here" r="5"/></g>'
    )


def keys(labels: Sequence[tuple[str, int, str]]) -> str:
    """Which colour is what; nothing where there is one alone."""
    if len(labels) < 2:
        return ""
    lines = [
        f'<li><svg viewBox="0 0 36 12" aria-hidden="true">{_key(colour, dress)}</svg>{name(label)}</li>'
        for label, colour, dress in labels
    ]
    return f'<ul class="keys">{"".join(lines)}</ul>'


def _key(colour: int, dress: str) -> str:
    if dress == "dots":
        return f'<circle class="f{colour}" cx="18" cy="6" r="4"/>'
    if dress == "wash":
        return f'<rect class="f{colour} wash" width="36" height="12"/>'
    return f'<line class="l l{colour} {dress}" x1="0" x2="36" y1="6" y2="6"/>'


def stack(x: Array, base: Array, parts: Array, labels: Sequence[str], data: Array, *, across: str, label: str) -> str:
    """What each part adds, one on the other, with the data as a curve above."""
    tops = np.concatenate([base[None], base + np.cumsum(parts, axis=0)])
    frame = Frame.around(x, np.concatenate([tops.ravel(), data]), zero=True)
    inside = [frame.axes(across, "data")]
    for i in range(len(parts)):
        low, high = frame.up(tops[i]), frame.up(tops[i + 1])
        there = [f"{a:.1f} {b:.1f}" for a, b in zip(frame.across(x), high, strict=True)]
        back = [f"{a:.1f} {b:.1f}" for a, b in zip(frame.across(x)[::-1], low[::-1], strict=True)]
        inside.append(f'<path class="f{i % KINDS} wash" d="M{"L".join([*there, *back])}Z"/>')
    inside.append(_curve(frame, Series(x, data, "data", 7)))
    known = [(str(part), i % KINDS, "wash") for i, part in enumerate(labels)]
    return chart(label, "".join(inside)) + keys([("data", 7, ""), *known])


def thinned(values: Array, points: int = POINTS) -> tuple[FloatArray, FloatArray]:
    """A long curve as means of neighbours: places and heights (along the last axis)."""
    step = -(-values.shape[-1] // points)
    starts = np.arange(0, values.shape[-1], step)
    counts = np.diff(np.append(starts, values.shape[-1]))
    return starts + (counts - 1) / 2, np.add.reduceat(values, starts, axis=-1) / counts


# Bars ----------------------------------------------------------------------------------------------------------------


def bars(
    heights: Array, across: str, up: str, *, label: str, edges: Array | None = None, may_be_log: bool = False
) -> str:
    """A bar for each number, counted from 1, or between edges."""
    count = len(heights)
    ends = np.arange(count + 1) + 0.5 if edges is None else np.asarray(edges)
    frame = Frame.around(ends, np.asarray(heights), zero=True, may_be_log=may_be_log)
    if frame.logarithmic:
        frame = Frame(frame.x, (frame.y[0] / 2, frame.y[1]), True)
    floor = float(frame.up(max(0.0, frame.y[0])))
    gap = 0.15 if edges is None else 0.02
    inside = []
    for i, height in enumerate(heights):
        a, b = (float(v) for v in frame.across(ends[i : i + 2]))
        top = float(frame.up(height))
        width, low = (1 - 2 * gap) * (b - a), max(floor, top)
        inside.append(
            f'<rect class="f0" x="{a + gap * (b - a):.1f}" y="{min(floor, top):.1f}" width="{width:.1f}" '
            f'height="{low - min(floor, top):.1f}"/>'
        )
    step = max(1, count // 8)
    counted = list(range(1, count + 1, step))
    places = None if edges is not None else (counted, [str(i) for i in counted])
    return chart(label, frame.axes(across, up, places) + "".join(inside))


def histogram(values: Array, across: str, *, label: str) -> tuple[str, str]:
    """How many numbers are where; a few that lie far out would squash all others, and are told of instead."""
    known = values[np.isfinite(values)]
    low, high = np.quantile(known, [0.01, 0.99])
    room = OUTLYING * (high - low) or np.inf
    inside = known[(known >= low - room) & (known <= high + room)]
    counts, edges = np.histogram(inside, bins=min(30, max(5, round(math.sqrt(inside.size)))), range=_wide(inside))
    beyond = known.size - inside.size
    ends = f"{told(float(known.min()))} to {told(float(known.max()))}"
    said = f"; {beyond} far out {'is' if beyond == 1 else 'are'} not drawn: all range from {ends}" if beyond else ""
    return bars(counts, across, "how many", label=label, edges=edges), said


def _wide(values: Array) -> tuple[float, float]:
    """The ends of numbers, apart by more than rounding: bins in between would be none."""
    low, high = float(values.min()), float(values.max())
    room = 0.0 if high - low > FLAT * max(abs(low), abs(high)) else 0.5 * (abs(high) or 1.0)
    return low - room, high + room


def bar(value: float, most: float) -> str:
    """One number as a bar to the left or right of 0, for a cell of a table."""
    width = 50 * abs(value) / most if most > 0 and math.isfinite(value) else 0.0
    side = "minus" if value < 0 else "plus"
    return (
        '<svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{side}" x="{50 - width if value < 0 else 50:.1f}" y="1" width="{width:.1f}" height="10"/>'
        '<line class="zero" x1="50" x2="50" y1="0" y2="12"/></svg>'
    )


def cloud(points: Array, *, label: str) -> str:
    """Complex numbers in their plane, of one scale on both axes."""
    reach = float(np.abs(np.concatenate([points.real, points.imag])).max(initial=0.0)) * 1.08 or 1.0
    room = WIDTH - Frame((-reach, reach), (-reach, reach)).left - RIGHT
    wide = room / (HEIGHT - TOP - BOTTOM) * reach
    frame = Frame((-wide, wide), (-reach, reach))
    inside = frame.axes("real part", "imaginary part") + _curve(frame, Series(points.real, points.imag, "", 0, "dots"))
    return chart(label, inside)
