"""Pairs of ids, by which people name entries of a matrix, in whatever they come."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from fewatoms import frames, names
from fewatoms._types import Array
from fewatoms.ids import listed


def pairs(name: str, thing: object, columns: Sequence[str] = ()) -> tuple[Array, Array] | None:
    """Two columns of ids: those of these names in a frame, or all there is; None where there are not two."""
    frame = frames.framed(name, thing)
    if frame is not None:
        labels = [str(label) for label in frame.labels]
        known = [label for label in columns if label in labels]
        if len(known) == 2:
            return column(frame, columns[0]), column(frame, columns[1])
        if known and len(labels) == 2:
            raise ValueError(
                f"{name} must have the columns {columns[0]!r} and {columns[1]!r}, or two that are called otherwise; "
                f"got {names.told(labels)}"
            )
        return (column(frame, labels[0]), column(frame, labels[1])) if len(labels) == 2 else None
    if isinstance(thing, (list, tuple)) and all(isinstance(row, (list, tuple, np.ndarray)) for row in thing):
        return _of_rows(thing)
    array: Array = thing if isinstance(thing, np.ndarray) else np.asarray(thing)
    return (array[:, 0], array[:, 1]) if array.ndim == 2 and array.shape[1] == 2 else None


def column(frame: frames.Frame, name: str) -> Array:
    """One column of a frame, as it is; those nearest to its name are told where there is none."""
    labels = tuple(str(label) for label in frame.labels)
    (place,) = names.places(frame.name, [str(name)], labels)
    return np.asarray(frame.native[frame.labels[place]])


def warn_of_triplets(frame: frames.Frame | None) -> None:
    """A frame of three columns without gaps, of which the first two hold ids that repeat, no pair twice: entries by the
    look of it, which would be taken for a table of three columns."""
    labels = [] if frame is None else [str(label) for label in frame.labels]
    if frame is None or len(labels) != 3:
        return
    rows, cols, values = (column(frame, label) for label in labels)
    ids = all(c.dtype.kind in "iu" and np.unique(c).size < c.size for c in (rows, cols))
    if not ids or values.dtype.kind not in "iuf" or np.isnan(values).any():
        return
    if np.unique(np.stack([rows, cols]), axis=1).shape[1] == rows.size:
        named = ", ".join(f"{word}={label!r}" for word, label in zip(("user", "item", "value"), labels, strict=True))
        told = (
            f"{frame.name} is taken for a table of three columns without gaps; if its rows are entries: fit(X, {named})"
        )
        warnings.warn(told, UserWarning, stacklevel=4)


def measured(columns: tuple[Array, Array]) -> bool:
    """Whether two columns hold numbers with fractions, which are measurements and no ids."""
    return any(c.dtype.kind == "f" and bool((c[np.isfinite(c)] % 1).any()) for c in columns)


def _of_rows(rows: Sequence[Sequence[object]]) -> tuple[Array, Array] | None:
    """The columns of rows of two, as numbers where all of them are, else as objects, so that ids keep their types."""
    if {len(row) for row in rows} != {2}:
        return None
    first, second = ([v.item() if isinstance(v, np.number) else v for v in place] for place in zip(*rows, strict=True))
    if all(isinstance(value, (int, float)) and type(value) is not bool for value in first + second):
        return _as_numbers(first), _as_numbers(second)
    return listed("pairs", first), listed("pairs", second)


def _as_numbers(values: list[object]) -> Array:
    """Numbers as an array of one type, unless that takes one for another: floats do so from 2**53 on."""
    found = np.array(values)
    same = all(a == b or a != a for a, b in zip(values, found.tolist(), strict=True))
    return found if same else listed("pairs", values)


def gapped(X: object) -> object:
    """A masked array with NaN for what is masked; anything else as it is."""
    return np.ma.filled(X.astype(np.float64), np.nan) if isinstance(X, np.ma.MaskedArray) else X
