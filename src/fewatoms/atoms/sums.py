"""Sums and unions of sets: x = x_1 + x_2 + ..., each summand from its own set."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from fewatoms._types import Array, BudgetLike, FloatArray, ModelDual
from fewatoms.atoms.base import AtomicSet, Combination
from fewatoms.atoms.cuts import gauge_by_cuts
from fewatoms.capabilities import Gauge, Prox, Shrinkage, need
from fewatoms.faces import Face, SumFace
from fewatoms.kept import Kept
from fewatoms.names import Called, Names
from fewatoms.rounding import Summed

if TYPE_CHECKING:
    from fewatoms.operators import Operator

C = TypeVar("C")


class _Parts(AtomicSet):
    """What sums and unions share: parts over one model space, and one budget per part."""

    _symbol: str
    parts: tuple[AtomicSet, ...]

    def __init__(self, *parts: AtomicSet) -> None:
        flat: list[AtomicSet] = []
        for part in parts:
            flat.extend(part.parts if part.parts and part.gauges_add == self.gauges_add else [part])
        sizes = {part.n for part in flat}
        if len(sizes) > 1:
            told = ", ".join(f"{p!r} has {p.n}" for p in flat)
            raise ValueError(f"the parts of a sum or union must have the same number of entries; {told}")
        shapes = {part.shape for part in flat if len(part.shape) > 1}
        if len(shapes) > 1:
            raise ValueError(f"the parts of a sum or union must have the same shape; got {sorted(shapes)}")
        self.shape = shapes.pop() if shapes else flat[0].shape
        self.parts = tuple(p if p.shape == self.shape else p.reshaped(self.shape) for p in flat)
        for part in self.parts:
            listing = part.listing()
            if listing is not None and listing.forced.size:
                raise ValueError(f"include is for a set by itself, not for a part of a sum or union; got {part!r}")
        self.centrosymmetric = all(p.centrosymmetric for p in self.parts)
        self.finite = all(p.finite for p in self.parts)
        self.bounded = all(p.bounded for p in self.parts)
        self.attained = all(p.attained for p in self.parts)
        self.takes_complex = all(p.takes_complex for p in self.parts)

    def __repr__(self) -> str:
        return "(" + f" {self._symbol} ".join(repr(p) for p in self.parts) + ")"

    @property
    def count(self) -> int:
        return sum(p.count for p in self.parts)

    def offers(self, capability: type[C]) -> C | None:
        each = all(part.offers(capability) is not None for part in self.parts)
        return super().offers(capability) if (self.attained if capability is Gauge else each) else None

    def kept(self) -> Kept | None:
        parts = [part.kept() for part in self.parts]
        known = tuple(part for part in parts if part is not None)
        return Kept(type(self).__name__, inner=known) if len(known) == len(parts) else None

    def like(self, parts: Sequence[AtomicSet]) -> AtomicSet:
        return type(self)(*parts)

    def times(self, scale: float) -> AtomicSet:
        return self.like([part.times(scale) for part in self.parts])

    def reshaped(self, shape: tuple[int, ...]) -> AtomicSet:
        return self.like([p.reshaped(shape) for p in self.parts])

    def with_names(self, columns: Names | None) -> AtomicSet:
        parts = [part.with_names(columns) for part in self.parts]
        return self if all(a is b for a, b in zip(parts, self.parts, strict=True)) else self.like(parts)

    def called(self, columns: Names | None) -> Called:
        return Called(columns, parts=tuple(part.called(columns) for part in self.parts))

    def joined(self, faces: Sequence[Face]) -> SumFace:
        return SumFace(tuple(faces), self.gauges_add, self.shape)

    def gauge(self, x: Array) -> float:
        return gauge_by_cuts(self, self.read_point(x))

    def expose(self, z: ModelDual, k: BudgetLike) -> SumFace:
        budgets = k if isinstance(k, tuple) else (k,) * len(self.parts)
        return self.joined([p.expose(z, j) for p, j in zip(self.parts, budgets, strict=True)])

    def shrink(self, points: Combination, z: ModelDual, step: float) -> Shrinkage:
        pieces: list[Shrinkage] = []
        for i, part in enumerate(self.parts):
            mine = [(a, f.parts[i], f.split(c)[i]) for a, f, c in points]
            pieces.append(need(part, Prox).shrink(mine, z, step))
        return self._shrinkage(pieces)

    @abstractmethod
    def _shrinkage(self, pieces: list[Shrinkage]) -> Shrinkage: ...

    def off_by(self, summed: Summed) -> float | None:
        known = [p.off_by(summed) for p in self.parts]
        return None if any(v is None for v in known) else 2.0 * sum(v for v in known if v is not None)

    def _norms(self, M: Operator) -> list[float] | None:
        norms = [p.operator_norm(M) for p in self.parts]
        return None if any(v is None for v in norms) else [float(v) for v in norms if v is not None]


class Sum(_Parts):
    """A + B = {a + b}: gauge(x) is the least max(gauge_A(x_1), gauge_B(x_2)) over x = x_1 + x_2, support the sum.

    The paper's robust PCA. The relative scale of the sets matters: the relaxation expects both gauges to be equal at
    the answer.
    """

    _symbol = "+"

    def support(self, z: ModelDual) -> float:
        return sum(p.ceiling(z) for p in self.parts)

    def reached(self, z: ModelDual) -> float:
        return sum(p.reached(z) for p in self.parts)

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> SumFace:
        return self.joined([p.exposed(z, eps, limit, least) for p in self.parts])

    def extreme(self, z: ModelDual, tie: float = 0.0) -> tuple[float, SumFace]:
        pairs = [p.extreme(z, tie) for p in self.parts]
        return sum(s for s, _ in pairs), self.joined([f for _, f in pairs])

    def operator_norm(self, M: Operator) -> float | None:
        norms = self._norms(M)
        return None if norms is None else sum(norms)

    def _shrinkage(self, pieces: list[Shrinkage]) -> Shrinkage:
        return _MaxShrinkage(self, pieces)

    @property
    def summands(self) -> tuple[AtomicSet, ...]:
        return self.parts

    def others_support(self, z: ModelDual) -> list[float]:
        supports = [p.ceiling(z) for p in self.parts]
        return [sum(supports[:i] + supports[i + 1 :]) for i in range(len(supports))]


class Union(_Parts):
    """A | B: gauge(x) is the least gauge_A(x_1) + gauge_B(x_2) over x = x_1 + x_2, support the larger of the two.

    Classical principal component pursuit is `RankOne(p, q) | (1 / lam) * SignedOneHot((p, q))`, lam = max(p, q)**-0.5.
    """

    gauges_add = True
    _symbol = "|"

    def support(self, z: ModelDual) -> float:
        return max(p.ceiling(z) for p in self.parts)

    def reached(self, z: ModelDual) -> float:
        return max(p.reached(z) for p in self.parts)

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> SumFace:
        supports = [p.ceiling(z) for p in self.parts]
        top = max(supports)
        faces = []
        for part, sigma in zip(self.parts, supports, strict=True):
            short = 0.0 if sigma == top else top - sigma  # (a cone's support may be infinite)
            faces.append(part.exposed(z, eps - short, limit, least) if short <= eps else part.exposed(z, 0.0, 0, least))
        return self.joined(faces)

    def extreme(self, z: ModelDual, tie: float = 0.0) -> tuple[float, SumFace]:
        pairs = [p.extreme(z, tie) for p in self.parts]
        top = max(s for s, _ in pairs)
        faces = [f if s >= top * (1 - tie) else p.expose(z, 0) for p, (s, f) in zip(self.parts, pairs, strict=True)]
        return top, self.joined(faces)

    def operator_norm(self, M: Operator) -> float | None:
        norms = self._norms(M)
        return None if norms is None else max(norms)

    def _shrinkage(self, pieces: list[Shrinkage]) -> Shrinkage:
        return _AddShrinkage(self, pieces)


@dataclass(eq=False)
class _AddShrinkage:
    """Gauges add: every part is shrunk by the same threshold."""

    atoms: _Parts
    pieces: list[Shrinkage]

    def at(self, t: float) -> tuple[SumFace, FloatArray]:
        return self._join([t] * len(self.pieces))

    def _join(self, thresholds: list[float]) -> tuple[SumFace, FloatArray]:
        shrunk = [p.at(t) for p, t in zip(self.pieces, thresholds, strict=True)]
        return self.atoms.joined([f for f, _ in shrunk]), np.concatenate([c for _, c in shrunk])

    def gauge(self, t: float) -> float:
        return sum(p.gauge(t) for p in self.pieces)


class _MaxShrinkage(_AddShrinkage):
    """The largest gauge counts: the thresholds add up to t, and parts that are shrunk end at the same gauge."""

    def at(self, t: float) -> tuple[SumFace, FloatArray]:
        return self._join(self._thresholds(t))

    def gauge(self, t: float) -> float:
        return max(p.gauge(s) for p, s in zip(self.pieces, self._thresholds(t), strict=True))

    def _thresholds(self, t: float) -> list[float]:
        return _levelled(self.pieces, t)


def _levelled(pieces: list[Shrinkage], t: float) -> list[float]:
    """Thresholds that add up to t and level the gauges; pieces that are lower anyway take none of it.

    The more one half of the pieces takes, the lower its level and the higher that of the other half: they meet at the
    root of a monotone function.
    """
    from scipy.optimize import brentq

    if len(pieces) == 1:
        return [t]
    half = len(pieces) // 2
    left, right = pieces[:half], pieces[half:]

    def excess(share: float) -> float:
        return _level(left, share) - _level(right, t - share)

    if excess(0.0) <= 0:
        share = 0.0
    elif excess(t) >= 0:
        share = t
    else:
        share = brentq(excess, 0.0, t, xtol=max(1e-15 * t, 1e-322), maxiter=500)
    return _levelled(left, share) + _levelled(right, t - share)


def _level(pieces: list[Shrinkage], t: float) -> float:
    return max(p.gauge(s) for p, s in zip(pieces, _levelled(pieces, t), strict=True))
