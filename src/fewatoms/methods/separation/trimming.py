"""Low rank plus few entries: the entries are eliminated, the rest is followed down a ladder of thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fewatoms import _checks, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.faces import Face
from fewatoms.factored import balanced
from fewatoms.oracles.base import LaterPoint
from fewatoms.problem import Problem
from fewatoms.separated import gram, largest
from fewatoms.solution import DualPoint, LazyCandidate

STEP = 0.8  # from one threshold of the ladder to the next
RUNGS = 60  # at most
APART = 0.5  # of a threshold: what is left of residuals when those beyond it stand for themselves
FEW = 50  # steps by which starts are compared
SMALL, OTHERS = 10_000, 5  # data of matrices that are begun elsewhere as well, and at how many random places
LOOK = 10  # steps from one iterate to the next
ROUGHLY, CLOSE = 1e-3, 0.01  # how well budgets are tried, and how near to the least one is near enough
NOISE = 3.0  # standard deviations beyond which an entry is no noise, where nobody says how many there are
CAREFUL = 3.0  # times as much at first: what L has not learned yet stands out as well
RECOUNTS = 20  # of these
ROUNDING = 1e-14  # of the data: atoms that are none
ALL_BUT = 1e-10  # of the data: what may be left over where there is no noise
NOTHING = 1e-24  # of |b|^2: a loss beyond which none is better
PATIENCE = 2  # ranks in a row that do not pay
FAINT = 1e-11  # of the largest entry: what never stands out
MET = 5e-14  # of the data: a residual that meets any bound, rounding included
EXACT = 1e-14  # times |b|: a residual that is rounding

Low = tuple[Array, Array]  # L = U V^T with orthonormal V


class Trimming:
    """minimise |b - M(L + S)|^2 / 2 over L of rank r and S with s entries. S is eliminated: the s largest residuals are
    free.

    With a price t on |S|_1 instead of a budget, what is left of a residual R is clip(R, -t, t), the dual vector of that
    problem. Steps of subspace iteration on L + clip(R) go down a ladder of t, from where S is empty to where it has s
    entries: this finds L among gross errors. Then the s largest residuals are left out altogether, and steps with
    momentum follow until one lowers the misfit by less than a share of `tol`.

    s may be None: with a bound, as few entries as meet it; without, those that stand out of the noise, by more than 3
    standard deviations estimated from the median. r may be None: ranks are tried in turn.

    It depends on the budgets. State: the data, one residual of their size, and factors.

    Parameters
    ----------
    tol : float
    steps : int
        After the ladder, at most.
    """

    exhaustive = True
    patience = 1_000_000

    def __init__(self, *, tol: float = 3e-5, steps: int = 500) -> None:
        self.tol, self.steps = _checks.number("tol", tol), _checks.integer("steps", steps, 1)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        if not problem.separable or not isinstance(problem.k, tuple):
            raise ValueError(
                "Trimming is for sums and unions of RankOne and SignedOneHot, Identity or Sampling, least squares and "
                f"budgets; got {problem.atoms!r}, {problem.M.inner!r}, {problem.loss!r} and k={problem.k}"
            )
        roles = problem.roles
        rank, count = problem.k[roles.low], problem.k[roles.sparse]
        yield from self._ranks(problem, count) if rank is None else self._at_rank(problem, rank, count)

    def _ranks(self, problem: Problem, count: int | None) -> Iterator[DualPoint]:
        """One rank after the other: with a bound and a budget of entries, until it is met; otherwise while it pays, in
        numbers to choose freely (with a bound), or in Schwarz's criterion (without). The best comes last."""
        best, lowest, worse = None, math.inf, 0
        for rank in range(1, min(problem.separated.D.shape) + 1):
            points = list(self._at_rank(problem, rank, count))
            point = points[-1] if count is None else min(points, key=lambda at: at.loss)
            yield point
            met = problem.meets(point.loss)
            if met and count is not None:
                return
            numbers, m = point.primal.freedom, problem.m
            value = max(2 * point.loss, NOTHING * problem.reference) / m
            score = numbers if met else m * math.log(value) + numbers * math.log(m) if numbers < m else math.inf
            if problem.alpha is not None and not met:
                continue
            best, lowest, worse = (point, score, 0) if score < lowest else (best, lowest, worse + 1)
            if worse == PATIENCE:
                break
        if best is not None:
            yield best

    def _at_rank(self, problem: Problem, rank: int, count: int | None) -> Iterator[Trimmed]:
        if count is None:
            by_noise = Trims(problem, Rule(problem, None))
            at = self._begun(by_noise, rank)
            if problem.alpha is None:
                yield from self._standing_out(by_noise, at)
            else:
                delta = max(math.sqrt(2 * problem.alpha), MET * problem.separated.size)
                yield from self._fewest(Trims(problem, Rule(problem, None, delta)), at)
            return
        run = Trims(problem, Rule(problem, count))
        for start in run.starts(rank):
            for at in run.descend(start, self.tol, self.steps):
                point = run.point(at)
                yield point
            if problem.exact(point.loss) or problem.meets(point.loss) or (problem.alpha is None and problem.m > SMALL):
                break

    def _begun(self, run: Trims, rank: int) -> Low:
        """Where to begin when nobody says how many entries there are: at the end of the ladder; on small matrices, of
        all starts after a few steps, the one that leaves the smallest median residual."""
        problem, best, lowest = run.problem, None, math.inf
        if problem.m > SMALL:
            return run.down(rank)
        for at in run.starts(rank):
            rule = Rule(problem, run.needed(at, CAREFUL))
            *_, at = Trims(problem, rule).descend(at, ROUGHLY, FEW)
            middle = run.rule.middle(run.residual(*at))
            if best is None or middle < lowest:
                best, lowest = at, middle
            if middle <= FAINT * run.rule.top:
                break
        assert best is not None
        return best

    def _standing_out(self, run: Trims, at: Low) -> Iterator[Trimmed]:
        """Count what stands out of the noise, fit with that budget, count again. (Counting at every step would take
        what has not converged yet for a foreground, for good.)"""
        count = -1
        for i in range(RECOUNTS):
            before, count = count, run.needed(at, CAREFUL if i == 0 else 1.0)
            if abs(count - before) <= CLOSE * count and i > 1:
                break
            *_, at = Trims(run.problem, Rule(run.problem, count)).descend(at, self.tol, self.steps)
            point = run.point(at)
            yield point
        delta = ALL_BUT * run.data.size
        if 2 * point.loss <= delta**2:  # without noise the fewest entries that explain everything are right
            yield from self._fewest(Trims(run.problem, Rule(run.problem, None, delta)), at)

    def _fewest(self, run: Trims, at: Low) -> Iterator[Trimmed]:
        """As few entries as meet the bound: budgets are tried between one that is too small and one that will do."""
        problem = run.problem
        best, enough, short = at, run.needed(at), 0
        while enough > short + max(1, round(CLOSE * enough)):
            trial = round(math.sqrt(max(short, enough / 16) * enough)) if enough > 16 else (short + enough) // 2
            other = Trims(problem, Rule(problem, trial))
            *_, at = other.descend(best, ROUGHLY, self.steps)
            needed = run.needed(at)
            short, enough, best = (max(short, trial), enough, best) if needed > trial else (short, needed, at)
            if needed <= trial:
                yield run.point(at)
        for at in Trims(problem, Rule(problem, max(1, enough))).descend(best, self.tol, self.steps):
            yield run.point(at)


class Rule:
    """Which residuals are left to the sparse part: `count` of them, or so many that the rest is no longer than `delta`,
    or those that stand out of the noise."""

    def __init__(self, problem: Problem, count: int | None, delta: float | None = None) -> None:
        self.count, self.delta, self._problem = (
            count,
            delta,
            problem,
        )  # (the data live as long as the run, rules longer)
        self.allowed = count  # residuals to leave out at most
        self.guess: float | None = None
        self.last: float | None = None
        self.top = problem.separated.largest
        self.floor = FAINT * self.top if delta is None else 0.0

    def threshold(self, R: Array) -> float:
        """The least size of a residual that is left out; infinite if none is."""
        a = np.abs(R).ravel()
        if self.count is not None:
            self.guess = largest(a, self.count, self.guess) if self.count < a.size else 0.0
            return self.guess
        if self.delta is not None:
            return self._beyond(a, self.delta)
        return max(NOISE * 1.4826 * self.middle(R), self.floor)

    def middle(self, R: Array) -> float:
        """The median size of residuals that are seen."""
        a = np.abs(R).ravel()
        seen = self._problem.separated.seen
        a = a if seen is None else a[seen.ravel()]
        return float(np.median(a[:: max(1, a.size // 1_000_000)]))

    def left_out(self, R: Array, floor: float = 0.0) -> Array:
        """Where residuals are left out: no more of them than allowed, however many are equal."""
        size = np.abs(R)
        out = size >= max(self.threshold(R), floor)
        if self.allowed is not None and np.count_nonzero(out) > self.allowed:
            chosen = linalg.top_k(size.ravel(), self.allowed)
            out = np.zeros(R.size, dtype=bool)
            out[chosen] = True
            out = out.reshape(R.shape)
        return out

    def edge(self, R: Array) -> float:
        """The largest residual that is not left out: where a ladder begins, and below which it need not go.

        (Not the least one that is: gross errors may be much larger than all that is to be explained.)
        """
        if self.count is None or self.count >= R.size:
            return self.threshold(R)
        self.last = largest(np.abs(R).ravel(), self.count + 1, self.last)
        return self.last

    def _beyond(self, a: FloatArray, delta: float) -> float:
        """The largest threshold for which the residuals below it are no longer than delta together."""
        order = np.sort(a)
        below = np.sqrt(np.cumsum(order**2))
        inside = int(np.searchsorted(below, delta * (1 + 1e-12), side="right"))
        self.allowed = a.size - inside
        return float(order[inside]) if inside < a.size else math.inf


class Trims:
    """Steps under one rule."""

    def __init__(self, problem: Problem, rule: Rule) -> None:
        self.problem, self.data, self.rule = problem, problem.separated, rule

    def residual(self, U: Array, V: Array) -> Array:
        self.problem.M.products += U.shape[1]
        return self.data.left(U, V)

    def trimmed(self, R: Array) -> float:
        """Leave the largest residuals out, in place; the length of the rest."""
        R[self.rule.left_out(R)] = 0.0
        return float(np.linalg.norm(R))

    def needed(self, at: Low, factor: float = 1.0) -> int:
        """How many residuals the rule leaves out, with its threshold raised by a factor."""
        R = self.residual(*at)
        out = np.abs(R) >= factor * self.rule.threshold(R) if factor > 1 else self.rule.left_out(R)
        return int(np.count_nonzero(out))

    def starts(self, rank: int) -> Iterator[Low]:
        """Where to begin: at the end of the ladder; at the leading singular vectors of the data, and of the data
        without their largest entries; at random places, which small matrices, where single entries decide, may need."""
        yield self.down(rank)
        if self.problem.alpha is not None or self.problem.m <= SMALL:
            D = self.data.D
            rest = np.where(self.rule.left_out(D), 0.0, D)
            for X in (D, rest):
                V = np.linalg.eigh(gram(X))[1][:, ::-1][:, :rank]
                yield X @ V, V
            for _ in range(OTHERS if self.problem.m <= SMALL else 0):
                V = np.linalg.qr(linalg.generator().standard_normal((D.shape[1], rank)))[0]
                yield rest @ V, V

    def down(self, rank: int) -> Low:
        """Down the ladder of thresholds, one step each."""
        D = self.data.D
        t = self.rule.edge(D)
        if not 0 < t < math.inf:
            t = self.data.largest
        V = np.linalg.qr(linalg.generator().standard_normal((D.shape[1], rank)))[0]
        Y = np.clip(D, -t, t)
        for _ in range(3):
            V = np.linalg.qr(Y.T @ (Y @ V))[0]
        at = Y @ V, V
        for _ in range(RUNGS):
            R = self.residual(*at)
            edge = self.rule.edge(R)
            last = t <= edge or (edge <= APART * t and self.rule.threshold(R) >= t)
            at = advanced(at, at[1], np.clip(R, -t, t, out=R))
            if last:
                break
            t *= STEP
        return at

    def descend(self, at: Low, tol: float, steps: int) -> Iterator[Low]:
        """Steps with momentum on L; one that lengthens the trimmed residual is done again without."""
        before, weight, reached = None, 1.0, math.inf
        tol *= self.data.share**2  # steps are shorter where less is seen
        for step in range(1, steps + 1):
            ahead, beta = at, 0.0
            if before is not None:
                following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * weight**2))
                beta, weight = (weight - 1.0) / following, following
            if beta > 0:
                ahead = (
                    np.concatenate([(1 + beta) * at[0], -beta * before[0]], axis=1),  # type: ignore[index]
                    np.concatenate([at[1], before[1]], axis=1),  # type: ignore[index]
                )
            R = self.residual(*ahead)
            length = self.trimmed(R)
            if length > reached and beta > 0:
                before, weight = None, 1.0
                continue
            gain, reached = reached - length, min(reached, length)
            before, at = at, advanced(ahead, at[1], R)
            if step % LOOK == 0:
                yield at
            if not gain > tol * reached or reached <= EXACT * self.data.size:
                break
        yield at

    def point(self, at: Low) -> Trimmed:
        return Trimmed(self.problem, at, self.rule)


def advanced(at: Low, V: Array, R: Array) -> Low:
    """One step of subspace iteration, from V, on the matrix `at` + R."""
    left, right = at
    Q = np.linalg.qr(left @ (right.T @ V) + R @ V)[0]
    V, S = np.linalg.qr(right @ (left.T @ Q) + R.T @ Q)
    return Q @ S.T, V


class Trimmed(LaterPoint):
    """The dual vector of one iterate: what is left of the data."""

    keeps_budget = True
    primal: TrimCandidate

    def __init__(self, problem: Problem, at: Low, rule: Rule) -> None:
        self.__dict__.update(_problem=problem, primal=TrimCandidate(problem, at, rule), series=0)

    @property
    def worth(self) -> float:  # type: ignore[override]
        return -self.primal.loss


class TrimCandidate(LazyCandidate):
    """L in factors, and the entries of D - L that a rule leaves out."""

    _low: Low
    _rule: Rule
    _freedom: int

    def __init__(self, problem: Problem, low: Low, rule: Rule) -> None:
        R = problem.separated.left(*low)
        size, out = np.abs(R), rule.left_out(R, rule.floor)
        one_norm, nuclear = float(size[out].sum()), float(np.linalg.svd(np.linalg.qr(low[0])[1])[1].sum())
        count = int(np.count_nonzero(out))
        size[out] = 0.0
        (p, q), rank = R.shape, low[1].shape[1]
        note = ""
        if rule.count is None and rule.delta is None:
            deviation = rule.threshold(R) / NOISE
            note = (
                f"{count} entries stand out of noise of standard deviation {deviation:.3g}, by 3 times as much or more"
            )
        gauge, loss = problem.roles.gauge(nuclear, one_norm), 0.5 * float(np.vdot(size, size))
        freedom = rank * (p + q - rank) + count
        super().__init__(problem, loss, gauge, note, _low=low, _rule=rule, _freedom=freedom)

    def _made(self) -> tuple[Face, FloatArray]:
        roles, data = self._problem.roles, self._problem.separated
        P, s, Q = balanced(*self._low)
        keep = s > ROUNDING * max(float(s[0]), data.size)
        P, s, Q = P[:, keep], s[keep], Q[:, keep]
        R = data.left(P * s, Q)
        out = self._rule.left_out(R, self._rule.floor)
        P, Q = data.factors(P, Q)
        return roles.face((P, s, Q), data.entries(R, out))

    @property
    def freedom(self) -> int:
        return self._freedom

    @property
    def residual(self) -> FloatArray:  # type: ignore[override]
        data = self._problem.separated
        R = data.left(*self._low)
        R[self._rule.left_out(R, self._rule.floor)] = 0.0
        return data.as_data(R)


__all__ = ["Trimming"]
