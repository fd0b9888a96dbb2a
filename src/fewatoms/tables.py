"""An answer atom by atom: columns of names, coefficients, contributions and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fewatoms._types import Array
from fewatoms.measures import Measures

if TYPE_CHECKING:
    from fewatoms.points import Point
    from fewatoms.solution import Solution

Columns: TypeAlias = dict[str, list[object]]


def records(columns: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Columns as a dictionary for each row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def columns(answer: Solution, measured: Measures | None) -> Columns:
    """Those of all atoms, part after part; what a part does not know is None there."""
    face, _ = answer.compact
    each = [_part(part, _shared(answer)) for part in answer.parts]
    sizes = [len(next(iter(found.values()))) for found in each]
    if len(each) > 1:
        each = [_of_part(i, size) | found for i, (found, size) in enumerate(zip(each, sizes, strict=True))]
    keys = dict.fromkeys(key for found in each for key in found)
    together: Columns = {key: [] for key in keys}
    for found, size in zip(each, sizes, strict=True):
        for key in keys:
            together[key] += found.get(key, [None] * size)
    unknown: list[object] = [None] * sum(sizes)
    shares = unknown if face.spans() is not None else [v for part in answer.parts for v in _shares(part)]
    together["contribution"] = shares if measured is None else measured.contribution.tolist()
    together["cost"] = unknown if measured is None else measured.cost.tolist()
    return together


def _of_part(i: int, size: int) -> Columns:
    return {"part": [i] * size}


def _shared(answer: Solution) -> list[str] | None:
    """What the data vectors or classes are called that share atoms; None where there is one vector alone."""
    if not answer.shares_atoms:
        return None
    known, (face, _) = answer.certificate.asked.classes, answer.compact
    if known is not None and known.each:
        return [str(label) for label in known.names[0]]
    return [str(i) for i in range(face.shape[1])]


def _part(part: Point, shared: list[str] | None) -> Columns:
    names = part.names
    told: Columns = {"atom": _plain(part.indices)} if names is None else {"name": names.tolist()}
    return told | _coefficients(part.coefficients, shared)


def _plain(labels: Array) -> list[object]:
    """What tells atoms apart, as Python has it: numbers, pairs of numbers, labels."""
    return [tuple(pair) for pair in labels.tolist()] if labels.ndim > 1 else labels.tolist()


def _coefficients(values: Array, shared: list[str] | None) -> Columns:
    if values.ndim == 1 and values.dtype.kind != "O" and shared is None:
        return {"coefficient": values.tolist()}
    width = 1 if shared is None else len(shared)
    blocks = [np.reshape(row, (-1, width)) for row in values]
    single = shared is not None and all(len(block) == 1 for block in blocks)
    told = [block[0] if single or block.size == 1 else np.linalg.norm(block, axis=0) for block in blocks]
    keys = ["coefficient"] if shared is None else [f"coefficient of {label}" for label in shared]
    found: Columns = {key: [float(row[i]) for row in told] for i, key in enumerate(keys)}
    return found if single else {**found, "size": [len(block) for block in blocks]}


def _shares(part: Point) -> list[object]:
    """Of atoms that move, by the sizes of their coefficients."""
    sizes = np.abs(part.coefficients)
    return (sizes / (sizes.sum() or 1.0)).tolist() if sizes.ndim == 1 else [None] * len(sizes)
