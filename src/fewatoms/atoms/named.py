"""Groups of columns by their names, which wait for an M that has names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Self

import numpy as np
import numpy.typing as npt

from fewatoms import _checks, names
from fewatoms._types import BudgetLike, ModelDual
from fewatoms.atoms.base import AtomicSet
from fewatoms.faces import Face
from fewatoms.names import Names


class NamedGroups(AtomicSet):
    """Groups that are told by the names of columns of M, which are known when M is given as a data frame; by itself it
    exposes nothing.

    members : the columns of each group, by its label
    """

    centrosymmetric = finite = attained = True

    def __init__(
        self,
        labels: Mapping[object, object] | Iterable[Iterable[str]],
        weights: Mapping[object, float] | npt.ArrayLike | None = None,
    ) -> None:
        given = labels.items() if isinstance(labels, Mapping) else ((None, group) for group in labels)
        self.members: dict[str, list[str]] = {}
        for label, group in given:
            columns = _columns(label, group)
            called = ", ".join(columns) if label is None else str(label)
            if called in self.members:
                raise ValueError(f"labels of groups must differ; {called!r} is there more than once")
            self.members[called] = columns
        if not self.members:
            raise ValueError("labels must name at least one group of columns; got none")
        twice = [c for c, n in Counter(c for group in self.members.values() for c in group).items() if n > 1]
        if twice:
            raise ValueError(f"labels must name a column once; {names.told(twice)} {names.are(twice)} named again")
        self.shape, self._given = (), weights
        self._chosen: tuple[object, object] = None, None

    def __repr__(self) -> str:
        return f"Groups({len(self.members)} groups of named columns)"

    @property
    def count(self) -> int:
        return len(self.members)

    def with_names(self, columns: Names | None) -> AtomicSet:
        """The groups themselves; columns that no group names are groups of their own, called as they are."""
        if columns is None:
            raise ValueError(
                f"M must be a data frame where groups are told by the names of columns; {self!r} came with one whose "
                "columns have no names: give an array with the label of each column"
            )
        labels = np.array(columns, dtype=object)
        for label, group in self.members.items():
            labels[names.places("groups", group, columns)] = label
        found = np.array(labels, dtype=np.str_)
        alone = [c for c, label in zip(columns, found, strict=True) if c == label and c not in self.members]
        mixed = [c for c in self.members if c in columns and c not in self.members[c]]
        if mixed:
            raise ValueError(
                f"labels of groups must not be names of other columns; {names.told(mixed)} {names.are(mixed)} both"
            )
        from fewatoms.atoms.groups import Groups

        weights = self._given
        if isinstance(weights, Mapping):
            weights = {**dict.fromkeys(alone, 1.0), **weights}
        include, exclude = self._chosen
        return Groups(found, weights).restricted(include=include, exclude=exclude)

    def restricted(self, *, include: object = None, exclude: object = None) -> Self:
        """By labels; checked when M has come."""
        if include is None and exclude is None:
            return self
        if self._chosen != (None, None):
            raise ValueError("include and exclude must be given at once for groups by name")
        other = type(self)(self.members, self._given)
        other._chosen = include, exclude
        return other

    def as_rows(self, count: int) -> AtomicSet | None:
        return self

    def support(self, z: ModelDual) -> float:
        raise ValueError(f"{self!r} needs M, a data frame whose columns are called so")

    def expose(self, z: ModelDual, k: BudgetLike) -> Face:
        raise ValueError(f"{self!r} needs M, a data frame whose columns are called so")


def _columns(label: object, group: object) -> list[str]:
    """The names of one group, checked."""
    columns = [group] if isinstance(group, str) else list(group) if isinstance(group, Iterable) else []
    told = "a group" if label is None else f"group {label!r}"
    if not columns or not all(isinstance(c, str) for c in columns):
        raise TypeError(f"labels must give names of columns for {told}; got {_checks.came(group)}")
    return [str(c) for c in columns]


def by_name(labels: object) -> bool:
    """Whether groups are told by the names of their columns: as a mapping, or as lists of names in a list. Labels of a
    matrix are an array."""
    if isinstance(labels, Mapping):
        return True
    if not isinstance(labels, list | tuple) or not all(isinstance(group, list | tuple) for group in labels):
        return False
    return any(isinstance(c, str) for group in labels for c in group)
