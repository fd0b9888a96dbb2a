"""Rank-one matrices and matrix entries as parts of one set: which is which, and their weight in a plain union."""

from __future__ import annotations

import math
from typing import NoReturn

from fewatoms.atoms.base import AtomicSet
from fewatoms.capabilities import RankOnePairs
from fewatoms.losses import Loss


def pairs_and_entries(atoms: AtomicSet) -> tuple[int, int] | None:
    """The numbers of the part of rank-one matrices and of the part of matrix entries, in a sum or union of these two in
    any units; None for other sets."""
    if len(atoms.parts) != 2:
        return None
    for low, sparse in ((0, 1), (1, 0)):
        if _pairs(atoms.parts[low]) and _entries(atoms.parts[sparse]):
            return low, sparse
    return None


def pursues(atoms: AtomicSet) -> bool:
    """Whether a set is a union of these two: without a number of atoms, principal component pursuit."""
    return atoms.gauges_add and pairs_and_entries(atoms) is not None


def least_squares_only(atoms: AtomicSet, loss: Loss) -> NoReturn:
    """Refuse another loss for it."""
    raise ValueError(
        f"k must give one budget for each of the 2 parts of {atoms!r} with {loss!r}: without it principal component "
        "pursuit is asked for, which takes least squares only; got None"
    )


def _pairs(part: AtomicSet) -> bool:
    """Whether a part is a multiple of the rank-one matrices, all of them."""
    plain = part.unwrapped()
    pairs = plain.inner.offers(RankOnePairs)
    return pairs is not None and not pairs.nonnegative and not plain.maps


def _entries(part: AtomicSet) -> bool:
    """Whether a part is a multiple of the entries, all of them and with either sign."""
    listing = part.listing()
    if listing is None or listing.blocks is not None or listing.nonnegative:
        return False
    return not (listing.maps or listing.forced.size or listing.barred.size)


def weighed(atoms: AtomicSet) -> AtomicSet:
    """A union of plain rank-one matrices and plain matrix entries with the weight of principal component pursuit.

    The 1-norm of a matrix is never below its nuclear norm: without a weight no entry would ever be used.
    """
    found = pairs_and_entries(atoms) if atoms.gauges_add else None
    low, sparse = (part.unwrapped().scale for part in atoms.parts) if found is not None else (1.0, 1.0)
    if found is None or low != sparse:  # a factor of both parts is none of a part
        return atoms
    parts = list(atoms.parts)
    parts[found[1]] = parts[found[1]].times(math.sqrt(max(atoms.shape)))
    return atoms.like(parts)
