"""Cells of text as columns: what is missing, what is a number, what is a word. One rule for all readers of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.io.memory import afford
from fewatoms.io.refused import Refused

MISSING = frozenset({"", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "NULL", "null", "None", "?"})
BLANKS = " \t\r\n\f\v"
# Each digit can be read in one way only: of a hundred thousand digits and a letter most ways are wrong.
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?|[+-]?nan", re.IGNORECASE | re.ASCII)
BOOLEANS = {"true": 1.0, "false": 0.0}
COMMAS = re.compile(r"[+-]?\d*(,\d+)?(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)  # numbers with a decimal comma
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)  # or is that a decimal comma?

# Words that spreadsheets take for formulas, or that were kept from that: an apostrophe goes before them.
FORMULA = re.compile(r"'*[=+\-@\t\r\n]")

EMPTY, BOOL, NUMERIC, TEXT = "empty", "bool", "numeric", "text"


def harmless(word: str) -> str:
    """A word as it is written into text: with an apostrophe before what a spreadsheet would compute; numbers stay."""
    return f"'{word}" if FORMULA.match(word) and not NUMBER.fullmatch(word) else word


def bare(word: str) -> str:
    """A word as it was before `harmless`."""
    return word[1:] if word.startswith("'") and FORMULA.match(word) and not NUMBER.fullmatch(word[1:]) else word


class Cells(Protocol):
    """Some cells of one column."""

    def numbers(self) -> tuple[str, FloatArray]:
        """What they are (one of the four words above), and the numbers with NaN for what is missing."""
        ...

    def texts(self) -> Array:
        """Strings, stripped, and None for what is missing."""
        ...

    def encoded(self) -> tuple[Array, Array]:
        """The words, each once, and which of these each cell is; -1 where it is missing."""
        ...


class PlainCells:
    """Cells as strings of Python."""

    def __init__(self, raw: Sequence[str]) -> None:
        self.raw = raw

    @cached_property
    def cells(self) -> list[str]:
        return [cell.strip(BLANKS) for cell in self.raw]

    def numbers(self) -> tuple[str, FloatArray]:
        values = self._plain_numbers()
        if values is not None:
            return NUMERIC, values
        nan = float("nan")
        there = [cell for cell in self.cells if cell not in MISSING]
        if not there:
            return EMPTY, np.full(len(self.cells), nan)
        if all(map(NUMBER.fullmatch, there)):
            return NUMERIC, np.array([nan if cell in MISSING else float(cell) for cell in self.cells])
        if all(cell.lower() in BOOLEANS for cell in there):
            return BOOL, np.array([BOOLEANS.get(cell.lower(), nan) for cell in self.cells])
        return TEXT, np.empty(0)

    def _plain_numbers(self) -> FloatArray | None:
        """The numbers of cells that are all there, quickly; Python also reads 1_000, and digits of other scripts."""
        together = "".join(self.raw)
        if not together.isascii() or "_" in together:
            return None
        try:
            values = np.array([float(cell) for cell in self.raw])
        except ValueError:
            return None
        return None if np.isnan(values).any() else values

    def texts(self) -> Array:
        seen: dict[str, str | None] = dict.fromkeys(MISSING)  # equal words are one object
        return objects([seen.setdefault(cell, bare(cell)) for cell in self.cells])

    def encoded(self) -> tuple[Array, Array]:
        seen: dict[str, int] = {}
        places = [-1 if cell in MISSING else seen.setdefault(bare(cell), len(seen)) for cell in self.cells]
        return objects(list(seen)), np.array(places, dtype=np.intp)


def spelled(value: float) -> str:
    """A number as text, by its shortest exact digits; whole ones without a point."""
    return f"{value:.17g}" if value.is_integer() else repr(value)


def objects(values: Sequence[object]) -> Array:
    """An array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def columns_of(
    source: str,
    names: Sequence[str],
    batches: Callable[[], Iterator[Sequence[Cells]]],
    commas: bool,
    as_text: Collection[str] = (),
) -> dict[str, Array]:
    """Columns from batches of cells: numbers where all are, otherwise text, and text where that is asked for.

    A word that comes late makes a second pass, in which its column is text from the start, so that no column has to be
    kept twice. `commas`: numbers may have decimal commas, since nothing else is separated by them.
    """
    words = {place for place, name in enumerate(names) if name in as_text}
    parts, late = _pass(source, len(names), batches(), words)
    if late:
        parts, _ = _pass(source, len(names), batches(), words | late)
    columns = {}
    for place, name in enumerate(names):
        column = np.concatenate(parts[place]) if parts[place] else np.empty(0)
        parts[place].clear()
        columns[name] = (
            with_commas(source, name, column) if commas and column.dtype.kind == "O" and name not in as_text else column
        )
    return columns


def _pass(
    source: str, width: int, batches: Iterator[Sequence[Cells]], words: set[int]
) -> tuple[list[list[Array]], set[int]]:
    """The parts of all columns, and which turned out to be text after numbers had been seen in them."""
    parts: list[list[Array]] = [[] for _ in range(width)]
    kinds: list[set[str]] = [set() for _ in range(width)]
    late: set[int] = set()
    for batch in batches:
        for place, cells in enumerate(batch):
            if place not in words | late:
                kind, numbers = cells.numbers()
                kinds[place].add(kind)
                if TEXT not in kinds[place] and not {BOOL, NUMERIC} <= kinds[place]:
                    parts[place].append(numbers)
                    continue
                if parts[place]:
                    late.add(place)
                    parts[place].clear()
                else:
                    words.add(place)
            if place in words:
                parts[place].append(cells.texts())
        afford(source, sum(len(part) * part.itemsize for part in batch_of(parts)))
    return parts, late


def batch_of(parts: Sequence[Sequence[Array]]) -> Iterator[Array]:
    """The last parts: as much again will be needed soon."""
    return (column[-1] for column in parts if column)


def with_commas(source: str, name: str, column: Array) -> Array:
    """A column of numbers with decimal commas as numbers, refused where they may be thousands; any other as it is."""
    there = [word for word in column if word is not None]
    if not there or not all(COMMAS.fullmatch(word) and word.strip("+-") for word in there):
        return column
    with_comma = [word for word in there if "," in word]
    if all(THOUSANDS.fullmatch(word) for word in with_comma):
        raise Refused(
            f"{source} has numbers such as {with_comma[0]!r} in column {name!r}, which may be read in two ways: write "
            "them with a decimal point, or without commas"
        )
    return np.array([np.nan if word is None else float(word.replace(",", ".")) for word in column])
