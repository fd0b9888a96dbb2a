"""Few atoms that reach a bound: grow a support until it does, then do with ever fewer atoms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import FloatArray, IntArray, ModelDual
from fewatoms.candidates import Candidate, DualPoint
from fewatoms.methods.listed.splice import Splice
from fewatoms.methods.listed.support import Support, SupportFits


@dataclass(frozen=True, eq=False)
class Fewest:
    """Grow: the best aligned atoms are added, one and then a few at a time, until the bound is met. Shrink: atoms that
    cost least are dropped and the rest exchanged, by halving steps, as long as the bound is met.

    share : atoms added at a time at most, as a share of those at hand
    batch, crowded : where images are dear: up to so many at a time, and once atoms overlap this share of those at hand
        (deconvolution: 20 % fewer products than with a tenth)
    together : the share of what they promise one by one that atoms added at a time must explain, or they overlap
    beyond, at_least : where there is a budget as well, supports grow to so many times as many atoms, and to so many at
        least, before they are shrunk to it (deconvolution takes 5 times: its first atoms sit beside the true ones)
    """

    share: float = 0.1
    batch: int = 6
    crowded: float = 0.05
    together: float = 0.7
    beyond: float = 8.0
    at_least: int = 64

    def begun(self, fits: SupportFits, dual: DualPoint, *, first: bool) -> Support:
        """Atoms that meet the bound, if some are found: grown from nothing at the first dual vector, at others from the
        oracle's own point; where it has none, the atoms that are best aligned with its vector."""
        if first:
            return self.grown(fits, fits.problem.m, dual.z)
        return self._aligned(fits, dual.z) if dual.primal is None else self._given(fits, dual.primal)

    def limit(self, k: int) -> int:
        """How far supports grow where k atoms are allowed in the end."""
        return max(math.ceil(self.beyond * k), self.at_least)

    def grown(self, fits: SupportFits, most: int, z: ModelDual, *, even: bool = False) -> Support:
        """A support that meets the bound, or has so many atoms, or cannot be made better by one more.

        z is M*y at x = 0: the first look at all atoms costs nothing. With `even` it ends where images differ in length.
        """
        problem, view, images = fits.problem, fits.view, fits.images
        support = fits.fit(view.forced)
        limit = min(most, problem.m, view.count - view.barred.size, images.room)
        overlap, size = False, 1
        while not problem.meets(support.loss) and not problem.exact(support.loss) and support.classes.size < limit:
            ledger.tick()
            if support.classes.size:
                y = images.dual(support.residual) if images.squares else problem.base_loss.gradient(support.residual)
                z = view.outer.adjoint(y)
            promise = view.alignments(view.pull(z))
            promise[support.classes] = -np.inf
            offers = linalg.top_k(promise, min(size, limit - support.classes.size))
            offers = offers[promise[offers] > 0]
            union = np.concatenate([support.classes, offers])
            if not offers.size or not images.fits(union):
                break
            trial = fits.fit(union, support)
            if not trial.objective < support.objective or (even and not images.even):
                break
            # atoms that overlap explain less together than one by one
            expected = _expected(fits, offers, promise[offers])
            overlap = overlap or support.loss - trial.loss < self.together * expected
            support = trial
            size = self._next(support.classes.size, size, overlap, dear=view.at_hand is None)
        return support

    def _next(self, held: int, size: int, overlap: bool, *, dear: bool) -> int:
        """How many atoms are added next."""
        if dear:
            return max(1, int(self.crowded * held)) if overlap else min(size + 1, self.batch)
        return 1 if overlap else max(1, int(self.share * held))

    def _aligned(self, fits: SupportFits, z: ModelDual) -> Support:
        """1, 2, 4, ... of the best aligned atoms, until the bound is met or there are half as many as data."""
        view, problem, images = fits.view, fits.problem, fits.images
        promise = view.alignments(view.pull(z))
        most = max(1, min(problem.m // 2, view.count, images.room // view.largest))
        order = linalg.top_k(promise, most)
        support, size = fits.fit(view.forced), 1
        while not problem.meets(support.loss) and support.classes.size < most:
            ledger.tick()
            chosen = view.chosen(order[: min(size, most)], max(size, view.forced.size))
            if not images.fits(chosen):
                break
            support = fits.fit(chosen, support)
            if size >= most:
                break
            size *= 2
        return support

    def _given(self, fits: SupportFits, primal: Candidate) -> Support:
        view = fits.view
        face, _ = primal.face.prune(primal.c, max(1, fits.problem.m // 2), primal.norms)
        classes = view.chosen(view.classes_of(face))
        return fits.fit(classes if fits.images.fits(classes) else classes[: fits.images.room // (2 * view.largest)])

    def shrunk(self, fits: SupportFits, splice: Splice, support: Support, enough: int = 1) -> Support:
        """Ever fewer atoms: a step of s is tried by dropping the s cheapest and exchanging; s halves on refusal."""
        size = max(1, support.classes.size // 4)
        least = max(enough, fits.view.forced.size)
        while support.classes.size > least:
            ledger.tick()
            size = min(size, support.classes.size - least)
            trial = self._with(fits, splice, support, support.classes.size - size)
            if trial is not None:
                support = trial
            elif size == 1:
                break
            else:
                size //= 2
        return support

    def _with(self, fits: SupportFits, splice: Splice, support: Support, k: int) -> Support | None:
        """A support of at most k atoms that meets the bound still, if one is found."""
        if support.factor is None:
            return None
        trial = fits.fit(cheapest_gone(fits, support, k), support)
        if not fits.problem.meets(trial.loss):
            fewer = fits.within(k)
            trial = fewer.support_of(splice(fewer, fewer.candidate(trial)))
        return trial if fits.problem.meets(trial.loss) and trial.classes.size <= k else None


def cheapest_gone(fits: SupportFits, support: Support, k: int) -> IntArray:
    """The k classes of a support that are worth most, what must be in it among them."""
    costs = support.costs
    if fits.view.forced.size:
        costs = np.where(np.isin(support.classes, fits.view.forced), np.inf, costs)
    return support.classes[np.sort(np.argsort(-costs, kind="stable")[:k])]


def _expected(fits: SupportFits, offers: IntArray, promise: FloatArray) -> float:
    """What atoms explain one by one, from their alignments; 0 where lengths are not known."""
    images = fits.images
    if fits.view.scale is not None:
        return 0.5 * float(np.sum(promise**2))
    if fits.view.blocks is not None or not images.squares:
        return 0.0
    slots = images.slots(offers)
    return 0.5 * float(np.sum(promise**2 / np.maximum(images.gram[slots, slots], 1e-300)))
