"""Where blocks of rows come from: memory maps, files, arrays and frames of Dask, Zarr, loaders of one's own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks
from fewatoms._types import Array, Foreign
from fewatoms.engines import DelayedBlock, Loader
from fewatoms.names import Names, of_labels
from fewatoms.operators.passes import Told
from fewatoms.whole import natural_path

BLOCK_BYTES = 1 << 26  # of one block, roughly: a few are worked on at a time
SOURCES = (
    "an array, a memory map, a sparse matrix, the name of a .npy or .parquet file or of a folder of such files, an "
    "array or frame of Dask, a Zarr array, or a list of arrays, such files or functions without arguments"
)


@dataclass(frozen=True, eq=False)
class Source:
    """Loaders of blocks, and what is known of them without loading.

    rows : of each block; None where they have to be asked
    """

    loaders: Sequence[Loader]
    rows: Sequence[int] | None = None
    columns: int | None = None
    names: Names | None = None


def told_of(loaders: Sequence[Loader], rows: Sequence[int] | None, columns: int | None) -> list[Told]:
    """What is said of each block."""
    if not isinstance(loaders, Sequence) or not all(map(callable, loaders)):
        raise TypeError(
            f"loaders must be a list of functions without arguments, or see RowBlocks.of; got {_checks.came(loaders)}"
        )
    if not loaders:
        raise ValueError("loaders must hold at least one; got none")
    width = None if columns is None else _checks.integer("columns", columns, 1)
    if rows is not None and len(rows) != len(loaders):
        raise ValueError(f"rows must tell a number for each of {len(loaders)} loaders; got {len(rows)}")
    counts = None if rows is None else [_checks.integer("rows", count, 0) for count in rows]
    called: list[list[object]] = []
    if counts is None or width is None:
        return [Told(None, called) for _ in loaders]
    return [Told((count, width), called) for count in counts]


def read(source: Foreign) -> Source:
    """What a user gave as blocks of rows."""
    if isinstance(source, str | os.PathLike):
        return _named(Path(os.fspath(source)))
    module = type(source).__module__.partition(".")[0]
    if module in ("dask", "dask_expr"):
        return _of_dask(source)
    if module == "zarr":
        return _sliced(source, _zarr_rows(source))
    if isinstance(source, np.ndarray) or sp.issparse(source):
        if source.ndim != 2:
            raise ValueError(f"source must be a matrix (2 axes); got shape {source.shape}")
        return _sliced(source.tocsr() if sp.issparse(source) else source, _even(source))
    if isinstance(source, Sequence) and len(source):
        return _listed(source)
    raise TypeError(f"source must be {SOURCES}; got {_checks.came(source)}")


def _even(A: Foreign) -> list[int]:
    """Where blocks of equal size begin, with the end appended."""
    size = A.data.nbytes if sp.issparse(A) else A.nbytes
    count = max(1, min(A.shape[0], -(-size // BLOCK_BYTES)))
    return np.linspace(0, A.shape[0], count + 1).astype(int).tolist()


def _zarr_rows(A: Foreign) -> list[int]:
    """Whole chunks."""
    chunk = max(1, int(A.chunks[0]))
    together = max(1, BLOCK_BYTES // max(1, chunk * A.shape[1] * A.dtype.itemsize)) * chunk
    return [*range(0, A.shape[0], together), A.shape[0]]


def _sliced(A: Foreign, starts: Sequence[int]) -> Source:
    return Source(
        [partial(_cut, A, a, b) for a, b in pairwise(starts)], [b - a for a, b in pairwise(starts)], A.shape[1]
    )


def _cut(A: Foreign, a: int, b: int) -> Foreign:
    return A[a:b]


# Files ---------------------------------------------------------------------------------------------------------------


def _named(path: Path) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"source must be there; no file or folder is called {str(path)!r}")
    if path.suffix == ".npy":
        return _npy(path)
    if path.suffix == ".parquet" and path.is_file():
        return _parquet([path])
    if path.is_dir():
        if path.suffix == ".zarr":
            import zarr

            return read(zarr.open_array(str(path), mode="r"))
        return _folder(path)
    raise ValueError(f"source must be {SOURCES}; got {str(path)!r}")


def _folder(path: Path) -> Source:
    """All files of a folder, in the natural order of their names: part.2.parquet is before part.10.parquet, as Dask has
    it. Their rows belong to those of b, so that files of two kinds have no order."""
    arrays, tables = (sorted(path.rglob(f"*{suffix}"), key=natural_path) for suffix in (".npy", ".parquet"))
    if arrays and tables:
        raise ValueError(
            f"source must be a folder of files of one kind; {str(path)!r} has {arrays[0].name} and {tables[0].name}"
        )
    if not arrays and not tables:
        raise ValueError(f"source must be {SOURCES}; the folder {str(path)!r} has no .npy or .parquet files in it")
    return _files_of_arrays(arrays) if arrays else _parquet(tables)


def mapped(name: str) -> Array:
    """A .npy file as a memory map, read as data alone."""
    try:
        found = np.load(name, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{name} must be a .npy file of numbers, all of it: {error}") from error
    if found.ndim != 2:
        raise ValueError(f"{name} must hold a matrix (2 axes); got shape {found.shape}")
    return found


def _npy(path: Path) -> Source:
    file = Mapped(str(path.resolve()))
    A = file.whole
    starts = _even(A)
    return Source([partial(_cut_of, file, a, b) for a, b in pairwise(starts)], np.diff(starts).tolist(), A.shape[1])


class Mapped:
    """A .npy file as a memory map, opened where it is needed, once in each process: pages of a new map are found one by
    one, which takes as long as going through them."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def _opened(self) -> tuple[Array, tuple[int, ...]]:
        stamp = self._stamp()
        return mapped(self.name), stamp

    def _stamp(self) -> tuple[int, ...]:
        found = os.stat(self.name)
        return found.st_ino, found.st_size, found.st_mtime_ns

    @property
    def whole(self) -> Array:
        """Refused where the file was written again meanwhile: a map shows other numbers then, or ends the process
        where there are none any more."""
        found, stamp = self._opened
        if self._stamp() != stamp:
            raise ValueError(f"{self.name} must stay as it is while it is mapped; it was written again")
        return found

    def __reduce__(self) -> tuple[type[Mapped], tuple[str]]:
        return Mapped, (self.name,)


def _cut_of(file: Mapped, a: int, b: int) -> Array:
    """Rows of a file."""
    return file.whole[a:b]


def _files_of_arrays(paths: Sequence[Path]) -> Source:
    return _joined([_npy(path) for path in paths], [str(path) for path in paths])


def _joined(parts: Sequence[Source], called: Sequence[str]) -> Source:
    columns = {part.columns for part in parts}
    if len(columns) > 1:
        i = next(i for i, part in enumerate(parts) if part.columns != parts[0].columns)
        raise ValueError(
            f"blocks of rows must have equally many columns; got {parts[0].columns} in {called[0]}, "
            f"{parts[i].columns} in {called[i]}"
        )
    rows = [count for part in parts for count in part.rows or ()]
    return Source([loader for part in parts for loader in part.loaders], rows, parts[0].columns, parts[0].names)


def _parquet(paths: Sequence[Path]) -> Source:
    """Row groups of all files; columns are those of the first."""
    parts, called, names = [], [], None
    for path in paths:
        with _opened(path) as file:
            own, meta = file.schema_arrow.names, file.metadata
            names = names or own
            if own != names:
                raise ValueError(f"files of blocks must have the same columns in the same order; {path} has others")
            counts = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        loaders = [partial(_row_group, str(path.resolve()), i) for i, count in enumerate(counts) if count]
        parts.append(Source(loaders, [count for count in counts if count], len(own), of_labels(str(path), own)))
        called.append(str(path))
    whole = _joined(parts, called)
    if not whole.loaders:
        raise ValueError(f"source must hold rows; {called[0]} has none")
    return whole


def _opened(path: str | Path) -> Foreign:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files are read by pyarrow: pip install 'fewatoms[parquet]'") from error
    try:
        return pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} must be a Parquet file, all of it: {error}") from error


def _row_group(name: str, i: int) -> Foreign:
    """One row group."""
    with _opened(name) as file:
        return file.read_row_group(i)


# Dask ----------------------------------------------------------------------------------------------------------------


def _of_dask(source: Foreign) -> Source:
    if hasattr(source, "partitions") and hasattr(source, "columns"):
        names = of_labels("source", list(source.columns))
        return Source([DelayedBlock(part) for part in source.to_delayed()], None, len(source.columns), names)
    if not hasattr(source, "chunks") or source.ndim != 2:
        raise ValueError(f"source must be a Dask array of 2 axes, or a Dask frame; got {_checks.came(source)}")
    if source.dtype.kind not in "biufc":
        raise TypeError(f"source must be a Dask array of real numbers; got one of {source.dtype}")
    whole = source.rechunk({1: -1}) if len(source.chunks[1]) > 1 else source
    counts, blocks = list(whole.chunks[0]), list(whole.to_delayed()[:, 0])
    known = not any(np.isnan(count) for count in counts)
    columns = None if np.isnan(source.shape[1]) else int(source.shape[1])
    if not known:
        return Source([DelayedBlock(block) for block in blocks], None, columns)
    kept = [i for i, count in enumerate(counts) if count]
    return Source([DelayedBlock(blocks[i]) for i in kept], [int(counts[i]) for i in kept], columns)


# Lists ---------------------------------------------------------------------------------------------------------------


def _listed(source: Sequence[Foreign]) -> Source:
    """Blocks one by one: functions without arguments, or what `read` takes."""
    parts = list(_parts(source))
    if all(part.rows is not None for part in parts):
        return _joined(parts, [f"block {i}" for i in range(len(parts))])
    return Source([loader for part in parts for loader in part.loaders], None, None, parts[0].names)


def _parts(source: Sequence[Foreign]) -> Iterator[Source]:
    for thing in source:
        if type(thing).__module__.startswith("dask.delayed"):
            yield Source([DelayedBlock(thing)])
        elif callable(thing) and not hasattr(thing, "shape"):
            yield Source([thing])
        else:
            yield read(np.asarray(thing) if isinstance(thing, list | tuple) else thing)
