"""What files hold: a table, a matrix of numbers, a matrix by some of its entries, a stack of frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fewatoms import names as naming
from fewatoms._types import Array, FloatArray, Matrix
from fewatoms.io.refused import Refused


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by their names, in the order of the file.

    columns : float64 with NaN for what is missing, or text: objects that are strings or None
    source : the file as it was named, for messages
    """

    columns: dict[str, Array]
    source: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @property
    def rows(self) -> int:
        return min((len(column) for column in self.columns.values()), default=0)

    def column(self, name: str) -> Array:
        """One column; refused with the nearest names where there is none of this name."""
        asked(self.source, (name,), self.names)
        return self.columns[name]

    def numeric(self, names: Sequence[str] | None = None) -> FloatArray:
        """These columns, or all, as one (rows, columns) array; text is refused."""
        chosen = self.names if names is None else tuple(names)
        asked(self.source, chosen, self.names)
        refuse_text(self.source, {name: self.columns[name] for name in chosen})
        if not chosen:
            return np.empty((self.rows, 0))
        return np.column_stack([self.columns[name] for name in chosen])


@dataclass(frozen=True, eq=False)
class Grid:
    """A matrix of numbers.

    values : (rows, columns) array of float64 or float32, or a sparse array of SciPy
    names : of the columns; None where the file has none
    target : what stood beside the matrix, one number a row (labels of libsvm, y of an archive); or None
    sides : (height, width) of the image whose pixels are the rows, line after line; None where there is none
    """

    values: Matrix
    names: tuple[str, ...] | None
    target: Array | None
    source: str
    sides: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Entries:
    """A matrix by some of its entries: rows[i], cols[i] are codes, row_ids[rows[i]], col_ids[cols[i]] who they are.

    row_ids, col_ids : int64, or objects that are strings
    row, col, value : what the columns of the file are called
    """

    rows: Array
    cols: Array
    values: Array
    row_ids: Array
    col_ids: Array
    row: str
    col: str
    value: str
    source: str

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.row_ids), len(self.col_ids)


@dataclass(frozen=True, eq=False)
class Stack:
    """Frames of one size: (count, height, width), or (count, height, width, 3) in colour; `names` of the frames."""

    frames: Array
    names: tuple[str, ...]
    source: str


def asked(source: str, wanted: Sequence[str], there: tuple[str, ...], option: str = "") -> None:
    """Refuse names that no column has, with the nearest that some has; `option` says who names them."""
    try:
        naming.places(f"{option} of {source}" if option else f"columns asked of {source}", wanted, there)
    except ValueError as error:
        raise Refused(str(error)) from error


def refuse_text(source: str, columns: dict[str, Array]) -> None:
    """Refuse columns that are no numbers, with the first word that is none."""
    words = [name for name, column in columns.items() if column.dtype.kind == "O"]
    if words:
        example = next((word for word in columns[words[0]] if word is not None), "")
        raise Refused(
            f"{source} must have numbers in these columns; there is text in {naming.told(words)} (such as "
            f"{str(example)[:40]!r}): leave them out, or turn them into numbers"
        )


def distinct(source: str, names: Iterable[str]) -> tuple[str, ...]:
    """Names of columns as they are used: stripped; the first one, if it has none, is an index."""
    used = [name.strip() or ("index" if place == 0 else f"column {place + 1}") for place, name in enumerate(names)]
    twice = [name for name, count in Counter(used).items() if count > 1] if len(set(used)) < len(used) else []
    if twice:
        raise Refused(
            f"{source} must have columns of different names; {naming.told(twice)} came more than once: rename them, or "
            "put a line of names above the numbers"
        )
    return tuple(used)
