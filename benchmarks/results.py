"""What the rows of a case say together: values over draws, limits worked out, bars judged."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from benchmarks.records import FIGURES, Bar, Case, Each, Limit, Over, Part, Row

NO_RIVALS = ("fewatoms", "truth", "floor")  # to ourselves, where everybody else is asked for


@dataclass
class Results:
    """Rows as they come."""

    rows: list[Row] = field(default_factory=list)

    def of(self, case: str, who: str = "*") -> list[Row]:
        return [r for r in self.rows if r.case == case and (r.who == who or _named(r.who, who))]

    def names(self, case: str, pattern: str = "*") -> list[str]:
        return list(dict.fromkeys(r.who for r in self.of(case, pattern)))

    def values(self, case: str, who: str, figure: str) -> list[float]:
        """One for each draw that has it, in their order; of `cpu` the middle over the repetitions."""
        rows = [r for r in self.of(case) if r.who == who]
        if figure == "cpu":
            return [statistics.median(r.cpu) for r in rows if r.cpu]
        return [r.figures[figure] for r in rows if figure in r.figures]

    def each(self, case: str, who: str, figure: str) -> dict[tuple[int, int], float]:
        """One for each fit, by its draw and its place there."""
        found = {}
        for r in self.of(case):
            if r.who == who and figure in r.figures:
                values = r.series.get(figure, (r.figures[figure],))
                found |= {(r.seed, i): value for i, value in enumerate(values)}
        return found

    def value(self, case: str, who: str, figure: str, over: Over | float | None = None) -> float:
        return together(self.values(case, who, figure), FIGURES[figure].over if over is None else over)

    def spread(self, case: str, who: str) -> float:
        """Half of the range of the CPU seconds, over the middle: of repetitions, of draws where there are none."""
        rows = [r for r in self.of(case) if r.who == who and r.cpu]
        if not rows:
            return math.nan
        ranges = [_half_range(r.cpu) for r in rows if len(r.cpu) > 1]
        if ranges:
            return statistics.median(ranges)
        return _half_range([r.cpu[0] for r in rows]) if len(rows) > 1 else math.nan

    def rivals(self, case: str, pattern: str, but: str = "") -> list[str]:
        """All of these names; where everybody is asked for, those who compete."""
        names = [n for n in self.names(case, pattern) if n != but]
        return [n for n in names if not n.startswith(NO_RIVALS)] if pattern == "*" else names

    def limit(self, case: str, figure: str, limit: Limit, *, but: str = "") -> tuple[float, str]:
        """A limit in numbers, and whose it is; NaN where there is no rival to compare with."""
        if limit.value is not None:
            return limit.value, ""
        compared = limit.figure or figure
        rivals = self.rivals(case, limit.rival, but)
        if limit.among is not None:
            name, most = limit.among
            rivals = [n for n in rivals if self.value(case, n, name) <= most]
        by = limit.by or compared
        sign = -1 if FIGURES[by].better == "more" else 1
        ranked = {n: sign * self.value(case, n, by) for n in rivals}
        known = {n: v for n, v in ranked.items() if not math.isnan(v)}
        if not known:
            return math.nan, ""
        best = min(known, key=known.__getitem__)
        return max(limit.times * self.value(case, best, compared) + limit.plus, limit.floor), best


def _named(name: str, pattern: str) -> bool:
    return any(fnmatchcase(name, one) for one in pattern.split("|"))


def _half_range(numbers: Sequence[float]) -> float:
    middle = statistics.median(numbers)
    return (max(numbers) - min(numbers)) / 2 / middle if middle > 0 else math.nan


def together(values: Sequence[float], over: Over | float) -> float:
    if not values:
        return math.nan
    if isinstance(over, float):
        return float(np.quantile(values, over, method="inverted_cdf"))
    if over == "last":
        return values[-1]
    how = {"median": statistics.median, "mean": statistics.fmean, "max": max, "min": min}[over]
    return float(how(values))


@dataclass(frozen=True)
class Verdict:
    """A bar, judged; `met` is None where there is nobody to compare with."""

    case: str
    what: str
    value: float
    limit: float
    at_least: bool
    met: bool | None


def judged(case: Case, bar: Bar, results: Results) -> Verdict | None:
    """None where nobody of that name was asked."""
    if bar.who not in results.names(case.name):
        return None
    if bar.paired:
        mine = results.values(case.name, bar.who, bar.figure)
        theirs = results.values(case.name, bar.limit.rival, bar.figure)
        pairs = list(zip(mine, theirs, strict=False))
        value = max((a - b for a, b in pairs), default=math.nan) if theirs else math.nan
        return _verdict(case.name, f"{bar.who}: {bar.figure} beyond {bar.limit.rival}'s", value, 0.0, bar, bool(theirs))
    limit, rival = results.limit(case.name, bar.figure, bar.limit, but=bar.who)
    value = results.value(case.name, bar.who, bar.figure, bar.over)
    what = f"{bar.who}: {bar.figure}{f', quantile {bar.over:g}' if isinstance(bar.over, float) else ''}"
    if bar.limit.value is None:
        what += f", {'at least' if bar.at_least else 'at most'} {bar.limit.words(rival)}"
    return _verdict(case.name, what, value, limit, bar, not math.isnan(limit))


def _verdict(case: str, what: str, value: float, limit: float, bar: Bar, comparable: bool) -> Verdict:
    """A value that is missing misses the bar; a rival that is missing leaves it open."""
    met = not math.isnan(value) and (value >= limit if bar.at_least else value <= limit)
    return Verdict(case, what, value, limit, bar.at_least, met if comparable else None)


def judged_each(case: Case, demand: Each, results: Results) -> list[Verdict]:
    """The largest excess over the best of the rivals, and how often there is one; nothing where nobody was asked."""
    if demand.who not in results.names(case.name):
        return []
    theirs: dict[tuple[int, int], float] = {}
    for rival in results.rivals(case.name, demand.rival, demand.who):
        for place, value in results.each(case.name, rival, demand.figure).items():
            theirs[place] = min(value, theirs.get(place, math.inf))
    theirs = {place: value for place, value in theirs.items() if math.isfinite(value)}
    mine = results.each(case.name, demand.who, demand.figure)
    excess = [
        max(mine.get(place, math.nan), demand.floor) / max(value, demand.floor) - 1 if value or demand.floor else 0.0
        for place, value in theirs.items()
    ]
    excess = [math.inf if math.isnan(e) else e for e in excess]  # no answer is the worst
    whose = "the best peer" if demand.rival == "*" else demand.rival
    words = f"{demand.who}: {demand.figure} beyond {whose}'s in each of {len(excess)}"
    count = sum(e > demand.rounding for e in excess)

    def verdict(what: str, value: float, limit: float) -> Verdict:
        return Verdict(case.name, f"{words}, {what}", value, limit, False, value <= limit if excess else None)

    found = [verdict("largest, relative", max(excess, default=math.nan), demand.most)]
    if demand.share is not None:
        found.append(verdict("share", count / len(excess) if excess else math.nan, demand.share))
    return found


def _ratio(part: Part, bar: Bar, results: Results, quick: bool) -> Verdict | None:
    """Over all cases; one that failed makes the mean unknown."""
    logs = []
    for case in part.shown(quick):
        limit, _ = results.limit(case.name, bar.figure, Limit(rival=bar.limit.rival, by=bar.limit.by), but=bar.who)
        if bar.who in results.names(case.name) and limit > 0:
            value = results.value(case.name, bar.who, bar.figure)
            logs.append(math.log(max(value, 1e-300) / limit) if not math.isnan(value) else math.nan)
    if not any(bar.who in results.names(case.name) for case in part.shown(quick)):
        return None
    whose = "the best peer's" if bar.limit.rival == "*" else f"the best's of {bar.limit.rival.replace('|', ', ')}"
    what = f"{bar.who}: {bar.figure} over {whose}, geometric mean"
    return _verdict("all together", what, math.exp(statistics.fmean(logs)) if logs else math.nan, bar.limit.times, bar,
                    bool(logs))  # fmt: skip


def verdicts(part: Part, results: Results, quick: bool) -> list[Verdict]:
    found: list[Verdict | None] = []
    for case in part.shown(quick):
        if results.of(case.name):
            found += [judged(case, bar, results) for bar in case.bars if not (bar.full and quick)]
            found += [verdict for demand in case.each for verdict in judged_each(case, demand, results)]
    for bar in part.totals:
        mine, theirs = (total(results, who, bar.figure) for who in (bar.who, bar.limit.rival))
        if not math.isnan(mine):
            what = f"{bar.who}: sum of {bar.figure}, at most {bar.limit.words()}"
            found.append(_verdict("all together", what, mine, bar.limit.times * theirs, bar, not math.isnan(theirs)))
    found += [_ratio(part, bar, results, quick) for bar in part.ratios if not (bar.full and quick)]
    for demand in part.slopes:
        value = slope(results, part.shown(quick), demand.axis, demand.who, demand.since)
        if not math.isnan(value):
            since = f" from {demand.since:g} on" if demand.since else ""
            what = f"{demand.who}: slope of CPU seconds against {demand.axis}{since}"
            found.append(Verdict("all together", what, value, demand.limit, False, value <= demand.limit))
    return [v for v in found if v is not None]


def total(results: Results, who: str, figure: str) -> float:
    """Over all cases; one that failed makes the sum unknown, not small."""
    cases = dict.fromkeys(r.case for r in results.rows)
    return float(sum(results.value(case, who, figure) for case in cases)) if cases else math.nan


def slope(results: Results, cases: Iterable[Case], axis: str, who: str, since: float = 0.0) -> float:
    """Of the straight line through the points on paper with two logarithmic axes."""
    points = [
        (math.log(c.at[1]), math.log(seconds))
        for c in cases
        if c.at and c.at[0] == axis and c.at[1] >= since and (seconds := results.value(c.name, who, "cpu")) > 0
    ]
    return float(np.polyfit(*np.transpose(points), 1)[0]) if len(points) > 1 else math.nan
