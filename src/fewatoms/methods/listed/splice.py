"""Polish for listed atoms: exchange atoms of a support for others as long as the loss falls.

Blocks first: the s atoms whose removal costs least make room for the s best aligned with the residual, s halving after
each refusal. Then, where M is a matrix and the support small enough for it, the best of all single exchanges, until
none is left that lowers the loss. The best answer of a run is shaken as well: some of its atoms are replaced at random,
and what the exchanges make of that is kept if it is better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewatoms import linalg
from fewatoms._types import FloatArray, IntArray
from fewatoms.losses import LeastSquares
from fewatoms.problem import Problem
from fewatoms.retrieval.support import Support, SupportFits
from fewatoms.solution import Candidate

ISOLATED = 12.0  # an answer whose least atom is worth this many times the best one outside is not searched further


@dataclass(frozen=True, eq=False)
class Splice:
    """Exchange by blocks, then one by one, accepting only a lower loss.

    gain : the share by which an exchange must lower the loss
    rounds : exchanges at most
    pairs : multiplications at most for a look at all single exchanges, k^2 n, while a run goes on; at its end
        a hundred times as many
    shakes : of the best answer at most (five for each atom), and half as many in a row without success
    work : multiplications at most that they may cost, roughly
    seed : of what is replaced
    """

    gain: float = 1e-6
    rounds: int = 200
    pairs: float = 5e6
    shakes: int = 40
    work: float = 1e9
    seed: int = 0

    def applies(self, problem: Problem) -> bool:
        """Whether atoms can be listed and there is room for the images of twice the support."""
        if problem.listed is None or not isinstance(problem.k, int):
            return False
        largest = 1 if problem.listed.blocks is None else max(b.size for b in problem.listed.blocks)
        return min(2 * problem.k, problem.listed.count) * largest <= problem.listed.images.room

    def __call__(self, problem: Problem, candidate: Candidate) -> Candidate:
        if problem.alpha is None and not isinstance(problem.loss, LeastSquares):
            return candidate  # fits take Newton's method there: exchanges are for the best answer alone
        return self._run(problem, candidate, self.pairs)

    def last(self, problem: Problem, candidates: list[Candidate]) -> Candidate:
        """The polish of the best answers of a run, which are worth more work: the best one, or the best few where they
        have not been polished yet."""
        several = candidates if not isinstance(problem.loss, LeastSquares) else candidates[:1]
        polished = [self._run(problem, candidate, 100 * self.pairs) for candidate in several]
        best = min(polished, key=lambda candidate: candidate.loss)
        if best.margin >= ISOLATED or best.support is None or problem.exact(best.loss):
            return best
        fits = SupportFits(problem)
        with linalg.single_thread():
            support = self._shaken(problem, fits, best.support)
        return best if support is best.support else fits.candidate(support)

    def _shaken(self, problem: Problem, fits: SupportFits, best: Support) -> Support:
        """Replace a tenth of the atoms by others that are well aligned with what is then left over, and exchange."""
        rng = np.random.default_rng(self.seed)
        tries = int(min(self.shakes, 5 * problem.k, self.work / self._price(problem, fits, best)))
        idle = 0
        for _ in range(tries):
            movable = np.flatnonzero(~np.isin(best.classes, problem.forced))
            count = min(max(2, problem.k // 10), movable.size)
            if not count:
                break
            gone = rng.choice(movable, count, replace=False)
            start = _Exchange(problem, fits, fits.fit(np.delete(best.classes, gone)), self.gain, self.rounds)
            if start.refill(best.classes[gone], 4 * count, rng):
                start.by_blocks()
                if start.can_pair(self.pairs) and start.by_pairs():
                    start.by_blocks()
            idle += 1
            if start.support.loss < best.loss * (1 - self.gain):
                best, idle = start.support, 0
            if 2 * idle >= tries or problem.exact(best.loss):
                break
        return best

    def _price(self, problem: Problem, fits: SupportFits, best: Support) -> float:
        """What one shake costs, roughly: some thirty small fits, and some ten looks at all atoms."""
        size, M = best.slots.size, problem.M
        entries = M.image_size * M.shape[1] if M.explicit else np.inf
        steps = 1 if fits.squares else 20
        return 1.0 + 30 * steps * (size**3 / 3 + 2 * size * problem.m * (1 if fits.squares else size)) + 10 * entries

    def _run(self, problem: Problem, candidate: Candidate, pairs: float) -> Candidate:
        if problem.meets(candidate.loss):
            return candidate
        fits = SupportFits(problem)
        assert problem.listed is not None
        start = candidate.support
        if start is None:
            classes = problem.listed.classes_of(candidate.face)
            start = fits.fit(np.concatenate([problem.forced, classes[~np.isin(classes, problem.forced)]]))
        with linalg.single_thread():
            best = _Exchange(problem, fits, start, self.gain, self.rounds)
            best.by_blocks()
            if best.can_pair(pairs) and best.by_pairs():
                best.by_blocks()
            margin = best.margin(pairs)
        return replace(fits.candidate(best.support), margin=margin)


class _Exchange:
    """One polish: the support at hand and what its residual says about the atoms outside."""

    def __init__(self, problem: Problem, fits: SupportFits, support: Support, gain: float, rounds: int) -> None:
        assert isinstance(problem.k, int)
        assert problem.listed is not None
        self.problem, self.fits, self.listed, self.k = problem, fits, problem.listed, problem.k
        self.support, self.gain, self.left = support, gain, rounds
        self._looked: Support | None = None

    def _done(self) -> bool:
        loss = self.support.loss
        return self.problem.meets(loss) or self.problem.exact(loss) or self.left <= 0

    def _look(self) -> None:
        """The alignments of all atoms with the residual: one product."""
        if self._looked is self.support:
            return
        images, loss = self.fits.images, self.problem.base_loss
        r = self.support.residual
        self.y = images.dual(r) if images.squares else loss.gradient(r)
        self.z = self.listed.pull(self.problem.M.adjoint(self.y))
        promise = self._promises(np.array(self.listed.atoms.alignments(self.z)))
        promise[self.support.classes] = -np.inf
        promise[self.problem.barred] = -np.inf
        if self.listed.scale is not None and self.listed.blocks is None:
            promise[self.listed.scale == 0] = -np.inf
        self.promise = promise
        self._looked = self.support

    def _take(self, classes: IntArray) -> bool:
        """Fit these classes; whether they are better, in which case they are kept."""
        self.left -= 1
        classes = np.concatenate([classes, self._idle(classes)])
        if not self.fits.images.fits(classes):
            return False
        trial = self.fits.fit(classes, self.support)
        if not trial.loss < self.support.loss * (1 - self.gain):
            return False
        self.support = trial
        return True

    def _promises(self, alignments: FloatArray) -> FloatArray:
        """Alignments, in units in which half their square is what an atom alone can gain.

        Images of length 1 promise just that. A capped coefficient gains at most cap |z| - curvature cap^2 / 2.
        """
        lengths, cap = self.listed.lengths, self.problem.cap
        if lengths is None or cap is None or self.listed.blocks is not None:
            return alignments
        bend = np.maximum(lengths**2 * self._curvature(), 1e-300)
        best = np.minimum(np.maximum(alignments, 0.0) / bend, cap)
        return np.sqrt(np.maximum(2 * best * alignments - bend * best**2, 0.0))

    def _curvature(self) -> float:
        """Of the loss at the residual, on average."""
        if self.fits.images.squares:
            return 1.0
        return float(self.problem.base_loss.curvature(self.support.residual).mean())

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
        if not self.fits.images.fits(union):
            return False
        self.support = self.fits.fit(union)
        return True

    def _idle(self, classes: IntArray) -> IntArray:
        """Forced atoms that a support does without, because their best coefficient is 0: they keep their place."""
        forced = self.problem.forced
        return forced[~np.isin(forced, classes)] if forced.size else forced

    def _room(self) -> int:
        """How many more atoms are allowed."""
        return self.k - self.support.classes.size - self._idle(self.support.classes).size

    def _costs(self) -> FloatArray:
        """What each atom is worth; forced ones are beyond price."""
        costs = self.support.costs
        if not self.problem.forced.size:
            return costs
        return np.where(np.isin(self.support.classes, self.problem.forced), np.inf, costs)

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

    def margin(self, pairs: float) -> float:
        """What the least atom inside is worth, compared with what the best one outside could add; 0 if not known.

        With K the inner products of images inside with one outside and H the inverse of their Gram matrix, 1 - K'HK of
        the outer image is new, and z^2 / 2 over that is what it adds. Where not all K are at hand, those kept are used,
        and of other images as much is taken to be new as of a random direction.
        """
        support = self.support
        known = self.fits.images.squares and self.listed.scale is not None and self.listed.blocks is None
        # nonnegative atoms may have nothing to add and be better all the same, once another one is gone
        if (
            not known
            or self.listed.nonnegative
            or support.classes.size < self.k
            or support.factor is None
            or self._done()
        ):
            return 0.0
        self._look()
        new = np.full(self.listed.count, max(1.0 - support.slots.size / self.problem.m, 1e-3))
        if self.can_pair(pairs):
            K = self._crossing(self.fits.images.columns(support.slots))
            new = 1.0 - np.einsum("ij,ij->j", K, support.inverse @ K)
        else:
            images = self.fits.images
            K = images.gram[support.slots, : images.size]
            new[images.classes] = 1.0 - np.einsum("ij,ij->j", K, support.inverse @ K)
        added = 0.5 * np.maximum(self.promise, 0.0) ** 2 / np.maximum(new, 1e-8)
        best, least = float(added.max(initial=0.0)), float(self._costs().min(initial=np.inf))
        return least / best if best > 0 else np.inf

    # Single exchanges -------------------------------------------------------------------------------------------------

    def can_pair(self, work: float) -> bool:
        """Whether all single exchanges can be looked at: least squares over columns of known length, enough memory."""
        k, n, m = self.support.classes.size, self.listed.count, self.problem.m
        return (
            self.fits.images.squares
            and self.listed.blocks is None
            and self.listed.scale is not None
            and self.problem.cap is None
            and k > 0
            and k * n <= 4_000_000
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
                crossing = self._crossing(self.fits.images.columns(support.slots))
            i, j, gained = self._best_pair(support, crossing)
            if gained <= self.gain * support.loss:
                break
            classes = support.classes.copy()
            classes[i] = j
            if not self._take(classes):
                break
            moved = True
            if np.array_equal(self.support.classes, classes):
                crossing[i] = self._crossing(self.fits.images.columns(self.support.slots[i : i + 1]))[0]
            else:
                crossing = None
        return moved

    def _crossing(self, columns: Any) -> FloatArray:
        """The inner products of these images, dense or sparse, with all images."""
        columns = columns.toarray() if hasattr(columns, "toarray") else columns
        images = self.fits.images
        Y = columns if images.root is None else columns * images.root[:, None]
        Z = self.problem.M.adjoint_block(Y)
        return np.stack([self.listed.pull(z) for z in Z.T])

    def _best_pair(self, support: Support, crossing: FloatArray) -> tuple[int, int, float]:
        """The exchange of atom i inside for j outside that lowers the loss most, to second order exactly.

        With H the inverse Gram matrix, c the coefficients, z the alignments and K the crossing products: without i the
        residual's alignments are z + (c_i / H_ii) (HK)_i, and what the others leave of image j has the squared length
        1 - K_j'HK_j + (HK)_ij^2 / H_ii.
        """
        H, c = support.inverse, support.c
        diagonal = np.diag(H)
        HK = H @ crossing
        left = HK * HK
        left /= diagonal[:, None]
        left += np.maximum(1.0 - np.einsum("ij,ij->j", crossing, HK), 0.0)
        reach = HK  # from here on; these are the largest arrays of a run
        reach *= (c / diagonal)[:, None]
        reach += self.z
        away = reach <= 0 if self.listed.nonnegative else None
        reach *= reach
        spanned = left <= 1e-8  # by the atoms that stay
        np.maximum(left, 1e-8, out=left)
        worth = reach
        worth /= left
        if spanned.any():
            worth[spanned] = 0.0
        if away is not None:
            worth[away] = 0.0
        worth -= (c * c / diagonal)[:, None]
        worth[:, np.flatnonzero(~np.isfinite(self.promise))] = -np.inf
        if self.problem.forced.size:
            worth[np.isin(support.classes, self.problem.forced)] = -np.inf
        i, j = divmod(int(worth.argmax()), worth.shape[1])
        return i, j, 0.5 * float(worth[i, j])
