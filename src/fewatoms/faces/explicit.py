"""Faces of atoms that are given one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from fewatoms import linalg
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, ModelDual
from fewatoms.faces.base import Cone, Face, leading
from fewatoms.kept import Kept
from fewatoms.reduced import Columns, ReducedOperator

if TYPE_CHECKING:
    from fewatoms.operators.base import Operator
SAME_ATOM = 1e-12  # atoms that differ by less than this share of their length are one


@dataclass(frozen=True, eq=False)
class Explicit(Face):
    """Atoms as arrays, point(c) = sum_i c_i atoms[i]: the face for sets of one's own, whatever their atoms are.

    atoms : (count, *shape) array, one atom after the other; `Explicit.of` takes a list of them
    names : what `labels` tells of each atom; running numbers where there are none
    cone : FREE, where -a is an atom whenever a is, or NONNEGATIVE

    All count * n numbers are kept. Atoms are pruned by their coefficients alone, so they should be of about one length.
    That they depend on each other linearly is not found out.
    """

    atoms: Array
    names: Array | None = None
    cone: Cone = Cone.FREE

    @classmethod
    def of(
        cls,
        atoms: Sequence[npt.ArrayLike],
        shape: tuple[int, ...],
        names: npt.ArrayLike | None = None,
        cone: Cone = Cone.FREE,
    ) -> Self:
        """The face of some arrays, each with as many entries as models of `shape`; of none too."""
        arrays = [np.asarray(atom) for atom in atoms]
        n = int(np.prod(shape))
        for i, atom in enumerate(arrays):
            if atom.size != n:
                raise ValueError(f"atoms must have shape {shape}; atoms[{i}] has shape {atom.shape}")
        if names is not None and len(np.asarray(names)) != len(arrays):
            raise ValueError(f"names must have one entry for each of the {len(arrays)} atoms; got {names!r}")
        if cone not in (Cone.FREE, Cone.NONNEGATIVE):
            raise ValueError(f"cone must be Cone.FREE or Cone.NONNEGATIVE; got {cone!r}")
        stacked = np.stack([atom.reshape(shape) for atom in arrays]) if arrays else np.zeros((0, *shape))
        exact = stacked.astype(np.result_type(stacked, np.float64), copy=False)
        return cls(exact, None if names is None else np.asarray(names), cone)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", self.atoms.shape[1:])

    @property
    def size(self) -> int:
        return len(self.atoms)

    @property
    def dim(self) -> int:
        return len(self.atoms)

    @property
    def rows(self) -> Array:
        """The atoms, flat, as the rows of a matrix."""
        return self.atoms.reshape(self.size, int(np.prod(self.shape)))

    def point(self, c: FloatArray) -> Array:
        return (c @ self.rows).reshape(self.shape)

    def adjoint(self, z: ModelDual) -> FloatArray:
        return np.asarray((self.rows.conj() @ linalg.as_flat(z)).real)

    def project(self, c: FloatArray) -> FloatArray:
        return c if self.cone is Cone.FREE else np.maximum(c, 0.0)

    def prune(self, c: FloatArray, k: BudgetLike, norms: FloatArray | None = None) -> tuple[Self, FloatArray]:
        keep = leading(self.contributions(c, norms), k)
        keep = keep[c[keep] != 0]
        return self._take(keep), c[keep]

    def _take(self, keep: IntArray) -> Self:
        return replace(self, atoms=self.atoms[keep], names=None if self.names is None else self.names[keep])

    def merge(self, other: Self) -> Self:
        """Names stay where both have them."""
        fresh = other._take(np.flatnonzero([not self._holds(row) for row in other.rows]))
        named = self.names is not None and fresh.names is not None
        return replace(
            self,
            atoms=np.concatenate([self.atoms, fresh.atoms]),
            names=np.concatenate([self.names, fresh.names]) if named else None,
        )

    def _holds(self, row: Array) -> bool:
        """Whether an atom is there up to rounding: as it is, or turned round where signs are free."""
        gaps = np.linalg.norm(self.rows - row, axis=1)
        if self.cone is Cone.FREE:
            gaps = np.minimum(gaps, np.linalg.norm(self.rows + row, axis=1))
        return bool((gaps <= SAME_ATOM * np.linalg.norm(row)).any())

    def restrict(self, M: Operator) -> ReducedOperator:
        """The images of the atoms, one product each."""
        return Columns(self.images(M))

    def labels(self) -> Array:
        return super().labels() if self.names is None else self.names

    def kept(self) -> Kept:
        names = {} if self.names is None else {"names": self.names}
        return Kept("explicit", {"cone": self.cone.value}, {"atoms": self.atoms, **names})

    def as_cone(self) -> Self:
        return replace(self, cone=Cone.NONNEGATIVE)
