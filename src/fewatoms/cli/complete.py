"""`fewatoms complete`: a matrix from some of its entries."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fewatoms.cli.asking import OUTPUTS
from fewatoms.cli.options import Commands, budgets, checkpointed, command, count, number, positive, ridge, scale
from fewatoms.cli.session import Session
from fewatoms.cli.tables import figure
from fewatoms.effort import RANKS

if TYPE_CHECKING:
    from fewatoms.cli.pairs import Given, Pairs
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

With --background the table has clicks instead of values: a row and a column, and how often if there is a third
column. All cells without a click are zeros of that weight, clicks are ones of the weight 1 + C times how often
(--confidence C); what is predicted are preferences, and rank and ridge are those that rank clicks held out best.

--out gets the whole matrix: a table of all entries, or a matrix (.npy, .npz); with --predict the entries of a
table of pairs instead, with --top the N best of each row that were not given. In the whole matrix given
entries stay as they are; with --predict a pair that was given gets what the model says of it, as any other.
Ends of a scale that are negative are written --clip=-1:1.

With --blocks entries are read batch by batch and stay on disk, with --scheduler they are with the workers of a
Dask cluster; FILE may be a folder of Parquet files then. That is done without asking where a file is too large
for memory. The answer is the same."""
examples = """\
  fewatoms complete ratings.csv --rank 2 --out filled.csv
  fewatoms complete ratings.csv --rank 1 --biases --clip 1:5 --top 3 --out best.csv
  fewatoms complete ratings.csv --rank 2 --top 5 --users u1,u2 --out for_two.csv
  fewatoms complete ratings.csv --user user --item item --value rating --rank 2 --model model.npz
  fewatoms complete ratings.csv --rank 2 --predict pairs.csv --out predictions.csv --duplicates mean
  fewatoms complete ratings.csv --misfit 0.2 --out filled.csv
  fewatoms complete clicks.csv --background 1 --rank 2 --top 3 --out best.csv
  fewatoms complete ratings.csv --blocks --rank 2 --top 5 --out best.csv
"""
MATRICES = (".npy", ".npz")
MOST_WRITTEN = 50_000_000  # entries of a matrix that is written whole


def add(commands: Commands) -> None:
    parser = command(commands, "complete", run, said="a matrix from some of its entries", about=about, shown=examples)
    parser.add_argument("data", metavar="FILE", help="a table of entries, a sparse matrix, or a matrix with gaps")
    usual = ",".join(map(str, RANKS))
    parser.add_argument(
        "--rank", type=budgets, metavar="K",
        help=f"10, 1:10 or 1,2,5 (default: chosen among {usual}, in turn until three predict no better)",
    )  # fmt: skip
    parser.add_argument(
        "--misfit", type=positive, metavar="NUMBER",
        help="bound on |b - Mx| / |b|: as low a rank as meets it, or within --rank, without --ridge",
    )  # fmt: skip
    parser.add_argument("--user", metavar="COL", help="the column with ids of rows")
    parser.add_argument("--item", metavar="COL", help="the column with ids of columns")
    parser.add_argument("--value", metavar="COL", help="the column with values")
    parser.add_argument("--biases", action="store_true", help="a centre, row and column biases beside the atoms")
    parser.add_argument("--ridge", type=ridge, default="auto", metavar="auto|NUMBER", help="shrinkage (default auto)")
    parser.add_argument("--clip", type=scale, metavar="LOW:HIGH", help="the scale that values are kept to")
    parser.add_argument(
        "--duplicates", choices=("error", "mean", "last", "sum"),
        help="entries given twice (default: error; sum with --background)",
    )  # fmt: skip
    parser.add_argument("--background", type=number, metavar="W", help="clicks: the weight of cells without one")
    parser.add_argument(
        "--confidence", type=positive, metavar="C", help="what one more click adds to a weight (default 1)"
    )
    parser.add_argument("--blocks", action="store_true", help="entries stay on disk (by itself where they are many)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="or with the workers of a Dask cluster")
    parser.add_argument("--folder", metavar="DIR", help="where entries are kept meanwhile, 60 bytes each")
    parser.add_argument("--out", metavar="FILE", help="write the matrix, or what --predict or --top ask for")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--predict", metavar="FILE", help="a table of pairs of ids whose entries are wanted")
    what.add_argument("--top", type=count, metavar="N", help="the N best of each row that were not given")
    parser.add_argument(
        "--users", action="append", default=[], metavar="ID[,ID]", help="the rows that --top is for (default: all)"
    )
    parser.add_argument("--model", metavar="FILE", help="write the model (.npz), for `fewatoms predict`")
    checkpointed(parser)


def run(options: argparse.Namespace) -> int:
    from fewatoms import io
    from fewatoms.cli.pairs import refuse_value, rows_of, which
    from fewatoms.ids import Ids

    session = Session(options)
    whole = options.predict is None and options.top is None
    session.claim("out", options.out, (*OUTPUTS, *MATRICES) if whole else OUTPUTS)
    session.claim("model", options.model, (".npz",))
    if not whole and options.out is None:
        word = "--top" if options.predict is None else "--predict"
        raise io.Refused(f"{word} says what --out gets: say --out FILE as well, such as --out {word[2:]}.csv")
    if options.users and options.top is None:
        raise io.Refused("--users says whose best entries are wanted: say --top N as well")
    _refuse_words(options)
    with session.timed("read"):
        pairs = None if options.predict is None else io.read_table(options.predict)
        given = _in_blocks(options, whole) if in_blocks(options) else _in_memory(options, whole)
        rows_of(options.users, Ids(given.row_ids), given.row)  # refused before the work
        if pairs is not None:
            refuse_value(pairs, which(pairs, given.row, given.col), given.value)
    least = min(given.M.matrix_shape)
    ranks = [k for k in (options.rank or RANKS) if k <= least]
    if not ranks:
        raise io.Refused(f"--rank must be at most {least}, the smaller side of the matrix; got {_listed(options.rank)}")
    if options.rank is not None and len(ranks) < len(options.rank):
        session.note(f"--rank is tried up to {max(ranks)}: the smaller side of the matrix is {least}")
    with session.working("complete") as callback:
        s, scores = _solved(given, ranks, options, callback)
    session.refuse_nothing(s.cardinality)
    return _told(session, given, s, scores, pairs)


def in_blocks(options: argparse.Namespace) -> bool:
    """Whether entries stay on disk, or with workers: where that is said, where a folder is given, and where the file
    says that they are too many for memory."""
    from fewatoms.io.spilled import too_many

    said = options.blocks or options.scheduler is not None or options.folder is not None
    return said or (options.background is None and too_many(options.data))


def _in_memory(options: argparse.Namespace, whole: bool) -> Given:
    from fewatoms import io
    from fewatoms.cli.pairs import Given

    background = options.background or 0.0
    duplicates = options.duplicates or ("sum" if background else "error")
    entries = io.read_entries(
        options.data, row=options.user, col=options.item, value=options.value, duplicates=duplicates,
        clicks=background > 0,
    )  # fmt: skip
    _refuse_size(*entries.shape, options, whole)
    _refuse(entries)
    return Given.of(entries, background, options.confidence or 1.0)


def _in_blocks(options: argparse.Namespace, whole: bool) -> Given:
    """Entries that stay where they are."""
    import fewatoms as fa
    from fewatoms import io
    from fewatoms.cli.pairs import Given

    if options.background is not None:
        raise io.Refused("--background is for entries in memory: leave out --blocks, --scheduler and --folder")
    M, b = fa.EntryBlocks.of(
        options.data, user=options.user, item=options.item, value=options.value,
        duplicates=options.duplicates or "error", engine=options.scheduler or "threads", folder=options.folder,
    )  # fmt: skip
    _refuse_size(*M.matrix_shape, options, whole)
    if whole and options.out is not None:
        raise io.Refused("--out must have --predict or --top beside it where entries stay in blocks; or say --model")
    return Given(M, b, M.row_ids, M.col_ids, *M.called, M.source, reads=M.seen)


def _listed(ranks: list[int] | None) -> str:
    return ", ".join(map(str, ranks or RANKS))


def _refuse_words(options: argparse.Namespace) -> None:
    from fewatoms.io import Refused

    if options.misfit is not None and len(options.rank or [0]) > 1:
        raise Refused(
            "--misfit is a bound for one rank, or for the lowest that meets it: give --rank one number, or none"
        )
    if not options.background and options.confidence is not None:
        raise Refused("--confidence is for clicks: say --background W as well, such as --background 1")
    if options.background and options.biases:
        raise Refused("--biases is for values; with --background all cells count: leave it out")


def _refuse_size(p: int, q: int, options: argparse.Namespace, whole: bool) -> None:
    from fewatoms.io import Refused

    if whole and options.out is not None and p * q > MOST_WRITTEN:
        raise Refused(
            f"--out must not be all {p} x {q} entries, more than {MOST_WRITTEN}: say --predict or --top, or --model"
        )


def _refuse(entries: Entries) -> None:
    import numpy as np

    from fewatoms.io import Refused

    if not np.isfinite(entries.values).all():
        bad = int((~np.isfinite(entries.values)).sum())
        raise Refused(f"{entries.source}: values must be finite numbers; {bad} are not")


def _solved(
    given: Given, ranks: list[int], options: argparse.Namespace, callback: Callback
) -> tuple[Solution, dict[int, float]]:
    """The answer, and what entries held out say of the ranks that were compared."""
    import fewatoms as fa
    from fewatoms.ranks import best_rank

    M, values = given.M, given.values
    words: Words = {
        "atoms": fa.RankOne(*M.matrix_shape), "free": "biases" if options.biases else None, "ridge": options.ridge,
        "callback": callback, "rng": options.seed,
        "loss": fa.LeastSquares() if given.weights is None else fa.LeastSquares(given.weights),
    }  # fmt: skip
    if options.misfit is not None:
        words["ridge"] = 0.0 if options.ridge == "auto" else options.ridge  # a bound is met by a ridge that is given
        words["misfit"] = options.misfit
        return fa.fit(M, values, k=None if options.rank is None else ranks[0], **words), {}
    if len(ranks) == 1:
        return fa.fit(M, values, k=ranks[0], **words), {}
    if options.rank is None or not M.arrays:
        return best_rank(M, values, ranks, **words)
    path = fa.fit_path(M, values, k=ranks, **words)
    path.choose_k("held-out", rng=options.seed, callback=callback)
    scores = path.scores.get("held-out")
    return path.best, {} if scores is None else dict(zip(ranks, scores.tolist(), strict=True))


def _told(session: Session, given: Given, s: Solution, scores: dict[int, float], pairs: Table | None) -> int:
    from fewatoms.cli import models
    from fewatoms.cli.pairs import Pairs
    from fewatoms.cli.summary import of_answer, plain

    options = session.options
    done = Pairs.of(s.model, given, options.clip)
    session.write("model", lambda path: models.write(path, s.model, done.plain(), done.arrays()))
    session.write("out", lambda path: _written(path, session, done, given, pairs))
    session.write("report", lambda path: _reported(path, session, s, given, not scores))
    (p, q), m, clicks = given.M.matrix_shape, int(given.values.size), given.M.background > 0
    summary: dict[str, Plain] = {
        "data": {"source": given.source, "rows": p, "columns": q, "entries": m},
        "asked": {"rank": plain(options.rank or (RANKS if options.misfit is None else None)),
                  "misfit": options.misfit, "biases": options.biases, "clip": plain(options.clip),
                  **({"background": options.background, "confidence": options.confidence or 1.0} if clicks else {})},
        "answer": {**of_answer(s, session), "rank": int(s.cardinality),
                   "ranks": [{"rank": rank, "score": plain(score)} for rank, score in scores.items()]},
    }  # fmt: skip
    table = [
        ["entries", "rows", "columns", "rank", "misfit", "ridge", "held-out 1 - NDCG" if clicks else "held-out RMSE"]
    ]
    held = "" if s.held_out is None else figure(float(s.held_out))
    shown = _ridges(s, options.biases)
    table.append([str(m), str(p), str(q), str(s.cardinality), figure(float(s.misfit)), shown, held])
    chosen = _chosen(s, scores, given, options)
    return session.finish(s.success, summary, [session.said(s.message), *chosen], table)


def _chosen(s: Solution, scores: dict[int, float], given: Given, options: argparse.Namespace) -> list[str]:
    """The ranks that were compared, and whether higher ones may be better."""
    if not scores:
        return []
    unit = "1 - NDCG" if given.M.background else "root mean square error"
    told = ", ".join(f"{rank}: {figure(score)}" for rank, score in scores.items())
    best, most = min(scores, key=lambda rank: scores[rank]), max(scores)
    lines = [f"chosen: rank {best}, the lowest {unit} on entries held out ({told})"]
    if best == most == max(options.rank or RANKS) and most < min(given.M.matrix_shape):
        lines.append(
            f"{most} is the highest that was tried: higher ones may be better, such as --rank {most},{2 * most}"
        )
    return lines


def _reported(path: Path, session: Session, s: Solution, given: Given, alone: bool) -> None:
    rows, cols = given.row_ids.tolist(), given.col_ids.tolist()
    trace = session.trace if alone else None
    s.report(path, title=session.title, trace=trace, notes=session.notes, rows=rows, cols=cols)


def _ridges(s: Solution, biases: bool) -> str:
    """What is paid, in words: for the factors, and for the biases where there are any."""
    import numpy as np

    factors, beside = (float(r) for r in np.broadcast_to(s.ridge, 2))
    return f"{figure(factors)} on factors" + (f", {figure(beside)} on biases" if biases else "")


def _written(path: Path, session: Session, done: Pairs, given: Given, pairs: Table | None) -> None:
    """What was asked for."""
    from fewatoms import io

    if pairs is not None:
        io.write_table(path, done.predicted(session, pairs))
    elif session.options.top is not None:
        io.write_table(path, done.best(session.options.top, session.options.users))
    elif path.suffix.lower() in MATRICES:
        io.write_grid(path, done.filled(given))
    else:
        io.write_table(path, done.listed(done.filled(given)))
