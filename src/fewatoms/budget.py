"""k: how many atoms are allowed, for one set, for the parts of a sum, for all parts together, or left open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import _checks
from fewatoms._types import BudgetLike

if TYPE_CHECKING:
    from fewatoms.atoms import AtomicSet
    from fewatoms.faces import Face


@dataclass(frozen=True)
class Budget:
    """How many atoms at most.

    most : of one set, or of all parts of a sum together; None leaves it open
    parts : one budget for each part of a sum (`most` is then None); empty elsewhere
    """

    most: int | None = None
    parts: tuple[Budget, ...] = ()

    @classmethod
    def of(cls, k: object, atoms: AtomicSet) -> Budget:
        """What a user wrote, checked against a set."""
        if k is None:
            return cls()
        if not atoms.parts or (atoms.finite and isinstance(k, Number)):
            return cls(_checks.integer("k", k, 1, atoms.count, f"{atoms.count}, the number of atoms of {atoms!r}"))
        demand = f"k must give one budget for each of the {len(atoms.parts)} parts of {atoms!r}"
        if not isinstance(k, (tuple, list, np.ndarray)):
            raise TypeError(f"{demand}; got {k!r}")
        if len(k) != len(atoms.parts):
            raise ValueError(f"{demand}; got {len(k)}: {tuple(k)!r}")
        return cls(parts=tuple(cls.of(j, part) for part, j in zip(atoms.parts, k, strict=True)))

    @property
    def k(self) -> BudgetLike:
        """As users write it."""
        return tuple(part.k for part in self.parts) if self.parts else self.most

    @property
    def open(self) -> bool:
        """Whether something is left open."""
        return any(part.open for part in self.parts) if self.parts else self.most is None

    @property
    def nothing_said(self) -> bool:
        """Whether everything is."""
        return not self.parts and self.most is None

    @property
    def single(self) -> int:
        """Of one set, where it is known to be given."""
        assert self.most is not None
        return self.most

    def for_parts(self, count: int) -> tuple[Budget, ...]:
        """One for each of so many parts; open ones where they share a number, or nothing is said."""
        return self.parts or (Budget(),) * count

    def shared_by(self, atoms: AtomicSet) -> tuple[AtomicSet, int] | None:
        """The first sum, from the outermost in, whose parts have one number together, and that number; None if there
        is none."""
        if not atoms.parts:
            return None
        if not self.parts:
            return None if self.most is None else (atoms, self.most)
        inside = (j.shared_by(part) for part, j in zip(atoms.parts, self.parts, strict=True))
        return next((found for found in inside if found is not None), None)

    def allows(self, face: Face) -> bool:
        """Whether a face has no more atoms than this, part by part."""
        if self.parts:
            return all(j.allows(f) for f, j in zip(face.parts, self.parts, strict=True))
        return self.most is None or face.size <= self.most

    def share(self, part: float) -> Budget:
        """A share of each budget, one atom at least."""
        if self.parts:
            return Budget(parts=tuple(j.share(part) for j in self.parts))
        return Budget(max(1, math.ceil(self.single * part)))

    @property
    def largest(self) -> int:
        """The largest budget of a part."""
        return max(j.largest for j in self.parts) if self.parts else self.single

    @property
    def words(self) -> str:
        """In a message: "3 atoms", "2 + any atoms"."""
        if self.parts:
            return f"{self.figures} atoms"
        return "1 atom" if self.most == 1 else f"{self.figures} atoms"

    @property
    def figures(self) -> str:
        """The numbers alone: "3", "2 + any"."""
        if self.parts:
            return " + ".join(j.figures for j in self.parts)
        return "any" if self.most is None else str(self.most)

    def __repr__(self) -> str:
        return f"Budget({self.k!r})"


def one_each(atoms: AtomicSet) -> Budget:
    """One atom of each part, nested as the parts are."""
    return Budget(parts=tuple(one_each(p) for p in atoms.parts)) if atoms.parts else Budget(1)


def none_of(atoms: AtomicSet) -> Budget:
    """No atom of any part."""
    return Budget(parts=tuple(none_of(p) for p in atoms.parts)) if atoms.parts else Budget(0)
