"""As few atoms as reach a bound, where k is not given: grow a support until it does, then do with ever fewer atoms."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fewatoms import linalg
from fewatoms._types import IntArray
from fewatoms.problem import Problem
from fewatoms.retrieval.splice import Splice
from fewatoms.retrieval.support import Support, SupportFits
from fewatoms.solution import Candidate, DualPoint


@dataclass(frozen=True, eq=False)
class Fewest:
    """For sets whose atoms can be listed and problems with a bound and without k.

    At x = 0 the best aligned atoms are added, one and then a few at a time, until the bound is met; at later dual
    points the support of the oracle's own point is the start. Either is then shrunk: atoms that cost least are dropped
    and the rest exchanged, by halving steps, as long as the bound is met.

    share : atoms added at a time at most, as a share of those at hand
    """

    splice: Splice = field(default_factory=Splice)
    share: float = 0.1

    def retrieve(self, problem: Problem, dual: DualPoint) -> Candidate:
        fits = SupportFits(problem)
        with linalg.single_thread():
            support = self._grown(problem, fits) if dual.gauge == 0.0 else self._given(problem, fits, dual)
            if problem.meets(support.loss):
                support = self._shrunk(problem, fits, support)
        return fits.candidate(support)

    def _grown(self, problem: Problem, fits: SupportFits) -> Support:
        listed = fits.listed
        support = fits.fit(problem.forced)
        limit = min(problem.m, listed.count - problem.barred.size, fits.images.room)
        overlap, size = False, 1
        while not problem.meets(support.loss) and not problem.exact(support.loss) and support.classes.size < limit:
            images = fits.images
            y = images.dual(support.residual) if images.squares else problem.base_loss.gradient(support.residual)
            promise = np.array(listed.atoms.alignments(listed.pull(problem.M.adjoint(y))))
            promise[support.classes] = promise[problem.barred] = -np.inf
            offers = linalg.top_k(promise, min(size, limit - support.classes.size))
            offers = offers[promise[offers] > 0]
            union = np.concatenate([support.classes, offers])
            if not offers.size or not images.fits(union):
                break
            expected = 0.5 * float(np.sum(promise[offers] ** 2))
            trial = fits.fit(union, support)
            if not trial.loss < support.loss:
                break
            # Atoms that overlap explain less together than one by one: from then on, one at a time.
            overlap = overlap or (listed.scale is not None and support.loss - trial.loss < 0.7 * expected)
            support = trial
            size = 1 if overlap else max(1, int(self.share * support.classes.size))
        return support

    def _given(self, problem: Problem, fits: SupportFits, dual: DualPoint) -> Support:
        classes = problem.forced
        if dual.primal is not None:
            face, _ = dual.primal.face.prune(dual.primal.c, max(1, problem.m // 2), dual.primal.norms)
            inside = fits.listed.classes_of(face)
            classes = np.concatenate([classes, inside[~np.isin(inside, classes)]])
        return fits.fit(classes if fits.images.fits(classes) else classes[: fits.images.room // 2])

    def _shrunk(self, problem: Problem, fits: SupportFits, support: Support) -> Support:
        """Ever fewer atoms: a step of s is tried by dropping the s cheapest and exchanging; s halves on refusal."""
        size = max(1, support.classes.size // 4)
        least = max(1, problem.forced.size)
        while support.classes.size > least:
            size = min(size, support.classes.size - least)
            trial = self._with(problem, fits, support, support.classes.size - size)
            if trial is not None:
                support = trial
            elif size == 1:
                break
            else:
                size //= 2
        return support

    def _with(self, problem: Problem, fits: SupportFits, support: Support, k: int) -> Support | None:
        if support.factor is None:
            return None
        costs = support.costs.copy()
        costs[np.isin(support.classes, problem.forced)] = np.inf
        keep: IntArray = support.classes[np.sort(np.argsort(-costs, kind="stable")[:k])]
        trial = fits.fit(keep, support)
        if not problem.meets(trial.loss):
            polished = self.splice(problem.with_budget(k), fits.candidate(trial))
            trial = polished.support
        return trial if problem.meets(trial.loss) and trial.classes.size <= k else None
