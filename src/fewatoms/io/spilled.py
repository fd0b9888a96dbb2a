"""Entries of matrices that are larger than memory: files are read batch by batch, ids become numbers, and codes and
values lie on disk: first as they come, then in buckets of lines, in both orders."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fewatoms._types import Array, IntArray
from fewatoms.io import arrow, text
from fewatoms.io.codes import Coder
from fewatoms.io.endings import FEATHER, PARQUET, TEXTS, PathLikeStr, ending, input_file, listed
from fewatoms.io.entries import MERGED, Parts, Three, columns_chosen, text_parts, typed_parts, whole_parts
from fewatoms.io.memory import free
from fewatoms.io.refused import Refused
from fewatoms.whole import natural_path

BATCH = 1 << 20  # of a file, and of what was spilled: what bounds memory
TABULAR = (*PARQUET, *FEATHER, *TEXTS)
IN_MEMORY = 60  # bytes of an entry that is read, kept in both orders and worked on
SHORTEST, SHORTEST_PACKED = 12, 4  # bytes of a line of text with two ids and a value


def record(kind: str) -> np.dtype[np.void]:
    """An entry: its line, the other index and its value, in 12 or 16 bytes."""
    return np.dtype([("line", "<i4"), ("other", "<i4"), ("value", kind)])


def records_in(bucket: str, kind: str) -> Array:
    """All entries of a bucket; none where it was never written to."""
    return np.fromfile(bucket, dtype=record(kind)) if os.path.exists(bucket) else np.empty(0, dtype=record(kind))


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """A disk that is full is said in one line."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise Refused(
            f"{folder} is full ({error.strerror}): entries in blocks need about 60 bytes of disk each: say another "
            "folder (folder=, or --folder), or make room"
        ) from error


@dataclass(frozen=True, eq=False)
class Spilled:
    """Entries as they came, on disk.

    ids : of rows and columns, ascending
    ranks : the place among them of each code
    each : how many entries each row and each column has, those that repeat included
    kind : of values: single precision where that holds all of them
    """

    path: Path
    count: int
    ids: tuple[Array, Array]
    ranks: tuple[Array, Array]
    each: tuple[IntArray, IntArray]
    kind: str
    names: Three
    source: str

    def batches(self) -> Iterator[tuple[Array, Array, Array]]:
        """Rows, columns and values, numbered in the order of the ids."""
        with open(self.path, "rb") as stream:
            while (some := np.fromfile(stream, dtype=record("<f8"), count=BATCH)).size:
                yield self.ranks[0][some["line"]], self.ranks[1][some["other"]], some["value"]


def files_of(source: PathLikeStr | Sequence[PathLikeStr]) -> list[Path]:
    """The files that are meant: one, those of a list, or all of a folder, in the natural order of their names."""
    if not isinstance(source, str | os.PathLike):
        paths = [path for one in source for path in files_of(one)]
    elif Path(source).is_dir():
        folder = Path(source)
        paths = [p for p in folder.rglob("*") if p.suffix.lower() in (*PARQUET, *FEATHER) and _seen(p, folder)]
        if not paths:
            raise Refused(f"{source} must have files in it that end in {listed((*PARQUET, *FEATHER))}; it has none")
        return sorted(paths, key=natural_path)
    else:
        paths = [Path(source)]
    if not paths:
        raise Refused("source must name at least one file; got none")
    return paths


def too_many(source: PathLikeStr) -> bool:
    """Whether that is a folder, or a file whose entries would take more than half of the memory that is free, as far as
    it says."""
    path = Path(source)
    if path.is_dir():
        return True
    there, kind = free(), ending(path)
    if there is None or not path.is_file() or kind not in TABULAR:
        return False
    if kind in PARQUET:
        needed = IN_MEMORY * arrow.Parquet(path, str(source)).rows
    else:
        needed = IN_MEMORY * path.stat().st_size // (SHORTEST_PACKED if kind.endswith(".gz") else SHORTEST)
    return needed > there // 2


def told_of(source: PathLikeStr | Sequence[PathLikeStr]) -> str:
    """Files in a message."""
    files = [source] if isinstance(source, str | os.PathLike) else list(source)
    return str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def _seen(path: Path, folder: Path) -> bool:
    """Whether a file is data: other programs keep theirs in names that begin with a dot or an underscore."""
    return path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


class Spill:
    """Entries of one file after the other, on their way to disk."""

    def __init__(self, folder: Path, names: Sequence[str | None]) -> None:
        self.folder, self.path, self.wanted = folder, folder / "entries", names
        self.count, self.single = 0, True
        self.names: Three | None = None
        self.coders: list[Coder] = []
        self.each = [np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)]

    def read(self, files: Sequence[Path], source: str, *, clicks: bool = False) -> Spilled:
        """All files."""
        with writing(self.folder), open(self.path, "wb") as stream:
            for file in files:
                for ids, values in self._parts(file, clicks):
                    self._take(ids, values, str(file)).tofile(stream)
        assert self.names is not None
        if not self.count:
            raise Refused(f"{source} has no entries: write it again")
        (row_ids, row_ranks), (col_ids, col_ranks) = (coder.ordered() for coder in self.coders)
        each = _ordered(self.each[0], row_ranks), _ordered(self.each[1], col_ranks)
        kind = "<f4" if self.single else "<f8"
        both, ranks = (row_ids, col_ids), (row_ranks, col_ranks)
        return Spilled(self.path, self.count, both, ranks, each, kind, self.names, source)

    def _parts(self, file: Path, clicks: bool) -> Parts:
        path, source, kind = input_file(file, TABULAR)
        if kind in TEXTS:
            layout = text.layout(path, source)
            names = self._named(columns_chosen(source, layout.names, self.wanted, clicks), source)
            coders, parts = text_parts(layout, names, arrow.text_batches)
        else:
            it = (arrow.Parquet if kind in PARQUET else arrow.Ipc)(path, source)
            names = self._named(columns_chosen(source, it.names, self.wanted, clicks), source)
            coders, parts = typed_parts(it, names, BATCH)
        self._same(coders, names, source)
        return whole_parts(source, names, parts)

    def _named(self, names: Three, source: str) -> Three:
        """The names of the first file are those of all."""
        self.names = self.names or names
        if names != self.names:
            raise Refused(
                f"{source} must have the columns of the files before it, {', '.join(self.names)}; it has "
                f"{', '.join(names)}: name them with user, item and value"
            )
        return names

    def _same(self, coders: Sequence[Coder], names: Three, source: str) -> None:
        """The coders of the first file number the ids of all."""
        self.coders = self.coders or list(coders)
        for mine, theirs, name in zip(self.coders, coders, names, strict=False):
            if type(mine) is not type(theirs):
                raise Refused(
                    f"{source} must have ids in column {name!r} of the type that they have in the files before it: "
                    "write all of them as numbers, or as text"
                )

    def _take(self, ids: list[tuple[Array, Array]], values: Array, source: str) -> Array:
        """Records of some rows, counted."""
        if not np.isfinite(values).all():
            raise Refused(f"{source}: values must be finite numbers; {int((~np.isfinite(values)).sum())} are not")
        out = np.empty(values.size, dtype=record("<f8"))
        for side, (name, (once, places)) in enumerate(zip(("line", "other"), ids, strict=True)):
            codes = self.coders[side].numbers(once)
            found = np.bincount(places, minlength=codes.size)
            if codes.size and codes.max() >= self.each[side].size:
                more = np.zeros(max(int(codes.max()) + 1, 2 * self.each[side].size), dtype=np.intp)
                more[: self.each[side].size] = self.each[side]
                self.each[side] = more
            self.each[side][codes] += found  # each code is there once
            out[name] = codes.take(places)
        out["value"] = values
        self.single = self.single and bool((values == values.astype(np.float32)).all())
        self.count += values.size
        return out


def _ordered(each: IntArray, ranks: Array) -> IntArray:
    """Numbers by code in the order of the ids."""
    found = np.zeros(ranks.size, dtype=np.intp)
    found[ranks] = each[: ranks.size]
    return found


# Buckets --------------------------------------------------------------------------------------------------------------


def cuts_of(each: IntArray, most: int) -> list[int]:
    """The first line of each block, and the number of lines: no block has more entries than that, unless it is one
    line."""
    before, cuts = np.concatenate([[0], np.cumsum(each)]), [0]
    while cuts[-1] < each.size:
        last = int(np.searchsorted(before, before[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(max(last, cuts[-1] + 1), each.size))
    return cuts


def scatter(it: Spilled, cuts: tuple[Sequence[int], Sequence[int]], folder: Path) -> tuple[list[str], list[str]]:
    """Each entry to the bucket of its row and to that of its column; files of buckets, which need not be there where
    they are empty. What was spilled is removed."""
    kind = record(it.kind)
    rows, cols = ([str(folder / f"{side}-{i}") for i in range(len(c) - 1)] for side, c in zip("rc", cuts, strict=True))
    homes = [np.repeat(np.arange(len(c) - 1, dtype=_numbering(len(c))), np.diff(c)) for c in cuts]
    with writing(folder):
        for i, j, values in it.batches():
            for (lines, others), home, files in zip(((i, j), (j, i)), homes, (rows, cols), strict=True):
                some = np.empty(values.size, dtype=kind)
                some["line"], some["other"], some["value"] = lines, others, values
                _append(some, home[lines], files)
    os.remove(it.path)
    return rows, cols


def _numbering(count: int) -> type[np.uint16 | np.int32]:
    """Numbers of blocks: short ones are put in order without comparisons."""
    return np.uint16 if count < 1 << 16 else np.int32


def _append(some: Array, home: Array, files: Sequence[str]) -> None:
    order = np.argsort(home, kind="stable")
    ends = np.cumsum(np.bincount(home, minlength=len(files)))
    some = some[order]
    for file, first, last in zip(files, [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        if last > first:
            with open(file, "ab") as stream:
                some[first:last].tofile(stream)


Merged = tuple[Array, Array, Array, int, "tuple[int, int] | None"]


def merged(starts: Array, others: Array, values: Array, duplicates: str) -> Merged:
    """Lines whose entries are ordered, each entry once: how many repeated another, and one that did. Those that are
    refused are left as they are."""
    lines = np.repeat(np.arange(starts.size - 1, dtype=np.int32), np.diff(starts))
    again = (others[1:] == others[:-1]) & (lines[1:] == lines[:-1])
    count = int(np.count_nonzero(again))
    if not count:
        return starts, others, values, 0, None
    first = np.concatenate([[True], ~again])
    repeats = np.flatnonzero(~first)
    example = int(lines[repeats[0]]), int(others[repeats[0]])
    found = values[first].astype(np.float64)
    MERGED[duplicates](found, repeats - np.arange(1, repeats.size + 1), values[repeats].astype(np.float64))
    each = np.bincount(lines[first], minlength=starts.size - 1)
    return np.concatenate([[0], np.cumsum(each)]), others[first], found, count, example


__all__ = ["Spill", "Spilled", "cuts_of", "files_of", "merged", "records_in", "scatter"]
