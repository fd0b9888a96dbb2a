"""The contract of atomic sets A, and what follows from it alone.

A set holds neither k nor a radius. Gauge and support function are those of the convex hull of A and 0:
gauge(x) = inf {sum c_a : x = sum c_a a, c >= 0}, support(z) = max(0, sup over a of <a, z>).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from fewatoms import _checks, linalg
from fewatoms._types import Array, Budget, FloatArray, IntArray, ModelDual
from fewatoms.faces import Face

# A linear combination of compact points: (multiplier, face, coefficients), ...
Combination: TypeAlias = Sequence[tuple[float, Any, FloatArray]]


class Shrinkage(ABC):
    """The proximal map of the gauge at one point, for any threshold t: argmin over x of |x - w|^2 / 2 + t gauge(x)."""

    @abstractmethod
    def at(self, t: float) -> tuple[Face, FloatArray]:
        """The minimiser in compact form."""

    @abstractmethod
    def gauge(self, t: float) -> float:
        """The gauge of the minimiser."""


class AtomicSet(ABC):
    """A set of atoms in a model space of the given shape."""

    shape: tuple[int, ...]
    centrosymmetric: bool  # -a is an atom whenever a is: coefficients need no sign constraint
    finite: bool  # atoms (or classes of atoms) can be listed, so that safe sets are index sets
    bounded = True  # the gauge vanishes at 0 only
    takes_complex = False  # z may be complex

    @property
    def n(self) -> int:
        """The dimension of the model space."""
        return int(np.prod(self.shape))

    @property
    @abstractmethod
    def count(self) -> int:
        """The largest number of atoms that a point can need: the largest sensible k."""

    @abstractmethod
    def gauge(self, x: Array) -> float:
        """gauge(x), infinity outside the cone of the atoms."""

    @abstractmethod
    def support(self, z: ModelDual) -> float:
        """support(z)."""

    @abstractmethod
    def expose(self, z: ModelDual, k: Budget) -> Face:
        """The face of the k atoms best aligned with z (the paper's A_k)."""

    @abstractmethod
    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> Face:
        """The face of the eps-exposed atoms, <a, z> >= support(z) - eps: the best `limit` if there are more, the best
        `least` atoms if there are fewer.

        Empty (with `least` 0) if all atoms point away from z. Of the infinite sets it holds the singular (eigen-)
        vectors that are eps-exposed; other eps-exposed atoms may lie outside their span, so it is no safe set there.
        """

    @abstractmethod
    def shrink(self, points: Combination, z: ModelDual, step: float) -> Shrinkage:
        """The proximal map at w = sum of points + step z."""

    @abstractmethod
    def operator_norm(self, M: Any) -> float | None:
        """A proven upper bound of |M|_A = max over a of |Ma|, or None."""

    def extreme(self, z: ModelDual, tie: float = 0.0) -> tuple[float, Face]:
        """support(z) and the face of an atom that attains it; empty if the support is 0 because all point away.

        With `tie` a finite set returns all atoms within that share of the support value, for averaging.
        """
        sigma = self.support(z)
        return sigma, self.exposed(z, tie * sigma) if tie and self.finite else self.exposed(z, 0.0, 1)

    def alignments(self, z: ModelDual) -> FloatArray | None:
        """For finite sets, <a, z> of the best aligned atom of each class, in their order; otherwise None."""
        return None

    def atom_norms(self, M: Any) -> FloatArray | None:
        """For finite sets, upper bounds of |Ma| for the atoms of each class, or None."""
        return None

    def spectrum(self, z: ModelDual, k: int) -> FloatArray | None:
        """For matrix sets, the k largest singular values (or eigenvalues) of z; otherwise None."""
        return None

    # What multiples and linear images are made of.

    @property
    def orthonormal(self) -> bool:
        """Whether coefficients of a few atoms are had by inner products: atoms, up to one scale, are orthonormal."""
        return False

    def unwrapped(self) -> tuple[AtomicSet, list[Any], float]:
        """The set inside multiples and maps, the maps from the outermost in, and the scale."""
        return self, [], 1.0

    def around(self, face: Face) -> Face:
        """A face of the set inside, seen from here."""
        return face

    def budget(self, k: Any) -> Budget:
        """k, checked."""
        return _checks.integer("k", k, 1, self.count, f"{self.count}, the number of atoms of {self!r}")

    def reshaped(self, shape: tuple[int, ...]) -> AtomicSet:
        """The same set over models of another shape with as many entries."""
        raise ValueError(f"{self!r} lives in shape {self.shape}, which does not fit {shape}")

    # Algebra: sums, unions and scalings are small objects of their own.

    def __add__(self, other: Any) -> AtomicSet:
        from fewatoms.atoms.sums import Sum

        return Sum(self, other) if isinstance(other, AtomicSet) else NotImplemented

    def __or__(self, other: Any) -> AtomicSet:
        from fewatoms.atoms.sums import Union

        return Union(self, other) if isinstance(other, AtomicSet) else NotImplemented

    def __mul__(self, scale: Any) -> AtomicSet:
        from fewatoms.atoms.scaled import scaled

        return scaled(scale, self)

    __rmul__ = __mul__

    def read_point(self, x: Any) -> Array:
        """x as an array of the set's shape."""
        x = np.asarray(x)
        if x.size != self.n:
            raise ValueError(f"x must have shape {self.shape}; got {x.shape}")
        return x.reshape(self.shape)


class FiniteSet(AtomicSet):
    """Sets whose atoms (or classes of atoms, one per group) are numbered 0, ..., count - 1."""

    finite = True

    @abstractmethod
    def alignments(self, z: ModelDual) -> FloatArray: ...

    @abstractmethod
    def face(self, which: IntArray, z: ModelDual) -> Face:
        """The face of the classes `which`, each represented by its atom best aligned with z."""

    def support(self, z: ModelDual) -> float:
        return max(0.0, float(self.alignments(z).max()))

    def expose(self, z: ModelDual, k: Budget) -> Face:
        return self.face(linalg.top_k(self.alignments(z), k), z)

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> Face:
        a = self.alignments(z)
        count = int(np.count_nonzero(a >= self._ceiling(a) - eps))
        return self.face(linalg.top_k(a, max(least, count if limit is None else min(limit, count))), z)

    def _ceiling(self, a: FloatArray) -> float:
        """support(z) from the alignments."""
        return max(0.0, float(a.max()))
