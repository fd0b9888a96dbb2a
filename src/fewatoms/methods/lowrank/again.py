"""Further ways down for small problems with scarce entries, whose descents end in many places.

Whoever reaches something with fewer atoms reaches it with k, and a bound that is met by atoms that were added one after
the other is met: what a ladder of penalties misses is looked for there. In front of a background, where an atom may
join groups of entries at the price of the zeros between them or keep to one of them, also from other starts.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from math import prod

import numpy as np

from fewatoms import ledger
from fewatoms.budget import Budget
from fewatoms.methods.lowrank.entries import Triple
from fewatoms.methods.lowrank.growing import Growing
from fewatoms.methods.lowrank.ladder import Ladder
from fewatoms.methods.lowrank.starts import joined, widened
from fewatoms.methods.lowrank.sweeps import Spot, Sweeps


@dataclass(frozen=True)
class Again:
    """What else is tried.

    work : entries times the shorter side of the matrix, at most: about what a sweep with all atoms costs
    cells : of a matrix in front of a background, at most: all of them are told, but where few weigh much more than the
        others which of them an atom joins is a choice among many
    falls : relative; fewer atoms that end lower by less are no news
    made : sweeps of the run, at most: what took longer is not done again
    nothing : share of f(b); without a bound, losses below that need not be lower
    spread : descents from anywhere in front of a background
    roughly : how well these are solved, to be compared
    """

    work: float = 3e4
    cells: int = 1000
    falls: float = 1e-6
    made: int = 2000
    nothing: float = 1e-12
    spread: int = 8
    roughly: float = 1e-4

    def worthwhile(self, run: Sweeps, reached: float, ladder: Ladder) -> bool:
        """Whether it costs little, and descents may end in several places, some of them lower."""
        small = run.F.rows.count * min(run.F.shape) <= self.work and run.made <= self.made
        alpha, reference = run.asked.problem.alpha, run.asked.problem.reference
        lower = reached > self.nothing * reference if alpha is None else alpha > 0
        return small and lower and (self._backed(run) or not ladder.abounds(run))

    def _backed(self, run: Sweeps) -> bool:
        return bool(run.F.background) and prod(run.F.shape) <= self.cells

    def stream(self, run: Sweeps, reached: float, ladder: Ladder, growing: Growing, tol: float) -> Iterator[Spot]:
        """All sweeps, from where a run has reached so much, until a bound is met or fewer atoms do no better."""
        meets = run.asked.problem.meets
        if run.asked.problem.alpha is not None:
            for spot in growing.within(run.asked, run.F):
                yield spot
                reached = min(reached, spot.objective)
                if meets(spot.loss):
                    return
        for spot in self._anywhere(run, tol):
            yield spot
            reached = min(reached, spot.objective)
        for k in range(run.asked.k - 1, 0, -1):
            fewer = Sweeps(replace(run.asked, problem=run.asked.problem.with_budget(Budget(k))), run.F)
            tried = chain(ladder.stream(fewer, tol, None, None), self._anywhere(fewer, tol))
            best = min(tried, key=lambda spot: spot.objective)
            yield best
            if best.objective >= reached * (1 - self.falls):
                return
            if meets(best.loss):
                return
            reached = yield from self._widened(run, best, best.objective, tol)

    def _anywhere(self, run: Sweeps, tol: float) -> Iterator[Spot]:
        """In front of a background: the end of the best of several descents."""
        if not self._backed(run):
            return
        ends: list[tuple[float, int, Triple]] = []
        for begin in self._begins(run):
            at = run.descend(begin, run.asked.lam, self.roughly)
            ends.append((run.objective, len(ends), at))
        at = run.descend(min(ends)[2], run.asked.lam, tol)
        yield run.spot(at)

    def _begins(self, run: Sweeps) -> Iterator[Triple]:
        """Vectors of groups of entries joined to atoms, and any."""
        F, k = run.F, run.asked.k
        yield joined(F, k)
        p, q = F.shape
        for _ in range(self.spread):
            Z = ledger.generator().standard_normal((p + q, k))
            U, V = (np.abs(Z[:p]), np.abs(Z[p:])) if F.nonnegative else (Z[:p], Z[p:])
            unit = np.sqrt(np.sqrt(F.size / F.rows.count / k))
            yield F.of(unit * U, unit * V)

    def _widened(self, run: Sweeps, spot: Spot, reached: float, tol: float) -> Generator[Spot, None, float]:
        """From a point of fewer atoms, with those that its residual asks for."""
        lam = run.asked.lam
        at = widened(run.F, spot.at, run.asked.k, lam)[0]
        for swept in run.descent(at, lam, tol):
            at = swept.at
            yield run.spot(at)
        yield run.spot(at)  # of a last sweep that lowered nothing the clock has told too
        return min(reached, run.objective)


__all__ = ["Again"]
