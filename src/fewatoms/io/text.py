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

from fewatoms.io.cells import BLANKS, PlainCells
from fewatoms.io.records import distinct
from fewatoms.io.refused import Refused

SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}  # the first of equals wins: words have commas, not tabs
LONGEST_LINE = 2**24  # characters
BATCH_CELLS = 2**18
PROBE = 2**16  # bytes that are looked at for what no text has
END = "\x04 the end \x04"  # a row of our own after the last: an open quote swallows it

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
        with opened(self.path) as raw, io.BufferedReader(cast(io.RawIOBase, _Ended(raw, last.encode()))) as end:
            yield cast(BinaryIO, end)

    def ends(self, row: Sequence[str]) -> bool:
        """Whether this is the row that comes last."""
        return row[-1] == END and len(row) == len(self.names) and not any(row[:-1])


class _Ended(io.RawIOBase):
    """A stream with a line of its own after the last one of another."""

    def __init__(self, inner: BinaryIO, last: bytes) -> None:
        self.inner, self.rest, self.newline, self.over = inner, last + b"\n", True, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = b"" if self.over else self.inner.read(len(buffer))
        if data:
            self.newline = data.endswith((b"\n", b"\r"))
        else:
            if not self.over:
                self.rest, self.over = (b"" if self.newline else b"\n") + self.rest, True
            data, self.rest = self.rest[: len(buffer)], self.rest[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def opened(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked if its name ends in .gz."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else open(path, "rb")


def layout(path: Path, source: str) -> Layout:
    """Read the line of names; the separator is the one of tab, semicolon and comma that makes most names of it."""
    _refuse_other_files(path, source)
    headers = {separator: _header(path, source, separator) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda each: len(headers[each][1]))
    before, header = headers[separator]
    if not header:
        raise Refused(f"{source} has no line of names, only blank lines: write it again")
    return Layout(path, source, separator, distinct(source, header), before == 0)


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
        for first, last, row in _records(raw, it.source, it.separator):
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


def _records(raw: BinaryIO, source: str, separator: str) -> Iterator[tuple[int, int, list[str]]]:
    """Records with the numbers of their first and their last line."""
    reader = csv.reader(_lines(raw, source), delimiter=separator)
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


def _header(path: Path, source: str, separator: str) -> tuple[int, list[str]]:
    """How many blank lines come before the names, and the names."""
    with opened(path) as raw, _unpacking(path, source):
        for before, (_, _, row) in enumerate(_records(raw, source, separator)):
            if len(row) > 1 or "".join(row).strip(BLANKS):
                return before, row
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
    with opened(path) as stream, _unpacking(path, source):
        start = stream.read(PROBE)
    if not start:
        raise Refused(f"{source} is empty: write it again")
    for beginning, kind in STARTS.items():
        if start.startswith(beginning):
            raise Refused(f"{source} is {kind}, not a table in text: give it the ending of what it is")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Refused(f"{source} is text in UTF-16: save it as UTF-8")
    if b"\0" in start:
        raise Refused(f"{source} is not text (byte {start.index(0) + 1} is zero): give it the ending of what it is")


def _not_utf8(path: Path, source: str) -> str:
    """Where the first bytes are that are no UTF-8."""
    with opened(path) as raw:
        for number, line in enumerate(iter(lambda: raw.readline(LONGEST_LINE), b""), start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return (
                    f"{source} must be text in UTF-8; on line {number}, byte {error.start + 1} is "
                    f"0x{line[error.start]:02x}: save it as UTF-8 (it may be in Latin-1 or Windows-1252)"
                )
    return f"{source} must be text in UTF-8: save it as UTF-8"
