"""A page for each area, docs/results/AREA.md: where a peer wins case by case, and the tables of all answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.areas import TITLES
from benchmarks.records import FIGURES, Record
from benchmarks.report import number
from benchmarks.standing import Compared

FOLDER = Path("docs/results")


def place(area: str) -> Path:
    return FOLDER / f"{area}.md"


def text(area: str, record: Record, found: Sequence[Compared]) -> str:
    blocks = [
        f"# {area.capitalize()}: {TITLES[area]}",
        "Made by `python -m benchmarks page`; [Results](../results.md) has all areas in short, and how to read this.",
        "## Where a peer wins",
        _losses(found),
        *_parts(record),
    ]
    return "\n\n".join(blocks) + "\n"


def _losses(found: Sequence[Compared]) -> str:
    lost = [f for f in found if f.outcome == "peer"]
    if not lost:
        return "Nowhere, in these cases."
    rows = [
        [f"`{f.part}`", f.case, FIGURES[f.figure].words, f.who, shown(f.figure, f.value), f.peer,
         shown(f.figure, f.theirs), "-" if math.isinf(f.ratio) else number(f.ratio)]
        for f in lost
    ]  # fmt: skip
    told = (
        f"In {len(lost)} of {len(found)} comparisons of a figure or a time. Ratio: ours over theirs, or theirs over "
        "ours where more is better."
    )
    return told + "\n\n" + table(["part", "case", "figure", "ours", "value", "peer", "value", "ratio"], rows)


def _parts(record: Record) -> Iterable[str]:
    for part in record["parts"]:
        yield f"## `{part['name']}`"
        yield f"{part['title'][0].upper()}{part['title'][1:]}."
        if part["answers"]:
            yield _answers(part)
        if part["smaller"]:
            yield "Smaller in this form: " + "; ".join(_changed(*pair) for pair in part["smaller"].items()) + "."
        yield from part["remarks"]
        missed = [b for b in part["bars"] if b["met"] is False]
        judged = [b for b in part["bars"] if b["met"] is not None]
        if judged:
            yield f"{len(judged) - len(missed)} of {len(judged)} demands are met" + (":" if missed else ".")
        if missed:
            rows = [[b["case"], b["what"], _known(b["value"]), _known(b["limit"])] for b in missed]
            yield table(["missed", "demand", "value", "limit"], rows)
        for skipped in part["skipped"]:
            yield f"Skipped: {skipped['case']}: {skipped['why']}."


def _changed(case: str, words: Record) -> str:
    return f"{case} ({', '.join(f'{name} = {value}' for name, value in words.items())})"


def _answers(part: Record) -> str:
    seen = {name for a in part["answers"] for name in a["figures"]}
    names = [name for name in FIGURES if name in seen and name != "cpu"]
    rows = [
        [a["case"], a["who"], str(a["runs"]), _known(a["cpu"]), _percent(a["spread"]),
         *(shown(name, a["figures"][name]) if name in a["figures"] else "-" for name in names), a["note"]]
        for a in part["answers"]
    ]  # fmt: skip
    heads = ["case", "who", "runs", "CPU s", "± %", *(f"{n} %" if FIGURES[n].percent else n for n in names), "note"]
    kept_columns = [j for j in range(len(heads)) if any(row[j] not in ("", "-") for row in rows)]
    return table([heads[j] for j in kept_columns], [[row[j] for j in kept_columns] for row in rows])


def shown(figure: str, value: float | None) -> str:
    """As a table shows it; what is not finite is no answer that counts."""
    if value is None:
        return "none"
    return number(100 * value, None) + " %" if FIGURES[figure].percent else number(value)


def _known(value: float | None) -> str:
    return "-" if value is None else number(value)


def _percent(value: float | None) -> str:
    return "-" if value is None else number(100 * value, 0)


def brief(figure: str, value: float | None) -> str:
    """The same in three digits."""
    if value is None:
        return "none"
    scaled = 100 * value if FIGURES[figure].percent else value
    return (f"{scaled:.0f}" if abs(scaled) >= 1000 else f"{scaled:.3g}") + (" %" if FIGURES[figure].percent else "")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
