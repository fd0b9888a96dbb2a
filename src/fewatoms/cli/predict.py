"""`fewatoms predict`: what a model that was written says about new data."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, cast

from fewatoms.cli import asking
from fewatoms.cli.options import Commands, command
from fewatoms.cli.session import Session

if TYPE_CHECKING:
    from fewatoms._types import Array
    from fewatoms.io import Table
    from fewatoms.kept import Plain
    from fewatoms.lowrank import LowRank
    from fewatoms.solution import Solution

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
    from fewatoms.cli import models

    session = Session(options)
    session.claim("predictions", options.out, asking.OUTPUTS)
    with session.timed("read"):
        answer, how, arrays = models.read(options.fitted)
        table = io.read_table(options.data)
        ids = _ids(options, how, table.names)
    with session.timed("work"):
        columns = PREDICTIONS[str(how.get("kind"))](session, answer, how, arrays, table)
        columns = {**ids, **columns}
    session.write("predictions", lambda path: io.write_table(path, columns))
    model = cast("Solution", answer) if how.get("kind") == "table" else None
    session.write(
        "report",
        lambda path: report.predictions(path, columns, model, title=session.title, notes=session.notes),
    )
    if not session.outputs.keys() & {"predictions"} and not options.json and not options.quiet:
        _printed(columns)
        session.prints_data = True
    first = next(iter(columns.values()))
    summary: dict[str, Plain] = {
        "data": {"model": options.fitted, "source": options.data, "rows": table.rows},
        "answer": {"columns": [*columns], "predicted": len(first)},
    }
    return session.finish(True, summary, [])


def _ids(options: argparse.Namespace, how: dict[str, Plain], there: tuple[str, ...]) -> dict[str, Array]:
    """The column that says what rows are called, as it is written: the one asked for, or that of `fit --id` where the
    new table has it."""
    from fewatoms import io
    from fewatoms.cli.design import Recipe

    if how["kind"] != "table":
        if options.id is not None:
            raise io.Refused("--id is for tables: predictions of pairs have their ids already")
        return {}
    recipe = None if how["recipe"] is None else Recipe.read(how["recipe"])
    target = "target" if recipe is None else recipe.target
    if options.id == target:
        raise io.Refused(f"--id must not be {target!r}, as the column of predictions is called")
    usual = None if recipe is None or recipe.id not in there else recipe.id
    name = usual if options.id is None else str(options.id)
    return {} if name is None else io.read_table(options.data, columns=[name], as_text=[name]).columns


def _of_table(
    session: Session, answer: Solution | LowRank, how: dict[str, Plain], arrays: dict[str, Array], table: Table
) -> dict[str, Array]:
    """The target, or classes with their probabilities."""
    import numpy as np

    from fewatoms.cli.design import Recipe
    from fewatoms.io import Refused

    answer = cast("Solution", answer)
    if how["recipe"] is None:
        X, whole, target = table.numeric(), np.ones(table.rows, dtype=bool), "target"
        if X.shape[1] != answer.x.shape[0]:
            raise Refused(f"{table.source}: must have {answer.x.shape[0]} columns, as the model has; got {X.shape[1]}")
        if not np.isfinite(X).all():
            raise Refused(f"{table.source}: must hold finite numbers, with none missing")
    else:
        recipe = Recipe.read(how["recipe"])
        used = (answer.x != 0).reshape(answer.x.shape[0], -1).any(axis=1)
        X, whole = recipe.design(table, used)
        target = recipe.target
    if not whole.all():
        session.note(f"{int((~whole).sum())} of {table.rows} rows have no prediction: something is missing there")
    X = np.where(whole[:, None], X, 0.0)
    if answer.classes is None:
        return {target: np.where(whole, answer.predict(X), np.nan)}
    P = answer.predict_proba(X)
    P[~whole] = np.nan
    classes = np.asarray(answer.classes)
    likeliest = np.array([str(v) for v in classes.tolist()], dtype=object)[P.argmax(axis=1)]
    likeliest[~whole] = None
    return {target: likeliest, **{f"p({c})": P[:, i] for i, c in enumerate(classes.tolist())}}


def _of_pairs(
    session: Session, answer: Solution | LowRank, how: dict[str, Plain], arrays: dict[str, Array], table: Table
) -> dict[str, Array]:
    """The entries of a completed matrix."""
    from fewatoms.cli.pairs import Pairs

    return Pairs.read(cast("LowRank", answer), how, arrays).predicted(session, table)


PREDICTIONS = {"table": _of_table, "pairs": _of_pairs}


def _printed(columns: dict[str, Array]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        writer.writerow(["" if value is None or value != value else value for value in row])
