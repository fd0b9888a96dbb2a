"""A ridge over atoms that can be listed: what their coefficients pay, and what dual vectors gain by it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.atoms import Listing
from fewatoms.faces import Face
from fewatoms.rounding import gamma
from fewatoms.spread import length_of
from fewatoms.units import diagonal, image_lengths, some_lengths

if TYPE_CHECKING:
    from fewatoms.problem import Problem

SETTLED = 1e-14  # relative: steps of Newton's method that are rounding
ROOT_STEPS = 60  # at most; a handful where the images of a group are of similar lengths


@dataclass(frozen=True, eq=False)
class Ridged:
    """(ridge / 2) |u|^2, for the coefficients u of images of length 1 that atoms are made of, past free columns.

    In (P1) class g with coefficients c_g pays lam w_g |c_g| + (ridge / 2) |L_g c_g|^2, where w_g is its weight and L_g
    the lengths of its images; in a group the ridge is on the columns one by one. The conjugate of that is finite:

        h(z_g) = max over c of <c, z_g> - lam w_g |c| - (ridge / 2) |L_g c|^2
               = (|z_g| - lam w_g)_+^2 / (2 ridge)  in units of the images, L_g = 1

    (of the positive part of z_g where coefficients must not be negative), so that f*(y) - <b, y> + sum_g h(z_g), with
    z = M*y as the atoms see it, bounds from every y in dom f*. In other units c_g is along z_g / (lam w_g + ridge t
    L_g^2), with t = |c_g| the root of an increasing function. The solution, there is one, has c_g other than 0 where
    |z_g| > lam w_g, and only there.
    """

    problem: Problem
    listing: Listing
    ridge: float

    @cached_property
    def lengths(self) -> FloatArray | None:
        """|Ma| of all coordinates; None where they cannot be read without products."""
        return image_lengths(self.problem, self.listing)

    # What coefficients pay --------------------------------------------------------------------------------------------

    def squares(self, face: Face, c: FloatArray) -> float:
        """|u|^2 of a compact point, from the columns of its atoms alone."""
        if not face.dim:
            return 0.0
        u = c * self.lengths_of(face)
        return float(np.dot(u, u))

    def lengths_of(self, face: Face) -> FloatArray:
        """|Ma| of the coordinates of a face, one for each coefficient."""
        return some_lengths(self.problem, self.listing, self._coordinates(self.listing.classes_of(face)))

    def squares_at(self, x: Array) -> float:
        """|u|^2 of the model x, where that tells its coefficients."""
        listing, c = self.listing, x.ravel() / self.listing.factor
        units = [diagonal(map_) for map_ in listing.maps]
        known = [unit for unit in units if unit is not None]
        if len(known) < len(units) or np.unique(self._places).size < self._places.size:
            raise TypeError(f"a ridge is on coefficients, and x alone does not tell those of {self.problem.atoms!r}")
        for unit in known:
            c = c / unit
        inside = np.flatnonzero(c)
        u = c[inside] * some_lengths(self.problem, listing, inside) if inside.size else c[inside]
        return float(np.dot(u, u))

    # What dual vectors gain -------------------------------------------------------------------------------------------

    def seen(self, z: ModelDual) -> FloatArray:
        """z as the coordinates of the atoms see it: those that count, and what pulls no coefficient is 0."""
        listing = self.listing
        seen: FloatArray = listing.factor * linalg.as_flat(listing.pulled(z))
        if listing.nonnegative:
            seen = np.maximum(seen, 0.0)
        return seen if self.lengths is None else np.where(self.lengths > 0, seen, 0.0)

    def gain(self, seen: FloatArray, lam: float) -> float:
        """The sum of h(z_g) over all classes that may be used, for z as the coordinates see it."""
        z, price = seen[self._places], lam * self._weights
        sizes = np.abs(z) if self.listing.blocks is None else np.sqrt(np.add.reduceat(z * z, self._starts))
        active = np.flatnonzero(sizes > price)
        longest, even = self._longest[active], self._even[active]
        u = (sizes[active] - price[active])[even] / longest[even]
        uneven = (self._of_group(z, g, float(price[g])) for g in active[~even])
        return float(np.dot(u, u)) / (2.0 * self.ridge) + sum(uneven)

    def doubt(self, gain: float, y: FloatArray) -> float:
        """By how much the gain of M*y may be above what is computed: its root, times that of 2 ridge, is a distance,
        and moves by no more than z does in units of the images."""
        off = self._off * length_of(y)
        root = math.sqrt(2.0 * self.ridge * gain)
        return ((root * (1.0 + gamma(4 * self._places.size + 64)) + off) ** 2 - root**2) / (2.0 * self.ridge)

    @cached_property
    def _off(self) -> float:
        """By how much z in units of the images may be off for y of length 1; 0 where M does not say what it sums."""
        summed, maps = self.problem.summed, self.listing.maps
        if summed is None or summed.each is None or self.lengths is None or any(m.matrix is None for m in maps):
            return 0.0
        each, terms = summed.each, summed.terms + sum(2 * m.shape[0] + 2 for m in maps)
        for map_ in maps:
            each = abs(map_.matrix).T @ each
        seen = self.lengths > 0
        return gamma(2 * terms + 8) * linalg.length(abs(self.listing.factor) * each[seen] / self.lengths[seen])

    def _of_group(self, z: FloatArray, g: int, price: float) -> float:
        """h(z_g) where images are of different lengths.

        |z_g - s|^2 / (2 ridge L^2) is no less for any |s| <= price; the best s is z_g less what c_g pays as a ridge.
        """
        span = self._span(g)
        inside = self._reach[span] > 0
        z, bend = z[span][inside], self.ridge * self._reach[span][inside] ** 2
        if price > 0:
            t = float((np.linalg.norm(z) - price) / bend.max())
            for _ in range(ROOT_STEPS):  # Newton's method on 1 / |z / (price + bend t)|, which is concave: from below
                v = z / (price + bend * t)
                size = float(np.linalg.norm(v))
                step = size**2 * (size - 1.0) / float(np.dot(v * v, bend / (price + bend * t)))
                t += step
                if step <= SETTLED * t:
                    break
            t *= 1.0 + SETTLED
            z = z * (bend * t / (price + bend * t))
        return 0.5 * float(np.dot(z, z / bend))

    # Classes and coordinates ------------------------------------------------------------------------------------------

    @cached_property
    def _used(self) -> IntArray:
        """The classes that are not barred."""
        return np.setdiff1d(np.arange(self.listing.atoms.count), self.listing.barred)

    @cached_property
    def _places(self) -> IntArray:
        """Their coordinates, class after class."""
        return self._coordinates(self._used)

    @cached_property
    def _starts(self) -> IntArray:
        """Where the coordinates of each begin."""
        blocks = self.listing.blocks
        assert blocks is not None
        return np.concatenate([[0], np.cumsum([blocks[g].size for g in self._used])[:-1]]).astype(np.intp)

    @cached_property
    def _reach(self) -> FloatArray:
        """The lengths of the images of these coordinates."""
        assert self.lengths is not None
        return self.lengths[self._places]

    @cached_property
    def _longest(self) -> FloatArray:
        """The longest image of each class."""
        return self._reach if self.listing.blocks is None else np.maximum.reduceat(self._reach, self._starts)

    @cached_property
    def _even(self) -> Array:
        """Whether the images of each class are of one length, but for empty ones."""
        if self.listing.blocks is None:
            return np.ones(self._used.size, dtype=bool)
        short = np.minimum.reduceat(np.where(self._reach > 0, self._reach, np.inf), self._starts)
        return short >= self._longest * (1 - SETTLED)

    @cached_property
    def _weights(self) -> FloatArray:
        """What a unit of each costs in the gauge: nothing for rays."""
        weights, atoms = self.listing.weights, self.listing.atoms
        every = np.full(atoms.count, float(atoms.bounded)) if weights is None else weights
        return every[self._used]

    def _span(self, g: int) -> slice:
        return slice(self._starts[g], self._starts[g + 1] if g + 1 < self._starts.size else None)

    def _coordinates(self, classes: IntArray) -> IntArray:
        blocks = self.listing.blocks
        if blocks is None:
            return classes
        return np.concatenate([blocks[g] for g in classes]) if classes.size else np.empty(0, dtype=np.intp)
