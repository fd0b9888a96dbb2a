"""`fewatoms reproduce`: the paper's experiments again, beside what was published."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fewatoms.cli.options import Commands, command
from fewatoms.cli.session import Session

if TYPE_CHECKING:
    from fewatoms.callbacks import Callback
    from fewatoms.cli.summary import Plain
    from fewatoms.reproduce.contract import Experiment, Settings
    from fewatoms.reproduce.writing import Done

about = """\
Sparse recovery, matrix completion, robust PCA and the theorems of the paper: its method and its rule as written, our
default, and the published figures side by side. A folder gets a page (index.html), figures, tables and a JSON file.

Without --data everything is generated; with it, the authors' vectors (sparco_authors.npz), station-years
(weather_station_years.npz) and faces (faces_64_lights.npz) are used, those that are there. With Ctrl-C or
--deadline, what is finished by then is written."""
examples = """\
  fewatoms reproduce --quick
  fewatoms reproduce theory --seed 1 --out theory
"""
TOLD = ("experiment", "statements", "hold", "seconds")
PARTS = ("sparco", "completion", "rpca", "theory", "all")


def add(commands: Commands) -> None:
    parser = command(
        commands, "reproduce", run, said="run the paper's experiments and put them beside what was published",
        about=about, shown=examples,
    )  # fmt: skip
    parser.add_argument("part", nargs="?", choices=PARTS, default="all", help="which of them (default: all)")
    parser.add_argument("--data", metavar="DIR", dest="folder", help="a folder with real data; else all is generated")
    parser.add_argument(
        "--out", metavar="DIR", default="reproduction", help="the folder to write (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="smaller and shorter: less than a minute")


def run(options: argparse.Namespace) -> int:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("reproduce draws with matplotlib: pip install 'fewatoms[plot]'") from None
    from fewatoms.linalg import single_thread
    from fewatoms.reproduce import chosen, data, writing
    from fewatoms.reproduce.contract import Settings

    session = Session(options)
    session.outputs["folder"] = writing.claim(Path(options.out), overwrite=options.overwrite)
    folder = data.checked(None if options.folder is None else Path(options.folder))
    settings = Settings(options.seed or 0, folder, options.quick)
    # Most of it is small, where threads of BLAS wait for each other; and counts are the same on every machine.
    with session.working("reproduce", bar=False) as callback, single_thread():
        done = _work(session, chosen(options.part), settings, callback)
    session.write("folder", lambda path: writing.write(path, settings, done))
    told: list[Plain] = [_told(one) for one in done]
    rows = [_row(one) for one in done]
    claims = [claim for one in done for claim in one.findings.claims]
    lines = [f"does not hold: {claim.text}" for claim in claims if not claim.holds]
    lines.append(f"figures, tables and what was published: {Path(options.out) / 'index.html'}")
    summary: dict[str, Plain] = {
        "asked": {"part": options.part, "quick": settings.quick, "seed": settings.seed, "data": options.folder},
        "answer": {"experiments": told},
    }
    return session.finish(all(claim.holds for claim in claims), summary, lines, [TOLD, *rows])


def _row(one: Done) -> list[str]:
    claims = one.findings.claims
    return [one.experiment.title, str(len(claims)), str(sum(claim.holds for claim in claims)), f"{one.seconds:.1f}"]


def _told(one: Done) -> dict[str, Plain]:
    return {
        "name": one.experiment.name,
        "claims": [{"text": claim.text, "holds": bool(claim.holds)} for claim in one.findings.claims],
        "notes": [*one.findings.notes],
        "seconds": round(one.seconds, 2),
    }


def _work(session: Session, planned: Sequence[Experiment], settings: Settings, callback: Callback) -> list[Done]:
    """Those that come to their end, one after the other."""
    from fewatoms.reproduce.contract import Ended, Listener
    from fewatoms.reproduce.writing import Done

    began, done = time.monotonic(), list[Done]()
    with _shown(len(planned), session.options.quiet) as tell:
        for i, experiment in enumerate(planned):

            def stage(text: str, i: int = i, title: str = experiment.title) -> None:
                _look(session, began, len(planned) - i)
                tell(i, f"{title}: {text}")

            start = time.perf_counter()
            try:
                findings = experiment.run(settings, Listener(stage, callback))
                stage("done")
            except Ended:
                break
            done.append(Done(experiment, findings, time.perf_counter() - start))
    return done


def _look(session: Session, began: float, left: int) -> None:
    """End the work where Ctrl-C was pressed or time is up; an experiment that was cut off is not told of."""
    from fewatoms.reproduce.contract import Ended

    limit = session.options.deadline
    if limit is not None and not session.late and time.monotonic() - began >= limit:
        session.late = True
        session.note(f"the deadline came first: {left} of the experiments are left out")
    if session.interrupted or session.late:
        raise Ended


@contextmanager
def _shown(total: int, quiet: bool) -> Iterator[Callable[[int, str], None]]:
    """Say how far it is: a bar on a terminal where rich is installed, else a line for each stage."""
    if quiet:
        yield lambda i, text: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        yield lambda i, text: _line(i, total, text)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("starting", total=total)
        yield lambda i, text: bar.update(task, description=text, completed=i)


def _line(i: int, total: int, text: str) -> None:
    sys.stderr.write(f"{i + 1} of {total}: {text}\n")
