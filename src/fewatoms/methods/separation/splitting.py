"""Principal component pursuit with a bound: the method of multipliers, whose multiplier is the dual vector."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from fewatoms import _checks, kept, kernels, ledger
from fewatoms._types import Array, FloatArray
from fewatoms.candidates import Candidate, Compact, DualPoint, Iterate
from fewatoms.kept import Kept, Plain
from fewatoms.methods.separation.matrix import Mixture, Separated, cut_to, decomposed, gram
from fewatoms.methods.separation.partial import Leading, at_most
from fewatoms.methods.separation.steps import Trims
from fewatoms.methods.separation.trimming import Trimming
from fewatoms.relaxations import P3

Triple = tuple[Array, FloatArray, Array]  # left factor, singular values, right factor


class Ends:
    """Both ends of the gap of one run, proven."""

    def __init__(self) -> None:
        self.lower, self.upper = -math.inf, math.inf
        self.not_low = False

    def see(self, upper: float, lower: float = -math.inf) -> None:
        self.upper, self.lower = min(self.upper, upper), max(self.lower, lower)

    @property
    def gap(self) -> float:
        """Over the upper end."""
        return (self.upper - self.lower) / max(self.upper, 1e-300) if self.upper < math.inf else math.inf


@dataclass(frozen=True)
class Splitting:
    """minimise |L|_* + price |S|_1 subject to |b - M(L + S)| <= delta: (P3) for a union of rank-one matrices and matrix
    entries.

    Steps of the alternating direction method of multipliers (over-relaxed; L against S and the error together) move a
    multiplier Y, kept beside the data and two work arrays of their size. Every few steps both ends are looked at:
    below, Y moved into the two dual balls by turns and scaled; above, L with the smallest S that meets the bound, which
    is an answer. The stream ends when these are within a share of `tol` of each other. Not done: weights.

    Parameters
    ----------
    tol : float
        Relative duality gap; the stream goes on beyond it as long as the gap falls fast, as it does where the data are
        low rank plus sparse indeed.
    steps : int
        At most.
    misfit : float
        The bound where nobody gives one: an equation, for all that matters.

    The others are tuned, and need no thought.

    first, growth, last : the stiffness mu, in units of 1 / (largest singular value): its start, factor and end
    ahead : over-relaxation
    single, large : first steps in single precision, from so many entries on
    holds : sizes of data that single precision can hold
    full : columns up to which all singular values are made; beyond, those of L and a few more
    passes, first_passes : over a matrix, for these: near those of the last one, and for a first look or a last one
    low : of the shorter side: a rank that is not low; where L gets there the stream ends with what it has
    falls, patience : of the gap: what it has to fall to, and after how many looks at which it did not the stream ends
    wait, every : steps before the first look at the gap, and from one to the next
    beyond, fast, tight : a gap that far below what was asked, falling as fast from look to look, goes on; down to where
    spare : times as many entries as the multiplier says: it may not know all of them yet
    sparse : of the entries: what is no longer sparse
    inside : of the bound: what the last point is looked for within, on long sides
    trimming, trimmed, trims : by what, how well, and in how many steps the last point is found
    within : of |b|: how far inside the bound answers stay, so that rounding does not take them out
    """

    tol: float = 2e-3
    steps: int = 1000
    misfit: float = 1e-6
    first: float = 1.25
    growth: float = 2.0
    last: float = 120.0
    ahead: float = 1.7
    single: int = 10
    large: int = 1_000_000
    holds: tuple[float, float] = (1e-12, 1e12)
    full: int = 1000
    passes: int = 2
    first_passes: int = 6
    low: float = 0.25
    falls: float = 0.99
    patience: int = 20
    wait: int = 18
    every: int = 3
    beyond: float = 0.1
    fast: float = 0.25
    tight: float = 1e-8
    spare: float = 1.1
    sparse: float = 0.5
    inside: float = 0.3
    trimming: Trimming = field(default_factory=Trimming)
    trimmed: float = 1e-4
    trims: int = 100
    within: float = 1e-14

    def __post_init__(self) -> None:
        _checks.number("tol", self.tol)
        _checks.integer("steps", self.steps, 1)

    def iterates(self, mixture: Mixture, ends: Ends | None = None) -> Iterator[Iterate]:
        ends = Ends() if ends is None else ends
        way = Multipliers if mixture.data.D.shape[1] <= self.full else PartialMultipliers
        run = way(mixture, self, ends)
        with ledger.step("multipliers") as here:
            stalled = 0 if here.found is None else run.go_on(here.found)
            for step in range(run.steps + 1, self.steps + 1):
                run.step(whole=self._looks(step))
                mixture.problem.M.charge(2)
                self._tick(run, first=ends.upper == math.inf)
                if self._looks(step):
                    before = run.gap
                    dual = run.point()
                    yield Iterate(dual, dual.primal)
                    stalled = stalled + 1 if run.gap > self.falls * before else 0
                    if self._ends(run, before) or stalled == self.patience:
                        break
                if here.live and step % self.every == 0:
                    here.mark(run.noted(stalled))
        if not run.sure:
            dual = run.point(last=True)
            yield Iterate(dual, dual.primal)
        yield from self._to_the_point(mixture, run)

    def _ends(self, run: Multipliers, before: float) -> bool:
        """Whether the gap is as small as was asked for, and falls no faster than from so much before."""
        run.ends.not_low = run.full
        far = run.gap > self.beyond * self.tol or run.gap > self.fast * before
        return run.gap <= self.tight or (run.gap <= self.tol and far) or run.full

    def _looks(self, step: int) -> bool:
        return (step >= self.wait and step % self.every == 0) or step == self.steps

    def _tick(self, run: Multipliers, *, first: bool) -> None:
        """A run that is stopped before the first look ends with one."""
        try:
            ledger.tick()
        except ledger.Stopped:
            if first:
                run.step(whole=True)
                ledger.keep(run.answer())
            raise

    def _to_the_point(self, mixture: Mixture, run: Multipliers) -> Iterator[Iterate]:
        """Where S is sparse indeed: the best L of this rank, with as many entries left out, may be what all this tends
        to. If it meets the bound with a smaller gauge it is an answer."""
        m = mixture.problem.m
        count = int(np.count_nonzero(np.abs(run.Y) >= run.price * (1 - 1e-12)))
        if run.s.size and run.left.size and count < self.sparse * m and not run.ends.not_low:
            trims = Trims(mixture, self.trimming, min(round(self.spare * count) + 10, m))  # too many do no harm
            at = trims.settle((run.left * run.s, run.V), self.trimmed, self.trims, run.enough)
            point = Trims(mixture, self.trimming, None, run.delta).point(
                at
            )  # with no more entries than the bound needs
            if mixture.problem.meets(point.loss):
                run.ends.see(point.gauge)
            yield Iterate(primal=point, worth=-point.loss, at=mixture.problem)


class Multipliers:
    """Y and T = D - S - E + Y / mu; S and the error E are never formed."""

    sure = True  # whether what is known of the gap is proven

    def __init__(self, mixture: Mixture, settings: Splitting, ends: Ends) -> None:
        data, roles = mixture.data, mixture.roles
        assert mixture.delta is not None
        self.mixture, self.settings, self.ends = mixture, settings, ends
        self.price, self.delta = roles.price, mixture.delta
        big, (least, most) = data.largest, settings.holds
        single = data.D.size >= settings.large and least < big < most
        self.D = D = data.D.astype(np.float32) if single else data.D
        self.steps = 0
        self.cut, top = 0.0, self._top()
        self.mu, self.last = settings.first / top, settings.last / top
        self.Y = D * D.dtype.type(1.0 / max(top, big / self.price))
        self.T = self.Y * D.dtype.type(1.0 / self.mu)
        self.T += D
        self.L = np.empty_like(D)

    @property
    def data(self) -> Separated:
        return self.mixture.data

    def noted(self, stalled: int) -> Callable[[], Kept]:
        """Note where it is, for a checkpoint: copies of what is written over."""
        arrays, ends = {"Y": self.Y.copy(), "T": self.T.copy()} | self._subspaces(), self.ends
        told: dict[str, Plain] = {"steps": self.steps, "stalled": stalled, "not low": ends.not_low, "sure": self.sure}
        arrays["numbers"] = np.array([self.mu, self.cut, self.gap, ends.lower, ends.upper])
        return lambda: Kept("multipliers", told, arrays)

    def go_on(self, it: Kept) -> int:
        """Be there again: for how many looks the gap has not fallen."""
        told, arrays, ends = it.told, it.arrays, self.ends
        self.Y, self.T = (np.array(kept.numbers(arrays[name], 2)) for name in "YT")
        if self.T.dtype == self.data.D.dtype:
            self.D, self.L = self.data.D, np.empty_like(self.T)
        self.mu, self.cut, gap, ends.lower, ends.upper = kept.reals(arrays["numbers"], 5).tolist()
        self.steps, ends.not_low = kept.whole(told["steps"]), told["not low"] is True
        self._follow(arrays, gap, told["sure"] is True)
        return kept.whole(told["stalled"])

    def _subspaces(self) -> dict[str, Array]:
        """What the next step begins with."""
        return {}

    def _follow(self, arrays: Mapping[str, Array], gap: float, sure: bool) -> None:
        """Begin with that."""

    def step(self, *, whole: bool) -> None:
        """L from T; S, the error and Y from L; T for the next stiffness.

        `whole` keeps the left factor of L, which is not needed to go on.
        """
        data, mu, price = self.data, self.mu, self.price
        if (self.steps == self.settings.single or whole) and self.D is not data.D:
            self.D, self.T, self.Y = data.D, self.T.astype(np.float64), self.Y.astype(np.float64)
            self.L = np.empty_like(self.T)
        self.steps += 1
        following = min(self.settings.growth * mu, self.last)
        # with the error in a ball of radius delta, Y is clip(soft (D - L + Y / mu), price): E = Y / nu, |E| = delta
        length = float(np.linalg.norm(self.Y))
        soft = mu if self.delta == 0 else 1.0 / (self.delta / max(length, 1e-300) + 1.0 / mu)
        self._shrink(whole=whole)
        kernels.split_rows(
            self.D, self.T, self.L, self.Y, data.seen,
            soft=soft, mu=mu, following=following, price=price, ahead=self.settings.ahead,
        )  # fmt: skip
        self.mu = following

    def _top(self) -> float:
        """The largest singular value of D."""
        return self.data.top

    def _shrink(self, *, whole: bool) -> None:
        """L in the place for it, its singular values, and its factors: T with singular values less 1 / mu."""
        values, V = np.linalg.eigh(gram(self.T))
        s = np.sqrt(np.maximum(values, 0.0))
        kept = s > 1 / self.mu
        self.V, self.s = V[:, kept], s[kept] - 1 / self.mu
        shrunk = (self.V * (self.s / s[kept])) @ self.V.T
        self.left = self.T @ (self.V / s[kept]) if whole else np.empty((len(self.T), 0))
        np.matmul(self.T, shrunk.astype(self.T.dtype, copy=False), out=self.L)

    @property
    def full(self) -> bool:
        """Whether L has as many singular values as are made at most, if that is not all: it is not of low rank."""
        return False

    @property
    def enough(self) -> float:
        """A residual within which the last point need not be improved."""
        return 0.0

    @property
    def gap(self) -> float:
        """As far as it is known."""
        return self.ends.gap

    def point(self, *, last: bool = False) -> DualPoint:
        """Both ends of the gap, here; `last` asks for a proof that is as good as there is."""
        problem, data, scale = self.mixture.problem, self.data, abs(self.mixture.roles.low_scale)
        primal = self.answer()
        Y = self.Y
        for out in (self.L, None):  # two rounds
            Y = self._into_ball(Y, out)
            np.clip(Y, -self.price, self.price, out=Y)
            if data.seen is not None:
                Y *= data.seen  # a dual vector has no other entries, and without them it may be longer or shorter
        value = float(np.vdot(data.D, Y)) - self.delta * float(np.linalg.norm(Y))
        ceiling = self._ceiling(Y, lambda top: 1 - value / (max(top, 1e-300) * scale * primal.gauge), last=last)
        sigma = max(ceiling, float(max(Y.max(), -Y.min())) / self.price)
        self.ends.see(primal.gauge, value / (sigma * scale) if sigma > 0 else 0.0)
        Y = Y if scale == 1.0 else Y / scale
        return DualPoint(data.as_data(Y), data.as_model(Y), sigma, P3(problem), primal.loss, primal.gauge, primal)

    def _into_ball(self, Y: Array, out: Array | None) -> Array:
        """Singular values cut to 1, in another place."""
        values, V = np.linalg.eigh(gram(Y))
        return np.matmul(Y, (V / np.maximum(np.sqrt(np.maximum(values, 0.0)), 1.0)) @ V.T, out=out)

    def _ceiling(self, Y: Array, gap: Callable[[float], float], *, last: bool) -> float:
        """What no singular value exceeds. gap : for such a number, what would be left of it"""
        return math.sqrt(max(float(np.linalg.eigvalsh(gram(Y))[-1]), 0.0)) * (1 + 1e-12)

    def answer(self) -> Candidate:
        """L in factors with the smallest S that meets the bound: entries of the residual beyond a cut, less the cut."""
        data, low = self.data, (self.left, self.s, self.V)
        R = np.matmul(self.left * self.s, self.V.T, out=self.L)  # L itself is made anew by the next step
        np.subtract(data.D, R, out=R)
        if data.seen is not None:
            R *= data.seen
        self.cut = cut_to(R, max(self.delta - self.settings.within * data.size, 0.0), self.cut)
        squares, kept, total, _ = kernels.clipped_sums(R, self.cut)
        gauge = self.mixture.roles.gauge(float(self.s.sum()), total - kept)
        loss = 0.5 * self.data.unit * squares
        return Candidate(
            loss, gauge, partial(_made, self.mixture, low, self.cut), partial(_left, self.mixture, low, self.cut)
        )


class PartialMultipliers(Multipliers):
    """The same for long sides: of every matrix only the leading singular triplets are made, near those of the last.

    What they miss moves L a little from its place; both ends of the gap are what they are all the same.
    """

    def __init__(self, mixture: Mixture, settings: Splitting, ends: Ends) -> None:
        q = mixture.data.D.shape[1]
        most = max(1, round(settings.low * q))
        self._of_T, self._of_Y = Leading(q, most), Leading(q, most)
        self.sure, self._gap = False, math.inf
        super().__init__(mixture, settings, ends)

    def _subspaces(self) -> dict[str, Array]:
        return {"of T": self._of_T.V, "of Y": self._of_Y.V}

    def _follow(self, arrays: Mapping[str, Array], gap: float, sure: bool) -> None:
        self._of_T.V, self._of_Y.V = (kept.numbers(arrays[name], 2) for name in ("of T", "of Y"))
        self._gap, self.sure = gap, sure

    @property
    def full(self) -> bool:
        return self.s.size >= self._of_T.most

    def _top(self) -> float:
        return float(self._of_T.of(self.D, math.inf, self.settings.first_passes)[1][0])

    def _shrink(self, *, whole: bool) -> None:
        U, s, V = self._of_T.of(self.T, 1 / self.mu, self.settings.passes)
        kept = s > 1 / self.mu
        self.left, self.V, self.s = U[:, kept], V[:, kept], s[kept] - 1 / self.mu
        np.matmul(self.left * self.s.astype(self.left.dtype), self.V.T, out=self.L)

    def _into_ball(self, Y: Array, out: Array | None) -> Array:
        U, s, V = self._of_Y.of(Y, 1.0, self.settings.passes)
        beyond = s > 1.0
        cut = np.matmul(U[:, beyond] * (s[beyond] - 1.0), V[:, beyond].T, out=out)
        return np.subtract(Y, cut, out=cut)

    @property
    def gap(self) -> float:
        return self._gap

    @property
    def enough(self) -> float:
        return self.settings.inside * self.delta

    def _ceiling(self, Y: Array, gap: Callable[[float], float], *, last: bool) -> float:
        """A proof takes as long as many steps: one that is easy and poor, until a good one is worth it."""
        top = float(self._of_Y.of(Y, 1.0, self.settings.first_passes)[1][0])
        self._gap = min(self._gap, gap(top))
        self.sure = last or self._gap <= self.settings.tol
        if self.sure:
            top = at_most(Y, top)
            self._gap = gap(top)
            return top
        sizes = np.abs(Y)
        return math.sqrt(float(sizes.sum(axis=0).max()) * float(sizes.sum(axis=1).max())) * (1 + 1e-9)


def _made(mixture: Mixture, low: Triple, cut: float) -> Compact:
    (left, s, V), data = low, mixture.data
    P, s, Q = decomposed(left * s, V)
    R = data.left(P * s, Q)
    where, values = data.entries(R, np.abs(R) > cut)
    values -= np.clip(values, -cut, cut)
    P, Q = data.factors(P, Q)
    return mixture.roles.face((P, s, Q), (where, values))


def _left(mixture: Mixture, low: Triple, cut: float) -> FloatArray:
    (left, s, V), data = low, mixture.data
    return data.as_data(np.clip(data.left(left * s, V), -cut, cut))
