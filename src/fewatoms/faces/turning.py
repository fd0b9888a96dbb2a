"""How faces turn: atoms of infinite sets move within their set when the factors they are made of move.

A turning gives real unknowns v for a point of its face, without constraints but for lower bounds, and the face and the
coefficients that belong to other unknowns. Descent methods need no more than that to move atoms and coefficients
together at a fixed number of atoms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fewatoms._types import FloatArray, ModelDual

if TYPE_CHECKING:
    from fewatoms.faces.base import Face


class Turning(Protocol):
    """Unknowns v for the points of a face, and of all faces of its set with as many atoms."""

    def unfold(self, c: FloatArray) -> FloatArray:
        """Unknowns for `point(c)`, as many as `lower()` has entries."""
        ...

    def fold(self, v: FloatArray) -> tuple[Face, FloatArray]:
        """The face and the coefficients of the unknowns v."""
        ...

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        """The gradient by v of <z, point>."""
        ...

    def lower(self) -> FloatArray:
        """The least values that the unknowns may take."""
        ...


@dataclass(frozen=True, eq=False)
class Still:
    """A face that stays put, beside others that turn: its unknowns are its coefficients.

    Coefficients are kept nonnegative where they must be; a cone that is no orthant is not kept to.
    """

    face: Face

    def unfold(self, c: FloatArray) -> FloatArray:
        return c

    def fold(self, v: FloatArray) -> tuple[Face, FloatArray]:
        return self.face, v

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        return self.face.adjoint(z)

    def lower(self) -> FloatArray:
        bounded = self.face.nonnegative()
        return np.full(self.face.dim, -np.inf) if bounded is None else np.where(bounded, 0.0, -np.inf)
