"""Principal component pursuit with a bound: the method of multipliers, whose multiplier is the dual vector."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fewatoms import _checks, kernels
from fewatoms._types import Array, FloatArray
from fewatoms.atoms.sums import Union
from fewatoms.faces import Face
from fewatoms.factored import balanced
from fewatoms.oracles.trimming import Rule, Trims
from fewatoms.problem import Problem
from fewatoms.relaxations import P3
from fewatoms.separated import Separated, cut_to, gram
from fewatoms.solution import DualPoint, LazyCandidate

FIRST, GROWTH, LAST = 1.25, 2.0, 120.0  # the stiffness mu, in units of 1 / (largest singular value): start, factor, end
SINGLE, LARGE = 10, 1_000_000  # first steps in single precision, from this many entries on
ORDINARY = 1e-12, 1e12  # sizes of data that it can hold
AHEAD = 1.7  # over-relaxation
WAIT, EVERY = 18, 3  # steps before the first look at the gap, and from one to the next
BEYOND, FAST, TIGHT = 0.1, 0.25, 1e-8  # a gap that far below what was asked, falling as fast from look to look, goes on
SPARE = 1.1  # times as many entries as the multiplier says: it may not know all of them yet
SPARSE = 0.5  # of the entries: what is no longer sparse
TRIMMED, TRIMS = 1e-4, 100  # how well, and in how many steps, such points are found
WITHIN = 1e-14  # of |b|: how far inside the bound answers stay, so that rounding does not take them out


class Splitting:
    """minimise |L|_* + price |S|_1 subject to |b - M(L + S)| <= delta: (P3) for a union of rank-one matrices and matrix
    entries.

    Steps of the alternating direction method of multipliers (over-relaxed; L against S and the error together) move a
    multiplier Y, kept beside the data and two work arrays of their size. Every few steps both ends are looked at:
    below, Y moved into the two dual balls by turns and scaled; above, L with the smallest S that meets the bound, which
    is an answer. The stream ends when these are within a share of `tol` of each other.

    Parameters
    ----------
    tol : float
        Relative duality gap; the stream goes on beyond it as long as the gap falls fast, as it does where the data are
        low rank plus sparse indeed.
    steps : int
        At most.
    """

    exhaustive = True
    patience = 1_000_000

    def __init__(self, *, tol: float = 2e-3, steps: int = 1000) -> None:
        self.tol, self.steps = _checks.number("tol", tol), _checks.integer("steps", steps, 1)

    def iterates(self, problem: Problem) -> Iterator[DualPoint]:
        if not problem.separable or problem.alpha is None or not isinstance(problem.atoms, Union):
            raise ValueError(
                "Splitting is for a union of RankOne and SignedOneHot, Identity or Sampling, least squares and a "
                f"bound; got {problem.atoms!r}, {problem.M.inner!r}, {problem.loss!r}"
            )
        run = _Multipliers(problem, problem.separated)
        gap = math.inf
        for step in range(1, self.steps + 1):
            look = (step >= WAIT and step % EVERY == 0) or step == self.steps
            run.step(whole=look)
            problem.M.products += 2
            if look:
                before = gap
                yield run.point()
                gap = (run.upper - run.lower) / max(run.upper, 1e-300)
                far = gap > BEYOND * self.tol or gap > FAST * before
                if gap <= TIGHT or (gap <= self.tol and far):
                    break
        yield from self._to_the_point(problem, run)

    def _to_the_point(self, problem: Problem, run: _Multipliers) -> Iterator[DualPoint]:
        """Where S is sparse indeed: the best L of this rank, with as many entries left out, may be what all this tends
        to. If it meets the bound with a smaller gauge it is an answer."""
        count = int(np.count_nonzero(np.abs(run.Y) >= run.price * (1 - 1e-12)))
        if run.s.size and run.left.size and count < SPARSE * problem.m:
            trims = Trims(problem, Rule(problem, min(round(SPARE * count) + 10, problem.m)))  # too many do no harm
            *_, at = trims.descend((run.left * run.s, run.V), TRIMMED, TRIMS)
            yield Trims(problem, Rule(problem, None, run.delta)).point(at)  # with no more entries than the bound needs


class _Multipliers:
    """Y and T = D - S - E + Y / mu; S and the error E are never formed."""

    def __init__(self, problem: Problem, data: Separated) -> None:
        roles = problem.roles
        assert problem.alpha is not None
        self.problem, self.data, self.roles, self.price = problem, data, roles, roles.price
        self.delta = math.sqrt(2 * problem.alpha)
        big = data.largest
        single = data.D.size >= LARGE and ORDINARY[0] < big < ORDINARY[1]
        self.D = D = data.D.astype(np.float32) if single else data.D
        self.steps = 0
        self.lower, self.upper, self.cut = -math.inf, math.inf, 0.0
        self.mu, self.last = FIRST / data.top, LAST / data.top
        self.Y = D * D.dtype.type(1.0 / max(data.top, big / self.price))
        self.T = self.Y * D.dtype.type(1.0 / self.mu)
        self.T += D
        self.L, self.G = np.empty_like(D), gram(self.T)

    def step(self, *, whole: bool) -> None:
        """L from T; S, the error and Y from L; T for the next stiffness, and its Gram matrix.

        `whole` keeps the left factor of L, which is not needed to go on.
        """
        data, mu, price = self.data, self.mu, self.price
        if (self.steps == SINGLE or whole) and self.D is not data.D:
            self.D, self.T, self.Y = data.D, self.T.astype(np.float64), self.Y.astype(np.float64)
            self.L, self.G = np.empty_like(self.T), gram(self.T)
        self.steps += 1
        values, V = np.linalg.eigh(self.G)
        s = np.sqrt(np.maximum(values, 0.0))
        kept = np.maximum(s - 1 / mu, 0.0)
        self.V, self.s = V[:, kept > 0], kept[kept > 0]
        shrunk = (V[:, kept > 0] * (self.s / s[kept > 0])) @ V[:, kept > 0].T
        W = V[:, kept > 0] / s[kept > 0]
        following = min(GROWTH * mu, self.last)
        # with the error in a ball of radius delta, Y is clip(soft (D - L + Y / mu), price): E = Y / nu, |E| = delta
        length = float(np.linalg.norm(self.Y))
        soft = mu if self.delta == 0 else 1.0 / (self.delta / max(length, 1e-300) + 1.0 / mu)
        self.left = self.T @ W if whole else np.empty((len(self.T), 0))
        np.matmul(self.T, shrunk.astype(self.T.dtype, copy=False), out=self.L)
        kernels.split_rows(
            self.D, self.T, self.L, self.Y, data.seen,
            soft=soft, mu=mu, following=following, price=price, ahead=AHEAD,
        )  # fmt: skip
        self.G, self.mu = gram(self.T), following

    def point(self) -> DualPoint:
        """Both ends of the gap, here."""
        problem, data, scale = self.problem, self.data, abs(self.roles.low_scale)
        R = np.matmul(self.left * self.s, self.V.T, out=self.L)  # L itself is made anew by the next step
        np.subtract(data.D, R, out=R)
        if data.seen is not None:
            R *= data.seen
        self.cut = cut_to(R, max(self.delta - WITHIN * data.size, 0.0), self.cut)
        primal = SplitCandidate(problem, (self.left, self.s, self.V), self.cut, R)
        Y = self.Y
        for out in (self.L, None):  # two rounds; R is not needed any more
            values, V = np.linalg.eigh(gram(Y))
            Y = np.matmul(Y, (V / np.maximum(np.sqrt(np.maximum(values, 0.0)), 1.0)) @ V.T, out=out)
            np.clip(Y, -self.price, self.price, out=Y)
            if data.seen is not None:
                Y *= data.seen  # a dual vector has no other entries, and without them it may be longer or shorter
        top = math.sqrt(max(float(np.linalg.eigvalsh(gram(Y))[-1]), 0.0)) * (1 + 1e-12)
        y = data.as_data(Y)
        y = y if scale == 1.0 else y / scale
        sigma = max(top, float(max(Y.max(), -Y.min())) / self.price)
        relaxation = P3(problem)
        self.upper = min(self.upper, primal.gauge)
        value = float(np.vdot(data.D, Y)) - self.delta * float(np.linalg.norm(Y))
        self.lower = max(self.lower, value / (sigma * scale) if sigma > 0 else 0.0)
        return DualPoint(y, problem.M.inner.adjoint(y), sigma, relaxation, primal.loss, primal.gauge, primal)


class SplitCandidate(LazyCandidate):
    """L in factors, and the entries of D - L beyond a threshold, less the threshold."""

    _low: tuple[Array, FloatArray, Array]
    _cut: float

    def __init__(self, problem: Problem, low: tuple[Array, FloatArray, Array], cut: float, R: Array) -> None:
        squares, kept, total, _ = kernels.clipped_sums(R, cut)
        gauge = problem.roles.gauge(float(low[1].sum()), total - kept)
        super().__init__(problem, 0.5 * squares, gauge, _low=low, _cut=cut)

    def _made(self) -> tuple[Face, FloatArray]:
        roles, data = self._problem.roles, self._problem.separated
        left, s, right = self._low
        P, s, Q = balanced(left * s, right)
        R = data.left(P * s, Q)
        where, values = data.entries(R, np.abs(R) > self._cut)
        values -= np.clip(values, -self._cut, self._cut)
        P, Q = data.factors(P, Q)
        return roles.face((P, s, Q), (where, values))

    @property
    def residual(self) -> FloatArray:  # type: ignore[override]
        data = self._problem.separated
        left, s, right = self._low
        return data.as_data(np.clip(data.left(left * s, right), -self._cut, self._cut))


__all__ = ["Splitting"]
