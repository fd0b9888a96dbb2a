"""The relaxations (P1) and (P3) over semidefinite matrices, solved in the space of y: few data, exact bounds.

The dual keeps lam I - M*y positive definite (lam = 1 for (P3)); with mu times the logarithm of its determinant as a
barrier it is smooth, and Newton's method follows its solutions as mu falls:

    minimise  -<b, y> + |y|^2 / 2  -  mu log det(lam I - M*y)        (P1)
    minimise  -<b, y> + delta |y|  -  mu log det(I - M*y)            (P3), delta = sqrt(2 alpha)

For Huber's loss y stays within its limits d, with -mu log(1 - y_j^2 / d_j^2) for each. Every y on the way is feasible.
X = mu (lam I - M*y)^-1 is the primal point that goes with it: it is positive definite, b - M(X) is y (or
delta y / |y|) once a step is exact, and what both leave open is n mu, and 2 mu for each limit.

Reference: Boyd, Vandenberghe, "Convex Optimization" (2004), 11.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from fewatoms import ledger, linalg
from fewatoms._types import Array, FloatArray
from fewatoms.retrieval.forms import Semiforms, loss_of, slope_of


@dataclass(frozen=True, eq=False)
class Central:
    """Where a barrier ended.

    y : feasible for the dual
    X : the primal point that goes with it, positive definite
    loss, gauge : of X
    solved : whether the gap is closed, up to what was asked
    endless : whether the dual rises for ever, as far as anybody would go: then no X of a sensible size meets the bound
    """

    y: FloatArray
    X: Array
    loss: float
    gauge: float
    solved: bool
    endless: bool


@dataclass(frozen=True)
class Barrier:
    """How the barrier falls.

    gap : share of the value that may be left open
    fall : of the barrier, from one round to the next
    near : squared length of a Newton step, in its own norm, below which a round is over
    inside : share of the bound on the loss that is aimed at, so that X meets it
    far : times the first value: a dual that rises beyond has no end
    steps : of Newton's method, at most
    work : multiplications of a step, at most, where the relaxation is only one of several starts
    """

    gap: float = 2e-3
    fall: float = 0.15
    near: float = 0.1
    inside: float = 0.999
    far: float = 1e6
    steps: int = 120
    work: float = 3e8

    def affordable(self, forms: Semiforms) -> bool:
        """Whether a step costs little."""
        return forms.work + float(forms.b.size) ** 3 / 3 + 4.0 * float(forms.n) ** 3 <= self.work

    def penalised(self, forms: Semiforms, lam: float) -> Central | None:
        """(P1); None where no atom is aligned with the data."""
        return self._solved(forms, lam, None)

    def bounded(self, forms: Semiforms, delta: float) -> Central | None:
        """(P3) for |b - M(X)| <= delta, of losses without limits."""
        return self._solved(forms, 1.0, self.inside * delta)

    def _solved(self, forms: Semiforms, lam: float, delta: float | None) -> Central | None:
        """In units in which the slope of the loss at X = 0 has length 1, and an alignment of 1."""
        y = slope_of(forms, forms.b)
        size = float(np.linalg.norm(y))
        top = float(linalg.top_eigh(forms.adjoint(y / size), 1)[0][0])
        if top <= 0:
            return None
        limits = None if forms.limits is None else forms.limits / size
        start, lam = y / size, lam if delta is not None else lam / (top * size)
        walk = _Walk(forms, top, forms.b / size, start, lam, delta and delta / size, limits)
        with ledger.stage("solving the relaxation"), linalg.single_thread():
            solved, endless = self._followed(walk)
        X = walk.X * (size / top)
        r = forms.b - forms.of_matrix(X)
        y = walk.y * (size if delta is None else 1.0 / top)
        return Central(y, X, loss_of(forms, r), float(np.trace(X).real), solved, endless)

    def _followed(self, walk: _Walk) -> tuple[bool, bool]:
        """Follow the solutions down to the gap; whether it was reached, and whether the value went out of sight."""
        n, first = walk.sides, walk.value
        mu, risen = max(first, 1e-3) / n, False
        for _ in range(self.steps):
            ledger.tick()
            length = walk.step(mu)
            if length < 0:
                break
            if walk.value > self.far * first:
                return False, True
            if length <= self.near:
                if n * mu <= self.gap * abs(walk.value):
                    return True, False
                mu, risen = mu * self.fall, True
            elif not risen:  # the first round goes as far as the value does: where there is no end, quickly
                mu = max(mu, walk.value / n)
        return False, False


class _Walk:
    """The moving state: y, S = lam I - M*y, and the primal point of the last step."""

    def __init__(
        self,
        forms: Semiforms,
        unit: float,
        b: FloatArray,
        start: FloatArray,
        lam: float,
        delta: float | None,
        limits: FloatArray | None,
    ) -> None:
        self.forms, self.unit, self.b, self.delta, self.lam, self.limits = forms, unit, b, delta, lam, limits
        self.y = 0.5 * min(lam, 1.0) * start  # half way to where the constraint is met with equality
        self.S = self._slack()
        self.X = np.zeros_like(self.S)

    def _adjoint(self, y: FloatArray) -> Array:
        return self.forms.adjoint(y) / self.unit

    def _slack(self) -> Array:
        S = self.lam * np.eye(self.forms.n) - self._adjoint(self.y)
        return 0.5 * (S + S.conj().T)

    @property
    def sides(self) -> int:
        """How many logarithms there are: what is left open is mu times that, at most."""
        return len(self.S) + (0 if self.limits is None else 2 * self.b.size)

    @property
    def value(self) -> float:
        """Of the dual, as a maximisation, without the barrier."""
        length = float(np.linalg.norm(self.y))
        return float(self.b @ self.y) - (0.5 * length**2 if self.delta is None else self.delta * length)

    def step(self, mu: float) -> float:
        """One of Newton's method at this mu, and how long it was, squared, in units of the barrier; negative where
        none is possible."""
        n = self.forms.n
        try:
            factor = np.linalg.cholesky(self.S)
        except np.linalg.LinAlgError:  # at the border, up to rounding
            return -1.0
        root = scipy.linalg.solve_triangular(factor, np.eye(n, dtype=self.S.dtype), lower=True)
        traces, gram = self.forms.seen_by(root)  # data in the metric of S
        slope, H = self._plain()
        slope = slope + (mu / self.unit) * traces
        H += (mu / self.unit**2) * gram
        if self.limits is not None:
            room = self.limits**2 - self.y**2
            slope = slope + 2 * mu * self.y / room
            H.flat[:: len(H) + 1] += 2 * mu * (self.limits**2 + self.y**2) / room**2
        move = _solved(H, -slope)
        length = -float(slope @ move)
        if not length >= 0:  # nothing that could be computed with is left
            return -1.0
        turn = root @ self._adjoint(move) @ root.conj().T
        turn = 0.5 * (turn + turn.conj().T)
        corrected = np.eye(n) + turn  # the step's own correction of X: M(X) is what it should be, to first order
        self.X = mu * (root.conj().T @ corrected @ root) if length < mu else mu * (root.conj().T @ root)
        self._move(move, np.linalg.eigvalsh(turn), mu, -length)
        return length / mu

    def _plain(self) -> tuple[FloatArray, FloatArray]:
        """Slope and curvature without the barrier."""
        m = self.b.size
        if self.delta is None:
            return self.y - self.b, np.eye(m)
        length = max(float(np.linalg.norm(self.y)), 1e-300)
        along = self.y / length
        H = (self.delta / length) * (np.eye(m) - np.outer(along, along))
        return self.delta * along - self.b, H

    def _move(self, move: FloatArray, values: FloatArray, mu: float, slope: float) -> None:
        """Along a step as far as the barrier lets it, and the value falls."""
        top = float(values.max(initial=0.0))
        if self.limits is not None:  # of the way to a limit, like that to where S is singular
            top = max(top, float((np.abs(move) / (self.limits - np.sign(move) * self.y)).max(initial=0.0)))
        t = 1.0 if top < 0.95 else 0.95 / top
        here = -self.value
        y = self.y
        for _ in range(40):
            self.y = y + t * move
            lost = -mu * float(np.log1p(-t * values).sum()) - mu * self._nearer(y)
            if -self.value + lost <= here + 1e-4 * t * slope:
                break
            t *= 0.5
        else:
            self.y = y
        self.S = self._slack()

    def _nearer(self, before: FloatArray) -> float:
        """By how much the logarithms of the limits have changed on the way from another y."""
        if self.limits is None:
            return 0.0
        here, there = (y / self.limits for y in (self.y, before))
        return float((np.log1p(-here) + np.log1p(here) - np.log1p(-there) - np.log1p(there)).sum())


def _solved(H: FloatArray, h: FloatArray) -> FloatArray:
    """H^-1 h in units of its diagonal, with what little it takes to be definite."""
    units = 1.0 / np.sqrt(np.maximum(np.diag(H), 1e-300))
    scaled = units[:, None] * H * units
    ridge = 1e-14
    while ridge < 1.0:
        scaled.flat[:: len(H) + 1] += ridge
        factor, bad = scipy.linalg.lapack.dpotrf(scaled, lower=1, clean=0)
        if not bad:
            return np.asarray(units * scipy.linalg.lapack.dpotrs(factor, units * h, lower=1)[0])
        ridge *= 100.0
    return math.nan * h


__all__ = ["Barrier", "Central"]
