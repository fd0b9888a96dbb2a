"""`fewatoms complete`: a matrix from some of its entries."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fewatoms.cli.asking import OUTPUTS
from fewatoms.cli.options import Commands, budgets, command, count, ridge, scale
from fewatoms.cli.session import Session
from fewatoms.cli.tables import figure

if TYPE_CHECKING:
    from fewatoms.cli.pairs import Completed
    from fewatoms.cli.summary import Plain
    from fewatoms.doors import Words
    from fewatoms.io import Entries, Table
    from fewatoms.run import Callback
    from fewatoms.solution import Solution

about = """\
The table has a row for each known entry: an id of the row (a user), one of the column (an item), the value;
the first three columns, unless --user, --item and --value name others. Ids may be numbers or words. With a
list of ranks (1,2,4 or 1:10), or none, the rank is chosen by entries held out, and so is the ridge
unless --ridge is a number.

--out gets the whole matrix: a table of all entries, or a matrix (.npy, .npz); with --predict the entries of a
table of pairs instead, with --top the N best of each row that were not given. Ends of a scale that are
negative are written --clip=-1:1."""
examples = """\
  fewatoms complete ratings.csv --rank 2 --out filled.csv
  fewatoms complete ratings.csv --rank 1 --biases --clip 1:5 --top 3 --out best.csv
  fewatoms complete ratings.csv --user user --item item --value rating --rank 2 --model model.npz
  fewatoms complete ratings.csv --rank 2 --predict pairs.csv --out predictions.csv --duplicates mean
"""
MATRICES = (".npy", ".npz")
MOST_WRITTEN = 50_000_000  # entries of a matrix that is written whole


def add(commands: Commands) -> None:
    parser = command(commands, "complete", run, said="a matrix from some of its entries", about=about, shown=examples)
    parser.add_argument("data", metavar="FILE", help="a table of entries, a sparse matrix, or a matrix with gaps")
    parser.add_argument("--rank", type=budgets, metavar="K", help="10, 1:10 or 1,2,5 (default: chosen among 1,2,4,8)")
    parser.add_argument("--user", metavar="COL", help="the column with ids of rows")
    parser.add_argument("--item", metavar="COL", help="the column with ids of columns")
    parser.add_argument("--value", metavar="COL", help="the column with values")
    parser.add_argument("--biases", action="store_true", help="a centre, row and column biases beside the atoms")
    parser.add_argument("--ridge", type=ridge, default="auto", metavar="auto|NUMBER", help="shrinkage (default auto)")
    parser.add_argument("--clip", type=scale, metavar="LOW:HIGH", help="the scale that values are kept to")
    parser.add_argument("--duplicates", choices=("error", "mean", "last"), default="error", help="entries given twice")
    parser.add_argument("--out", metavar="FILE", help="write the matrix, or what --predict or --top ask for")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--predict", metavar="FILE", help="a table of pairs of ids whose entries are wanted")
    what.add_argument("--top", type=count, metavar="N", help="the N best of each row")
    parser.add_argument("--model", metavar="FILE", help="write the model (.npz), for `fewatoms predict`")


def run(options: argparse.Namespace) -> int:
    from fewatoms import io
    from fewatoms.cli.pairs import which

    session = Session(options)
    whole = options.predict is None and options.top is None
    session.claim("out", options.out, (*OUTPUTS, *MATRICES) if whole else OUTPUTS)
    session.claim("model", options.model, (".npz",))
    if not whole and options.out is None:
        raise io.Refused("--predict and --top need --out FILE")
    with session.timed("read"):
        pairs = None if options.predict is None else io.read_table(options.predict)
        entries = io.read_entries(
            options.data, row=options.user, col=options.item, value=options.value, duplicates=options.duplicates
        )
        _refuse(entries, options, whole)
        if pairs is not None:
            which(pairs, entries.row, entries.col)
    shape = entries.row_ids.size, entries.col_ids.size
    ranks = [k for k in (options.rank or _usual()) if k <= min(shape)]
    if not ranks:
        raise io.Refused(f"--rank must be at most {min(shape)}, the smaller side of the matrix; got {options.rank}")
    with session.working("complete") as callback:
        s = _solved(entries, ranks, options, callback)
    return _told(session, entries, s, ranks, pairs)


def _refuse(entries: Entries, options: argparse.Namespace, whole: bool) -> None:
    import numpy as np

    from fewatoms.io import Refused

    p, q = entries.row_ids.size, entries.col_ids.size
    if whole and options.out is not None and p * q > MOST_WRITTEN:
        raise Refused(
            f"--out must not be all {p} x {q} entries, more than {MOST_WRITTEN}: say --predict or --top, or --model"
        )
    if not np.isfinite(entries.values).all():
        bad = int((~np.isfinite(entries.values)).sum())
        raise Refused(f"{entries.source}: values must be finite numbers; {bad} are not")


def _usual() -> tuple[int, ...]:
    from fewatoms.ranks import RANKS

    return RANKS


def _solved(entries: Entries, ranks: list[int], options: argparse.Namespace, callback: Callback) -> Solution:
    import fewatoms as fa
    from fewatoms.ranks import best_rank

    shape = entries.row_ids.size, entries.col_ids.size
    words: Words = {
        "atoms": fa.RankOne(*shape), "free": "biases" if options.biases else None, "ridge": options.ridge,
        "callback": callback, "rng": options.seed,
    }  # fmt: skip
    M = fa.Sampling(entries.rows, entries.cols, shape)
    if len(ranks) == 1:
        return fa.fit(M, entries.values, k=ranks[0], **words)
    if options.rank is None:
        return best_rank(M, entries.values, ranks, **words)
    path = fa.fit_path(M, entries.values, k=ranks, **words)
    path.choose_k("held-out", rng=options.seed, callback=callback)
    return path.best


def _told(session: Session, entries: Entries, s: Solution, ranks: list[int], pairs: Table | None) -> int:
    import numpy as np

    from fewatoms.cli import models
    from fewatoms.cli.pairs import Completed
    from fewatoms.cli.summary import of_answer, plain

    options = session.options
    ids = entries.row_ids, entries.col_ids
    done = Completed(s.model, *ids, entries.row, entries.col, entries.value, options.clip)
    session.write("model", lambda path: models.write(path, done.model, done.plain(), done.arrays()))
    session.write("out", lambda path: _written(path, session, done, entries, pairs))
    trace = session.trace if len(ranks) == 1 else None
    session.write(
        "report",
        lambda path: s.report(
            path, title=session.title, trace=trace, notes=session.notes, rows=ids[0].tolist(), cols=ids[1].tolist()
        ),
    )
    p, q = (len(some) for some in ids)
    summary: dict[str, Plain] = {
        "data": {"source": entries.source, "rows": p, "columns": q, "entries": int(entries.values.size)},
        "asked": {"rank": plain(ranks), "biases": options.biases, "clip": plain(options.clip)},
        "answer": {**of_answer(s), "rank": int(s.cardinality)},
    }
    table = [["entries", "rows", "columns", "rank", "misfit", "ridge", "held out"]]
    held = "" if s.held_out is None else figure(float(s.held_out))
    shown = " ".join(figure(float(r)) for r in np.atleast_1d(s.ridge))
    table.append([str(entries.values.size), str(p), str(q), str(s.cardinality), figure(float(s.misfit)), shown, held])
    return session.finish(s.success, summary, [s.message], table)


def _written(path: Path, session: Session, done: Completed, entries: Entries, pairs: Table | None) -> None:
    """What was asked for."""
    from fewatoms import io

    if pairs is not None:
        io.write_table(path, done.predicted(session, pairs))
    elif session.options.top is not None:
        io.write_table(path, done.best(session.options.top, entries))
    elif path.suffix.lower() in MATRICES:
        io.write_grid(path, done.filled(entries))
    else:
        io.write_table(path, done.listed(done.filled(entries)))
