"""Principal component pursuit with a bound: the method of multipliers, whose multiplier is the dual vector."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from fewatoms import _checks, kernels, ledger
from fewatoms._types import Array, FloatArray
from fewatoms.candidates import Candidate, Compact, DualPoint, Iterate
from fewatoms.methods.separation.matrix import Mixture, Separated, cut_to, decomposed, gram
from fewatoms.methods.separation.steps import Trims
from fewatoms.methods.separation.trimming import Trimming
from fewatoms.relaxations import P3

Triple = tuple[Array, FloatArray, Array]  # left factor, singular values, right factor


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
    wait, every : steps before the first look at the gap, and from one to the next
    beyond, fast, tight : a gap that far below what was asked, falling as fast from look to look, goes on; down to where
    spare : times as many entries as the multiplier says: it may not know all of them yet
    sparse : of the entries: what is no longer sparse
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
    wait: int = 18
    every: int = 3
    beyond: float = 0.1
    fast: float = 0.25
    tight: float = 1e-8
    spare: float = 1.1
    sparse: float = 0.5
    trimming: Trimming = field(default_factory=Trimming)
    trimmed: float = 1e-4
    trims: int = 100
    within: float = 1e-14

    def __post_init__(self) -> None:
        _checks.number("tol", self.tol)
        _checks.integer("steps", self.steps, 1)

    def iterates(self, mixture: Mixture) -> Iterator[Iterate]:
        run = Multipliers(mixture, self)
        gap = math.inf
        for step in range(1, self.steps + 1):
            look = (step >= self.wait and step % self.every == 0) or step == self.steps
            run.step(whole=look)
            mixture.problem.M.charge(2)
            self._tick(run, first=gap == math.inf)
            if look:
                before = gap
                dual = run.point()
                yield Iterate(dual, dual.primal)
                gap = (run.upper - run.lower) / max(run.upper, 1e-300)
                far = gap > self.beyond * self.tol or gap > self.fast * before
                if gap <= self.tight or (gap <= self.tol and far):
                    break
        yield from self._to_the_point(mixture, run)

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
        if run.s.size and run.left.size and count < self.sparse * m:
            trims = Trims(mixture, self.trimming, min(round(self.spare * count) + 10, m))  # too many do no harm
            at = trims.settle((run.left * run.s, run.V), self.trimmed, self.trims)
            point = Trims(mixture, self.trimming, None, run.delta).point(
                at
            )  # with no more entries than the bound needs
            yield Iterate(primal=point, worth=-point.loss, at=mixture.problem)


class Multipliers:
    """Y and T = D - S - E + Y / mu; S and the error E are never formed."""

    def __init__(self, mixture: Mixture, settings: Splitting) -> None:
        data, roles = mixture.data, mixture.roles
        assert mixture.delta is not None
        self.mixture, self.settings = mixture, settings
        self.price, self.delta = roles.price, mixture.delta
        big, (least, most) = data.largest, settings.holds
        single = data.D.size >= settings.large and least < big < most
        self.D = D = data.D.astype(np.float32) if single else data.D
        self.steps = 0
        self.lower, self.upper, self.cut = -math.inf, math.inf, 0.0
        self.mu, self.last = settings.first / data.top, settings.last / data.top
        self.Y = D * D.dtype.type(1.0 / max(data.top, big / self.price))
        self.T = self.Y * D.dtype.type(1.0 / self.mu)
        self.T += D
        self.L, self.G = np.empty_like(D), gram(self.T)

    @property
    def data(self) -> Separated:
        return self.mixture.data

    def step(self, *, whole: bool) -> None:
        """L from T; S, the error and Y from L; T for the next stiffness, and its Gram matrix.

        `whole` keeps the left factor of L, which is not needed to go on.
        """
        data, mu, price = self.data, self.mu, self.price
        if (self.steps == self.settings.single or whole) and self.D is not data.D:
            self.D, self.T, self.Y = data.D, self.T.astype(np.float64), self.Y.astype(np.float64)
            self.L, self.G = np.empty_like(self.T), gram(self.T)
        self.steps += 1
        values, V = np.linalg.eigh(self.G)
        s = np.sqrt(np.maximum(values, 0.0))
        kept = np.maximum(s - 1 / mu, 0.0)
        self.V, self.s = V[:, kept > 0], kept[kept > 0]
        shrunk = (V[:, kept > 0] * (self.s / s[kept > 0])) @ V[:, kept > 0].T
        W = V[:, kept > 0] / s[kept > 0]
        following = min(self.settings.growth * mu, self.last)
        # with the error in a ball of radius delta, Y is clip(soft (D - L + Y / mu), price): E = Y / nu, |E| = delta
        length = float(np.linalg.norm(self.Y))
        soft = mu if self.delta == 0 else 1.0 / (self.delta / max(length, 1e-300) + 1.0 / mu)
        self.left = self.T @ W if whole else np.empty((len(self.T), 0))
        np.matmul(self.T, shrunk.astype(self.T.dtype, copy=False), out=self.L)
        kernels.split_rows(
            self.D, self.T, self.L, self.Y, data.seen,
            soft=soft, mu=mu, following=following, price=price, ahead=self.settings.ahead,
        )  # fmt: skip
        self.G, self.mu = gram(self.T), following

    def point(self) -> DualPoint:
        """Both ends of the gap, here."""
        problem, data, scale = self.mixture.problem, self.data, abs(self.mixture.roles.low_scale)
        primal = self.answer()
        Y = self.Y
        for out in (self.L, None):  # two rounds
            values, V = np.linalg.eigh(gram(Y))
            Y = np.matmul(Y, (V / np.maximum(np.sqrt(np.maximum(values, 0.0)), 1.0)) @ V.T, out=out)
            np.clip(Y, -self.price, self.price, out=Y)
            if data.seen is not None:
                Y *= data.seen  # a dual vector has no other entries, and without them it may be longer or shorter
        top = math.sqrt(max(float(np.linalg.eigvalsh(gram(Y))[-1]), 0.0)) * (1 + 1e-12)
        sigma = max(top, float(max(Y.max(), -Y.min())) / self.price)
        self.upper = min(self.upper, primal.gauge)
        value = float(np.vdot(data.D, Y)) - self.delta * float(np.linalg.norm(Y))
        self.lower = max(self.lower, value / (sigma * scale) if sigma > 0 else 0.0)
        Y = Y if scale == 1.0 else Y / scale
        return DualPoint(data.as_data(Y), data.as_model(Y), sigma, P3(problem), primal.loss, primal.gauge, primal)

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
