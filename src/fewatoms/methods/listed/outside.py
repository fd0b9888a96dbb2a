"""A support held against all atoms: what those outside would gain, and whether any comes near those inside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram.blocks import Blocks, shares
from fewatoms.gram.drivers import build
from fewatoms.gram.state import PIVOT
from fewatoms.gram.steps import Support as Held
from fewatoms.gram.steps import best_entry, cheapest
from fewatoms.methods.listed.small import Small
from fewatoms.methods.listed.support import Support, without_each
from fewatoms.methods.listed.view import View

ISOLATED = 12.0  # an answer whose least atom is worth this many times the best one outside is not searched further
# The share of an atom that another must have in common with it to stand in for it. Of 280 sets of spikes behind blurs
# of width 1.2 to 2 all are found; from .9 on some are not, and below .8 columns of correlation .9 are searched in vain.
ALIKE = 0.85
CROSSING = 4_000_000  # inner products of a support with all atoms, for a look at all exchanges
LOOKED = 1 << 16  # of them at a time


class Crossed(NamedTuple):
    """What the images inside have in common with others: which these are, all others having nothing in common with
    them, H K, with K their inner products and H the inverse of the Gram matrix of those inside, and the squared lengths
    that those inside leave of them."""

    where: IntArray
    HK: FloatArray
    left: FloatArray


@dataclass(frozen=True, eq=False)
class Look:
    """What a support's residual says about all atoms.

    room : how many more atoms are allowed
    alone : whether the least atom inside may be compared with others outside
    """

    small: Small
    support: Support
    k: int
    room: int
    alone: bool

    @property
    def _view(self) -> View:
        return self.small.view

    @cached_property
    def z(self) -> FloatArray:
        """The alignments of all atoms with what is left: one product."""
        view, images = self._view, self.small.images
        return view.pull(view.outer.adjoint(images.dual(self.support.residual)))

    @cached_property
    def _alone_gains(self) -> FloatArray:
        """What each atom outside promises to lower the objective by, alone; 0 for those that must stay out."""
        promise = self.small.promise(self.z)
        promise[self.support.classes] = -np.inf
        return np.asarray(0.5 * np.maximum(promise, 0.0) ** 2)

    @cached_property
    def _crossed(self) -> Crossed | None:
        """What those inside have in common with all others; None where that is too much to compute."""
        support, view = self.support, self._view
        size = support.classes.size
        if not size or support.factor is None or not view.single:
            return None
        found = view.few_crossings(support.classes, CROSSING)
        if found is None and size * view.count > CROSSING:
            return None
        where, K = found or (np.arange(view.count), view.crossings.rows(support.classes))
        HK = support.inverse @ K
        left = np.maximum(1.0 + self.small.ridge - np.einsum("ij,ij->j", K, HK), 0.0)
        return Crossed(where, HK, left)

    @cached_property
    def _entries(self) -> FloatArray:
        """What atoms would gain beside those inside."""
        assert self._crossed is not None
        best, (where, _, left) = self._alone_gains / (1.0 + self.small.ridge), self._crossed
        best[where] = np.where(left > PIVOT, self._alone_gains[where] / np.maximum(left, PIVOT), 0.0)
        return best

    @cached_property
    def gains(self) -> FloatArray:
        """What each atom outside would lower the objective by, in place of the best atom inside for that or, where
        there is room, beside them; of blocks, what it would at least. Where that is too much to compute, what it
        promises alone."""
        if self._view.blocks is not None:
            return self._of_blocks()
        if self._crossed is None:
            return self._alone_gains
        (where, HK, left), support = self._crossed, self.support
        eta = support.inverse.diagonal()
        best = self._alone_gains / (1.0 + self.small.ridge) - self._least(eta)  # those with nothing in common
        best[where] = exchanges(self.z[where], support, eta, HK, left, np.full(left.size, PIVOT))
        best = np.maximum(best, 0.0 if self.room <= 0 else self._entries)
        best[support.classes] = best[self._view.barred] = 0.0
        return best

    def _least(self, eta: FloatArray) -> float:
        """What the loss grows by at least without one of the atoms inside that may go."""
        support = self.support
        movable = ~np.isin(support.classes, self._view.forced)
        return float((0.5 * support.c[movable] ** 2 / eta[movable]).min(initial=np.inf))

    @cached_property
    def _gone(self) -> FloatArray:
        """The alignments of all blocks with what is left without each of those inside: a product for each."""
        view, images, support = self._view, self.small.images, self.support
        A = linalg.dense(images.columns(images.slots(support.classes)))
        left = images.target[:, None] - A @ without_each(support)
        return view.pull_block(view.outer.adjoint_block(linalg.rowwise(images.root, left)))

    def _of_blocks(self) -> FloatArray:
        """Negative where they would lose so much at most. Of two blocks that are alike, the one inside hides the other
        from what is left: so each goes for once."""
        view, support = self._view, self.support
        if support.factor is None or not support.classes.size:
            return self._alone_gains
        best = self._alone_gains.copy() if self.room > 0 else np.full(view.count, -np.inf)
        for g, z, cost in zip(support.classes, self._gone, support.costs, strict=True):
            if g not in view.forced:
                best = np.maximum(best, 0.5 * self.small.promise(z) ** 2 - cost)
        best[support.classes] = best[view.barred] = -np.inf
        return best

    @property
    def isolated(self) -> bool:
        """Whether the least atom inside is worth many times the best one outside."""
        support = self.support
        if not self.alone or support.factor is None or not support.classes.size:
            return False
        least, best = float(support.costs.min()), float(self._alone_gains.max(initial=0.0))
        if least < ISOLATED * best / (1.0 + self.small.ridge):  # not even if all of it were new
            return False
        if self._view.blocks is not None:
            return self._block_is_isolated()
        if self._crossed is None or least < ISOLATED * float(self._entries.max(initial=0.0)):
            return False
        where, HK, left = self._crossed
        may = np.ones(self._view.count, dtype=bool)
        may[support.classes] = may[self._view.barred] = False
        return not stand_in(HK, support.inverse.diagonal(), left, may[where])

    def _block_is_isolated(self) -> bool:
        """Blocks of the working set are known exactly, others by what they promise alone: half of them is taken to be
        new."""
        small = self.small
        state, others = small.state(self.k), self._alone_gains.copy()
        build(small.G, small.h, small.bb, state, small.places(self.support.classes))
        others[small.classes] = 0.0
        if cheapest(state)[1] < ISOLATED * 4.0 * float(others.max(initial=0.0)) or not isolated(state, small.signed):
            return False
        return not any(
            self._replaceable(z - self.z, cost) for z, cost in zip(self._gone, self.support.costs, strict=True)
        )

    def _replaceable(self, z: FloatArray, cost: float) -> bool:
        """Whether some block explains nearly all that one inside does, whose alignments with all blocks these are; seen
        alone, which is less than what it would explain beside the others."""
        promise = self.small.promise(z)
        promise[self.support.classes] = -np.inf
        return bool(0.5 * max(promise.max(initial=0.0), 0.0) ** 2 >= ALIKE * cost)


def isolated(state: Held, signed: bool) -> bool:
    """The same within a working set."""
    if cheapest(state)[1] < ISOLATED * best_entry(state, signed)[1]:
        return False
    size = int(state.count[0])
    if isinstance(state, Blocks):
        return not any((shares(state, i) >= ALIKE).any() for i in range(size))
    return not stand_in(state.B[:size], state.H.diagonal()[:size], state.d, state.may & (state.place < 0))


def stand_in(HK: FloatArray, eta: FloatArray, left: FloatArray, may: Array) -> bool:
    """Whether some atom could do nearly what one inside does, beside the others: then two such moves at once may lower
    the loss where neither does alone, as with neighbours in a blur, and what single atoms gain tells little.

    Of what the others leave of atoms i and j, (HK)_ij^2 / eta_i out of left_j + (HK)_ij^2 / eta_i is common.
    """
    common = (HK**2 / eta[:, None]).max(axis=0, initial=0.0)
    return bool(((1.0 - ALIKE) * common >= ALIKE * left)[may & (left > PIVOT)].any())


def beyond(small: Small, support: Support) -> int | None:
    """The atom of the working set that lowers the loss most by what the others leave of it, seen in its image."""
    rows, A = linalg.filled_rows(small.images.columns(np.arange(small.columns)))
    lengths = np.linalg.norm(A, axis=0)
    A = A / np.where(lengths > 0, lengths, 1.0)
    if support.classes.size:
        Q = np.linalg.qr(A[:, small.places(support.classes)])[0]
        for _ in range(2):
            A = A - Q @ (Q.T @ A)
    left, z = np.einsum("ij,ij->j", A, A), A.T @ support.residual[rows]
    z = z if small.signed else np.maximum(z, 0.0)
    worth = np.where(small.may & (left > (64 * len(A)) * 2.0**-104), z * z / np.maximum(left, 1e-300), 0.0)
    worth[small.places(support.classes)] = 0.0
    j = int(worth.argmax())
    return int(small.classes[j]) if worth[j] > 0 else None


def exchanges(
    z: FloatArray, support: Support, eta: FloatArray, HK: FloatArray, left: FloatArray, least: FloatArray
) -> FloatArray:
    """What each single atom would gain in place of the best atom inside for that; minus infinity where those that stay
    leave no more than `least` of its squared length.

    Without atom i the alignments are z + (c_i / eta_i) (HK)_i, and left + (HK)_i^2 / eta_i of the squared lengths are
    left; eta is the diagonal of H.
    """
    c, view = support.c, support.view
    best = np.full(z.size, -np.inf)
    movable = np.flatnonzero(~np.isin(support.classes, view.forced))
    for some in np.array_split(movable, -(-movable.size * z.size // LOOKED) or 1):
        reach = z + (c[some] / eta[some])[:, None] * HK[some]
        reach = np.maximum(reach, 0.0) if view.nonnegative else reach
        new = left + HK[some] ** 2 / eta[some][:, None]
        gain = 0.5 * reach**2 / np.maximum(new, least) - (0.5 * c[some] ** 2 / eta[some])[:, None]
        np.maximum(best, np.where(new > least, gain, -np.inf).max(axis=0, initial=-np.inf), out=best)
    return best
