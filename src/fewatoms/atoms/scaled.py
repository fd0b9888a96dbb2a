"""Multiples of a set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from fewatoms._types import Array, Budget, FloatArray, ModelDual
from fewatoms.atoms.base import AtomicSet, Combination, Shrinkage
from fewatoms.faces import Face, ScaledFace


def scaled(scale: Any, atoms: AtomicSet) -> AtomicSet:
    """scale * A; a multiple of a sum or union is the sum or union of the multiples."""
    from fewatoms.atoms.sums import Sum, Union

    demand = "the scale of an atomic set must be a finite number other than 0"
    if isinstance(scale, bool) or not isinstance(scale, Real):
        raise TypeError(f"{demand}; got {scale!r}")
    value = float(scale)
    if not math.isfinite(value) or value == 0.0:
        raise ValueError(f"{demand}; got {scale!r}")
    if isinstance(atoms, (Sum, Union)):
        return type(atoms)(*(scaled(value, part) for part in atoms.parts))
    if isinstance(atoms, Scaled):
        return scaled(value * atoms.scale, atoms.inner)
    return atoms if value == 1.0 else Scaled(value, atoms)


class Scaled(AtomicSet):
    """{scale a : a in A}. gauge(x) = gauge_A(x / scale), support(z) = support_A(scale z)."""

    def __init__(self, scale: float, inner: AtomicSet) -> None:
        self.scale, self.inner = scale, inner
        self.shape, self.centrosymmetric = inner.shape, inner.centrosymmetric
        self.finite, self.bounded, self.takes_complex = inner.finite, inner.bounded, inner.takes_complex

    def __repr__(self) -> str:
        return f"{self.scale:g} * {self.inner!r}"

    @property
    def count(self) -> int:
        return self.inner.count

    @property
    def orthonormal(self) -> bool:
        return self.inner.orthonormal

    def unwrapped(self) -> tuple[AtomicSet, list[Any], float]:
        inner, maps, scale = self.inner.unwrapped()
        return inner, maps, self.scale * scale

    def around(self, face: Face) -> Face:
        return ScaledFace(self.scale, self.inner.around(face))

    def gauge(self, x: Array) -> float:
        return self.inner.gauge(self.read_point(x) / self.scale)

    def support(self, z: ModelDual) -> float:
        return self.inner.support(self.scale * z)

    def expose(self, z: ModelDual, k: Budget) -> Face:
        return ScaledFace(self.scale, self.inner.expose(self.scale * z, k))

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> Face:
        return ScaledFace(self.scale, self.inner.exposed(self.scale * z, eps, limit, least))

    def extreme(self, z: ModelDual, tie: float = 0.0) -> tuple[float, Face]:
        sigma, face = self.inner.extreme(self.scale * z, tie)
        return sigma, ScaledFace(self.scale, face)

    def alignments(self, z: ModelDual) -> FloatArray | None:
        return self.inner.alignments(self.scale * z)

    def spectrum(self, z: ModelDual, k: int) -> FloatArray | None:
        return self.inner.spectrum(self.scale * z, k)

    def atom_norms(self, M: Any) -> FloatArray | None:
        norms = self.inner.atom_norms(M)
        return None if norms is None else abs(self.scale) * norms

    def operator_norm(self, M: Any) -> float | None:
        norm = self.inner.operator_norm(M)
        return None if norm is None else abs(self.scale) * norm

    def shrink(self, points: Combination, z: ModelDual, step: float) -> Shrinkage:
        inner = [(a, f.inner_face, c) for a, f, c in points]
        return _ScaledShrinkage(self.scale, self.inner.shrink(inner, self.scale * z, step))

    def reshaped(self, shape: tuple[int, ...]) -> AtomicSet:
        return Scaled(self.scale, self.inner.reshaped(shape))


@dataclass(eq=False)
class _ScaledShrinkage(Shrinkage):
    """The proximal map in the coordinates of the inner set, where x = scale w."""

    scale: float
    inner: Shrinkage

    def at(self, t: float) -> tuple[Face, FloatArray]:
        face, c = self.inner.at(t)
        return ScaledFace(self.scale, face), c

    def gauge(self, t: float) -> float:
        return self.inner.gauge(t)
