"""The command line: `python -m benchmarks` lists, `python -m benchmarks NAME ...` runs, `compare` compares versions."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from benchmarks import areas, data
from benchmarks.report import Report, progress, say
from benchmarks.runner import Options, rows_of


def listing() -> str:
    width = max(len(p.name) for p in areas.parts("all"))
    lines = []
    for area, found in areas.AREAS.items():
        lines.append(f"{area:<{width}}  {areas.TITLES[area]}: all of the following")
        lines += [f"{p.name:<{width}}  {p.title}" for p in found]
    lines += [
        f"{'all':<{width}}  everything",
        f"{'bench':<{width}}  everything, a file for each area in benchmarks/results, and the page of results",
        f"{'page':<{width}}  the page of results alone, from those files",
        f"{'compare':<{width}}  an earlier version beside this one, row by row",
    ]
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="fewatoms and its peers on the same problems, or fewatoms and an earlier version of itself.",
        epilog=f"names:\n{listing()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("name", nargs="?", help="one of the names below; without it, they are listed")
    p.add_argument("--quick", action="store_true", help="smaller sizes, one draw: seconds instead of minutes")
    p.add_argument("--seeds", type=int, metavar="N", help="draws of each problem; every part has its own default")
    p.add_argument("--first-seed", type=int, default=0, metavar="S", help="seeds are S, S + 1, ...")
    p.add_argument("--repeat", type=int, metavar="N", help="runs of each fit, of which the middle time counts")
    p.add_argument("--spend", type=float, metavar="S", help="no repetition of a fit begins after so many CPU seconds")
    p.add_argument("--data", metavar="DIR", help="real data; else FEWATOMS_DATA, or ../shared/data")
    p.add_argument("--only", nargs="+", default=[], metavar="WHO", help="names as they stand in the tables")
    p.add_argument(
        "--timeout", type=float, default=300.0, metavar="S", help="wall seconds of one fit in its own process"
    )
    p.add_argument("--out", metavar="FILE", help="every row: .json (with machine, versions, bars) or .csv")
    p.add_argument("--results", metavar="DIR", help="a file for each area; bench: benchmarks/results, if not said")
    p.add_argument("--figure", metavar="DIR", help="draw those parts that have a figure")
    p.add_argument("--before", metavar="PATH", help="compare: another checkout, with the package in PATH/src")
    p.add_argument("--parts", nargs="+", default=["all"], metavar="NAME", help="compare: these areas or parts only")
    return p


def main(arguments: Sequence[str] | None = None) -> None:
    p = parser()
    asked = p.parse_args(arguments)
    if asked.name is None:
        say(listing())
        return
    if asked.name in ("bench", "page"):
        from benchmarks import front, kept, page

        folder = Path(asked.results or kept.FOLDER)
        if asked.name == "bench" and front.run(asked.quick, asked.data, folder):
            raise SystemExit(1)
        if asked.name == "page":
            say("\n".join(f"written: {name}" for name in page.write(folder=folder)))
        return
    options = Options(
        asked.quick,
        asked.seeds,
        asked.first_seed,
        asked.repeat,
        data.folder(asked.data),
        tuple(asked.only),
        asked.timeout,
        bool(asked.figure),
        math.inf if asked.spend is None else asked.spend,
    )
    if asked.name == "compare":
        if asked.before is None:
            p.error("compare needs --before PATH, another checkout")
        from benchmarks.compare import compare

        compare(Path(asked.before), options, [q for name in asked.parts for q in _parts(p, name)], asked.out)
        return
    known = {who.name for part in _parts(p, asked.name) for case in part.cases for who in case.who}
    for name in options.only:
        if name not in known:
            p.error(f"--only takes names as they stand in the tables, {', '.join(sorted(known))}; got {name}")
    report = Report(vars(asked))
    for part in _parts(p, asked.name):
        if not part.shown(options.quick) and part.name != asked.name:
            continue  # it has nothing to show in this form
        report.begin(part)
        results = rows_of(part, options, progress, lambda case, why, part=part: report.skip(part, case, why))
        report.show(part, results, options.quick)
        if asked.figure and part.figure and results.rows:
            from benchmarks import figures

            say(f"Drawn in {figures.draw(part, results, Path(asked.figure), options.quick)}.")
    report.finish(asked.out, Path(asked.results) if asked.results else None)


def _parts(p: argparse.ArgumentParser, name: str) -> list[areas.Part]:
    try:
        return areas.parts(name)
    except KeyError:
        p.error(f"there is no benchmark {name!r}; python -m benchmarks lists the names")
