"""Projected Newton for smooth losses over a box of coefficients."""

from __future__ import annotations

import math

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array, FloatArray
from fewatoms.linalg import definite_solver
from fewatoms.losses import Loss
from fewatoms.reduced import ReducedOperator

TINY_STEP = 1e-6  # of the largest coefficient: what is left after it is rounding
UNCHECKED = 1e-8  # tolerances above this are met by what the last model said, and not looked at once more


def newton(
    reduced: ReducedOperator,
    b: FloatArray,
    loss: Loss,
    lower: FloatArray,
    upper: FloatArray,
    start: FloatArray | None = None,
    steps: int = 100,
    tol: float = 1e-15,
    target: float = np.inf,
    pays: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """min f(b - Rc) + sum_i pays_i c_i^2 / 2 over lower <= c <= upper, to `tol` of that; the minimiser, its residual,
    and the Hessian there.

    Coefficients at a border with a gradient pointing out rest, the others make a Newton step. Flat directions (Huber's
    tails, separable classes) need a ridge: it grows until a step succeeds and shrinks with each success. When twice
    what the quadratic model promises does not bring the objective below `target`, the search is given up. What is given
    up or rough has the Hessian of the step before.
    """
    c = np.zeros(reduced.dim) if start is None else start
    pays = np.broadcast_to(np.asarray(pays, dtype=np.float64), c.shape)
    residual = b - reduced.apply(c)
    value = loss.value(residual) + _paid(pays, c)
    first, ridge, unit, nothing = None, 0.0, 0.0, loss.nothing(b.size)
    boxed = bool(np.isfinite(lower).any() or np.isfinite(upper).any())
    for _ in range(steps):
        ledger.tick()
        slope = pays * c - reduced.adjoint(loss.gradient(residual))
        H = _hessian(reduced, loss, residual, pays)
        free = ~((c <= lower) & (slope > 0)) & ~((c >= upper) & (slope < 0))
        steepness = float(np.abs(slope[free]).max(initial=0.0))
        if steepness <= 1e-15 * (first := steepness if first is None else first):
            break
        mean = float(np.trace(H)) / max(1, len(H))
        unit = unit if unit or mean > 0 else _expected(reduced, loss, slope)
        ridge = max(ridge / 100, 1e-12 * max(mean, 1e-12 * unit))
        for _ in range(40):
            direction = _model_step(H, slope, ridge, c, lower, upper, free)
            promise = -float(np.dot(slope, direction))  # at most twice what the model says can be gained
            if promise > tol * abs(value) and value - promise > target:
                return c, residual, H
            if promise <= tol * abs(value):  # nothing to gain, or what left the box has bent the step uphill
                direction = _model_descent(H, slope, ridge, lower - c, upper - c) if boxed else direction
                if -float(np.dot(slope, direction)) <= tol * abs(value):
                    return (*_settled(reduced, b, c, residual, direction, boxed or tol > UNCHECKED), H)
            moved = _shortened(reduced, b, loss, value, c, slope, direction, lower, upper, pays)
            if moved[2] < math.inf:
                break
            ridge = max(100 * ridge, 1e-8 * (unit := unit or _expected(reduced, loss, slope)))
        else:
            return c, residual, H
        before, (c, residual, value) = value, moved
        if tol > UNCHECKED and not boxed and abs(before - value - 0.5 * promise) <= tol * abs(value):
            return c, residual, H  # what the model was wrong by is more than what is left
        if before - value <= 0.1 * tol * abs(value) or value <= nothing:
            break
    return c, residual, _hessian(reduced, loss, residual, pays)


def _settled(
    reduced: ReducedOperator, b: FloatArray, c: FloatArray, residual: FloatArray, direction: FloatArray, enough: bool
) -> tuple[FloatArray, FloatArray]:
    """One more step, which is too small for the objective to show: its square is. Not along flat directions."""
    if enough or np.abs(direction).max(initial=0.0) > TINY_STEP * np.abs(c).max(initial=0.0):
        return c, residual
    return c + direction, b - reduced.apply(c + direction)


def _expected(reduced: ReducedOperator, loss: Loss, slope: FloatArray) -> float:
    """A curvature of the size to be expected."""
    probe = reduced.apply(slope / max(float(np.linalg.norm(slope)), 1e-300))
    return loss.smoothness * float(np.dot(probe, probe))


def _paid(pays: FloatArray, c: FloatArray) -> float:
    """What coefficients pay: infinite, where a step that is still to be shortened leads beyond all numbers."""
    some = pays > 0
    with np.errstate(over="ignore"):
        return 0.5 * float(np.dot(pays[some], np.square(c[some])))


def _hessian(reduced: ReducedOperator, loss: Loss, residual: FloatArray, pays: FloatArray) -> FloatArray:
    H = loss.bend(residual).gram(reduced)
    if pays.any():
        H[np.diag_indices_from(H)] += pays
    return H


def _shortened(
    reduced: ReducedOperator,
    b: FloatArray,
    loss: Loss,
    value: float,
    c: FloatArray,
    slope: FloatArray,
    direction: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    pays: FloatArray,
) -> tuple[FloatArray, FloatArray, float]:
    """The first of a step and its halves that lowers the objective as much as its slope says: coefficients, residual,
    objective; an infinite one if there is none, or if it leads nowhere."""
    t = 1.0
    for _ in range(8):
        trial = np.clip(c + t * direction, lower, upper)
        residual = b - reduced.apply(trial)
        found = loss.value(residual) + _paid(pays, trial)
        if found <= value + 1e-4 * float(np.dot(slope, trial - c)):
            return trial, residual, found if (trial != c).any() else math.inf
        t *= 0.5
    return c, residual, math.inf


def _model_descent(
    H: FloatArray, slope: FloatArray, ridge: float, lower: FloatArray, upper: FloatArray, sweeps: int = 30
) -> FloatArray:
    """A step that lowers the quadratic model within the box, whatever the box cuts off: one coordinate after the other.
    It leads down, since the model begins with the slope; it is zero where there is no way down."""
    direction, gradient = np.zeros(slope.size), slope.copy()
    diagonal = np.diag(H) + ridge
    for _ in range(sweeps):
        for i in range(slope.size):
            move = min(max(direction[i] - gradient[i] / diagonal[i], lower[i]), upper[i]) - direction[i]
            direction[i] += move
            gradient += move * H[:, i]
            gradient[i] += move * ridge
    return direction


def _model_step(
    H: FloatArray,
    slope: FloatArray,
    ridge: float,
    c: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    free: Array,
) -> FloatArray:
    """A step to the minimum of the quadratic model over the box, or near it: what leaves the box is set on its border,
    and the rest solved for again."""
    if free.all():
        bent = H.copy()
        bent.flat[:: len(H) + 1] += ridge
        step = -definite_solver(bent)(slope)
        trial = c + step
        if not ((trial < lower) | (trial > upper)).any():
            return step
    direction = np.zeros(c.size)
    free = free.copy()
    for _ in range(10):
        rest = slope[free] + H[np.ix_(free, ~free)] @ direction[~free]
        step = -definite_solver(H[np.ix_(free, free)] + ridge * np.eye(int(free.sum())))(rest)
        low, high = lower[free] - c[free], upper[free] - c[free]
        out = (step < low) | (step > high)
        direction[free] = np.clip(step, low, high)
        if not out.any():
            break
        free[np.flatnonzero(free)[out]] = False
        if not free.any():
            break
    return direction
