"""What the columns of a block explain, as loops: rows W = inv(L) V, and y = inv(L) r.

For a block outside, V is what is left of its inner products with all columns, r its alignments, and L L' = D_g; for one
inside, V and r are its rows of B and c, and L L' its part of H.
"""

from __future__ import annotations

import numpy as np

from fewatoms._types import FloatArray, IntArray
from fewatoms.gram import state
from fewatoms.gram.blocks import EATEN, Blocks
from fewatoms.gram.state import PIVOT


def less(y: FloatArray, f: FloatArray, X: FloatArray, count: int) -> None:
    """y - sum_t f_t X_t over the first rows of X; four at a time, since it is memory that this waits for."""
    for t in range(0, count - count % 4, 4):
        f0, f1, f2, f3 = f[t], f[t + 1], f[t + 2], f[t + 3]
        x0, x1, x2, x3 = X[t], X[t + 1], X[t + 2], X[t + 3]
        for a in range(y.size):
            y[a] -= f0 * x0[a] + f1 * x1[a] + f2 * x2[a] + f3 * x3[a]
    for t in range(count - count % 4, count):
        state.axpy(y, -f[t], X[t])


def without(s: Blocks, i: int, W: FloatArray, y: FloatArray, L: FloatArray, at: IntArray) -> int:
    """W and y for the support without the block in place i, how many rows they have and, in `at`, of which places; y'y
    is twice what its going costs. L L' is H there."""
    w, t = 0, s.columns
    for a in range(s.starts[s.S[i]], s.starts[s.S[i] + 1]):
        if t.place[a] < 0:
            continue
        at[w] = t.place[a]
        left = t.H[at[w], at[w]]
        y[w] = t.c[at[w]]
        for u in range(w):
            f = t.H[at[w], at[u]]
            for v in range(u):
                f -= L[w, v] * L[u, v]
            f /= L[u, u]
            L[w, u] = f
            left -= f * f
            y[w] -= f * y[u]
        L[w, w] = np.sqrt(max(left, EATEN * t.H[at[w], at[w]]))
        y[w] /= L[w, w]
        if W.shape[1] > 0:
            over, row, to = 1.0 / L[w, w], t.B[at[w]], W[w]
            for b in range(to.size):
                to[b] = row[b]
            less(to, L[w], W, w)
            for b in range(to.size):
                to[b] *= over
        w += 1
    return w


def added(G: FloatArray, s: Blocks, j: int, W: FloatArray, y: FloatArray, L: FloatArray, at: IntArray) -> int:
    """W and y for the support with block j, how many rows they have and, in `at`, of which columns: those that are
    independent, and not inside. L L' is D there."""
    w, t = 0, s.columns
    p = t.count[0]
    f = np.empty(p)
    for a in range(s.starts[j], s.starts[j + 1]):
        left = s.D[0, a]
        for u in range(w):
            L[w, u] = W[u, a]
            left -= W[u, a] * W[u, a]
        if t.place[a] >= 0 or not left > PIVOT:
            continue
        to, row = W[w], G[a]
        for i in range(p):
            f[i] = row[t.S[i]]
        for b in range(to.size):
            to[b] = row[b]
        less(to, f, t.B, p)
        less(to, L[w], W, w)
        L[w, w] = np.sqrt(max(to[a], PIVOT))  # steps before have rounded D
        over = 1.0 / L[w, w]
        for b in range(to.size):
            to[b] *= over
        y[w] = t.z[a]
        for u in range(w):
            y[w] -= L[w, u] * y[u]
        y[w] *= over
        at[w] = a
        w += 1
    return w


def explain(s: Blocks, W: FloatArray, y: FloatArray, w: int, sign: float) -> None:
    """z, D and the loss, by what columns explain that come in (-1) or go (1)."""
    n = s.D.shape[1]
    for t in range(w):
        row = W[t]
        s.loss[0] += sign * y[t] * y[t]
        state.axpy(s.columns.z, sign * y[t], row)
        for o in range(s.D.shape[0]):
            to, shifted = s.D[o], row[o:]
            for a in range(n - o):
                to[a] += sign * row[a] * shifted[a]


def turned(L: FloatArray, W: FloatArray, y: FloatArray, w: int) -> None:
    """inv(L') W and inv(L') y in their places."""
    for t in range(w - 1, -1, -1):
        row, over = W[t], 1.0 / L[t, t]
        for u in range(t + 1, w):
            y[t] -= L[u, t] * y[u]
            state.axpy(row, -L[u, t], W[u])
        y[t] *= over
        for a in range(row.size):
            row[a] *= over


def inverse(L: FloatArray, w: int) -> FloatArray:
    """That of L L'."""
    K, out = np.zeros((w, w)), np.zeros((w, w))
    for a in range(w):
        K[a, a] = 1.0
        for b in range(a + 1):
            for u in range(b, a):
                K[a, b] -= L[a, u] * K[u, b]
            K[a, b] /= L[a, a]
    for u in range(w):
        for a in range(u + 1):
            for b in range(u + 1):
                out[a, b] += K[u, a] * K[u, b]
    return out


def complete(G: FloatArray, s: Blocks, j: int) -> int:
    """Let in the columns of block j that are outside, as far as they are independent; how many stay out."""
    t, p = s.columns, s.columns.count[0]
    width, n = s.D.shape
    W, y, L, at = np.empty((width, n)), np.empty(width), np.empty((width, width)), np.empty(width, dtype=np.int64)
    w = added(G, s, j, W, y, L, at)
    explain(s, W, y, w, -1.0)
    turned(L, W, y, w)
    H, U, f = inverse(L, w), np.empty((w, p)), np.empty(w)
    for a in range(w):
        for i in range(p):
            U[a, i] = t.B[i, at[a]]
            t.c[i] -= U[a, i] * y[a]
    for i in range(p):
        for a in range(w):
            f[a] = U[a, i]
        less(t.B[i], f, W, w)
        for a in range(w):
            f[a] = 0.0
            for b in range(w):
                f[a] -= U[b, i] * H[b, a]
            t.H[i, p + a] = f[a]
            t.H[p + a, i] = f[a]
        less(t.H[i, :p], f, U, w)
    for a in range(w):
        for b in range(w):
            t.H[p + a, p + b] = H[a, b]
        for b in range(n):
            t.B[p + a, b] = W[a, b]
        t.c[p + a] = y[a]
        t.S[p + a] = at[a]
        t.place[at[a]] = p + a
    t.count[0] = p + w
    inside = 0
    for a in range(s.starts[j], s.starts[j + 1]):
        inside += t.place[a] >= 0
    return int(s.starts[j + 1] - s.starts[j] - inside)


def let_go(s: Blocks, i: int) -> int:
    """The columns of the block in place i go, the last ones take their places; how many they were."""
    t, p = s.columns, s.columns.count[0]
    width, n = s.D.shape
    W, y, L, at = np.empty((width, n)), np.empty(width), np.empty((width, width)), np.empty(width, dtype=np.int64)
    w = without(s, i, W, y, L, at)
    explain(s, W, y, w, 1.0)
    U, f = np.empty((w, p)), np.empty(w)
    for b in range(p):
        for a in range(w):
            e = t.H[b, at[a]]
            for u in range(a):
                e -= U[u, b] * L[a, u]
            U[a, b] = e / L[a, a]
            t.c[b] -= U[a, b] * y[a]
    for b in range(p):
        for a in range(w):
            f[a] = U[a, b]
        less(t.B[b], f, W, w)
        less(t.H[b, :p], f, U, w)
    at[:w].sort()
    for a in range(w - 1, -1, -1):
        q, last = at[a], t.count[0] - 1
        t.place[t.S[last]] = q
        t.place[t.S[q]] = -1
        t.count[0] = last
        if q == last:
            continue
        t.S[q] = t.S[last]
        t.c[q] = t.c[last]
        for b in range(n):
            t.B[q, b] = t.B[last, b]
        for b in range(p):
            t.H[q, b] = t.H[last, b]
        for b in range(p):
            t.H[b, q] = t.H[b, last]
    return w
