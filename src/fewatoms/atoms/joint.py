"""One support for several data vectors: an atom is a whole row of X."""

from __future__ import annotations

from fewatoms._types import BudgetLike, ModelDual
from fewatoms.atoms.base import AtomicSet
from fewatoms.faces import Face
from fewatoms.names import Names


class Joint(AtomicSet):
    """The atoms of another set, shared by all columns of a two-dimensional b: x is n x p, an atom one of its rows (or
    the rows of a group), with free coefficients for every column.

    How many columns there are is known when data are given; by itself the set exposes nothing.

    Parameters
    ----------
    inner : AtomicSet
        SignedOneHot, NonnegativeOneHot or Groups.
    """

    centrosymmetric = finite = attained = True

    def __init__(self, inner: AtomicSet) -> None:
        if not isinstance(inner, AtomicSet):
            raise TypeError(f"atoms must be an atomic set such as SignedOneHot(n); got {inner!r}")
        if inner.as_rows(1) is None:
            raise ValueError(
                f"Joint is for SignedOneHot(n) and Groups(labels), with coefficients of either sign; got {inner!r}"
            )
        self.inner, self.shape = inner, inner.shape

    def __repr__(self) -> str:
        return f"Joint({self.inner!r})"

    @property
    def count(self) -> int:
        return self.inner.count

    def over_columns(self, count: int) -> AtomicSet | None:
        return self.inner.as_rows(count)

    def restricted(self, *, include: object = None, exclude: object = None) -> AtomicSet:
        return Joint(self.inner.restricted(include=include, exclude=exclude))

    def with_names(self, columns: Names | None) -> AtomicSet:
        return Joint(self.inner.with_names(columns))

    def support(self, z: ModelDual) -> float:
        raise ValueError(f"{self!r} needs data: b must have a column per data vector")

    def expose(self, z: ModelDual, k: BudgetLike) -> Face:
        raise ValueError(f"{self!r} needs data: b must have a column per data vector")
