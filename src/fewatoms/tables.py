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


def by_member(answer: Solution, measured: Measures | None) -> Columns:
    """The same with a row for each column of M, where atoms are groups of these: the group, the column and its
    coefficient. What a group contributes and costs as a whole stands in its first row alone, so that sums are right."""
    whole, members = columns(answer, measured), answer.members
    if members is None:
        return whole
    keys = [f"coefficient{of}" for of in _of(_shared(answer))]
    called = "name" if answer.called.columns is not None else "atom"
    told: Columns = {key: [] for key in ("group", called, *keys, "contribution", "cost")}
    groups = whole["name"] if "name" in whole else whole["atom"]
    for g, (row, inside) in enumerate(zip(answer.coefficients, members, strict=True)):
        told["group"] += [groups[g]] * len(inside)
        told[called] += inside
        for key, values in zip(keys, np.reshape(row, (-1, len(keys))).T, strict=True):
            told[key] += values.tolist()
        for key in ("contribution", "cost"):
            told[key] += [whole[key][g], *[None] * (len(inside) - 1)]
    return told


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


def _of(shared: list[str] | None) -> list[str]:
    """What follows the word coefficient at the head of a column."""
    return [""] if shared is None else [f" of {label}" for label in shared]


def _part(part: Point, shared: list[str] | None) -> Columns:
    names = part.names
    told: Columns = {"atom": _plain(part.indices)} if names is None else {"name": names.tolist()}
    return told | _coefficients(part.coefficients, shared)


def _plain(labels: Array) -> list[object]:
    """What tells atoms apart, as Python has it: numbers, pairs of numbers, labels."""
    return [tuple(pair) for pair in labels.tolist()] if labels.ndim > 1 else labels.tolist()


def _coefficients(values: Array, shared: list[str] | None) -> Columns:
    """Coefficients with their signs; of groups of several columns, which have many, the length of these and their
    number."""
    if values.ndim == 1 and values.dtype.kind != "O" and shared is None:
        return {"coefficient": values.tolist()}
    width = 1 if shared is None else len(shared)
    blocks = [np.reshape(row, (-1, width)) for row in values]
    of = _of(shared)
    found: Columns = {}
    if not blocks or any(len(block) == 1 for block in blocks):
        known = [[float(v) for v in block[0]] if len(block) == 1 else [None] * width for block in blocks]
        found |= {f"coefficient{label}": [row[i] for row in known] for i, label in enumerate(of)}
    if any(len(block) > 1 for block in blocks):
        lengths = [np.linalg.norm(block, axis=0) for block in blocks]
        found |= {f"length{label}": [float(row[i]) for row in lengths] for i, label in enumerate(of)}
        found["size"] = [len(block) for block in blocks]
    return found


def _shares(part: Point) -> list[object]:
    """Of atoms that move, by the sizes of their coefficients."""
    sizes = np.abs(part.coefficients)
    return (sizes / (sizes.sum() or 1.0)).tolist() if sizes.ndim == 1 else [None] * len(sizes)
