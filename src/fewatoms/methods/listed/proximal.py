"""Accelerated proximal gradients in the small space of a working set."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fewatoms import linalg
from fewatoms._types import FloatArray
from fewatoms.losses import Bend
from fewatoms.reduced import Bordered

# (v, t) -> argmin over x of |x - v|^2 / 2 + t gauge(x), t a number or one for each coefficient
Shrink = Callable[[FloatArray, FloatArray | float], FloatArray]

POWER_STEPS = 6  # of the estimate of the largest eigenvalue, which may be too low: steps are checked


class Square(Protocol):
    """A symmetric matrix, or what multiplies like one."""

    def __matmul__(self, v: FloatArray, /) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class Weighted:
    """R' H R, and what squares pay on its diagonal, which is multiplied by and not formed."""

    reduced: Bordered
    H: Bend
    pays: FloatArray | float = 0.0

    def __matmul__(self, v: FloatArray) -> FloatArray:
        return self.reduced.adjoint(self.H.times(self.reduced.apply(v))) + self.pays * v


def accelerated(
    G: Square,
    h: FloatArray,
    x: FloatArray,
    lam: float,
    shrink: Shrink,
    steps: int,
    tol: float,
    metric: FloatArray | float = 1.0,
) -> FloatArray:
    """min x'Gx/2 - h'x + lam gauge(x) for a small G: accelerated proximal gradients with restarts.

    `metric`, about the diagonal of G, makes steps along columns of different lengths equally long.
    """
    lipschitz = _curvature(G, x.size, metric)
    if lipschitz <= 0:
        return x
    image = G @ x
    v, image_v, momentum = x, image, 1.0
    for _ in range(steps):
        while True:
            bound = lipschitz * metric
            x_next = shrink(v + (h - image_v) / bound, lam / bound)
            image_next = G @ x_next
            moved = x_next - v
            size, bend = float(moved @ (metric * moved)), float(moved @ (image_next - image_v))
            if not bend > lipschitz * size * (1 + 1e-9) or size == 0.0:
                break
            lipschitz = 1.2 * bend / size  # the estimate was too low
        step = x_next - x
        if float(moved @ (metric * step)) < 0:  # the momentum has overshot
            momentum = 1.0
        momentum_next = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
        beta = (momentum - 1) / momentum_next
        v, image_v = x_next + beta * step, image_next + beta * (image_next - image)
        x, image, momentum = x_next, image_next, momentum_next
        if lipschitz * float(np.abs(metric * moved).max()) <= tol * lam:
            break
    return x


def _curvature(G: Square, size: int, metric: FloatArray | float) -> float:
    """The largest eigenvalue of G in the metric, estimated from below by a few power steps."""
    root = np.sqrt(metric)
    v = 1.0 + 0.5 * np.cos(np.arange(size) ** 2)
    length = 0.0
    for _ in range(POWER_STEPS):
        v = (G @ (v / (root * max(linalg.length(v), 1e-300)))) / root
        length = linalg.length(v)
    return length
