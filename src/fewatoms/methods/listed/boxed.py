"""Least squares over a box of coefficients, for a few columns of length 1: by which coefficients rest on its borders.

Those that do not are fitted without bounds. What leaves the box on the way there stops at the border, and what a border
holds back no longer is let go, the steepest first: the objective falls with each, so that no set of them comes twice.
"""

from __future__ import annotations

import numpy as np

from fewatoms._types import Array, FloatArray

SLOPE_SEEN = 1e-13  # share of |t| that the slope at a border must have for a coefficient to be let go
BORDER_MOVES = 6  # for each coefficient at most, and some more


def boxed(R: FloatArray, t: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """argmin over lower <= c <= upper of |t - Rc|^2."""
    best = _free(R, t)
    c = np.clip(best, lower, upper)
    held: Array = c != best
    if not held.any():
        return c
    just, back = -1, np.zeros(c.size, dtype=bool)
    for _ in range(20 + BORDER_MOVES * c.size):
        share = _moved(R, t, c, held, lower, upper)
        back[just] |= just >= 0 and share == 0.0 and bool(held[just])
        if share < 1.0:
            continue
        slope = R.T @ (t - R @ c)
        pull = np.where(held & ~back, np.where(c <= lower, slope, -slope), 0.0)
        pull[held & (lower == upper)] = 0.0
        just = int(pull.argmax())
        if not pull[just] > SLOPE_SEEN * float(np.linalg.norm(t)):
            break
        held[just] = False
    return c


def _free(R: FloatArray, t: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.lstsq(R, t, rcond=max(R.shape) * float(np.finfo(float).eps))[0])


def _moved(R: FloatArray, t: FloatArray, c: FloatArray, held: Array, lower: FloatArray, upper: FloatArray) -> float:
    """Move the coefficients that are not held towards the best ones, as far as the box allows; what share of the way.
    The ones that stop it are held."""
    free = np.flatnonzero(~held)
    step = _free(R[:, free], t - R @ c)
    end = c[free] + step
    out = (end < lower[free]) | (end > upper[free])
    if not out.any():
        c[free] = end
        return 1.0
    border = np.where(step < 0, lower[free], upper[free])
    shares = np.where(out, (border - c[free]) / np.where(out, step, 1.0), np.inf)
    first = float(np.clip(shares.min(), 0.0, 1.0))
    stop = shares <= first
    c[free] = np.clip(c[free] + first * step, lower[free], upper[free])
    c[free[stop]] = border[stop]
    held[free[stop]] = True
    return first
