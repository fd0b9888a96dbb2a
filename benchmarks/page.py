"""The page of results, those of its areas, pictures, and the block in the README, from the files that are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import charts, detail, kept
from benchmarks.areas import TITLES, parts
from benchmarks.detail import brief, listed, table
from benchmarks.records import FIGURES, Record
from benchmarks.report import number
from benchmarks.standing import SAME_TIME, Compared, Outcome, compared, counts, middle, together

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURES, README = Path("docs/results.md"), Path("docs/_static/results"), Path("README.md")
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
TIME = ("cpu",)

HOW = """\
CPU seconds of one thread, the middle of draws and repetitions, and half of their range in percent. Everybody gets the
same data; what a package is told, and what is charged, says `benchmarks/README.md`. A figure counts as equal within
0.1 %, a time within 10 %. Time is compared with the fastest peer whose answer is no worse than ours by more than 1 %; a
peer that is faster with a worse answer is counted by itself. In each case the peer is the best of all peers in that
figure: a different one may win each time. Cases of the quick form keep the names of the full ones; what is smaller is
listed with them. In a table of answers `fewatoms` is what is compared, and the names after it are other ways to ask."""

COLUMNS = ("answers: ours better, equal, **a peer better**", "times: ours faster, equal, **a peer as good faster**",
           "a worse peer faster")  # fmt: skip

APART = """\
Cases of one part and figure share a line, which shows the one that is farthest apart: ours, theirs, and how many times
{whose} is the better one."""


def files(folder: Path = kept.FOLDER, readme: str | None = None) -> dict[Path, str]:
    """What is to be written, by its place in the repository; the README where it has a block for results."""
    found = kept.read(folder)
    if not found:
        raise SystemExit(f"there are no results in {folder}: make bench measures them")
    standing = {name: compared(part) for area in found.values() for part in area["parts"] for name in [part["name"]]}
    every = [f for some in standing.values() for f in some]
    areas = {area: _of(record, every) for area, record in found.items()}
    made = {
        PICTURES / "time.svg": charts.dots("CPU seconds", [f for f in every if f.figure in TIME]),
        PICTURES / "quality.svg": charts.dots("What is judged", [f for f in every if f.figure not in TIME]),
        PAGE: _page(found, standing),
        **{detail.place(area): detail.text(area, record, areas[area]) for area, record in found.items()},
    }
    if readme is not None and BEGIN in readme and END in readme:
        before, _, rest = readme.partition(BEGIN)
        made[README] = f"{before}{BEGIN}\n{_block(found, areas)}\n{END}{rest.partition(END)[2]}"
    return made


def write(root: Path = ROOT, folder: Path = kept.FOLDER) -> list[Path]:
    """Write them, and take away the pages of areas that are in the files no more."""
    readme = root / README
    made = files(folder, readme.read_text(encoding="utf-8") if readme.is_file() else None)
    for name, text in made.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for old in set(map(detail.place, TITLES)) - set(made):
        (root / old).unlink(missing_ok=True)
    return list(made)


def _of(record: Record, every: Sequence[Compared]) -> list[Compared]:
    names = {part["name"] for part in record["parts"]}
    return [f for f in every if f.part in names]


def _page(found: dict[str, Record], standing: dict[str, list[Compared]]) -> str:
    every = [f for some in standing.values() for f in some]
    areas = {area: _of(record, every) for area, record in found.items()}
    blocks = [
        "# Results",
        _totals(every),
        _verdict(areas),
        _by_area(areas, lambda area: f"[{area}](results/{area}.md): {TITLES[area]}"),
        "Each area has a page with all answers, and with every case in which a peer wins. [How to read "
        "this](#how-to-read-this) is below.",
        "## Where a peer wins",
        _farthest(every, "peer"),
        "## Where ours wins",
        _farthest(every, "ours"),
        "## In pictures",
        "![CPU seconds, ours over the fastest peer's that is as good](_static/results/time.svg)",
        "![What is judged, ours over the best peer's](_static/results/quality.svg)",
        "## Part by part",
        _short(found, standing),
        *_already(found),
        "## How to read this",
        "Made by `python -m benchmarks page` from the files in `benchmarks/results`, which `make bench` measures. "
        "Nothing here is written by hand.",
        HOW,
        _conditions(found),
        "## Versions",
        _versions(found),
        "```{toctree}\n:hidden:\n\n" + "\n".join(f"results/{area}" for area in found) + "\n```",
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
            [area, *(listed(sorted({part[name] for part in some})) for name in ("date", "form")),
             number(sum(part["seconds"] for part in some), 0), _range(loads),
             f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB, Python {machine['python']}"]
        )  # fmt: skip
    said = (
        f"\n\nThe machine was shared while {listed(noisy)} {'was' if len(noisy) == 1 else 'were'} measured: the load "
        "was above the number of cores. Times are noisy there, ratios less so."
        if noisy
        else ""
    )
    return table(["area", "date", "form", "wall s", "load", "machine"], rows) + said + _unmeasured(found)


def _unmeasured(found: dict[str, Record]) -> str:
    there = {part["name"] for record in found.values() for part in record["parts"]}
    absent = [f"`{part.name}`" for part in parts("all") if part.name not in there]
    return f"\n\nNot in these files, and so not on this page: {listed(absent)}." if absent else ""


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else "-"


def _versions(found: dict[str, Record]) -> str:
    versions = {name: v for record in found.values() for name, v in record["versions"].items()}
    missing = sorted({name for record in found.values() for name in record["missing"]} - set(versions))
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    return told + "." + (f" Not installed, and left out: {', '.join(missing)}." if missing else "")


# Standing


def _totals(every: Sequence[Compared]) -> str:
    quality, time = _both(every)
    q, t = counts(quality), counts(time)
    return (
        f"Beside the best peer of each case, our answer is better in {q['ours']} of {len(quality)} comparisons, equal "
        f"in {q['equal']}, and a peer's is better in {q['peer']}. Of {len(time)} times ours is the shorter in "
        f"{t['ours']}, equal in {t['equal']}; a peer that is as good is faster in {t['peer']}, one whose answer is "
        f"worse in {t['peer, but worse']}."
    )


def _verdict(areas: dict[str, list[Compared]]) -> str:
    """Which areas are good for us and which are not, in a few lines."""
    ratios = {area: ratio for area, some in areas.items() if (ratio := middle(_both(some)[1])) is not None}
    ahead = {area: c["ours"] - c["peer"] for area, some in areas.items() for c in [counts(_both(some)[0])] if some}
    said = {
        "Answers that are better more often than worse": [area for area, n in ahead.items() if n > 0],
        "Worse more often than better": [area for area, n in ahead.items() if n < 0],
        "Faster than peers that are as good, in the median": [a for a, r in ratios.items() if r < 1 / SAME_TIME],
        "Slower": [f"{a} ({r:.1f} times)" for a, r in ratios.items() if r > SAME_TIME],
    }
    return "\n".join(f"- {words}: {listed(some) if some else 'none'}." for words, some in said.items())


def _both(some: Sequence[Compared]) -> tuple[list[Compared], list[Compared]]:
    """Figures that are judged, and times."""
    return [f for f in some if f.figure not in TIME], [f for f in some if f.figure in TIME]


def _counted(some: Sequence[Compared]) -> list[str]:
    quality, time = _both(some)
    better, less = counts(quality), counts(time)
    three = [f"{c['ours']}, {c['equal']}, **{c['peer']}**" for c in (better, less)]
    return [*three, str(less["peer, but worse"])]


def _by_area(areas: dict[str, list[Compared]], called: Callable[[str], str]) -> str:
    rows = []
    for area, some in areas.items():
        ratio = middle(_both(some)[1])
        if some:
            rows.append([called(area), *_counted(some), "-" if ratio is None else number(ratio, 2)])
    return table(["area", *COLUMNS, "time, ours over theirs as good, median"], rows)


def _farthest(every: Sequence[Compared], outcome: Outcome) -> str:
    """One line for each part and figure: in how many cases, and the one that is farthest from equal."""
    groups = together(every, outcome)
    if not groups:
        return "Nowhere, in these cases."
    rows = [
        [_link(f.part), FIGURES[f.figure].words, f"{len(group.cases)} of {group.of}", f.case, brief(f.figure, f.value),
         f"{brief(f.figure, f.theirs)}, {f.peer}", _many(f.ratio)]
        for group in groups for f in [group.farthest]
    ]  # fmt: skip
    told = APART.format(whose="theirs" if outcome == "peer" else "ours")
    return told + "\n\n" + table(["part", "figure", "cases", "farthest apart", "ours", "theirs", "times"], rows)


def _many(ratio: float) -> str:
    """How many times the better one is better; beyond a thousand it is the rounding of one of them that is told."""
    times = max(ratio, 1 / ratio if ratio else math.inf)
    return f"{times:.3g}" if times <= 1000 else "over 1000"


def _link(part: str) -> str:
    area = part.partition(".")[0]
    return f"[{part}](results/{area}.md#{part.replace('.', '')})"


def _short(found: dict[str, Record], standing: dict[str, list[Compared]]) -> str:
    rows = []
    for record in found.values():
        for part in record["parts"]:
            some = standing[part["name"]]
            if some:
                judged = ", ".join(j for j in part["judged"] if any(f.figure == j for f in some))
                rows.append([_link(part["name"]), part["title"], judged or "-", *_counted(some)])
    return table(["part", "what", "judged by", *COLUMNS], rows)


def _already(found: dict[str, Record]) -> list[str]:
    """How often the answer of `fit` was proven to be the best, by part and by how it was asked."""
    rows = []
    for part in (part for record in found.values() for part in record["parts"]):
        for who in dict.fromkeys(a["who"] for a in part["answers"] if a["figures"].get("already") is not None):
            some = [a for a in part["answers"] if a["who"] == who and a["figures"].get("already") is not None]
            times = [sum(round(a["figures"][name] * a["draws"]) for a in some) for name in ("proven", "already")]
            rows.append([_link(part["name"]), who, str(sum(a["draws"] for a in some)), *map(str, times)])
    if not rows:
        return []
    columns = ["part", "who", "questions", "decided within 1e-4", "the answer of `fit` was the best"]
    return ["## How often the answer was the best already", table(columns, rows)]


def _block(found: dict[str, Record], areas: dict[str, list[Compared]]) -> str:
    """A few lines for the README."""
    measured = [part for record in found.values() for part in record["parts"]]
    forms = listed(sorted({f"{part['form']} form, {part['date']}" for part in measured}))
    return (
        f"{_by_area(areas, lambda area: TITLES[area])}\n\nComparisons case by case with the best peer of each "
        f"({forms}). {_circumstances(found)} [docs/results.md](docs/results.md) says where peers win, and by how much."
    )


def _circumstances(found: dict[str, Record]) -> str:
    """Under which load, and what of all areas is not in the table."""
    loads = [x for record in found.values() for part in record["parts"] for x in part["load"] if x is not None]
    cores = sorted({record["machine"]["cores"] for record in found.values()})
    there = {part["name"] for record in found.values() for part in record["parts"]}
    whole = [area for area in TITLES if area not in found]
    some = sum(part.name not in there for area in found for part in parts(area))
    noisy = ": the machine was shared, and times are noisy" if loads and max(loads) > min(cores) + OWN else ""
    said = [f"The load was {_range(loads)} on {listed([str(c) for c in cores])} cores{noisy}."] if loads else []
    if whole:
        said.append(f"Not measured yet: {listed(whole)}" + (f", and {some} parts of the others." if some else "."))
    elif some:
        said.append(f"Not measured yet: {some} parts.")
    return " ".join(said)
