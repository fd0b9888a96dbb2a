"""What a MATLAB file up to version 7 says of its variables, held against the bytes that follow: SciPy believes it.

A file is a row of elements, each a tag (type, bytes) and content; a matrix is an element of elements: flags,
dimensions, name, and its numbers; of a sparse one rows, columns' starts, and numbers. A variable that was packed is one
element of zlib, of which only what stands before the numbers is unpacked here.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO, Protocol

MATRIX, PACKED = 14, 15
WIDTHS = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}  # bytes of a number, by the type of an element
SPARSE, NUMERIC = 5, range(6, 16)  # classes of matrices that hold numbers; 6 is double
COMPLEX = 0x0800
START = 128  # bytes before the first element
LONGEST_NAME = 2**12
MOST_AXES = 32
UNPACKED_PIECE = 2**16


class Bytes(Protocol):
    """A stream that is read forwards."""

    def read(self, count: int) -> bytes: ...

    def skip(self, count: int) -> None: ...


class _Plain:
    """Of a file as it stands."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.stream, self.size = stream, size

    def read(self, count: int) -> bytes:
        data = self.stream.read(count)
        if len(data) < count:
            raise ValueError("the file ends within a variable")
        return data

    def skip(self, count: int) -> None:
        if self.stream.tell() + count > self.size:
            raise ValueError("the file ends within a variable")
        self.stream.seek(count, 1)


class _Zipped:
    """Of an element that is packed; no more is unpacked than is asked for."""

    def __init__(self, outer: _Plain, size: int) -> None:
        self.outer, self.left = outer, size
        self.inner, self.rest = zlib.decompressobj(), b""

    def read(self, count: int) -> bytes:
        while len(self.rest) < count:
            self.rest += self._more()
        data, self.rest = self.rest[:count], self.rest[count:]
        return data

    def _more(self) -> bytes:
        packed = self.inner.unconsumed_tail
        if not packed:
            packed = self.outer.read(min(self.left, UNPACKED_PIECE))
            self.left -= len(packed)
        data = self.inner.decompress(packed, UNPACKED_PIECE)
        if not data and not self.left and not self.inner.unconsumed_tail:
            raise ValueError("the file ends within a variable")
        return data

    def skip(self, count: int) -> None:
        while count:
            count -= len(self.read(min(count, UNPACKED_PIECE)))


@dataclass(frozen=True)
class Tag:
    """Of an element: its type, its bytes, and its content where that stands in the tag itself."""

    kind: int
    size: int
    content: bytes | None

    @property
    def padded(self) -> int:
        return 8 if self.content is not None else 8 + self.size + -self.size % 8


def refuse_lies(path: Path) -> None:
    """Raise a ValueError where a variable of numbers does not have the bytes that it declares, or a name comes twice;
    nothing, for a file of another version."""
    with open(path, "rb") as stream:
        start = stream.read(START)
        if len(start) < START or start[126:128] not in (b"IM", b"MI") or 0 in start[:4]:
            return
        order = "<" if start[126:128] == b"IM" else ">"
        names = list(_variables(_Plain(stream, path.stat().st_size), order))
    twice = [name for name in names if name and names.count(name) > 1]
    if twice:
        raise ValueError(f"there are two variables called {twice[0]!r}")


def _variables(stream: _Plain, order: str) -> Iterator[str]:
    """The names of the variables, each looked at."""
    while stream.stream.tell() < stream.size:
        kind, size = struct.unpack(order + "II", stream.read(8))
        after = stream.stream.tell() + size
        if kind not in (MATRIX, PACKED) or after > stream.size:
            raise ValueError(f"an element of type {kind} declares {size} bytes that are not there")
        if kind == MATRIX:
            yield _matrix(stream, size, order)
        else:
            packed = _Zipped(stream, size)
            inner, size = struct.unpack(order + "II", packed.read(8))
            if inner != MATRIX:
                raise ValueError(f"a packed element is of type {inner}")
            yield _matrix(packed, size, order)
        stream.stream.seek(after)


def _tag(stream: Bytes, order: str) -> Tag:
    raw = stream.read(8)
    word, size = struct.unpack(order + "II", raw)
    if word >> 16:  # small ones stand in their tag
        if word >> 16 > 4:
            raise ValueError(f"a small element declares {word >> 16} bytes")
        return Tag(word & 0xFFFF, word >> 16, raw[4 : 4 + (word >> 16)])
    return Tag(word, size, None)


def _told(stream: Bytes, order: str, most: int) -> tuple[Tag, bytes]:
    """An element that is short."""
    tag = _tag(stream, order)
    if tag.content is not None:
        return tag, tag.content
    if tag.size > most:
        raise ValueError(f"a header declares {tag.size} bytes")
    return tag, stream.read(tag.padded - 8)[: tag.size]


def _matrix(stream: Bytes, size: int, order: str) -> str:
    """The name of a variable; one of numbers must be as long as it says."""
    if size == 0:
        return ""
    tag, flags = _told(stream, order, 8)
    word = struct.unpack(order + "I", flags[:4].ljust(4, b"\0"))[0]
    if word & 0xFF not in NUMERIC and word & 0xFF != SPARSE:
        return ""
    used = tag.padded
    tag, told = _told(stream, order, 4 * MOST_AXES)
    used += tag.padded
    shape = struct.unpack(f"{order}{len(told) // 4}i", told[: len(told) // 4 * 4])
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"a variable declares the shape {shape}")
    tag, name = _told(stream, order, LONGEST_NAME)
    used += tag.padded
    called, parts = name.decode("latin-1"), 2 if word & COMPLEX else 1
    counts = [None, shape[1] + 1, *[None] * parts] if word & 0xFF == SPARSE else [prod(shape)] * parts
    between = 0
    for count in counts:
        stream.skip(between)
        tag = _tag(stream, order)
        used += tag.padded
        between = tag.padded - 8
        _refuse_part(called, tag, count, shape)
        if used - 7 > size:
            raise ValueError(f"variable {called!r} declares {used} bytes within {size}")
    return called


def _refuse_part(called: str, tag: Tag, count: int | None, shape: tuple[int, ...]) -> None:
    """Refuse numbers of no known type, or not as many as there must be."""
    if tag.kind not in WIDTHS or tag.size % WIDTHS[tag.kind]:
        raise ValueError(f"variable {called!r} has numbers of type {tag.kind}")
    there = tag.size // WIDTHS[tag.kind]
    if count is not None and there != count:
        raise ValueError(f"variable {called!r} declares the shape {shape} and has {there} numbers")
