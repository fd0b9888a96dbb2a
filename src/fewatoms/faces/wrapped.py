"""Faces seen through a linear map: multiples, and images."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, ModelDual
from fewatoms.faces.base import Face
from fewatoms.faces.tangents import Tangent
from fewatoms.faces.turning import Turning
from fewatoms.kept import Kept

if TYPE_CHECKING:
    from fewatoms.atoms.mapped import LinearMap
    from fewatoms.operators.base import Operator
    from fewatoms.reduced import ReducedOperator


class WrappedFace(Face):
    """The atoms of another face after a linear map: coefficients, and all that concerns them alone, are the other's."""

    inner_face: Face

    @abstractmethod
    def around(self, inner: Face) -> WrappedFace:
        """The same map around another face."""

    @abstractmethod
    def carried(self, x: Array) -> Array:
        """The map of a point of the inner face."""

    @abstractmethod
    def pulled(self, z: ModelDual) -> ModelDual:
        """z as the inner face sees it: the transpose of the map."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cone", self.inner_face.cone)

    @property
    def size(self) -> int:
        return self.inner_face.size

    @property
    def dim(self) -> int:
        return self.inner_face.dim

    @property
    def freedom(self) -> int:
        return self.inner_face.freedom

    def adjoint(self, z: ModelDual) -> FloatArray:
        return self.inner_face.adjoint(self.pulled(z))

    def project(self, c: FloatArray) -> FloatArray:
        return self.inner_face.project(c)

    def gauge(self, c: FloatArray) -> float:
        return self.inner_face.gauge(c)

    def mean_atom(self) -> FloatArray:
        return self.inner_face.mean_atom()

    def contributions(self, c: FloatArray, norms: FloatArray | None = None) -> FloatArray:
        """Those before the map: what it does to lengths is not asked."""
        return self.inner_face.contributions(c, norms)

    def inner(self, c: FloatArray, other: Self, d: FloatArray) -> float:
        return self.inner_face.inner(c, other.inner_face, d)

    def nonnegative(self) -> Array | None:
        return self.inner_face.nonnegative()

    def prune(self, c: FloatArray, k: BudgetLike, norms: FloatArray | None = None) -> tuple[Face, FloatArray]:
        inner, c = self.inner_face.prune(c, k, norms)
        return self.around(inner), c

    def merge(self, other: Self) -> Face:
        return self.around(self.inner_face.merge(other.inner_face))

    def as_cone(self) -> Face:
        return self.around(self.inner_face.as_cone())

    def spans(self) -> IntArray | None:
        return self.inner_face.spans()

    def labels(self) -> Array:
        return self.inner_face.labels()

    def values(self, c: FloatArray) -> Array:
        return self.inner_face.values(c)

    def key(self) -> Hashable:
        return self.inner_face.key()

    @property
    def parts(self) -> tuple[Face, ...]:
        """The image of a sum is the sum of the images."""
        inner = self.inner_face.parts
        return (self,) if len(inner) == 1 else tuple(self.around(part) for part in inner)

    def split(self, c: FloatArray) -> tuple[FloatArray, ...]:
        return self.inner_face.split(c)

    def turning(self) -> Turning | None:
        inner = self.inner_face.turning()
        return None if inner is None else WrappedTurning(self, inner)

    def tangent(self, c: FloatArray) -> Tangent | None:
        inner = self.inner_face.tangent(c)
        return None if inner is None else WrappedTangent(self, inner)


@dataclass(frozen=True, eq=False)
class WrappedTangent:
    """The directions of the inner face, seen through its map."""

    face: WrappedFace
    inner: Tangent

    @property
    def dim(self) -> int:
        return self.inner.dim

    def push(self, d: FloatArray) -> Array:
        return self.face.carried(self.inner.push(d))

    def pull(self, z: Array) -> FloatArray:
        return self.inner.pull(np.asarray(self.face.pulled(z)).reshape(self.face.inner_face.shape))

    def moved(self, d: FloatArray) -> tuple[Face, FloatArray]:
        inner, c = self.inner.moved(d)
        return self.face.around(inner), c


@dataclass(frozen=True, eq=False)
class WrappedTurning:
    """The unknowns of the inner face, seen through its map."""

    face: WrappedFace
    inner: Turning

    def unfold(self, c: FloatArray) -> FloatArray:
        return self.inner.unfold(c)

    def fold(self, v: FloatArray) -> tuple[Face, FloatArray]:
        turned, c = self.inner.fold(v)
        return self.face.around(turned), c

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        return self.inner.pull(v, self.face.pulled(z))

    def lower(self) -> FloatArray:
        return self.inner.lower()


@dataclass(frozen=True, eq=False)
class ScaledFace(WrappedFace):
    """Atoms scale * a for the atoms a of another face."""

    scale: float
    inner_face: Face

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shape", self.inner_face.shape)

    def around(self, inner: Face) -> ScaledFace:
        return replace(self, inner_face=inner)

    def pulled(self, z: ModelDual) -> ModelDual:
        return self.scale * z

    def carried(self, x: Array) -> Array:
        return self.scale * x

    def point(self, c: FloatArray) -> Array:
        return self.carried(self.inner_face.point(c))

    def contributions(self, c: FloatArray, norms: FloatArray | None = None) -> FloatArray:
        """In the units of the multiple. Norms know the scale, which the inner face must not meet twice."""
        size = abs(self.scale)
        return size * self.inner_face.contributions(c, None if norms is None else norms / size)

    def restrict(self, M: Operator) -> ReducedOperator:
        return self.inner_face.restrict(M).scaled(self.scale)

    def measure(self, M: Operator, c: FloatArray) -> FloatArray:
        return self.scale * self.inner_face.measure(M, c)

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return self.scale * self.inner_face.entries(c, rows, cols)

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        left, right = self.inner_face.factors(c)
        root = np.sqrt(abs(self.scale))
        return np.sign(self.scale) * root * left, root * right

    def kept(self) -> Kept:
        return Kept("multiple", {"scale": self.scale}, inner=(self.inner_face.kept(),))


@dataclass(frozen=True, eq=False)
class MappedFace(WrappedFace):
    """Atoms B a for the atoms a of another face, with a linear map B given by `forward` and `backward`."""

    map: LinearMap
    inner_face: Face
    shape: tuple[int, ...]

    def around(self, inner: Face) -> MappedFace:
        return replace(self, inner_face=inner)

    def pulled(self, z: ModelDual) -> ModelDual:
        return self.map.backward(linalg.as_flat(z))

    def carried(self, x: Array) -> Array:
        return self.map.forward(x.ravel()).reshape(self.shape)

    def point(self, c: FloatArray) -> Array:
        return self.carried(self.inner_face.point(c))

    def restrict(self, M: Operator) -> ReducedOperator:
        return self.inner_face.restrict(M.after(self.map, self.inner_face.shape))

    def kept(self) -> Kept:
        """Of the map, what it makes of these atoms: it may be larger than M, and need not be an array."""
        images = [self.point(e).ravel() for e in np.eye(self.dim)]
        stacked = np.stack(images, axis=1) if images else np.zeros((int(np.prod(self.shape)), 0))
        return Kept("image", {"shape": [*self.shape]}, {"images": stacked}, (self.inner_face.kept(),))
