"""The steps of `state.py` as loops, for the compiler: each means what its namesake says."""

from __future__ import annotations

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.gram.state import PIVOT, State

OUT = -2.0  # in the place of a squared length: nothing brings it above 0 again


def blank(G: FloatArray, h: FloatArray, bb: float, most: int, may: Array, stays: Array) -> State:
    n = h.size
    place, d, count = np.empty(n, dtype=np.int64), np.empty(n), np.zeros(3, dtype=np.int64)
    for j in range(n):
        count[2] += stays[j]
        place[j] = -1
        d[j] = G[j, j]
    return State(
        np.zeros(most, dtype=np.int64), place, np.zeros((most, most)), np.zeros(most), np.zeros((most, n)), d,
        h.copy(), may, stays, count, np.full(1, bb),
    )  # fmt: skip


def enter(G: FloatArray, s: State, j: int) -> None:
    p, n = s.count[0], s.z.size
    B, H, S, c, d, z = s.B, s.H, s.S, s.c, s.d, s.z
    v = B[p]  # the place that it will have
    for a in range(n):
        v[a] = G[j, a]
    for i in range(p):
        u, row = B[i, j], G[S[i]]
        for a in range(n):
            v[a] -= u * row[a]
    left = v[j]
    t, over = z[j] / left, 1.0 / left
    s.loss[0] -= t * z[j]
    for a in range(n):
        d[a] -= v[a] * v[a] * over
        z[a] -= t * v[a]
        v[a] *= over
    for i in range(p):
        u = B[i, j]
        H[p, i] = u
        for a in range(n):
            B[i, a] -= u * v[a]
    for i in range(p):
        u = H[p, i]
        c[i] -= t * u
        for a in range(p):
            H[i, a] += u * H[p, a] * over
    for i in range(p):
        H[p, i] = -H[p, i] * over
        H[i, p] = H[p, i]
    H[p, p] = over
    c[p] = t
    S[p] = j
    s.place[j] = p
    s.count[0] = p + 1
    s.count[1] += 1
    s.count[2] -= s.stays[j]


def leave(s: State, i: int) -> None:
    p, n = s.count[0], s.z.size
    B, H, S, c, d, z = s.B, s.H, s.S, s.c, s.d, s.z
    last, over, ci = p - 1, 1.0 / H[i, i], c[i]
    row = B[i]
    s.loss[0] += ci * ci * over
    for a in range(n):
        d[a] += row[a] * row[a] * over
        z[a] += ci * over * row[a]
    for b in range(p):
        if b != i:
            u = H[b, i] * over
            c[b] -= u * ci
            for a in range(n):
                B[b, a] -= u * row[a]
            for a in range(p):
                if a != i:
                    H[b, a] -= u * H[i, a]
    s.place[S[i]] = -1
    s.count[2] += s.stays[S[i]]
    if i != last:
        S[i] = S[last]
        c[i] = c[last]
        s.place[S[i]] = i
        for a in range(n):
            B[i, a] = B[last, a]
        for a in range(p):
            H[i, a] = H[last, a]
        for a in range(p):
            H[a, i] = H[a, last]
    s.count[0] = last
    s.count[1] += 1


def best_entry(s: State, signed: bool) -> tuple[int, float]:
    at, best = -1, 0.0
    for j in range(s.z.size):
        if s.may[j] and s.place[j] < 0 and s.d[j] > PIVOT and (signed or s.z[j] > 0.0):
            worth = s.z[j] * s.z[j] / s.d[j]
            if worth > best:
                at, best = j, worth
    return at, best


def cheapest(s: State) -> tuple[int, float]:
    at, best = -1, np.inf
    for i in range(s.count[0]):
        cost = s.c[i] * s.c[i] / s.H[i, i]
        if not s.stays[s.S[i]] and cost < best:
            at, best = i, cost
    return at, best


def best_swap(s: State, signed: bool) -> tuple[int, int, float]:
    n, z = s.z.size, s.z
    d = np.empty(n)
    for a in range(n):
        d[a] = s.d[a] if s.may[a] and s.place[a] < 0 else OUT
    at, to, best = -1, -1, 0.0
    for i in range(s.count[0]):
        if s.stays[s.S[i]]:
            continue
        over = 1.0 / s.H[i, i]
        t, cost, row = s.c[i] * over, s.c[i] * s.c[i] * over, s.B[i]
        bar, hits = best + cost, 0
        for a in range(n):  # most exchanges are no better: these are counted without branches or divisions
            reach = z[a] + t * row[a]
            left = d[a] + row[a] * row[a] * over
            hits += 1 if (left > PIVOT) & (signed | (reach > 0.0)) & (reach * reach > bar * left) else 0
        for a in range(n if hits else 0):
            reach = z[a] + t * row[a]
            left = d[a] + row[a] * row[a] * over
            if left > PIVOT and (signed or reach > 0.0) and reach * reach / left > bar:
                bar, at, to = reach * reach / left, i, a
                best = bar - cost
    return at, to, best


def swap_bounds(s: State, out: FloatArray) -> None:
    n, d, z = s.z.size, s.d, s.z
    for i in range(s.count[0]):
        over = 1.0 / s.H[i, i]
        t, cost, row = s.c[i] * over, s.c[i] * s.c[i] * over, s.B[i]
        stays = s.stays[s.S[i]]
        for a in range(n):
            reach = z[a] + t * row[a]
            left = d[a] + row[a] * row[a] * over
            good = not stays and s.may[a] and s.place[a] < 0 and left > PIVOT
            out[i, a] = reach * reach / max(left, PIVOT) - cost if good else -np.inf


def axpy(y: FloatArray, t: float, x: FloatArray) -> None:
    for a in range(y.size):
        y[a] += t * x[a]


def copy_state(to: State, s: State) -> None:
    p, n = s.count[0], s.z.size
    for i in range(p):
        to.S[i] = s.S[i]
        to.c[i] = s.c[i]
        for a in range(p):
            to.H[i, a] = s.H[i, a]
        for a in range(n):
            to.B[i, a] = s.B[i, a]
    for a in range(n):
        to.place[a] = s.place[a]
        to.d[a] = s.d[a]
        to.z[a] = s.z[a]
    to.count[0] = s.count[0]
    to.count[1] = s.count[1]
    to.count[2] = s.count[2]
    to.loss[0] = s.loss[0]
