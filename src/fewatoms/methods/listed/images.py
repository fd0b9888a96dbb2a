"""Problems whose atoms can be listed (coordinates, groups, their multiples and linear images), seen as columns.

Class g of atoms is a block of columns of one matrix. Columns are measured in units of their own length where that
length is at hand, since the cardinality problem does not know a feature's units. The images of atoms that a run has
looked at are kept, with their Gram matrix for least squares: most of a run happens in that small space.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, linalg
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.atoms import AtomicSet, FiniteSet, Groups, Mapped, Rescaled, Scaled
from fewatoms.faces import Coordinates, Face, GroupCoordinates, MappedFace, ScaledFace
from fewatoms.losses import LeastSquares, Loss

ROOM = 16_000_000  # numbers kept as images of atoms at most, and as many in their Gram matrix
LONGEST = 1e75  # fourth powers of this are still numbers
SPARSE = 0.1  # share of nonzeros up to which images are kept sparse

Wrap = Callable[[Any], Any]


class Images:
    """Columns of M in units of their length, class after class in the order in which they were first asked for.

    For least squares they are multiplied by the roots of the weights, and `gram` holds their inner products, `moments`
    those with the data.
    """

    def __init__(self, listed: Listed, loss: Loss, b: FloatArray) -> None:
        self._listed = listed
        self.squares = isinstance(loss, LeastSquares)
        self.root = np.sqrt(loss.weights) if self.squares and loss.weights is not None else None
        self._data = b
        self.target = b if self.root is None else self.root * b
        self.size = 0  # images held
        self.classes = np.empty(0, dtype=np.intp)  # in their order here
        self.starts = np.zeros(1, dtype=np.intp)  # where the images of each begin, with the end appended
        self._place = np.full(listed.count, -1, dtype=np.int32)  # of each class in that order
        rows = listed.M.shape[0]
        self._sparse = listed.M.image_size <= SPARSE * rows
        # dense: an image a row; sparse: an image a column
        self._held: Any = sp.csc_array((rows, 0)) if self._sparse else np.empty((0, rows))
        self.gram = np.empty((0, 0))
        self.moments = np.empty(0)

    @property
    def room(self) -> int:
        """How many images are kept at most."""
        M = self._listed.M
        return int(min(M.shape[1], ROOM / max(M.image_size, 1.0), ROOM**0.5))

    def aim(self, b: FloatArray) -> None:
        """Take other data; the images stay."""
        self._data = b
        self.target = b if self.root is None else self.root * b
        if self.squares and self.size:
            held = self._held if self._sparse else self._held[: self.size].T
            self.moments[: self.size] = held.T @ self.target

    def fits(self, classes: IntArray) -> bool:
        """Whether there is room for the images of these classes."""
        missing = classes[self._place[classes] < 0]
        return self.size + int(self._listed.sizes(missing).sum()) <= self.room

    def has(self, classes: IntArray) -> Array:
        """Which of these classes have their images here."""
        return self._place[classes] >= 0

    def slots(self, classes: IntArray) -> IntArray:
        """Where the images of these classes are, class after class; those that are missing are made."""
        missing = classes[self._place[classes] < 0]
        if missing.size:
            self._take(missing)
        places = self._place[classes]
        if self._listed.blocks is None:
            return places.astype(np.intp)
        spans = [np.arange(self.starts[p], self.starts[p + 1]) for p in places]
        return np.concatenate(spans) if spans else np.empty(0, dtype=np.intp)

    def _take(self, classes: IntArray) -> None:
        listed = self._listed
        fresh = listed.coordinates(classes)
        block, scale = listed.M.columns(fresh), listed.image_scale(fresh)
        if self._sparse:
            self._append_sparse(sp.csc_array(block) @ sp.diags_array(scale))
        else:
            block = block.toarray() if sp.issparse(block) else block
            rows = block.T * scale[:, None]
            self._append_dense(rows if self.root is None else rows * self.root)
        self._place[classes] = np.arange(self.classes.size, self.classes.size + classes.size)
        self.classes = np.concatenate([self.classes, classes])
        self.starts = np.concatenate([self.starts, self.starts[-1] + np.cumsum(listed.sizes(classes))])
        start, self.size = self.size, self.size + fresh.size
        if self.squares:
            self._extend_gram(start, self.size)

    def _append_dense(self, rows: Array) -> None:
        end = self.size + len(rows)
        if end > len(self._held):
            larger = np.empty((max(2 * len(self._held), end, 64), rows.shape[1]))
            larger[: self.size] = self._held[: self.size]
            self._held = larger
        self._held[self.size : end] = rows

    def _append_sparse(self, block: Any) -> None:
        if self.root is not None:
            block = sp.diags_array(self.root) @ block
        self._held = sp.csc_array(sp.hstack([self._held, block])) if self.size else sp.csc_array(block)

    def _extend_gram(self, start: int, end: int) -> None:
        if end > len(self.gram):
            side = max(2 * len(self.gram), end, 64)
            gram, moments = np.empty((side, side)), np.empty(side)
            gram[:start, :start] = self.gram[:start, :start]
            moments[:start] = self.moments[:start]
            self.gram, self.moments = gram, moments
        if self._sparse:
            fresh = self._held[:, start:end]
            cross = (fresh.T @ self._held).toarray()
            self.moments[start:end] = fresh.T @ self.target
        else:
            fresh = self._held[start:end]
            cross = fresh @ self._held[:end].T
            self.moments[start:end] = fresh @ self.target
        self.gram[start:end, :end] = cross
        self.gram[:start, start:end] = cross[:, :start].T

    def twins(self, classes: IntArray) -> tuple[int, int] | None:
        """A class among these and another whose image is the same up to its sign, if one is kept."""
        mine = classes[self.has(classes)] if self.squares and self._listed.blocks is None else classes[:0]
        if not mine.size or self._listed.scale is None:
            return None
        slots = self._place[mine]
        alike = np.abs(self.gram[slots, : self.size])
        alike[np.arange(mine.size), slots] = 0.0
        i, j = divmod(int(alike.argmax()), self.size)
        return (int(mine[i]), int(self.classes[j])) if alike[i, j] >= 1 - 1e-13 else None

    def columns(self, slots: IntArray) -> Any:
        """The images in these slots as columns, dense or sparse."""
        return self._held[:, slots] if self._sparse else self._held[slots].T

    def combine(self, slots: IntArray, c: FloatArray) -> FloatArray:
        """The sum of images times coefficients."""
        return np.asarray(self._held[:, slots] @ c if self._sparse else c @ self._held[slots])

    def correlate(self, slots: IntArray, r: FloatArray) -> FloatArray:
        """The inner products of images with r."""
        return np.asarray(self._held[:, slots].T @ r if self._sparse else self._held[slots] @ r)

    def dual(self, r: FloatArray) -> FloatArray:
        """y of a whitened residual, for least squares."""
        return r if self.root is None else self.root * r


class Listed:
    """What a problem with listed atoms looks like in the space of their coefficients.

    M : the operator there
    atoms : the set there, one-hot vectors or groups
    scale : what columns are multiplied by to have length 1 (0 for empty ones); None where lengths are not at hand
    images : the images of atoms kept so far
    """

    def __init__(self, M: Any, atoms: FiniteSet, factor: float, maps: list[Any], wrap: Wrap, rewrap: Wrap) -> None:
        self.M, self.atoms = M, atoms
        self._factor, self._maps, self._wrap, self._rewrap = factor, maps, wrap, rewrap
        self.blocks: list[IntArray] | None = atoms.blocks if isinstance(atoms, Groups) else None
        self.nonnegative = not atoms.centrosymmetric
        self.scale: FloatArray | None = None
        self.lengths: FloatArray | None = None  # of the columns, where coefficients are capped
        self.images: Images
        self._loss: Loss

    @classmethod
    def of(cls, M: Any, atoms: AtomicSet, loss: Loss, b: FloatArray, *, cap: float | None) -> Listed | None:
        """The listed form of a problem, or None where atoms cannot be listed."""
        maps: list[Any] = []
        faces: list[Wrap] = []
        sets: list[Wrap] = []
        factor, inner = 1.0, atoms
        while isinstance(inner, (Mapped, Scaled)):
            if isinstance(inner, Scaled):
                factor *= inner.scale
                faces.append(partial(ScaledFace, inner.scale))
                sets.append(partial(Scaled, inner.scale))
            else:
                M = M.after(inner.map, inner.inner.shape)
                maps.append(inner.map)
                faces.append(partial(MappedFace, inner.map, shape=inner.shape))
                sets.append(partial(_mapped, inner.map, inner.shape))
            inner = inner.inner
        if not isinstance(inner, FiniteSet) or (len(M.model_shape) > 1 and not M.by_columns):
            return None
        listed = cls(M, inner, factor, maps, _Nested(faces), _Nested(sets))
        lengths = M.column_lengths(loss.weights) if M.explicit else None
        if lengths is not None:
            longest = float(lengths.max(initial=0.0))
            if not longest < LONGEST:
                raise ValueError(_checks.UNITS.format("large"))
            if longest < 1e-145 and M.adjoint(b).any():
                raise ValueError(_checks.UNITS.format("small"))
            empty = lengths == 0
            if cap is None:
                listed.scale = np.where(empty, 0.0, 1.0 / np.where(empty, 1.0, lengths))
            else:  # a cap makes units matter: a short column cannot do much
                listed.lengths = lengths
        listed._loss = loss
        listed.images = Images(listed, loss, b)
        return listed

    def forget(self) -> None:
        """Let the images go."""
        self.images = Images(self, self._loss, self.images._data)

    @property
    def count(self) -> int:
        return self.atoms.count

    @cached_property
    def unit_atoms(self) -> AtomicSet | None:
        """The set with its atoms in units of their images; None where that is the set itself, or has no gauge."""
        if self.scale is None or not self.atoms.bounded:
            return None
        return self._rewrap(Rescaled(self.atoms, np.where(self.scale > 0, self.scale, 1.0) / abs(self._factor)))

    def unit_gauge(self, face: Face, c: FloatArray) -> float:
        """The gauge of a representation over `unit_atoms`."""
        assert self.scale is not None
        scale = self.scale[self.coordinates(self.classes_of(face))]
        return face.gauge(c * abs(self._factor) / np.where(scale > 0, scale, 1.0))

    # Classes and coordinates ------------------------------------------------------------------------------------------

    def coordinates(self, classes: IntArray) -> IntArray:
        """The coordinates of these classes, class after class."""
        if self.blocks is None:
            return classes
        return np.concatenate([self.blocks[g] for g in classes]) if classes.size else np.empty(0, dtype=np.intp)

    def sizes(self, classes: IntArray) -> IntArray:
        """How many coordinates each class has."""
        if self.blocks is None:
            return np.ones(classes.size, dtype=np.intp)
        return np.array([self.blocks[g].size for g in classes], dtype=np.intp)

    def image_scale(self, coordinates: IntArray) -> FloatArray:
        """What the columns of these coordinates are multiplied by to give images."""
        sign = 1.0 if self._factor > 0 else -1.0
        return np.full(coordinates.size, sign) if self.scale is None else sign * self.scale[coordinates]

    def user_scale(self, coordinates: IntArray) -> FloatArray:
        """What coefficients of images are multiplied by to give those of the user's atoms."""
        return self.image_scale(coordinates) / self._factor

    def pull(self, z: Any) -> FloatArray:
        """M*y as the images see it: their inner products with y, in the order of the coordinates."""
        z = linalg.as_flat(z)
        for map_ in self._maps:
            z = map_.backward(z)
        if self.scale is not None:
            z = z * self.scale
        return z if self._factor > 0 else -z

    def face(self, classes: IntArray) -> Face:
        """The face of these classes in the user's space."""
        return self._wrap(self.atoms.face(classes, np.zeros(self.M.shape[1])))

    def classes_of(self, face: Face) -> IntArray:
        """The classes of a face in the user's space."""
        while isinstance(face, (MappedFace, ScaledFace)):
            face = face.inner_face
        assert isinstance(face, (Coordinates, GroupCoordinates))
        return face.indices if isinstance(face, Coordinates) else face.group

    def totals(self, classes: IntArray, values: FloatArray) -> FloatArray:
        """Sums of the values of each class."""
        if self.blocks is None or not classes.size:
            return values
        return np.add.reduceat(values, np.concatenate([[0], np.cumsum(self.sizes(classes))[:-1]]))


def _mapped(map_: Any, shape: tuple[int, ...], inner: AtomicSet) -> AtomicSet:
    return Mapped(map_, inner).reshaped(shape)


class _Nested:
    """The composition of wrappers, the first one outermost."""

    def __init__(self, wraps: list[Wrap]) -> None:
        self.wraps = wraps

    def __call__(self, thing: Any) -> Any:
        for outer in reversed(self.wraps):
            thing = outer(thing)
        return thing
