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
    from fewatoms.cli.summary import Plain
    from fewatoms.records import Progress
    from fewatoms.reproduce.contract import Experiment, Settings
    from fewatoms.reproduce.writing import Done

about = """\
Sparse recovery, matrix completion, robust PCA and the theorems of the paper: its method and its rule as written, our
default, and the published figures side by side. A folder gets a page (index.html), figures, tables and a JSON file.

Without --data everything is generated; with it, the authors' vectors (sparco_authors.npz), station-years
(weather_station_years.npz) and faces (faces_64_lights.npz) are used, those that are there. With Ctrl-C or
--deadline, what is finished by then is written, and the page says what is left out."""
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
    session.outputs["folder"] = writing.claim(
        Path(options.out), overwrite=options.overwrite, beside=list(session.outputs.values())
    )
    folder = data.checked(None if options.folder is None else Path(options.folder))
    settings, planned = Settings(options.seed or 0, folder, options.quick), chosen(options.part)
    # Most of it is small, where threads of BLAS wait for each other; and counts are the same on every machine.
    with session.working("reproduce", bar=False), single_thread():
        done = _work(session, planned, settings)
    session.refuse_nothing(len(done))  # before anything of an earlier run is taken away
    cut = _cut(session, planned[len(done) :], len(planned))
    session.write("folder", lambda path: writing.write(path, settings, done, cut))
    return _finish(session, settings, done, cut)


def _cut(session: Session, left: Sequence[Experiment], planned: int) -> str | None:
    """Who ended the work before its end, and what is left out, in words; noted."""
    if session.cut_short is None or not left:
        return None
    said = f"{session.cut_short}: {len(left)} of {planned} experiments are left out"
    session.note(said)
    return said


def _finish(session: Session, settings: Settings, done: Sequence[Done], cut: str | None) -> int:
    claims = [claim for one in done for claim in one.findings.claims]
    lines = [] if cut is None else [cut]
    lines += [f"does not hold: {claim.text}" for claim in claims if not claim.holds]
    asked = session.options
    lines.append(f"figures, tables and what was published: {Path(asked.out) / 'index.html'}")
    told: list[Plain] = [_told(one) for one in done]
    summary: dict[str, Plain] = {
        "asked": {"part": asked.part, "quick": settings.quick, "seed": settings.seed, "data": asked.folder},
        "answer": {"experiments": told},
    }
    table = [TOLD, *(_row(one) for one in done)] if done else []
    return session.finish(all(claim.holds for claim in claims), summary, lines, table)


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


def _work(session: Session, planned: Sequence[Experiment], settings: Settings) -> list[Done]:
    """Those that come to their end, one after the other; an experiment that was cut off is not told of."""
    from fewatoms.reproduce.contract import Ended, Listener
    from fewatoms.reproduce.writing import Done

    over, done = _over(session), list[Done]()

    def callback(progress: Progress) -> None:
        if over():
            raise StopIteration

    with _shown(len(planned), session.options.quiet) as tell:
        for i, experiment in enumerate(planned):

            def stage(text: str, i: int = i, title: str = experiment.title) -> None:
                if over():
                    raise Ended
                tell(i, f"{title}: {text}")

            start = time.perf_counter()
            try:
                findings = experiment.run(settings, Listener(stage, callback))
                stage("done")
            except Ended:
                break
            done.append(Done(experiment, findings, time.perf_counter() - start))
    return done


def _over(session: Session) -> Callable[[], bool]:
    """Whether Ctrl-C was pressed or time is up."""
    began, limit = time.monotonic(), session.options.deadline

    def over() -> bool:
        session.late = session.late or (limit is not None and time.monotonic() - began >= limit)
        return session.interrupted or session.late

    return over


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
