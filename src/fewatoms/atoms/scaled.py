"""Multiples of a set."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, TypeVar

from fewatoms import _checks
from fewatoms._types import Array, BudgetLike, FloatArray, ModelDual
from fewatoms.atoms.base import AtomicSet, Combination, Listing, Unwrapped
from fewatoms.capabilities import Gauge, Prox, Shrinkage, Spectrum, need
from fewatoms.faces import Face, ScaledFace
from fewatoms.kept import Kept
from fewatoms.names import Names
from fewatoms.rounding import Summed

if TYPE_CHECKING:
    from fewatoms.operators import Operator

C = TypeVar("C")


def unscaled(face: Face) -> Face:
    """The face inside a multiple."""
    assert isinstance(face, ScaledFace)
    return face.inner_face


def scaled(scale: object, atoms: AtomicSet) -> AtomicSet:
    """scale * A; a multiple of a sum or union is the sum or union of the multiples."""
    demand = "the scale of an atomic set must be a finite number other than 0"
    if isinstance(scale, bool) or not isinstance(scale, Real):
        raise TypeError(f"{demand}; got {scale!r}")
    value = float(scale)
    if not math.isfinite(value) or value == 0.0:
        raise ValueError(f"{demand}; got {scale!r}")
    _checks.ordinary("the scale of an atomic set", abs(value))
    return atoms.times(value)


class Scaled(AtomicSet):
    """{scale a : a in A}. gauge(x) = gauge_A(x / scale), support(z) = support_A(scale z)."""

    def __init__(self, scale: float, inner: AtomicSet) -> None:
        self.scale, self.inner = scale, inner
        self.shape, self.centrosymmetric = inner.shape, inner.centrosymmetric
        self.finite, self.bounded, self.attained = inner.finite, inner.bounded, inner.attained
        self.takes_complex = inner.takes_complex

    def __repr__(self) -> str:
        return f"{self.scale:g} * {self.inner!r}"

    @property
    def count(self) -> int:
        return self.inner.count

    @property
    def orthonormal(self) -> bool:
        return self.inner.orthonormal

    def offers(self, capability: type[C]) -> C | None:
        return super().offers(capability) if self.inner.offers(capability) is not None else None

    def kept(self) -> Kept | None:
        inner = self.inner.kept()
        return None if inner is None else Kept(type(self).__name__, {"scale": self.scale}, inner=(inner,))

    def times(self, scale: float) -> AtomicSet:
        return self.inner.times(scale * self.scale)

    def unwrapped(self) -> Unwrapped:
        inside = self.inner.unwrapped()
        return replace(inside, scale=self.scale * inside.scale)

    def listing(self) -> Listing | None:
        inner, scale = self.inner.listing(), self.scale
        if inner is None:
            return None
        return replace(
            inner,
            factor=scale * inner.factor,
            around=lambda face: ScaledFace(scale, inner.around(face)),
            inside=lambda face: inner.inside(unscaled(face)),
            rewrapped=lambda atoms: Scaled(scale, inner.rewrapped(atoms)),
        )

    def around(self, face: Face) -> Face:
        return ScaledFace(self.scale, self.inner.around(face))

    def gauge(self, x: Array) -> float:
        return need(self.inner, Gauge).gauge(self.read_point(x) / self.scale)

    def support(self, z: ModelDual) -> float | None:
        return self.inner.support(self.scale * z)

    def reached(self, z: ModelDual) -> float:
        return self.inner.reached(self.scale * z)

    def expose(self, z: ModelDual, k: BudgetLike) -> Face:
        return ScaledFace(self.scale, self.inner.expose(self.scale * z, k))

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> Face:
        return ScaledFace(self.scale, self.inner.exposed(self.scale * z, eps, limit, least))

    def extreme(self, z: ModelDual, tie: float = 0.0) -> tuple[float, Face]:
        sigma, face = self.inner.extreme(self.scale * z, tie)
        return sigma, ScaledFace(self.scale, face)

    def alignments(self, z: ModelDual) -> FloatArray | None:
        return self.inner.alignments(self.scale * z)

    def spectrum(self, z: ModelDual, k: int) -> FloatArray:
        return need(self.inner, Spectrum).spectrum(self.scale * z, k)

    def atom_norms(self, M: Operator) -> FloatArray | None:
        norms = self.inner.atom_norms(M)
        return None if norms is None else abs(self.scale) * norms

    def operator_norm(self, M: Operator) -> float | None:
        norm = self.inner.operator_norm(M)
        return None if norm is None else abs(self.scale) * norm

    def off_by(self, summed: Summed) -> float | None:
        off = self.inner.off_by(replace(summed, terms=summed.terms + 2))
        return None if off is None else abs(self.scale) * off

    def shrink(self, points: Combination, z: ModelDual, step: float) -> Shrinkage:
        inner = [(a, unscaled(f), c) for a, f, c in points]
        return _ScaledShrinkage(self.scale, need(self.inner, Prox).shrink(inner, self.scale * z, step))

    def reshaped(self, shape: tuple[int, ...]) -> AtomicSet:
        return Scaled(self.scale, self.inner.reshaped(shape))

    def with_names(self, columns: Names | None) -> AtomicSet:
        inner = self.inner.with_names(columns)
        return self if inner is self.inner else Scaled(self.scale, inner)


@dataclass(eq=False)
class _ScaledShrinkage:
    """The proximal map in the coordinates of the inner set, where x = scale w."""

    scale: float
    inner: Shrinkage

    def at(self, t: float) -> tuple[Face, FloatArray]:
        face, c = self.inner.at(t)
        return ScaledFace(self.scale, face), c

    def gauge(self, t: float) -> float:
        return self.inner.gauge(t)
