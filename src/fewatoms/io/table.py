"""Tables: columns with names, of whatever file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fewatoms._types import Array
from fewatoms.io.arrays import Archive
from fewatoms.io.cells import objects, spelled
from fewatoms.io.columns import stored_table, typed_table
from fewatoms.io.endings import ARRAYS, READ, PathLikeStr, input_file, keyed
from fewatoms.io.grid import MODEL, TARGET, dense, stored_grid
from fewatoms.io.memory import afford
from fewatoms.io.records import Grid, Table, asked
from fewatoms.io.refused import fitting


@fitting
def read_table(path: PathLikeStr, *, columns: Sequence[str] | None = None, as_text: Sequence[str] = ()) -> Table:
    """Read columns with names: text with a line of names, Parquet, Feather, Arrow; or a matrix, whose columns are
    called "1", "2", ... where nothing names them, and what stands beside it "y".

    `columns` are the names of those that are wanted, all if None. Dates stay text; nothing is filled in. Columns named
    in `as_text`, such as ids, stay as they are written: 007 is not 7, and whole numbers of 64 bits lose nothing.
    """
    path, key = keyed(path)
    file, source, kind = input_file(path, READ)
    if kind not in ARRAYS:
        table = typed_table(file, source, kind, columns, as_text)
    elif key is None and kind == ".npz" and _has_columns(archive := Archive(file, source)):
        table = stored_table(archive, as_text)
    else:
        table = table_of(stored_grid(file, source, kind, key))
    asked(source, as_text, table.names)
    if kind in ARRAYS:
        table = _spelled(table, as_text)
    if columns is None or table.names == tuple(columns):
        return table
    asked(source, columns, table.names)
    return Table({name: table.columns[name] for name in columns}, source)


def _spelled(table: Table, names: Sequence[str]) -> Table:
    """With numbers in these columns written out, whole ones without a point."""
    numbers = [name for name in names if table.columns[name].dtype.kind != "O"]
    words = {
        name: objects([None if np.isnan(v) else spelled(v) for v in table.columns[name].tolist()]) for name in numbers
    }
    return Table({**table.columns, **words}, table.source)


def numbered(count: int) -> tuple[str, ...]:
    """Names of columns that have none."""
    return tuple(str(number) for number in range(1, count + 1))


def _has_columns(archive: Archive) -> bool:
    axes = {len(told.shape) for told in archive.headers.values()}
    return axes == {1} and not archive.is_sparse and MODEL not in archive.headers


def table_of(grid: Grid) -> Table:
    """A matrix as columns; what stands beside it is one more."""
    rows, count = grid.values.shape
    afford(grid.source, 8 * rows * count)
    values: Array = dense(grid.values)
    names = numbered(count) if grid.names is None else grid.names
    columns = {name: values[:, place].astype(np.float64) for place, name in enumerate(names)}
    if grid.target is not None:
        columns.setdefault(TARGET, grid.target)
    return Table(columns, grid.source)
