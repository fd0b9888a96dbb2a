"""The page of results: docs/results.md, its pictures, and the block in the README, from the files that are kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import charts, kept
from benchmarks.areas import TITLES, parts
from benchmarks.records import FIGURES, Record
from benchmarks.report import number
from benchmarks.standing import Compared, compared, counts

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURES, README = Path("docs/results.md"), Path("docs/_static/results"), Path("README.md")
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
TIME = ("cpu",)

HOW = """\
How to read this: CPU seconds of one thread, the middle of draws and repetitions, and half of their range in percent.
Everybody gets the same data; what a package is told, and what is charged, says `benchmarks/README.md`. A figure
counts as equal within 0.1 %, a time within 10 %. Time is compared with the fastest peer whose answer is no worse than
ours by more than 1 %; a peer that is faster with a worse answer is counted by itself. In each case the peer is the
best of all peers in that figure: a different one may win each time. Cases of the quick form keep the names of the
full ones; what is smaller is listed with them."""


def files(folder: Path = kept.FOLDER, readme: str | None = None) -> dict[Path, str]:
    """What is to be written, by its place in the repository; the README where it has a block for results."""
    found = kept.read(folder)
    if not found:
        raise SystemExit(f"there are no results in {folder}: make bench measures them")
    standing = {name: compared(part) for area in found.values() for part in area["parts"] for name in [part["name"]]}
    every = [f for some in standing.values() for f in some]
    made = {
        PICTURES / "time.svg": charts.dots("CPU seconds", [f for f in every if f.figure in TIME]),
        PICTURES / "quality.svg": charts.dots("What is judged", [f for f in every if f.figure not in TIME]),
        PAGE: _page(found, standing),
    }
    if readme is not None and BEGIN in readme and END in readme:
        before, _, rest = readme.partition(BEGIN)
        made[README] = f"{before}{BEGIN}\n{_block(found, every)}\n{END}{rest.partition(END)[2]}"
    return made


def write(root: Path = ROOT, folder: Path = kept.FOLDER) -> list[Path]:
    readme = root / README
    made = files(folder, readme.read_text(encoding="utf-8") if readme.is_file() else None)
    for name, text in made.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return list(made)


def _page(found: dict[str, Record], standing: dict[str, list[Compared]]) -> str:
    every = [f for some in standing.values() for f in some]
    blocks = [
        "# Results",
        "Made by `python -m benchmarks page` from the files in `benchmarks/results`, which `make bench` measures. "
        "Nothing here is written by hand.",
        _conditions(found),
        HOW,
        "## In short",
        _short(found, standing),
        "![CPU seconds, ours over the fastest peer's that is as good](_static/results/time.svg)",
        "![What is judged, ours over the best peer's](_static/results/quality.svg)",
        "## Where a peer wins",
        _losses(every),
        *(block for area, record in found.items() for block in _area(area, record)),
        "## Versions",
        _versions(found),
    ]
    return "\n\n".join(blocks) + "\n"


# Conditions


OWN = 0.5  # load beyond one process for each core that the measurements themselves may cause


def _conditions(found: dict[str, Record]) -> str:
    rows, noisy = [], []
    for area, record in found.items():
        machine, some = record["machine"], record["parts"]
        loads = [x for part in some for x in part["load"] if x is not None]
        if loads and max(loads) > machine["cores"] + OWN:
            noisy.append(area)
        rows.append(
            [area, *(_listed(sorted({part[name] for part in some})) for name in ("date", "form")),
             number(sum(part["seconds"] for part in some), 0), _range(loads),
             f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB, Python {machine['python']}"]
        )  # fmt: skip
    said = (
        f"\n\nThe machine was shared while {_listed(noisy)} {'was' if len(noisy) == 1 else 'were'} measured: the load "
        "was above the number of cores. Times are noisy there, ratios less so."
        if noisy
        else ""
    )
    return table(["area", "date", "form", "wall s", "load", "machine"], rows) + said + _unmeasured(found)


def _unmeasured(found: dict[str, Record]) -> str:
    there = {part["name"] for record in found.values() for part in record["parts"]}
    absent = [f"`{part.name}`" for part in parts("all") if part.name not in there]
    return f"\n\nNot in these files, and so not on this page: {_listed(absent)}." if absent else ""


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else "-"


def _versions(found: dict[str, Record]) -> str:
    versions = {name: v for record in found.values() for name, v in record["versions"].items()}
    missing = sorted({name for record in found.values() for name in record["missing"]} - set(versions))
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    return told + "." + (f" Not installed, and left out: {', '.join(missing)}." if missing else "")


# Standing


def _short(found: dict[str, Record], standing: dict[str, list[Compared]]) -> str:
    rows = []
    for record in found.values():
        for part in record["parts"]:
            some = standing[part["name"]]
            quality = counts([f for f in some if f.figure not in TIME])
            time = counts([f for f in some if f.figure in TIME])
            if some:
                judged = ", ".join(j for j in part["judged"] if any(f.figure == j for f in some))
                rows.append(
                    [f"`{part['name']}`", judged or "-",
                     *(str(quality[o]) for o in ("ours", "equal", "peer")), *(str(v) for v in time.values())]
                )  # fmt: skip
    heads = ["part", "judged by", "ours better", "equal", "**a peer better**", "ours faster", "equally fast",
             "**a peer as good faster**", "a worse peer faster"]  # fmt: skip
    return table(heads, rows)


def _losses(every: Sequence[Compared]) -> str:
    lost = [f for f in every if f.outcome == "peer"]
    if not lost:
        return "Nowhere, in these cases."
    rows = [
        [f"`{f.part}`", f.case, FIGURES[f.figure].words, f.who, shown(f.figure, f.value), f.peer,
         shown(f.figure, f.theirs), "-" if math.isinf(f.ratio) else number(f.ratio)]
        for f in lost
    ]  # fmt: skip
    told = (
        f"In {len(lost)} of {len(every)} comparisons of a figure or a time. Ratio: ours over theirs, or theirs over "
        "ours where more is better."
    )
    return told + "\n\n" + table(["part", "case", "figure", "ours", "value", "peer", "value", "ratio"], rows)


def _block(found: dict[str, Record], every: Sequence[Compared]) -> str:
    """A few lines for the README."""
    rows = []
    for area, record in found.items():
        names = {part["name"] for part in record["parts"]}
        some = [f for f in every if f.part in names]
        quality, time = (counts([f for f in some if (f.figure in TIME) is t]) for t in (False, True))
        if some:
            rows.append(
                [TITLES[area], *(str(quality[o]) for o in ("ours", "equal", "peer")), *(str(v) for v in time.values())]
            )
    heads = ["area", "ours better", "equal", "a peer better", "ours faster", "equally fast", "a peer as good faster",
             "a worse peer faster"]  # fmt: skip
    measured = [part for record in found.values() for part in record["parts"]]
    forms = _listed(sorted({f"{part['form']} form, {part['date']}" for part in measured}))
    return (
        f"{table(heads, rows)}\n\nComparisons case by case with the best peer of each ({forms}). "
        f"{_circumstances(found)} [docs/results.md](docs/results.md) says where peers win, and by how much."
    )


def _circumstances(found: dict[str, Record]) -> str:
    """Under which load, and what of all areas is not in the table."""
    loads = [x for record in found.values() for part in record["parts"] for x in part["load"] if x is not None]
    cores = sorted({record["machine"]["cores"] for record in found.values()})
    there = {part["name"] for record in found.values() for part in record["parts"]}
    whole = [area for area in TITLES if area not in found]
    some = sum(part.name not in there for area in found for part in parts(area))
    noisy = ": the machine was shared, and times are noisy" if loads and max(loads) > min(cores) + OWN else ""
    said = [f"The load was {_range(loads)} on {_listed([str(c) for c in cores])} cores{noisy}."] if loads else []
    if whole:
        said.append(f"Not measured yet: {_listed(whole)}" + (f", and {some} parts of the others." if some else "."))
    elif some:
        said.append(f"Not measured yet: {some} parts.")
    return " ".join(said)


# Tables of all answers


def _area(area: str, record: Record) -> Iterable[str]:
    yield f"## {area.capitalize()}: {TITLES[area]}"
    for part in record["parts"]:
        yield f"### `{part['name']}`"
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


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
