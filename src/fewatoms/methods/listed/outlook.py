"""Which atoms a search over a smooth loss keeps near: those that would lower the objective most, to second order."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.methods.listed.images import IMAGE_ROOM
from fewatoms.methods.listed.outside import exchanges
from fewatoms.methods.listed.small import Small, small
from fewatoms.methods.listed.support import Support, SupportFits

WHOLE_MODEL = 2e6  # multiplications that a model of all atoms may cost; it is made anew for every support
NEAREST = 64  # columns that a working set begins with at least; up to so many atoms are all taken
MORE = 16  # columns taken in after a look at all atoms, at least
NEAR_EACH = 2  # and for each atom asked for
KEPT = 160  # columns of a working set beyond which it is made anew, and four for each atom asked for
LOOKED_AT = 4_000_000  # inner products of a support with all atoms, for a look at all exchanges
CROSSING_WORK = 3e8  # multiplications that these may cost
LEFT = 1e-8  # share of an atom's squared length that the others must leave of it


class Outlook:
    """The working set of a search, apart from what is in the supports.

    most : atoms asked for at most
    whole : whether it holds all atoms
    near : the classes that it holds
    """

    def __init__(self, fits: SupportFits, most: int) -> None:
        self.fits, self.view = fits, fits.view
        view = self.view
        columns = int(view.sizes(np.arange(view.count)).sum())
        few = view.count * view.largest <= NEAREST or fits.problem.m * float(columns) ** 2 <= WHOLE_MODEL
        self.whole = few and columns <= view.images.room
        room = view.count if columns <= view.images.room else view.images.room // view.largest - most
        self._limit = min(max(KEPT // view.largest, NEAREST // 4) + 2 * NEAR_EACH * most, room)
        self.near = np.arange(view.count) if self.whole else np.empty(0, dtype=np.intp)

    def around(self, support: Support) -> IntArray:
        """The classes of a model near a support."""
        return self.near if self.whole else np.union1d(self.near, support.classes)

    def widened(self, support: Support, k: int, *, first: bool = False, floor: float = 0.0) -> bool:
        """Look at all atoms, and take in those that would lower the objective most, by more than a floor; whether any
        are new."""
        if self.whole:
            return False
        view, least = self.view, (NEAREST if first else MORE) // self.view.largest
        gained = self.gains(support, k)
        top = linalg.top_k(gained, min(max(least, NEAR_EACH * k), self._limit))
        return self._take(np.union1d(top[gained[top] > floor], view.forced))

    def _take(self, top: IntArray) -> bool:
        """Take these in, in place of all others where there is no room; whether any are new."""
        fresh = np.setdiff1d(top, self.near)
        self.near = top if self.near.size + fresh.size > self._limit else np.union1d(self.near, fresh)
        return bool(fresh.size)

    def beside(self, support: Support, most: int) -> None:
        """Take in those that are best aligned with what a support leaves, so many."""
        if self.whole:
            return
        view, loss = self.view, self.fits.problem.base_loss
        aligned = view.alignments(view.pull(view.outer.adjoint(loss.gradient(support.residual))))
        aligned[support.classes] = -np.inf
        top = linalg.top_k(aligned, most)
        self._take(np.union1d(top[aligned[top] > 0], view.forced))

    def gains(self, support: Support, k: int) -> FloatArray:
        """What each class outside would lower the objective by, to second order: where there is room beside those
        inside, else in place of the best one for that; alone, where that is too much to compute. Minus infinity for
        classes that are inside or must stay out."""
        view, loss = self.view, self.fits.problem.base_loss
        ledger.tick()
        z = view.pull(view.outer.adjoint(loss.gradient(support.residual)))
        may = np.isfinite(view.alignments(z))
        may[support.classes] = False
        weights = np.maximum(loss.bowl(support.residual).diagonal, 0.0)
        if view.blocks is None:
            found = _Crossed(self.fits, support, weights, z).best(k)
        else:
            found = 0.5 * self._lengths(z) ** 2 / max(float(weights.mean()), 1e-300)
        return np.where(may, found, -np.inf)

    def _lengths(self, z: FloatArray) -> FloatArray:
        """Those of what is aligned with each block: in an orthonormal basis of it, where that is not too much."""
        if self._bases is not None:
            return np.maximum(self._bases.promise(z), 0.0)
        everything = np.arange(self.view.count)
        return np.sqrt(self.view.totals(everything, z[self.view.coordinates(everything)] ** 2))

    @cached_property
    def _bases(self) -> Small | None:
        M = self.view.M
        orthogonal = M.by_columns  # blocks of several data vectors are
        return None if orthogonal or M.shape[0] * M.shape[1] > IMAGE_ROOM else small(self.view, self.fits.ridge)


class _Crossed:
    """Single atoms beside a support, in the inner products of the loss's curvature, past free columns."""

    def __init__(self, fits: SupportFits, support: Support, weights: FloatArray, z: FloatArray) -> None:
        self.fits, self.view, self.support = fits, fits.view, support
        self.root = np.sqrt(weights)
        F = self.view.free
        self.basis = None if F is None else linalg.orthonormal(self.root[:, None] * F)
        self.z = z if not self.view.nonnegative else np.maximum(z, 0.0)
        self.raw, self.lengths = z, self._lengths(weights) + fits.ridge

    def _lengths(self, weights: FloatArray) -> FloatArray:
        """Squared lengths of all atoms: read where columns are thin, elsewhere taken to be those of even weights."""
        view, at_hand = self.view, self.view.at_hand
        thin = at_hand is not None and at_hand.image_size < 0.5 * view.M.shape[0]
        read = at_hand.column_lengths(weights) if at_hand is not None and thin else None
        if read is None or view.scale is None:
            return np.full(view.count, max(float(weights.mean()), 1e-300))
        squares = (read * view.scale) ** 2
        if self.basis is not None:
            squares -= np.sum(self._products(self.basis) ** 2, axis=0)
        return np.maximum(squares, 1e-12 * max(float(weights.mean()), 1e-300))

    def _products(self, Y: Array) -> FloatArray:
        """Inner products of all atoms with the columns of Y, a row for each of these."""
        return self.view.pull_block(self.view.outer.adjoint_block(self.root[:, None] * Y))

    def best(self, k: int) -> FloatArray:
        """Half of what each atom gains, alone or in place of the best atom for that."""
        size, n = self.support.classes.size, self.view.count
        work = np.inf if self.view.at_hand is None else size * n * self.view.at_hand.image_size
        if not size or size * n > LOOKED_AT or work > CROSSING_WORK:
            return 0.5 * self.z**2 / self.lengths
        images, classes = self.fits.images, self.support.classes
        A = self.root[:, None] * linalg.dense(images.columns(images.slots(classes)))
        K = self._products(A if self.basis is None else A - self.basis @ (self.basis.T @ A))
        return self._exchanged(K, k)

    def _exchanged(self, K: FloatArray, k: int) -> FloatArray:
        """K : inner products of the atoms inside with all; H is the inverse of those inside, ridge included."""
        classes = self.support.classes
        inside = K[:, classes] + self.fits.ridge * np.eye(classes.size)
        inside[np.diag_indices_from(inside)] += 1e-12 * float(np.trace(inside)) / classes.size + 1e-300
        H = np.linalg.inv(inside)
        HK, least = H @ K, LEFT * self.lengths
        left = np.maximum(self.lengths - np.einsum("ij,ij->j", K, HK), 0.0)
        best = exchanges(self.raw, self.support, np.maximum(H.diagonal(), 1e-300), HK, left, least)
        return best if classes.size >= k else np.maximum(best, 0.5 * self.z**2 / np.maximum(left, least))
