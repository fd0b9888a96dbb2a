"""A smooth loss as a parabola over a few atoms: what it is near the best coefficients of a support, to second order.

With r the residual, y = grad f(r), H the Hessian there and A the images of a working set, coefficients x of these lead
from c to about

    f(r) - y'A(x - c) + (x - c)'A'HA(x - c) / 2  =  x'Gx / 2 - h'x + constant,   G = A'HA, h = A'y + Gc,

after the best coefficients of free columns, which a Schur complement takes out of G and y. That is least squares in the
space of a Gram matrix, ridge included: exchanges are searched there, and what they find is fitted by Newton's method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram import engine
from fewatoms.gram.blocks import Blocks, blank_blocks, coefficients
from fewatoms.gram.drivers import Rules
from fewatoms.gram.state import State, blank, swap_bounds
from fewatoms.gram.steps import Support as Held
from fewatoms.gram.steps import copy_state, leave, worths
from fewatoms.gram.whiten import Whitened, whiten
from fewatoms.losses import Bend
from fewatoms.methods.listed.exchanging import DICE, NO_RUNGS
from fewatoms.methods.listed.support import Support, SupportFits
from fewatoms.reduced import Bordered

BELOW = 1e3  # a parabola may fall below 0, an engine's loss not: so many times what it is without atoms is added
NO_BEND = 1e-200  # of a loss as flat as this, since classes lie so far apart, no parabola is made


class Model:
    """G, h and twice the constant in the engine's units, in which each atom has length 1, ridge included.

    classes : those of the working set, in the order of G
    value : twice the objective at the support, as the engine sees it
    """

    def __init__(self, fits: SupportFits, support: Support, classes: IntArray, H: Bend) -> None:
        self.view, self.classes, self.support = fits.view, classes, support
        self.signed = not fits.view.nonnegative
        images, view = fits.images, self.view
        self._place = np.full(view.count, -1, dtype=np.int64)
        self._place[classes] = np.arange(classes.size)
        R = Bordered(images.columns(images.slots(classes)), view.free)
        y = fits.problem.base_loss.gradient(support.residual)
        G, slope = _without_free(H.gram(R), R.adjoint(y), R.A.shape[1])
        if float(np.trace(G)) < NO_BEND:
            G, slope = np.zeros_like(G), np.zeros_like(slope)
        c = self._spread(support)
        self.pays = fits.ridge * view.squares(classes) if fits.ridge else np.zeros(c.size)
        bent = G @ c
        below = BELOW * fits.problem.at_zero
        self.value = 2.0 * (support.objective + below)
        self.bb = self.value + 2.0 * float(slope @ c) + float(c @ (bent - self.pays * c))
        self._units(G, slope + bent)
        self.may: Array = self._length > 0
        if view.barred.size:
            self.may &= ~np.isin(classes, view.barred)
        self.stays = np.isin(classes, view.forced) if view.forced.size else np.zeros(classes.size, dtype=bool)

    def _spread(self, support: Support) -> FloatArray:
        """The coefficients of a support among all of the working set."""
        if self.view.blocks is None:
            alone = np.zeros(self.classes.size)
            alone[self._place[support.classes]] = support.c
            return alone
        sizes = self.view.sizes(self.classes)
        c, starts = np.zeros(int(sizes.sum())), np.cumsum(sizes) - sizes
        for g, own in support.by_class().items():
            first = starts[self._place[g]]
            c[first : first + own.size] = own
        return c

    def _units(self, G: FloatArray, h: FloatArray) -> None:
        G.flat[:: len(G) + 1] += self.pays
        self._length = np.sqrt(np.maximum(G.diagonal(), 0.0))
        self._scale = np.where(self._length > 0, 1.0 / np.where(self._length > 0, self._length, 1.0), 0.0)
        self.G, self.h = G, h * self._scale
        self.G *= self._scale[:, None]
        self.G *= self._scale

    def places(self, classes: IntArray) -> IntArray:
        """Where these classes are."""
        return self._place[classes]

    def state(self, most: int) -> Held:
        """A support with room for so many atoms, empty."""
        return blank(self.G, self.h, self.bb, most, self.may, self.stays)

    def searched(
        self,
        starts: Sequence[IntArray],
        k: int,
        rules: Rules,
        lams: FloatArray = NO_RUNGS,
        ridges: FloatArray = NO_RUNGS,
        dice: FloatArray = DICE,
    ) -> Held:
        """The best support that is found from places to start at, down ladders, by shakes."""
        room = k + int(np.count_nonzero(self.stays))  # those that must stay come in whatever k is
        best, spare = self.state(room), self.state(room)
        rows = np.full((len(starts), max(k, *(start.size for start in starts), 1)), -1, dtype=np.int64)
        for row, start in zip(rows, starts, strict=True):
            row[: start.size] = start
        engine().search(self.G, self.h, self.bb, best, spare, rows, lams, ridges, k, rules, dice)
        return best

    def swept(self, start: IntArray, table: IntArray, low: int, high: int, rules: Rules) -> IntArray:
        """The best supports of every size from low to high, a row of places for each: up from a support and down again,
        and from the rows that are there."""
        room = high + int(np.count_nonzero(self.stays))
        state, spare, none = self.state(room), self.state(room), np.full(high + 1, np.inf)
        first = np.full((1, room), -1, dtype=np.int64)
        first[0, : start.size] = start
        still = rules._replace(swaps=0)
        engine().search(self.G, self.h, self.bb, state, spare, first, NO_RUNGS, NO_RUNGS, start.size, still, DICE)
        found = np.full((high + 1, room), -1, dtype=np.int64)
        found[low:, : table.shape[1]] = table[low : high + 1, :room]
        engine().sweep(self.G, self.h, self.bb, state, spare, found, none, low, high, -1.0, rules)
        return found

    def found(self, state: Held) -> IntArray:
        """The classes of a support."""
        return np.asarray(self.classes[state.S[: state.count[0]]])

    def coefficients(self, state: Held) -> FloatArray:
        """Those of the images of a support."""
        places = state.S[: state.count[0]]
        return np.asarray(cast(State, state).c[: places.size] * self._scale[places])

    def near(self, state: Held) -> Support:
        """Where a fit of a support begins: at its coefficients here, with the objective that is to be beaten."""
        return replace(self.support, classes=self.found(state), c=self.coefficients(cast(Blocks, state)))

    def exchanges(self, state: Held) -> FloatArray:
        """Twice what each exchange of an atom inside (a row) for one outside would lower the objective by."""
        U = np.full((state.count[0], self.classes.size), -np.inf)
        swap_bounds(cast(State, state), U)
        return U


class BlockModel(Model):
    """The same for blocks of columns, in coordinates in which each block is orthonormal."""

    whitened: Whitened

    def _units(self, G: FloatArray, h: FloatArray) -> None:
        sizes = self.view.sizes(self.classes)
        unit = max(float(np.trace(G)) / max(1, len(G)), 1e-300)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        ridge = float(self.pays.max(initial=0.0)) / unit
        self.whitened = whiten(G / unit, h / unit, starts, ridge)
        self.G, self.h = self.whitened.G, self.whitened.h
        self.bb, self.value = self.bb / unit, self.value / unit
        self._length = np.diff(self.whitened.starts).astype(np.float64)

    def state(self, most: int) -> Held:
        ones, starts = np.ones(self.classes.size), self.whitened.starts
        return blank_blocks(self.G, self.h, self.bb, most, self.may, self.stays, starts, ones)

    def coefficients(self, state: Held) -> FloatArray:
        return self.whitened.back(state.S[: state.count[0]], coefficients(cast(Blocks, state)))

    def exchanges(self, state: Held) -> FloatArray:
        U = np.full((state.count[0], self.classes.size), -np.inf)
        without = self.state(state.S.size)
        for i in range(state.count[0]):
            if not state.stays[state.S[i]]:
                copy_state(without, state)
                leave(without, i)
                worth = worths(without, True)
                U[i] = np.where(worth > 0, worth - (without.loss[0] - state.loss[0]), -np.inf)
        U[:, state.S[: state.count[0]]] = -np.inf
        return U


def _without_free(H: FloatArray, slope: FloatArray, inside: int) -> tuple[FloatArray, FloatArray]:
    """A Hessian and a slope after the best coefficients of the last columns, which are free."""
    if len(H) == inside:
        return H, slope
    B, C = H[:inside, inside:], H[inside:, inside:]
    C = C + 1e-12 * max(float(np.trace(C)) / len(C), 1e-300) * np.eye(len(C))
    solved = B / C if len(C) == 1 else np.linalg.solve(C, B.T).T
    return H[:inside, :inside] - solved @ B.T, slope[:inside] - solved @ slope[inside:]


def model(fits: SupportFits, support: Support, classes: IntArray, H: Bend) -> Model:
    """The loss near a support over these classes, single columns or blocks."""
    kind = Model if fits.view.blocks is None else BlockModel
    return kind(fits, support, classes, H)
