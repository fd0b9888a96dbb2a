"""A problem with listed atoms in the space of their coefficients: class g of atoms is a block of columns there.

Columns are measured in units of their own length where that length is at hand, since the cardinality problem does not
know a feature's units: the image of a coordinate is its column in those units.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, ledger, linalg
from fewatoms._types import Array, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.atoms import AtomicSet, Listing
from fewatoms.capabilities import ColumnBlocks, RowWise, SparseColumns
from fewatoms.faces import Face
from fewatoms.methods.listed.images import Crossings, Images
from fewatoms.operators import MatrixOperator, Operator, passes
from fewatoms.problem import Problem
from fewatoms.units import column_lengths, in_coefficients, in_units, scale_of

LONGEST_COLUMN = 1e145  # squares of this, and some of them together, are still numbers
COLUMNS = 16  # of a black box, asked for from one tick to the next
SHORTEST_COLUMN = 1e-145  # squares of this hardly are


def listed(problem: Problem) -> Listing | None:
    """The listing of a problem over vectors; None where its atoms cannot be listed, or models are matrices."""
    listing = problem.atoms.listing()
    if listing is None:
        return None
    M = in_coefficients(problem.M, listing)
    return listing if len(M.model_shape) == 1 or M.by_columns else None


def kept_columns(problem: Problem) -> Operator:
    """The problem's operator as a matrix: its columns are asked for once, one product each.

    One product with M* as well: nothing else would find out that a box does not have one.
    """
    with ledger.stage("asking for the columns"):
        problem.measured.adjoint(problem.data)
        columns = []
        for some in np.split(np.arange(problem.measured.shape[1]), range(COLUMNS, problem.measured.shape[1], COLUMNS)):
            ledger.tick()
            columns.append(problem.measured.columns(some))
    sparse = any(sp.issparse(block) for block in columns)
    whole = MatrixOperator(sp.hstack(columns, format="csc") if sparse else np.concatenate(columns, axis=1))
    return problem.beside.eliminated(whole, problem.data, problem.base_loss).M


def image_room(M: Operator, listing: Listing, numbers: int) -> int:
    """How many images are kept at most, for so many numbers in them, and as many in their Gram matrix."""
    at_hand = M.offers(ColumnBlocks)
    size = M.shape[0] if at_hand is None else at_hand.image_size
    count = M.shape[1] if listing.blocks is None else sum(block.size for block in listing.blocks)
    return int(min(count, numbers / max(size, 1.0), numbers**0.5))


class View:
    """What a problem with listed atoms looks like in the space of their coefficients. Data are not in it.

    outer : the operator as it is seen from the user's space
    M : the operator in the space of the coefficients; at_hand : what reads its columns, where it is a matrix
    atoms, blocks, weights, nonnegative, forced, barred : see `Listing`
    cap : the largest size of a coefficient, if there is one
    free : columns beside M that fits have to mind, if there are any
    scale : what columns are multiplied by to have length 1 (0 for empty ones); None where lengths are not at hand
    lengths : of the columns, where coefficients are capped
    images, crossings : the images of atoms kept so far, and their inner products with all others
    walked : classes that the ladder of penalties has asked for
    """

    def __init__(self, problem: Problem, outer: Operator, numbers: int) -> None:
        listing = problem.atoms.listing()
        assert listing is not None
        self.outer, self.listing, self.M = outer, listing, in_coefficients(outer, listing)
        self.at_hand = self.M.offers(ColumnBlocks)
        self.atoms, self.blocks = listing.atoms, listing.blocks
        self.nonnegative, self.forced, self.barred = listing.nonnegative, listing.forced, listing.barred
        self.count, self.cap = listing.atoms.count, problem.price.cap
        self.weights = listing.weights
        if self.weights is None and self.blocks is not None:
            self.weights = np.ones(self.count)
        self._sizes = None if self.blocks is None else np.array([block.size for block in self.blocks], dtype=np.intp)
        self.largest = 1 if self._sizes is None else int(self._sizes.max())
        self.free, self._data = problem.beside.in_fits(problem.base_loss), problem.data
        weights = problem.base_loss.weights
        self._root = None if weights is None else np.sqrt(weights)
        self.scale: FloatArray | None = None
        self.lengths: FloatArray | None = None
        self.rows = self.M.offers(RowWise)  # sums over rows, where a pass over them is what costs
        self.rows = None if self.rows is None or not self.rows.in_blocks else self.rows
        self.aligned: FloatArray | None = None  # M* grad f(b), where it came with the lengths
        self._measure(problem)
        self.sign = 1.0 if listing.factor > 0 else -1.0
        self._units: FloatArray | None = None if self.scale is None else self.sign * self.scale
        self.walked = np.zeros(self.count, dtype=bool)
        self.images = Images(self, problem, image_room(self.M, listing, numbers))
        self.crossings = Crossings(self, numbers // self.count)

    def _measure(self, problem: Problem) -> None:
        if self.rows is not None and problem.plain and problem.base_loss.squares:
            lengths: FloatArray | None
            lengths, self.aligned = self._surveyed(self.rows, problem)
        else:
            lengths = None if self.at_hand is None else column_lengths(problem, self.M)
        if lengths is None:
            return
        if np.isnan(lengths).any():
            if self.rows is not None:
                passes.refuse_odd(self.rows, problem.m)
            raise ValueError("M must hold finite numbers only; some of its columns do not")
        longest = float(lengths.max(initial=0.0))
        if not longest < LONGEST_COLUMN:
            raise ValueError(_checks.UNITS.format("large"))
        if longest < SHORTEST_COLUMN:
            y = problem.loss.gradient(problem.b)
            z = np.abs(linalg.as_flat(self.listing.pulled(self.outer.adjoint(y)))).max(initial=0.0)
            if 0 < z < SHORTEST_COLUMN * problem.m * float(np.abs(y).max(initial=0.0)):
                raise ValueError(_checks.UNITS.format("small"))
        if self.cap is None:
            self.scale = scale_of(lengths)
        else:  # a cap makes units matter: a short column cannot do much
            self.lengths = lengths

    def _surveyed(self, rows: RowWise, problem: Problem) -> tuple[FloatArray, FloatArray]:
        """The lengths of all columns and their inner products with the data, in one pass."""
        weights = problem.base_loss.weights
        with ledger.stage("going through all rows"):
            squares, z = rows.over_rows(passes.surveyed, parts=(problem.loss.gradient(problem.b), weights))
        self.outer.charge(1)
        return passes.rooted(squares), z

    def first_alignments(self, problem: Problem) -> FloatArray:
        """M* grad f(b), in the coordinates of the images."""
        if self.aligned is not None:
            return self.pull(self.aligned)
        return self.pull(self.outer.adjoint(problem.loss.gradient(problem.b)))

    def aimed(self, problem: Problem) -> View:
        """The same for other data, or with another ridge: the images stay."""
        if problem.data is not self._data:
            self.aligned, self._data = None, problem.data
        self.images.aim(problem)
        self.walked[:] = False
        return self

    # Units ------------------------------------------------------------------------------------------------------------

    @property
    def single(self) -> bool:
        """Whether atoms are single columns of known length: then half a squared alignment is what one alone gains."""
        return self.scale is not None and self.blocks is None

    @cached_property
    def overlaps(self) -> bool:
        """Whether blocks share coordinates."""
        if self.blocks is None:
            return False
        places = np.concatenate(self.blocks)
        return bool(np.unique(places).size < places.size)

    @property
    def rescaled(self) -> bool:
        """Whether `unit_atoms` is another set than the one asked for."""
        return self.scale is not None and self.atoms.bounded

    @cached_property
    def unit_atoms(self) -> AtomicSet | None:
        """The set with its atoms in units of their images; None where that is the set itself, or has no gauge."""
        return in_units(self.listing, self.scale)

    def image_scale(self, coordinates: IntArray) -> FloatArray:
        """What the columns of these coordinates are multiplied by to give images."""
        return np.full(coordinates.size, self.sign) if self._units is None else self._units[coordinates]

    def user_scale(self, classes: IntArray) -> FloatArray:
        """What coefficients of the images of these classes are multiplied by to give those of the user's atoms."""
        return self.image_scale(self.coordinates(classes)) / self.listing.factor

    def caps(self, classes: IntArray) -> FloatArray:
        """The largest sizes allowed to the coefficients of the images of these classes."""
        assert self.cap is not None
        scale = self.user_scale(classes)
        return self.cap / np.where(scale > 0, scale, 1.0)

    def lengths_of(self, classes: IntArray) -> FloatArray:
        """The lengths of the images of these classes where coefficients are capped, 1 for empty ones."""
        assert self.lengths is not None
        lengths = self.lengths[self.coordinates(classes)]
        return np.where(lengths > 0, lengths, 1.0)

    def squares(self, classes: IntArray) -> FloatArray:
        """The squared lengths of the images of these classes, past free columns: what a ridge on them is multiplied
        by."""
        coordinates = self.coordinates(classes)
        if self.scale is not None:
            return (self.scale[coordinates] > 0).astype(np.float64)
        if self.lengths is not None:
            return self.lengths[coordinates] ** 2
        slots = self.images.slots(classes)
        if self.images.squares:
            return self.images.gram.diagonal()[slots]
        A = linalg.rowwise(self._root, linalg.dense(self.images.columns(slots)))
        if self.free is not None:
            basis = linalg.orthonormal(linalg.rowwise(self._root, self.free))
            A = A - basis @ (basis.T @ A)
        return np.asarray(np.einsum("ij,ij->j", A, A))

    # Classes and coordinates ------------------------------------------------------------------------------------------

    def coordinates(self, classes: IntArray) -> IntArray:
        """The coordinates of these classes, class after class."""
        if self.blocks is None:
            return classes
        return np.concatenate([self.blocks[g] for g in classes]) if classes.size else np.empty(0, dtype=np.intp)

    def sizes(self, classes: IntArray) -> IntArray:
        """How many coordinates each class has."""
        return np.ones(classes.size, dtype=np.intp) if self._sizes is None else self._sizes[classes]

    def totals(self, classes: IntArray, values: FloatArray) -> FloatArray:
        """Sums of the values of each class."""
        if self._sizes is None or not classes.size:
            return values
        return np.add.reduceat(values, np.concatenate([[0], np.cumsum(self._sizes[classes])[:-1]]))

    def gauge(self, classes: IntArray, c: FloatArray) -> float:
        """The gauge of coefficients of images, over atoms in units of their images."""
        size = np.abs(c) if self.blocks is None else np.sqrt(self.totals(classes, c * c))
        return float(size.sum() if self.weights is None else size @ self.weights[classes])

    def face(self, classes: IntArray) -> Face:
        """The face of these classes in the user's space."""
        return self.listing.face(classes)

    def classes_of(self, face: Face) -> IntArray:
        """The classes of a face in the user's space."""
        return self.listing.classes_of(face)

    def chosen(self, classes: IntArray, most: int | None = None) -> IntArray:
        """What must be in an answer, then as many of these classes as there is room for, without those barred."""
        if not self.forced.size and not self.barred.size:
            return classes[:most]
        rest = classes[~np.isin(classes, np.concatenate([self.forced, self.barred]))]
        return np.concatenate([self.forced, rest[: None if most is None else most - self.forced.size]])

    # Looks at all atoms -----------------------------------------------------------------------------------------------

    def image(self, x: FloatArray) -> FloatArray:
        """The sum of all images times x: one product."""
        return self.M.apply(x * (self.sign if self._units is None else self._units))

    def pull(self, z: ModelDual) -> FloatArray:
        """M*y as the images see it: their inner products with y, in the order of the coordinates."""
        flat: Array = linalg.as_flat(self.listing.pulled(z))
        if self._units is not None:
            return flat * self._units
        return flat if self.sign > 0 else -flat

    def pull_block(self, Z: Array) -> FloatArray:
        """The same for the columns of a block, as rows."""
        if self.listing.maps:
            return np.stack([self.pull(z) for z in Z.T])
        return Z.T * (self.sign if self._units is None else self._units)

    def few_crossings(self, classes: IntArray, most: int) -> tuple[IntArray, FloatArray] | None:
        """The classes whose images have anything in common with those of some, and the inner products, a row for each
        of these; None where that may be more than so many numbers, or columns are not sparse and at hand."""
        sparse = self.M.offers(SparseColumns)
        if sparse is None or self.at_hand is None or not self.single:
            return None
        entries, (m, n) = self.at_hand.image_size, self.M.shape
        if classes.size * entries * max(1.0, entries * n / m) > most:
            return None
        block: Matrix = self.images.columns(self.images.slots(classes))
        if not sp.issparse(block):
            return None
        Y = block if self._root is None else sp.diags_array(self._root) @ block
        K = sp.csc_array(sparse.crossed(sp.csc_array(Y)).T)  # by atoms: those without entries have nothing in common
        where = np.flatnonzero(np.diff(K.indptr))
        if classes.size * where.size > most:
            return None
        return where, K[:, where].toarray() * self.image_scale(where)

    def alignments(self, z: FloatArray) -> FloatArray:
        """Those of the best atom of each class with a pulled z; minus infinity for classes that must stay out."""
        a = self.atoms.alignments(z)
        if np.may_share_memory(a, z):
            a = np.array(a)
        if self.barred.size:
            a[self.barred] = -np.inf
        return a
