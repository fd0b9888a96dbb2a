"""Further ways down for small problems with scarce entries, whose descents end in many places.

Whoever reaches something with fewer atoms reaches it with k, and a bound that is met by atoms that were added one after
the other is met: what a ladder of penalties misses is looked for there.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

from fewatoms.budget import Budget
from fewatoms.methods.lowrank.growing import Growing
from fewatoms.methods.lowrank.ladder import Ladder
from fewatoms.methods.lowrank.starts import widened
from fewatoms.methods.lowrank.sweeps import Spot, Sweeps


@dataclass(frozen=True)
class Again:
    """What else is tried.

    work : entries times the shorter side of the matrix, at most: about what a sweep with all atoms costs
    falls : relative; a ladder with fewer atoms that ends lower by less is no news
    """

    work: float = 3e4
    falls: float = 1e-6

    def worthwhile(self, run: Sweeps, ladder: Ladder) -> bool:
        """Whether it costs little, and descents may end in several places."""
        small = run.F.rows.values.size * min(run.F.shape) <= self.work
        return small and run.asked.problem.alpha != 0 and not ladder.abounds(run)

    def stream(self, run: Sweeps, reached: float, ladder: Ladder, growing: Growing, tol: float) -> Iterator[Spot]:
        """All sweeps, from where a run has reached so much, until a bound is met or fewer atoms do no better."""
        if run.asked.problem.alpha is not None:
            for spot in growing.within(run.asked, run.F):
                yield spot
                if run.asked.problem.meets(spot.loss):
                    return
                reached = min(reached, spot.objective)
        for k in range(run.asked.k - 1, 0, -1):
            fewer = Sweeps(replace(run.asked, problem=run.asked.problem.with_budget(Budget(k))), run.F)
            best, lowest = None, math.inf
            for spot in ladder.stream(fewer, tol, None, None):
                best, lowest = (spot, spot.objective) if spot.objective < lowest else (best, lowest)
            if best is None or lowest >= reached * (1 - self.falls):
                return
            yield best
            if run.asked.problem.meets(best.loss):
                return
            reached = yield from self._widened(run, best, lowest, tol)

    def _widened(self, run: Sweeps, spot: Spot, reached: float, tol: float) -> Generator[Spot, None, float]:
        """From a point of fewer atoms, with those that its residual asks for."""
        lam = run.asked.lam
        at = widened(run.F, spot.at, run.asked.k, lam)[0]
        for here, value in run.F.descent(at, lam, run.shrink, tol):
            at = run.note(here, lam, value)
            yield run.spot(at)
        return min(reached, run.objective)


__all__ = ["Again"]
