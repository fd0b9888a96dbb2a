"""How far to go along a direction."""

from __future__ import annotations

import math

import numpy as np

from fewatoms._types import FloatArray
from fewatoms.losses.base import Loss


def exact_step(loss: Loss, r: FloatArray, d: FloatArray, longest: float) -> float:
    """The theta in [0, longest] that minimises f(r - theta d): Newton on the slope, guarded by bisection.

    One evaluation is O(m); for least squares the first Newton step is exact.
    """

    def slope(theta: float) -> float:
        return -float(np.dot(loss.gradient(r - theta * d), d))

    if slope(0.0) >= 0:
        return 0.0
    low, high = 0.0, longest
    if math.isinf(high):
        high = 1.0
        while slope(high) < 0 and high < 1e16:
            low, high = high, 2.0 * high
    elif slope(high) <= 0:
        return longest
    theta = low
    for _ in range(60):
        bend = float(np.dot(d, loss.bend(r - theta * d).times(d)))
        g = slope(theta)
        step = theta - g / bend if bend > 0 else math.inf
        theta_next = step if low < step < high else 0.5 * (low + high)
        g_next = slope(theta_next)
        low, high = (theta_next, high) if g_next < 0 else (low, theta_next)
        done = abs(theta_next - theta) <= 1e-14 * max(theta_next, 1e-300) or abs(g_next) <= 1e-14 * abs(g)
        theta = theta_next
        if done:
            break
    return theta
