"""Outputs: claimed before the work starts, and written whole or not at all."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import scipy.sparse as sp

from fewatoms._types import Array, Matrix
from fewatoms.io.arrays import refuse_climbing
from fewatoms.io.cells import harmless, objects
from fewatoms.io.endings import IMAGES, PARQUET, TABLES, PathLikeStr, ending, listed
from fewatoms.io.grid import MATRIX, NAMES
from fewatoms.io.records import refuse_text
from fewatoms.io.refused import Refused, borrowed
from fewatoms.io.table import numbered
from fewatoms.whole import replacing, special

OURS = re.compile(r"frame_\d+\.png", re.ASCII)  # what is in folders of frames that were written here
ROWS_AT_ONCE = 2**16  # rows that are turned into text at once

Writer = Callable[[BinaryIO, Mapping[str, Array], str], None]


def claim(path: PathLikeStr, *, overwrite: bool, kinds: Collection[str] = TABLES) -> Path:
    """An output that can be written: its ending is one of `kinds`, its folder is there and takes files, and nothing is
    there yet unless it may be overwritten. Nothing is left behind."""
    target, source = Path(path), os.fspath(path)
    kind = ending(target)
    if kind not in kinds:
        raise Refused(f"output {source} must end in {listed(kinds)}; it ends in {kind or 'nothing'!r}")
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise Refused(f"output {source} must lie in a folder that is there: make the folder {str(folder)!r} first")
    if target.is_dir() and kind:
        raise Refused(f"output {source} must be a file; it is a folder: choose another name")
    if special(target):
        raise Refused(f"output {source} must be a file; it is a pipe, a device or a socket: choose another name")
    if os.path.lexists(target) and not overwrite:
        raise Refused(f"output {source} is there already: choose another name, or allow it to be overwritten")
    if not kind:
        refuse_foreign(target, source)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Refused(
            f"output {source} cannot be written ({error.strerror}): choose a folder that you may write to"
        ) from error
    if kind in PARQUET:
        borrowed("pyarrow.parquet", f"to write {source}")
    if kind in IMAGES or not kind:
        borrowed("PIL.Image", f"to write {source}")
    return target


def refuse_foreign(folder: Path, source: str) -> None:
    """Refuse to replace a folder in which there is anything but frames."""
    if folder.is_dir():
        others = sorted(entry.name for entry in folder.iterdir() if not OURS.fullmatch(entry.name))
        if others:
            raise Refused(
                f"output {source} is a folder that has other things than frames in it, such as {others[0]!r}: choose "
                "another name"
            )
    elif os.path.lexists(folder):
        raise Refused(f"output {source} must be a folder; it is a file: choose another name")


@contextmanager
def written(path: PathLikeStr) -> Iterator[BinaryIO]:
    """A stream to a file beside the one that is meant, which takes its place when all is written."""
    try:
        with replacing(path) as beside, open(beside, "wb") as stream:
            yield cast(BinaryIO, stream)
    except OSError as error:
        raise Refused(
            f"output {os.fspath(path)} cannot be written ({error.strerror or error}): choose another"
        ) from error


def write_table(path: PathLikeStr, columns: Mapping[str, Array]) -> None:
    """Write columns of one length: .csv, .tsv (both also .gz), .parquet, .npz (one array a column), .npy (numbers).

    Missing values are empty cells, nulls of Parquet, NaN or empty strings of NumPy. An existing file is replaced.
    """
    kind, source = ending(path), os.fspath(path)
    if kind not in WRITERS:
        raise Refused(f"output {source} must end in {listed(WRITERS)}; it ends in {kind or 'nothing'!r}")
    arrays = {name: _column(name, column) for name, column in columns.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        raise Refused(f"columns of output {source} must have one length; they have {lengths or 'none'}: mend them")
    with written(path) as stream:
        WRITERS[kind](stream, arrays, source)


def write_grid(path: PathLikeStr, values: Matrix, names: Sequence[str] | None = None) -> None:
    """Write a matrix, as `write_table` does with columns called "1", "2", ...; .npz also keeps a sparse array sparse,
    and both .npz and .npy an array of more axes.

    .npy keeps no names.
    """
    kind = ending(path)
    if kind == ".npz":
        told = {} if names is None else {NAMES: np.array(names, dtype=np.str_)}
        with written(path) as stream:
            if sp.issparse(values):
                archived(stream, {**_sparse(sp.csr_array(values)), **told}, os.fspath(path), zipfile.ZIP_DEFLATED)
            else:
                archived(stream, {MATRIX: np.asarray(values), **told}, os.fspath(path))
        return
    filled: Array = values.toarray() if sp.issparse(values) else np.asarray(values)
    if kind == ".npy":
        with written(path) as stream:
            np.lib.format.write_array(stream, filled, allow_pickle=False)
        return
    write_table(path, dict(zip(names or numbered(filled.shape[1]), filled.T, strict=True)))


def _sparse(values: sp.csr_array) -> dict[str, Array]:
    """The members by which SciPy knows a sparse array again; others may stand beside them."""
    told: dict[str, Array] = {
        "format": np.array(b"csr"), "shape": np.array(values.shape), "_is_array": np.array(True),
        "data": values.data, "indices": values.indices, "indptr": values.indptr,
    }  # fmt: skip
    return told


def _column(name: str, column: Array) -> Array:
    """Numbers as they are; words as objects, None for what is missing."""
    array = np.asarray(column)
    if array.ndim != 1:
        raise Refused(f"column {name!r} of an output must have one axis; it has the shape {array.shape}: flatten it")
    if array.dtype.kind in "fiub":
        return array
    return objects([None if _absent(value) else str(value) for value in array.tolist()])


def _absent(value: object) -> bool:
    return value is None or value != value


# Formats -------------------------------------------------------------------------------------------------------------


class _Lines:
    """Rows with ends of lines as Unix has them. The csv module quotes fields for the characters of its own ends of
    lines, and \\r in a field must be quoted as well."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self.text = text

    def write(self, row: str) -> None:
        self.text.write(row[:-2] + "\n")


def _separated(separator: str) -> Writer:
    def write(stream: BinaryIO, columns: Mapping[str, Array], source: str) -> None:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(_Lines(text), delimiter=separator)
        writer.writerow(map(harmless, columns))
        rows = len(next(iter(columns.values())))
        for start in range(0, rows, ROWS_AT_ONCE):
            cells = [_cells(column[start : start + ROWS_AT_ONCE]) for column in columns.values()]
            writer.writerows(zip(*cells, strict=True))
        text.flush()
        text.detach()

    return write


def _cells(column: Array) -> list[object]:
    values: list[object] = column.tolist()
    if column.dtype.kind == "O":
        return [None if word is None else harmless(word) for word in column.tolist()]
    if column.dtype.kind == "f" and np.isnan(column).any():
        return ["" if value != value else value for value in values]
    return values


def _packed(write: Writer) -> Writer:
    def packed(stream: BinaryIO, columns: Mapping[str, Array], source: str) -> None:
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as inner:
            write(cast(BinaryIO, inner), columns, source)

    return packed


def _parquet(stream: BinaryIO, columns: Mapping[str, Array], source: str) -> None:
    pa, parquet = borrowed("pyarrow", f"to write {source}"), borrowed("pyarrow.parquet", f"to write {source}")
    arrays = {
        name: pa.array(column, type=pa.string() if column.dtype.kind == "O" else None, from_pandas=True)
        for name, column in columns.items()
    }
    parquet.write_table(pa.table(arrays), stream, write_page_checksum=True)


def archived(
    stream: BinaryIO, columns: Mapping[str, Array], source: str, compression: int = zipfile.ZIP_STORED
) -> None:
    with zipfile.ZipFile(stream, "w", compression, allowZip64=True) as archive:
        for name, column in columns.items():
            refuse_climbing(f"output {source}", name)
            words = column.dtype.kind == "O"
            array = np.array(["" if word is None else word for word in column], dtype=np.str_) if words else column
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _stacked(stream: BinaryIO, columns: Mapping[str, Array], source: str) -> None:
    refuse_text(f"output {source}", dict(columns))
    np.lib.format.write_array(stream, np.column_stack(list(columns.values())), allow_pickle=False)


_texts = {".csv": _separated(","), ".tsv": _separated("\t")}
WRITERS: dict[str, Writer] = dict(
    chain(
        _texts.items(),
        ((f"{kind}.gz", _packed(write)) for kind, write in _texts.items()),
        [(".parquet", _parquet), (".npz", archived), (".npy", _stacked)],
    )
)
