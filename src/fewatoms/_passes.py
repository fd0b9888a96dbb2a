"""Compiled loops of passes over dense rows, see `operators/passes.py`. Importing this imports numba.

Rows may be in single precision; sums are in double. A few rows are read together over a tile of columns, so that what
is summed up stays in the first-level cache while rows stream by once.
"""

from fewatoms._dense import jit
from fewatoms._types import Array

STRIP = 1024  # columns


@jit
def pulled(A: Array, y: Array, z: Array) -> None:
    """z += A'y."""
    m, n = A.shape
    whole = m - m % 4
    for low in range(0, n, STRIP):
        part = z[low : low + STRIP]
        for i in range(0, whole, 4):
            r, s = A[i, low : low + STRIP], A[i + 1, low : low + STRIP]
            t, u = A[i + 2, low : low + STRIP], A[i + 3, low : low + STRIP]
            a, b, c, d = y[i], y[i + 1], y[i + 2], y[i + 3]
            for j in range(part.size):
                part[j] += (a * r[j] + b * s[j]) + (c * t[j] + d * u[j])
        for i in range(whole, m):
            r, a = A[i, low : low + STRIP], y[i]
            for j in range(part.size):
                part[j] += a * r[j]


@jit
def surveyed(A: Array, y: Array, w: Array, z: Array, squares: Array) -> None:
    """z += A'y, and squares += the sums of w A^2 over rows."""
    m, n = A.shape
    whole = m - m % 4
    for low in range(0, n, STRIP):
        part, sums = z[low : low + STRIP], squares[low : low + STRIP]
        for i in range(0, whole, 4):
            r, s = A[i, low : low + STRIP], A[i + 1, low : low + STRIP]
            t, u = A[i + 2, low : low + STRIP], A[i + 3, low : low + STRIP]
            a, b, c, d = y[i], y[i + 1], y[i + 2], y[i + 3]
            e, f, g, h = w[i], w[i + 1], w[i + 2], w[i + 3]
            for j in range(part.size):
                o, p, q, v = float(r[j]), float(s[j]), float(t[j]), float(u[j])
                part[j] += (a * o + b * p) + (c * q + d * v)
                sums[j] += (e * o * o + f * p * p) + (g * q * q + h * v * v)
        for i in range(whole, m):
            r, a, e = A[i, low : low + STRIP], y[i], w[i]
            for j in range(part.size):
                o = float(r[j])
                part[j] += a * o
                sums[j] += e * o * o


@jit
def image(A: Array, x: Array, out: Array) -> None:
    """out = A x."""
    for i in range(A.shape[0]):
        r, total = A[i], 0.0
        for j in range(r.size):
            total += x[j] * r[j]
        out[i] = total
