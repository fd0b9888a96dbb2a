"""Before and after: every quick row of ours with two versions of fewatoms, by turns, each in a process of its own.

For each row two workers start, one for each version, solve it once for imports, compilation and the figures, and then
again and again in turn: whatever slows the machine slows both.
"""

from __future__ import annotations

import gc
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks import data, measure
from benchmarks.records import FIGURES, Case, Limit, Part, Record, Row, Who
from benchmarks.report import number, progress, say, shown_as, table, write
from benchmarks.results import Results, together
from benchmarks.runner import Options, adapter, answered, drawn, resolved, row_of
from benchmarks.workers import ROOT, Worker

SLOWER = 0.05  # what is let pass, beyond the spread
WORSE = 1e-4  # relative, of a figure
BLINK = 1e-4  # CPU seconds; differences below it are the clock's
LONG = 0.03  # CPU seconds; shorter fits are run several times in a turn
OFTEN = 15  # but not more often than this


# In the workers


def version() -> tuple[str, str]:
    import fewatoms

    return fewatoms.__version__, str(Path(fewatoms.__file__).resolve().parents[1])


def again(part: Part, case: Case, who: Who, seeds: Sequence[int], options: Options) -> float | str:
    """CPU seconds for all draws once more, of each the middle over the repetitions of this turn."""
    gc.freeze()  # what is loaded by now stays: collecting before each fit costs more than a short one
    seconds = 0.0
    for seed in seeds:
        row = answered(part, case, who, seed, options)
        if row.note:
            return row.note
        seconds += statistics.median(row.cpu)
    return seconds


# Here


@dataclass(frozen=True)
class Side:
    """What one version did with a row: seconds of all draws, once per repetition, and figures over the draws."""

    seconds: tuple[float, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def middle(self) -> float:
        return statistics.median(self.seconds) if self.seconds else math.nan

    @property
    def spread(self) -> float:
        """Half of the range between the quarters; of few runs, half of the range."""
        if len(self.seconds) < 2:
            return 0.0
        if len(self.seconds) < 5:
            return (max(self.seconds) - min(self.seconds)) / 2
        first, _, third = statistics.quantiles(self.seconds, n=4)
        return (third - first) / 2


@dataclass(frozen=True)
class Compared:
    part: str
    case: str
    who: str
    before: Side
    after: Side

    @property
    def ratio(self) -> float:
        return self.after.middle / self.before.middle if self.before.middle > 0 else math.nan

    def flags(self) -> list[str]:
        """What got worse, in words."""
        if self.after.note:
            return [f"{self.after.note}" + ("" if not self.before.note else " (before too)")]
        if self.before.note:
            return []
        found = []
        spread = self.before.spread + self.after.spread
        if self.after.middle > (1 + SLOWER) * self.before.middle + spread + BLINK:
            found.append(f"slower: {self.ratio:.2f}")
        for name, was in self.before.figures.items():
            now, figure = self.after.figures.get(name, math.nan), FIGURES[name]
            if worse(name, was, now):
                words = "more products" if name == "products" else f"worse {name}"
                found.append(f"{words}: {shown_as(name, was)} -> {shown_as(name, now)}{' %' if figure.percent else ''}")
        return found

    def plain(self) -> Record:
        sides = {
            f"{label} {name}": value
            for label, side in (("before", self.before), ("after", self.after))
            for name, value in {
                "cpu": list(side.seconds), "note": side.note, **side.figures
            }.items()
        }  # fmt: skip
        flags = "; ".join(self.flags())
        return {"part": self.part, "case": self.case, "who": self.who, "ratio": self.ratio, "flags": flags, **sides}


def worse(name: str, was: float, now: float) -> bool:
    figure = FIGURES[name]
    if not figure.better or math.isnan(was):
        return False
    if math.isnan(now):
        return True
    if figure.better == "more":
        return now < was - WORSE * abs(was) - figure.floor
    return now > was + WORSE * abs(was) + figure.floor


def compare(before: Path, options: Options, parts: Sequence[Part], out: str | None) -> None:
    """Print a table per part, and at the end everything that got worse."""
    sources = before / "src", ROOT / "src"
    versions = [_version(source) for source in sources]
    say(f"before: fewatoms {versions[0]} in {before}; after: {versions[1]}, here.")
    say(
        f"CPU seconds: the middle of {options.repeat or 7} runs, by turns; +-: half of the range between the "
        "quarters, of fewer than five runs half of the whole range."
    )
    rows: list[Compared] = []
    for part in parts:
        mine = list(_part(part, options, sources))
        rows += mine
        if mine:
            say(f"\n{part.name}: {part.title}")
            _table(mine)
    flagged = [(row, flags) for row in rows if (flags := row.flags())]
    _total(rows)
    say(f"\n{len(rows)} rows; {len(flagged)} with something worse{':' if flagged else '.'}")
    for row, flags in flagged:
        say(f"  {row.part}, {row.case}, {row.who}: {'; '.join(flags)}")
    if out:
        facts = {"machine": measure.machine(), "versions": versions, "settings": {"quick": options.quick}}
        write(out, {**facts, "rows": [row.plain() for row in rows]})
        say(f"Written to {out}.")


def _version(source: Path) -> str:
    """Of the package there, asked of a worker: what is compared must be what was meant."""
    found: Any = "there is none"
    if (source / "fewatoms").is_dir():
        with Worker(source) as worker:
            found = worker.ask(("version",), 120.0)
    if isinstance(found, str) or Path(found[1]) != source.resolve():
        raise SystemExit(f"no fewatoms could be imported from {source}: {found}")
    return found[0]


def _part(part: Part, options: Options, sources: tuple[Path, Path]) -> list[Compared]:
    found = []
    for case in part.shown(options.quick):
        why = data.missing(options.folder, case.files)
        if why:
            say(f"Skipped: {part.name}, {case.name}: {why}")
            continue
        for who in case.solvers(options.quick):
            if who.ours and not (options.only and who.name not in options.only):
                progress(f"{part.name}: {case.name}, {who.name}")
                found.append(compared(part, case, _worked_out(part, case, who, options), options, sources))
    progress("")
    return found


def _worked_out(part: Part, case: Case, who: Who, options: Options) -> Who:
    """With limits from the answers of whoever they ask for, found here."""
    asked = [w.rival for w in who.words.values() if isinstance(w, Limit)]
    results = Results()
    for rival in case.who:
        if rival.name in asked and adapter(rival).installed:
            results.rows.append(row_of(part, case, rival, options.first_seed, options))
    drawn.cache_clear()
    return resolved(case, who, results)


def compared(part: Part, case: Case, who: Who, options: Options, sources: tuple[Path, Path]) -> Compared:
    seeds, once = options.draws(part), replace(options, repeat=1)
    workers = [Worker(source) for source in sources]
    try:
        rows: list[list[Row | str]] = [
            [worker.ask(("answer", part.name, case.name, who, seed, once), options.timeout) for seed in seeds]
            for worker in workers
        ]
        seconds: list[list[float]] = [[], []]
        notes = [next((n for r in mine if (n := r if isinstance(r, str) else r.note)), "") for mine in rows]
        turns = replace(options, repeat=_often(rows))
        for turn in range(options.repeat or 7):
            for j in (0, 1) if turn % 2 == 0 else (1, 0):  # nobody is always the second
                if notes[j]:
                    continue
                found = workers[j].ask(("again", part.name, case.name, who, list(seeds), turns), options.timeout)
                if isinstance(found, str):
                    notes[j] = found
                else:
                    seconds[j].append(found)
    finally:
        for worker in workers:
            worker.__exit__()
    sides = [Side(tuple(s), _figures(mine), note) for s, mine, note in zip(seconds, rows, notes, strict=True)]
    return Compared(part.name, case.name, who.name, *sides)


def _often(rows: Sequence[Sequence[Row | str]]) -> int:
    """Runs of each fit in a turn: the clock and the start of a fit would decide about very short ones."""
    seconds = [sum(r.cpu) for mine in rows for r in mine if isinstance(r, Row)]
    return max(1, min(OFTEN, math.ceil(LONG / max(statistics.fmean(seconds or [LONG]), 1e-6))))


def _figures(rows: Sequence[Row | str]) -> dict[str, float]:
    found = [r.figures for r in rows if isinstance(r, Row)]
    names = [name for name in FIGURES if any(name in figures for figures in found)]
    return {n: together([f[n] for f in found if n in f], FIGURES[n].over) for n in names}


def _table(rows: Sequence[Compared]) -> None:
    cells = []
    for row in rows:
        sides: list[Any] = [row.before, row.after]
        names = [n for n in FIGURES if FIGURES[n].better and n not in ("cpu", "products") and n in sides[1].figures]
        quality = [
            " ".join(
                f"{n} {shown_as(n, side.figures[n])}{'%' if FIGURES[n].percent else ''}"
                for n in names
                if n in side.figures
            )
            for side in sides
        ]
        cells.append(
            [
                row.case, row.who,
                *(f"{number(s.middle)} +- {number(s.spread)}" if s.seconds else s.note.split(":")[0] for s in sides),
                number(row.ratio, 2),
                quality[0], "same" if quality[0] == quality[1] else quality[1],
                *(number(s.figures.get("products", math.nan)) for s in sides),
                "; ".join(f.split(":")[0] for f in row.flags()),
            ]
        )  # fmt: skip
    heads = ["case", "who", "CPU s before", "after", "ratio", "quality before", "after", "products before", "after", ""]
    table(heads, cells)


def _total(rows: Sequence[Compared]) -> None:
    both = [r for r in rows if r.before.seconds and r.after.seconds]
    if both:
        ratios = [math.log(r.ratio) for r in both]
        say(
            f"\nCPU seconds of all {len(both)} rows that both solve: {sum(r.before.middle for r in both):.2f} before, "
            f"{sum(r.after.middle for r in both):.2f} after; geometric mean of the ratios "
            f"{math.exp(statistics.fmean(ratios)):.3f}."
        )
