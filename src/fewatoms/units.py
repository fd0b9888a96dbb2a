"""Listed atoms in the space of their coefficients, and in units of their images there.

The image of an atom is what it adds to the data past what free columns and an intercept explain, measured in the
weights of the loss: with least squares those columns are gone from M, with other losses only lengths know of them. So
neither the units of a feature nor its offset matter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks
from fewatoms._types import FloatArray, IntArray
from fewatoms.atoms import AtomicSet, Listing
from fewatoms.atoms.mapped import LinearMap, Rescaled
from fewatoms.capabilities import ColumnBlocks, Intensities
from fewatoms.norms import block_lengths, dense
from fewatoms.operators import Operator, Projected

if TYPE_CHECKING:
    from fewatoms.problem import Problem

FAR_LENGTH = 1e140  # the longest column whose square, and sums of such, are ordinary numbers


def in_coefficients(M: Operator, listing: Listing) -> Operator:
    """M after the maps of a listing: the operator in the space of its coefficients."""
    inside = [(map_.shape[0],) for map_ in listing.maps[1:]] + [listing.atoms.shape]
    for map_, shape in zip(listing.maps, inside, strict=False):
        M = M.after(map_, shape)
    return M


def column_lengths(problem: Problem, M: Operator) -> FloatArray | None:
    """The lengths of the columns of M, the problem's operator in the space of coefficients, past what free columns
    explain; None where they cannot be read."""
    at_hand = _past_free(problem, M).offers(ColumnBlocks)
    return None if at_hand is None else at_hand.column_lengths(problem.base_loss.weights)


def image_lengths(problem: Problem, listing: Listing) -> FloatArray | None:
    """The lengths of the images of all coordinates of a listing, its factor included; None where they cannot be read.

    Of a set made in units of them they are known.
    """
    if listing.lengths is not None:
        return listing.lengths
    lengths = column_lengths(problem, in_coefficients(problem.M, listing))
    return None if lengths is None else abs(listing.factor) * lengths


def some_lengths(problem: Problem, listing: Listing, coordinates: IntArray) -> FloatArray:
    """The same for some of the coordinates: their columns are read where M is at hand, elsewhere a product each."""
    M, weights = _past_free(problem, in_coefficients(problem.M, listing)), problem.base_loss.weights
    at_hand, distinct = M.offers(ColumnBlocks), np.unique(coordinates)
    block = dense(M.columns(distinct) if at_hand is None else at_hand.read(distinct))
    return abs(listing.factor) * block_lengths(block, weights)[np.searchsorted(distinct, coordinates)]


def scale_of(lengths: FloatArray) -> FloatArray:
    """What columns are multiplied by to have length 1; 0 for empty ones."""
    empty = lengths == 0
    return np.where(empty, 0.0, 1.0 / np.where(empty, 1.0, lengths))


class InUnits(Rescaled):
    """A set whose coordinates have images of length 1, or 0 for empty ones, after a factor on their way to the user.

    scale : what columns are multiplied by for that, 0 for empty ones
    """

    def __init__(self, inner: AtomicSet, scale: FloatArray, factor: float) -> None:
        super().__init__(inner, np.where(scale > 0, scale, 1.0) / factor)
        self._lengths = (scale > 0).astype(np.float64)

    def listing(self) -> Listing | None:
        listing = super().listing()
        return None if listing is None else replace(listing, lengths=self._lengths)


def in_units(listing: Listing, scale: FloatArray | None) -> AtomicSet | None:
    """The set with its atoms in units of their images; None where that is the set itself, or has no gauge."""
    if scale is None or not listing.atoms.bounded:
        return None
    atoms = listing.rewrapped(InUnits(listing.atoms, scale, abs(listing.factor)))
    names = listing.names
    return atoms.restricted(exclude=listing.barred if names is None else names[listing.barred])


def unit_atoms(problem: Problem) -> AtomicSet | None:
    """The same for a problem, where the lengths of the columns can be read without products."""
    listing = problem.atoms.listing()
    if listing is None or problem.price.cap is not None:
        return None
    lengths = column_lengths(problem, in_coefficients(problem.M, listing))
    return None if lengths is None else in_units(listing, scale_of(lengths))


def _past_free(problem: Problem, M: Operator) -> Operator:
    F = problem.beside.in_fits(problem.base_loss)  # with least squares M is past them already
    return M if F is None else Projected(M, F, problem.base_loss.weights)


def in_range(M: Operator, atoms: AtomicSet) -> None:
    """Refuse a matrix in units whose squares (fourth powers, for intensities) are no ordinary numbers. Columns that are
    atoms may differ: who lists them looks at their lengths."""
    intensities, columns = M.offers(Intensities), M.offers(ColumnBlocks)
    if atoms.listing() is not None or (intensities is None and columns is None):
        return
    squares = None if intensities is None else intensities.row_squares()
    powers, sizes = ("fourth powers", squares) if columns is None else ("squares", columns.column_lengths())
    largest = 0.0 if sizes is None else float(sizes.max(initial=0.0))
    if largest and not 1 / FAR_LENGTH < largest < FAR_LENGTH:
        told = _checks.UNITS.replace("squares", powers)
        raise ValueError(told.format("large" if largest > 1 else "small"))


def diagonal(map_: LinearMap) -> FloatArray | None:
    """The diagonal of a map that changes units and nothing else."""
    matrix = map_.matrix
    if not sp.issparse(matrix) or matrix.shape[0] != matrix.shape[1]:
        return None
    found: FloatArray = matrix.diagonal()
    return found if np.count_nonzero(found) == matrix.count_nonzero() else None
