"""The parts of a sum by themselves, and data that are entries of x."""

from __future__ import annotations

import math

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.atoms import AtomicSet
from fewatoms.capabilities import SeenAsIs, need
from fewatoms.faces import Face
from fewatoms.operators import Counting, Identity, Operator, Rows, Sampling

Point = tuple[Face, FloatArray]


class Entries(Counting):
    """Data that are entries of x, as such; products are charged to the operator that measured them."""

    def __init__(self, M: Operator, shape: tuple[int, ...]) -> None:
        super().__init__(_entries(need(M, SeenAsIs).places(), shape))
        self.owner = M

    def count(self, products: int) -> None:
        self.owner.charge(products)


def _entries(places: IntArray | None, shape: tuple[int, ...]) -> Operator:
    if places is not None and len(shape) == 2:
        return Sampling(*np.divmod(places, shape[1]), shape)
    whole = Identity(shape if len(shape) == 2 else shape[0])
    return whole if places is None else Rows(whole, places)


class Part:
    """One part: its set without scale and map, which are put around faces again."""

    def __init__(self, atoms: AtomicSet) -> None:
        self.atoms = atoms
        plain = atoms.unwrapped()
        self.inner, self.maps, self.scale = plain.inner, plain.maps, plain.scale

    def _pull(self, z: Array) -> Array:
        for map_ in self.maps:
            z = map_.backward(z)
        return math.copysign(1.0, self.scale) * z.reshape(self.inner.shape)  # atoms of a cone have one sign

    def support(self, z: Array) -> float:
        return self.inner.ceiling(self._pull(z))

    def nothing(self) -> Point:
        return self.atoms.expose(np.zeros(self.atoms.shape), 0), np.zeros(0)

    def nearest(self, target: Array, t: float, limit: int | None) -> Point:
        """The atoms with coefficients from t on, the largest `limit` of them, with their coefficients."""
        if limit == 0:
            return self.nothing()
        w = self._pull(target)
        face = self._beyond(w, t) if limit is None else self.inner.expose(w, limit)
        if face is None:
            return self.nothing()
        c = face.project(face.adjoint(w))
        most = face.size if limit is None else min(limit, int(np.count_nonzero(face.contributions(c) >= t)))
        face, c = face.prune(c, most)
        return self.atoms.around(face), c / abs(self.scale)

    def _beyond(self, w: Array, t: float) -> Face | None:
        sigma = self.inner.ceiling(w)
        return None if sigma < t or sigma == 0 else self.inner.exposed(w, sigma - t)

    def sizes(self, face: Face, c: FloatArray) -> FloatArray:
        """The lengths of the contributions of the atoms."""
        values = face.values(c * self.scale)
        if values.dtype == object:
            return np.array([float(np.linalg.norm(v)) for v in values])
        return np.linalg.norm(values, axis=1) if values.ndim == 2 else np.abs(values)
