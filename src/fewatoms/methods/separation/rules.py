"""Which residuals are left to the sparse part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import linalg
from fewatoms._types import Array, FloatArray
from fewatoms.methods.separation.matrix import Mixture, largest
from fewatoms.methods.sums import NORMAL_MEDIAN

if TYPE_CHECKING:
    from fewatoms.methods.separation.trimming import Trimming


class Rule:
    """`count` of them, or so many that the rest is no longer than `delta`, or those that stand out of the noise.

    floor : residuals below it are never told apart from nothing
    fitted : numbers of L that were chosen freely; so many residuals are no noise, but what is left of it
    noise : of rows and of columns, in units of that of all; None where there is one for all
    """

    def __init__(
        self,
        mixture: Mixture,
        settings: Trimming,
        count: int | None,
        delta: float | None = None,
        fitted: int = 0,
        noise: tuple[Array, Array] | None = None,
    ) -> None:
        self.count, self.delta, self.fitted, self.noise = count, delta, fitted, noise
        self._m = mixture.data.count
        self._kept, self._settings = mixture.kept, settings  # (rules outlive the data that a job keeps)
        self._allowed = count  # residuals to leave out at most
        self._guess: float | None = None
        self._edge: float | None = None
        self.top = mixture.data.largest
        self.floor = settings.faint * self.top if delta is None else 0.0

    @property
    def by_noise(self) -> bool:
        return self.count is None and self.delta is None

    def threshold(self, R: Array) -> float:
        """The least size of a residual that is left out, or may be; infinite if none is."""
        return self._threshold(self.priced(R))

    def priced(self, R: Array) -> Array:
        """Residuals by what they cost; where noise decides in units of the data, and by that of their line."""
        if not self.by_noise:
            return self._kept.data.priced(R)
        return R if self.noise is None else R / np.maximum(*np.ix_(*self.noise))

    def _threshold(self, R: Array) -> float:
        if self.by_noise:
            return max(self._settings.stands_out * self.deviation(R), self.floor)
        a = np.abs(R).ravel()
        if self.delta is not None:
            return self._beyond(a, self.delta)
        assert self.count is not None
        self._guess = largest(a, self.count, self._guess, self._settings.near) if self.count < a.size else 0.0
        return self._guess

    def bar(self, R: Array) -> float:
        """The threshold of residuals that are priced; of noise raised until, of the entries beyond it, all but a few
        are more than normal noise would have there: where there are no gross errors, none is found, however many
        entries there are."""
        if not self.by_noise:
            return self._threshold(R)
        from scipy.special import erfc  # takes long to import, for those who never come here

        size, deviation = np.abs(R).ravel(), self.deviation(R)
        t = max(self._settings.stands_out * deviation, self.floor)
        beyond = np.sort(size[size >= t])[::-1]
        units = math.sqrt(2) * max(deviation, math.ulp(0.0))
        with np.errstate(over="ignore"):
            by_chance = self._m * erfc(beyond / units)
        (sure,) = np.nonzero(by_chance <= self._settings.mistaken * np.arange(1, beyond.size + 1))
        return float(beyond[sure[-1]]) if sure.size else math.inf

    def deviation(self, R: Array) -> float:
        """The standard deviation of normal noise that leaves residuals with this median, so many numbers fitted."""
        return NORMAL_MEDIAN * self.middle(R) / math.sqrt(self._free)

    @property
    def _free(self) -> float:
        """The share of the data that is left to noise."""
        return max(1 - self.fitted / self._m, 1 - self._settings.filled)

    def middle(self, R: Array) -> float:
        """The median size of residuals that are seen."""
        a = self._some(R, self._settings.glimpsed)
        half = a.size // 2
        low, high = np.partition(a, (max(half - 1, 0), half))[[max(half - 1, 0), half]]
        return float(high if a.size % 2 else 0.5 * (low + high))  # (np.median takes as long again, on small matrices)

    def scale(self, R: Array) -> float:
        """The s at which the mean of min((R / s)^2, 1), over as many as are left to noise, is `settings.level`."""
        return self.scale_of(self._some(R, self._settings.sampled))

    def scale_of(self, sizes: FloatArray) -> float:
        """That of some residuals, given by their sizes."""
        squares = np.sort(np.square(sizes))
        goal = self._settings.level * self._free * squares.size
        # The mean is the least, over j, of what it would be with the j smallest inside and the others beyond s.
        room = goal - np.arange(squares.size - 1, -1, -1)
        inside = room > 0
        return math.sqrt(float((np.cumsum(squares)[inside] / room[inside]).min()))

    def _some(self, R: Array, count: int) -> FloatArray:
        """Sizes of residuals that are seen, or of about so many of them where there are more."""
        seen = self._kept.data.seen
        apart = max(1, R.size // count)
        while math.gcd(apart, R.shape[1]) > 1:  # entries of all columns
            apart += 1
        a = np.abs(R.ravel()[::apart])
        return a if seen is None else a[seen.ravel()[::apart]]

    def left_out(self, R: Array, floor: float = 0.0) -> Array:
        """Where residuals are left out: no more of them than allowed, however many are equal."""
        R = self.priced(R)
        size = np.abs(R)
        out = size >= max(self.bar(R), floor)
        if self._allowed is not None and np.count_nonzero(out) > self._allowed:
            chosen = linalg.top_k(size.ravel(), self._allowed)
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
        self._edge = largest(np.abs(R).ravel(), self.count + 1, self._edge, self._settings.near)
        return self._edge

    def _beyond(self, a: FloatArray, delta: float) -> float:
        """The largest threshold for which the residuals below it are no longer than delta together."""
        order = np.sort(a)
        below = np.sqrt(np.cumsum(order**2))
        inside = int(np.searchsorted(below, delta * (1 + 1e-12), side="right"))
        self._allowed = a.size - inside
        return float(order[inside]) if inside < a.size else math.inf
