"""Compiled loops for entries in front of a background, called by `backed`. As `_loops`, but all cells count.

Per row i, G = base + sum over its entries of (weight - background) f f' and h = sum of weight value f, f = features[j]:
base holds the Gram matrix of all features times the background, and the ridge.
"""

import numpy as np

from fewatoms._dense import jit
from fewatoms._loops import TILE
from fewatoms._types import Array


@jit
def _moments(
    beyond: Array, pull: Array, features: Array, base: Array, starts: Array, others: Array, i: int, B: Array, G: Array,
    h: Array,
) -> bool:  # fmt: skip
    """G (its lower triangle) and h of row i; whether G differs from base."""
    r, R = features.shape[1], G.shape[0]
    for a in range(r):
        h[a] = 0.0
    start, stop = starts[i], starts[i + 1]
    differs = False
    for e in range(start, stop):
        t, j = pull[e], others[e]
        for a in range(r):
            h[a] += t * features[j, a]
        differs = differs or beyond[e] != 0.0
    if not differs:
        return False
    for a in range(R):
        for b in range(a + 1):
            G[a, b] = base[a, b] if a < r else 0.0
    while start < stop:
        n = min(TILE, stop - start)
        for e in range(n):
            j, d = others[start + e], beyond[start + e]
            for a in range(r):
                B[a, e] = features[j, a]
                B[R + a, e] = d * features[j, a]
        for a in range(0, R, 2):
            for b in range(0, a + 1, 2):
                s00, s01, s10, s11 = 0.0, 0.0, 0.0, 0.0
                for e in range(n):
                    x0, x1, y0, y1 = B[a, e], B[a + 1, e], B[R + b, e], B[R + b + 1, e]
                    s00 += x0 * y0
                    s01 += x0 * y1
                    s10 += x1 * y0
                    s11 += x1 * y1
                G[a, b] += s00
                G[a, b + 1] += s01
                G[a + 1, b] += s10
                G[a + 1, b + 1] += s11
        start += n
    return True


@jit
def _pressed(beyond: Array, features: Array, others: Array, start: int, stop: int, p: Array, out: Array) -> None:
    """out = p + sum over the entries of (weight - background) f f'p."""
    r = p.size
    for a in range(r):
        out[a] = p[a]
    for e in range(start, stop):
        j, t = others[e], 0.0
        for a in range(r):
            t += features[j, a] * p[a]
        t *= beyond[e]
        for a in range(r):
            out[a] += t * features[j, a]


@jit
def solves(
    beyond: Array, pull: Array, features: Array, starts: Array, others: Array, tol: float, first: int, last: int,
    out: Array, left: Array,
) -> None:  # fmt: skip
    """out[i] solves G x = h where base is the identity, by conjugate gradients from out[i], until the residual is below
    tol times what it was, or h; left[i] takes x'Gx - 2 h'x."""
    r = features.shape[1]
    g, p, Gp = np.empty(r), np.empty(r), np.empty(r)
    for i in range(first, last):
        x = out[i]
        start, stop = starts[i], starts[i + 1]
        _pressed(beyond, features, others, start, stop, x, Gp)
        square = 0.0
        for a in range(r):
            g[a] = -Gp[a]
        for e in range(start, stop):
            j, t = others[e], pull[e]
            for a in range(r):
                g[a] += t * features[j, a]
        value = 0.0
        for a in range(r):
            p[a] = g[a]
            square += g[a] * g[a]
            value -= x[a] * (2.0 * g[a] + Gp[a])  # x'Gx - 2 h'x with h = g + Gx
        enough, steps = tol * tol * square, 0
        while square > enough and square > 0.0 and steps < 2 * r:
            _pressed(beyond, features, others, start, stop, p, Gp)
            bend = 0.0
            for a in range(r):
                bend += p[a] * Gp[a]
            if not bend > 0.0:
                break
            step, before = square / bend, square
            square = 0.0
            for a in range(r):
                x[a] += step * p[a]
                g[a] -= step * Gp[a]
                square += g[a] * g[a]
            value -= step * before
            turn = square / before
            for a in range(r):
                p[a] = g[a] + turn * p[a]
            steps += 1
        left[i] += value


@jit
def _value(G: Array, h: Array, x: Array) -> float:
    """x'Gx - 2 h'x."""
    total = 0.0
    for a in range(x.size):
        t = G[a, a] * x[a] - 2.0 * h[a]
        for b in range(a):
            t += 2.0 * G[a, b] * x[b]
        total += t * x[a]
    return total


@jit
def improvements(
    beyond: Array, pull: Array, features: Array, base: Array, starts: Array, others: Array, passes: int, first: int,
    last: int, out: Array, left: Array,
) -> None:  # fmt: skip
    """out[i] = the least of x'Gx - 2 h'x over x >= 0, by passes of coordinate descent from out[i]."""
    r = features.shape[1]
    R = r + r % 2
    B, G, h = np.zeros((2 * R, TILE)), np.zeros((R, R)), np.empty(r)
    for i in range(first, last):
        used = G if _moments(beyond, pull, features, base, starts, others, i, B, G, h) else base
        for _ in range(passes):
            moved, size = 0.0, 0.0
            for a in range(r):
                if not used[a, a] > 0.0:
                    out[i, a] = 0.0
                    continue
                s = h[a]
                for b in range(r):
                    s -= (used[a, b] if b <= a else used[b, a]) * out[i, b]
                x = max(out[i, a] + s / used[a, a], 0.0)
                unit = np.sqrt(used[a, a])
                moved, size = max(moved, abs(x - out[i, a]) * unit), max(size, x * unit)
                out[i, a] = x
            if moved <= 1e-9 * size:
                break
        left[i] += _value(used, h, out[i])
