"""The contract of atomic sets A, and what follows from it alone.

A set holds neither k nor a radius. Gauge and support function are those of the convex hull of A and 0:
gauge(x) = inf {sum c_a : x = sum c_a a, c >= 0}, support(z) = max(0, sup over a of <a, z>).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, ModelDual
from fewatoms.capabilities import Offering, keeps
from fewatoms.faces import Face
from fewatoms.kept import Kept
from fewatoms.names import Called, Names
from fewatoms.rounding import Summed

if TYPE_CHECKING:
    from fewatoms.atoms.mapped import LinearMap
    from fewatoms.operators import Operator

C = TypeVar("C")

# A linear combination of compact points: (multiplier, face, coefficients), ...
Combination: TypeAlias = Sequence[tuple[float, Face, FloatArray]]


NOBODY: IntArray = np.empty(0, dtype=np.intp)


class AtomicSet(Offering, ABC):
    """A set of atoms in a model space of the given shape.

    Required: `shape`, `count`, `support`, `expose`. A set with these alone is served by methods that expose atoms; a
    gauge, a proximal map, a listing of the atoms are capabilities that earn it faster ones. z is real, or complex
    Hermitian where `takes_complex` says so; coefficients are real. Faces of atoms that are arrays come ready
    (`faces.Explicit`).
    """

    shape: tuple[int, ...]
    centrosymmetric: bool = False  # -a is an atom whenever a is: coefficients need no sign constraint
    finite: bool = False  # atoms (or classes of atoms) are numbered, so that safe sets are index sets
    bounded: bool = True  # the gauge vanishes at 0 only
    attained: bool = False  # support(z) is the alignment of an atom (or 0), not only a bound of it
    takes_complex: bool = False  # z may be complex
    parts: tuple[AtomicSet, ...] = ()  # of a sum or union
    gauges_add: bool = False  # of a union, where those of the parts add up; in a sum the largest counts

    def offers(self, capability: type[C]) -> C | None:
        found: object = self.listing() if capability is Listing else self
        return found if keeps(found, capability) else None

    def listing(self) -> Listing | None:
        """The atoms as blocks of columns, for sets whose atoms can be listed; otherwise None."""
        return None

    def __repr__(self) -> str:
        """Says the same in another process, so that answers know their set again."""
        return f"{type(self).__name__}(shape {self.shape}, {self.count} atoms)"

    @property
    def n(self) -> int:
        """The dimension of the model space."""
        return math.prod(self.shape)

    @property
    @abstractmethod
    def count(self) -> int:
        """The largest number of atoms that a point can need: the largest sensible k."""

    @abstractmethod
    def support(self, z: ModelDual) -> float | None:
        """support(z), or an upper bound of it that is proven, or None where nothing is known: then there is no gap."""

    def ceiling(self, z: ModelDual) -> float:
        """What is proven of support(z): no alignment is higher. Infinite where nothing is known."""
        known = self.support(z)
        return math.inf if known is None else known

    def reached(self, z: ModelDual) -> float:
        """An alignment that is reached, or 0: support(z) itself where that is attained, at most it elsewhere."""
        return self.ceiling(z) if self.attained else max(0.0, _aligned(self.expose(z, 1), z))

    @abstractmethod
    def expose(self, z: ModelDual, k: BudgetLike) -> Face:
        """The face of the k atoms best aligned with z (the paper's A_k), or of fewer, one at least (none if k is 0).

        Where the best aligned atom is out of reach, of a well aligned one.
        """

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> Face:
        """The face of the eps-exposed atoms, <a, z> >= support(z) - eps: the best `limit` if there are more, the best
        `least` atoms if there are fewer.

        Empty (with `least` 0) if all atoms point away from z. Of the infinite sets it holds the singular (eigen-)
        vectors that are eps-exposed; other eps-exposed atoms may lie outside their span, so it is no safe set there.
        Here, where nothing but the contract is known: the best `least` atoms, or the best one unless it points away.
        """
        most = self.count if limit is None else limit
        face = self.expose(z, min(max(1, least), max(most, least)))
        return self.expose(z, 0) if not least and face.size and _aligned(face, z) < 0 else face

    def extreme(self, z: ModelDual, tie: float = 0.0) -> tuple[float, Face]:
        """What is proven of support(z), and the face of an atom that attains it or comes near; empty if the support is
        0 because all point away.

        With `tie` a finite set returns all atoms within that share of the support value, for averaging.
        """
        sigma = self.ceiling(z)
        return sigma, self.exposed(z, tie * sigma) if tie and self.finite else self.exposed(z, 0.0, 1)

    def operator_norm(self, M: Operator) -> float | None:
        """A proven upper bound of |M|_A = max over a of |Ma|, or None."""
        return None

    def off_by(self, summed: Summed) -> float | None:
        """By how much support(M*y) may be off as it is computed, for y of length 1 and what M*y is summed from; None
        where nobody knows."""
        return None

    def alignments(self, z: ModelDual) -> FloatArray | None:
        """For finite sets, <a, z> of the best aligned atom of each class, in their order; otherwise None."""
        return None

    def atom_norms(self, M: Operator) -> FloatArray | None:
        """For finite sets, upper bounds of |Ma| for the atoms of each class, or None."""
        return None

    def others_support(self, z: ModelDual) -> list[float] | None:
        """For each part of a sum, what the other parts add to an alignment at most; None for unions, where none do."""
        return None

    @property
    def summands(self) -> tuple[AtomicSet, ...]:
        """The parts whose gauges are compared: those of a sum; a union, and any other set, has one gauge for all."""
        return (self,)

    def joined(self, faces: Sequence[Face]) -> Face:
        """The face of a sum from the faces of its parts."""
        raise TypeError(f"{self!r} has no parts")

    def like(self, parts: Sequence[AtomicSet]) -> AtomicSet:
        """A sum (or union) of other parts."""
        raise TypeError(f"{self!r} has no parts")

    # What multiples and linear images are made of.

    @property
    def orthonormal(self) -> bool:
        """Whether coefficients of a few atoms are had by inner products: atoms, up to one scale, are orthonormal."""
        return False

    def unwrapped(self) -> Unwrapped:
        """The set inside multiples and maps."""
        return Unwrapped(self)

    def around(self, face: Face) -> Face:
        """A face of the set inside, seen from here."""
        return face

    def same_as(self, other: AtomicSet) -> bool:
        """Whether answers over the two sets mean the same, as far as that can be seen without products. Which atoms
        are forced in or left out plays no part."""
        mine, theirs = self.unrestricted, other.unrestricted
        return mine is theirs or (type(mine) is type(theirs) and mine.alike(theirs))

    @property
    def unrestricted(self) -> AtomicSet:
        """The set with all its atoms, none of them forced."""
        return self

    def alike(self, other: Self) -> bool:
        """Whether another set of the same class is the same: here, if all attributes are equal."""
        return vars(self).keys() == vars(other).keys() and all(
            _equal(value, vars(other)[name]) for name, value in vars(self).items()
        )

    def reshaped(self, shape: tuple[int, ...]) -> AtomicSet:
        """The same set over models of another shape with as many entries."""
        raise ValueError(f"{self!r} lives in shape {self.shape}, which does not fit {shape}")

    def restricted(self, *, include: object = None, exclude: object = None) -> AtomicSet:
        """The set with atoms that must be in every answer, where they count, and without those that must not be.

        include, exclude : indices, names of the columns of a data frame, (row, column) pairs for entries of matrices,
            labels for groups, or a mask; for sets whose atoms can be listed
        """
        from fewatoms.atoms.restricted import restricted

        return restricted(self, include, exclude)

    def with_names(self, columns: Names | None) -> AtomicSet:
        """The set for an M whose columns are called so: atoms that were forced in or left out by name are found."""
        return self

    def called(self, columns: Names | None) -> Called:
        """What the atoms are called where the columns of M are called so."""
        listing = self.listing()
        return Called(columns, None if listing is None else listing.called(columns))

    def over_columns(self, count: int) -> AtomicSet | None:
        """The set for so many data vectors at once, for joint sets; None elsewhere."""
        return None

    def as_rows(self, count: int) -> AtomicSet | None:
        """The set of rows of n x count matrices whose places are those of the atoms; None where that is no set of ours:
        the coefficients in a row are free."""
        return None

    # Algebra: sums, unions and scalings are small objects of their own.

    def __add__(self, other: object) -> AtomicSet:
        from fewatoms.atoms.sums import Sum

        return Sum(self, other) if isinstance(other, AtomicSet) else NotImplemented

    def __or__(self, other: object) -> AtomicSet:
        from fewatoms.atoms.sums import Union

        return Union(self, other) if isinstance(other, AtomicSet) else NotImplemented

    def __mul__(self, scale: object) -> AtomicSet:
        from fewatoms.atoms.scaled import scaled

        return scaled(scale, self)

    __rmul__ = __mul__

    def times(self, scale: float) -> AtomicSet:
        """The multiple, for a scale that has been checked."""
        from fewatoms.atoms.scaled import Scaled

        return self if scale == 1.0 else Scaled(scale, self)

    def kept(self) -> Kept | None:
        """What an answer keeps of its set, where that is a few words and numbers; None where the set holds more, or
        is one's own: it has to be given again then, if the answer gets its data back."""
        return None

    def read_point(self, x: object) -> Array:
        """x as an array of the set's shape."""
        array = np.asarray(x)
        if array.size != self.n:
            raise ValueError(f"x must have shape {self.shape}; got {array.shape}")
        return array.reshape(self.shape)


@dataclass(frozen=True, eq=False)
class Unwrapped:
    """A set without multiples and maps: the set inside, the maps from the outermost in, the scale."""

    inner: AtomicSet
    maps: tuple[LinearMap, ...] = ()
    scale: float = 1.0


class FiniteSet(AtomicSet):
    """Sets whose atoms (or classes of atoms, one per group) are numbered 0, ..., count - 1.

    Required: `shape`, `count`, `alignments`, `face`.
    """

    finite = attained = True

    @abstractmethod
    def alignments(self, z: ModelDual) -> FloatArray: ...

    @abstractmethod
    def face(self, which: IntArray, z: ModelDual) -> Face:
        """The face of the classes `which`, each represented by its atom best aligned with z."""

    def support(self, z: ModelDual) -> float:
        return max(0.0, float(self.alignments(z).max()))

    def expose(self, z: ModelDual, k: BudgetLike) -> Face:
        return self.face(linalg.top_k(self.alignments(z), int_of(k)), z)

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> Face:
        a = self.alignments(z)
        count = int(np.count_nonzero(a >= self._top(a) - eps))
        return self.face(linalg.top_k(a, max(least, count if limit is None else min(limit, count))), z)

    def _top(self, a: FloatArray) -> float:
        """What alignments are compared with: support(z), from the alignments."""
        return max(0.0, float(a.max()))


def int_of(k: BudgetLike) -> int:
    """The budget of one set."""
    assert isinstance(k, int | np.integer)
    return int(k)


def _aligned(face: Face, z: ModelDual) -> float:
    """The alignment of the average of a face's atoms."""
    return float(np.dot(face.adjoint(z), face.mean_atom()))


def _equal(a: object, b: object) -> bool:
    """Whether two attributes of sets are equal."""
    if isinstance(a, AtomicSet) and isinstance(b, AtomicSet):
        return a.same_as(b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return a is b or bool(np.array_equal(np.asarray(a), np.asarray(b)))


@dataclass(frozen=True, eq=False)
class Listing:
    """What `atoms.offers(Listing)` gives: class g of atoms is a block of coordinates of one space.

    atoms : the set in that space, one-hot vectors or groups
    classes : a face of that set -> the classes of its atoms
    blocks : the coordinates of each class, which may overlap; None where class g is coordinate g
    names : what classes are called, sorted; None where they are called by their numbers
    weights : what a unit of each class costs in the gauge; None where all cost 1
    nonnegative : whether coefficients must not be negative
    factor : what atoms are multiplied by on their way to the user's space
    maps : the linear maps on that way, the outermost first
    pulled : z in the user's space -> z in that space, less the factor
    around, inside : a face of that set as the user sees it, and back
    rewrapped : another set in that space as a set of the user's space
    forced, barred : classes that must be in an answer, and that must not
    lengths : of the images of all coordinates, factor included, where the set was made in units of them
    grouped : whether classes are groups of the user's coordinates; the coefficients of one atom, one for each data
        vector or class, are none
    """

    atoms: FiniteSet
    classes: Callable[[Face], IntArray]
    blocks: list[IntArray] | None = None
    names: Array | None = None
    weights: FloatArray | None = None
    nonnegative: bool = False
    factor: float = 1.0
    maps: tuple[LinearMap, ...] = ()
    pulled: Callable[[ModelDual], ModelDual] = field(default=lambda z: z)
    around: Callable[[Face], Face] = field(default=lambda face: face)
    inside: Callable[[Face], Face] = field(default=lambda face: face)
    rewrapped: Callable[[AtomicSet], AtomicSet] = field(default=lambda atoms: atoms)
    forced: IntArray = field(default_factory=lambda: NOBODY)
    barred: IntArray = field(default_factory=lambda: NOBODY)
    lengths: FloatArray | None = None
    grouped: bool = False

    def called(self, columns: Names | None) -> Names | None:
        """What the classes are called, by their numbers: as the columns that they are. Groups have labels of their own,
        unless each of them is one column, numbered as it is."""
        names = self.maps[-1].names if self.maps else columns
        if names is None or self.blocks is None:
            return names
        width = self.atoms.n // len(names)  # of a row, where several data vectors share their atoms
        single = len(self.blocks) == len(names) and np.array_equal(np.asarray(self.names), np.arange(len(names)))
        return names if single and all((b // width == g).all() for g, b in enumerate(self.blocks)) else None

    def classes_of(self, face: Face) -> IntArray:
        """The classes of a face in the user's space."""
        return self.classes(self.inside(face))

    def face(self, classes: IntArray) -> Face:
        """The face of these classes in the user's space."""
        return self.around(self.atoms.face(classes, np.zeros(self.atoms.shape)))
