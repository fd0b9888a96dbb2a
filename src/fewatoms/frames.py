"""Data frames as arrays with names: pandas, polars, pyarrow and whatever looks like one of them, none of which is
imported here before a table of one kind is asked for.

Rows are taken in their order: an index is not looked at, so that M and b must have theirs in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from operator import methodcaller
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from fewatoms import names
from fewatoms._types import Array, Foreign, IntArray, Matrix
from fewatoms.names import Names

Maker: TypeAlias = Callable[[Mapping[str, Sequence[object]]], Foreign]

# Kinds that a file or a pickle may name, and what makes one of columns: their class, or a method of it.
MAKERS = {
    "pandas.DataFrame": "", "polars.DataFrame": "", "pyarrow.Table": "from_pydict", "pyarrow.RecordBatch": "from_pydict"
}  # fmt: skip
LAZY = ("toPandas", "collect", "compute")  # what makes a frame of one that is still to be computed
ARROW = ("int", "uint", "halffloat", "float", "double", "bool")  # how pyarrow's types of numbers begin


class Frame(ABC):
    """A data frame that came as the argument `name`."""

    def __init__(self, name: str, native: Foreign) -> None:
        self.name, self.native = name, native

    @cached_property
    def labels(self) -> list[object]:
        """What the columns are called."""
        return list(self.native.columns)

    @abstractmethod
    def types(self) -> list[Foreign]:
        """Those of the columns."""

    @abstractmethod
    def holds_numbers(self, kind: Foreign) -> bool:
        """Whether columns of a type hold numbers or truth values."""

    @abstractmethod
    def absent(self) -> list[int]:
        """How many entries each column of numbers lacks, other than NaN."""

    @abstractmethod
    def values(self) -> Matrix:
        """Columns of numbers as one array, in place where that can be; sparse where all of them are. What is missing is
        NaN or None there."""

    @abstractmethod
    def taken(self, which: IntArray) -> Frame:
        """The frame of some columns, in that order."""

    @property
    @abstractmethod
    def maker(self) -> Maker:
        """What makes a frame of the same kind from columns by name."""

    def names(self) -> Names | None:
        """What the columns are called; None where they are only numbered."""
        return names.of_labels(self.name, self.labels)

    @property
    def numeric(self) -> bool:
        return all(map(self.holds_numbers, self.types()))

    def refuse_others(self) -> None:
        """Refuse columns that hold anything else than numbers."""
        types = zip(self.labels, self.types(), strict=True)
        wrong = [f"{label!r} ({kind})" for label, kind in types if not self.holds_numbers(kind)]
        if wrong:
            more = f" and {len(wrong) - names.SHOWN} more" if len(wrong) > names.SHOWN else ""
            raise TypeError(
                f"{self.name} must have numbers in all columns; these hold others: "
                f"{', '.join(wrong[: names.SHOWN])}{more}. Encode categories as columns of 0 and 1, turn dates into "
                "numbers, convert numbers that are kept as text or objects, or leave these columns out"
            )

    def numbers(self) -> Matrix:
        """All columns as one array, refused unless they are numbers and lack nothing."""
        self.refuse_others()
        self._refuse_missing(self.absent())
        values = self.values()
        if values.dtype.kind == "f":
            with np.errstate(all="ignore"):
                whole = bool(np.isfinite(values.sum()))
            if not whole:
                self._refuse_missing([int(np.isnan(column).sum()) for column in _columns(values)])
                self._refuse_infinite([bool(np.isinf(column).any()) for column in _columns(values)])
        return values

    def with_gaps(self) -> Matrix:
        """All columns as one array, NaN where something is missing."""
        values = self.values()
        return values.astype(np.float64) if values.dtype.kind == "O" else values

    def _refuse_missing(self, counts: Sequence[int]) -> None:
        lacking = [(str(label), count) for label, count in zip(self.labels, counts, strict=True) if count]
        if lacking:
            have = f"{lacking[0][1]} in column" if len(lacking) == 1 else f"{sum(n for _, n in lacking)} in columns"
            raise ValueError(
                f"{self.name} must have no missing values; got {have} {names.told([label for label, _ in lacking])}: "
                "fill them in, or drop those rows or columns"
            )

    def _refuse_infinite(self, found: Sequence[bool]) -> None:
        where = [str(label) for label, bad in zip(self.labels, found, strict=True) if bad]
        if where:
            raise ValueError(f"{self.name} must hold finite numbers only; there is infinity in {names.told(where)}")


class PandasFrame(Frame):
    """pandas, and what has its indexers."""

    def types(self) -> list[Foreign]:
        return list(self.native.dtypes)

    def holds_numbers(self, kind: Foreign) -> bool:
        return kind.kind in "biufc"

    def absent(self) -> list[int]:
        return [0] * len(self.labels)  # they become NaN

    def values(self) -> Matrix:
        kinds = self.types()
        if all(hasattr(kind, "fill_value") and kind.fill_value == 0 for kind in kinds):
            return sp.csc_array(self.native.sparse.to_coo())
        if all(kind == kinds[0] for kind in kinds):
            if isinstance(kinds[0], np.dtype):
                return self.native.to_numpy()
            own = getattr(kinds[0], "numpy_dtype", None)  # of a type that has room for missing values
            if own is not None and not self.native.isna().to_numpy().any():
                return self.native.to_numpy(dtype=own)
        kept = np.complex128 if any(kind.kind == "c" for kind in kinds) else np.float64  # to be refused as such
        return self.native.to_numpy(dtype=kept, na_value=np.nan)

    def taken(self, which: IntArray) -> Frame:
        return PandasFrame(self.name, self.native.iloc[:, which])

    @property
    def maker(self) -> Maker:
        return type(self.native)


class PolarsFrame(Frame):
    """polars, and what gives its columns away as a list of series."""

    def types(self) -> list[Foreign]:
        return [column.dtype for column in self.native.get_columns()]

    def holds_numbers(self, kind: Foreign) -> bool:
        return (kind.is_numeric() and not kind.is_decimal()) or str(kind) == "Boolean"

    def absent(self) -> list[int]:
        return [int(column.null_count()) for column in self.native.get_columns()]

    def values(self) -> Matrix:
        columns = self.native.get_columns()
        if len({str(column.dtype) for column in columns}) == 1:
            return self.native.to_numpy()
        return np.column_stack([column.to_numpy() for column in columns])

    def taken(self, which: IntArray) -> Frame:
        return PolarsFrame(self.name, self.native[:, which.tolist()])

    @property
    def maker(self) -> Maker:
        return type(self.native)


class ArrowFrame(Frame):
    """Tables and batches of pyarrow."""

    @cached_property
    def labels(self) -> list[object]:
        return list(self.native.column_names)

    def types(self) -> list[Foreign]:
        return [str(column.type) for column in self.native.columns]

    def holds_numbers(self, kind: Foreign) -> bool:
        return kind.startswith(ARROW)

    def absent(self) -> list[int]:
        return [int(column.null_count) for column in self.native.columns]

    def values(self) -> Matrix:
        return np.column_stack([np.asarray(column) for column in self.native.columns])

    def taken(self, which: IntArray) -> Frame:
        return ArrowFrame(self.name, self.native.select(which.tolist()))

    @property
    def maker(self) -> Maker:
        made: Maker = type(self.native).from_pydict
        return made


def framed(name: str, thing: object) -> Frame | None:
    """The data frame that an argument is; None where it is none. One that is still to be computed is refused."""
    kind = type(thing)
    if isinstance(thing, Frame):
        return thing
    if not hasattr(kind, "columns") or callable(kind.columns):  # asked of the class: columns may be called anything
        return None
    for verb in LAZY:
        if hasattr(kind, verb):
            raise TypeError(
                f"{name} must be a data frame that is at hand; got a lazy one, {kind.__module__.split('.')[0]}."
                f"{kind.__name__}: pass {name}.{verb}()"
            )
    for told, reader in (("iloc", PandasFrame), ("get_columns", PolarsFrame), ("column_names", ArrowFrame)):
        if hasattr(kind, told):
            frame = reader(name, thing)
            if not frame.labels:
                raise ValueError(f"{name} must have at least one row and one column; got a data frame without columns")
            return frame
    return None


def kind_of(maker: Maker | None) -> str | None:
    """What a kind of frame is called in files; None for one that they do not know."""
    made = getattr(maker, "__self__", maker)
    said = "" if made is None else f"{made.__module__.split('.')[0]}.{made.__name__}"
    return said if said in MAKERS else None


def maker_of(kind: str | None) -> Maker | None:
    """The maker of a kind that has been kept; None where there is none, or its package is not installed here."""
    if kind not in MAKERS:
        return None
    package, _, made = kind.partition(".")
    try:
        found = getattr(import_module(package), made)
    except ImportError:
        return None
    maker: Maker = getattr(found, MAKERS[kind]) if MAKERS[kind] else found
    return maker


def arranged(name: str, thing: object, columns: Names | None) -> object:
    """A data frame with its columns in the order in which a model knows them; anything else as it is."""
    frame = framed(name, thing)
    if frame is None:
        return thing
    theirs = frame.names()
    if columns is None or theirs is None or theirs == columns:
        return frame
    return frame.taken(names.order(name, columns, theirs))


def data(name: str, thing: object, columns: Names | None = None) -> Foreign:
    """A series or a data frame as an array with as many axes; anything else as it is. What holds no numbers, as labels
    do, is left to whoever knows what it is."""
    return _array(name, thing, columns, Frame.numbers)


def table(name: str, thing: object, columns: Names | None = None) -> Foreign:
    """As `data`, with NaN for what is missing: where each column is a matter of its own."""
    return _array(name, thing, columns, Frame.with_gaps)


def _array(name: str, thing: object, columns: Names | None, read: Callable[[Frame], Matrix]) -> Foreign:
    series = hasattr(type(thing), "to_frame") and not hasattr(type(thing), "columns")
    frame = framed(name, methodcaller("to_frame")(thing) if series else arranged(name, thing, columns))
    if frame is None:
        return thing
    if not frame.numeric:
        return np.asarray(thing)
    values = read(frame)
    dense: Array = values.toarray() if sp.issparse(values) else values
    return dense[:, 0] if series else dense


def vector(name: str, thing: object) -> Foreign:
    """As `data`; a data frame of one column is a vector."""
    array = data(name, thing)
    return array[:, 0] if array is not thing and array.ndim == 2 and array.shape[1] == 1 else array


def names_of(name: str, thing: object) -> Names | None:
    """What the columns of an argument are called; None where it is no data frame, or they are only numbered."""
    frame = framed(name, thing)
    return None if frame is None else frame.names()


def _columns(values: Matrix) -> Iterator[Array]:
    """The numbers of each column; of sparse ones, those that are kept."""
    if not sp.issparse(values):
        yield from values.T
        return
    by_column = sp.csc_array(values)
    for start, end in zip(by_column.indptr[:-1], by_column.indptr[1:], strict=True):
        yield by_column.data[start:end]
