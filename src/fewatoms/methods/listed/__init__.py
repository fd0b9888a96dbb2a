"""Atoms that can be listed: sparse vectors, groups, dictionaries, their multiples, images and restrictions.

Dual vectors come down a ladder of penalties, in the small space of the atoms that matter there (`ladder.py`). From each
the k atoms that contribute most are fitted (`support.py`) and exchanged for others as long as the loss falls
(`splice.py`). Where products are dear, or a bound may be met soon, a short cut is tried first (`pursuit.py`,
`fewest.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fewatoms.atoms import Listing
from fewatoms.budget import Budget
from fewatoms.effort import NORMAL, Effort
from fewatoms.methods.base import Job, Method
from fewatoms.methods.listed.fewest import Fewest
from fewatoms.methods.listed.images import IMAGE_ROOM
from fewatoms.methods.listed.job import ListedJob
from fewatoms.methods.listed.ladder import WorkingSet
from fewatoms.methods.listed.pursuit import Pursuit
from fewatoms.methods.listed.searched import SearchJob
from fewatoms.methods.listed.smoothed import SmoothJob
from fewatoms.methods.listed.splice import Splice
from fewatoms.methods.listed.view import image_room, listed
from fewatoms.oracles import Oracle
from fewatoms.problem import Problem
from fewatoms.units import in_coefficients


@dataclass(frozen=True, eq=False)
class Listed(Method):
    """Problems over vectors whose atoms can be listed, with one number of atoms, or a bound alone.

    oracle : where dual vectors come from; by default `WorkingSet()`, or what `General` takes where images have no room
    splice : how atoms are exchanged
    pursuit : the short cut tried at x = 0; None leaves it out
    fewest : how supports are grown and shrunk
    hope : without a bound, candidates with more than this many times the lowest loss of their series, before they are
        polished, seldom end up better
    memory : polished candidates remembered for each budget; each holds a vector as long as the data
    patience, patience_smooth : iterates without a better answer that are enough, two a rung; the second for losses
        whose fits take Newton's method
    room : numbers kept as images of atoms at most, and as many in their Gram matrix
    roomy : images that must have room for the ladder to go down in their small space
    boxed : columns of a black box up to which they are asked for, one product each, and kept: then their units do not
        matter, and all else costs no products
    boxed_bound, tried : the same where there is a bound, which is first tried without, with images of this share of
        them: columns are asked for where that does not meet it, or where what meets it is doubtful, as with blurs
    effort : how hard supports are searched
    """

    oracle: Oracle | None = None
    splice: Splice = field(default_factory=Splice)
    pursuit: Pursuit | None = field(default_factory=Pursuit)
    fewest: Fewest = field(default_factory=Fewest)
    hope: float = 1.1
    memory: int = 32
    patience: int = 20
    patience_smooth: int = 3
    room: int = IMAGE_ROOM
    roomy: int = 64
    boxed: int = 256
    boxed_bound: int = 1024
    tried: float = 0.25
    effort: Effort = NORMAL

    def at(self, effort: Effort) -> Listed:
        return replace(self, effort=effort, splice=self.splice.at(effort))

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        given = problem.atoms.listing()
        plain = not any(budget.parts for budget in budgets)
        asked = problem.alpha is not None or not any(budget.nothing_said for budget in budgets)
        if given is None or not plain or not asked:
            return None
        listing = listed(problem)
        self._refuse(problem, budgets, given, listing)
        if listing is None:
            return None
        kind = SearchJob if problem.loss.squares else SmoothJob
        searched = kind(problem, budgets, self, listing)
        return searched if searched.serves_all(budgets) else ListedJob(problem, budgets, self, listing)

    def _refuse(self, problem: Problem, budgets: Sequence[Budget], given: Listing, listing: Listing | None) -> None:
        """What nobody can do: demands that only exchanges by way of images keep, where those are not to be had."""
        if not (given.forced.size or given.barred.size or problem.price.cap is not None):
            return
        sizes = [1] * given.atoms.count if given.blocks is None else [block.size for block in given.blocks]
        whole = sum(sizes)
        room = 0 if listing is None else image_room(in_coefficients(problem.M, listing), listing, self.room)
        for k in (budget.most for budget in budgets):
            if k is not None and given.forced.size > k:
                raise ValueError(f"include must name at most k = {k} atoms; got {given.forced.size}")
            needed = whole if k is None else min(sum(sorted(sizes)[-2 * k :]), whole)
            if listing is None or (k is not None and needed > room):
                raise ValueError(
                    "include, exclude and cap need a vector model and room for the images of twice k atoms; "
                    f"got k={k} atoms of {problem.atoms!r} with {problem.m} data"
                )


__all__ = ["Fewest", "Listed", "ListedJob", "Pursuit", "Splice", "WorkingSet"]
