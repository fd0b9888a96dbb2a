"""Faces of whole groups of coordinates."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.faces.base import Face, leading
from fewatoms.faces.coordinates import measure_columns, pick, restrict_columns, sparse_dot, spread, spread_entries
from fewatoms.kept import Kept

if TYPE_CHECKING:
    from fewatoms.operators.base import Operator
    from fewatoms.reduced import ReducedOperator


@dataclass(frozen=True, eq=False)
class GroupCoordinates(Face):
    """Whole groups of coordinates, free. The atoms of a group are the unit sphere of its coordinates (over its weight).

    indices : coordinates, group after group; starts : where each group begins in them, with the end appended;
    directions : the exposed atom of each group, as coefficients; group, names, weights : one per group.
    """

    indices: IntArray
    starts: IntArray
    directions: FloatArray
    group: IntArray
    names: Array
    weights: FloatArray
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return self.group.size

    @property
    def dim(self) -> int:
        return self.indices.size

    def point(self, c: FloatArray) -> Array:
        return spread(self.indices, c, self.shape)

    def adjoint(self, z: ModelDual) -> FloatArray:
        return pick(z, self.indices, self.shape)

    def project(self, c: FloatArray) -> FloatArray:
        return c

    def gauge(self, c: FloatArray) -> float:
        return float(np.dot(self.weights, self.contributions(c)))

    def mean_atom(self) -> FloatArray:
        return self.directions / max(1, self.size)

    def contributions(self, c: FloatArray, norms: FloatArray | None = None) -> FloatArray:
        """The length of each group's coefficients, measured one by one in the data where norms are given."""
        c = c if norms is None else c * norms
        return np.sqrt(np.add.reduceat(c * c, self.starts[:-1])) if self.size else np.zeros(0)

    def prune(self, c: FloatArray, k: BudgetLike, norms: FloatArray | None = None) -> tuple[Self, FloatArray]:
        shares = self.contributions(c, norms)
        keep = leading(shares, k)
        face, where = self._take(keep[shares[keep] > 0])
        return face, c[where]

    def _take(self, keep: IntArray) -> tuple[Self, IntArray]:
        """The face of some of the groups, and where their coefficients stand in this one's."""
        spots = [np.arange(self.starts[g], self.starts[g + 1]) for g in keep]
        where = np.concatenate(spots) if spots else np.empty(0, dtype=np.intp)
        face = replace(
            self,
            indices=self.indices[where],
            starts=np.concatenate([[0], np.cumsum([s.size for s in spots])]).astype(np.intp),
            directions=self.directions[where],
            group=self.group[keep],
            names=self.names[keep],
            weights=self.weights[keep],
        )
        return face, where

    def merge(self, other: Self) -> Self:
        fresh, _ = other._take(np.flatnonzero(~np.isin(other.group, self.group)))
        return replace(
            self,
            indices=np.concatenate([self.indices, fresh.indices]),
            starts=np.concatenate([self.starts, self.starts[-1] + fresh.starts[1:]]),
            directions=np.concatenate([self.directions, fresh.directions]),
            group=np.concatenate([self.group, fresh.group]),
            names=np.concatenate([self.names, fresh.names]),
            weights=np.concatenate([self.weights, fresh.weights]),
        )

    def restrict(self, M: Operator) -> ReducedOperator:
        return restrict_columns(M, self)

    def measure(self, M: Operator, c: FloatArray) -> FloatArray:
        return measure_columns(M, self, self.indices, c, c)

    def images(self, M: Operator) -> Matrix:
        return M.columns(self.indices)

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        return spread_entries(self.indices, c, self.shape, rows, cols)

    def spans(self) -> IntArray:
        return self.starts

    def labels(self) -> Array:
        return self.names

    def values(self, c: FloatArray) -> Array:
        """One row per group; groups of different sizes give an array of arrays."""
        rows = [c[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]
        if len({r.size for r in rows}) <= 1:
            return np.array(rows)
        out = np.empty(len(rows), dtype=object)
        out[:] = rows
        return out

    def members(self) -> list[IntArray]:
        return [self.indices[a:b] for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def key(self) -> Hashable:
        return np.sort(self.group).tobytes()

    def kept(self) -> Kept:
        arrays = {"indices": self.indices, "starts": self.starts, "directions": self.directions}
        arrays |= {"group": self.group, "names": self.names, "weights": self.weights}
        return Kept("groups", {"shape": [*self.shape]}, arrays)

    def inner(self, c: FloatArray, other: Self, d: FloatArray) -> float:
        return sparse_dot(self.indices, c, other.indices, d)
