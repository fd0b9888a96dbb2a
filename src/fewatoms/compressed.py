"""The atoms of many answers: face by face, or in compressed columns where atoms are single ones that are listed."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.atoms import AtomicSet, Listing
from fewatoms.faces import Face
from fewatoms.kept import Kept


class Held(Protocol):
    """What is kept of the atoms of many answers.

    c : the coefficients of all of them, one after the other; those of answer i begin at starts[i]
    """

    @property
    def c(self) -> FloatArray: ...

    @property
    def starts(self) -> IntArray: ...

    def face(self, i: int) -> Face:
        """The atoms of one answer."""
        ...

    def taken(self, some: IntArray) -> Held:
        """Those of some answers."""
        ...

    def labels(self) -> list[Array]:
        """What tells the atoms of each."""
        ...

    def values(self) -> list[Array]:
        """The coefficients of each, as users read them."""
        ...

    def points(self) -> Array:
        """The models side by side."""
        ...

    def sparse(self) -> sp.csc_array | None:
        """The coefficients as a matrix, an atom a row and an answer a column; None where atoms are not single ones that
        are numbered."""
        ...


@dataclass(frozen=True, eq=False)
class Faces:
    """One by one.

    classes, count : those of single atoms, and of how many, where that is known
    """

    faces: Sequence[Face]
    c: FloatArray
    starts: IntArray
    classes: IntArray | None = None
    count: int = 0

    @classmethod
    def of(cls, faces: Sequence[Face], c: Sequence[FloatArray]) -> Faces:
        starts = np.concatenate([[0], np.cumsum([len(part) for part in c], dtype=np.intp)]).astype(np.intp)
        return cls(list(faces), np.concatenate([np.zeros(0), *c]), starts)

    def face(self, i: int) -> Face:
        return self.faces[i]

    def taken(self, some: IntArray) -> Faces:
        at, starts = _places(self.starts, some)
        classes = None if self.classes is None else self.classes[at]
        return Faces([self.faces[i] for i in some], self.c[at], starts, classes, self.count)

    def labels(self) -> list[Array]:
        return [face.labels() for face in self.faces]

    def values(self) -> list[Array]:
        return [face.values(_of(self, i)) for i, face in enumerate(self.faces)]

    def points(self) -> Array:
        return np.stack([face.point(_of(self, i)) for i, face in enumerate(self.faces)], axis=-1)

    def sparse(self) -> sp.csc_array | None:
        if self.classes is None:
            return None
        return sp.csc_array((self.c, self.classes, self.starts), shape=(self.count, self.starts.size - 1))


def held(atoms: AtomicSet, faces: Sequence[Face], c: Sequence[FloatArray]) -> Faces:
    """Answers found one by one; their classes are known where atoms are single ones that are listed."""
    listing, kept = atoms.listing(), Faces.of(faces, c)
    if listing is None or listing.blocks is not None:
        return kept
    classes = np.concatenate([np.zeros(0, dtype=np.intp), *(listing.classes_of(face) for face in faces)])
    return replace(kept, classes=classes.astype(np.intp), count=listing.atoms.count)


@dataclass(frozen=True, eq=False)
class Compressed:
    """Classes of single atoms, in compressed columns; faces are made when they are asked for."""

    listing: Listing
    classes: IntArray
    c: FloatArray
    starts: IntArray

    def face(self, i: int) -> Face:
        return self.listing.face(self.classes[self.starts[i] : self.starts[i + 1]])

    def taken(self, some: IntArray) -> Compressed:
        at, starts = _places(self.starts, some)
        return Compressed(self.listing, self.classes[at], self.c[at], starts)

    def with_answers(self, others: Mapping[int, tuple[Face, FloatArray]]) -> Compressed:
        """With other answers in some places."""
        classes, c = np.split(self.classes, self.starts[1:-1]), np.split(self.c, self.starts[1:-1])
        for i, (face, coefficients) in others.items():
            classes[i], c[i] = self.listing.classes_of(face), face.values(coefficients)
        return Compressed.of(self.listing, classes, c)

    @classmethod
    def of(cls, listing: Listing, classes: Sequence[IntArray], c: Sequence[FloatArray]) -> Compressed:
        """From the classes and coefficients of each."""
        starts = np.concatenate([[0], np.cumsum([one.size for one in c])]).astype(np.intp)
        flat = np.concatenate([np.zeros(0, dtype=np.intp), *classes]).astype(np.intp)
        return cls(listing, flat, np.concatenate([np.zeros(0), *c]), starts)

    def labels(self) -> list[Array]:
        names = self.listing.names
        return np.split(self.classes if names is None else names[self.classes], self.starts[1:-1])

    def values(self) -> list[Array]:
        return np.split(self.c, self.starts[1:-1])

    def points(self) -> Array:
        """By the matrices of the maps where they have some: a block product for all."""
        listing, X = self.listing, self.sparse()
        if any(map_.matrix is None for map_ in listing.maps):
            faces = [self.face(i) for i in range(self.starts.size - 1)]
            return Faces(faces, self.c, self.starts).points()
        for map_ in reversed(listing.maps):
            X = map_.matrix @ X
        dense = X.toarray() if sp.issparse(X) else np.asarray(X)
        return dense if listing.factor == 1.0 else listing.factor * dense

    def sparse(self) -> sp.csc_array:
        shape = (self.listing.atoms.count, self.starts.size - 1)
        return sp.csc_array((self.c, self.classes, self.starts), shape=shape)


def _places(starts: IntArray, some: IntArray) -> tuple[IntArray, IntArray]:
    """Where the coefficients of some answers are, and where those of each begin once they are taken."""
    sizes = np.diff(starts)[some]
    ends = np.cumsum(sizes)
    at = np.repeat(starts[:-1][some] - (ends - sizes), sizes) + np.arange(sizes.sum())
    return at, np.concatenate([[0], ends]).astype(np.intp)


def _of(held: Held, i: int) -> FloatArray:
    return held.c[held.starts[i] : held.starts[i + 1]]


@dataclass(frozen=True, eq=False)
class Found:
    """Answers to several data vectors, found together.

    held : their atoms
    loss, squares : recomputed; of coefficients in units of the images, which is what a ridge is on
    reference, at_zero, alpha : those of their problems; alpha is nan where there is none
    free : coefficients of the free columns, a row each
    zero, met, left : for which x = 0 will do, which meet the bound, and which are better solved by themselves
    stopped, bad : which nobody has come to, and to which nothing can be fitted
    unreachable : for which the bound is proven to be out of reach
    ridge : what was paid
    twins : for each class another one with the same image; -1 where there is none
    """

    held: Compressed
    loss: FloatArray
    squares: FloatArray
    reference: FloatArray
    at_zero: FloatArray
    alpha: FloatArray
    free: FloatArray
    zero: Array
    met: Array
    left: Array
    ridge: float
    twins: IntArray
    stopped: Array
    bad: Array
    unreachable: Array

    def __len__(self) -> int:
        return int(self.loss.size)

    @classmethod
    def joined(cls, blocks: Sequence[Found]) -> Found:
        """Blocks of answers, one after the other."""
        first, held = blocks[0], [block.held for block in blocks]
        sizes = np.concatenate([[0], *(np.diff(one.starts) for one in held)])
        classes, c = (np.concatenate(parts) for parts in zip(*((one.classes, one.c) for one in held), strict=True))
        words: dict[str, Any] = {name: np.concatenate([vars(block)[name] for block in blocks]) for name in _EACH}
        words["held"] = Compressed(first.held.listing, classes, c, np.cumsum(sizes).astype(np.intp))
        return replace(first, **words)

    def kept(self) -> Kept:
        """For a checkpoint: all but what every block has alike."""
        arrays = {name: vars(self)[name] for name in _EACH}
        held = self.held
        return Kept("block", {}, {**arrays, "classes": held.classes, "c": held.c, "starts": held.starts})

    def again(self, it: Kept) -> Found:
        """The block that was kept, of the same problem as this one."""
        arrays = dict(it.arrays)
        held = Compressed(self.held.listing, *(arrays.pop(name) for name in ("classes", "c", "starts")))
        words: dict[str, Any] = {name: arrays[name] for name in _EACH}
        return replace(self, held=held, **words)


_EACH = tuple(f.name for f in fields(Found) if f.name not in ("held", "ridge", "twins"))


class Together(Protocol):
    """Who answers to many data vectors at once."""

    def blocks(self, data: Array) -> Generator[Found, None, None]:
        """Answers to the columns of the data, some at a time."""
        ...

    def skipped(self, data: Array) -> Found:
        """No answers, for columns that nobody came to."""
        ...
