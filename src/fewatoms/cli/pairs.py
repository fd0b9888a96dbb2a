"""A completed matrix in tables: pairs of ids, the best of each row, all entries, and the arrays that a file keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from fewatoms import kept, names
from fewatoms.capabilities import SampledEntries, need
from fewatoms.cli.models import HOW
from fewatoms.cli.options import refused
from fewatoms.completed import Completed, Reads, clicked
from fewatoms.ids import UNKNOWN, Ids
from fewatoms.operators import Sampling

if TYPE_CHECKING:
    from fewatoms import EntryBlocks, io
    from fewatoms._types import Array, FloatArray, IntArray, Matrix, Vector
    from fewatoms.cli.session import Session
    from fewatoms.io import Table
    from fewatoms.kept import Plain
    from fewatoms.lowrank import LowRank

ROWS, COLS = f"{HOW} rows", f"{HOW} cols"
PREFERENCE = "preference"  # what is said of a pair where there were clicks
ANY = (-np.inf, np.inf)  # the scale of values that keep to none


@dataclass(frozen=True, eq=False)
class Given:
    """Entries as a file had them, their places kept in the operator alone: there may be many.

    row, col, value : what the columns of ids and values are called
    reads : where some rows have entries, of entries that are not kept here
    """

    M: Sampling | EntryBlocks
    values: Vector
    row_ids: Array
    col_ids: Array
    row: str
    col: str
    value: str
    source: str
    weights: FloatArray | None = None
    reads: Reads | None = None

    @classmethod
    def of(cls, found: io.Entries, background: float = 0.0, confidence: float = 1.0) -> Given:
        """Values as they are; with a background counts of clicks, which are preferences of 1 with weights."""
        names = found.row, found.col, PREFERENCE if background else found.value
        M = Sampling(found.rows, found.cols, found.shape, background=background)
        rest = found.row_ids, found.col_ids, *names, found.source
        if not background:
            return cls(M, found.values, *rest)
        counts = np.asarray(found.values, dtype=np.float64)
        if counts.min() <= 0:
            raise refused(f"{found.source}: counts of clicks must be above 0; got {counts.min():g}: drop such rows")
        return cls(M, np.ones(counts.size), *rest, clicked(counts, confidence))

    @property
    def seen(self) -> Matrix | None:
        """Where they are, of those that are."""
        if self.reads is not None:
            return None
        starts, cols, marks = need(self.M, SampledEntries).row_by_row(np.ones(self.values.size, dtype=bool))
        return sp.csr_array((marks, cols, starts), shape=self.M.matrix_shape)


@dataclass(frozen=True, eq=False)
class Pairs:
    """A completed matrix as tables have it.

    row, col, value : what the columns of ids and values are called
    """

    matrix: Completed
    row: str
    col: str
    value: str
    answer = None  # of a fit, which is not kept

    @classmethod
    def of(cls, model: LowRank, given: Given, scale: tuple[float, float] | None) -> Pairs:
        """The matrix that was completed from these entries."""
        rows, cols = Ids(given.row_ids), Ids(given.col_ids)
        mean = 0.0 if given.M.background else float(given.values.mean())
        matrix = Completed(model, rows, cols, given.seen, mean, scale or ANY, given.reads)
        return cls(matrix, given.row, given.col, given.value)

    def plain(self) -> Plain:
        scale: Plain = None if self.matrix.span == ANY else [*self.matrix.span]
        return {"kind": "pairs", "row": self.row, "col": self.col, "value": self.value, "scale": scale,
                "mean": self.matrix.otherwise}  # fmt: skip

    def arrays(self) -> dict[str, Array]:
        return {ROWS: _storable(self.matrix.rows.values), COLS: _storable(self.matrix.cols.values)}

    @classmethod
    def read(cls, model: LowRank, how: dict[str, Plain], arrays: dict[str, Array]) -> Pairs:
        low, high = ANY if how["scale"] is None else (kept.real(v) for v in kept.rows(how["scale"]))
        rows, cols = arrays[ROWS], arrays[COLS]
        if not low < high or (_distinct(rows), _distinct(cols)) != model.shape:
            raise ValueError("there must be an id for each row and column, and a scale from low to high")
        mean = None if how.get("mean") is None else kept.real(how["mean"])  # files of 0.1 have none
        matrix = Completed(model, Ids(rows), Ids(cols), None, mean, (low, high))
        return cls(matrix, str(how["row"]), str(how["col"]), str(how["value"]))

    def about(self, session: Session, path: str, id: str | None) -> dict[str, Array]:
        """What the model says of the pairs of a file."""
        from fewatoms import io

        if id is not None:
            raise refused("--id is for tables: predictions of pairs have their ids already")
        with session.timed("read"):
            table = io.read_table(path)
        with session.timed("work"):
            return self.predicted(session, table)

    def predicted(self, session: Session, table: Table) -> dict[str, Array]:
        """The pairs of a table with what the model says of them: of ids that were not there, what the biases of the
        other one say, or the mean of all values, as `MatrixCompletion.predict` does."""
        row, col = which(table, self.row, self.col)
        refuse_value(table, (row, col), self.value)
        rows, cols = table.column(row), table.column(col)
        i, j = (
            side.written("ids of pairs", some) for side, some in ((self.matrix.rows, rows), (self.matrix.cols, cols))
        )
        known = (i != UNKNOWN) & (j != UNKNOWN)
        if not known.all():
            said = "the mean of all values" if self.matrix.model.biases is None else "what biases alone say"
            number = f"{int((~known).sum())} of {known.size}"
            session.note(f"{number} pairs have ids that the model does not know: they get {said}")
        values = self.matrix.at(i, j)
        return {row: _named(rows, i, self.matrix.rows), col: _named(cols, j, self.matrix.cols), self.value: values}

    def best(self, n: int, users: Sequence[str] = ()) -> dict[str, Array]:
        """The n largest entries of each row, or of these alone, that were not given."""
        rows = rows_of(users, self.matrix.rows, self.row)
        cols, values = self.matrix.best(rows, n, exclude_seen=True)
        there = cols != UNKNOWN
        return {
            self.row: self.matrix.rows.values[np.repeat(rows, there.sum(axis=1))],
            self.col: self.matrix.cols.values[cols[there]],
            self.value: values[there],
        }

    def filled(self, given: Given) -> FloatArray:
        """The whole matrix; entries that were given are as they were."""
        X = self.matrix.whole()
        X[need(given.M, SampledEntries).positions] = given.values
        return X

    def listed(self, X: FloatArray) -> dict[str, Array]:
        """A whole matrix as a table of entries, row by row."""
        p, q = X.shape
        rows, cols = self.matrix.rows.values, self.matrix.cols.values
        return {self.row: np.repeat(rows, q), self.col: np.tile(cols, p), self.value: X.ravel()}


def rows_of(said: Sequence[str], ids: Ids, called: str) -> IntArray:
    """The rows that --users names: each by itself, or several with commas between them; all if it names none."""
    if not said:
        return np.arange(len(ids))
    known = {str(value) for value in ids.values.tolist()}
    parts = [part.strip() for text in said for part in ([text] if text in known else text.split(","))]
    rows = ids.written("--users", np.array(parts, dtype=object))
    strange = [part for part, row in zip(parts, rows, strict=True) if row == UNKNOWN]
    if strange:
        raise refused(f"--users must name ids of the column {called!r}; {names.told(strange)} not among them")
    return np.array([*dict.fromkeys(rows.tolist())], dtype=np.intp)


def which(table: Table, row: str, col: str) -> tuple[str, str]:
    """The columns with the ids of pairs: by their names, or the first two where both are called otherwise."""
    if {row, col} <= {*table.names}:
        return row, col
    if len(table.names) < 2 or {row, col} & {*table.names}:
        raise refused(f"{table.source}: must have the columns {row!r} and {col!r}; got {names.told(table.names)} alone")
    return table.names[0], table.names[1]


def refuse_value(table: Table, ids: tuple[str, str], value: str) -> None:
    """Refuse ids in a column that is called as the values are: one of them would be lost."""
    if value in ids:
        raise refused(
            f"{table.source}: ids must not stand in the column {value!r}, as the values are called: rename it"
        )


def _distinct(ids: Array) -> int:
    """How many there are, if they are as they are written: whole numbers or text, each once; else -1."""
    good = ids.ndim == 1 and ids.dtype.kind in "iU" and np.unique(ids).size == ids.size
    return int(ids.size) if good else -1


def _storable(ids: Array) -> Array:
    """Text without objects in it."""
    return ids.astype(np.str_) if ids.dtype.kind == "O" else ids


def _as_ids(column: Array) -> Array:
    """Ids as they are written: whole numbers without a point."""
    if column.dtype.kind == "f" and np.isfinite(column).all() and (column == np.round(column)).all():
        return column.astype(np.int64)
    return column


def _named(column: Array, codes: IntArray, ids: Ids) -> Array:
    """Ids as the model knows them, where all are known; else as they came."""
    return _as_ids(column) if (codes == UNKNOWN).any() else ids.at(codes)
