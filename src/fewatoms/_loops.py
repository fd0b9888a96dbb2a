"""The compiled loops themselves. Importing this module imports numba: `kernels` does so when a loop is worth it.

Entries of a matrix are given row by row (or column by column): those of row i lie between starts[i] and starts[i + 1],
others[e] is the column of entry e. Every loop works on the rows from `first` to `last` and on nothing that another row
needs, so that ranges of rows can go to different threads and the results do not depend on how many there are.
"""

from typing import Any

import numpy as np
from numba import njit

from fewatoms._types import Array

TILE = 256  # entries gathered at a time: with a dozen features they stay in the first-level cache


def jit(loop: Any, keep: bool = True) -> Any:
    """Compiled on first use, and kept on disk where there is a place for it."""
    try:
        return njit(cache=keep, nogil=True, fastmath={"contract", "reassoc", "nsz"})(loop)
    except RuntimeError:  # numba finds no folder that it may write to
        return jit(loop, keep=False)


@jit
def sampled_products(
    left: Array, right: Array, starts: Array, others: Array, first: int, last: int, out: Array
) -> None:
    """out[e] = <left[i], right[others[e]]> for the entries e of row i."""
    r = left.shape[1]
    for i in range(first, last):
        for e in range(starts[i], starts[i + 1]):
            j = others[e]
            total = 0.0
            for a in range(r):
                total += left[i, a] * right[j, a]
            out[e] = total


@jit
def scattered(values: Array, features: Array, starts: Array, others: Array, first: int, last: int, out: Array) -> None:
    """out[i] = sum over the entries e of row i of values[e] features[others[e]]."""
    r = features.shape[1]
    for i in range(first, last):
        for a in range(r):
            out[i, a] = 0.0
        for e in range(starts[i], starts[i + 1]):
            j, v = others[e], values[e]
            for a in range(r):
                out[i, a] += v * features[j, a]


@jit
def _moments(
    values: Array,
    weights: Array,
    offset: Array,
    features: Array,
    starts: Array,
    others: Array,
    i: int,
    B: Array,
    G: Array,
) -> None:
    """G = sum over the entries of row i of w t t', t = (features[j], value - offset[j]); its lower triangle is valid.

    Entries are gathered a tile at a time, one feature after the other, and G takes two by two inner products of them.
    """
    r, R = features.shape[1], G.shape[0]
    for a in range(R):
        for b in range(R):
            G[a, b] = 0.0
    start, stop = starts[i], starts[i + 1]
    while start < stop:
        n = min(TILE, stop - start)
        for e in range(n):
            j = others[start + e]
            for a in range(r):
                B[a, e] = features[j, a]
        for e in range(n):
            B[r, e] = values[start + e]
        if offset.size:
            for e in range(n):
                B[r, e] -= offset[others[start + e]]
        if weights.size:
            for e in range(n):
                root = np.sqrt(weights[start + e])
                for a in range(r + 1):
                    B[a, e] *= root
        for a in range(0, R, 2):
            for b in range(0, a + 1, 2):
                s00, s01, s10, s11 = 0.0, 0.0, 0.0, 0.0
                for e in range(n):
                    x0, x1, y0, y1 = B[a, e], B[a + 1, e], B[b, e], B[b + 1, e]
                    s00 += x0 * y0
                    s01 += x0 * y1
                    s10 += x1 * y0
                    s11 += x1 * y1
                G[a, b] += s00
                G[a, b + 1] += s01
                G[a + 1, b] += s10
                G[a + 1, b + 1] += s11
        start += n


@jit
def row_grams(
    weights: Array, features: Array, starts: Array, others: Array, base: Array, first: int, last: int, out: Array
) -> None:
    """out[i - base] = sum over the entries e of row i of weights[e] f f', f = features[others[e]]."""
    r = features.shape[1]
    R = r + 1 + (r + 1) % 2
    B, G, none = np.zeros((R, TILE)), np.empty((R, R)), np.zeros(0)
    for i in range(first, last):
        _moments(weights, weights, none, features, starts, others, i, B, G)
        for a in range(r):
            for b in range(a + 1):
                out[i - base, a, b] = G[a, b]
                out[i - base, b, a] = G[a, b]


@jit
def _factor(G: Array, ridge: Array, L: Array) -> bool:
    """The Cholesky factor of G + diag(ridge) + a trace of the identity; False if there is nothing in G."""
    r = ridge.size
    top = 0.0
    for a in range(r):
        top = max(top, G[a, a] + ridge[a])
    if not top > 0.0:
        return False
    for a in range(r):
        for b in range(a):
            s = G[a, b]
            for c in range(b):
                s -= L[a, c] * L[b, c]
            L[a, b] = s * L[b, b]
        s = G[a, a] + ridge[a] + 1e-12 * top
        for c in range(a):
            s -= L[a, c] * L[a, c]
        L[a, a] = 1.0 / np.sqrt(max(s, 1e-14 * top))  # the reciprocal: the rest multiplies
    return True


@jit
def _solve(L: Array, h: Array) -> None:
    """h <- (L L')^-1 h."""
    r = h.size
    for a in range(r):
        s = h[a]
        for c in range(a):
            s -= L[a, c] * h[c]
        h[a] = s * L[a, a]
    for a in range(r - 1, -1, -1):
        s = h[a]
        for c in range(a + 1, r):
            s -= L[c, a] * h[c]
        h[a] = s * L[a, a]


@jit
def row_solves(
    values: Array,
    weights: Array,
    offset: Array,
    features: Array,
    ridge: Array,
    starts: Array,
    others: Array,
    first: int,
    last: int,
    out: Array,
    left: Array,
) -> None:
    """out[i] = argmin over x of sum over the entries of row i of w (value - offset - <x, f>)^2 + sum ridge x^2.

    left[i] is the minimum. Empty `weights` are ones, an empty `offset` zeros. Rows that leave x undetermined get the
    shortest x, up to the trace that the factorisation adds; one step of refinement takes that trace out elsewhere.
    """
    r = features.shape[1]
    R = r + 1 + (r + 1) % 2
    B, G, L = np.zeros((R, TILE)), np.empty((R, R)), np.zeros((r, r))
    x, d = np.empty(r), np.empty(r)
    for i in range(first, last):
        _moments(values, weights, offset, features, starts, others, i, B, G)
        for a in range(r):
            x[a] = G[r, a]
        if _factor(G, ridge, L):
            _solve(L, x)
            for a in range(r):
                s = G[r, a] - ridge[a] * x[a]
                for b in range(r):
                    s -= (G[a, b] if b <= a else G[b, a]) * x[b]
                d[a] = s
            _solve(L, d)
            for a in range(r):
                x[a] += d[a]
        else:
            x[:] = 0.0
        s = G[r, r]
        for a in range(r):
            t = ridge[a] * x[a] - 2.0 * G[r, a]
            for b in range(r):
                t += (G[a, b] if b <= a else G[b, a]) * x[b]
            s += t * x[a]
            out[i, a] = x[a]
        left[i] = s


@jit
def row_solves_nonnegative(
    values: Array,
    weights: Array,
    offset: Array,
    features: Array,
    ridge: Array,
    bound: Array,
    starts: Array,
    others: Array,
    first: int,
    last: int,
    out: Array,
    left: Array,
) -> None:
    """As `row_solves` over x with x[a] >= 0 where bound[a], by coordinate descent from out[i]."""
    r = features.shape[1]
    R = r + 1 + (r + 1) % 2
    B, G = np.zeros((R, TILE)), np.empty((R, R))
    for i in range(first, last):
        _moments(values, weights, offset, features, starts, others, i, B, G)
        for a in range(r):
            for b in range(a):
                G[b, a] = G[a, b]
            G[a, a] += ridge[a]
        for _ in range(50):
            moved = 0.0
            size = 0.0
            for a in range(r):
                if not G[a, a] > 0.0:
                    out[i, a] = 0.0
                    continue
                s = G[r, a]
                for b in range(r):
                    s -= G[a, b] * out[i, b]
                x = out[i, a] + s / G[a, a]
                if bound[a] and x < 0.0:
                    x = 0.0
                moved = max(moved, abs(x - out[i, a]) * np.sqrt(G[a, a]))
                size = max(size, abs(x) * np.sqrt(G[a, a]))
                out[i, a] = x
            if moved <= 1e-9 * size:
                break
        s = G[r, r]
        for a in range(r):
            t = -2.0 * G[r, a]
            for b in range(r):
                t += G[a, b] * out[i, b]
            s += t * out[i, a]
        left[i] = s


@jit
def split_rows(
    D: Array,
    T: Array,
    L: Array,
    Y: Array,
    seen: Array,
    soft: float,
    mu: float,
    following: float,
    price: float,
    ahead: float,
    first: int,
    last: int,
) -> None:
    """One step of the multipliers on the entries of some rows, see `kernels.split_rows`."""
    q = D.shape[1]
    some = seen.shape[0] > 0
    for i in range(first, last):
        for j in range(q):
            d, y = D[i, j], Y[i, j]
            t = ahead * (d - L[i, j]) + (1.0 - ahead) * (d - T[i, j]) + (2.0 - ahead) / mu * y
            y = min(max(soft * t, -price), price)
            if some and not seen[i, j]:
                y = 0.0
            Y[i, j] = y
            T[i, j] = d - (t - y / mu) + y / following


@jit
def clipped_rows(R: Array, t: float, first: int, last: int, out: Array) -> None:
    """Per row, sums of min(|r|, t)^2, of min(|r|, t), of |r|, and how many are beyond t."""
    q = R.shape[1]
    for i in range(first, last):
        squares, ones, total, count = 0.0, 0.0, 0.0, 0.0
        for j in range(q):
            r = abs(R[i, j])
            c = min(r, t)
            squares += c * c
            ones += c
            total += r
            if r > t:
                count += 1.0
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = squares, ones, total, count
