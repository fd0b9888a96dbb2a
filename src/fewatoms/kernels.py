"""The few compiled loops. numba is imported on first use and keeps the machine code on disk.

Each loop has a slow twin in tests/naive.py. `compiled(name)` returns the loop; the functions below are its plain Python
text, which runs as it is when NUMBA_DISABLE_JIT is set.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from fewatoms._types import Array

WORTHWHILE = 200_000  # from this many sampled entries on a compiled loop repays the import of numba


def _sampled_products(U: Array, V: Array, rows: Array, cols: Array, out: Array) -> None:
    """out[e] = <U[rows[e]], V[cols[e]]>."""
    for e in range(rows.size):
        total = 0.0
        for a in range(U.shape[1]):
            total += U[rows[e], a] * V[cols[e], a]
        out[e] = total


def _row_grams(V: Array, starts: Array, cols: Array, weights: Array, out: Array) -> None:
    """out[i] = sum over the entries e of row i of weights[e] V[cols[e]] V[cols[e]]^T, rows delimited by starts."""
    r = V.shape[1]
    for i in range(starts.size - 1):
        for a in range(r):
            for b in range(r):
                out[i, a, b] = 0.0
        for e in range(starts[i], starts[i + 1]):
            for a in range(r):
                t = weights[e] * V[cols[e], a]
                for b in range(a + 1):
                    out[i, a, b] += t * V[cols[e], b]
        for a in range(r):
            for b in range(a):
                out[i, b, a] = out[i, a, b]


@cache
def compiled(name: str) -> Callable[..., Any]:
    """The compiled loop called `name`: "sampled_products" or "row_grams"."""
    import numba

    loop = {"sampled_products": _sampled_products, "row_grams": _row_grams}[name]
    return numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})(loop)
