"""What coefficients of listed atoms pay, in units of their images, and what a dual vector gains by each class.

A coordinate is a column of M in the space of the coefficients, its image that column past free columns, of length 1 in
the weights of the loss. Its coefficient u pays p(u) = (ridge / 2) u^2, and everything where |u| > cap |M a| or, if it
must not be negative, u < 0. For any y in dom f*, with h = p* and z the alignments of y with the images,

    min over k classes of f(b - Mx) + sum p(u_i)  >=  <b, y> - f*(y) - (sum of the k largest h(z_g)),

where h(z_g) is summed over the coordinates of a class. With classes I taken and O left out the sum is over I and the
k - |I| largest of the others outside O.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fewatoms import doubts, linalg
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.atoms import Listing
from fewatoms.capabilities import ColumnBlocks
from fewatoms.norms import TOGETHER, dense
from fewatoms.operators import Operator
from fewatoms.problem import Problem
from fewatoms.rounding import gamma
from fewatoms.spread import length_of
from fewatoms.units import image_lengths, in_coefficients, some_lengths

HELD = 1.0 + 16 * 2.0**-53  # an upward factor for a handful of roundings


@dataclass(frozen=True, eq=False)
class Paying:
    """Of a problem whose atoms are listed.

    lengths : |M a| of each coordinate past free columns, 0 where they explain it: such a one never matters
    caps : the largest sizes of coefficients of images, coordinate by coordinate; None without a cap
    """

    problem: Problem
    listing: Listing
    lengths: FloatArray

    @classmethod
    def of(cls, problem: Problem) -> Paying | None:
        """None where atoms cannot be listed. Columns that are not at hand cost a product each."""
        listing = problem.atoms.listing()
        if listing is None:
            return None
        lengths = image_lengths(problem, listing)
        if lengths is None:
            every = np.arange(listing.atoms.n)
            pieces = np.array_split(every, max(1, every.size // TOGETHER))
            lengths = np.concatenate([some_lengths(problem, listing, some) for some in pieces])
        return cls(problem, listing, lengths)

    @property
    def ridge(self) -> float:
        return self.problem.price.on_squares

    @property
    def count(self) -> int:
        """How many classes there are, those barred too."""
        return self.listing.atoms.count

    @property
    def forced(self) -> IntArray:
        return self.listing.forced

    @cached_property
    def usable(self) -> Array:
        """Whether a class may be in an answer."""
        may = np.ones(self.count, dtype=bool)
        may[self.listing.barred] = False
        return may

    @cached_property
    def caps(self) -> FloatArray | None:
        cap = self.problem.price.cap
        return None if cap is None else cap * self.lengths

    @cached_property
    def bounded(self) -> bool:
        """Whether every y gives a bound: there is a ridge, or a cap."""
        return self.ridge > 0 or self.caps is not None

    def coordinates(self, classes: IntArray) -> IntArray:
        """Those of some classes, class after class."""
        blocks = self.listing.blocks
        if blocks is None:
            return classes
        return np.concatenate([blocks[g] for g in classes]) if classes.size else np.empty(0, dtype=np.intp)

    # The images -------------------------------------------------------------------------------------------------------

    @cached_property
    def M(self) -> Operator:
        """The operator in the space of the coefficients, as methods see it."""
        return in_coefficients(self.problem.M, self.listing)

    @cached_property
    def root(self) -> FloatArray | None:
        """The roots of the weights, if there are any."""
        weights = self.problem.base_loss.weights
        return None if weights is None else np.sqrt(weights)

    def images(self, coordinates: IntArray) -> FloatArray:
        """Those of some coordinates, a column each, 0 for dead ones. They are not multiplied by the roots of the
        weights; with least squares, and only there, free columns have been projected out."""
        at_hand = self.M.offers(ColumnBlocks)
        block = dense(self.M.columns(coordinates) if at_hand is None else at_hand.read(coordinates))
        return np.asarray(block * (self.listing.factor * self.inverse[coordinates]))

    @cached_property
    def inverse(self) -> FloatArray:
        """1 / length, 0 for dead coordinates."""
        dead = self.lengths == 0
        return np.where(dead, 0.0, 1.0 / np.where(dead, 1.0, self.lengths))

    def to_user(self, u: FloatArray, coordinates: IntArray) -> FloatArray:
        """Coefficients of images as those of the user's atoms."""
        return np.asarray(u * self.inverse[coordinates])

    # What dual vectors gain -------------------------------------------------------------------------------------------

    def seen(self, y: FloatArray) -> FloatArray:
        """The alignments of y with the images: sizes, or positive parts where coefficients must not be negative. One
        product."""
        z = self.listing.factor * linalg.as_flat(self.listing.pulled(self.problem.M.adjoint(y))) * self.inverse
        return np.maximum(z, 0.0) if self.listing.nonnegative else np.abs(z)

    @cached_property
    def off(self) -> FloatArray:
        """By how much alignments may be off, for y of length 1; 0 where M does not say what it sums."""
        summed, maps = self.problem.summed, self.listing.maps
        if summed is None or summed.each is None or any(m.matrix is None for m in maps):
            return np.zeros(self.lengths.size)
        each, terms = summed.each, summed.terms + sum(2 * m.shape[0] + 2 for m in maps)
        for map_ in maps:
            each = abs(map_.matrix).T @ each
        # twice: the length of the image is a sum of its own
        return np.asarray(2.0 * gamma(2 * terms + 8) * abs(self.listing.factor) * each * self.inverse)

    def seen_above(self, y: FloatArray) -> FloatArray:
        """The same, no smaller than they are."""
        z = self.seen(y) * HELD + self.off * (length_of(y) * (1.0 + gamma(y.size + 4)))
        return np.where(self.inverse > 0, z, 0.0)

    def gains(self, seen: FloatArray) -> FloatArray:
        """h, coordinate by coordinate."""
        if self.caps is None:
            if self.ridge == 0:
                return np.where(seen > 0, np.inf, 0.0)
            return np.asarray(seen * seen / (2.0 * self.ridge))
        if self.ridge == 0:
            return np.asarray(self.caps * seen)
        best = np.minimum(seen / self.ridge, self.caps)
        return np.asarray(best * (seen - 0.5 * self.ridge * best))

    def of_classes(self, values: FloatArray) -> FloatArray:
        """Sums over the coordinates of each class."""
        blocks = self.listing.blocks
        if blocks is None:
            return values
        starts = np.concatenate([[0], np.cumsum([block.size for block in blocks])[:-1]]).astype(np.intp)
        return np.add.reduceat(values[np.concatenate(blocks)], starts)

    def gains_above(self, y: FloatArray) -> FloatArray:
        """h of each class at y, no smaller than they are; minus infinity for those barred."""
        blocks = self.listing.blocks
        widest = 1 if blocks is None else max(block.size for block in blocks)
        gains = self.of_classes(self.gains(self.seen_above(y))) * (1.0 + gamma(2 * widest + 16))
        return np.where(self.usable, gains, -np.inf)

    def bound(self, y: FloatArray, k: int, inside: IntArray, outside: IntArray) -> float:
        """What y proves of all choices of k classes with some inside and others left out, rounded down. The slow and
        obvious one; forced classes are inside in any case."""
        gains = self.gains_above(y)
        taken = np.union1d(inside, self.forced).astype(np.intp)
        free = np.setdiff1d(np.flatnonzero(self.usable), np.concatenate([taken, outside]))
        most = np.sort(gains[free])[::-1][: max(0, k - taken.size)]
        gained = float(gains[taken].sum() + most.sum()) * (1.0 + gamma(2 * k + 8))
        return self.worth(y) - gained * HELD if np.isfinite(gained) else -np.inf

    def worth(self, y: FloatArray) -> float:
        """<b, y> - f*(y), rounded down; minus infinity outside dom f*."""
        return worth(self.problem, y)


def worth(problem: Problem, y: FloatArray) -> float:
    """<b, y> - f*(y), rounded down; minus infinity outside dom f*."""
    conjugate = problem.loss.conjugate(y)
    if not np.isfinite(conjugate):
        return -np.inf
    value = float(problem.b @ y) - conjugate
    return value - doubts.of_values(problem, y) - gamma(8) * (abs(value) + abs(conjugate))


def nothing(problem: Problem) -> float:
    """The infimum of the loss, which bounds everything: 0 for the losses of the package."""
    conjugate = problem.loss.conjugate(np.zeros(problem.m))
    return -conjugate - doubts.of_values(problem, np.zeros(problem.m)) if conjugate else 0.0
