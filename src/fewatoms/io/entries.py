"""Matrices by some of their entries, lean in memory: 20 million entries take little more than their triplets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from fewatoms._types import Array, Matrix
from fewatoms.io import arrow, text
from fewatoms.io.cells import NUMBER, TEXT, Cells, with_commas
from fewatoms.io.codes import Coder, Growing, WordCoder
from fewatoms.io.columns import Rows, either_way
from fewatoms.io.endings import ARRAYS, FEATHER, MARKET, PARQUET, READ, PathLikeStr, input_file, keyed
from fewatoms.io.grid import stored_grid
from fewatoms.io.market import read_market
from fewatoms.io.memory import afford
from fewatoms.io.records import Entries, asked
from fewatoms.io.refused import Refused, fitting

ONCE = "count"  # what the value is called where each row of a table is one click
ROW, COLUMN, VALUE = "row", "column", "value"  # what the parts of a triplet are called where the file has no names
OPTIONS = "--user (in Python, row)", "--item (col)", "--value (value)"  # who names them
Three: TypeAlias = tuple[str, str, str]
Parts: TypeAlias = Iterator[tuple[list[tuple[Array, Array]], Array]]  # ids, each once with their places; values
TRIPLET = 24  # bytes of an entry: two codes and a number, and the key by which repeated ones are found


@fitting
def read_entries(
    path: PathLikeStr,
    *,
    row: str | None = None,
    col: str | None = None,
    value: str | None = None,
    duplicates: str = "error",
    clicks: bool = False,
) -> Entries:
    """Read a matrix by some of its entries: a table with a column for the row, one for the column and one for the value
    (the first three if nobody says), a sparse matrix, or an array with NaN for what is missing.

    Ids are whole numbers or strings, in ascending order; rows and columns of matrices are numbered from 1. `duplicates`
    says what is done with a place that comes more than once: "error", "mean" of its values, their "sum", or the "last"
    one. Tables of `clicks` may do without a value: each row is one then.
    """
    if duplicates not in MERGED:
        raise Refused(f"duplicates must be one of {', '.join(MERGED)}; got {duplicates!r}")
    path, key = keyed(path)
    file, source, kind = input_file(path, READ)
    if kind not in ARRAYS:
        with _unless_a_matrix(file, (row, col, value)):
            found = _of_table(file, source, kind, (row, col, value), clicks)
    elif (row, col, value) == (None, None, None):
        found = _of_matrix(file, source, kind, key)
    else:
        raise Refused(f"row, col and value name columns of a table; {source} is a matrix: leave them out")
    return found.entries(duplicates)


@contextmanager
def _unless_a_matrix(path: Path, names: Sequence[str | None]) -> Iterator[None]:
    """A table that cannot be read so, of more columns than three of which nobody names one, may be meant as a matrix:
    what is said against it tells how one is read."""
    try:
        yield
    except Refused as error:
        with path.open("rb") as file:
            line = file.readline(1 << 16)
        if any(name is not None for name in names) or max(map(line.count, (b",", b";", b"\t"))) < 3:
            raise
        how = "save it as an array (.npy, .npz) with NaN where entries are missing"
        raise Refused(f"{error}. Entries are three columns; if this is a matrix with gaps, {how}") from error


class Triplets:
    """Codes, values and ids while they are put together; gives its arrays away rather than copies."""

    def __init__(self, parts: tuple[Array, Array, Array], ids: tuple[Array, Array], names: Three, source: str) -> None:
        self.rows, self.cols, self.values = parts
        self.ids, self.names, self.source = ids, names, source

    def entries(self, duplicates: str) -> Entries:
        if not len(self.values):
            raise Refused(f"{self.source} has no entries: write it again")
        keys = self._keys()
        keys.sort()
        again = _repeated(keys)
        example = int(keys[1:][again][0]) if len(keys) > 1 and again.any() else None
        count = int(np.count_nonzero(again))
        del keys, again
        if example is not None and duplicates == "error":
            row, col = divmod(example, len(self.ids[1]))
            raise Refused(
                f"{self.source} must have each place once; {count} entries repeat one, such as row "
                f"{self.ids[0][row]!s}, column {self.ids[1][col]!s}: drop them, or say "
                "--duplicates mean, sum or last (in Python, duplicates=...)"
            )
        if example is not None:
            self._merge(MERGED[duplicates])
        return Entries(self.rows, self.cols, self.values, *self.ids, *self.names, self.source)

    def _keys(self) -> Array:
        """One number for each place of the matrix."""
        keys = self.rows.astype(np.int64)
        keys *= len(self.ids[1])
        keys += self.cols
        return keys

    def _merge(self, put: Callable[[Array, Array, Array], None]) -> None:
        """One entry for each place, by rows; places are kept in their keys meanwhile, so that codes need no room."""
        keys, dtype = self._keys(), self.rows.dtype
        self.rows = self.cols = np.empty(0, dtype=dtype)
        order = np.argsort(keys, kind="stable")
        values = self.values = self.values[order]
        del order
        keys.sort()
        first = np.concatenate([[True], ~_repeated(keys)])
        keys, self.values = keys[first], values[first]
        repeats = np.flatnonzero(~first)
        put(self.values, repeats - np.arange(1, len(repeats) + 1), values[repeats])
        self.rows, self.cols = np.empty(len(keys), dtype=dtype), np.empty(len(keys), dtype=dtype)
        np.floor_divide(keys, len(self.ids[1]), out=self.rows, casting="unsafe")
        np.remainder(keys, len(self.ids[1]), out=self.cols, casting="unsafe")


def _repeated(keys: Array) -> Array:
    """Which of sorted keys, from the second on, are as the one before."""
    same: Array = keys[1:] == keys[:-1]
    return same


def _put_means(values: Array, places: Array, others: Array) -> None:
    """Means of the values at some places and all others that belong there."""
    some, which = np.unique(places, return_inverse=True)
    sums = np.bincount(which, others) + values[some]
    values[some] = sums / (1 + np.bincount(which))


def _put_sums(values: Array, places: Array, others: Array) -> None:
    """Sums of the values at some places and all others that belong there."""
    np.add.at(values, places, others)


def _put_lasts(values: Array, places: Array, others: Array) -> None:
    """The last of the others that belong at a place."""
    values[places] = others


MERGED: Mapping[str, Callable[[Array, Array, Array], None]] = {
    "error": _put_lasts,
    "mean": _put_means,
    "last": _put_lasts,
    "sum": _put_sums,
}


# Tables --------------------------------------------------------------------------------------------------------------


def _of_table(path: Path, source: str, kind: str, names: Sequence[str | None], clicks: bool) -> Triplets:
    if kind in PARQUET or kind in FEATHER:
        file = (arrow.Parquet if kind in PARQUET else arrow.Ipc)(path, source)
        chosen = columns_chosen(source, file.names, names, clicks)
        file.refuse_large(chosen)
        return _of_typed(file, chosen)
    layout = text.layout(path, source)
    chosen = columns_chosen(source, layout.names, names, clicks)
    if all(map(NUMBER.fullmatch, chosen)):
        raise Refused(
            f"{source} must have a line of names above the entries; it begins with {', '.join(chosen)}: add a line "
            f"such as {layout.separator.join((ROW, COLUMN, VALUE))}"
        )
    return either_way(layout, lambda rows: _of_text(layout, chosen, rows))


def columns_chosen(source: str, there: tuple[str, ...], names: Sequence[str | None], clicks: bool) -> Three:
    """The columns of ids and values; of clicks the last may be missing."""
    if not clicks or names[2] is not None or len(there) - (there[:1] == ("index",)) > 2:
        return _three(source, there, names)
    row, col, _ = _three(source, (*there, ONCE), (*names[:2], ONCE))
    return row, col, ONCE


def _three(source: str, there: tuple[str, ...], names: Sequence[str | None]) -> Three:
    """The columns of ids and values: those that are named, and for the others the first that are left, but for an
    index."""
    for name, option in zip(names, OPTIONS, strict=True):
        if name is not None:
            asked(source, [name], there, option)
    left = [name for name in there if name not in names]
    if left[:1] == ["index"] and len(there) > 3:
        left = left[1:]
    if len(left) < names.count(None):
        raise Refused(
            f"{source} must have three columns, for the row, the column and the value; it has {len(there)}: add what "
            "is missing"
        )
    free = iter(left)
    row, col, value = (next(free) if name is None else name for name in names)
    if len({row, col, value}) < 3:
        raise Refused(f"row, col and value must name different columns; got {row!r}, {col!r} and {value!r}")
    return row, col, value


def _of_text(it: text.Layout, names: Three, rows: Rows) -> Triplets:
    """By words: whether ids are whole numbers is known at the end."""
    return _gathered(it.source, names, *text_parts(it, names, rows))


def text_parts(it: text.Layout, names: Three, rows: Rows) -> tuple[list[Coder], Parts]:
    """Who numbers the ids of a table of text, and its parts."""
    row, col = (it.names.index(name) for name in names[:2])
    value = None if names[2] == ONCE else it.names.index(names[2])

    def parts() -> Parts:
        for batch in rows(it):
            ids = [batch[place].encoded() for place in (row, col)]
            yield ids, np.ones(ids[0][1].size) if value is None else _numbers(it, names[2], batch[value])

    return [WordCoder(), WordCoder()], parts()


def _numbers(it: text.Layout, name: str, cells: Cells) -> Array:
    kind, numbers = cells.numbers()
    if kind != TEXT:
        return numbers
    column = cells.texts() if it.separator == "," else with_commas(it.source, name, cells.texts())
    if column.dtype.kind == "O":
        raise Refused(
            f"{it.source} must have numbers in column {name!r}; there is text in it: name the column of the values, "
            "and write numbers with decimal points"
        )
    return column


def _of_typed(it: arrow.Binary, names: Three) -> Triplets:
    return _gathered(it.source, names, *typed_parts(it, names), it.rows)


def typed_parts(it: arrow.Binary, names: Three, rows: int = arrow.BATCH_ROWS) -> tuple[list[Coder], Parts]:
    """Who numbers the ids of a table of columns with types, and its parts, so many rows at a time."""
    there = names[: 2 if names[2] == ONCE else 3]
    kinds = it.types(there)
    readers = [arrow.identifier(it.source, name, kind) for name, kind in zip(names[:2], kinds[:2], strict=True)]
    values = None if len(there) == 2 else arrow.value_reader(it.source, names[2], kinds[2])

    def parts() -> Parts:
        for row, col, *value in it.batches(there, rows):
            ids = [reader.encoded(column) for column, reader in zip((row, col), readers, strict=True)]
            yield ids, np.ones(ids[0][1].size) if values is None else values(value[0])

    return [reader.coder for reader in readers], parts()


def whole_parts(source: str, names: Three, parts: Parts) -> Parts:
    """The same where nothing is missing."""
    count = 0
    for ids, numbers in parts:
        for name, (_, places) in zip(names, ids, strict=False):
            if places.min(initial=0) < 0:
                absent = int(np.argmin(places))
                raise Refused(
                    f"{source} must say of each value where it stands; row {count + absent + 1} has nothing in column "
                    f"{name!r}: fill it in, or drop that row"
                )
        missing = np.isnan(numbers)
        if missing.any():
            raise Refused(
                f"{source} must have a number in each row of {names[2]!r}; row {count + int(missing.argmax()) + 1} "
                "has none: drop rows without a value"
            )
        yield ids, numbers
        count += len(numbers)


def _gathered(source: str, names: Three, coders: Sequence[Coder], parts: Parts, expected: int = 0) -> Triplets:
    """Triplets from parts of the ids, each once with their places, and of the values."""
    values = Growing(expected)
    for coder in coders:
        coder.rows.expected = expected
    count = 0
    for ids, numbers in whole_parts(source, names, parts):
        for coder, (once, places) in zip(coders, ids, strict=True):
            coder.add(once, places)
        values.add(numbers)
        count += len(numbers)
        afford(source, TRIPLET * max(0, count - expected) // 4)  # arrays grow by a quarter
    (rows, row_ids), (cols, col_ids) = (coder.finished() for coder in coders)
    return Triplets((rows, cols, values.whole()), (row_ids, col_ids), names, source)


# Matrices ------------------------------------------------------------------------------------------------------------


def _of_matrix(path: Path, source: str, kind: str, key: str | None) -> Triplets:
    """The entries of a matrix that are there: those kept of a sparse one, those that are numbers of an array."""
    matrix = read_market(path, source) if kind in MARKET else stored_grid(path, source, kind, key).values
    rows, cols, values = _known(matrix)
    ids = tuple(np.arange(1, length + 1, dtype=np.int64) for length in matrix.shape)
    single = values.dtype == np.float32
    numbers = values if single else values.astype(np.float64)
    codes = rows.astype(np.int32), cols.astype(np.int32)
    return Triplets((*codes, numbers), (ids[0], ids[1]), (ROW, COLUMN, VALUE), source)


def _known(matrix: Matrix) -> tuple[Array, Array, Array]:
    if sp.issparse(matrix):
        entries = sp.coo_array(matrix)
        there = ~np.isnan(entries.data) if entries.data.dtype.kind == "f" else slice(None)
        return entries.row[there], entries.col[there], entries.data[there]
    rows, cols = np.nonzero(~np.isnan(matrix))
    return rows, cols, matrix[rows, cols]
