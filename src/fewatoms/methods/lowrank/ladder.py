"""Low rank from sampled entries: alternating ridge regressions on the factors, down a ladder of penalties.

minimise f(b - M(U V^T)) + lam (|U|^2 + |V|^2) / 2 over factors with k columns, by sweeps of small regressions. At
balanced factors the penalty is lam times the nuclear norm: if M*y has no singular value above lam, the point solves
(P1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial

from fewatoms import ledger
from fewatoms.methods.lowrank.entries import Triple
from fewatoms.methods.lowrank.lifting import Lifting
from fewatoms.methods.lowrank.starts import awake, leading
from fewatoms.methods.lowrank.sweeps import Spot, Sweeps
from fewatoms.methods.lowrank.unsigned import Unsigned

Stream = Generator[Spot, None, Triple]  # a spot for each sweep; the point where it ends


@dataclass(frozen=True)
class Ladder:
    """Which penalties lead down to the ridge of a problem (0 without one).

    ample : entries per unknown from which descents end in one place, wherever they begin
    rungs : the first penalties where entries abound, in units of the k-th singular value of M*y at x = 0: these keep
        the first sweeps from overfitting
    amply : times the tolerance, there: the loss is settled far below what noise in so many entries does to it
    step, roughly : where entries are scarce, from rung to rung of the ladder, and how well each is solved
    awake : the least atom's share of the first from which none is asleep, to appear at a rung of its own: then a rung
        that lowers little, measured from where the last one ended, is left after one sweep
    longer, hardly, easy : and where there are so many entries per unknown rungs are solved less well, and the next step
        is twice as long, in logarithms, after a rung that took so many sweeps at most. With fewer entries that ends in
        other, at times worse, minima
    last : the last rung, in units of the first
    powers : of the weights, for further starts where weights over orders of magnitude leave few entries that count
    unsigned, enough : how nonnegative factors begin where there are so many entries per unknown; with fewer, those of
        any sign fit what is seen by what nonnegative ones could not
    """

    ample: float = 10.0
    rungs: tuple[float, ...] = (0.3, 0.05)
    amply: float = 10.0
    step: float = 0.5
    roughly: float = 1e-3
    awake: float = 0.05
    longer: float = 5.0
    hardly: float = 1e-2
    easy: int = 2
    last: float = 1e-5
    powers: tuple[float, ...] = (0.0, 0.5)
    unsigned: Unsigned = field(default_factory=Unsigned)
    enough: float = 2.0
    nothing: float = 1e-12

    def abounds(self, run: Sweeps) -> bool:
        """Whether there are many entries for each unknown."""
        return run.F.determines(run.asked.k, self.ample)

    def stream(self, run: Sweeps, tol: float, begin: Triple | None, lift: Lifting | None) -> Iterator[Spot]:
        """All sweeps of a run, from a place to begin at, or from the singular vectors of M*y at x = 0.

        lift : lets the factors grow beyond k columns, as (P1) or (P3) needs
        """
        ample, lam, bounded = self.abounds(run), run.asked.lam, run.asked.problem.alpha is not None
        unsigned = begin is None and run.F.nonnegative and not bounded and (ample or self._suffice(run))
        with ledger.step("beginning") as here:
            if here.found is not None:
                at = run.again(here.found)[0]
            elif begin is not None:
                at = run.F.judged(run.fitted(begin))
            elif unsigned:
                at = self._unsigned(run, ample)
            else:
                at = leading(run.F, run.asked.k, run.shrink, rounds=2 if ample else 5)
            here.mark(run.noted(at))
        if begin is None and bounded:
            at = yield from _part("way", run, partial(self._to_bound, run, at, lift))
            if lift is not None and run.asked.problem.meets(run.loss):
                return
        elif begin is None and not unsigned:
            way = partial(self._quickly, run, at) if ample else partial(self._slowly, run, at, lam)
            at = yield from _part("way", run, way)
        down = partial(_down, run, awake(run.F, at, lam), lam, self.amply * tol if ample else tol)
        at = yield from _part("down", run, down)
        if begin is None and run.F.uneven and run.objective > self.nothing * run.asked.problem.reference:
            at = yield from _part("evenly", run, partial(self._evenly, run, at, tol))
        if lam > 0 and at.rank and (fewer := run.without_the_least(at, lam)) is not None:
            at = fewer
            yield run.spot(at)
        if lift is not None:
            for wide in lift.lifted(run, at, lam, tol, lift.rounds):
                yield run.spot(wide)

    def _quickly(self, run: Sweeps, at: Triple) -> Stream:
        """A few sweeps at penalties on the way."""
        unit = run.F.heavy * float(at.s[-1])
        for share in self.rungs:
            if share * unit > run.asked.lam:
                at = run.sweep(at, share * unit)
                yield run.spot(at)
        return at

    def _suffice(self, run: Sweeps) -> bool:
        """Whether factors of any sign are near nonnegative ones."""
        return not run.F.background and run.F.determines(run.asked.k, self.enough)

    def _unsigned(self, run: Sweeps, ample: bool) -> Triple:
        """From factors of any sign, which settle in a few sweeps, to nonnegative ones of the same matrix."""
        other, k, lam = Sweeps(run.asked, run.F.signed()), run.asked.k, run.asked.lam
        if ample:
            at = _ended(self._quickly(other, other.F.leading(k, run.shrink, rounds=2)))
        else:
            at = _ended(self._slowly(other, leading(other.F, k, run.shrink, rounds=5), lam))
        return self.unsigned.start(other.descend(at, lam, self.roughly))

    def _slowly(self, run: Sweeps, at: Triple, lam: float) -> Stream:
        """Down a ladder from where the first atom appears, each rung solved roughly: where entries are scarce, this
        finds what descents from elsewhere miss."""
        rung = top = run.F.heavy * float(at.s[0])
        step, known, awake = self.step, math.inf, False
        dense = run.F.determines(run.asked.k, self.longer)
        with ledger.step("ladder") as here:
            if here.found is not None:
                at, (rung, step, known, asleep) = run.again(here.found)
                awake = not asleep
            while (rung := step * rung) > max(lam, self.last * top):
                before, known = run.made, known - (run.lam - rung) * at.gauge
                at = yield from _down(run, at.alive(), rung, self.hardly if dense and awake else self.roughly, known)
                awake = float(at.s[-1]) > self.awake * float(at.s[0])
                known = run.objective if awake else math.inf
                step = step**2 if dense and awake and run.made - before <= self.easy else self.step
                here.mark(run.noted(at, rung, step, known, float(not awake)))
        return at.alive()

    def _evenly(self, run: Sweeps, at: Triple, tol: float) -> Stream:
        """From the points of evener weights; the best of all."""
        best, lowest, lam = at, run.objective, run.asked.lam
        for power in self.powers:
            other = Sweeps(run.asked, run.F.tempered(power))
            with ledger.step("evenly"):
                begin = _ended(self._slowly(other, leading(other.F, run.asked.k, run.shrink, rounds=5), 0.0))
                at = yield from _down(run, begin, lam, tol)
            best, lowest = (at, run.objective) if run.objective < lowest else (best, lowest)
        return best

    def _to_bound(self, run: Sweeps, at: Triple, lift: Lifting | None) -> Stream:
        """Lower the penalty until the bound is met, with steps that come near it from above: of all points that meet
        it, one of nearly smallest nuclear norm, as (P3) has it."""
        problem = run.asked.problem
        top = run.F.heavy * float(at.s[0])
        lam = self.rungs[0] * run.F.heavy * float(at.s[-1]) if self.abounds(run) else self.step * top
        for _ in range(2):
            at = run.sweep(at, lam)
        low = 0.0
        while problem.meets(run.loss) and lam < top:  # a loose bound: start above it
            low, lam = lam, 2.0 * lam
            at = run.sweep(at, lam)
        return (yield from self._down_to_bound(run, at, lift, (top, low, lam)))

    def _down_to_bound(
        self, run: Sweeps, at: Triple, lift: Lifting | None, begin: tuple[float, float, float]
    ) -> Stream:
        """From a penalty above the bound."""
        problem, floor, alpha, (top, low, lam) = run.asked.problem, run.asked.lam, run.asked.problem.alpha, begin
        assert alpha is not None
        before: tuple[float, float] | None = None
        with ledger.step("ladder") as here:
            if here.found is not None:
                at, (lam, *last) = run.again(here.found)
                before = last[0], last[1]
            while True:
                at = _steadied(run, at, lam, alpha)
                if lift is not None:
                    for wide in lift.lifted(run, at, lam, self.roughly, rounds=2):
                        at = wide
                yield run.spot(at)
                if lam <= max(floor, 1e-13 * top) or (lift is not None and problem.meets(run.loss)):
                    return at
                ahead = max(0.5 * lam, math.sqrt(low * lam))
                if before is not None and run.loss < before[1] and alpha > 0:
                    # log loss against log lam is nearly straight: aim a little past the bound
                    slope = math.log(before[1] / run.loss) / math.log(before[0] / lam)
                    ahead = lam * math.exp(math.log(0.98 * alpha / run.loss) / max(slope, 1e-3))
                before = (lam, run.loss)
                lam = max(floor, min(max(ahead, 0.3 * lam), 0.95 * lam))
                here.mark(run.noted(at, lam, *before))


def _down(run: Sweeps, at: Triple, lam: float, tol: float, known: float = math.inf) -> Stream:
    """Sweeps with momentum at one penalty, from a point where it is known what was reached, or not; towards a bound as
    long as there is hope that they meet it."""
    hope = Hope(run.asked.problem.alpha or 0.0)
    for swept in run.descent(at, lam, tol, known):
        at = swept.at
        yield run.spot(at)
        if run.asked.problem.alpha is not None and hope.gone(run.loss):
            break
    return at


def _part(name: str, run: Sweeps, work: Callable[[], Stream]) -> Stream:
    """A part of a stream: where it ends is known, for a run that goes on after a kill, once it is over."""
    with ledger.step(name) as here:
        if here.found is not None:
            return run.again(here.found)[0]
        at = yield from work()
        here.mark(run.noted(at))
    return at


@dataclass
class Hope:
    """Whether losses will meet a bound, if each further sweep lowers them by the same share as the last ones did.

    over : sweeps that are looked at together
    most : further ones, at most
    """

    alpha: float
    over: int = 30
    most: int = 600
    made: int = 0
    before: float = math.inf

    def gone(self, loss: float) -> bool:
        """Told what a sweep has reached."""
        self.made += 1
        if self.made % self.over or not self.alpha:
            return False
        share = math.log(self.before / loss) if 0 < loss < self.before else 0.0
        needed = math.log(max(loss / self.alpha, 1.0))
        first, self.before = self.before == math.inf, loss
        return not first and needed * self.over > self.most * share


def _steadied(run: Sweeps, at: Triple, lam: float, alpha: float) -> Triple:
    """Up to three sweeps, until the loss moves little beside its distance from the bound."""
    for _ in range(3):
        last = run.loss
        at = run.sweep(at.alive(), lam)
        if abs(last - run.loss) <= 0.1 * abs(run.loss - alpha):
            break
    return at


def _ended(stream: Stream) -> Triple:
    """Where a stream ends that nobody listens to."""
    while True:
        try:
            next(stream)
        except StopIteration as end:
            at = end.value
            assert isinstance(at, Triple)
            return at


__all__ = ["Ladder"]
