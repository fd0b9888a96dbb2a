"""Faces of sums and unions of sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, ModelDual
from fewatoms.faces.base import Cone, Face, leading
from fewatoms.faces.turning import Still, Turning
from fewatoms.kept import Kept
from fewatoms.reduced import Implicit, ReducedOperator, Stacked

if TYPE_CHECKING:
    from fewatoms.operators.base import Operator


@dataclass(frozen=True, eq=False)
class SumFace(Face):
    """x = x_1 + x_2 + ..., one summand per part; coefficients are the parts', one after the other.

    `joined` tells a union (gauges add) from a sum of sets (the largest gauge counts).
    """

    faces: tuple[Face, ...]
    joined: bool
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        kinds = {f.cone for f in self.faces if f.dim} or {Cone.FREE}
        mixed = len(kinds) > 1 or kinds == {Cone.PSD}  # one semidefinite matrix for each part is not one for all
        object.__setattr__(self, "cone", Cone.MIXED if mixed else kinds.pop())

    @property
    def size(self) -> int:
        return sum(f.size for f in self.faces)

    @property
    def dim(self) -> int:
        return sum(f.dim for f in self.faces)

    @property
    def freedom(self) -> int:
        return sum(f.freedom for f in self.faces)

    def spans(self) -> IntArray | None:
        each = [f.spans() for f in self.faces]
        known = [spans for spans in each if spans is not None]
        if len(known) < len(each):
            return None
        before = np.cumsum([0, *(f.dim for f in self.faces)])
        starts = [spans[:-1] + start for spans, start in zip(known, before, strict=False)]
        return np.concatenate([*starts, before[-1:]])

    @property
    def parts(self) -> tuple[Face, ...]:
        return self.faces

    def split(self, c: FloatArray) -> tuple[FloatArray, ...]:
        return tuple(np.split(c, np.cumsum([f.dim for f in self.faces])[:-1]))

    def _pairs(self, c: FloatArray) -> list[tuple[Face, FloatArray]]:
        return list(zip(self.faces, self.split(c), strict=True))

    def _weighed(self, c: FloatArray, norms: FloatArray | None) -> list[tuple[Face, FloatArray, FloatArray | None]]:
        """The parts with their coefficients and the norms of their atoms."""
        pieces: Sequence[FloatArray | None] = [None] * len(self.faces) if norms is None else self.split(norms)
        return list(zip(self.faces, self.split(c), pieces, strict=True))

    def with_parts(self, pairs: Sequence[tuple[Face, FloatArray]]) -> tuple[Self, FloatArray]:
        """The sum of other faces, with the coefficients of each."""
        return replace(self, faces=tuple(f for f, _ in pairs)), np.concatenate([np.zeros(0), *(p for _, p in pairs)])

    def point(self, c: FloatArray) -> Array:
        return sum((f.point(p).reshape(self.shape) for f, p in self._pairs(c)), start=np.zeros(self.shape))

    def adjoint(self, z: ModelDual) -> FloatArray:
        return np.concatenate([f.adjoint(z) for f in self.faces])

    def project(self, c: FloatArray) -> FloatArray:
        return np.concatenate([f.project(p) for f, p in self._pairs(c)])

    def nonnegative(self) -> Array | None:
        masks = [f.nonnegative() for f in self.faces if f.dim]
        if any(m is None for m in masks):
            return None
        return np.concatenate([np.zeros(0, dtype=bool), *(m for m in masks if m is not None)])

    def gauge(self, c: FloatArray) -> float:
        gauges = [f.gauge(p) for f, p in self._pairs(c)]
        return sum(gauges) if self.joined else max(gauges)

    def mean_atom(self) -> FloatArray:
        if not self.joined:
            return np.concatenate([f.mean_atom() for f in self.faces])
        return np.concatenate([f.mean_atom() * (f.size / max(1, self.size)) for f in self.faces])

    def contributions(self, c: FloatArray, norms: FloatArray | None = None) -> FloatArray:
        return np.concatenate([f.contributions(p, w) for f, p, w in self._weighed(c, norms)])

    def prune(self, c: FloatArray, k: BudgetLike, norms: FloatArray | None = None) -> tuple[Self, FloatArray]:
        """One budget for each part, or one number for all of them: then the parts keep as many atoms as they have
        among the k largest contributions."""
        budgets = k if isinstance(k, tuple) else self._shares(c, k, norms)
        return self.with_parts(
            [f.prune(p, j, w) for (f, p, w), j in zip(self._weighed(c, norms), budgets, strict=True)]
        )

    def _shares(self, c: FloatArray, k: int | None, norms: FloatArray | None) -> list[int]:
        """How many of the k largest contributions each part has."""
        found = [f.contributions(p, w) for f, p, w in self._weighed(c, norms)]
        part = np.repeat(np.arange(len(found)), [shares.size for shares in found])
        counts: list[int] = np.bincount(part[leading(np.concatenate(found), k)], minlength=len(found)).tolist()
        return counts

    def merge(self, other: Self) -> Self:
        return replace(self, faces=tuple(f.merge(g) for f, g in zip(self.faces, other.faces, strict=True)))

    def restrict(self, M: Operator) -> ReducedOperator:
        parts = [f.restrict(M) for f in self.faces]
        # where nothing is at hand, one product for the sum instead of one for each part
        return Stacked(parts) if any(p.direct for p in parts) else Implicit(M, self)

    def measure(self, M: Operator, c: FloatArray) -> FloatArray:
        images = (f.measure(M, p) for f, p in self._pairs(c) if f.dim)
        return sum(images, start=np.zeros(M.shape[0]))

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return sum((f.entries(p, rows, cols) for f, p in self._pairs(c)), start=np.zeros(len(rows)))

    def labels(self) -> Array:
        raise AttributeError("the atoms of a sum are told part by part: use parts[i].indices")

    def values(self, c: FloatArray) -> Array:
        raise AttributeError("the coefficients of a sum are told part by part: use parts[i].coefficients")

    def inner(self, c: FloatArray, other: Self, d: FloatArray) -> float:
        pairs = zip(self._pairs(c), other._pairs(d), strict=True)
        return sum(f.inner(p, g, q) for (f, p), (g, q) in pairs)

    def as_cone(self) -> Self:
        return replace(self, faces=tuple(f.as_cone() for f in self.faces))

    def kept(self) -> Kept:
        inner = tuple(f.kept() for f in self.faces)
        return Kept("sum", {"joined": self.joined, "shape": [*self.shape]}, inner=inner)

    def turning(self) -> Turning | None:
        """Where one part turns, the others take part with their coefficients."""
        turnings = [f.turning() for f in self.faces]
        if all(t is None for t in turnings):
            return None
        return SumTurning(self, tuple(t or Still(f) for t, f in zip(turnings, self.faces, strict=True)))


@dataclass(frozen=True, eq=False)
class SumTurning:
    """The unknowns of the parts, one after the other."""

    face: SumFace
    parts: tuple[Turning, ...]

    def _pieces(self, v: FloatArray) -> list[tuple[Turning, FloatArray]]:
        cuts = np.cumsum([t.lower().size for t in self.parts])[:-1]
        return list(zip(self.parts, np.split(v, cuts), strict=True))

    def unfold(self, c: FloatArray) -> FloatArray:
        return np.concatenate([t.unfold(p) for t, p in zip(self.parts, self.face.split(c), strict=True)])

    def fold(self, v: FloatArray) -> tuple[SumFace, FloatArray]:
        return self.face.with_parts([t.fold(p) for t, p in self._pieces(v)])

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        return np.concatenate([t.pull(p, z) for t, p in self._pieces(v)])

    def lower(self) -> FloatArray:
        return np.concatenate([t.lower() for t in self.parts])


def within(face: Face, k: BudgetLike) -> bool:
    """Whether a face has at most k atoms: part by part, or all parts together for one number; always without one."""
    if isinstance(k, tuple):
        return all(within(f, j) for f, j in zip(face.parts, k, strict=True))
    return k is None or face.size <= k
