"""Labels of classes as data: which values there are, and which of them each datum has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from fewatoms import _checks, kept
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.kept import Plain

if TYPE_CHECKING:
    from fewatoms.losses import Loss

SHOWN = 5  # classes that a message names


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes that an answer tells apart, for each data vector: the distinct labels in their order, or in that in
    which they came where values of different types have none.

    names : an array for each data vector
    each : whether a model says a number for each class, instead of one that is positive for the second of two
    """

    names: tuple[Array, ...]
    each: bool = False

    @property
    def told(self) -> Array | list[Array]:
        """As users read it: an array, or one for each of several data vectors."""
        return self.names[0] if len(self.names) == 1 else list(self.names)

    def same_as(self, other: Classes | None) -> bool:
        return other is not None and [n.tolist() for n in self.names] == [n.tolist() for n in other.names]

    def plain(self) -> Plain:
        names: list[Plain] = [[str(n.dtype), [_label(value) for value in _listed(n)]] for n in self.names]
        return {"names": names, "each": self.each}

    @classmethod
    def read(cls, header: Plain) -> Classes:
        h = kept.section(header)
        pairs = [kept.rows(pair) for pair in kept.rows(h["names"])]
        return cls(tuple(_unlisted(str(kind), kept.rows(labels)) for kind, labels in pairs), h["each"] is True)

    def probabilities(self, margins: FloatArray) -> FloatArray:
        """Those of the classes along a last axis, which is that of the margins where there is one for each class."""
        if self.each:
            P = np.exp(margins - margins.max(axis=-1, keepdims=True))
            return np.asarray(P / P.sum(axis=-1, keepdims=True))
        rare = np.exp(-np.abs(margins))
        less, more = rare / (1.0 + rare), 1.0 / (1.0 + rare)
        second = np.where(margins > 0, more, less)
        return np.stack([np.where(margins > 0, less, more), second], axis=-1)


@dataclass(frozen=True, eq=False)
class Labels:
    """Data that are labels.

    codes : which class each datum has, numbered from 0; in the shape of the data when they are read, flat later
    classes : which classes there are
    """

    codes: IntArray
    classes: Classes

    @property
    def count(self) -> int:
        """How many classes a data vector has at most."""
        return max(names.size for names in self.classes.names)

    @cached_property
    def signs(self) -> FloatArray:
        """-1 for the first of two classes, +1 for the second."""
        return np.where(self.codes > 0, 1.0, -1.0)

    def at(self, rows: IntArray) -> Labels:
        """Those of some of the data."""
        return replace(self, codes=self.codes[rows])


def found(b: npt.ArrayLike, loss: Loss, *, columns: bool) -> Labels | None:
    """The labels that data are, in `columns` or all of one kind; None where data are numbers as other losses take them.

    To a loss of two classes, numbers are labels where they have two values: all 0, they leave the signs to M, and
    others are b of f(b - Mx) for its own sake.
    """
    if not loss.labelled or sp.issparse(b):
        return None
    _checks.unmasked("b", b)
    values = np.asarray(b)
    if values.dtype.kind in "US" and not hasattr(b, "dtype"):  # a list: whatever is no string would be made one
        values = np.asarray(b, dtype=object)
    vectors = list(values.T) if columns else [values]
    if _may_be_data(values, loss) and not all(map(_two, vectors)):
        return None
    codes, names = zip(*(read(vector, loss) for vector in vectors), strict=True)
    return Labels(np.stack(codes, axis=-1) if columns else codes[0], Classes(names, loss.width(2) > 1))


def refuse(b: npt.ArrayLike, loss: Loss) -> None:
    """Refuse whole numbers that are no data of a loss of two classes: they are labels, of one class or too many."""
    if not loss.labelled:
        return
    values = np.asarray(b)
    if values.any() and (values == np.round(values)).all():
        read(values, loss)


def _may_be_data(values: Array, loss: Loss) -> bool:
    numbers = loss.width(2) == 1 and values.dtype.kind in "iuf"
    return numbers and not np.isnan(values).any()


def _two(values: Array) -> bool:
    low, high = values.min(), values.max()
    return bool(low < high and ((values == low) | (values == high)).all())


def read(values: Array, loss: Loss) -> tuple[IntArray, Array]:
    """Which class each value is of, and the classes."""
    if values.dtype.kind == "c":
        raise TypeError(f"b must hold labels such as numbers or strings with {loss!r}; got an array of {values.dtype}")
    codes, names = _sorted(values) if values.dtype.kind in "biufUSMm" else _any(values)
    if names.size < 2:
        raise ValueError(f"b must hold labels of two classes or more with {loss!r}; got only {names.tolist()[0]!r}")
    if loss.width(names.size) == 1 and names.size > 2:
        raise ValueError(
            f"b must hold labels of two classes with {loss!r}; got {names.size}, {_shown(names)}: "
            "loss=Multinomial() takes more"
        )
    return codes, names


def _listed(names: Array) -> list[object]:
    """The classes one by one, as Python's own values; times as whole numbers."""
    return (names.view(np.int64) if names.dtype.kind in "mM" else names).tolist()


def _label(value: object) -> Plain:
    if isinstance(value, tuple):
        return {"tuple": [_label(part) for part in value]}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"labels must be numbers, strings or tuples of them to be saved or pickled; got {value!r}")


def _unlisted(kind: str, labels: Sequence[Plain]) -> Array:
    names = np.empty(len(labels), dtype=object)
    names[:] = [_label_from(label) for label in labels]
    if kind[:1] in "mM":
        return names.astype(np.int64).astype(kind)
    return names.astype(kind)


def _label_from(label: Plain) -> object:
    if not isinstance(label, dict):
        return label
    if "bytes" in label:
        return str(label["bytes"]).encode("latin-1")
    return tuple(_label_from(part) for part in kept.rows(label["tuple"]))


def _shown(names: Array) -> str:
    told = ", ".join(map(repr, names[:SHOWN].tolist()))
    return f"{told}, ..." if names.size > SHOWN else told


def _sorted(values: Array) -> tuple[IntArray, Array]:
    lacking: Callable[[Array], Array] = {"f": np.isnan, "M": np.isnat, "m": np.isnat}.get(values.dtype.kind, _none)
    _refuse_missing(int(lacking(values).sum()))
    if values.dtype.kind == "f":
        _checks.finite("b", values)
    names, codes = np.unique(values, return_inverse=True)
    if values.dtype.kind == "f" and names.size == values.size > 2 and (names != np.round(names)).any():
        raise ValueError(
            f"b must hold labels, several data in a class; got {names.size} numbers, all of them different"
        )
    return codes.reshape(values.shape).astype(np.intp, copy=False), names


def _none(values: Array) -> Array:
    return np.zeros(1, dtype=bool)


def _any(values: Array) -> tuple[IntArray, Array]:
    """Values of any types: they are told apart by what Python calls equal."""
    listed = values.ravel().tolist()
    _refuse_missing(sum(map(missing, listed)))
    try:
        order = list(dict.fromkeys(listed))
    except TypeError:
        odd = next(value for value in listed if not _hashable(value))
        raise TypeError(f"b must hold labels such as numbers or strings; got {odd!r}") from None
    with suppress(TypeError):  # of different types: in the order in which they came
        order.sort()
    place = {value: i for i, value in enumerate(order)}
    names = np.empty(len(order), dtype=object)
    names[:] = order
    return np.array([place[value] for value in listed], dtype=np.intp).reshape(values.shape), names


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def missing(value: object) -> bool:
    """None, NaN, and what other packages have for them: those are not equal to themselves, or do not say."""
    try:
        return value is None or not bool(value == value)
    except (TypeError, ValueError):
        return True


def _refuse_missing(count: int) -> None:
    if count:
        raise ValueError(f"b must have a label for every datum; {count} are missing: leave those rows out")
