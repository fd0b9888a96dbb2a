"""The steps of `exchanges.py` as loops, for the compiler: each means what its namesake says.

Most of what is looked at is not as good as what is known: loops without branches or divisions first count what may be
better, and only where something is do others look at it closely.
"""

from __future__ import annotations

import numpy as np

from fewatoms._types import FloatArray, IntArray
from fewatoms.gram._state import OUT
from fewatoms.gram.state import PIVOT, State


def best_nonnegative_swap(s: State) -> tuple[int, int, float]:
    n, p, z = s.z.size, s.count[0], s.z
    d = np.empty(n)
    for a in range(n):
        d[a] = s.d[a] if s.may[a] and s.place[a] < 0 else OUT
    at, to, best = -1, -1, 0.0
    for i in range(p):
        if s.stays[s.S[i]]:
            continue
        over = 1.0 / s.H[i, i]
        t, cost, row = s.c[i] * over, s.c[i] * s.c[i] * over, s.B[i]
        bar, hits = best + cost, 0
        for a in range(n):
            reach = z[a] + t * row[a]
            left = d[a] + row[a] * row[a] * over
            hits += 1 if (left > PIVOT) & (reach > 0.0) & (reach * reach > bar * left) else 0
        for a in range(n if hits else 0):
            reach = z[a] + t * row[a]
            left = d[a] + row[a] * row[a] * over
            if not (left > PIVOT and reach > 0.0 and reach * reach / left > bar):
                continue
            ca, fits = reach / left, True
            for b in range(p):
                u = s.H[b, i] * over
                fits = fits and (b == i or s.c[b] - u * s.c[i] - (s.B[b, a] - u * row[a]) * ca >= 0.0)
            if fits:
                bar, at, to = reach * ca, i, a
                best = bar - cost
    return at, to, best


def rivals(s: State, signed: bool, floor: float, out: FloatArray) -> None:
    n, z = s.z.size, s.z
    d = np.empty(n)
    for a in range(n):
        d[a] = s.d[a] if s.may[a] and s.place[a] < 0 else OUT
    for i in range(s.count[0]):
        over = 1.0 / s.H[i, i]
        t, cost, row = s.c[i] * over, s.c[i] * s.c[i] * over, s.B[i]
        most, hits = floor * cost, 0
        for a in range(n if not s.stays[s.S[i]] else 0):
            reach = z[a] + t * row[a]
            left = d[a] + row[a] * row[a] * over
            hits += 1 if (left > PIVOT) & (signed | (reach > 0.0)) & (reach * reach > most * left) else 0
        for a in range(n if hits else 0):
            reach = z[a] + t * row[a]
            left = d[a] + row[a] * row[a] * over
            if left > PIVOT and (signed or reach > 0.0) and reach * reach > most * left:
                most = reach * reach / left
        out[i] = 0.0 if hits == 0 else most / cost if cost > 0.0 else np.inf


def promising(s: State, most: int, signed: bool, floor: float) -> IntArray:
    n = s.z.size
    worth, high = np.empty(n), 0.0
    for j in range(n):
        good = s.may[j] and s.place[j] < 0 and s.d[j] > PIVOT and (signed or s.z[j] > 0.0)
        worth[j] = s.z[j] * s.z[j] / s.d[j] if good else 0.0
        high = max(high, worth[j])
    low, bar = floor, floor
    for _ in range(60):  # a bar that no more than `most` are above
        count = 0
        for j in range(n):
            count += 1 if worth[j] > bar else 0
        if count == most or (count < most and bar == floor):
            break
        low, high = (bar, high) if count > most else (low, bar)
        bar = 0.5 * (low + high)
    out, count = np.empty(n, dtype=np.int64), 0
    for j in range(n):
        if worth[j] > bar and count < most:
            out[count] = j
            count += 1
    return out[:count]


def left_over(G: FloatArray, s: State, a: int, v: FloatArray) -> None:
    """v = G_a less what the atoms inside explain of it."""
    p, n = s.count[0], v.size
    row = G[a]
    if p == 0:
        for b in range(n):
            v[b] = row[b]
        return
    u, other = s.B[0, a], G[s.S[0]]
    for b in range(n):
        v[b] = row[b] - u * other[b]
    for i in range(1, p):
        u, other = s.B[i, a], G[s.S[i]]
        for b in range(n):
            v[b] -= u * other[b]


def hits_beside(d: FloatArray, z: FloatArray, v: FloatArray, da: float, za: float, signed: bool, bar: float) -> int:
    """How many atoms would gain more than the bar beside a."""
    hits, floor = 0, PIVOT * da
    if signed:
        for b in range(d.size):
            det = da * d[b] - v[b] * v[b]
            gain = za * za * d[b] + z[b] * (z[b] * da - 2.0 * za * v[b])
            hits += 1 if (det > floor) & (gain > bar * det) else 0
        return hits
    for b in range(d.size):
        det = da * d[b] - v[b] * v[b]
        ca, cb = za * d[b] - z[b] * v[b], z[b] * da - za * v[b]
        hits += 1 if (det > floor) & (ca > 0.0) & (cb > 0.0) & (za * ca + z[b] * cb > bar * det) else 0
    return hits


def best_two(G: FloatArray, s: State, rows: IntArray, signed: bool, bar: float) -> tuple[int, int, float]:
    n, p, z = s.z.size, s.count[0], s.z
    d, v = np.empty(n), np.empty(n)
    for a in range(n):
        d[a] = s.d[a] if s.may[a] and s.place[a] < 0 else 0.0
    first, second = -1, -1
    for q in range(rows.size):
        a = rows[q]
        da, za = d[a], z[a]
        left_over(G, s, a, v)
        if not hits_beside(d, z, v, da, za, signed, bar):
            continue
        for b in range(n):
            det = da * d[b] - v[b] * v[b]
            if not det > PIVOT * da:
                continue
            ca, cb = za * d[b] - z[b] * v[b], z[b] * da - za * v[b]
            gain = (za * ca + z[b] * cb) / det
            if not gain > bar or not (signed or (ca > 0.0 and cb > 0.0)):
                continue
            fits = True
            for i in range(p if not signed else 0):
                fits = fits and s.c[i] * det - s.B[i, a] * ca - s.B[i, b] * cb >= 0.0
            if fits:
                first, second, bar = a, b, gain
    return first, second, bar
