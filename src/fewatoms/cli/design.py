"""From the columns of a table to a matrix with names: categories as columns of 0 and 1, missing values, columns that
say nothing. A `Recipe` does the same to new tables, and goes into the file of a model."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import kept, names
from fewatoms.cli.options import refused
from fewatoms.io.cells import spelled
from fewatoms.kept import Plain

if TYPE_CHECKING:
    from fewatoms._types import Array, FloatArray
    from fewatoms.io import Table

FEW_ROWS, NEARLY_ALL = 8, 0.8  # rows from which on words are compared, and the share of them that tells rows apart
LEVELS = 1000  # that one column may have
GAPS = ("error", "drop", "mean")  # what may be done about missing values
TO_FIT = "say --missing drop to leave out those rows, or --missing mean to put means in their places"
TO_PREDICT = "fill them in, or fit the model with --missing mean, which keeps means, or drop, which predicts other rows"
POINTED = re.compile(r"-?\d+(\.0)?", re.ASCII)  # as some write what others write without a point
DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(\D|$)", re.ASCII)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    levels : of a category, each a column of 0 and 1; the most frequent one has none. None for numbers
    means : what stands for missing values, one for each column that this one makes; none where they are refused
    """

    name: str
    levels: tuple[str, ...] | None = None
    means: tuple[float, ...] = ()
    base: str = ""

    @property
    def made(self) -> tuple[str, ...]:
        """The names of what this one becomes."""
        return (self.name,) if self.levels is None else tuple(f"{self.name}={level}" for level in self.levels)

    def values(self, table: Table) -> FloatArray:
        """The columns that it becomes, NaN where something is missing."""
        column = table.column(self.name)
        if self.levels is None:
            if column.dtype.kind == "O":
                raise refused(f"{table.source}: column {self.name!r} must hold numbers; got {_sample(column)}")
            return np.asarray(column, dtype=np.float64)[:, None]
        known = {*self.levels, self.base}
        words, missing = as_words(column)
        words = [_known_as(word, known) for word in words]
        strange = sorted({word for word, gone in zip(words, missing, strict=True) if not gone and word not in known})
        if strange:
            raise refused(
                f"{table.source}: column {self.name!r} must hold categories that the model knows, "
                f"{names.told(sorted(known))}; got {names.told(strange)}"
            )
        coded = np.array(words, dtype=object)[:, None] == np.array(self.levels, dtype=object)
        return np.where(missing[:, None], np.nan, coded.astype(np.float64))


@dataclass(frozen=True)
class Recipe:
    """How a table becomes the matrix that a model was fitted to.

    target : the name of the column that is explained
    missing : "error", "drop" or "mean"
    id : the name of the column that says what rows are called, if one does
    """

    target: str
    missing: str
    columns: tuple[Column, ...] = field(repr=False)
    id: str | None = None

    @property
    def made(self) -> tuple[str, ...]:
        return tuple(name for column in self.columns for name in column.made)

    @property
    def categorical(self) -> list[str]:
        """Columns whose entries are words, as they are written, even if they look like numbers."""
        return [column.name for column in self.columns if column.levels is not None]

    def design(self, table: Table, used: Array | None = None) -> tuple[FloatArray, Array]:
        """The matrix for a table, and which of its rows are whole: of the others the entries mean nothing. Columns that
        nobody uses need not be in the table, and are zero then."""
        X = np.zeros((table.rows, len(self.made)), order="F")
        end = 0
        for column in self.columns:
            start, end = end, end + len(column.made)
            if used is None or used[start:end].any():
                X[:, start:end] = column.values(table)
        missing = np.isnan(X)
        if missing.any() and self.missing == "mean":
            means = np.array([mean for column in self.columns for mean in column.means])
            np.copyto(X, means, where=missing)
            missing[:] = False
        whole: Array = ~np.any(missing, axis=1)
        if not whole.all() and self.missing == "error":
            raise refused(gaps(table.source, *self._gaps(missing), TO_FIT if used is None else TO_PREDICT))
        if np.isinf(X).any():
            bad = [name for i, name in enumerate(self.made) if np.isinf(X[:, i]).any()]
            raise refused(f"{table.source}: columns must hold finite numbers; there is infinity in {names.told(bad)}")
        return X, whole

    def _gaps(self, missing: Array) -> tuple[list[str], list[int]]:
        """The columns of the table with missing values, and how many: a category counts once, not for each of its
        columns of 0 and 1."""
        ends = np.cumsum([len(column.made) for column in self.columns])
        counts = [int(missing[:, end - 1].sum()) for end in ends]
        found = [(column.name, count) for column, count in zip(self.columns, counts, strict=True) if count]
        return [name for name, _ in found], [count for _, count in found]

    def plain(self) -> Plain:
        columns: list[Plain] = [
            {"name": c.name, "levels": None if c.levels is None else [*c.levels], "means": [*c.means], "base": c.base}
            for c in self.columns
        ]
        return {"target": self.target, "missing": self.missing, "columns": columns, "id": self.id}

    @classmethod
    def read(cls, header: Plain) -> Recipe:
        told = kept.section(header)
        columns = []
        for each in map(kept.section, kept.rows(told["columns"])):
            levels = None if each["levels"] is None else tuple(str(v) for v in kept.rows(each["levels"]))
            means = tuple(kept.real(v) for v in kept.rows(each["means"]))
            columns.append(Column(str(each["name"]), levels, means, str(each["base"])))
        named, missing = told.get("id"), str(told["missing"])
        if missing not in GAPS or any(len(c.means) != len(c.made) for c in columns if c.means or missing == "mean"):
            raise ValueError(f"missing must be one of {GAPS}, with a mean for each column; got {missing!r}")
        return cls(str(told["target"]), missing, tuple(columns), None if named is None else str(named))


def recipe(
    table: Table, target: str, *, categorical: Sequence[str], without: Sequence[str], missing: str, id: str | None
) -> tuple[Recipe, list[str]]:
    """What to do with the columns of a table, and notes about those that are left out."""
    for name in [*categorical, *without]:
        table.column(name)  # refused unless it is there
    among = [name for name in table.names if name != target and name not in without]
    texts = [name for name in among if table.columns[name].dtype.kind == "O" and name not in categorical]
    texts = [name for name in texts if not as_words(table.columns[name])[1].all()]
    if texts:
        raise refused(_of_texts(table, texts))
    columns: list[Column] = []
    idle: list[str] = []
    empty: list[str] = []
    for name in among:
        column = _column(table, name, name in categorical)
        if column is None:
            (empty if _all_missing(table.columns[name]) else idle).append(name)
        else:
            columns.append(column)
    notes = [
        f"{names.told(some)} {'is' if len(some) == 1 else 'are'} left out: {why}"
        for some, why in ((idle, "constant"), (empty, "nothing but missing values"))
        if some
    ]
    if not columns:
        raise refused(f"{table.source}: no column is left that could explain {target!r}")
    return Recipe(target, missing, tuple(columns), id), notes


def as_written(table: Table, names: Sequence[str]) -> Table:
    """A table in which these columns are text, as the file has it: codes are no numbers, 01 is not 1."""
    from fewatoms import io

    if not names:
        return table
    words = io.read_table(table.source, columns=[*names], as_text=[*names]).columns
    return io.Table({**table.columns, **words}, table.source)


def spread(table: Table, given: Sequence[str]) -> list[str]:
    """The columns that an option names: each by itself, or several with commas between them."""
    found: list[str] = []
    for name in given:
        parts = [part.strip() for part in name.split(",")]
        found += [name] if name in table.columns or len(parts) == 1 else parts
    return [*dict.fromkeys(found)]


def quoted(columns: Sequence[str]) -> str:
    """Columns as an option names them, in quotes where a shell would take them apart."""
    return shlex.quote(",".join(columns))


def _tells_rows_apart(column: Array) -> bool:
    """Whether nearly every row has a word of its own: names and numbers of rows, which explain nothing."""
    there = [value for value in column if value is not None]
    return len(there) >= FEW_ROWS and len(set(there)) > NEARLY_ALL * len(there)


def dated(column: Array) -> bool:
    """Whether text looks like dates or times."""
    there = [str(value) for value in column if value is not None]
    return bool(there) and all(map(DATE.match, there))


def _of_texts(table: Table, texts: Sequence[str]) -> str:
    """Columns of text that cannot be used, and what to do about them."""
    dates = [name for name in texts if dated(table.columns[name])]
    apart = [name for name in texts if name not in dates and _tells_rows_apart(table.columns[name])]
    words = [name for name in texts if name not in dates and name not in apart]
    advice = []
    if words:
        advice.append(f"--categorical {quoted(words)} makes columns of 0 and 1 of words, --drop leaves columns out")
    if apart:
        ids = f"--id {quoted(apart[:1])} keeps it beside predictions, " if len(apart) == 1 else ""
        differ = "differs" if len(apart) == 1 else "differ"
        advice.append(f"{names.told(apart)} {differ} in nearly every row: {ids}--drop {quoted(apart)} leaves it out")
    if dates:
        which = names.told(dates) if words else "dates"
        advice.append(
            f"{which} must become numbers first, such as years, months or days since the first, or --drop "
            f"{quoted(dates)}"
        )
    hold = "holds" if len(texts) == 1 else "hold"
    return f"{table.source}: columns must hold numbers; {names.told(texts)} {hold} text: {'; '.join(advice)}"


def _column(table: Table, name: str, categorical: bool) -> Column | None:
    """What is to be done with one; None if it says nothing."""
    values = table.columns[name]
    if _all_missing(values):
        return None
    if not categorical:
        known = np.asarray(values[~np.isnan(values)], dtype=np.float64)
        if known.min() == known.max():
            return None
        return Column(name, None, (float(known.mean()),))
    words, missing = as_words(values)
    levels, counts = np.unique(
        np.array([w for w, gone in zip(words, missing, strict=True) if not gone]), return_counts=True
    )
    if levels.size < 2:
        return None
    if levels.size > LEVELS:
        raise refused(f"{table.source}: column {name!r} must have at most {LEVELS} categories; got {levels.size}")
    base = int(counts.argmax())
    shares = counts / counts.sum()
    others = [i for i in range(levels.size) if i != base]
    return Column(
        name, tuple(str(levels[i]) for i in others), tuple(float(shares[i]) for i in others), str(levels[base])
    )


def as_words(column: Array) -> tuple[list[str], Array]:
    """Entries as categories, whole numbers without a point, and which of them are missing."""
    if column.dtype.kind == "O":
        missing = np.array([value is None for value in column], dtype=bool)
        return [str(value) for value in column], missing
    return [spelled(value) for value in column.tolist()], np.isnan(column)


def _known_as(word: str, known: set[str]) -> str:
    """What a category is called: as it is written, or as a whole number is, with a point or without."""
    if word in known or not POINTED.fullmatch(word):
        return word
    other = word.removesuffix(".0") if word.endswith(".0") else f"{word}.0"
    return other if other in known else word


def _all_missing(values: Array) -> bool:
    return bool(as_words(values)[1].all()) if values.dtype.kind == "O" else bool(np.isnan(values).all())


def gaps(source: str, where: Sequence[str], counts: Sequence[int], advice: str) -> str:
    """Where there are missing values, and what to do about them."""
    some = "1 value is" if sum(counts) == 1 else f"{sum(counts)} values are"
    return f"{source}: {some} missing, in {names.told(where)}: {advice}"


def _sample(column: Array) -> str:
    return repr(next((value for value in column if value is not None), None))
