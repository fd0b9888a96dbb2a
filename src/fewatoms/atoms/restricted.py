"""A set with atoms forced in or left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import _checks, linalg
from fewatoms._types import BudgetLike, FloatArray, IntArray, ModelDual
from fewatoms.atoms.base import NOBODY, AtomicSet, Listing, int_of
from fewatoms.faces import Face

if TYPE_CHECKING:
    from fewatoms.operators import Operator


class Restricted(AtomicSet):
    """The atoms of another set without those of some classes; answers hold those of others in any case.

    Forced atoms count. What is proven is proven over the atoms that are left; that some are forced plays no part in it.
    """

    finite = True

    def __init__(self, inner: AtomicSet, listing: Listing, forced: IntArray, barred: IntArray) -> None:
        self.inner, self._listing, self.forced, self.barred = inner, listing, forced, barred
        self.shape, self.centrosymmetric = inner.shape, inner.centrosymmetric
        self.bounded = inner.bounded

    def __repr__(self) -> str:
        told = [f"include=<{self.forced.size}>"] * bool(self.forced.size)
        told += [f"exclude=<{self.barred.size}>"] * bool(self.barred.size)
        return f"{self.inner!r}.restricted({', '.join(told)})"

    @property
    def count(self) -> int:
        return self.inner.count - self.barred.size

    def listing(self) -> Listing:
        return replace(self._listing, forced=self.forced, barred=self.barred)

    def alignments(self, z: ModelDual) -> FloatArray:
        a = self.inner.alignments(z)
        assert a is not None
        a = np.array(a)
        a[self.barred] = -np.inf
        return a

    def support(self, z: ModelDual) -> float:
        free = np.delete(np.arange(self.inner.count), self.barred)
        return max(0.0, float(self.alignments(z)[free].max())) if self.bounded else self.inner.support(z)

    def _face(self, classes: IntArray, z: ModelDual) -> Face:
        listing = self._listing
        inner = listing.atoms.face(classes, np.sign(listing.factor) * linalg.as_flat(listing.pulled(z)))
        return listing.around(inner)

    def expose(self, z: ModelDual, k: BudgetLike) -> Face:
        most = int_of(k)
        a = self.alignments(z)
        a[self.forced] = np.inf
        best = linalg.top_k(a, most)
        return self._face(best[a[best] > -np.inf], z)

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> Face:
        a = self.alignments(z)
        count = int(np.count_nonzero(a >= self.support(z) - eps))
        best = linalg.top_k(a, max(least, count if limit is None else min(limit, count)))
        return self._face(best[a[best] > -np.inf], z)

    def operator_norm(self, M: Operator) -> float | None:
        return self.inner.operator_norm(M)

    def atom_norms(self, M: Operator) -> FloatArray | None:
        return self.inner.atom_norms(M)

    def same_as(self, other: AtomicSet) -> bool:
        return self.inner.same_as(other.inner if isinstance(other, Restricted) else other)

    def reshaped(self, shape: tuple[int, ...]) -> AtomicSet:
        return _around(self.inner.reshaped(shape), self.forced, self.barred)

    def restricted(self, *, include: object = None, exclude: object = None) -> AtomicSet:
        forced, barred = _named(self.inner, "include", include), _named(self.inner, "exclude", exclude)
        return _around(self.inner, np.union1d(self.forced, forced), np.union1d(self.barred, barred))

    def as_rows(self, count: int) -> AtomicSet:
        return _around(self.inner.as_rows(count), self.forced, self.barred)


def restricted(atoms: AtomicSet, include: object, exclude: object) -> AtomicSet:
    """A set with classes of its atoms forced in and left out, checked."""
    return _around(atoms, _named(atoms, "include", include), _named(atoms, "exclude", exclude))


def _around(atoms: AtomicSet, forced: IntArray, barred: IntArray) -> AtomicSet:
    both = np.intersect1d(forced, barred)
    if both.size:
        raise ValueError(f"include and exclude must not share atoms; both name {both[0]}")
    if barred.size and atoms.count - barred.size < 1:
        raise ValueError("exclude must leave at least one atom; it names all of them")
    listing = atoms.offers(Listing)
    assert listing is not None
    return Restricted(atoms, listing, forced.astype(np.intp), barred.astype(np.intp)) if forced.size + barred.size else atoms


def _named(atoms: AtomicSet, name: str, chosen: object) -> IntArray:
    """The classes of atoms that were named, checked."""
    listing = atoms.offers(Listing)
    if listing is None:
        raise ValueError(f"{name} is for sets whose atoms can be listed; got {atoms!r}")
    if chosen is None:
        return NOBODY
    given = np.atleast_1d(np.asarray(chosen))
    if listing.names is not None:
        known = np.isin(given, listing.names)
        if not known.all():
            raise ValueError(f"{name} must hold labels of groups; there is no group {given[~known][0]!r}")
        return np.unique(np.searchsorted(listing.names, given))
    if given.dtype == bool and given.shape == (listing.atoms.count,):  # a mask
        given = np.flatnonzero(given)
    return np.unique(_checks.indices(name, given, listing.atoms.count))
