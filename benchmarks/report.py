"""One report for all: a table per part, its bars, and a file with every row."""

from __future__ import annotations

import csv
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import kept, measure
from benchmarks.measure import load
from benchmarks.records import ABSENT, FIGURES, Part, Record
from benchmarks.results import Results, Verdict, slope, verdicts

KEPT = ("quick", "seeds", "first_seed", "repeat", "spend", "timeout")  # settings that a file tells of
ASIDE = ("cpu", "products")  # figures with a column of their own


class Report:
    """Prints tables and bars as they come, and keeps everything for the file."""

    def __init__(self, settings: Record) -> None:
        facts, versions = measure.machine(), measure.versions()
        self.settings, self.parts = settings, dict[str, list[Record]]()
        self._began, self._load = time.perf_counter(), load()
        self.document: Record = {
            "settings": settings, "machine": facts, "versions": versions, "rows": [], "bars": [], "skipped": [],
        }  # fmt: skip
        there = ", ".join(f"{name} {version}" for name, version in versions.items() if version != "not installed")
        absent = ", ".join(name for name, version in versions.items() if version == "not installed")
        say(f"{facts['processor']}, {facts['cores']} cores, {facts['memory_gb']} GB; Python {facts['python']}")
        say(there)
        if absent:
            say(f"not installed, left out: {absent}")
        say("CPU seconds, one thread: the middle of draws and repetitions; +-: half of their range, in percent.")

    def begin(self, part: Part) -> None:
        self._began, self._load = time.perf_counter(), load()
        title = f"{part.name}: {part.title}"
        say(f"\n{title}\n{'=' * len(title)}")

    def skip(self, part: Part, case: str, why: str) -> None:
        self.document["skipped"].append({"part": part.name, "case": case, "why": why})
        say(f"Skipped: {case}: {why}")

    def show(self, part: Part, results: Results, quick: bool) -> None:
        """The table of a part, and its bars."""
        progress("")
        self.document["rows"] += [row.plain() for row in results.rows]
        if results.rows:
            rows_table(part, results)
            _slopes(part, results, quick)
            for remark in part.remarks:
                say(remark)
            for failure in dict.fromkeys(f"{r.who}, {r.case}: {r.note}" for r in results.rows if ":" in r.note):
                say(failure)
        found = verdicts(part, results, quick)
        self.document["bars"] += [{"part": part.name, **asdict(v)} for v in found]
        bars_table(found)
        skipped = [s for s in self.document["skipped"] if s["part"] == part.name]
        settings = {**{name: self.settings.get(name) for name in KEPT}, "quick": quick}
        how = kept.Conditions(settings, time.perf_counter() - self._began, (self._load, load()))
        record = kept.part_record(part, results, found, skipped, how)
        self.parts.setdefault(part.name.split(".")[0], []).append(record)

    def finish(self, file: str | None, folder: Path | None = None) -> None:
        bars = self.document["bars"]
        judged = [b for b in bars if b["met"] is not None]
        missed = [b for b in judged if not b["met"]]
        if bars:
            say(f"\n{len(judged) - len(missed)} of {len(judged)} bars passed" + (". Missed:" if missed else "."))
            for b in missed:
                say(f"  {b['part']}, {b['case']}: {b['what']}")
        if file:
            write(file, self.document)
            say(f"Written to {file}.")
        if folder:
            for area, parts in self.parts.items():
                say(f"Written to {kept.write(folder, kept.document(area, parts))}.")


def rows_table(part: Part, results: Results) -> None:
    seen = {name for row in results.rows for name in row.figures}
    shown = [name for name in FIGURES if name in seen and name not in ASIDE]
    cells: list[list[str]] = []
    absent = dict.fromkeys(r.who for r in results.rows if r.note == ABSENT)
    for case in dict.fromkeys(row.case for row in results.rows):
        for who in results.names(case):
            rows = [r for r in results.of(case) if r.who == who]
            if rows[0].note == ABSENT:
                continue
            note = next((r.note.split(":")[0] for r in rows if r.note), "")
            settings = sorted({f"{r.setting:g}" for r in rows if r.setting is not None}, key=float)
            cells.append(
                [
                    case, who, number(results.value(case, who, "cpu")), number(100 * results.spread(case, who), 0),
                    *(shown_as(name, results.value(case, who, name)) for name in shown),
                    number(results.value(case, who, "products")),
                    note or (f"at {' '.join(settings)}" if settings else ""),
                ]
            )  # fmt: skip
    heads = [f"{name} %" if FIGURES[name].percent else name for name in shown]
    table(["case", "who", "CPU s", "+-", *heads, "products", ""], cells)
    if absent:
        say(f"Not installed: {', '.join(absent)}.")


def _slopes(part: Part, results: Results, quick: bool) -> None:
    cases = part.shown(quick)
    for axis in dict.fromkeys(c.at[0] for c in cases if c.at):
        for who in dict.fromkeys(row.who for row in results.rows):
            value = slope(results, cases, axis, who)
            if not math.isnan(value):
                say(f"{who}: CPU seconds grow as {axis} to the power {value:.2f}")


def bars_table(found: Sequence[Verdict]) -> None:
    words = {True: "pass", False: "MISS", None: "nobody to compare with"}
    cells = [
        [v.case, v.what, number(v.value), f"{'>=' if v.at_least else '<='} {number(v.limit)}", words[v.met]]
        for v in found
    ]
    if cells:
        table(["case", "bar", "value", "limit", ""], cells)


# Words


def say(text: str = "") -> None:
    print(text, flush=True)


def progress(text: str) -> None:
    """One line that is overwritten by the next, for people who watch; nothing in a file."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    kept = [j for j, _ in enumerate(heads) if any(row[j] not in ("", "-") for row in rows)]
    cells = [[row[j] for j in kept] for row in (heads, *rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(len(kept))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
    say("\n".join(["", lines[0], "-" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]]))


def number(value: float, digits: int | None = None) -> str:
    if math.isnan(value):
        return "-"
    if digits is not None:
        return f"{value:.{digits}f}"
    return f"{value:.0f}" if value == round(value, 0) and abs(value) < 1e6 else f"{value:.4g}"


def shown_as(figure: str, value: float) -> str:
    return number(100 * value if FIGURES[figure].percent else value)


# Files


def write(file: str, document: Record) -> None:
    """JSON with everything, or the rows alone as CSV, by the ending of the name."""
    path = Path(file)
    if path.suffix != ".csv":
        path.write_text(json.dumps(plain(document), indent=1, allow_nan=False) + "\n")
        return
    names = list(dict.fromkeys(name for row in document["rows"] for name in row))
    with path.open("w", newline="") as sheet:
        writer = csv.DictWriter(sheet, names)
        writer.writeheader()
        for row in document["rows"]:
            writer.writerow({n: " ".join(map(str, v)) if isinstance(v, list) else v for n, v in row.items()})


def plain(value: Any) -> Any:
    """What JSON can say: numbers that are not finite become null, NumPy's scalars Python's."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
