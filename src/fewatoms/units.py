"""Listed atoms in the space of their coefficients, and in units of their images there."""

from __future__ import annotations

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.atoms import AtomicSet, Listing
from fewatoms.atoms.mapped import Rescaled
from fewatoms.capabilities import ColumnBlocks
from fewatoms.operators import Operator
from fewatoms.problem import Problem


def in_coefficients(M: Operator, listing: Listing) -> Operator:
    """M after the maps of a listing: the operator in the space of its coefficients."""
    inside = [(map_.shape[0],) for map_ in listing.maps[1:]] + [listing.atoms.shape]
    for map_, shape in zip(listing.maps, inside, strict=False):
        M = M.after(map_, shape)
    return M


def scale_of(lengths: FloatArray) -> FloatArray:
    """What columns are multiplied by to have length 1; 0 for empty ones."""
    empty = lengths == 0
    return np.where(empty, 0.0, 1.0 / np.where(empty, 1.0, lengths))


def in_units(listing: Listing, scale: FloatArray | None) -> AtomicSet | None:
    """The set with its atoms in units of their images; None where that is the set itself, or has no gauge."""
    if scale is None or not listing.atoms.bounded:
        return None
    units = np.where(scale > 0, scale, 1.0) / abs(listing.factor)
    atoms = listing.rewrapped(Rescaled(listing.atoms, units))
    names = listing.names
    return atoms.restricted(exclude=listing.barred if names is None else names[listing.barred])


def unit_atoms(problem: Problem) -> AtomicSet | None:
    """The same for a problem, where the lengths of the columns can be read without products."""
    listing = problem.atoms.listing()
    if listing is None or problem.price.cap is not None:
        return None
    at_hand = in_coefficients(problem.M, listing).offers(ColumnBlocks)
    lengths = None if at_hand is None else at_hand.column_lengths(problem.base_loss.weights)
    return None if lengths is None else in_units(listing, scale_of(lengths))
