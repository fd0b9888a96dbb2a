"""Steps on the low-rank part, under one rule for the residuals that are left to the sparse part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import kept, ledger, words
from fewatoms._types import Array, FloatArray, Foreign
from fewatoms.candidates import Candidate, Compact
from fewatoms.kept import Kept
from fewatoms.methods.separation.matrix import Low, Mixture, Separated, decomposed
from fewatoms.methods.separation.partial import leading_right
from fewatoms.methods.separation.rules import Rule

if TYPE_CHECKING:
    from fewatoms.methods.separation.trimming import Trimming


class Trims:
    """L by subspace iteration on L + R, R what the rule leaves of the residual."""

    def __init__(
        self,
        mixture: Mixture,
        settings: Trimming,
        count: int | None,
        delta: float | None = None,
        *,
        rank: int = 0,
        noise: tuple[Array, Array] | None = None,
    ) -> None:
        self.mixture, self.settings = mixture, settings
        self.rule = Rule(mixture, settings, count, delta, rank * (sum(mixture.data.D.shape) - rank), noise)

    @property
    def data(self) -> Separated:
        return self.mixture.data

    def residual(self, U: Array, V: Array) -> Array:
        """A pass over the data: as many products as columns."""
        self.mixture.charge(U.shape[1])
        ledger.tick()
        return self.data.left(U, V)

    def left(self, at: Low) -> Array:
        """The residual of a point that is an answer if the run is stopped here."""
        with self._answers(at):
            return self.residual(*at)

    @contextmanager
    def _answers(self, at: Low) -> Iterator[None]:
        """A run that is stopped inside the block, with nothing found so far, ends with this point."""
        try:
            yield
        except ledger.Stopped:
            if ledger.current().found is None:
                ledger.keep(self.answer(at))
            raise

    def answer(self, at: Low) -> Candidate:
        """A point of all the data."""
        whole = self.mixture.whole
        if whole is None:
            return self.point(at)
        V = at[1]
        run = Trims(whole, self.settings, None, rank=V.shape[1])
        return run.point((whole.data.weighed(np.array(whole.data.nothing_explained)) @ V, V))

    def needed(self, at: Low, floor: float = 0.0) -> int:
        """How many residuals the rule leaves out, of this size or more."""
        return int(np.count_nonzero(self.rule.left_out(self.left(at), floor)))

    # Where to begin ---------------------------------------------------------------------------------------------------

    def starts(self, rank: int) -> Iterator[Low]:
        """At the end of the ladder; at the leading singular vectors of the data, and of the data without their largest
        entries; at random places, which small matrices, where single entries decide, may need."""
        yield self.down(rank)
        problem = self.mixture.problem
        small = self.data.count <= self.settings.small
        if problem.alpha is not None or small:
            whole = self.data.nothing_explained
            rest = self.data.weighed(np.where(self.rule.left_out(whole), 0.0, whole))
            for X in (self.data.weighed(np.array(whole)), rest):
                V = leading_right(X, rank)
                yield X @ V, V
            for _ in range(self.settings.others if small else 0):
                V = self._anywhere(rank)
                yield rest @ V, V

    def down(self, rank: int) -> Low:
        """Down the ladder of thresholds, one step each."""
        settings, whole = self.settings, self.data.nothing_explained
        t = self.rule.edge(whole)
        if not 0 < t < math.inf:
            t = self.data.largest
        V = self._anywhere(rank)
        Y = self.data.weighed(np.clip(whole, -t, t))
        for _ in range(3):
            V = np.linalg.qr(Y.T @ (Y @ V))[0]
        at, first = (Y @ V, V), 0
        with ledger.step("ladder") as here:
            if here.found is not None:
                at, first, t = lows_of(here.found)[0], int(numbers_of(here.found)[0]), numbers_of(here.found)[1]
            for rung in range(first, settings.rungs):
                R = self.left(at)
                edge = self.rule.edge(R)
                last = t <= edge or (edge <= settings.apart * t and self.rule.threshold(R) >= t)
                at = advanced(at, at[1], self.data.weighed(np.clip(R, -t, t, out=R)))
                if last:
                    break
                t *= settings.rung
                here.mark(partial(kept_lows, (at,), rung + 1, t))
        return at

    def _anywhere(self, rank: int) -> Array:
        return np.linalg.qr(ledger.generator().standard_normal((self.data.D.shape[1], rank)))[0]

    # How to go on -----------------------------------------------------------------------------------------------------

    def soften(self, at: Low, steps: int) -> Low:
        """Steps with momentum on L, residuals clipped near the noise that they show: gross errors pull, but not far,
        and none is left out for good. Until the noise stays the same. (It may fall fast, where most of L is known: what
        is not is clipped as well, and must have time to be learned.)"""
        settings = self.settings
        before: Low | None = None
        first, weight, noise, calm, t = 0.0, 1.0, math.inf, 0.0, 0.0
        with ledger.step("softly") as here:
            if here.found is not None:
                at, before = lows_of(here.found)
                first, weight, noise, calm, t = numbers_of(here.found)
            for step in range(int(first), steps):
                ahead, _, weight = hurried(at, before, weight)
                with self._answers(at):
                    R = self.residual(*ahead)
                last, noise = noise, self.rule.deviation(R)
                calm = calm + 1 if abs(last - noise) <= settings.roughly * noise else 0
                if noise <= self.rule.floor or calm == settings.patience:
                    break
                t = max(settings.soft * noise, settings.rung * t)
                before, at = at, advanced(ahead, at[1], self.data.weighed(np.clip(R, -t, t, out=R)))
                here.mark(partial(kept_lows, (at, before), step + 1, weight, noise, calm, t))
        return at

    def descend(self, at: Low, tol: float, steps: int, enough: float = 0.0) -> Iterator[Low]:
        """Steps with momentum on L; one that lengthens the trimmed residual is done again without. One of a length that
        is enough ends them."""
        before: Low | None = None
        step, weight, reached, gain = 0, 1.0, math.inf, math.inf
        tol *= self.data.share**2  # steps are shorter where less is seen
        with ledger.step("steps") as here:
            if here.found is not None:
                at, before = lows_of(here.found)
                done, weight, reached, gain = numbers_of(here.found)
                step = int(done)
                if step % self.settings.look == 0:
                    yield at
            goes_on = step == 0 or self._goes_on(gain, reached, tol, enough)
            while goes_on and step < steps:
                step += 1
                ahead, beta, weight = hurried(at, before, weight)
                with self._answers(at):
                    R = self.residual(*ahead)
                R[self.rule.left_out(R)] = 0.0
                length = float(np.linalg.norm(self.data.priced(R)))
                if length > reached and beta > 0:
                    before, weight = None, 1.0
                    continue
                gain, reached = reached - length, min(reached, length)
                before, at = at, advanced(ahead, at[1], self.data.pulled(R))
                here.mark(partial(kept_lows, (at, before), step, weight, reached, gain))
                if step % self.settings.look == 0:
                    yield at
                goes_on = self._goes_on(gain, reached, tol, enough)
            yield at

    def _goes_on(self, gain: float, reached: float, tol: float, enough: float) -> bool:
        """Whether a descent has more to gain."""
        return gain > tol * reached and reached > max(enough, self.settings.exact * self.data.size)

    def settle(self, at: Low, tol: float, steps: int, enough: float = 0.0) -> Low:
        """Where a descent ends."""
        *_, at = self.descend(at, tol, steps, enough)
        return at

    # What it makes ----------------------------------------------------------------------------------------------------

    def point(self, at: Low) -> Candidate:
        """L, and the entries of D - L that the rule leaves out; atoms are made if somebody asks for them."""
        data, rule, roles = self.data, self.rule, self.mixture.roles
        R = data.left(*at)
        out = rule.left_out(R, rule.floor)
        one_norm, nuclear = float(data.lengths(R, out).sum()), float(np.linalg.svd(np.linalg.qr(at[0])[1])[1].sum())
        count, note = int(np.count_nonzero(out)), ""
        if rule.by_noise:
            deviation, sizes = rule.threshold(R) / self.settings.stands_out, rule.priced(R)
            least = min(rule.bar(sizes), float(np.abs(sizes[out]).min(initial=math.inf)))
            times = least / deviation if count else math.inf
            own = 0 if rule.noise is None else sum(int(np.count_nonzero(lines > 1)) for lines in rule.noise)
            note = words.stands_out(count, math.sqrt(data.unit) * deviation, times, own)
        R[out] = 0.0
        R = data.priced(R)
        (p, q), rank = R.shape, at[1].shape[1]
        return Candidate(
            0.5 * data.unit * float(np.vdot(R, R)),
            roles.gauge(nuclear, one_norm),
            partial(self._made, at),
            partial(self._left, at),
            note=note,
            known_freedom=rank * (p + q - rank) + count,
        )

    def _made(self, at: Low) -> Compact:
        data = self.data
        P, s, Q = decomposed(*at)
        keep = s > self.settings.exact * max(float(s[0]), data.size)
        P, s, Q = P[:, keep], s[keep], Q[:, keep]
        R = data.left(P * s, Q)
        P, Q = data.factors(P, Q)
        return self.mixture.roles.face((P, s, Q), data.entries(R, self.rule.left_out(R, self.rule.floor)))

    def _left(self, at: Low) -> FloatArray:
        R = self.data.left(*at)
        R[self.rule.left_out(R, self.rule.floor)] = 0.0
        return self.data.as_data(R)


def kept_lows(points: Sequence[Low | None], *numbers: float) -> Kept:
    """Points on the way, the last one first, for a checkpoint."""
    arrays = {f"{name} {i}": at[j] for i, at in enumerate(points) if at is not None for j, name in enumerate("UV")}
    return Kept("lows", {"numbers": [float(v) for v in numbers], "count": len(points)}, arrays)


def lows_of(it: Kept) -> list[Foreign]:
    """These points."""
    count = kept.whole(it.told["count"])
    return [(it.arrays[f"U {i}"], it.arrays[f"V {i}"]) if f"U {i}" in it.arrays else None for i in range(count)]


def numbers_of(it: Kept) -> list[float]:
    """And the numbers beside them."""
    return [kept.real(v) for v in kept.rows(it.told["numbers"])]


def hurried(at: Low, before: Low | None, weight: float) -> tuple[Low, float, float]:
    """Beyond a point in the direction that it came from; how far, and the next weight of Nesterov's sequence."""
    if before is None:
        return at, 0.0, weight
    following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * weight**2))
    beta = (weight - 1.0) / following
    if beta == 0:
        return at, 0.0, following
    left = np.concatenate([(1 + beta) * at[0], -beta * before[0]], axis=1)
    return (left, np.concatenate([at[1], before[1]], axis=1)), beta, following


def advanced(at: Low, V: Array, R: Array) -> Low:
    """One step of subspace iteration, from V, on the matrix `at` + R."""
    left, right = at
    Q = np.linalg.qr(left @ (right.T @ V) + R @ V)[0]
    V, S = np.linalg.qr(right @ (left.T @ Q) + R.T @ Q)
    return Q @ S.T, V
