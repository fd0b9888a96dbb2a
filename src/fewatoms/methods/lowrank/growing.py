"""As low a rank as meets a bound: ranks grow until one does, each from the one before, then shrink from there."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from fewatoms.budget import Budget
from fewatoms.goals import FewestAtoms
from fewatoms.methods.lowrank.entries import Factored, Triple
from fewatoms.methods.lowrank.ladder import Ladder
from fewatoms.methods.lowrank.starts import awake, leading, widened
from fewatoms.methods.lowrank.sweeps import Asked, Spot, Sweeps

Tried = Generator[Spot, None, Triple]  # a spot for each sweep; the point where it ends


class FewestRanks(FewestAtoms):
    """As low a rank as meets the bound."""

    @property
    def endings(self) -> Mapping[str, str]:
        told = "the bound is met, by the smallest rank found to do so; that no smaller one does is not proved."
        return {**super().endings, "BOUND_MET": told}


@dataclass(frozen=True)
class Growing:
    """How ranks are tried.

    growth : from one rank to the next, upwards
    first : sweeps at a rank before it may be given up
    hasty, patient : a rank is given up when so many further falls of the loss like the last would not meet the bound:
        on the way up, where higher ranks come next anyway, and on the way down
    tol : sweeps end when one lowers the objective by less than this share
    cells : of a matrix that is so small that descents with entries in plenty may end in several places too
    solved : times the penalty: no further atom lowers the objective where no singular value of M*y is above
    """

    growth: float = 1.5
    first: int = 3
    hasty: float = 10.0
    patient: float = 100.0
    tol: float = 1e-6
    cells: int = 1000
    solved: float = 1 + 1e-3

    def stream(self, asked: Asked, F: Factored, begin: Triple | None, ladder: Ladder) -> Iterator[Spot]:
        """All sweeps: up to a rank that meets the bound, down to where two ways of beginning do not."""
        search = _Search(self, asked, F)
        found = yield from search.up(begin)
        if found is None and search.short is not None and not search.short.signed:
            found = yield from search.laddered(search.run(search.most), ladder)  # with signs that would be no news
        if found is not None:
            found = yield from search.down(found)
            yield from search.checked(found, ladder)

    def within(self, asked: Asked, F: Factored) -> Iterator[Spot]:
        """Those sweeps up and down again that keep a number of atoms."""
        for spot in self._up_and_down(_Search(self, asked, F)):
            if spot.at.rank <= asked.k:
                yield spot

    def _up_and_down(self, search: _Search) -> Iterator[Spot]:
        found = yield from search.up(None)
        if found is not None:
            yield from search.down(found)


class _Search:
    """The ranks tried so far: `failed` the largest below what was found that did not meet the bound, `short` where the
    way up ended before it did."""

    def __init__(self, how: Growing, asked: Asked, F: Factored) -> None:
        self.how, self.asked, self.F = how, asked, F
        self.failed = 0
        self.short: Triple | None = None
        self.most = min(F.shape)

    def run(self, rank: int) -> Sweeps:
        """Sweeps with so many atoms."""
        return Sweeps(replace(self.asked, problem=self.asked.problem.with_budget(Budget(rank))), self.F)

    def meets(self, run: Sweeps) -> bool:
        return self.asked.problem.meets(run.loss)

    def up(self, begin: Triple | None) -> Generator[Spot, None, Triple | None]:
        """The first point that meets the bound; None where none does, with all ranks or with all that lower the
        objective."""
        rank = 1 if begin is None else begin.rank
        at = leading(self.F, 1, self.asked.shrink, rounds=5) if begin is None else begin
        while True:
            run = self.run(rank)
            hasty = self.how.hasty if rank < self.most else self.how.patient
            at = yield from self._down_at(run, at, hasty)
            if self.meets(run):
                return at
            self.failed, self.short = rank, at
            if rank == self.most:
                return None
            rank = min(self.most, max(rank + 1, int(self.how.growth * rank)))
            at, size = widened(self.F, at, rank, self.asked.lam)
            if size <= self.how.solved * self.asked.lam:
                return None

    def down(self, found: Triple) -> Tried:
        """The point of the smallest rank that meets the bound, halving between those that do and those that do not."""
        while found.rank - self.failed > 1:
            rank = (found.rank + self.failed) // 2
            at = yield from self._from(rank, found.cut(rank))
            if at is None and self.short is not None:
                at = yield from self._from(rank, widened(self.F, self.short, rank, self.asked.lam)[0])
            if at is None:
                self.failed = rank
            else:
                found = at
        return found

    def checked(self, found: Triple, ladder: Ladder) -> Iterator[Spot]:
        """One rank less, from nothing and down penalties as a fit of that rank goes, where descents may end elsewhere;
        with entries in plenty, and for rank one, this rank itself: dual vectors come from penalties."""
        while True:
            run = self.run(max(1, found.rank - 1))
            ample = ladder.abounds(run)
            met = None
            if not ample or prod(self.F.shape) <= self.how.cells:
                met = yield from self.laddered(run, ladder)
            if met is None or met.rank >= found.rank:
                if ample:
                    yield from self.laddered(self.run(found.rank), ladder)
                return
            self.failed = 0
            found = yield from self.down(met)

    def laddered(self, run: Sweeps, ladder: Ladder) -> Generator[Spot, None, Triple | None]:
        """From nothing and down penalties, until the bound is met."""
        for spot in ladder.stream(run, self.how.tol, None, None):
            yield spot
            if self.meets(run):
                return spot.at
        return None

    def _from(self, rank: int, at: Triple) -> Generator[Spot, None, Triple | None]:
        run = self.run(rank)
        at = yield from self._down_at(run, at, self.how.patient)
        return at if self.meets(run) else None

    def _down_at(self, run: Sweeps, at: Triple, patience: float) -> Tried:
        """Sweeps with momentum until the bound is met, they settle, or there is no hope that they meet it."""
        lam, alpha = self.asked.lam, self.asked.problem.alpha or 0.0
        for swept in run.descent(awake(self.F, at, lam), lam, self.how.tol):
            at = swept.at
            yield run.spot(at)
            hopeless = run.loss - patience * (swept.last - run.loss) > alpha
            if self.meets(run) or (swept.number >= self.how.first and hopeless):
                break
        return at


__all__ = ["FewestRanks", "Growing"]
