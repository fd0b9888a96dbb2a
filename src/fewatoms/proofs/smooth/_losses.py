"""Losses and free columns in loops: residuals, slopes and curvatures, the best free coefficients.

Loops of this room are plain functions: `fewatoms.proofs.machine` makes machine code of them.
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt

import numpy as np

from fewatoms._types import Array
from fewatoms.proofs.smooth.given import HUBER, LOGISTIC, MULTINOMIAL, SQUARES, Given

FREE_STEPS = 100  # of Newton's method for the free coefficients, at most
NO_SLOPE = 1e-14  # share of its terms that an inner product of y with a free column may have to be none
UNBENT = 1e150  # the root of a curvature that is none
HALVINGS = 12  # of a step that would make matters worse


def slope(g: Given, r: Array, y: Array, bend: Array) -> float:
    """y = grad f(r), the curvatures (probabilities, where there are several classes), and f(r)."""
    total = 0.0
    if g.kind == MULTINOMIAL:
        for i in range(g.code.size):
            total += _row(g, r, y, bend, i)
        return total
    for i in range(r.size):
        w = g.w[i]
        if g.kind == LOGISTIC:
            t = g.sign[i] * r[i]
            e = exp(-abs(t))
            p = 1.0 / (1.0 + e) if t > 0.0 else e / (1.0 + e)
            total += w * (max(t, 0.0) + log1p(e))
            y[i] = w * g.sign[i] * p
            bend[i] = w * e / ((1.0 + e) * (1.0 + e))
        else:
            size = abs(r[i])
            small = size if g.kind == SQUARES else min(size, g.delta)
            total += w * small * (size - 0.5 * small)
            y[i] = w * (small if r[i] > 0.0 else -small)
            bend[i] = w if small == size else 0.0
    return total


def _row(g: Given, r: Array, y: Array, bend: Array, i: int) -> float:
    """The same for one datum with several classes."""
    k, at = g.classes, i * g.classes
    low = r[at]
    for c in range(1, k):
        low = min(low, r[at + c])
    total = 0.0
    for c in range(k):
        bend[at + c] = exp(low - r[at + c])
        total += bend[at + c]
    w, own, rest = g.w[at], at + g.code[i], 0.0
    for c in range(k):
        bend[at + c] /= total
        if at + c != own:
            y[at + c] = -w * bend[at + c]
            rest += bend[at + c]
    y[own] = w * rest
    return w * (log(total) - low + r[own])


def bent(g: Given, bend: Array, u: Array, out: Array) -> None:
    """The Hessian times u."""
    if g.kind != MULTINOMIAL:
        for i in range(u.size):
            out[i] = bend[i] * u[i]
        return
    k = g.classes
    for i in range(g.code.size):
        at, mean = i * k, 0.0
        for c in range(k):
            mean += bend[at + c] * u[at + c]
        for c in range(k):
            out[at + c] = g.w[at] * bend[at + c] * (u[at + c] - mean)


def inner(a: Array, b: Array) -> float:
    """<a, b>."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


def factored(K: Array) -> None:
    """The Cholesky factor of K in its lower triangle; directions that have no length stay where they are."""
    n = K.shape[0]
    top = 0.0
    for i in range(n):
        top = max(top, K[i, i])
    for i in range(n):
        for j in range(i + 1):
            total = K[i, j]
            for t in range(j):
                total -= K[i, t] * K[j, t]
            if i > j:
                K[i, j] = total / K[j, j]
            else:
                K[i, i] = sqrt(total) if total > 1e-13 * top else UNBENT


def solved(L: Array, u: Array) -> None:
    """u = (L L')^-1 u."""
    n = L.shape[0]
    for i in range(n):
        for t in range(i):
            u[i] -= L[i, t] * u[t]
        u[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for t in range(i + 1, n):
            u[i] -= L[t, i] * u[t]
        u[i] /= L[i, i]


def settled(g: Given, left: Array, v: Array, r: Array, y: Array, bend: Array, L: Array, HF: Array) -> float:
    """The best free coefficients beside what is left of the data, with r, y and the curvatures there; f(r).

    L becomes the Cholesky factor of F' H F.
    """
    q, m = g.F.shape[0], left.size
    for i in range(m):
        r[i] = left[i]
    for k in range(q):
        for i in range(m):
            r[i] -= g.F[k, i] * v[k]
    value = slope(g, r, y, bend)
    if q == 0:
        return value
    trial, ahead, bowl, step, soft = np.empty(m), np.empty(m), np.empty(m), np.empty(q), False
    for _ in range(FREE_STEPS):
        off = sloped(g, y, step)
        curved(g, bend, bowl, L, HF, r, y, False)
        if off <= NO_SLOPE:
            break
        for k in range(q):
            soft = soft or (g.kind == HUBER and L[k, k] >= UNBENT)
        if soft:
            curved(g, bend, bowl, L, HF, r, y, True)
        solved(L, step)
        t, fresh = shortened(g, step, r, value, ahead, trial, bowl)
        if t == 0.0:
            if soft or g.kind != HUBER:
                break
            soft = True
            continue
        soft, value = t < 1.0 and g.kind == HUBER, fresh
        for k in range(q):
            v[k] += t * step[k]
        for i in range(m):
            r[i], y[i], bend[i] = ahead[i], trial[i], bowl[i]
    return value


def sloped(g: Given, y: Array, step: Array) -> float:
    """step = F'y; its largest entry, as a share of its terms."""
    off = 0.0
    for k in range(g.F.shape[0]):
        step[k] = inner(g.F[k], y)
        terms = 0.0
        for i in range(y.size):
            terms += abs(g.F[k, i] * y[i])
        off = max(off, abs(step[k]) / max(terms, 1e-300))
    return off


def shortened(
    g: Given, step: Array, r: Array, value: float, ahead: Array, trial: Array, bowl: Array
) -> tuple[float, float]:
    """How far to go along a step for f not to rise, 0 if nowhere, and f there; residual, slope and curvatures there."""
    t = 1.0
    for _ in range(HALVINGS):
        for i in range(r.size):
            ahead[i] = r[i]
        for k in range(step.size):
            for i in range(r.size):
                ahead[i] -= t * step[k] * g.F[k, i]
        fresh = slope(g, ahead, trial, bowl)
        if fresh <= value + 1e-15 * abs(value):
            return t, fresh
        t *= 0.5
    return 0.0, value


def curved(g: Given, bend: Array, bowl: Array, L: Array, HF: Array, r: Array, y: Array, soft: bool) -> None:
    """L = the Cholesky factor of F'HF, HF = H F; H where Huber's tails are flat that of parabolas above them, if
    `soft`."""
    for i in range(bend.size):
        bowl[i] = abs(y[i]) / abs(r[i]) if soft and bend[i] == 0.0 else bend[i]
    for k in range(g.F.shape[0]):
        bent(g, bowl, g.F[k], HF[k])
        for j in range(k + 1):
            L[k, j] = inner(HF[k], g.F[j])
    factored(L)
