"""Compiled loops over the rows of dense matrices, and how loops are compiled. Importing this imports numba."""

from numba import njit

from fewatoms._lanes import Numba
from fewatoms._types import Array


def jit(loop: Numba, keep: bool = True) -> Numba:
    """Compiled on first use, and kept on disk where there is a place for it."""
    try:
        return njit(cache=keep, nogil=True, fastmath={"contract", "reassoc", "nsz"})(loop)
    except RuntimeError:  # numba finds no folder that it may write to
        return jit(loop, keep=False)


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
