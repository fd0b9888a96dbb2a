"""What is kept of a run: a JSON file for each area in `benchmarks/results`, of which the page of results is made."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import measure
from benchmarks.records import ABSENT, FIGURES, Case, Part, Record
from benchmarks.results import Results, Verdict

FOLDER = Path(__file__).resolve().parent / "results"
TIMES = ("cpu", "signal", "first", "first_cpu", "first_call", "overhead", "sweep")
DIGITS = 6  # significant ones: more are noise, and make files that differ everywhere


def judged(part: Part) -> list[str]:
    """The figures that a part is about: those of its bars that have a better side and are not times, or misfit or loss
    where there are none."""
    bars = [*part.totals, *part.ratios, *(b for c in part.cases for b in (*c.bars, *c.each))]
    named = {b.figure for b in bars if FIGURES[b.figure].better and b.figure not in TIMES}
    return [name for name in FIGURES if name in (named or {"misfit", "loss"})]


@dataclass(frozen=True)
class Conditions:
    """Under which a part was measured: settings, wall seconds, how busy the machine was before and after. Where that is
    above the number of cores, times are those of a shared machine."""

    settings: Record
    seconds: float
    load: tuple[float, float]

    @property
    def quick(self) -> bool:
        return bool(self.settings["quick"])


def part_record(
    part: Part, results: Results, found: Sequence[Verdict], skipped: Sequence[Record], how: Conditions
) -> Record:
    """smaller : what the quick form changes in a case, which keeps the name of its full size"""
    whos = {(case.name, who.name): case for case in part.cases for who in case.who}
    pairs = dict.fromkeys((row.case, row.who) for row in results.rows)
    return {
        "name": part.name,
        "title": part.title,
        "judged": judged(part),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "form": "quick" if how.quick else "full",
        "settings": how.settings,
        "seconds": how.seconds,
        "load": list(how.load),
        "remarks": list(part.remarks),
        "smaller": {case.name: dict(case.quick or {}) for case in part.shown(True) if case.quick} if how.quick else {},
        "answers": [_answer(whos[pair], pair[1], results) for pair in pairs],
        "bars": [{"case": v.case, "what": v.what, "value": v.value, "limit": v.limit, "met": v.met} for v in found],
        "skipped": list(skipped),
    }


def _answer(case: Case, who: str, results: Results) -> Record:
    """Somebody's answers to a case, over draws, repetitions and fits of a batch: the middle time, range, figures."""
    rows = [r for r in results.of(case.name) if r.who == who]
    runs = [seconds for r in rows for seconds in r.cpu]
    names = [name for name in FIGURES if any(name in r.figures for r in rows)]
    return {
        "case": case.name,
        "who": who,
        "draws": len(rows),
        "runs": len(runs),
        "cpu": results.value(case.name, who, "cpu"),
        "spread": results.spread(case.name, who),
        "least": min(runs, default=math.nan),
        "most": max(runs, default=math.nan),
        "figures": {name: results.value(case.name, who, name) for name in names},
        "note": next((r.note.split(":")[0] for r in rows if r.note), ""),
    }


def document(area: str, parts: Sequence[Record]) -> Record:
    versions = measure.versions()
    return {
        "area": area,
        "machine": measure.machine(),
        "versions": {name: v for name, v in versions.items() if v != ABSENT},
        "missing": [name for name, v in versions.items() if v == ABSENT],
        "parts": list(parts),
    }


def write(folder: Path, record: Record) -> Path:
    """Parts that were not measured again stay as they are, if machine and versions are the same."""
    folder.mkdir(parents=True, exist_ok=True)
    file, record = folder / f"{record['area']}.json", rounded(record)
    before = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if all(before.get(name) == record[name] for name in ("machine", "versions")):
        parts = {part["name"]: part for part in [*before["parts"], *record["parts"]]}
        record["parts"] = [parts[name] for name in _order(record["area"], parts)]
    file.write_text(json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def _order(area: str, names: Iterable[str]) -> list[str]:
    """That of the area; parts that it no longer has are left out."""
    from benchmarks.areas import AREAS

    there = set(names)
    return [part.name for part in AREAS[area] if part.name in there]


def read(folder: Path = FOLDER) -> dict[str, Record]:
    """The files that are there, by their areas, in the order of the areas."""
    from benchmarks.areas import AREAS

    files = {area: folder / f"{area}.json" for area in AREAS}
    return {area: json.loads(file.read_text(encoding="utf-8")) for area, file in files.items() if file.is_file()}


def rounded(value: Any) -> Any:
    """What JSON can say, with as many digits as mean something; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(k): rounded(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value
