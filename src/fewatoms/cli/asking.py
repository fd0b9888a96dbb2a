"""What `fit` and `path` ask of a table or a matrix: options, the data they name, and the words of the doors."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fewatoms.cli.options import positive, refused, ridge

if TYPE_CHECKING:
    from fewatoms._types import Array
    from fewatoms.atoms import AtomicSet
    from fewatoms.cli.design import Recipe
    from fewatoms.cli.session import Session
    from fewatoms.doors import Words
    from fewatoms.io import Grid, Table
    from fewatoms.losses import Loss
    from fewatoms.operators import Operator
    from fewatoms.solution import Solution

OUTPUTS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
TARGET = "y"  # what stands beside a matrix, read as a table
USUAL = 20  # atoms at most where nobody says how many


def add_options(parser: argparse.ArgumentParser) -> None:
    """Of the data, and of what is asked of them."""
    parser.add_argument(
        "data", metavar="FILE", help="a table with a header (CSV, TSV, Parquet) or a matrix with labels"
    )
    parser.add_argument("--target", metavar="COL", help="the column to explain (libsvm files have theirs)")
    parser.add_argument("--classes", action="store_true", help="the target holds classes: two or more, of any kind")
    parser.add_argument("--positive", action="store_true", help="coefficients must not be negative")
    parser.add_argument("--ridge", type=ridge, metavar="auto|NUMBER", help="shrinkage (default 0; auto with --classes)")
    parser.add_argument(
        "--group-by", metavar="SEP|FILE",
        help="whole groups of columns enter: the part of their names before SEP, or a table with columns name, group",
    )  # fmt: skip
    parser.add_argument("--loss", choices=("squared", "huber"), help="huber: outliers count less (default squared)")
    parser.add_argument(
        "--delta", type=positive, metavar="NUMBER", help="where huber's outliers begin (default: found)"
    )
    parser.add_argument("--effort", choices=("quick", "normal", "thorough"), default="normal", help="how hard to look")
    parser.add_argument("--no-intercept", action="store_true", help="no constant beside the atoms")
    parser.add_argument(
        "--categorical", action="append", default=[], metavar="COL[,COL]", help="columns of 0 and 1, one group"
    )
    parser.add_argument("--drop", action="append", default=[], metavar="COL[,COL]", help="leave columns out")
    parser.add_argument("--id", metavar="COL", help="what rows are called: left out, and copied to predictions")
    parser.add_argument("--missing", choices=("error", "drop", "mean"), default="error", help="missing values")
    parser.add_argument("--weights", metavar="COL", help="the column with weights of the rows; 0 leaves one out")


@dataclass(frozen=True, eq=False)
class Question:
    """What the doors are asked: M with its names, b, and words; how tables become M, where M was a table; the group of
    each column, where they have some; what each row is called in the file, by its id or its number from 1."""

    M: Operator
    b: Array
    words: Words
    recipe: Recipe | None = None
    groups: Sequence[str] | None = None
    called: Sequence[object] = ()

    @property
    def rows(self) -> int:
        return int(self.M.shape[0])

    @property
    def atoms(self) -> int:
        """How many there are to choose from."""
        return int(self.words["atoms"].count)


def question(options: argparse.Namespace, session: Session) -> Question:
    """Read the data; all that cannot be asked is refused here."""
    import scipy.sparse as sp

    from fewatoms import io
    from fewatoms.io.table import table_of

    _agree(options)
    if options.target is not None:
        return _of_table(options, session, io.read_table(options.data))
    grid = _beside_target(options)
    if sp.issparse(grid.values):
        return _of_sparse(options, grid)
    named = argparse.Namespace(**{**vars(options), "target": TARGET})
    return _of_table(named, session, table_of(grid))


def _agree(options: argparse.Namespace) -> None:
    """Options that contradict each other."""
    grouped = options.group_by is not None or bool(options.categorical)
    for wrong, why in (
        (options.positive and grouped, "--positive is for single columns, not for groups or categories"),
        (options.classes and options.loss is not None, "--loss is for numbers, not together with --classes"),
        (options.delta is not None and options.loss != "huber", "--delta is for --loss huber"),
        (options.target is not None and options.target == options.weights, "--target and --weights must differ"),
        (options.target in options.drop, "--target must not be dropped as well"),
        (options.weights is not None and options.weights in options.drop, "--weights must not be dropped as well"),
        (
            options.id is not None and options.id in (options.target, options.weights, *options.categorical),
            "--id must be a column of its own: not that of --target, --weights or --categorical",
        ),
        (bool({*options.categorical} & {*options.drop}), "--categorical and --drop must name different columns"),
        (options.target in options.categorical, "--target holds classes: say --classes instead of --categorical"),
    ):
        if wrong:
            raise refused(why)


def _beside_target(options: argparse.Namespace) -> Grid:
    """A matrix whose file has a target beside it."""
    from fewatoms import io

    if Path(options.data).name.lower().endswith((".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".parquet")):
        table = io.read_table(options.data)
        few = ", ".join(map(repr, table.names[:8])) + (", ..." if len(table.names) > 8 else "")
        raise refused(f"--target must name the column to explain; {options.data} has {few}")
    grid = io.read_grid(options.data)
    if grid.target is None:
        raise refused(f"{options.data} has no target beside its matrix: name the --target column (1, 2, ...)")
    if TARGET in (grid.names or ()):
        raise refused(f"{options.data} must have no column called {TARGET!r}, as the target beside it is: rename it")
    return grid


def _of_sparse(options: argparse.Namespace, grid: Grid) -> Question:
    """A sparse matrix, which stays so: all of its columns are in use, and none has gaps."""
    import numpy as np

    from fewatoms.io.table import numbered
    from fewatoms.operators import MatrixOperator

    if options.categorical or options.drop or options.weights or options.group_by or options.id:
        raise refused("--categorical, --drop, --id, --weights and --group-by are for tables, not for sparse matrices")
    if not np.isfinite(grid.values.data).all():
        raise refused(f"{grid.source}: a sparse matrix must hold finite numbers: leave out rows where some are missing")
    assert grid.target is not None
    b = _labels(grid.target, grid.source) if options.classes else _numbers(grid.target, grid.source)
    M = MatrixOperator(grid.values, grid.names or numbered(grid.values.shape[1]))
    return Question(M, b, _words(options, M, b, None, None), called=range(1, len(b) + 1))


def _of_table(options: argparse.Namespace, session: Session, table: Table) -> Question:
    import numpy as np

    from fewatoms.cli.design import as_written, recipe
    from fewatoms.operators import MatrixOperator

    options = _spread(options, table)
    table = as_written(table, [*options.categorical, *([options.target] if options.classes else [])])
    called = _rows_called(table, options)
    table, weights, called = _counting(table, called, options, session)
    target = _target(table, options)
    without = [*options.drop, *(name for name in (options.weights, options.id) if name is not None)]
    how, notes = recipe(
        table, options.target, categorical=options.categorical, without=without, missing=options.missing, id=options.id
    )
    for note in notes:
        session.note(note)
    gone = np.array([v is None for v in target]) if target.dtype.kind == "O" else np.isnan(target)
    gone = gone if weights is None else gone | np.isnan(weights)
    if gone.any() and options.missing == "error":
        where = "the target" if weights is None else "target or weights"
        raise refused(f"{table.source}: {where} must have no missing values; got {int(gone.sum())}: say --missing drop")
    X, whole = how.design(table)
    keep = whole & ~gone
    if not keep.all():
        session.note(f"{int((~keep).sum())} of {table.rows} rows are left out: something is missing there")
    if not keep.any():
        raise refused(f"{table.source}: no row is whole: say --missing mean, or --drop columns")
    X, b = (X, target) if keep.all() else (X[keep], target[keep])
    b = (
        _labels(b, f"{table.source}: target column {options.target!r}")
        if options.classes
        else _numbers(b, table.source)
    )
    M = MatrixOperator(X, how.made)
    groups = _groups(options, table, how)
    words = _words(options, M, b, groups, None if weights is None else weights[keep])
    return Question(M, b, words, how, groups, called[keep].tolist())


def _rows_called(table: Table, options: argparse.Namespace) -> Array:
    """The ids of the rows as they are written in the file, or their numbers, from 1."""
    import numpy as np

    from fewatoms import io

    if options.id is None:
        return np.arange(1, table.rows + 1)
    table.column(options.id)  # refused unless it is there
    return io.read_table(options.data, columns=[options.id], as_text=[options.id]).columns[options.id]


def _spread(options: argparse.Namespace, table: Table) -> argparse.Namespace:
    """Options in which each column that is named stands by itself."""
    from fewatoms.cli.design import spread

    words = {"drop": spread(table, options.drop), "categorical": spread(table, options.categorical)}
    options = argparse.Namespace(**{**vars(options), **words})
    _agree(options)
    return options


def _counting(
    table: Table, called: Array, options: argparse.Namespace, session: Session
) -> tuple[Table, Array | None, Array]:
    """The rows that count, their weights and what they are called: those of weight 0 are as if they were not there."""
    import numpy as np

    from fewatoms import io

    if options.weights is None:
        return table, None, called
    weights = table.numeric([options.weights])[:, 0]
    if (weights < 0).any():
        demand = "weights must be positive, or 0 for rows that do not count"
        raise refused(f"{table.source}: {demand}; column {options.weights!r} has {np.nanmin(weights):g}")
    some = weights != 0
    if not some.any():
        raise refused(f"{table.source}: some weights must be positive; those of column {options.weights!r} are all 0")
    if some.all():
        return table, weights, called
    session.note(f"{int((~some).sum())} of {table.rows} rows have weight 0 and do not count")
    kept = io.Table({name: column[some] for name, column in table.columns.items()}, table.source)
    return kept, weights[some], called[some]


def _target(table: Table, options: argparse.Namespace) -> Array:
    from fewatoms.cli.design import dated

    target = table.column(options.target)
    if target.dtype.kind == "O" and not options.classes:
        told = repr(next((v for v in target if v is not None), None))
        how = "turn dates into numbers first, such as days since the first" if dated(target) else "say --classes"
        raise refused(f"{table.source}: target column {options.target!r} holds text, {told} for one: {how}")
    return target


def _numbers(b: Array, source: str) -> Array:
    import numpy as np

    if not np.isfinite(b).all():
        what = "infinity" if np.isinf(b).any() else "a missing value"
        raise refused(f"{source}: the target must hold finite numbers; there is {what} in it")
    return b


def _labels(b: Array, source: str) -> Array:
    """Classes as labels: words as they are written, or whole numbers where all are written as such."""
    import numpy as np

    from fewatoms.io.codes import as_ids

    if b.dtype.kind == "O":
        words, place = np.unique([str(v) for v in b], return_inverse=True)
        known = as_ids(words.tolist())
        b = (known if known.dtype.kind == "i" else words)[place]
    elif (b == np.round(b)).all() and np.abs(b).max() < 2**53:
        b = b.astype(np.int64)
    known = np.unique(b)
    if known.size < 2:
        raise refused(f"{source} must hold two classes or more; got {known[0].item()!r} alone")
    if known.size > max(2, b.size // 2):
        raise refused(f"{source} must hold few classes; got {known.size} in {b.size} rows: leave out --classes")
    return b


def _groups(options: argparse.Namespace, table: Table, how: Recipe) -> list[str] | None:
    """The group of each column of the matrix; None where each is by itself."""
    if options.group_by is None and not any(column.levels is not None for column in how.columns):
        return None
    group = _grouping(options, [column.name for column in how.columns])
    return [group[column.name] for column in how.columns for _ in column.made]


def _grouping(options: argparse.Namespace, columns: Sequence[str]) -> dict[str, str]:
    from fewatoms import io, names
    from fewatoms.cli.design import as_written

    said = options.group_by
    if said is None:
        return {name: name for name in columns}
    if not Path(said).is_file():
        if len(said) > 3 or not said:
            raise refused(f"--group-by must be a separator such as _ or a file that is there; got {said!r}")
        if not any(said in name for name in columns):
            raise refused(f"--group-by {said!r} must occur in names of columns; they are {names.told(columns)}")
        return {name: name.split(said, 1)[0] or name for name in columns}
    told = io.read_table(said)
    if {"name", "group"} - {*told.names}:
        raise refused(f"{said}: must have the columns 'name' and 'group'; got {names.told(told.names)}")
    told = as_written(told, ["name", "group"])
    known, groups = ([str(v) for v in told.column(head)] for head in ("name", "group"))
    strange = [name for name in known if name not in columns]
    if strange:
        raise refused(f"{said}: names must be those of columns in use; {names.told(strange)} are not")
    given = dict(zip(known, groups, strict=True))
    return {name: given.get(name, name) for name in columns}


def _words(
    options: argparse.Namespace, M: Operator, b: Array, groups: list[str] | None, weights: Array | None
) -> Words:
    """What the doors are told beside M, b, k and a bound."""
    import fewatoms as fa

    n = int(M.shape[1])
    single: type[AtomicSet] = fa.NonnegativeOneHot if options.positive else fa.SignedOneHot
    words: Words = {
        "atoms": single(n) if groups is None else fa.Groups(groups),  # type: ignore[call-arg]
        "effort": options.effort,
        "ridge": ("auto" if options.classes else None) if options.ridge is None else options.ridge,
        "free": None if options.no_intercept else "intercept",
        "rng": options.seed,
    }
    words["loss"] = _loss(options, b, weights)
    return words


def _loss(options: argparse.Namespace, b: Array, weights: Array | None) -> Loss:
    import numpy as np

    import fewatoms as fa

    if options.classes:
        count = np.unique(b).size
        if options.positive and count > 2:
            raise refused(f"--positive is for numbers and two classes; got {count} classes: leave it out")
        return fa.Logistic(weights) if count == 2 else fa.Multinomial(weights)
    if options.delta is not None:
        return fa.Huber(options.delta, weights)
    return fa.LeastSquares(weights)  # for a first fit, whose residual says where outliers begin


def robust(ask: Question, first: Solution) -> Question:
    """The same question with Huber's loss, whose outliers begin where the residual of a first fit says."""
    import fewatoms as fa
    from fewatoms.losses.huber import usual_delta

    weights = ask.words["loss"].weights
    delta = usual_delta(ask.b - first.predict(ask.M), weights)
    words: Words = {**ask.words, "loss": fa.Huber(delta, weights)}
    return replace(ask, words=words)


def few(asked: list[int] | None, ask: Question, session: Session) -> list[int]:
    """The budgets to try, none of them larger than the data allow."""
    most = min(ask.rows, ask.atoms)
    ks = list(range(1, min(USUAL, most) + 1)) if asked is None else asked
    if min(ks) > ask.rows:
        raise refused(f"-k must be at most the number of rows, {ask.rows}; got {min(ks)}")
    kept, kind = [k for k in ks if k <= most], "columns" if ask.groups is None else "groups"
    if not kept:
        raise refused(f"-k must be at most the number of {kind} in use, {ask.atoms}; got {min(ks)}")
    if len(kept) < len(ks):
        session.note(f"-k is tried up to {max(kept)}: there are {ask.rows} rows and {ask.atoms} {kind} in use")
    return kept
