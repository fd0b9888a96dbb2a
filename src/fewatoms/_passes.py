"""Compiled loops of passes over dense rows, see `operators/passes.py`. Importing this imports numba.

Rows may be in single precision; sums are in double. Four rows are read together, so that what is summed up is fetched
once for all of them, over pieces long enough that rows come as four streams and short enough that the sums stay in a
cache. What comes next is asked for ahead: in single precision half as many bytes are wanted at a time, and processors
do not look far enough.
"""

import numpy as np

from fewatoms._dense import jit
from fewatoms._lanes import LANES, fetch, load, more, product, same, spread, store, total
from fewatoms._types import Array

STRIP = 1 << 14  # columns
STEP = 2 * LANES  # columns at a time; in single precision they are one line of a cache
FETCHED = 256  # columns ahead


@jit
def _ask(flat: Array, at: int, n: int) -> None:
    """Have the same columns of four rows brought near."""
    fetch(flat, at)
    fetch(flat, at + n)
    fetch(flat, at + 2 * n)
    fetch(flat, at + 3 * n)


@jit
def pulled(A: Array, y: Array, z: Array) -> None:
    """z += A'y."""
    m, n = A.shape
    flat, whole = A.reshape(m * n), m - m % 4
    for low in range(0, n, STRIP):
        high = min(low + STRIP, n)
        even = high - (high - low) % STEP
        for i in range(0, whole, 4):
            r, a, b, c, d = i * n, spread(y, i), spread(y, i + 1), spread(y, i + 2), spread(y, i + 3)
            for j in range(low, even, STEP):
                _ask(flat, r + j + FETCHED, n)
                for k in range(j, j + STEP, LANES):
                    p = more(load(z, k), a, load(flat, r + k))
                    p = more(p, b, load(flat, r + n + k))
                    p = more(p, c, load(flat, r + 2 * n + k))
                    store(z, k, more(p, d, load(flat, r + 3 * n + k)))
            _pulled_slowly(A, y, z, i, i + 4, even, high)
        _pulled_slowly(A, y, z, whole, m, low, high)


@jit
def _pulled_slowly(A: Array, y: Array, z: Array, first: int, last: int, low: int, high: int) -> None:
    """The same for some rows and columns."""
    for i in range(first, last):
        for j in range(low, high):
            z[j] += y[i] * A[i, j]


@jit
def surveyed(A: Array, y: Array, w: Array, z: Array, squares: Array) -> None:
    """z += A'y, and squares += the sums of w A^2 over rows."""
    m, n = A.shape
    flat, whole = A.reshape(m * n), m - m % 4
    for low in range(0, n, STRIP):
        high = min(low + STRIP, n)
        even = high - (high - low) % STEP
        for i in range(0, whole, 4):
            r, a, b, c, d = i * n, spread(y, i), spread(y, i + 1), spread(y, i + 2), spread(y, i + 3)
            e, f, g, h = spread(w, i), spread(w, i + 1), spread(w, i + 2), spread(w, i + 3)
            for j in range(low, even, STEP):
                _ask(flat, r + j + FETCHED, n)
                for k in range(j, j + STEP, LANES):
                    v, q = load(flat, r + k), load(flat, r + n + k)
                    s, u = load(flat, r + 2 * n + k), load(flat, r + 3 * n + k)
                    store(z, k, more(more(more(more(load(z, k), a, v), b, q), c, s), d, u))
                    t = more(more(load(squares, k), product(e, v), v), product(f, q), q)
                    store(squares, k, more(more(t, product(g, s), s), product(h, u), u))
            _surveyed_slowly(A, y, w, z, squares, i, i + 4, even, high)
        _surveyed_slowly(A, y, w, z, squares, whole, m, low, high)


@jit
def _surveyed_slowly(
    A: Array, y: Array, w: Array, z: Array, squares: Array, first: int, last: int, low: int, high: int
) -> None:
    """The same for some rows and columns."""
    for i in range(first, last):
        for j in range(low, high):
            v = float(A[i, j])
            z[j] += y[i] * v
            squares[j] += w[i] * v * v


@jit
def image(A: Array, x: Array, out: Array) -> None:
    """out += A x."""
    m, n = A.shape
    flat, whole, sums = A.reshape(m * n), m - m % 4, np.empty(4 * LANES)
    for low in range(0, n, STRIP):
        high = min(low + STRIP, n)
        even = high - (high - low) % STEP
        for i in range(0, whole, 4):
            r, a, b, c, d = i * n, same(0.0), same(0.0), same(0.0), same(0.0)
            e, f, g, h = same(0.0), same(0.0), same(0.0), same(0.0)
            for j in range(low, even, STEP):
                _ask(flat, r + j + FETCHED, n)
                p, q, k = load(x, j), load(x, j + LANES), r + j + LANES
                a, e = more(a, p, load(flat, r + j)), more(e, q, load(flat, k))
                b, f = more(b, p, load(flat, r + n + j)), more(f, q, load(flat, k + n))
                c, g = more(c, p, load(flat, r + 2 * n + j)), more(g, q, load(flat, k + 2 * n))
                d, h = more(d, p, load(flat, r + 3 * n + j)), more(h, q, load(flat, k + 3 * n))
            store(sums, 0, total(a, e))
            store(sums, LANES, total(b, f))
            store(sums, 2 * LANES, total(c, g))
            store(sums, 3 * LANES, total(d, h))
            for k in range(4 * LANES):
                out[i + k // LANES] += sums[k]
            _imaged_slowly(A, x, out, i, i + 4, even, high)
        _imaged_slowly(A, x, out, whole, m, low, high)


@jit
def _imaged_slowly(A: Array, x: Array, out: Array, first: int, last: int, low: int, high: int) -> None:
    """The same for some rows and columns."""
    for i in range(first, last):
        total = 0.0
        for j in range(low, high):
            total += x[j] * A[i, j]
        out[i] += total
