"""The steps of `blocks.py` as loops, for the compiler: each means what its namesake says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.gram import state
from fewatoms.gram._rows import added, complete, let_go, without
from fewatoms.gram.blocks import Blocks
from fewatoms.gram.state import PIVOT

if TYPE_CHECKING:
    from fewatoms.gram.drivers import Rules


def clear(G: FloatArray, h: FloatArray, bb: float, s: Blocks) -> None:
    t = s.columns
    for i in range(t.count[0]):
        t.place[t.S[i]] = -1
    t.count[0] = 0
    s.loss[0] = bb
    for a in range(h.size):
        t.z[a] = h[a]
        for o in range(min(s.D.shape[0], h.size - a)):
            s.D[o, a] = G[a, a + o]
    for i in range(s.count[0]):
        s.place[s.S[i]] = -1
        s.count[2] += s.stays[s.S[i]]
    s.count[0] = 0
    s.count[1] = 0
    s.count[3] = 0


def enter(G: FloatArray, s: Blocks, j: int) -> None:
    p = s.count[0]
    s.count[3] += complete(G, s, j)
    s.S[p] = j
    s.place[j] = p
    s.count[0] = p + 1
    s.count[1] += 1
    s.count[2] -= s.stays[j]


def leave(s: Blocks, i: int) -> None:
    j, last = s.S[i], s.count[0] - 1
    s.count[3] -= s.starts[j + 1] - s.starts[j] - let_go(s, i)
    s.S[i] = s.S[last]
    s.place[s.S[i]] = i
    s.place[j] = -1
    s.count[0] = last
    s.count[1] += 1
    s.count[2] += s.stays[j]


def settle(G: FloatArray, h: FloatArray, s: Blocks, signed: bool) -> None:
    if s.count[3] > 0:
        s.count[3] = 0
        for i in range(s.count[0]):
            s.count[3] += complete(G, s, s.S[i])


def fits(s: Blocks, j: int, signed: bool) -> bool:
    left = 0.0
    for a in range(s.starts[j], s.starts[j + 1]):
        left = max(left, s.columns.d[a])
    return left > PIVOT


def gained(E: FloatArray, r: FloatArray, w: int) -> float:
    """r' inv(E) r by elimination in the lower triangle; pivots that a Gram matrix cannot see are passed over."""
    out = 0.0
    for t in range(w):
        if E[t, t] > PIVOT:
            over = 1.0 / E[t, t]
            f = r[t] * over
            out += f * r[t]
            for a in range(t + 1, w):
                r[a] -= f * E[a, t]
                u = E[a, t] * over
                for b in range(t + 1, a + 1):
                    E[a, b] -= u * E[b, t]
    return out


def worths(s: Blocks, signed: bool) -> FloatArray:
    width = s.D.shape[0]
    E, r, out = np.empty((width, width)), np.empty(width), np.zeros(s.place.size)
    for g in range(s.place.size):
        if s.may[g] and s.place[g] < 0:
            start, w = s.starts[g], s.starts[g + 1] - s.starts[g]
            for a in range(w):
                r[a] = s.columns.z[start + a]
                for b in range(a + 1):
                    E[a, b] = s.D[a - b, start + b]
            out[g] = gained(E, r, w)
    return out


def best_entry(s: Blocks, signed: bool) -> tuple[int, float]:
    at, best = -1, 0.0
    worth = worths(s, signed)
    for j in range(worth.size):
        if worth[j] > best:
            at, best = j, worth[j]
    return at, best


def cheapest(s: Blocks) -> tuple[int, float]:
    width = s.D.shape[0]
    W, y, L, at = np.empty((width, 0)), np.empty(width), np.empty((width, width)), np.empty(width, dtype=np.int64)
    which, best = -1, np.inf
    for i in range(s.count[0]):
        if not s.stays[s.S[i]]:
            cost = 0.0
            for a in range(without(s, i, W, y, L, at)):
                cost += y[a] * y[a]
            if cost < best:
                which, best = i, cost
    return which, best


def factors(s: Blocks, F: FloatArray) -> Array:
    """D_g = L P L' into the rows of F, with inv(P) on the diagonal, for blocks outside; of which all is left."""
    sure = np.zeros(s.place.size, dtype=np.bool_)
    for g in range(s.place.size):
        start, w = s.starts[g], s.starts[g + 1] - s.starts[g]
        if s.place[g] >= 0 or not s.may[g]:
            continue
        E = F[start : start + w]
        for a in range(w):
            for b in range(a + 1):
                E[a, b] = s.D[a - b, start + b]
        good = True
        for t in range(w):
            if not E[t, t] > PIVOT:
                good = False
                break
            over = 1.0 / E[t, t]
            for a in range(t + 1, w):
                u = E[a, t] * over
                for b in range(t + 1, a + 1):
                    E[a, b] -= u * E[b, t]
            for a in range(t + 1, w):
                E[a, t] *= over
            E[t, t] = over
        sure[g] = good
    return sure


def bound(E: FloatArray, r: FloatArray, w: int) -> float:
    """r' inv(L P L') r."""
    out = 0.0
    for t in range(w):
        out += r[t] * r[t] * E[t, t]
        for a in range(t + 1, w):
            r[a] -= E[a, t] * r[t]
    return out


def best_beside(
    s: Blocks, W: FloatArray, y: FloatArray, w: int, sign: float, floor: float, F: FloatArray, sure: Array
) -> tuple[int, float]:
    """The block outside that would lower the loss most, if z were z + sign W'y and D were D + sign W'W, and twice by
    how much; -1 if none does so by more than half the floor. Where sure, D alone bounds it."""
    width, z = s.D.shape[0], s.columns.z.copy()
    for t in range(w):
        state.axpy(z, sign * y[t], W[t])
    E, r = np.empty((width, width)), np.empty(width)
    at, best = -1, floor
    for g in range(s.place.size):
        if s.place[g] >= 0 or not s.may[g]:
            continue
        start, many = s.starts[g], s.starts[g + 1] - s.starts[g]
        if sure[g]:
            for a in range(many):
                r[a] = z[start + a]
            if not bound(F[start : start + many], r, many) > best:
                continue
        for a in range(many):
            r[a] = z[start + a]
            for b in range(a + 1):
                e = 0.0
                for t in range(w):
                    e += W[t, start + a] * W[t, start + b]
                E[a, b] = s.D[a - b, start + b] + sign * e
        worth = gained(E, r, many)
        if worth > best:
            at, best = g, worth
    return at, best


def best_swap(s: Blocks, signed: bool) -> tuple[int, int, float]:
    width, n = s.D.shape
    W, y, L, at = np.empty((width, n)), np.empty(width), np.empty((width, width)), np.empty(width, dtype=np.int64)
    F = np.empty((n, width))
    sure = factors(s, F)
    which, to, best = -1, -1, 0.0
    for i in range(s.count[0]):
        if s.stays[s.S[i]]:
            continue
        w = without(s, i, W, y, L, at)
        cost = 0.0
        for a in range(w):
            cost += y[a] * y[a]
        j, worth = best_beside(s, W, y, w, 1.0, best + cost, F, sure)
        if j >= 0:
            which, to, best = i, j, worth - cost
    return which, to, best


def swap(G: FloatArray, h: FloatArray, s: Blocks, U: FloatArray, floor: float, rules: Rules) -> bool:
    i, j, gain = best_swap(s, True)
    if not gain > floor:
        return False
    leave(s, i)
    enter(G, s, j)
    settle(G, h, s, True)
    return True


def copy_state(to: Blocks, s: Blocks) -> None:
    state.copy_state(to.columns, s.columns)
    for i in range(s.count[0]):
        to.S[i] = s.S[i]
    for g in range(s.place.size):
        to.place[g] = s.place[g]
    for o in range(s.D.shape[0]):
        for a in range(s.D.shape[1]):
            to.D[o, a] = s.D[o, a]
    for i in range(4):
        to.count[i] = s.count[i]


def sizes(s: Blocks, x: FloatArray) -> FloatArray:
    out = np.empty(s.place.size)
    for g in range(s.place.size):
        total = 0.0
        for a in range(s.starts[g], s.starts[g + 1]):
            total += x[a] * x[a]
        out[g] = np.sqrt(total)
    return out


def best_pair(G: FloatArray, s: Blocks, most: int, signed: bool) -> tuple[int, int, float]:
    width, n = s.D.shape
    W, y, L, at = np.empty((width, n)), np.empty(width), np.empty((width, width)), np.empty(width, dtype=np.int64)
    sure = np.zeros(s.place.size, dtype=np.bool_)
    worth = worths(s, True)
    first, second, best = -1, -1, 0.0
    for _ in range(min(most, worth.size)):
        a = int(worth.argmax())
        alone = worth[a]
        if not alone > 0.0:
            break
        worth[a] = 0.0
        w = added(G, s, a, W, y, L, at)
        b, more = best_beside(s, W, y, w, -1.0, max(best - alone, 0.0), W, sure)
        if b >= 0:
            first, second, best = a, b, alone + more
    return first, second, best
