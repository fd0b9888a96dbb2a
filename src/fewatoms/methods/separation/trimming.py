"""Low rank plus few entries: the entries are eliminated, the rest is followed down a ladder of thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from fewatoms import _checks, kept, ledger
from fewatoms.candidates import Candidate, Iterate
from fewatoms.kept import Kept
from fewatoms.methods.separation import held_out
from fewatoms.methods.separation.matrix import Low, Mixture
from fewatoms.methods.separation.standing import Standing
from fewatoms.methods.separation.steps import Trims
from fewatoms.methods.separation.taken_back import taken_back
from fewatoms.problem import Problem


@dataclass(frozen=True)
class Trimming:
    """minimise |b - M(L + S)|^2 / 2 over L of rank r and S with s entries. S is eliminated: the s largest residuals are
    free.

    With a price t on |S|_1 instead of a budget, what is left of a residual R is clip(R, -t, t), the dual vector of that
    problem. Steps of subspace iteration on L + clip(R) go down a ladder of t, from where S is empty to where it has s
    entries: this finds L among gross errors. Then the s largest residuals are left out altogether, and steps with
    momentum follow until one lowers the misfit by less than a share of `tol`. With weights w residuals are those of
    sqrt(w) (b - Mx), and steps are those of a majoriser: shorter where weights are small.

    s may be None: with a bound, as few entries as meet it; without, those that stand out of the noise, by 3 standard
    deviations (estimated from the median) or more, and by so many that hardly any of them is noise: how L is found
    then, see `Standing`. r may be None: ranks are tried in turn; without a bound they are compared by entries held out
    (`held_out.chosen`), among few data by Schwarz's criterion. For Huber's loss steps are those of squares with
    residuals clipped where it turns linear.

    It depends on the budgets. State: the data, one residual of their size, and factors.

    Parameters
    ----------
    tol : float
    steps : int
        After the ladder, at most.

    The others are tuned, and need no thought.

    rung, rungs : from one threshold of the ladder to the next, and how many at most
    apart : of a threshold: what is left of residuals when those beyond it stand for themselves
    small, others : data of matrices that are begun elsewhere as well, and at how many random places
    compared : steps by which the best of such starts are compared
    look : steps from one iterate to the next
    roughly, close : how well budgets are tried, and how near to the least one is near enough
    stands_out : standard deviations beyond which an entry may be no noise, where nobody says how many there are
    careful : times as much at first: what L has not learned yet stands out as well
    mistaken : the share of the entries that stand out which noise alone would have there
    soft, softened : standard deviations at which residuals are clipped before any is left out, and for how many steps
    finalists : starts that are followed further, on small matrices
    rows, numbers : among how many rows L is looked for at first, times the columns, and how many numbers that must be
    crowded : of the entries of a row or column: so many that stand out ask for another look at it
    draws, agreeing : fits to a few entries of such a line that are tried, and steps to what the rest of it agrees with
    mends : times that this is done
    signs, nearer, redraws : of the median size of entries, where they are clipped for a start on small matrices; rounds
        in which lines are fitted to what most of their entries agree on, each `rung` as near as the last, and fits that
        are tried in each
    powers, sweeps, lightest : of residuals in the weights of regressions that small matrices are begun at; how many
        regressions, and half as many after that; the ridge falls by `rung` to that, in units of the weights
    spoilt : times as much as such a start leaves others must leave for it to be taken, and what follows from it may
    compared_numbers, nearly : numbers of the rows among which ranks are compared, half of all at most; the gain of a
        step that ends the way to L there, and how many steps at most
    aside : of those rows: the ones that win or lose most by a rank, and are not counted
    charged : of the price of a number of L, what entries held out charge by themselves: between nothing (of faces under
        64 lights ranks 5 and 7 are chosen, by the rows) and the noise that it brings there, 1 (9, 12 and 15)
    shown : of a gain in the logarithm of the scale: so much is wanted in the mean square at the scale before (noise
        that becomes less shows 0.55, gross errors that are learned among many others 0.1)
    given_up, dark, enough : of the squares of a row or column: so many in the sparse part ask whether they belong
        there, if the rest is no longer than so many standard deviations an entry, and if there are so many entries for
        each atom
    known, follows : what the space of the others must explain of them beyond their share of the entries, and how it
        must be correlated with them (smooth things before dark walls: 0.2, mostly; lit patches: 0.6); of all together
        half as much of the first is enough, as chance is less, and then half of the second of each
    noticed : of the squares of a line in the sparse part: where fewer are, nothing is asked
    clipped : standard deviations at which residuals are clipped to find an atom more
    level : of the scale of residuals: their mean square, in units of it, where no square counts more than 1
    filled : of the data: as many numbers of L as leave nothing to say about noise
    below : ranks that are found on the way to one that is given
    counts, recounts : of the entries that stand out, where starts are compared, and at the end
    lag : of a threshold: what the next one is at least
    patience : ranks in a row that do not pay, and steps that change nothing
    met : of the data: a residual that meets any bound, rounding included
    exact : of the data: residuals, and atoms, that are rounding
    faint : of the largest entry: what never stands out
    sampled, glimpsed : residuals that a scale is taken of, about, and a median, which is wanted at every step
    near : how far below the last threshold the next one is looked for first, and then, as shares of it
    all_but : of the data: what may be left over where there is no noise
    nothing : of |b|^2: a loss beyond which none is better
    """

    tol: float = 3e-5
    steps: int = 500
    rung: float = 0.8
    rungs: int = 60
    apart: float = 0.5
    small: int = 10_000
    others: int = 5
    compared: int = 25
    look: int = 10
    roughly: float = 1e-3
    close: float = 0.01
    stands_out: float = 3.0
    careful: float = 3.0
    mistaken: float = 0.05
    soft: float = 1.5
    softened: int = 12
    finalists: int = 2
    rows: int = 8
    numbers: int = 200_000
    crowded: float = 0.2
    draws: int = 20
    agreeing: int = 3
    mends: int = 3
    signs: tuple[float, ...] = (0.4,)
    nearer: int = 8
    redraws: int = 5
    powers: tuple[float, ...] = (1.0, 1.5)
    sweeps: int = 40
    spoilt: float = 1.2
    lightest: float = 0.02
    compared_numbers: int = 200_000
    nearly: tuple[float, int] = (3e-4, 60)
    aside: float = 0.1
    charged: float = 0.5
    shown: float = 0.3
    given_up: float = 0.25
    dark: float = 5.0
    enough: int = 20
    known: float = 0.25
    follows: float = 0.4
    noticed: float = 0.05
    clipped: tuple[float, ...] = (1.0, 3.0)
    level: float = 0.45
    filled: float = 0.9
    below: int = 2
    counts: int = 2
    lag: float = 0.1
    recounts: int = 20
    patience: int = 2
    met: float = 5e-14
    exact: float = 1e-14
    faint: float = 1e-11
    sampled: int = 200_000
    glimpsed: int = 25_000
    near: tuple[float, float] = (0.02, 0.2)
    all_but: float = 1e-10
    nothing: float = 1e-24

    def __post_init__(self) -> None:
        _checks.number("tol", self.tol)
        _checks.integer("steps", self.steps, 1)

    def iterates(self, mixture: Mixture) -> Iterator[Iterate]:
        rank, count = mixture.wanted
        found = (
            self._ranks(mixture, count)
            if rank is None
            else self._at_rank(mixture, rank, count, Standing(mixture, self))
        )
        for candidate in found:
            if rank is not None:
                ledger.keep(candidate)
            yield Iterate(primal=candidate, worth=-candidate.loss, at=mixture.problem)

    def _ranks(self, mixture: Mixture, count: int | None) -> Iterator[Candidate]:
        """One rank after the other: with a bound and a budget of entries, until it is met; otherwise while it pays, in
        numbers to choose freely (with a bound), or in Schwarz's criterion (without, among few data: elsewhere entries
        held out have chosen before). The best comes last."""
        problem, standing = mixture.problem, Standing(mixture, self)
        if problem.alpha is None and problem.m > self.small:
            for point in self._at_rank(mixture, self._chosen(mixture), count, standing):
                ledger.keep(point)
                yield point
            return
        best: Candidate | None = None
        lowest, worse = math.inf, 0
        for rank in range(1, min(mixture.data.D.shape) + 1):
            point = self._best_at(mixture, rank, count, standing)
            met = problem.meets(point.loss)
            if met or problem.alpha is None:
                score = standing.score if count is None and problem.alpha is None else self._score(problem, point)
                best, lowest, worse = (point, score, 0) if score < lowest else (best, lowest, worse + 1)
            ledger.keep(point if best is None else best)
            yield point
            if met and count is not None:
                return
            if worse == self.patience:
                break
        if best is not None:
            yield best

    def _chosen(self, mixture: Mixture) -> int:
        """The rank that entries held out speak for; what follows is what would follow if it had been told."""
        numbers = ledger.generator().bit_generator
        state = numbers.state
        with ledger.step("rank") as here:
            rank = held_out.chosen(mixture, self) if here.found is None else kept.whole(here.found.told["rank"])
            here.mark(partial(Kept, "rank", {"rank": rank}))
        numbers.state = state
        return rank

    def _score(self, problem: Problem, point: Candidate) -> float:
        numbers, m = point.freedom, problem.m
        if problem.alpha is not None:
            return numbers
        value = max(2 * point.loss, self.nothing * problem.reference) / m
        return m * math.log(value) + numbers * math.log(m) if numbers < m else math.inf

    def _best_at(self, mixture: Mixture, rank: int, count: int | None, standing: Standing) -> Candidate:
        """The best of a rank where entries are counted, otherwise the last."""
        best: Candidate | None = None
        first = ledger.current().found is None
        with ledger.stage(f"rank {rank}"):
            for point in self._at_rank(mixture, rank, count, standing):
                best = point if best is None or count is None or point.loss < best.loss else best
                if first:
                    ledger.keep(best)
        assert best is not None
        return best

    def _at_rank(self, mixture: Mixture, rank: int, count: int | None, standing: Standing) -> Iterator[Candidate]:
        if count is not None:
            yield from self._counted(mixture, rank, count)
            return
        by_noise, at = standing.at(rank)
        if mixture.delta is None:
            yield from self._standing_out(by_noise, at)
        else:
            delta = max(mixture.delta, self.met * mixture.data.size)
            yield from self._fewest(Trims(mixture, self, None, delta), at)

    def _counted(self, mixture: Mixture, rank: int, count: int) -> Iterator[Candidate]:
        """So many entries, from one start after the other until the data are explained, or the bound is met."""
        problem, run = mixture.problem, Trims(mixture, self, count)
        for start in run.starts(rank):
            for at in run.descend(start, self.tol, self.steps):
                point = run.point(at)
                yield point
            once = problem.alpha is None and problem.m > self.small
            if problem.exact(point.loss) or problem.meets(point.loss) or once:
                break

    def _standing_out(self, run: Trims, at: Low) -> Iterator[Candidate]:
        """Count what stands out of the noise, fit with that budget, count again. (Counting at every step would take
        what has not converged yet for a foreground, for good.)"""
        count = -1
        for i in range(self.recounts):
            before, count = count, run.needed(at)
            if abs(count - before) <= self.close * count and i > 1:
                break
            at = Trims(run.mixture, self, count).settle(at, self.tol, self.steps)
            point = run.point(at)
            yield point
        delta = self.all_but * run.data.size
        if 2 * point.loss <= run.data.unit * delta**2:  # without noise the fewest that explain everything are right
            yield from self._fewest(Trims(run.mixture, self, None, delta), at)
            return
        with_lines = taken_back(run, at)
        if with_lines is not None:
            at, noise = with_lines
            yield Trims(run.mixture, self, None, rank=at[1].shape[1], noise=noise).point(at)

    def _fewest(self, run: Trims, at: Low) -> Iterator[Candidate]:
        """As few entries as meet the bound: budgets are tried between one that is too small and one that will do."""
        best, enough, short = at, run.needed(at), 0
        while enough > short + max(1, round(self.close * enough)):
            trial = round(math.sqrt(max(short, enough / 16) * enough)) if enough > 16 else (short + enough) // 2
            at = Trims(run.mixture, self, trial).settle(best, self.roughly, self.steps)
            needed = run.needed(at)
            short, enough, best = (max(short, trial), enough, best) if needed > trial else (short, needed, at)
            if needed <= trial:
                yield run.point(at)
        for at in Trims(run.mixture, self, max(1, enough)).descend(best, self.tol, self.steps):
            yield run.point(at)
