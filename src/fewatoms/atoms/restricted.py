"""A set with atoms forced in or left out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from fewatoms import _checks, linalg, names
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, ModelDual
from fewatoms.atoms.base import NOBODY, AtomicSet, Listing, int_of
from fewatoms.atoms.cuts import gauge_by_cuts
from fewatoms.capabilities import Gauge, need
from fewatoms.faces import Face
from fewatoms.names import Names
from fewatoms.rounding import Summed

if TYPE_CHECKING:
    from fewatoms.operators import Operator

C = TypeVar("C")


class Restricted(AtomicSet):
    """The atoms of another set without those of some classes; answers hold those of others in any case.

    Forced atoms count. What is proven is proven over the atoms that are left; that some are forced plays no part in it.
    Classes keep their numbers.
    """

    finite = attained = True

    def __init__(self, inner: AtomicSet, forced: IntArray, barred: IntArray) -> None:
        self.inner, self.forced, self.barred = inner, forced, barred
        self.shape, self.centrosymmetric, self.bounded = inner.shape, inner.centrosymmetric, inner.bounded

    def __repr__(self) -> str:
        told = [f"include=<{self.forced.size}>"] * bool(self.forced.size)
        told += [f"exclude=<{self.barred.size}>"] * bool(self.barred.size)
        return f"{self.inner!r}.restricted({', '.join(told)})"

    @property
    def count(self) -> int:
        return self.listing().atoms.count - self.barred.size  # the inner set may be restricted itself

    @property
    def orthonormal(self) -> bool:
        return self.inner.orthonormal

    @property
    def unrestricted(self) -> AtomicSet:
        return self.inner.unrestricted

    def offers(self, capability: type[C]) -> C | None:
        known = capability is not Gauge or self.inner.offers(Gauge) is not None
        return super().offers(capability) if known else None

    def listing(self) -> Listing:
        return replace(_listed(self.inner), forced=self.forced, barred=self.barred)

    def gauge(self, x: Array) -> float:
        listing, x = self.listing(), self.read_point(x)
        if listing.maps:  # other atoms may stand in for those left out
            return gauge_by_cuts(self, x)
        blocks = (
            self.barred if listing.blocks is None else np.concatenate([NOBODY, *_some(listing.blocks, self.barred)])
        )
        return math.inf if x.ravel()[blocks].any() else need(self.inner, Gauge).gauge(x)

    def alignments(self, z: ModelDual) -> FloatArray:
        a = self.inner.alignments(z)
        assert a is not None
        a = np.array(a)
        a[self.barred] = -np.inf
        return a

    def support(self, z: ModelDual) -> float:
        top = max(0.0, float(self.alignments(z).max()))
        return top if self.bounded or top == 0.0 else math.inf

    def _face(self, classes: IntArray, z: ModelDual) -> Face:
        listing = self.listing()
        return listing.around(listing.atoms.face(classes, math.copysign(1.0, listing.factor) * listing.pulled(z)))

    def expose(self, z: ModelDual, k: BudgetLike) -> Face:
        """Forced atoms come first."""
        a = self.alignments(z)
        a[self.forced] = np.inf
        best = linalg.top_k(a, int_of(k))
        return self._face(best[a[best] > -np.inf], z)

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> Face:
        a = self.alignments(z)
        top = max(0.0, float(a.max())) if self.bounded else 0.0
        count = int(np.count_nonzero(a >= top - eps))
        best = linalg.top_k(a, max(least, count if limit is None else min(limit, count)))
        return self._face(best[a[best] > -np.inf], z)

    def operator_norm(self, M: Operator) -> float | None:
        return self.inner.operator_norm(M)

    def atom_norms(self, M: Operator) -> FloatArray | None:
        return self.inner.atom_norms(M)

    def off_by(self, summed: Summed) -> float | None:
        return self.inner.off_by(summed)

    def reshaped(self, shape: tuple[int, ...]) -> AtomicSet:
        return _around(self.inner.reshaped(shape), self.forced, self.barred)

    def restricted(self, *, include: object = None, exclude: object = None) -> AtomicSet:
        if _words(include) or _words(exclude):
            return super().restricted(include=include, exclude=exclude)
        forced, barred = _numbers(self.inner, "include", include), _numbers(self.inner, "exclude", exclude)
        return _around(self.inner, np.union1d(self.forced, forced), np.union1d(self.barred, barred))

    def as_rows(self, count: int) -> AtomicSet | None:
        rows = self.inner.as_rows(count)
        return None if rows is None else _around(rows, self.forced, self.barred)

    def with_names(self, columns: Names | None) -> AtomicSet:
        inner = self.inner.with_names(columns)
        return self if inner is self.inner else inner.restricted(include=self.forced, exclude=self.barred)


class ByName(AtomicSet):
    """A set whose atoms are forced in or left out by the names of columns of M, which are known when M is given; by
    itself it exposes nothing."""

    finite = attained = True

    def __init__(self, inner: AtomicSet, include: list[object], exclude: list[object]) -> None:
        self.inner, self.include, self.exclude = inner, include, exclude
        self.shape, self.centrosymmetric, self.bounded = inner.shape, inner.centrosymmetric, inner.bounded

    def __repr__(self) -> str:
        told = [f"include={self.include}"] * bool(self.include) + [f"exclude={self.exclude}"] * bool(self.exclude)
        return f"{self.inner!r}.restricted({', '.join(told)})"

    @property
    def count(self) -> int:
        return self.inner.count

    def listing(self) -> Listing | None:
        return self.inner.listing()

    def with_names(self, columns: Names | None) -> AtomicSet:
        inner = self.inner.with_names(columns)
        return inner.restricted(
            include=_found("include", self.include, inner, columns),
            exclude=_found("exclude", self.exclude, inner, columns),
        )

    def restricted(self, *, include: object = None, exclude: object = None) -> AtomicSet:
        return ByName(self.inner, [*self.include, *_items(include)], [*self.exclude, *_items(exclude)])

    def reshaped(self, shape: tuple[int, ...]) -> AtomicSet:
        return ByName(self.inner.reshaped(shape), self.include, self.exclude)

    def as_rows(self, count: int) -> AtomicSet | None:
        rows = self.inner.as_rows(count)
        return None if rows is None else ByName(rows, self.include, self.exclude)

    def support(self, z: ModelDual) -> float:
        raise ValueError(f"{self!r} needs M, a data frame whose columns are called so")

    def expose(self, z: ModelDual, k: BudgetLike) -> Face:
        raise ValueError(f"{self!r} needs M, a data frame whose columns are called so")


def restricted(atoms: AtomicSet, include: object, exclude: object) -> AtomicSet:
    """A set with classes of its atoms forced in and left out, checked; those that are so already stay so.

    Names wait for M, unless the columns of a dictionary have them.
    """
    listing, given = atoms.listing(), {"include": include, "exclude": exclude}
    told = [name for name, chosen in given.items() if chosen is not None]
    if not told:
        return atoms
    if listing is None:
        are = "is" if len(told) == 1 else "are"
        raise ValueError(f"{' and '.join(told)} {are} for sets whose atoms can be listed; got {atoms!r}")
    if listing.names is None and (_words(include) or _words(exclude)):
        waiting = ByName(atoms, _items(include), _items(exclude))
        return waiting.with_names(listing.maps[-1].names) if listing.maps else waiting
    forced, barred = _numbers(atoms, "include", include), _numbers(atoms, "exclude", exclude)
    return _around(atoms, np.union1d(listing.forced, forced), np.union1d(listing.barred, barred))


def _words(chosen: object) -> bool:
    """Whether some are chosen by name."""
    numbers = isinstance(chosen, np.ndarray) and chosen.dtype.kind in "biuf"
    return not numbers and any(isinstance(item, str) for item in _items(chosen))


def _items(chosen: object) -> list[object]:
    """What was chosen, one by one, words as they are; a mask as the places that it marks."""
    if chosen is None:
        return []
    if isinstance(chosen, str | Iterator) or not isinstance(chosen, Iterable):
        return [chosen]
    items = list(np.atleast_1d(chosen) if isinstance(chosen, np.ndarray) else chosen)
    masked = bool(items) and all(isinstance(item, bool | np.bool_) for item in items)
    return [i for i, marked in enumerate(items) if marked] if masked else items


def _found(name: str, chosen: list[object], atoms: AtomicSet, columns: Names | None) -> IntArray:
    """The classes of atoms that were named, by name or number."""
    words = [item for item in chosen if isinstance(item, str)]
    if words and columns is None:
        raise ValueError(
            f"{name} must hold numbers of columns unless they have names, as those of a data frame do; got "
            f"{names.told(words)}"
        )
    numbers = [item for item in chosen if not isinstance(item, str)]
    called = names.places(name, words, columns or ())
    return np.union1d(called, _numbers(atoms, name, numbers) if numbers else NOBODY)


def _around(atoms: AtomicSet, forced: IntArray, barred: IntArray) -> AtomicSet:
    both = np.intersect1d(forced, barred)
    if both.size:
        raise ValueError(f"include and exclude must not share atoms; both name {both[0]}")
    if barred.size and _listed(atoms).atoms.count - barred.size < 1:
        raise ValueError("exclude must leave at least one atom; it names all of them")
    if not forced.size + barred.size:
        return atoms
    return Restricted(atoms, forced.astype(np.intp), barred.astype(np.intp))


def _listed(atoms: AtomicSet) -> Listing:
    listing = atoms.listing()
    assert listing is not None
    return listing


def _some(blocks: list[IntArray], which: IntArray) -> list[IntArray]:
    return [blocks[g] for g in which]


def _numbers(atoms: AtomicSet, name: str, chosen: object) -> IntArray:
    """The classes of atoms that were chosen, checked."""
    if chosen is None:
        return NOBODY
    listing = _listed(atoms)
    given, names, shape = np.atleast_1d(np.asarray(chosen)), listing.names, listing.atoms.shape
    if names is not None and (given.dtype != bool or names.dtype == bool):
        known = np.isin(given, names)
        if not known.all():
            raise ValueError(f"{name} must hold labels of groups; there is no group {given[~known][0]!r}")
        return np.unique(np.searchsorted(names, given))
    masks = {(listing.atoms.count,)} | ({shape} if names is None else set())
    if given.dtype == bool and given.shape in masks:
        given = np.flatnonzero(given)
    elif len(shape) == 2 and given.ndim == 2 and given.shape[1] == 2:  # (row, column) pairs, as answers tell them
        rows, cols = (_checks.indices(name, given[:, axis], shape[axis]) for axis in (0, 1))
        given = rows * shape[1] + cols
    return np.unique(_checks.indices(name, given, listing.atoms.count))
