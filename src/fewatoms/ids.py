"""Ids of any type as codes and back: who the rows and columns of a matrix are."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from fewatoms import _checks, names
from fewatoms._types import Array, Foreign, IntArray

UNKNOWN = -1
KINDS_TOLD = {
    "i": "integers",
    "f": "numbers",
    "M": "times",
    "m": "durations",
    "U": "text",
    "O": "values of several types",
}


class Ids:
    """Distinct ids; the code of each is its place.

    values : in the order of the codes: integers, other numbers, times, or objects where they are text or mixed
    """

    def __init__(self, values: Array) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, name: str, column: object) -> tuple[Ids, IntArray]:
        """The ids of a column and the code of each entry. Ids are sorted; where they have no order, as they came."""
        plain = _plain(name, column)
        if plain.dtype.kind != "O":
            values, codes = np.unique(plain, return_inverse=True)
            return cls(values), codes.astype(np.intp, copy=False)
        places: dict[tuple[bool, object], int] = {}
        codes = np.array([places.setdefault(_key(value), len(places)) for value in plain.tolist()], dtype=np.intp)
        values = _objects(value for _, value in places)
        try:
            order = np.array(sorted(range(len(values)), key=values.__getitem__), dtype=np.intp)
        except TypeError:
            return cls(values), codes
        rank = np.empty(len(values), dtype=np.intp)
        rank[order] = np.arange(len(values))
        return cls(values[order]), rank[codes]

    def codes(self, name: str, column: object) -> IntArray:
        """The code of each entry, UNKNOWN (-1) where an id is not among these."""
        plain = _plain(name, column)
        if plain.size == 0 or len(self) == 0:
            return np.full(plain.size, UNKNOWN, dtype=np.intp)
        mine, theirs = _kind(self.values), _kind(plain)
        if mine != theirs and not {mine, theirs} <= {"i", "f"} and "O" not in (mine, theirs):
            raise TypeError(
                f"{name} must hold ids of the type that was fitted, {KINDS_TOLD[mine]}; got {KINDS_TOLD[theirs]}"
            )
        if "O" in (self.values.dtype.kind, plain.dtype.kind):
            return np.array([self._places.get(_key(value), UNKNOWN) for value in plain.tolist()], dtype=np.intp)
        spots = np.minimum(np.searchsorted(self.values, plain, sorter=self._sorter), len(self) - 1)
        found = self._sorter[spots]
        return np.where(self.values[found] == plain, found, UNKNOWN)

    def written(self, name: str, column: Array) -> IntArray:
        """The code of each entry of a column of a file, in which text may be written as numbers are, and numbers as
        text. Ids that are told apart by how they are written, such as 7 and 007, are not known again as numbers."""
        texts, numbers = self.values.dtype.kind in "OU", column.dtype.kind != "O"
        if not texts or not numbers:
            known = {(str(value) if texts else float(value)): i for i, value in enumerate(self.values.tolist())}
            given = column.tolist() if texts or numbers else [_number(value) for value in column.tolist()]
            return np.array([known.get(value, UNKNOWN) for value in given], dtype=np.intp)
        by_value: dict[float, list[int]] = {}
        for i, value in enumerate(self.values.tolist()):
            by_value.setdefault(_number(value), []).append(i)
        found = [by_value.get(value, [UNKNOWN]) for value in column.tolist()]
        unclear = next((places for places in found if len(places) > 1), None)
        if unclear is not None:
            one, other = (str(self.values[i]) for i in unclear[:2])
            raise ValueError(
                f"{name} must be text, as those of the model are: {one!r} and {other!r} are the same number; give them "
                "in a Parquet file with text, or with a word among them"
            )
        return np.array([places[0] for places in found], dtype=np.intp)

    def at(self, codes: IntArray) -> Array:
        """The ids of codes; None for those that are UNKNOWN."""
        if not (codes == UNKNOWN).any():
            return self.values[codes]
        return _objects([*self.values.tolist(), None])[codes]

    def extended(self, fresh: Array) -> Ids:
        """With others behind these."""
        if self.values.dtype == fresh.dtype:
            return Ids(np.concatenate([self.values, fresh]))
        return Ids(_plain("ids", [*self.values.tolist(), *fresh.tolist()]))

    @cached_property
    def _places(self) -> dict[tuple[bool, object], int]:
        return {_key(value): i for i, value in enumerate(self.values.tolist())}

    @cached_property
    def _sorter(self) -> IntArray:
        return np.argsort(self.values, kind="stable")

    def __getstate__(self) -> dict[str, Array]:
        return {"values": self.values}


def told(ids: Iterable[object]) -> str:
    """A few ids, for a message."""
    listed = [repr(value.item() if isinstance(value, np.generic) else value) for value in ids]
    more = f" and {len(listed) - names.SHOWN} more" if len(listed) > names.SHOWN else ""
    return ", ".join(listed[: names.SHOWN]) + more


def _kind(values: Array) -> str:
    """The letter of a type, with text as U."""
    if values.dtype.kind == "O":
        return "U" if all(type(value) is str for value in values) else "O"
    return values.dtype.kind


def _plain(name: str, column: object) -> Array:
    """A column of ids in one of the forms in which they are compared; what is missing is refused."""
    given = column if isinstance(column, np.ndarray) else listed(name, column)
    if given.ndim != 1:
        raise ValueError(f"{name} must hold one id per entry; got shape {given.shape}")
    kind = given.dtype.kind
    if kind == "O":
        return _of_objects(name, given)
    beyond = kind == "u" and given.size > 0 and int(given.max()) > np.iinfo(np.int64).max
    if kind in "iu" and not beyond:
        return given.astype(np.int64, copy=False)
    if kind in "uUSb":
        return given.astype(object)
    if kind not in "fmM":
        raise TypeError(f"{name} must hold ids: integers, text, times or other plain values; got {given.dtype}")
    missing = np.isnat(given) if kind in "mM" else np.isnan(given)
    _refuse_missing(name, int(missing.sum()))
    whole = kind == "f" and bool((np.abs(given) < 2.0**53).all()) and not (given % 1).any()
    return given.astype(np.int64) if whole else given


def _of_objects(name: str, given: Array) -> Array:
    try:
        distinct = set(given.tolist())
    except TypeError:
        raise TypeError(f"{name} must hold ids that can be told apart: integers, text, times; got lists") from None
    _refuse_missing(name, sum(_absent(value) for value in distinct))
    kinds = {type(value) for value in given.tolist()}  # of which True and 1 are different ones
    if kinds and all(issubclass(k, (int, np.integer)) and k is not bool for k in kinds):
        try:
            return given.astype(np.int64)
        except OverflowError:
            return given
    return given


def _key(value: object) -> tuple[bool, object]:
    """What tells ids apart: Python takes True for 1, and 1.0 too, of which the latter is meant."""
    return isinstance(value, bool | np.bool_), value


def _absent(value: object) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _refuse_missing(name: str, count: int) -> None:
    if count:
        raise ValueError(f"{name} must hold an id for every entry; {count} are missing: leave those entries out")


def _objects(values: Iterable[object]) -> Array:
    return np.fromiter(values, dtype=object)


def listed(name: str, column: object) -> Array:
    """A list or series as an array in which each id keeps its type."""
    if isinstance(column, (list, tuple, range)):
        return _objects(column)
    array: Foreign = np.asarray(column)
    if array.ndim == 0:
        raise TypeError(f"{name} must be several ids, in a list, an array or a series; got {_checks.came(column)}")
    return np.asarray(array)


def _number(text: object) -> float:
    try:
        return float(str(text))
    except ValueError:
        return np.nan
