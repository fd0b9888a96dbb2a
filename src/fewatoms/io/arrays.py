"""NumPy's files, without pickle: sizes are read from the headers and held against free memory before anything else."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO, cast

import numpy as np
import scipy.sparse as sp

from fewatoms._types import Array, Matrix
from fewatoms.io.memory import afford
from fewatoms.io.refused import Refused, reading

SPARSE = {"format", "shape", "data"}  # members of a sparse array that SciPy saved
PLACES = {"indices", "indptr", "row", "col", "offsets", "shape"}  # those that are whole numbers
SPARSE_FORMATS = {"csr", "csc", "coo", "bsr", "dia"}
LONGEST_HEADER = 2**16  # bytes; NumPy refuses those of ten thousand, when it has read them
MOST_MEMBERS = 2**16


@dataclass(frozen=True)
class Header:
    """What an array says of itself before it comes."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def size(self) -> int:
        return prod(self.shape) * self.dtype.itemsize


def header(stream: BinaryIO, source: str) -> Header:
    """The header of an array in NumPy's format; objects and records are refused."""
    version = np.lib.format.read_magic(stream)
    if version not in {(1, 0), (2, 0)}:
        raise Refused(f"{source} is in version {version[0]} of NumPy's format, for records: save an array of numbers")
    first = version == (1, 0)
    size = stream.read(2 if first else 4)
    if int.from_bytes(size, "little") > LONGEST_HEADER:
        raise Refused(f"{source} declares a header of {int.from_bytes(size, 'little')} bytes: do not trust it")
    stream.seek(-len(size), 1)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    if dtype.hasobject:
        raise Refused(f"{source} holds pickled objects, which are not read: save an array of numbers or of strings")
    if dtype.names is not None:
        raise Refused(f"{source} holds records: save an array of numbers, or a table")
    if min(shape, default=0) < 0:
        raise Refused(f"{source} declares the shape {shape}: write it again")
    return Header(shape, dtype)


def read_npy(path: Path, source: str) -> Array:
    """The array of a .npy file."""
    with reading(source, "an array in NumPy's format"), open(path, "rb") as stream:
        told = header(stream, source)
        _whole(source, told, path.stat().st_size - stream.tell())
        stream.seek(0)
        return np.lib.format.read_array(stream, allow_pickle=False)


def _whole(source: str, told: Header, there: int) -> None:
    afford(source, told.size)
    if told.size > there:
        raise Refused(
            f"{source} declares an array of shape {told.shape}, {told.size} bytes, and has {there}: it was cut short; "
            "write it again"
        )
    if told.size < there:
        raise Refused(
            f"{source} declares an array of shape {told.shape}, {told.size} bytes, and has more bytes than it "
            f"declares, {there}: write it again"
        )


class Archive:
    """The arrays of a .npz file, by name; each is read when it is asked for."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source = path, source
        self.headers = dict(self._headers())
        if not self.headers:
            raise Refused(f"{source} has no arrays in it: write it with numpy.savez")

    def _headers(self) -> Iterator[tuple[str, Header]]:
        with self._opened() as archive:
            refuse_strange(self.source, archive)
            for member in archive.infolist():
                if not member.filename.endswith(".npy"):
                    continue
                with archive.open(member) as stream:
                    name = member.filename.removesuffix(".npy")
                    told = header(cast(BinaryIO, stream), f"{self.source}, array {name!r},")
                    _whole(f"{self.source}, array {name!r},", told, member.file_size - stream.tell())
                    yield name, told

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        with reading(self.source, "an archive of NumPy arrays"), zipfile.ZipFile(self.path) as archive:
            yield archive

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the arrays that are numbers."""
        return {name: told.shape for name, told in self.headers.items() if told.dtype.kind in "fiubc"}

    def read(self, name: str) -> Array:
        with self._opened() as archive, archive.open(f"{name}.npy") as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
            if stream.read(1):
                raise Refused(f"{self.source}, array {name!r}, has more bytes than it declares: write it again")
            return array

    @property
    def is_sparse(self) -> bool:
        return set(self.headers) >= SPARSE

    def sparse(self) -> Matrix:
        """The sparse array that SciPy saved."""
        afford(self.source, sum(told.size for told in self.headers.values()))
        with reading(self.source, "a sparse array that scipy.sparse.save_npz wrote"):
            self._refuse_odd_parts()
            found = sp.load_npz(self.path)
            return in_rows(self.source, found)

    def _refuse_odd_parts(self) -> None:
        """What SciPy would take for something else: a format that may be any name, places that are no integers."""
        kind = self.read("format").item()
        if (kind.decode("ascii") if isinstance(kind, bytes) else kind) not in SPARSE_FORMATS:
            raise ValueError(f"the format {kind!r} is none of {', '.join(sorted(SPARSE_FORMATS))}")
        odd = [name for name in sorted(PLACES & self.headers.keys()) if self.headers[name].dtype.kind not in "iu"]
        if odd or self.headers["data"].dtype.kind not in "fiubc":
            raise ValueError(
                f"{(odd or ['data'])[0]} has numbers of the type {self.headers[(odd or ['data'])[0]].dtype}"
            )
        afford(self.source, 8 * sum(map(abs, self.read("shape").tolist())))


def in_rows(source: str, matrix: Matrix) -> Matrix:
    """A sparse matrix by its rows, looked at before anything is done with it: SciPy would write beyond its arrays where
    places lie outside."""
    if matrix.format in {"csr", "csc", "bsr"}:
        matrix.check_format(full_check=True)
    afford(source, 8 * sum(matrix.shape))
    rows = sp.csr_array(matrix)
    rows.check_format(full_check=True)
    return rows


def refuse_strange(source: str, archive: zipfile.ZipFile) -> None:
    """Refuse archives whose members lead out of them, are too many, have one name, or are no arrays."""
    names = [member.filename for member in archive.infolist()]
    if len(names) > MOST_MEMBERS:
        raise Refused(f"{source} has {len(names)} members, more than {MOST_MEMBERS}: put its arrays together")
    for name in names:
        refuse_climbing(source, name)
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise Refused(f"{source} has two members called {twice!r}: write it again")
    others = [name for name in names if not name.endswith(".npy")]
    if 0 < len(others) < len(names):
        raise Refused(f"{source} holds {others[0]!r}, which is no array, beside arrays: take it out, or write it again")


def refuse_climbing(source: str, name: str) -> None:
    for path in (PurePosixPath(name), PureWindowsPath(name)):
        if path.is_absolute() or path.drive or path.root or ".." in path.parts:
            raise Refused(f"{source} holds {name!r}, a path that leads out of the archive: do not trust it")
