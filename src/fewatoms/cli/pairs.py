"""A completed matrix with ids: entries, the best of each row, all of them, and the arrays that a file keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import kept, names
from fewatoms.cli.models import HOW
from fewatoms.cli.options import refused

if TYPE_CHECKING:
    from fewatoms._types import Array, FloatArray
    from fewatoms.cli.session import Session
    from fewatoms.io import Entries, Table
    from fewatoms.kept import Plain
    from fewatoms.lowrank import LowRank

ROWS, COLS = f"{HOW} rows", f"{HOW} cols"


@dataclass(frozen=True, eq=False)
class Completed:
    """A low-rank model whose rows and columns have ids.

    row, col, value : what they are called
    scale : the ends of the scale that predictions are kept to, or None
    """

    model: LowRank
    row_ids: Array
    col_ids: Array
    row: str
    col: str
    value: str
    scale: tuple[float, float] | None

    def plain(self) -> Plain:
        scale: Plain = None if self.scale is None else [*self.scale]
        return {"kind": "pairs", "row": self.row, "col": self.col, "value": self.value, "scale": scale}

    def arrays(self) -> dict[str, Array]:
        return {ROWS: _storable(self.row_ids), COLS: _storable(self.col_ids)}

    @classmethod
    def read(cls, model: LowRank, how: dict[str, Plain], arrays: dict[str, Array]) -> Completed:
        ends = None if how["scale"] is None else [kept.real(v) for v in kept.rows(how["scale"])]
        scale = None if ends is None else (ends[0], ends[1])
        return cls(model, arrays[ROWS], arrays[COLS], str(how["row"]), str(how["col"]), str(how["value"]), scale)

    def on_scale(self, values: FloatArray) -> FloatArray:
        return values if self.scale is None else np.clip(values, *self.scale)

    def predicted(self, session: Session, table: Table) -> dict[str, Array]:
        """The pairs of a table with their entries; none for ids that were not there."""
        row, col = which(table, self.row, self.col)
        rows, cols = table.column(row), table.column(col)
        i, j = _codes(rows, self.row_ids), _codes(cols, self.col_ids)
        known = (i >= 0) & (j >= 0)
        if not known.all():
            session.note(f"{int((~known).sum())} of {known.size} pairs have ids that the model does not know: no value")
        values = np.full(known.size, np.nan)
        values[known] = self.on_scale(self.model.predict(i[known], j[known]))
        return {row: _named(rows, i, self.row_ids), col: _named(cols, j, self.col_ids), self.value: values}

    def best(self, n: int, seen: Entries) -> dict[str, Array]:
        """The n largest entries of each row that were not given."""
        order = np.argsort(seen.rows, kind="stable")
        cols = seen.cols[order]
        ends = np.searchsorted(seen.rows[order], np.arange(self.row_ids.size + 1))
        rows, found, values = [], [], []
        for i in range(self.row_ids.size):
            some, height = self.model.top(i, n, exclude=cols[ends[i] : ends[i + 1]])
            rows.append(np.full(some.size, i))
            found.append(some)
            values.append(height)
        at = np.concatenate(rows)
        return {
            self.row: self.row_ids[at],
            self.col: self.col_ids[np.concatenate(found)],
            self.value: self.on_scale(np.concatenate(values)),
        }

    def filled(self, given: Entries) -> FloatArray:
        """The whole matrix; entries that were given are as they were."""
        X = self.model.left @ self.model.right.T
        biases = self.model.biases
        if biases is not None:
            X += biases.center + biases.rows[:, None] + biases.cols
        X = self.on_scale(X)
        X[given.rows, given.cols] = given.values
        return X

    def listed(self, X: FloatArray) -> dict[str, Array]:
        """A whole matrix as a table of entries, row by row."""
        p, q = X.shape
        return {
            self.row: np.repeat(self.row_ids, q),
            self.col: np.tile(self.col_ids, p),
            self.value: X.ravel(),
        }


def which(table: Table, row: str, col: str) -> tuple[str, str]:
    """The columns with the ids of pairs: by their names, or the first two."""
    if {row, col} <= {*table.names}:
        return row, col
    if len(table.names) < 2:
        raise refused(f"{table.source}: must have the columns {row!r} and {col!r}; got {names.told(table.names)} alone")
    return table.names[0], table.names[1]


def _storable(ids: Array) -> Array:
    """Text without objects in it."""
    return ids.astype(np.str_) if ids.dtype.kind == "O" else ids


def _as_ids(column: Array) -> Array:
    """Ids as they are written: whole numbers without a point."""
    if column.dtype.kind == "f" and np.isfinite(column).all() and (column == np.round(column)).all():
        return column.astype(np.int64)
    return column


def _named(column: Array, codes: Array, ids: Array) -> Array:
    """Ids as the model knows them, where all are known; else as they came."""
    return np.asarray(ids[codes]) if (codes >= 0).all() else _as_ids(column)


def _codes(column: Array, ids: Array) -> Array:
    """Where ids stand among those of the model; -1 for strangers. Ids that are told apart by how they are written, such
    as 7 and 007, are not known again in a column that was read as numbers."""
    texts, numbers = ids.dtype.kind in "OU", column.dtype.kind != "O"
    if not texts or not numbers:
        known = {(str(name) if texts else float(name)): i for i, name in enumerate(ids.tolist())}
        given = column.tolist() if texts or numbers else [_number(v) for v in column.tolist()]
        return np.array([known.get(value, -1) for value in given], dtype=np.intp)
    by_value: dict[float, list[int]] = {}
    for i, name in enumerate(ids.tolist()):
        by_value.setdefault(_number(name), []).append(i)
    found = [by_value.get(value, [-1]) for value in column.tolist()]
    unclear = next((i for i in found if len(i) > 1), None)
    if unclear is not None:
        one, other = (str(ids[i]) for i in unclear[:2])
        raise refused(
            f"ids of pairs must be text, as those of the model are: {one!r} and {other!r} are the same number; "
            "give them in a Parquet file with text, or with a word among them"
        )
    return np.array([i[0] for i in found], dtype=np.intp)


def _number(text: object) -> float:
    try:
        return float(str(text))
    except ValueError:
        return np.nan
