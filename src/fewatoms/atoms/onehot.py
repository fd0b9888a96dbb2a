"""One-hot vectors: single features, with either sign, nonnegative, or as the rays of the nonnegative orthant."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import _checks, linalg, norms
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.atoms.base import AtomicSet, Combination, FiniteSet, Listing
from fewatoms.capabilities import Shrinkage
from fewatoms.faces import Cone, Coordinates, Face
from fewatoms.kept import Kept
from fewatoms.rounding import Summed, gamma

if TYPE_CHECKING:
    from fewatoms.operators import Operator


def _indices(face: Face) -> IntArray:
    assert isinstance(face, Coordinates)
    return face.indices


class OneHot(FiniteSet):
    """What the three sets share. `shape` is a length n, or (p, q) for atoms over the entries of a matrix."""

    _rays = False
    orthonormal = True

    def __init__(self, shape: int | tuple[int, int]) -> None:
        self.shape = _checks.shape("shape" if isinstance(shape, (tuple, list)) else "n", shape)

    def listing(self) -> Listing:
        return Listing(self, _indices, nonnegative=not self.centrosymmetric)

    def __repr__(self) -> str:
        inside = self.shape[0] if len(self.shape) == 1 else self.shape
        return f"{type(self).__name__}({inside})"

    @property
    def count(self) -> int:
        return self.n

    def reshaped(self, shape: tuple[int, ...]) -> OneHot:
        other = copy(self)
        other.shape = shape if math.prod(shape) == self.n else self.shape
        return other

    def kept(self) -> Kept:
        return Kept(type(self).__name__, {"shape": [*self.shape]})

    def face(self, which: IntArray, z: ModelDual) -> Coordinates:
        return Coordinates(which, self._signs(which, z), self.shape, self._cone, self._rays)

    @property
    def _cone(self) -> Cone:
        return Cone.FREE if self.centrosymmetric else Cone.NONNEGATIVE

    def _signs(self, which: IntArray, z: ModelDual) -> FloatArray:
        return np.ones(which.size)

    def atom_norms(self, M: Operator) -> FloatArray | None:
        return norms.column_norms(M)

    def operator_norm(self, M: Operator) -> float | None:
        sizes = self.atom_norms(M)
        return None if sizes is None else float(sizes.max())

    def off_by(self, summed: Summed) -> float:
        return gamma(summed.terms + 1) * (summed.whole if summed.each is None else float(summed.each.max()))

    def _combine(self, points: Combination, z: ModelDual, step: float) -> Array:
        w = step * linalg.as_flat(z)
        for multiplier, face, c in points:
            assert isinstance(face, Coordinates)
            w[face.indices] += multiplier * face.signs * c
        return w

    def shrink(self, points: Combination, z: ModelDual, step: float) -> Shrinkage:
        return _SoftThreshold(self, self._combine(points, z, step))


class SignedOneHot(OneHot):
    """A = {+e_i, -e_i}: x is a sparse vector; the gauge is the 1-norm, the support function the largest entry.

    `SignedOneHot((p, q))` is the same over the entries of a matrix; its indices are (row, column) pairs.

    Parameters
    ----------
    shape : int or (p, q)
        The length of x, or the shape of a matrix.
    """

    centrosymmetric = True

    def as_rows(self, count: int) -> AtomicSet:
        from fewatoms.atoms.groups import RowGroups

        return RowGroups(self, np.arange(self.n), count)

    def gauge(self, x: Array) -> float:
        return float(np.abs(self.read_point(x)).sum())

    def alignments(self, z: ModelDual) -> FloatArray:
        return np.abs(linalg.as_flat(z))

    def _signs(self, which: IntArray, z: ModelDual) -> FloatArray:
        return np.where(linalg.as_flat(z)[which] < 0, -1.0, 1.0)


class NonnegativeOneHot(OneHot):
    """A = {e_i}: x is sparse and nonnegative; the gauge is the sum of the entries, infinite if one is negative.

    Parameters
    ----------
    shape : int or (p, q)
        The length of x, or the shape of a matrix.
    """

    centrosymmetric = False

    def gauge(self, x: Array) -> float:
        x = self.read_point(x)
        return float(x.sum()) if x.min() >= 0 else math.inf

    def alignments(self, z: ModelDual) -> FloatArray:
        return linalg.as_flat(z)


class NonnegativeCone(NonnegativeOneHot):
    """A = cone{e_i}, the first row of the paper's Table 1: nonnegative x, nothing else asked of its size.

    Atoms are the rays e_i; the gauge is 0 on the orthant and infinite elsewhere, so the relaxation is the loss over
    the orthant (nonnegative least squares). |M|_A is infinite: there is no epsilon, and the methods that need a
    bounded set (conditional gradient, bundle, level set) do not apply.

    Parameters
    ----------
    shape : int or (p, q)
        The length of x, or the shape of a matrix.
    """

    bounded = False
    _rays = True

    def gauge(self, x: Array) -> float:
        return 0.0 if self.read_point(x).min() >= 0 else math.inf

    def support(self, z: ModelDual) -> float:
        return 0.0 if linalg.as_flat(z).max() <= 0 else math.inf

    def _top(self, a: FloatArray) -> float:
        return 0.0  # rays that point away by no more than eps

    def operator_norm(self, M: Operator) -> float | None:
        return math.inf


@dataclass(eq=False)
class _SoftThreshold:
    atoms: OneHot
    w: FloatArray

    def _sizes(self, t: float) -> FloatArray:
        size = np.abs(self.w) if self.atoms.centrosymmetric else self.w
        return np.maximum(size - (t if self.atoms.bounded else 0.0), 0.0)

    def at(self, t: float) -> tuple[Coordinates, FloatArray]:
        c = self._sizes(t)
        which = np.flatnonzero(c)
        return self.atoms.face(which, self.w), c[which]

    def gauge(self, t: float) -> float:
        return float(self._sizes(t).sum()) if self.atoms.bounded else 0.0
