"""What each atom of an answer adds to the fit, and what leaving it out would cost.

Both are asked of the few atoms of an answer alone: of their images, and of the small matrix of inner products of those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.faces import Face
from fewatoms.problem import Problem
from fewatoms.reduced import Bordered

TABLED = 2000  # coefficients: the inverse of a matrix of that size is taken
REFITS = 2e11  # multiplications for refits at most; beyond them costs are to second order
NEWTON = 8  # steps that a refit takes, or so
REFIT_STEPS = 60  # at most
TOLD_APART = 1e-10  # smallest eigenvalue, in units of the images, of atoms that can be told apart
KEEPS = 0.1  # share of what a parabola promises that a step along it has to keep
SETTLED_LOSS = 1e-13  # share of the objective that a step of a refit has to promise

Bounds: TypeAlias = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Measures:
    """One number for each atom, in the order of the answer.

    contribution : |M a_g c_g| / sum over h of |M a_h c_h|, past what free columns explain, in the weights of the loss
    cost : what the objective would rise by without the atom, the others and what stands beside them fitted anew
    """

    contribution: FloatArray
    cost: FloatArray


def measures(problem: Problem, face: Face, c: FloatArray) -> Measures | None:
    """Those of an answer; None for atoms that are no fixed ones (matrices), and for more than a few thousand."""
    spans = face.spans()
    if spans is None or face.dim > TABLED or problem.price.on_gauge or problem.beside.biases is not None:
        return None
    if not face.dim:
        return Measures(np.zeros(0), np.zeros(0))
    F = None if problem.base_loss.squares else problem.beside.columns  # in the units of `fitted`
    images = Bordered(problem.M.restrict(face).formed().matrix, F)
    weights = problem.base_loss.weights
    each = np.ones(problem.m) if weights is None else np.repeat(weights, problem.m // weights.size)
    ledger.tick()
    lengths = _lengths(images.gram(each), c, spans)
    refitted = _Refitted(problem, face, images, c)
    return Measures(lengths / (lengths.sum() or 1.0), refitted.costs(spans))


def work(problem: Problem, face: Face) -> float:
    """About how many multiplications the measures of an answer take: refits are dear, the rest is not."""
    one = problem.m * float(face.dim) ** 2
    return one if problem.loss.squares else min((1 + NEWTON * face.size) * one, REFITS)


def _lengths(gram: FloatArray, c: FloatArray, spans: IntArray) -> FloatArray:
    """Those of what each atom adds to the data, past the free columns at the end of a Gram matrix."""
    inside = c.size
    G, cross, free = gram[:inside, :inside], gram[:inside, inside:], gram[inside:, inside:]
    if free.size:
        G = G - cross @ np.linalg.lstsq(free, cross.T, rcond=None)[0]
    squares = [c[a:b] @ G[a:b, a:b] @ c[a:b] for a, b in _pairs(spans)]
    return np.sqrt(np.maximum(squares, 0.0))


def _pairs(spans: IntArray) -> Iterator[tuple[int, int]]:
    return zip(spans[:-1].tolist(), spans[1:].tolist(), strict=True)


class _Refitted:
    """The objective over the coefficients of an answer's atoms and of free columns, u = (c, v)."""

    def __init__(self, problem: Problem, face: Face, images: Bordered, c: FloatArray) -> None:
        self.problem, self.images = problem, images
        free = images.dim - face.dim
        self.squares, self.loss = problem.loss.squares, problem.loss if not free else problem.base_loss
        self.b = problem.b if not free else problem.data
        v = problem.seen.fitted(images.apply(np.concatenate([c, np.zeros(free)]))) if free else np.zeros(0)
        self.u = np.concatenate([c, v])
        lengths = np.zeros(face.dim) if problem.ridged is None else problem.ridged.lengths_of(face)
        self.pays = np.concatenate([problem.price.on_squares * lengths**2, np.zeros(free)])
        most = np.full(face.dim, np.inf if problem.price.cap is None else problem.price.cap)
        signed, open_ = face.nonnegative(), np.full(free, np.inf)
        least = -most if signed is None else np.where(signed, 0.0, -most)
        self.bounds: Bounds = np.concatenate([least, -open_]), np.concatenate([most, open_])

    def value(self, u: FloatArray) -> float:
        return self.loss.value(self.b - self.images.apply(u)) + 0.5 * float(np.dot(self.pays, u * u))

    def around(self, u: FloatArray) -> _Parabola:
        """The objective to second order."""
        return next(self._models(u))

    def _models(self, u: FloatArray) -> Iterator[_Parabola]:
        """The objective to second order; with more curvature where the loss has none; from above, where both lead
        nowhere."""
        left = self.b - self.images.apply(u)
        slope = self.pays * u - self.images.adjoint(self.loss.gradient(left))
        for bend in (self.loss.bend, self.loss.bowl):
            yield _Parabola(bend(left).gram(self.images) + np.diag(self.pays), slope, u, self.bounds)
        steepest = self.loss.smoothness * self.images.gram(np.ones(self.b.size))
        yield _Parabola(steepest + np.diag(self.pays), slope, u, self.bounds)

    def costs(self, spans: IntArray) -> FloatArray:
        """Exact for least squares, where the parabola is the objective; by refits for other losses."""
        here = self.around(self.u)
        steps = here.without(spans)
        work = NEWTON * steps.shape[1] * self.problem.m * float(self.images.dim) ** 2
        if self.squares or work > REFITS:
            return here.rises(steps)
        before = self.value(self.u)
        found = [self._lowest(self.u + d, a, b) - before for d, (a, b) in zip(steps.T, _pairs(spans), strict=True)]
        return np.array(found)

    def _lowest(self, u: FloatArray, a: int, b: int) -> float:
        """The smallest objective without the coefficients from a to b, from a start without them or from nothing."""
        kept = np.delete(np.arange(u.size), slice(a, b))
        starts = [(self.value(start), start) for start in (np.clip(u, *self.bounds), np.zeros(u.size))]
        value, u = min(starts, key=lambda start: start[0])
        for _ in range(REFIT_STEPS):
            ledger.tick()
            before = value
            for model in self._models(u):
                d = np.zeros(u.size)
                d[kept] = model.step(kept, np.zeros(kept.size))
                promised = -float(model.rises(d[:, None])[0])
                u, value = self._descended(u, d, value)
                if before - value >= KEEPS * promised:
                    break
            if before - value <= SETTLED_LOSS * abs(before):
                break
        return value

    def _descended(self, u: FloatArray, d: FloatArray, value: float) -> tuple[FloatArray, float]:
        """As far along a step as the objective falls."""
        for t in 0.5 ** np.arange(12):
            fresh = self.value(u + t * d)
            if fresh < value:
                return u + t * d, fresh
        return u, value


@dataclass(frozen=True, eq=False)
class _Parabola:
    """slope'd + d'Hd / 2 around a point u, with u + d between bounds."""

    H: FloatArray
    slope: FloatArray
    u: FloatArray
    bounds: Bounds

    def rises(self, steps: Array) -> FloatArray:
        """By how much it rises along steps, one in a column."""
        return np.asarray(self.slope @ steps + 0.5 * np.einsum("ij,ij->j", steps, self.H @ steps))

    def without(self, spans: IntArray) -> Array:
        """The best steps by which the coefficients of each atom become 0, one in a column."""
        every = self._by_inverse(spans)
        steps = np.empty((self.u.size, spans.size - 1))
        for g, (a, b) in enumerate(_pairs(spans)):
            d = None if every is None else every[:, g]
            if d is None or not self._allowed(d):
                kept = np.delete(np.arange(self.u.size), slice(a, b))
                d = np.zeros(self.u.size)
                d[a:b] = -self.u[a:b]
                d[kept] = self.step(kept, self.H[np.ix_(kept, np.arange(a, b))] @ d[a:b])
            d[a:b] = -self.u[a:b]
            steps[:, g] = d
        return steps

    def _by_inverse(self, spans: IntArray) -> FloatArray | None:
        """All of them at once, bounds aside: from the lowest point, along the columns of the inverse. None where atoms
        depend on each other."""
        scale = 1.0 / np.sqrt(np.where(self.H.diagonal() > 0, self.H.diagonal(), 1.0))
        H = scale[:, None] * self.H * scale
        if np.linalg.eigvalsh(H)[0] < TOLD_APART:
            return None
        inverse = scale[:, None] * np.linalg.inv(H) * scale
        lowest = -inverse @ self.slope
        left = self.u + lowest
        columns = [lowest - inverse[:, a:b] @ np.linalg.solve(inverse[a:b, a:b], left[a:b]) for a, b in _pairs(spans)]
        return np.stack(columns, axis=1)

    def _allowed(self, d: FloatArray) -> bool:
        low, high = self.bounds
        return bool(((self.u + d >= low) & (self.u + d <= high)).all())

    def step(self, kept: IntArray, pull: FloatArray) -> FloatArray:
        """The best step of some coefficients, where others have moved and pull at them."""
        H, slope = self.H[np.ix_(kept, kept)], self.slope[kept] + pull
        low, high = (bound[kept] - self.u[kept] for bound in self.bounds)
        if not kept.size:
            return np.zeros(0)
        d = np.asarray(np.linalg.lstsq(H, -slope, rcond=TOLD_APART**1.5)[0])
        if ((d >= low) & (d <= high)).all():
            return d
        from scipy.optimize import lsq_linear

        values, vectors = np.linalg.eigh(H)
        root = np.sqrt(np.maximum(values, TOLD_APART**1.5 * values[-1]))
        target = -(vectors.T @ slope) / root
        d = lsq_linear(root[:, None] * vectors.T, target, (low, high), method="bvls", tol=1e-15).x
        inside = np.flatnonzero((d > low) & (d < high))
        held = np.setdiff1d(np.arange(d.size), inside)
        pulled = slope[inside] + H[np.ix_(inside, held)] @ d[held]
        sharp = d.copy()
        sharp[inside] = np.linalg.lstsq(H[np.ix_(inside, inside)], -pulled, rcond=TOLD_APART**1.5)[0]
        return sharp if ((sharp >= low) & (sharp <= high)).all() else d
