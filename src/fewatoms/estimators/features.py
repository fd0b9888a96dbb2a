"""Atoms made of features: single ones, of either sign or not, or groups of them, told by number or by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np

from fewatoms import _checks
from fewatoms._types import Array, IntArray
from fewatoms.atoms import AtomicSet, Groups, NonnegativeOneHot, SignedOneHot
from fewatoms.names import Names, places

DEMAND = "groups must be a label for each feature, or a mapping or list of groups of features"


def atoms_of(n: int, names: Names | None, positive: bool, groups: object) -> AtomicSet:
    """The set for n features."""
    if groups is None:
        return NonnegativeOneHot(n) if _checks.flag("positive", positive) else SignedOneHot(n)
    if positive:
        raise ValueError("positive must be False where there are groups, whose coefficients have either sign; got True")
    return Groups(labels_of(groups, n, names))


def labels_of(groups: object, n: int, names: Names | None) -> Array:
    """The group of each feature. A feature that is in none of a mapping or a list of groups is one by itself: called as
    the feature is, or by the next number."""
    if not _checks.several(groups):
        raise TypeError(f"{DEMAND}; got {_checks.came(groups)}")
    if isinstance(groups, Mapping):
        owner = _owners(list(groups.values()), n, names)
        called = [str(key) for key in groups] + [
            f"x{i}" if names is None else names[i] for i in np.flatnonzero(owner < 0)
        ]
        if len(set(called)) < len(called):
            raise ValueError(
                f"{DEMAND}, called otherwise than features that are in none; got {names_twice(called)!r} twice"
            )
        return np.array(called)[_alone(owner, len(groups))]
    listed = list(cast("Iterable[object]", groups))
    if listed and all(map(_checks.several, listed)):
        return _alone(_owners(listed, n, names), len(listed))
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"{DEMAND}; got {labels.size} labels for {n} features")
    return labels


def _owners(members: list[object], n: int, names: Names | None) -> IntArray:
    """The number of each feature's group; -1 for those in none."""
    owner = np.full(n, -1)
    for number, some in enumerate(members):
        which = _features(some, n, names)
        if (owner[which] >= 0).any() or np.unique(which).size < which.size:
            raise ValueError(f"{DEMAND}, each feature in one of them at most; got {_checks.came(some)} beside others")
        owner[which] = number
    return owner


def _alone(owner: IntArray, count: int) -> IntArray:
    """Groups of their own, after so many others, for features in none."""
    return np.where(owner < 0, count - 1 + np.cumsum(owner < 0), owner)


def _features(some: object, n: int, names: Names | None) -> IntArray:
    """The features of a group, by name or by number."""
    listed = list(cast("Iterable[object]", some)) if _checks.several(some) else [some]
    if not any(isinstance(one, str) for one in listed):
        return _checks.indices("groups", listed, n)
    if names is None:
        raise ValueError(f"groups must tell features by number where columns of X have no names; got {listed[0]!r}")
    return places("groups", [str(one) for one in listed], names)


def names_twice(called: list[str]) -> str:
    """The first that is there twice."""
    return next(name for i, name in enumerate(called) if name in called[:i])
