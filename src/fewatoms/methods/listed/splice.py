"""Polish for listed atoms: exchange atoms of a support for others as long as the loss falls.

Blocks first: the s atoms whose removal costs least make room for the s best aligned with the residual, s halving after
each refusal. Then, where M is a matrix and the support small enough for it, the best of all single exchanges, until
none is left that lowers the loss. The best answer of a run is shaken as well: some of its atoms are replaced at random,
and what the exchanges make of that is kept if it is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.candidates import Candidate
from fewatoms.effort import NORMAL, Effort
from fewatoms.methods.listed.support import Support, SupportFits

NEW_LEAST = 1e-8  # squared length that the others leave of an image of length 1, less than which is rounding


@dataclass(frozen=True, eq=False)
class Splice:
    """Exchange by blocks, then one by one, accepting only a lower loss.

    gain : the share by which an exchange must lower the loss
    rounds : exchanges at most
    pairs : multiplications at most for a look at all single exchanges, k^2 n, while a run goes on; at its end
        `patient` times as many, and never more than `crossing` inner products of images
    shakes : of the best answer at most (five for each atom), and half as many in a row without success
    work : multiplications at most that they may cost, roughly
    shaken : the share of the atoms that a shake replaces, by some of `among` times as many well aligned ones
    isolated : an answer whose least atom is worth this many times the best one outside is not searched further
    seed : of what is replaced
    """

    gain: float = 1e-6
    rounds: int = 200
    pairs: float = 5e6
    patient: float = 100.0
    crossing: int = 4_000_000
    shakes: int = 40
    work: float = 1e9
    shaken: float = 0.1
    among: int = 4
    isolated: float = 12.0
    seed: int = 0

    def at(self, effort: Effort) -> Splice:
        """With as many shakes as an effort allows, and without looks at all single exchanges where it allows none."""
        if effort == NORMAL:
            return self
        return replace(self, shakes=effort.shakes, pairs=self.pairs if effort.shakes else 0.0)

    def fits(self, fits: SupportFits) -> bool:
        """Whether there is room for the images of twice the support, or of all atoms."""
        k, view = fits.problem.budget.single, fits.view
        return view.images.ample or min(2 * k, view.count) * view.largest <= view.images.room

    def __call__(self, fits: SupportFits, candidate: Candidate) -> Candidate:
        """Polished as far as is worth while in the middle of a run."""
        if fits.problem.alpha is None and not fits.squares:
            return candidate  # fits take Newton's method there: exchanges are for the best answer alone
        return self._polished(fits, candidate, self.pairs)

    def last(self, fits: SupportFits, candidates: Sequence[Candidate]) -> Candidate:
        """The polish of the best answers of a run, which are worth more work: the best one, or the best few where they
        have not been polished yet."""
        best: Candidate | None = None
        for candidate in candidates[:1] if fits.squares else candidates:
            polished = self._polished(fits, candidate, self.patient * self.pairs)
            if best is None or fits.problem.objective(polished) < fits.problem.objective(best):
                best = polished
                ledger.keep(best)
        assert best is not None
        if best.isolated or not isinstance(best.support, Support) or fits.problem.exact(best.support.objective):
            return best
        with linalg.single_thread():
            support = self._shaken(fits, best.support)
        return best if support is best.support else fits.candidate(support)

    def _polished(self, fits: SupportFits, candidate: Candidate, pairs: float) -> Candidate:
        if fits.problem.meets(candidate.loss) or fits.problem.exact(candidate.loss):
            return candidate
        with linalg.single_thread():
            best = _Exchange(fits, fits.support_of(candidate), self)
            best.run(pairs)
            isolated = best.worth_over_others(pairs) >= self.isolated
        return replace(fits.candidate(best.support), isolated=isolated)

    def _shaken(self, fits: SupportFits, best: Support) -> Support:
        """Replace a tenth of the atoms by others that are well aligned with what is then left over, and exchange."""
        k, forced = fits.problem.budget.single, fits.view.forced
        rng = np.random.default_rng(self.seed)
        tries = int(min(self.shakes, 5 * k, self.work / self._price(fits, best)))
        idle = 0
        for _ in range(tries):
            ledger.tick()
            movable = np.flatnonzero(~np.isin(best.classes, forced)) if forced.size else np.arange(best.classes.size)
            count = min(max(2, int(self.shaken * k)), movable.size)
            if not count:
                break
            gone = rng.choice(movable, count, replace=False)
            start = _Exchange(fits, fits.fit(np.delete(best.classes, gone)), self)
            if start.refill(best.classes[gone], self.among * count, rng):
                start.run(self.pairs)
            idle += 1
            if start.support.objective < best.objective * (1 - self.gain):
                best, idle = start.support, 0
                ledger.keep(fits.candidate(best))
            if 2 * idle >= tries or fits.problem.exact(best.objective):
                break
        return best

    def _price(self, fits: SupportFits, best: Support) -> float:
        """What one shake costs, roughly: some thirty small fits, and some ten looks at all atoms."""
        size, view, m = best.c.size, fits.view, fits.problem.m
        entries = np.inf if view.at_hand is None else view.at_hand.image_size * view.M.shape[1]
        steps = 1 if fits.squares else 20
        return 1.0 + 30 * steps * (size**3 / 3 + 2 * size * m * (1 if fits.squares else size)) + 10 * entries


class _Exchange:
    """One polish: the support at hand and what its residual says about the atoms outside."""

    def __init__(self, fits: SupportFits, support: Support, settings: Splice) -> None:
        self.problem, self.fits, self.view, self.images = fits.problem, fits, fits.view, fits.images
        self.k = fits.problem.budget.single
        self.support, self.settings, self.left = support, settings, settings.rounds
        self._looked: Support | None = None

    def run(self, pairs: float) -> None:
        """Exchange by blocks, then one by one where that is not too much work."""
        self.by_blocks()
        if self.can_pair(pairs) and self.by_pairs():
            self.by_blocks()

    def _done(self) -> bool:
        support = self.support
        return self.problem.meets(support.loss) or self.problem.exact(support.objective) or self.left <= 0

    def _look(self) -> None:
        """The alignments of all atoms with the residual: one product."""
        if self._looked is self.support:
            return
        ledger.tick()
        view, r = self.view, self.support.residual
        self.y = self.images.dual(r) if self.images.squares else self.problem.base_loss.gradient(r)
        self.z = view.pull(view.outer.adjoint(self.y))
        promise = self._promises(view.alignments(self.z))
        promise[self.support.classes] = -np.inf
        if view.scale is not None and view.blocks is None:
            promise[view.scale == 0] = -np.inf
        self.promise = promise
        self._looked = self.support

    def _promises(self, alignments: FloatArray) -> FloatArray:
        """Alignments, in units in which half their square is what an atom alone can gain.

        Images of length 1 promise just that. A capped coefficient gains at most cap |z| - curvature cap^2 / 2.
        """
        lengths, cap = self.view.lengths, self.view.cap
        if lengths is None or cap is None or self.view.blocks is not None:
            return alignments
        bend = np.maximum(lengths**2 * self._curvature(), 1e-300)
        with np.errstate(over="ignore"):
            best = np.minimum(np.maximum(alignments, 0.0) / bend, cap)
        barred = ~np.isfinite(alignments)
        promise = np.sqrt(np.maximum(2 * best * np.where(barred, 0.0, alignments) - bend * best**2, 0.0))
        promise[barred] = -np.inf
        return promise

    def _curvature(self) -> float:
        """Of the loss at the residual, on average."""
        if self.images.squares:
            return 1.0
        return float(self.problem.base_loss.curvature(self.support.residual).mean())

    def _take(self, classes: IntArray) -> bool:
        """Fit these classes; whether they are better, in which case they are kept."""
        self.left -= 1
        ledger.tick()
        classes = np.concatenate([classes, self._idle(classes)])
        if not self.images.fits(classes):
            return False
        trial = self.fits.fit(classes, self.support)
        if not trial.objective < self.support.objective * (1 - self.settings.gain):
            return False
        self.support = trial
        return True

    def refill(self, gone: IntArray, among: int, rng: np.random.Generator) -> bool:
        """Fill up with atoms drawn from the best aligned ones, but not those that are just gone."""
        self._look()
        self.promise[gone] = -np.inf
        offers = linalg.top_k(self.promise, among)
        offers = offers[self.promise[offers] > 0]
        room = min(self._room(), offers.size)
        self._looked = None
        if room <= 0:
            return False
        union = np.concatenate([self.support.classes, rng.choice(offers, room, replace=False)])
        if not self.images.fits(union):
            return False
        self.support = self.fits.fit(union)
        return True

    def _idle(self, classes: IntArray) -> IntArray:
        """Forced atoms that a support does without, because their best coefficient is 0: they keep their place."""
        forced = self.view.forced
        return forced[~np.isin(forced, classes)] if forced.size else forced

    def _room(self) -> int:
        """How many more atoms are allowed."""
        return self.k - self.support.classes.size - self._idle(self.support.classes).size

    def _costs(self) -> FloatArray:
        """What each atom is worth; forced ones are beyond price."""
        costs = self.support.costs
        if not self.view.forced.size:
            return costs
        return np.where(np.isin(self.support.classes, self.view.forced), np.inf, costs)

    def by_blocks(self) -> None:
        """The s cheapest against the s best aligned, s halving."""
        size = max(1, self.k // 2)
        while not self._done():
            if self.support.classes.size and self.support.factor is None:
                return
            self._look()
            held = self.support.classes
            room = self._room()
            offers = linalg.top_k(self.promise, size + room)
            offers = offers[self.promise[offers] > 0]
            if not offers.size:
                return
            costs = self._costs() if held.size else np.zeros(0)
            order = np.argsort(costs, kind="stable")
            order = order[np.isfinite(costs[order])]
            drop = min(size, order.size, max(0, offers.size - room))
            keep = np.delete(held, order[:drop])
            if self._take(np.concatenate([keep, offers[: drop + room]])):
                continue
            if room and self._take(np.concatenate([held, offers[:room]])):
                continue
            if size == 1:
                return
            size = max(1, min(size, held.size) // 2)

    def worth_over_others(self, pairs: float) -> float:
        """What the least atom inside is worth, compared with what the best one outside could add; 0 if not known.

        With K the inner products of images inside with one outside and H the inverse of their Gram matrix, 1 - K'HK of
        the outer image is new, and z^2 / 2 over that is what it adds. Where not all K are at hand, those of images that
        the ladder or this budget has asked for are used, and of others as much is taken to be new as of a random
        direction.
        """
        support, view = self.support, self.view
        # nonnegative atoms may have nothing to add and be better all the same, once another one is gone
        known = self.images.squares and view.single and not view.nonnegative
        if not known or support.classes.size < self.k or support.factor is None or self._done():
            return 0.0
        self._look()
        unit = 1.0 + self.fits.ridge
        if self.can_pair(pairs):
            K = self.view.crossings.rows(support.classes)
            new = unit - np.einsum("ij,ij->j", K, support.inverse @ K)
        else:
            new = np.full(view.count, max(unit - support.classes.size / self.problem.m, 1e-3))
            others = np.flatnonzero((view.walked | self.fits.asked) & np.isfinite(self.promise))
            others = others[linalg.top_k(self.promise[others], self.images.room - support.classes.size)]
            slots = self.images.slots(np.concatenate([support.classes, others]))
            K = self.images.gram[slots[: support.classes.size, None], slots[support.classes.size :]]
            new[others] = unit - np.einsum("ij,ij->j", K, support.inverse @ K)
        added = 0.5 * np.maximum(self.promise, 0.0) ** 2 / np.maximum(new, NEW_LEAST)
        best, least = float(added.max(initial=0.0)), float(self._costs().min(initial=np.inf))
        return least / best if best > 0 else np.inf

    # Single exchanges -------------------------------------------------------------------------------------------------

    def can_pair(self, work: float) -> bool:
        """Whether all single exchanges can be looked at: least squares over columns of known length, enough memory."""
        k, n, m = self.support.classes.size, self.view.count, self.problem.m
        return (
            self.images.squares
            and self.view.single
            and self.view.cap is None
            and 0 < k * n <= self.settings.crossing
            and max(k * k * n, 0.05 * k * m * n) <= work
        )

    def by_pairs(self) -> bool:
        """The best exchange of one atom for another, again and again; whether there was any."""
        moved = False
        crossing: FloatArray | None = None  # inner products of the images inside with all images
        while not self._done() and self.support.factor is not None:
            self._look()
            support = self.support
            if crossing is None:
                crossing = self.view.crossings.rows(support.classes)
            i, j, gained = self._best_pair(support, crossing)
            if gained <= self.settings.gain * support.objective:
                break
            classes = support.classes.copy()
            classes[i] = j
            if not self._take(classes):
                break
            moved = True
            if np.array_equal(self.support.classes, classes):
                crossing[i] = self.view.crossings.rows(classes[i : i + 1])[0]
            else:
                crossing = None
        return moved

    def _best_pair(self, support: Support, crossing: FloatArray) -> tuple[int, int, float]:
        """The exchange of atom i inside for j outside that lowers the loss most, to second order exactly.

        With H the inverse Gram matrix, c the coefficients, z the alignments and K the crossing products: without i the
        residual's alignments are z + (c_i / H_ii) (HK)_i, and what the others leave of image j has the squared length
        1 - K_j'HK_j + (HK)_ij^2 / H_ii, and the ridge.
        """
        H, c = support.inverse, support.c
        diagonal = np.diag(H)
        HK = H @ crossing
        left = HK * HK
        left /= diagonal[:, None]
        left += np.maximum(1.0 + self.fits.ridge - np.einsum("ij,ij->j", crossing, HK), 0.0)
        reach = HK  # from here on; these are the largest arrays of a run
        reach *= (c / diagonal)[:, None]
        reach += self.z
        away = reach <= 0 if self.view.nonnegative else None
        reach *= reach
        spanned = left <= NEW_LEAST  # by the atoms that stay
        np.maximum(left, NEW_LEAST, out=left)
        worth = reach
        worth /= left
        if spanned.any():
            worth[spanned] = 0.0
        if away is not None:
            worth[away] = 0.0
        worth -= (c * c / diagonal)[:, None]
        worth[:, np.flatnonzero(~np.isfinite(self.promise))] = -np.inf
        if self.view.forced.size:
            worth[np.isin(support.classes, self.view.forced)] = -np.inf
        i, j = divmod(int(worth.argmax()), worth.shape[1])
        return i, j, 0.5 * float(worth[i, j])
