"""`fewatoms demo`: three jobs on real data, done and drawn."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from fewatoms.cli.options import Commands, command
from fewatoms.cli.path import FIGURES
from fewatoms.cli.session import Session

if TYPE_CHECKING:
    from fewatoms.cli.summary import Plain
    from fewatoms.demo import Job
    from fewatoms.records import Progress
    from fewatoms.solution import Solution

    Tell: TypeAlias = Callable[[str, Progress | None], None]

about = """\
What the library does, seen in half a minute, on real data that come with it: which features tell how diabetes
goes on, sea temperatures with holes, ink told apart from paper. With Ctrl-C or --deadline the rest is stopped
early, each job with its best answer."""
examples = """\
  fewatoms demo
  fewatoms demo --seed 1 --figure demo.png --report demo.html
"""
HEADS = ("job", "asked", "atoms", "misfit", "iterations", "products", "seconds")
NEXT = (
    "Where to look next:",
    "  fewatoms fit FILE --target COLUMN -k 1:20     your own table; complete, split, unmix beside it (--help)",
    "  fewatoms.fit(M, b, atoms=..., k=...)          the same from Python; the quick start in README.md",
    "  fewatoms.datasets.diabetes()                  the data of this demo; their sources beside them",
    "  docs/results.md                               how this compares with other packages, and where they win",
)


def add(commands: Commands) -> None:
    parser = command(
        commands, "demo", run, said="do three jobs on real data, print what was found and draw it", about=about,
        shown=examples,
    )  # fmt: skip
    parser.add_argument("--figure", metavar="FILE", help="write the figure there (PNG, PDF or SVG; needs matplotlib)")


def run(options: argparse.Namespace) -> int:
    from fewatoms.demo import jobs, lines

    if options.figure is not None:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            raise ImportError("--figure needs matplotlib: pip install 'fewatoms[plot]'") from None
    session = Session(options)
    session.claim("figure", options.figure, FIGURES)
    planned = jobs(options.seed or 0)
    results: list[tuple[Job, Solution]] = []
    seconds: list[float] = []
    with session.working("demo", bar=False) as callback, _told(len(planned), options.quiet) as tell:
        for job in planned:
            start = time.perf_counter()

            def heard(p: Progress, title: str = job.title) -> None:
                tell(title, p)
                callback(p)

            results.append((job, job.solve(heard)))
            seconds.append(time.perf_counter() - start)
            tell(job.title, None)
    rows = [
        [job.title, job.asked, _atoms(s), f"{s.misfit:.1e}", str(s.iterations), str(s.products), f"{t:.2f}"]
        for (job, s), t in zip(results, seconds, strict=True)
    ]
    found = lines(results)
    session.write("figure", lambda path: _drawn(results, str(path)))
    session.write("report", lambda path: _reported(results, path, [HEADS, *rows], [*found, *session.notes]))
    done = all(s.success for _, s in results)
    return session.finish(done, _summary(results, session), [*found, "", *NEXT, ""], [HEADS, *rows])


def _reported(results: list[tuple[Job, Solution]], path: Path, table: list[Sequence[str]], notes: list[str]) -> None:
    from fewatoms import report
    from fewatoms.report.extras import Extras

    answers = [(s, Extras(title=job.title, notes=job.told(s), **job.called)) for job, s in results]
    report.several(path, answers, table, title="fewatoms demo: three jobs on real data", notes=notes)


def _summary(results: list[tuple[Job, Solution]], session: Session) -> dict[str, Plain]:
    from fewatoms.cli.summary import of_answer

    answers: list[Plain] = [
        {"problem": job.title, "asked": job.asked, "found": list(job.told(s)), **of_answer(s, session)}
        for job, s in results
    ]
    return {"answer": {"problems": answers}}


def _drawn(results: list[tuple[Job, Solution]], figure: str) -> None:
    from fewatoms.display import demo_figure

    demo_figure(results, figure)


def _atoms(s: Solution) -> str:
    return " + ".join(str(part.cardinality) for part in s.parts)


@contextmanager
def _told(total: int, quiet: bool) -> Iterator[Tell]:
    """Say how far it is (a Progress, or None at the end of a job): rich on a terminal, else a line for each problem."""
    if quiet:
        yield lambda title, p: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
    except ImportError:
        yield lambda title, p: _line(title) if p is None else None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("starting", total=total)

        def tell(title: str, p: Progress | None) -> None:
            if p is None:
                bar.update(task, description=title, advance=1)
            else:
                bar.update(task, description=f"{title}: iterate {p.iteration}, misfit {p.misfit:.1e}")

        yield tell


def _line(title: str) -> None:
    sys.stderr.write(f"done: {title}\n")
