"""The command line: `fewatoms demo`."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fewatoms.records import Progress
from fewatoms.solution import Solution

FIGURES = (".png", ".pdf", ".svg")  # what a figure may be written as


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0 if everything that was asked holds."""
    parser = argparse.ArgumentParser(prog="fewatoms", description="Explain data with few building blocks.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="solve six small problems, print what was found and draw it")
    demo.add_argument("--figure", metavar="FILE", help="write the figure there (PNG, PDF or SVG; needs matplotlib)")
    demo.add_argument("--seed", type=int, default=0, help="of the generated data (default 0)")
    options = parser.parse_args(arguments)
    return _demo(options.seed, options.figure)


def _demo(seed: int, figure: str | None) -> int:
    from fewatoms.demo import jobs

    if figure is not None:
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            print("--figure needs matplotlib: pip install 'fewatoms[plot]'", file=sys.stderr)
            return 2
        refused = _no_figure_there(Path(figure))
        if refused:
            print(refused, file=sys.stderr)
            return 2
    planned = jobs(seed)
    results, seconds = [], []
    with ExitStack() as stack:
        tell = _progress_bar(stack, len(planned))
        for job in planned:
            start = time.perf_counter()
            solution = job.solve(lambda p, job=job: tell(job.title, p))  # type: ignore[misc]
            seconds.append(time.perf_counter() - start)
            results.append((job, solution))
            tell(job.title, None)
    heads = ("problem", "asked", "atoms", "misfit", "iterations", "products", "seconds", "certificate")
    rows = [
        (job.title, job.asked, _atoms(s), f"{s.misfit:.1e}", str(s.iterations), str(s.products), f"{t:.2f}", _proven(s))
        for (job, s), t in zip(results, seconds, strict=True)
    ]
    _print_table(heads, rows)
    if figure is not None:
        from fewatoms.display import demo_figure

        demo_figure(results, figure)
        print(f"The figure is in {figure}.")
    return 0 if all(s.success for _, s in results) else 1


def _no_figure_there(path: Path) -> str:
    """Why nothing could be drawn there; "" if it can be. Known before six problems are solved."""
    if path.suffix.lower() not in FIGURES:
        return f"--figure must end in {', '.join(FIGURES)}; got {path}"
    return "" if path.absolute().parent.is_dir() else f"--figure must lie in a folder that is there; got {path}"


def _atoms(s: Solution) -> str:
    return " + ".join(str(part.cardinality) for part in s.parts)


def _proven(s: Solution) -> str:
    """The certificate in a few words: what holds, and how far the relaxation is from its optimum at most."""
    c = s.certificate
    kept = "k kept" if c.meets_bound is None else "bound and k hold" if c.meets_bound else "bound missed"
    if c.relaxation is None or math.isinf(c.gap):
        return kept
    return f"{kept}; {c.relaxation.name} optimum in [{c.primal - c.gap:.3g}, {c.primal:.3g}]"


def _progress_bar(stack: ExitStack, total: int) -> Any:
    """A function (title, Progress or None at the end of a job) that shows progress: rich if it is there, else lines."""
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
    except ImportError:

        def tell_plainly(title: str, p: Progress | None) -> None:
            if p is None:
                print(f"done: {title}", file=sys.stderr)

        return tell_plainly
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = stack.enter_context(Bar(*columns))
    task = bar.add_task("starting", total=total)

    def tell(title: str, p: Progress | None) -> None:
        if p is None:
            bar.update(task, description=title, advance=1)
        else:
            bar.update(task, description=f"{title}: iterate {p.iteration}, misfit {p.misfit:.1e}")

    return tell


def _print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
        for row in [heads, *rows]:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    table = Table()
    for i, head in enumerate(heads):
        table.add_column(head, justify="right" if 2 <= i <= 6 else "left")
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 150).print(table)


if __name__ == "__main__":
    sys.exit(main())
