"""Which part of a sum or union is the low-rank one, and which the sparse one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.atoms import AtomicSet
from fewatoms.atoms.pursuit import pairs_and_entries
from fewatoms.capabilities import RankOnePairs, need
from fewatoms.faces import Coordinates, Face


@dataclass(frozen=True, eq=False)
class Roles:
    """Which part of a sum or union is which, and in what units its atoms are."""

    atoms: AtomicSet
    low: int
    sparse: int
    low_scale: float
    sparse_scale: float

    @staticmethod
    def of(atoms: AtomicSet) -> Roles | None:
        """The roles in a set made of rank-one matrices and matrix entries, in either order; None for other sets."""
        found = pairs_and_entries(atoms)
        return None if found is None else Roles(atoms, *found, *(atoms.parts[i].unwrapped().scale for i in found))

    @property
    def price(self) -> float:
        """What a unit of the sparse part costs, in units of the nuclear norm: the weight of the 1-norm in a union."""
        return abs(self.low_scale / self.sparse_scale)

    def gauge(self, nuclear: float, one_norm: float) -> float:
        """That of a point, from the nuclear norm of one part and the 1-norm of the other."""
        gauges = nuclear / abs(self.low_scale), one_norm / abs(self.sparse_scale)
        return sum(gauges) if self.atoms.gauges_add else max(gauges)

    def face(
        self, low: tuple[Array, FloatArray, Array], sparse: tuple[IntArray, FloatArray]
    ) -> tuple[Face, FloatArray]:
        """P diag(s) Q^T and entries (flat indices, values) as one compact point."""
        (P, s, Q), (where, values) = low, sparse
        pairs = need(self.atoms.parts[self.low].unwrapped().inner, RankOnePairs)
        points = [
            pairs.paired(P, s / self.low_scale, Q),
            (Coordinates(where, np.sign(values), self.atoms.shape), np.abs(values) / self.sparse_scale),
        ]
        points = points if self.low < self.sparse else points[::-1]
        faces = [part.around(face) for part, (face, _) in zip(self.atoms.parts, points, strict=True)]
        return self.atoms.joined(faces), np.concatenate([c for _, c in points])
