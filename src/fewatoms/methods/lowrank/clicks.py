"""Sampled entries in front of a background of zeros, as many small regressions: clicks instead of ratings.

Every cell counts, so that each regression is over all columns; what they share is one Gram matrix of the factors (Hu,
Koren and Volinsky, 2008). Nothing of the size of the matrix is formed.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.backed import Backed
from fewatoms.methods.lowrank.entries import Factored, Triple
from fewatoms.sides import NONE, Lines, Regressed, Side, at_entries

# Of the cells per unknown that descents need, since none is left open. Set by MovieLens, where at rank 64 descents from
# singular vectors end .06 % above those down a ladder of penalties, in a third of the time.
CELLS_TOLD = 0.25
HARDLY = 1e-2  # times the weight of all entries: a background of so little altogether tells nothing


class Clicks(Factored):
    """Least squares over all cells: `Factored` with zeros of weight `background` wherever there is no entry."""

    def __init__(self, rows: Side, shape: tuple[int, int], background: float, *, nonnegative: bool = False) -> None:
        super().__init__(rows, shape, nonnegative=nonnegative)
        self.background = background
        self._entries, cols = rows, cast(Side, self.cols)  # those of arrays are arrays
        self._backed = {id(side): Backed(side, background) for side in (rows, cols)}
        p, q = self.shape
        self.told = background * p * q > HARDLY * rows.weight()  # or else entries alone tell of the matrix

    @property
    def heavy(self) -> float:
        return 1.0  # most cells weigh what the background does, and entries are few

    def determines(self, rank: int, ample: float) -> bool:
        p, q = self.shape
        if not self.told:
            return super().determines(rank, ample)
        return p * q >= CELLS_TOLD * ample * rank * (p + q - rank)

    @property
    def uneven(self) -> bool:
        """Every cell counts, so that none is left to a few heavy entries: unless the background is hardly there."""
        return not self.told and super().uneven

    def tempered(self, power: float) -> Clicks:
        unit = self._entries.tempering(power)
        rows = self._entries.tempered(power, unit)
        return Clicks(rows, self.shape, unit * self.background**power, nonnegative=self.nonnegative)

    def _half(
        self, side: Lines, V: Array, offset: FloatArray, lam: float, shrink: float, own: tuple[Array, FloatArray]
    ) -> Regressed:
        return self._backed[id(side)].regress(V, lam, own[0], bound=self.nonnegative)

    def loss(self, at: Triple) -> float:
        """f of what X leaves over: at the entries, and everywhere else."""
        rows, backed, P = self._entries, self._backed[id(self.rows)], at.P * at.s
        x = at_entries(rows, P, at.Q, NONE, NONE)
        left = rows.values - x
        total = float(np.sum((P.T @ P) * (at.Q.T @ at.Q)))
        rest = max(total - float(np.dot(x, x)), 0.0)
        return 0.5 * float(np.dot((backed.beyond + self.background) * left, left)) + 0.5 * self.background * rest


__all__ = ["Clicks"]
