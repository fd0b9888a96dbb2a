"""Groups of coordinates: whole groups enter or stay out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self, cast

import numpy as np
import numpy.typing as npt

from fewatoms import _checks, linalg, norms
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.atoms.base import AtomicSet, Combination, FiniteSet, Listing
from fewatoms.capabilities import Shrinkage
from fewatoms.faces import Face, GroupCoordinates
from fewatoms.kept import Kept
from fewatoms.rounding import Summed, gamma

if TYPE_CHECKING:
    from fewatoms.operators import Operator


def _groups(face: Face) -> IntArray:
    assert isinstance(face, GroupCoordinates)
    return face.group


def _of_one_type(labels: Array) -> Array:
    """Labels that are kept as objects, as an array of strings or numbers where all are: series of text come so."""
    kinds = {type(label) for label in labels.ravel().tolist()} if labels.dtype.kind == "O" else set()
    if kinds and any(kinds <= alike for alike in ({str, np.str_}, {bool}, {int, float})):
        return np.array(labels.tolist())
    return labels


class Groups(FiniteSet):
    """A = union over groups g of the unit sphere of the coordinates in g, divided by the group's weight.

    The gauge is the group norm sum_g w_g |x_g|, the support function max_g |z_g| / w_g. An atom is one group; a face of
    k groups holds all their coordinates, free.

    Parameters
    ----------
    labels : (n,) array, or an array of a matrix's shape; or columns of a data frame by name
        The group of each coordinate. Labels may be numbers or strings. Where M is a data frame, a mapping from labels
        to lists of names of columns, {"blood": ["s1", "s2"], "body": ["bmi", "bp"]}, or a list of such lists, called by
        the names in them: columns that nobody names are groups of their own.
    weights : mapping from label to positive number, or array in the order of `np.unique(labels)`, optional
    """

    centrosymmetric = True

    def __new__(cls, labels: object = None, *more: object, **words: object) -> Self:
        from fewatoms.atoms.named import NamedGroups, by_name

        if cls is Groups and by_name(labels):
            return cast("Self", NamedGroups(labels, *more, **words))  # type: ignore[arg-type]
        return super().__new__(cls)

    def __init__(self, labels: npt.ArrayLike, weights: Mapping[object, float] | npt.ArrayLike | None = None) -> None:
        labels = _of_one_type(np.asarray(labels))
        if labels.ndim not in (1, 2) or labels.size == 0:
            raise ValueError(
                f"labels must be a vector (or matrix) with one label per coordinate; got shape {labels.shape}"
            )
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError("labels must not contain NaN or infinity")
        self.shape = labels.shape
        try:
            self.names, self._group = np.unique(labels, return_inverse=True)
        except TypeError:
            raise TypeError("labels must be all numbers or all strings; got a mixture") from None
        self._group = self._group.ravel()
        if weights is None:
            self.weights = np.ones(self.names.size)
        else:
            listed: object = weights
            if isinstance(weights, Mapping):
                without = [name for name in self.names.tolist() if name not in weights]
                if without:
                    raise ValueError(f"weights must name every group; there is none for {without[0]!r}")
                listed = [weights[name] for name in self.names.tolist()]
            self.weights = _checks.real_vector("weights", listed, self.names.size, " (one per group)")
            if self.weights.min() <= 0:
                raise ValueError(f"weights must be positive; got {self.weights.min()}")
            _checks.ordinary("weights", self.weights)

    def __repr__(self) -> str:
        return f"Groups({self.count} groups of {self.n} coordinates)"

    @property
    def count(self) -> int:
        return self.names.size

    def listing(self) -> Listing:
        return Listing(self, _groups, self.blocks, self.names, self.weights, grouped=True)

    @property
    def orthonormal(self) -> bool:
        return bool((self.weights == 1.0).all())  # others would compare groups in different units

    @cached_property
    def blocks(self) -> list[IntArray]:
        """The coordinates of each group."""
        order = np.argsort(self._group, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self._group))[:-1])

    @property
    def labels(self) -> Array:
        """The label of each coordinate."""
        return self.names[self._group].reshape(self.shape)

    def _norms(self, x: Array) -> FloatArray:
        return np.sqrt(np.bincount(self._group, weights=x * x, minlength=self.count))

    def gauge(self, x: Array) -> float:
        return float(np.dot(self.weights, self._norms(self.read_point(x).ravel())))

    def alignments(self, z: ModelDual) -> FloatArray:
        return self._norms(linalg.as_flat(z)) / self.weights

    def face(self, which: IntArray, z: ModelDual) -> GroupCoordinates:
        z = linalg.as_flat(z)
        spots = [self.blocks[g] for g in which]
        directions = [_unit(z[s]) / self.weights[g] for g, s in zip(which, spots, strict=True)]
        return GroupCoordinates(
            indices=np.concatenate(spots) if spots else np.empty(0, dtype=np.intp),
            starts=np.concatenate([[0], np.cumsum([s.size for s in spots])]).astype(np.intp),
            directions=np.concatenate(directions) if directions else np.zeros(0),
            group=np.asarray(which, dtype=np.intp),
            names=self.names[which],
            weights=self.weights[which],
            shape=self.shape,
        )

    def atom_norms(self, M: Operator) -> FloatArray | None:
        sizes = norms.block_norms(M, self.blocks)
        return None if sizes is None else sizes / self.weights

    def operator_norm(self, M: Operator) -> float | None:
        sizes = self.atom_norms(M)
        return None if sizes is None else float(sizes.max())

    def off_by(self, summed: Summed) -> float:
        terms = summed.terms + int(np.bincount(self._group).max()) + 8
        if summed.each is None:
            return gamma(terms) * summed.whole / float(self.weights.min())
        return gamma(terms) * float((self._norms(summed.each) / self.weights).max())

    def alike(self, other: Self) -> bool:
        return self.shape == other.shape and np.array_equal(self.labels, other.labels)

    def as_rows(self, count: int) -> AtomicSet:
        return RowGroups(self, self.labels.ravel(), count, self.weights)

    def shrink(self, points: Combination, z: ModelDual, step: float) -> Shrinkage:
        w = step * linalg.as_flat(z)
        for multiplier, face, c in points:
            assert isinstance(face, GroupCoordinates)
            w[face.indices] += multiplier * c
        return _BlockThreshold(self, w, self._norms(w))

    def reshaped(self, shape: tuple[int, ...]) -> Groups:
        if math.prod(shape) != self.n:
            return self
        other = copy(self)
        other.shape = shape
        return other


class RowGroups(Groups):
    """Groups of whole rows of n x count matrices: those whose places are the atoms of another set.

    inner : that set; labels : (n,) array, the group of each row
    """

    def __init__(
        self, inner: AtomicSet, labels: Array, count: int, weights: Mapping[object, float] | npt.ArrayLike | None = None
    ) -> None:
        super().__init__(np.repeat(labels[:, None], count, axis=1), weights)
        self.inner = inner

    def __repr__(self) -> str:
        return f"{self.inner!r} with {self.shape[1]} coefficients each"

    def listing(self) -> Listing:
        inner = self.inner.listing()
        return replace(super().listing(), grouped=inner is None or inner.grouped)

    def over_columns(self, count: int) -> AtomicSet | None:
        return self if self.shape[1:] == (count,) else None

    def kept(self) -> Kept | None:
        inner = self.inner.kept()
        return None if inner is None else Kept("Rows", {"count": self.shape[1]}, inner=(inner,))


@dataclass(eq=False)
class _BlockThreshold:
    atoms: Groups
    w: FloatArray
    sizes: FloatArray

    def at(self, t: float) -> tuple[GroupCoordinates, FloatArray]:
        left = np.maximum(self.sizes - t * self.atoms.weights, 0.0)
        which = np.flatnonzero(left)
        face = self.atoms.face(which, self.w)
        shares = np.repeat(left[which] / self.sizes[which], np.diff(face.starts))
        return face, shares * self.w[face.indices]

    def gauge(self, t: float) -> float:
        return float(np.dot(self.atoms.weights, np.maximum(self.sizes - t * self.atoms.weights, 0.0)))


def _unit(v: Array) -> Array:
    norm = np.linalg.norm(v)
    return v / norm if norm > 0 else np.eye(1, v.size)[0]
