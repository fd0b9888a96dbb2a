"""Pairs of ids, by which people name entries of a matrix, in whatever they come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fewatoms import frames, names
from fewatoms._types import Array


def pairs(name: str, thing: object, columns: Sequence[str] = ()) -> tuple[Array, Array] | None:
    """Two columns of ids: those of these names in a frame, or all there is; None where there are not two."""
    frame = frames.framed(name, thing)
    if frame is not None:
        labels = [str(label) for label in frame.labels]
        if columns and set(columns) <= set(labels):
            return column(frame, columns[0]), column(frame, columns[1])
        return (column(frame, labels[0]), column(frame, labels[1])) if len(labels) == 2 else None
    array = thing if isinstance(thing, np.ndarray) else _of_rows(name, thing)
    if array is None or array.ndim != 2 or array.shape[1] != 2:
        return None
    return array[:, 0], array[:, 1]


def column(frame: frames.Frame, name: str) -> Array:
    """One column of a frame, as it is; those nearest to its name are told where there is none."""
    labels = tuple(str(label) for label in frame.labels)
    (place,) = names.places(frame.name, [str(name)], labels)
    return np.asarray(frame.native[frame.labels[place]])


def measured(columns: tuple[Array, Array]) -> bool:
    """Whether two columns hold numbers with fractions, which are measurements and no ids."""
    return any(c.dtype.kind == "f" and bool((c[np.isfinite(c)] % 1).any()) for c in columns)


def _of_rows(name: str, thing: object) -> Array | None:
    """Rows of two as an array of objects, so that ids keep their types."""
    if not isinstance(thing, (list, tuple)) or not all(isinstance(row, (list, tuple, np.ndarray)) for row in thing):
        array: Array = np.asarray(thing)
        return array
    if {len(row) for row in thing} != {2}:
        return None
    array = np.empty((len(thing), 2), dtype=object)
    for place in range(2):
        array[:, place] = [row[place] for row in thing]
    numbers = all(isinstance(value, (int, float, np.number)) and type(value) is not bool for value in array.ravel())
    return np.array(array.tolist()) if numbers else array


def gapped(X: object) -> object:
    """A masked array with NaN for what is masked; anything else as it is."""
    return np.ma.filled(X.astype(np.float64), np.nan) if isinstance(X, np.ma.MaskedArray) else X
