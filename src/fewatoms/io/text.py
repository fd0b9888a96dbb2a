"""Tables in text: which separator, which names, and their rows by the csv module. pyarrow reads the rows faster."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from fewatoms.io.cells import BLANKS, PlainCells, bare
from fewatoms.io.records import distinct
from fewatoms.io.refused import Refused

SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}  # the first of equals wins: words have commas, not tabs
LONGEST_LINE = 2**24  # characters
MOST_COLUMNS = 2**18
MOST_BLANK = 10_000  # lines before that of the names
BATCH_CELLS = 2**18
LOOKED_AT_ONCE = 2**20  # bytes that are looked at together
PROBE = 2**16  # bytes that are looked at for what no text has
END = "\x04 the end \x04"  # a row of our own after the last: an open quote swallows it

UNPACKED = 2**26  # bytes that any packed file may have in it
MOST_UNPACKED = (
    500  # times its own size that a larger one may have in it; tables that are data have some ten or a hundred
)

STARTS = {  # how files begin that are not text, whatever their ending says
    b"PK\x03\x04": "a zip archive (or a spreadsheet)",
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "a NumPy array",
    b"\x89PNG": "a PNG image",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "compressed by gzip",
    b"\xd0\xcf\x11\xe0": "a spreadsheet of old",
}


class TooWide(Refused):
    """Has more columns than tables may have."""


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out.

    plain : the names are on the very first line
    """

    path: Path
    source: str
    separator: str
    names: tuple[str, ...]
    plain: bool

    @contextmanager
    def stream(self) -> Iterator[BinaryIO]:
        """All bytes, and a last row by which one sees that no quote was left open."""
        last = self.separator * (len(self.names) - 1) + END
        with opened(self.path, self.source) as raw:
            ended = _Ended(raw, last.encode(), self.source)
            with io.BufferedReader(cast(io.RawIOBase, ended)) as end:
                yield cast(BinaryIO, end)

    def ends(self, row: Sequence[str]) -> bool:
        """Whether this is the row that comes last."""
        return row[-1] == END and len(row) == len(self.names) and not any(row[:-1])


class _Stream(io.RawIOBase):
    """Bytes that come in pieces of at most the size asked for; none at the end."""

    def piece(self, size: int) -> bytes:
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = self.piece(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Ended(_Stream):
    """A stream with a line of its own after the last one of another, which is text."""

    def __init__(self, inner: BinaryIO, last: bytes, source: str) -> None:
        self.inner, self.rest, self.newline, self.over = inner, last + b"\n", True, False
        self.source, self.seen = source, 0

    def piece(self, size: int) -> bytes:
        data = b"" if self.over else self.inner.read(size)
        if data:
            _refuse_zeros(data, self.seen, self.source)
            self.seen += len(data)
            self.newline = data.endswith((b"\n", b"\r"))
            return data
        if not self.over:
            self.rest, self.over = (b"" if self.newline else b"\n") + self.rest, True
        data, self.rest = self.rest[:size], self.rest[size:]
        return data


class _Unpacked(_Stream):
    """What is packed in a file, as long as it is no more than data can be."""

    def __init__(self, path: Path, source: str) -> None:
        self.inner = gzip.GzipFile(path)
        self.source, self.count = source, 0
        self.most = max(UNPACKED, MOST_UNPACKED * path.stat().st_size)

    def piece(self, size: int) -> bytes:
        data = self.inner.read1(size)
        self.count += len(data)
        if self.count > self.most:
            raise Refused(
                f"{self.source} holds more than {MOST_UNPACKED} times its own size: do not trust it, or unpack it first"
            )
        return data

    def close(self) -> None:
        self.inner.close()
        super().close()


def opened(path: Path, source: str) -> BinaryIO:
    """The bytes of a file, unpacked if its name ends in .gz; those that were made to fill memory are refused."""
    if path.suffix.lower() != ".gz":
        return open(path, "rb")
    return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, _Unpacked(path, source)), PROBE))


def refuse_odd(path: Path, source: str) -> None:
    """Refuse what is no text anywhere, or is packed and holds more than data can, before others read all of it."""
    before = 0
    with opened(path, source) as stream:
        while some := stream.read(LOOKED_AT_ONCE):
            _refuse_zeros(some, before, source)
            before += len(some)


def unpacked(path: Path) -> int:
    """How many bytes a file has when it is unpacked, by its own account."""
    size = path.stat().st_size
    if path.suffix.lower() != ".gz" or size < 4:
        return size
    with open(path, "rb") as stream:
        stream.seek(-4, 2)
        return max(size, int.from_bytes(stream.read(4), "little"))


def layout(path: Path, source: str) -> Layout:
    """Read the line of names; the separator is the one of tab, semicolon and comma that makes most names of it."""
    _refuse_other_files(path, source)
    separator, before, header = _most_names(path, source)
    if not header:
        raise Refused(f"{source} has no line of names, only blank lines: write it again")
    return Layout(path, source, separator, distinct(source, map(bare, header)), before == 0)


def _most_names(path: Path, source: str) -> tuple[str, int, list[str]]:
    """The separator that makes most names, how many blank lines come before these, and the names."""
    headers, errors = {}, []
    for separator in SEPARATORS:
        try:
            headers[separator] = _header(path, source, separator)
        except TooWide:
            raise
        except Refused as error:  # a long line that is not separated by this one is a single field, too long for one
            errors.append(error)
    if not headers:
        raise errors[-1]
    separator = max(headers, key=lambda each: len(headers[each][1]))
    if errors and len(headers[separator][1]) < 2:
        raise errors[0]
    return separator, *headers[separator]


def batches(it: Layout) -> Iterator[list[PlainCells]]:
    """The rows below the names, some at a time, by the csv module."""
    some: list[list[str]] = []
    size = max(1, BATCH_CELLS // len(it.names))
    for row in _rows(it):
        some.append(row)
        if len(some) == size:
            yield [PlainCells(cells) for cells in zip(*some, strict=True)]
            some.clear()
    if some:
        yield [PlainCells(cells) for cells in zip(*some, strict=True)]


def _rows(it: Layout) -> Iterator[list[str]]:
    """The rows below the names, each as wide as they are."""
    width, names_read = len(it.names), False
    with it.stream() as raw, _unpacking(it.path, it.source):
        for first, last, row in _records(_lines(raw, it.source), it.source, it.separator):
            if len(row) <= 1 and not "".join(row).strip(BLANKS) and (not row or width > 1 or not names_read):
                continue
            if row[-1].endswith(END) or END + "\n" in row[-1]:
                if it.ends(row):
                    return
                raise Refused(
                    f"{it.source} has a quote that is opened on line {first} or later and never closed: close it, and "
                    'write quotes inside of quoted fields twice ("")'
                )
            if len(row) != width:
                raise Refused(
                    f"{it.source} must have as many fields on each line as there are names, {width}; line {last} has "
                    f"{len(row)}: mend that line, or quote fields that hold {SEPARATORS[it.separator]}"
                )
            if names_read:
                yield row
            names_read = True


def _records(lines: Iterator[str], source: str, separator: str) -> Iterator[tuple[int, int, list[str]]]:
    """Records with the numbers of their first and their last line."""
    reader = csv.reader(lines, delimiter=separator)
    first = 1
    try:
        for row in reader:
            yield first, reader.line_num, row
            first = reader.line_num + 1
    except csv.Error as error:
        raise Refused(
            f"{source} cannot be read at line {reader.line_num} ({error}): look for a quote left open"
        ) from error


def _lines(raw: BinaryIO, source: str) -> Iterator[str]:
    with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:
        while line := stream.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise Refused(f"{source} has a line of more than {LONGEST_LINE} characters: it is no table")
            yield line


def _few(lines: Iterator[str], source: str, separator: str) -> Iterator[str]:
    """Lines that have no more fields than a table may have columns."""
    for line in lines:
        if line.count(separator) >= MOST_COLUMNS:
            raise TooWide(
                f"{source} has a line of {line.count(separator) + 1} fields, and tables may have {MOST_COLUMNS} "
                "columns: save a matrix (.npy, .npz), or turn it round"
            )
        yield line


def _header(path: Path, source: str, separator: str) -> tuple[int, list[str]]:
    """How many blank lines come before the names, and the names."""
    with _unpacking(path, source), opened(path, source) as raw:
        lines = _few(_lines(raw, source), source, separator)
        for before, (_, _, row) in enumerate(_records(lines, source, separator)):
            if len(row) > 1 or "".join(row).strip(BLANKS):
                return before, row
            if before == MOST_BLANK:
                raise Refused(f"{source} has no line of names in its first {before} lines: write it again")
    return 0, []


@contextmanager
def _unpacking(path: Path, source: str) -> Iterator[None]:
    """What goes wrong while bytes become text, in one line."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise Refused(_not_utf8(path, source)) from error
    except (OSError, EOFError, zlib.error) as error:
        raise Refused(f"{source} cannot be unpacked ({error}): write it again, or drop .gz from its name") from error


def _refuse_other_files(path: Path, source: str) -> None:
    with _unpacking(path, source), opened(path, source) as stream:
        start = stream.read(PROBE)
    if not start:
        raise Refused(f"{source} is empty: write it again")
    for beginning, kind in STARTS.items():
        if start.startswith(beginning):
            raise Refused(f"{source} is {kind}, not a table in text: give it the ending of what it is")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Refused(f"{source} is text in UTF-16: save it as UTF-8")
    _refuse_zeros(start, 0, source)


def _refuse_zeros(some: bytes, before: int, source: str) -> None:
    if b"\0" in some:
        place = before + some.index(0) + 1
        raise Refused(f"{source} is not text (byte {place} is zero): give it the ending of what it is")


def _not_utf8(path: Path, source: str) -> str:
    """Where the first bytes are that are no UTF-8."""
    with opened(path, source) as raw:
        for number, line in enumerate(iter(lambda: raw.readline(LONGEST_LINE), b""), start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return (
                    f"{source} must be text in UTF-8; on line {number}, byte {error.start + 1} is "
                    f"0x{line[error.start]:02x}: save it as UTF-8 (it may be in Latin-1 or Windows-1252)"
                )
    return f"{source} must be text in UTF-8: save it as UTF-8"
