"""Many more rows than columns: all that fits of listed atoms need is a triangle as small as the columns.

With least squares, |b - Mx|^2 = |c - Rx|^2 + what no x explains, for the triangle R of M's QR decomposition, or of its
Gram matrix: one pass over the rows makes it, a search in its place finds the answer, a second pass looks at that. With
other smooth losses the same is done for parabolas, one pass each (`bent.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fewatoms.budget import Budget
from fewatoms.capabilities import RowWise
from fewatoms.effort import Effort
from fewatoms.methods.base import Job, Method
from fewatoms.methods.listed import Listed
from fewatoms.methods.listed.images import IMAGE_ROOM
from fewatoms.methods.tall.bent import BentJob
from fewatoms.methods.tall.squares import TallJob
from fewatoms.problem import Problem


@dataclass(frozen=True, eq=False)
class Tall(Method):
    """Problems over listed atoms whose rows are many, at hand or in blocks.

    inner : who searches in the small space
    most : columns up to which a triangle is made
    room : numbers kept as images of atoms at most by who serves otherwise: an array whose images have room for
        `roomy` atoms is left to them
    turns : parabolas at most, for other losses than least squares
    """

    inner: Listed = field(default_factory=Listed)
    most: int = 4000
    room: int = IMAGE_ROOM
    roomy: int = 64
    turns: int = 40

    def at(self, effort: Effort) -> Tall:
        inner = self.inner.at(effort)
        return replace(self, inner=inner)

    def open(self, problem: Problem, budgets: Sequence[Budget]) -> Job | None:
        M, listing = problem.measured, problem.atoms.listing()
        rows = M.offers(RowWise)
        if rows is None or listing is None or any(budget.parts for budget in budgets):
            return None
        m, n = M.shape
        asked = problem.alpha is not None or not any(budget.nothing_said for budget in budgets)
        if n > self.most or m < 2 * (n + problem.beside.count) or not asked or M.by_columns or problem.width > 1:
            return None
        if not rows.in_blocks and m * self.roomy <= self.room:
            return None
        if problem.loss.squares:
            return TallJob(problem, budgets, self, rows)
        plain = problem.price.cap is None and not any(budget.nothing_said for budget in budgets) and not listing.maps
        return BentJob(problem, budgets, self, rows) if plain else None


__all__ = ["Tall", "TallJob"]
