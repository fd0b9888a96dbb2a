"""`fewatoms predict`: what a model that was written says about new data."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fewatoms.cli import asking
from fewatoms.cli.options import Commands, command, printable
from fewatoms.cli.session import Session

if TYPE_CHECKING:
    from fewatoms._types import Array
    from fewatoms.kept import Plain

about = """\
Models are those that `fewatoms fit --out` and `fewatoms complete --model` write. A table needs the columns
that the model uses, in any order; rows where one of them is missing get no prediction if the model was fitted
with --missing drop. For a completed matrix the new table has pairs of ids. For classes there is a column with
the likeliest one, and one with the probability of each. Without --out predictions are printed as CSV."""
examples = """\
  fewatoms predict houses.npz new_houses.csv
  fewatoms predict houses.npz new_houses.csv --out predictions.csv
  fewatoms predict ratings.npz pairs.csv --out predictions.csv
"""


def add(commands: Commands) -> None:
    parser = command(commands, "predict", run, said="what a model says about new data", about=about, shown=examples)
    parser.add_argument(
        "fitted", metavar="MODEL", help="written by `fewatoms fit --out` or `fewatoms complete --model`"
    )
    parser.add_argument("data", metavar="FILE", help="new data")
    parser.add_argument("--id", metavar="COL", help="a column to copy beside predictions (default: that of `fit --id`)")
    parser.add_argument("--out", metavar="FILE", help="write predictions there (.csv, .tsv, .parquet)")


def run(options: argparse.Namespace) -> int:
    from fewatoms import io, report
    from fewatoms.cli import fitted

    session = Session(options)
    session.claim("predictions", options.out, asking.OUTPUTS)
    with session.timed("read"):
        model = fitted.read(options.fitted)
    columns = model.about(session, options.data, options.id)
    session.write("predictions", lambda path: io.write_table(path, columns))
    session.write(
        "report",
        lambda path: report.predictions(path, columns, model.answer, title=session.title, notes=session.notes),
    )
    if not session.outputs.keys() & {"predictions"} and not options.json and not options.quiet:
        session.prints_data = True
        with session.printing():
            _printed(columns)
    rows = len(next(iter(columns.values())))
    summary: dict[str, Plain] = {
        "data": {"model": options.fitted, "source": options.data, "rows": rows},
        "asked": {"id": options.id},
        "answer": {"columns": [*columns], "predicted": rows},
    }
    return session.finish(True, summary, [])


def _printed(columns: dict[str, Array]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    shown = printable if sys.stdout.isatty() else str  # in a pipe they are data, and stay as they are
    writer.writerow(map(shown, columns))
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        writer.writerow(["" if value is None or value != value else shown(str(value)) for value in row])
