"""Where compiled loops are called from: numba is imported on first use, and keeps the machine code on disk if it can.

The loops are in `_loops.py`; each has a twin in NumPy here, for problems too small to repay the import, which also says
what the loop means. Both see entries row by row: `starts` delimits the rows, `others` holds the columns.
"""

from __future__ import annotations

import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np

from fewatoms import alone
from fewatoms._nonnegative import DESCENT_PASSES, descended
from fewatoms._types import Array, FloatArray, Foreign

WORTHWHILE = 30_000  # from this many entries on, compiled loops repay the import of numba
REGRESSED = 1_000_000  # multiplications in regressions of all rows from which on they do so as well
DESCENDED = 50  # passes of coordinate descent at most
PARALLEL = 2_000_000  # multiplications below which a second thread is not worth waking
LANES, LINE = 8, 64  # numbers that loops work on together; bytes of a line of the cache
GATHER = 1 << 22  # numbers that the NumPy twins gather at a time
WIDENED = 1 << 16  # entries in single precision that loops are given at a time, in double: they stay in the cache

_log = logging.getLogger("fewatoms")
NONE: FloatArray = np.zeros(0)


@cache
def _loops() -> Foreign:
    from fewatoms import _loops as loops

    return loops


@cache
def streams() -> Foreign:
    """The loops that go through rows of a dense matrix once (`operators/passes.py` has their twins)."""
    from fewatoms import _passes as loops

    return loops


def threads() -> int:
    """How many threads loops may use: the cores of this process, or fewer if numba's or OpenMP's variable says so."""
    if alone.asked():
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        told = os.environ.get(name, "")
        if told.isdigit() and int(told) > 0:
            return min(cores, int(told))
    return cores


def _run(
    name: str,
    starts: Array,
    work: float,
    head: tuple[object, ...],
    tail: tuple[object, ...],
    rows: tuple[int, int] | None = None,
    *,
    narrow: bool = False,
) -> None:
    """Call one of the loops of `_loops`; of regressions, where values and weights are `narrow`, on some at a time."""
    loop = getattr(_loops(), name)
    run(name, loop, starts, work, head, tail, rows, _Widened(loop) if narrow else None)


class _Widened:
    """A loop of regressions over entries whose values and weights are kept in single precision, some rows at a time."""

    def __init__(self, loop: Foreign) -> None:
        self.loop = loop

    def __call__(self, values: Array, weights: Array, *rest: Array) -> None:
        *shared, starts, others, first, last, out, left = rest
        for low, high in _ranges(starts, int(first), int(last), WIDENED):
            some, here = slice(starts[low], starts[high]), starts[low : high + 1] - starts[low]
            head = _double(values[some]), _double(weights[some]) if weights.size else NONE, *shared
            self.loop(*head, here, others[some], 0, high - low, out[low:high], left[low:high])


def _double(values: Array) -> FloatArray:
    return values.astype(np.float64, copy=False)


def run(
    name: str,
    loop: Foreign,
    starts: Array,
    work: float,
    head: tuple[object, ...],
    tail: tuple[object, ...],
    rows: tuple[int, int] | None = None,
    around: Foreign = None,
) -> None:
    """Call a loop for all rows (or a range), in as many threads as the work is worth, with as many entries each.

    `work` counts multiplications per entry; `around` is called instead of the loop, and calls it. Compilation is said
    in a log line.
    """
    called = loop if around is None else around
    first, last = (0, starts.size - 1) if rows is None else rows
    entries = starts[last] - starts[first]
    count = min(threads(), max(1, int(work * entries // PARALLEL)), max(1, last - first))
    misses, began = _misses(loop), time.perf_counter()
    if count == 1:
        called(*head, first, last, *tail)
    else:
        cuts = np.searchsorted(starts, np.linspace(starts[first], starts[last], count + 1)[1:-1])
        cuts = np.concatenate([[first], cuts, [last]])
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda span: called(*head, int(span[0]), int(span[1]), *tail), pairwise(cuts)))
    if _misses(loop) > misses:
        _log.info("compiled the loop %s in %.1f s", name, time.perf_counter() - began)


def _misses(loop: Foreign) -> int:
    """How often a loop had to be compiled so far."""
    stats = getattr(loop, "stats", None)
    return 0 if stats is None else sum(stats.cache_misses.values())


def _blocks(starts: Array, width: int) -> list[tuple[int, int]]:
    """Ranges of rows whose entries, `width` numbers each, fit in one gather (a longer row stands alone)."""
    return _ranges(starts, 0, starts.size - 1, max(1, GATHER // max(1, width)))


def _ranges(starts: Array, first: int, end: int, most: int) -> list[tuple[int, int]]:
    """Ranges of no more rows and entries than that (a longer row stands alone)."""
    ranges = []
    while first < end:
        last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        last = min(end, max(first + 1, last), first + most)
        ranges.append((first, last))
        first = last
    return ranges


def _table(features: Array) -> Array:
    """Features as loops take them, in single precision if they come so: rows of whole vectors, which begin where lines
    of the cache do. A row of a dozen numbers in single precision is one such line."""
    kind = np.dtype(np.float32 if features.dtype == np.float32 else np.float64)
    n, r = features.shape
    width = max(LANES, -(-r // LANES) * LANES)
    room = np.empty(n * width + LINE // kind.itemsize, dtype=kind)
    begin = -room.ctypes.data % LINE // kind.itemsize
    table = room[begin : begin + n * width].reshape(n, width)
    table[:, :r], table[:, r:] = features, 0.0
    return table


def _summed(terms: Array, starts: Array, first: int, last: int) -> Array:
    """Sums of the terms (of the entries of rows first to last) over each row; empty rows get zero."""
    out = np.zeros((last - first, *terms.shape[1:]))
    filled = np.flatnonzero(np.diff(starts[first : last + 1]))
    if filled.size:
        out[filled] = np.add.reduceat(terms, starts[first:last][filled] - starts[first], axis=0)
    return out


def sampled_products(left: Array, right: Array, starts: Array, others: Array) -> FloatArray:
    """<left[i], right[j]> for all entries (i, j), in their order."""
    out = np.empty(others.size)
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    if others.size >= WORTHWHILE:
        _run("sampled_products", starts, left.shape[1], (left, right, starts, others), (out,))
        return out
    for first, last in _blocks(starts, 2 * left.shape[1]):
        some = slice(starts[first], starts[last])
        rows = np.repeat(np.arange(first, last), np.diff(starts[first : last + 1]))
        out[some] = np.einsum("ij,ij->i", left.take(rows, 0), right.take(others[some], 0))
    return out


def scattered(values: FloatArray, features: Array, starts: Array, others: Array) -> FloatArray:
    """Per row, the sum over its entries of value times features[j]."""
    if others.size >= WORTHWHILE:
        table = _table(features)
        wide = np.empty((starts.size - 1, table.shape[1]))
        _run("scattered", starts, features.shape[1], (values, table, starts, others), (wide,))
        return wide[:, : features.shape[1]]
    out = np.empty((starts.size - 1, features.shape[1]))
    for first, last in _blocks(starts, features.shape[1]):
        some = slice(starts[first], starts[last])
        out[first:last] = _summed(values[some, None] * features[others[some]], starts, first, last)
    return out


def row_grams(weights: FloatArray, features: Array, starts: Array, others: Array, first: int, last: int) -> FloatArray:
    """Per row from first to last, the sum over its entries of weight times f f', f = features[j]."""
    r = features.shape[1]
    if others.size >= WORTHWHILE:
        out = np.empty((last - first, r, r))
        head = (weights, _table(features), starts, others, first)
        _run("row_grams", starts, 0.5 * (r + 1) ** 2, head, (out,), (first, last))
        return out
    out = np.zeros((last - first, r, r))
    for low, high in _blocks(starts[first : last + 1], 2 * r):
        low, high = first + low, first + high
        some = slice(starts[low], starts[high])
        f, w = features[others[some]], weights[some]
        for a in range(r):
            out[low - first : high - first, a] = _summed((w * f[:, a])[:, None] * f, starts, low, high)
    return out


def row_solves(
    values: FloatArray,
    weights: FloatArray,
    offset: FloatArray,
    features: Array,
    ridge: FloatArray,
    starts: Array,
    others: Array,
) -> tuple[FloatArray, FloatArray]:
    """Per row, the x that minimises sum over its entries of w (value - offset[j] - <x, f>)^2 + sum ridge x^2, and the
    minimum. Empty weights are ones, an empty offset zeros; what entries leave undetermined is as short as can be.
    Features may be in single precision, and so may values and weights, together; all else is in double.
    """
    rows, r = starts.size - 1, features.shape[1]
    out, left = np.empty((rows, r)), np.empty(rows)
    if others.size >= WORTHWHILE or r * r * (others.size + r * rows) >= REGRESSED:
        head = (values, weights, offset, _table(features), ridge, starts, others)
        _run("row_solves", starts, 0.5 * (r + 1) ** 2, head, (out, left), narrow=values.dtype == np.float32)
        return out, left
    for first, last in _blocks(starts, (r + 1) * (r + 1)):
        G, h, s = _moments(values, weights, offset, features, starts, others, first, last)
        G = G + np.diag(ridge)
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.einsum("iab,ib->ia", np.linalg.pinv(G, rcond=1e-12, hermitian=True), h)
        x[~np.isfinite(x)] = 0.0
        out[first:last], left[first:last] = x, s - np.einsum("ia,ia->i", h, x)
    return out, left


def row_solves_nonnegative(
    values: FloatArray,
    weights: FloatArray,
    offset: FloatArray,
    features: Array,
    ridge: FloatArray,
    bound: Array,
    starts: Array,
    others: Array,
    begin: FloatArray,
    often: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """As `row_solves` over x[a] >= 0 where bound[a], by coordinate descent from `begin`: never worse than that. `often`
    says that small ones have been asked for so many times that compiled loops repay the import too."""
    rows, r = starts.size - 1, features.shape[1]
    out, left = np.array(begin), np.empty(rows)
    if often or others.size >= WORTHWHILE or r * r * (others.size + DESCENDED * rows) >= REGRESSED:
        head = (values, weights, offset, _table(features), ridge, bound, starts, others)
        narrow = values.dtype == np.float32
        _run("row_solves_nonnegative", starts, 0.5 * (r + 1) ** 2, head, (out, left), narrow=narrow)
        return out, left
    for first, last in _blocks(starts, (r + 1) * (r + 1)):
        G, h, s = _moments(values, weights, offset, features, starts, others, first, last)
        G = G + np.diag(ridge)
        out[first:last] = x = descended(G, h, out[first:last], bound)
        left[first:last] = s + np.einsum("ia,ia->i", x, np.einsum("iab,ib->ia", G, x) - 2.0 * h)
    return out, left


def _moments(
    values: FloatArray,
    weights: FloatArray,
    offset: FloatArray,
    features: Array,
    starts: Array,
    others: Array,
    first: int,
    last: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Per row: sum of w f f', of w t f, and of w t^2, t = value - offset."""
    some = slice(starts[first], starts[last])
    j = others[some]
    f, t = _double(features[j]), _double(values[some]) - (offset[j] if offset.size else 0.0)
    wf = weights[some, None] * f if weights.size else f
    wt = weights[some] * t if weights.size else t
    r = features.shape[1]
    pairs = (wf[:, :, None] * f[:, None, :]).reshape(t.size, r * r)
    sums = _summed(np.concatenate([pairs, wf * t[:, None], (wt * t)[:, None]], axis=1), starts, first, last)
    return sums[:, : r * r].reshape(last - first, r, r), sums[:, r * r : r * r + r], sums[:, -1]


# Dense matrices, row by row ------------------------------------------------------------------------------------------


def split_rows(
    D: Array,
    T: Array,
    L: Array,
    Y: Array,
    seen: Array | None,
    *,
    soft: float,
    mu: float,
    following: float,
    price: float,
    ahead: float,
) -> None:
    """A step of the method of multipliers between two values of L, in place: S and the error together are
    t - y / mu with t = ahead (D - L) + (1 - ahead) (D - T) + (2 - ahead) Y / mu and y = clip(soft t, -price, price),
    zero where nothing is seen; Y becomes y, T becomes D - (t - y / mu) + y / following."""
    if D.size >= WORTHWHILE:
        mask = np.zeros((0, 0), dtype=bool) if seen is None else seen
        _run("split_rows", _even(D), 8, (D, T, L, Y, mask, soft, mu, following, price, ahead), ())
        return
    t = ahead * (D - L) + (1.0 - ahead) * (D - T) + (2.0 - ahead) / mu * Y
    y = np.clip(soft * t, -price, price)
    y = y if seen is None else y * seen
    Y[:] = y
    T[:] = D - (t - y / mu) + y / following


def clipped_sums(R: Array, t: float) -> tuple[float, float, float, int]:
    """The sums of min(|r|, t)^2, of min(|r|, t) and of |r| over a matrix, and how many entries are beyond t."""
    if R.size >= WORTHWHILE:
        out = np.empty((len(R), 4))
        _run("clipped_rows", _even(R), 4, (R, t), (out,))
        squares, ones, total, count = out.sum(axis=0)
        return float(squares), float(ones), float(total), int(count)
    size = np.abs(R)
    c = np.minimum(size, t)
    return float(np.vdot(c, c)), float(c.sum()), float(size.sum()), int(np.count_nonzero(size > t))


def _even(X: Array) -> Array:
    """Where the rows of a dense matrix start."""
    return np.arange(len(X) + 1) * X.shape[1]


__all__: list[str] = [
    "DESCENT_PASSES", "WORTHWHILE", "descended", "row_grams", "row_solves", "row_solves_nonnegative",
    "sampled_products", "scattered", "threads",
]  # fmt: skip
