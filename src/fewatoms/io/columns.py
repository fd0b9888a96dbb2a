"""Columns with names from any file that has some."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from fewatoms._types import Array
from fewatoms.io import arrow, text
from fewatoms.io.arrays import Archive
from fewatoms.io.cells import Cells, columns_of, objects
from fewatoms.io.endings import FEATHER, PARQUET
from fewatoms.io.memory import TooLarge
from fewatoms.io.records import Table, asked, distinct
from fewatoms.io.refused import Refused

Rows: TypeAlias = Callable[[text.Layout], Iterator[Sequence[Cells]]]
SMALL = 2**21  # bytes that the csv module reads before pyarrow is imported
Content = TypeVar("Content")


def typed_table(
    path: Path, source: str, kind: str, columns: Sequence[str] | None, as_text: Collection[str] = ()
) -> Table:
    """A table from text, Parquet, Feather or Arrow; some columns as text, as they are written."""
    if kind in PARQUET:
        return _binary(arrow.Parquet(path, source), columns, as_text)
    if kind in FEATHER:
        return _binary(arrow.Ipc(path, source), columns, as_text)
    return _text(text.layout(path, source), columns, as_text)


def stored_table(archive: Archive, as_text: Collection[str] = ()) -> Table:
    """The arrays of one axis of an archive as columns, as `write_table` writes them."""
    shapes = {told.shape for told in archive.headers.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise Refused(
            f"{archive.source} must have a matrix, or columns of one length; its arrays have the shapes "
            f"{', '.join(map(str, sorted(shapes)[:5]))}: save one matrix, or columns"
        )
    names = distinct(archive.source, list(archive.headers))
    columns = {name: (_spelled if name in as_text else _column)(archive, name) for name in names}
    return filled(Table(columns, archive.source))


def _column(archive: Archive, name: str) -> Array:
    array = archive.read(name)
    if array.dtype.kind == "U":
        return objects([word or None for word in array.tolist()])
    if array.dtype.kind not in "fiub":
        raise Refused(
            f"{archive.source}, array {name!r}, must be numbers or strings; it is of type {array.dtype}: convert it"
        )
    return array.astype(np.float64, copy=False)


def _spelled(archive: Archive, name: str) -> Array:
    """Whole numbers and truth values as text, exactly; others as they are."""
    whole = archive.headers[name].dtype.kind in "iub"
    return objects([str(value) for value in archive.read(name).tolist()]) if whole else _column(archive, name)


def filled(table: Table) -> Table:
    """A table that has rows."""
    if table.rows == 0:
        raise Refused(f"{table.source} has no rows, only names: write it again")
    return table


def _binary(it: arrow.Binary, columns: Sequence[str] | None, as_text: Collection[str]) -> Table:
    chosen = it.names if columns is None else tuple(columns)
    asked(it.source, chosen, it.names)
    it.refuse_large(chosen)
    return filled(Table(arrow.columns_of(it, chosen, as_text), it.source))


def _text(it: text.Layout, columns: Sequence[str] | None, as_text: Collection[str]) -> Table:
    asked(it.source, columns or (), it.names)
    places = [place for place, name in enumerate(it.names) if columns is None or name in set(columns)]
    names = [it.names[place] for place in places]

    def read(rows: Rows) -> dict[str, Array]:
        def some() -> Iterator[list[Cells]]:
            return ([batch[place] for place in places] for batch in rows(it))

        return columns_of(it.source, names, some, it.separator != ",", as_text)

    return filled(Table(either_way(it, read), it.source))


def either_way(it: text.Layout, read: Callable[[Rows], Content]) -> Content:
    """What is read of rows of text: by pyarrow where it is there, takes them all and is worth its import; otherwise by
    the csv module, which also says what is wrong with them."""
    if it.plain and text.unpacked(it.path) > SMALL:
        try:
            return read(arrow.text_batches)
        except (TooLarge, MemoryError):  # another way does not make it smaller
            raise
        except Exception:
            pass
    return read(text.batches)
