"""The compiled loops themselves. Importing this module imports numba: `kernels` does so when a loop is worth it.

Entries of a matrix are given row by row (or column by column): those of row i lie between starts[i] and starts[i + 1],
others[e] is the column of entry e. Every loop works on the rows from `first` to `last` and on nothing that another row
needs, so that ranges of rows can go to different threads and the results do not depend on how many there are.
"""

import numpy as np

from fewatoms._dense import clipped_rows, jit, split_rows
from fewatoms._lanes import LANES, fetch, inverse_root, largest, less, load, more, product, same, spread, store, total
from fewatoms._types import Array

TILE = 128  # entries gathered at a time: with a dozen features they stay in the first-level cache
BEYOND_CACHE = 1 << 20  # numbers in a table that is far from fitting in the second-level cache
LEAST_CURVATURE = 1e-300  # instead of the largest of curvatures that are all zero


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
def scattered(values: Array, table: Array, starts: Array, others: Array, first: int, last: int, out: Array) -> None:
    """out[i] = sum over the entries e of row i of values[e] table[others[e]]; both have a multiple of 8 columns."""
    W = table.shape[1]
    flat, sums = table.reshape(table.size), out.reshape(out.size)
    for i in range(first, last):
        for c in range(0, W, 2 * LANES):
            d = min(c + LANES, W - LANES)  # the same again at an odd end
            s, t = same(0.0), same(0.0)
            for e in range(starts[i], starts[i + 1]):
                f, v = W * others[e], spread(values, e)
                s = more(s, v, load(flat, f + c))
                t = more(t, v, load(flat, f + d))
            store(sums, i * W + c, s)
            store(sums, i * W + d, t)


@jit
def _eight_by_one(T: Array, W: int, n: int, a: int, c: int, G: Array) -> None:
    """G[a + i, c + l] += sum over e < n of T[e, a + i] T[e, c + l], i and l from 0 to 7."""
    s0, s1, s2, s3, s4, s5, s6, s7 = (
        same(0.0), same(0.0), same(0.0), same(0.0), same(0.0), same(0.0), same(0.0), same(0.0),
    )  # fmt: skip
    for e in range(n):
        v, b = load(T, e * W + c), e * W + a
        s0 = more(s0, spread(T, b), v)
        s1 = more(s1, spread(T, b + 1), v)
        s2 = more(s2, spread(T, b + 2), v)
        s3 = more(s3, spread(T, b + 3), v)
        s4 = more(s4, spread(T, b + 4), v)
        s5 = more(s5, spread(T, b + 5), v)
        s6 = more(s6, spread(T, b + 6), v)
        s7 = more(s7, spread(T, b + 7), v)
    g = a * W + c
    store(G, g, total(load(G, g), s0))
    store(G, g + W, total(load(G, g + W), s1))
    store(G, g + 2 * W, total(load(G, g + 2 * W), s2))
    store(G, g + 3 * W, total(load(G, g + 3 * W), s3))
    store(G, g + 4 * W, total(load(G, g + 4 * W), s4))
    store(G, g + 5 * W, total(load(G, g + 5 * W), s5))
    store(G, g + 6 * W, total(load(G, g + 6 * W), s6))
    store(G, g + 7 * W, total(load(G, g + 7 * W), s7))


@jit
def _four_by_two(T: Array, W: int, n: int, a: int, c: int, G: Array) -> None:
    """The same for i from 0 to 3 and l from 0 to 15."""
    s0, s1, s2, s3, s4, s5, s6, s7 = (
        same(0.0), same(0.0), same(0.0), same(0.0), same(0.0), same(0.0), same(0.0), same(0.0),
    )  # fmt: skip
    for e in range(n):
        v, w, b = load(T, e * W + c), load(T, e * W + c + LANES), e * W + a
        x0, x1, x2, x3 = spread(T, b), spread(T, b + 1), spread(T, b + 2), spread(T, b + 3)
        s0, s1 = more(s0, x0, v), more(s1, x0, w)
        s2, s3 = more(s2, x1, v), more(s3, x1, w)
        s4, s5 = more(s4, x2, v), more(s5, x2, w)
        s6, s7 = more(s6, x3, v), more(s7, x3, w)
    g = a * W + c
    h = g + LANES
    store(G, g, total(load(G, g), s0))
    store(G, h, total(load(G, h), s1))
    store(G, g + W, total(load(G, g + W), s2))
    store(G, h + W, total(load(G, h + W), s3))
    store(G, g + 2 * W, total(load(G, g + 2 * W), s4))
    store(G, h + 2 * W, total(load(G, h + 2 * W), s5))
    store(G, g + 3 * W, total(load(G, g + 3 * W), s6))
    store(G, h + 3 * W, total(load(G, h + 3 * W), s7))


@jit
def _triangle(T: Array, W: int, n: int, r: int, G: Array) -> None:
    """G[a, b] += sum over e < n of T[e, a] T[e, b] for b <= a <= r, a < W, in blocks that fill the registers."""
    for a in range(0, min(r + 1, W), LANES):
        c = 0
        while c < a:
            _four_by_two(T, W, n, a, c, G)
            if a + 4 <= r:
                _four_by_two(T, W, n, a + 4, c, G)
            c += 2 * LANES
        if c == a:
            _eight_by_one(T, W, n, a, c, G)


@jit
def _last_row(T: Array, t: Array, W: int, n: int, G: Array) -> None:
    """G[W, b] += sum over e < n of t[e] T[e, b], as two sums: each waits for itself."""
    for c in range(0, W, LANES):
        s, u = load(G, W * W + c), same(0.0)
        for e in range(0, n - n % 2, 2):
            s = more(s, spread(t, e), load(T, e * W + c))
            u = more(u, spread(t, e + 1), load(T, (e + 1) * W + c))
        if n % 2:
            s = more(s, spread(t, n - 1), load(T, (n - 1) * W + c))
        store(G, W * W + c, total(s, u))


@jit
def _gathered(
    values: Array, weights: Array, offset: Array, table: Array, W: int, others: Array, start: int, n: int, r: int,
    T: Array, t: Array,
) -> float:  # fmt: skip
    """T[e] = root of the weight times the features of entry start + e, t[e] times value - offset; the squares of t.

    Where features leave room in T (r < W), t is there as well.
    """
    if W == LANES:
        for e in range(n):
            store(T, e * LANES, load(table, others[start + e] * LANES))
    elif W == 2 * LANES:
        for e in range(n):
            f = 2 * LANES * others[start + e]
            store(T, e * 2 * LANES, load(table, f))
            store(T, e * 2 * LANES + LANES, load(table, f + LANES))
    else:
        for e in range(n):
            f = W * others[start + e]
            for c in range(0, W, LANES):
                store(T, e * W + c, load(table, f + c))
    for e in range(n):
        t[e] = values[start + e]
    if offset.size:
        for e in range(n):
            t[e] -= offset[others[start + e]]
    if weights.size:
        for e in range(n):
            root = np.sqrt(weights[start + e])
            t[e] *= root
            for c in range(0, W, LANES):
                store(T, e * W + c, product(same(root), load(T, e * W + c)))
    squares = 0.0
    for e in range(n):
        squares += t[e] * t[e]
    if r < W:
        for e in range(n):
            T[e * W + r] = t[e]
    return squares


@jit
def _moments(
    values: Array, weights: Array, offset: Array, table: Array, W: int, starts: Array, others: Array, i: int, r: int,
    T: Array, t: Array, G: Array,
) -> float:  # fmt: skip
    """G = sum over the entries of row i of w f f', and in its row r that of w f (value - offset); of the first r rows
    the lower triangle is valid. Also the sum of w (value - offset)^2.

    Entries are gathered a tile at a time: G is summed up in registers.
    """
    for at in range(0, (W + 1) * W, LANES):
        store(G, at, same(0.0))
    squares, start, stop = 0.0, starts[i], starts[i + 1]
    while start < stop:
        n = min(TILE, stop - start)
        squares += _gathered(values, weights, offset, table, W, others, start, n, r, T, t)
        if table.size > BEYOND_CACHE:  # the next ones are on their way meanwhile
            for e in range(start + n, min(start + 2 * n, others.size)):
                for c in range(0, W, 2 * LANES):
                    fetch(table, W * others[e] + c)
        _triangle(T, W, n, r, G)
        if r == W:
            _last_row(T, t, W, n, G)
        start += n
    return squares


@jit
def row_grams(
    weights: Array, table: Array, starts: Array, others: Array, base: int, first: int, last: int, out: Array
) -> None:
    """out[i - base] = sum over the entries e of row i of weights[e] f f', f = table[others[e]]."""
    r, W = out.shape[1], table.shape[1]
    T, t, G, none = np.zeros(TILE * W), np.zeros(TILE), np.zeros((W + 1) * W), np.zeros(0)
    flat = table.reshape(table.size)
    for i in range(first, last):
        _moments(weights, weights, none, flat, W, starts, others, i, r, T, t, G)
        for a in range(r):
            for b in range(a + 1):
                out[i - base, a, b] = G[a * W + b]
                out[i - base, b, a] = G[a * W + b]


# Eight rows at a time, one in each lane: entry (a, b) of a lower triangle is at `_corner(a) + 8 b`


@jit
def _corner(a: int) -> int:
    return LANES * (a * (a + 1) // 2)


@jit
def _factor(G: Array, ridge: Array, L: Array) -> None:
    """The Cholesky factor of G + diag(ridge) + a trace of the identity, with the reciprocals of its diagonal."""
    r, top = ridge.size, same(LEAST_CURVATURE)
    for a in range(r):
        top = largest(top, total(load(G, _corner(a) + LANES * a), spread(ridge, a)))
    trace, least = product(top, same(1e-12)), product(top, same(1e-14))
    for a in range(r):
        row = _corner(a)
        for b in range(a + 1):
            col = _corner(b)
            s, t = load(G, row + LANES * b), same(0.0)
            for c in range(0, LANES * (b - b % 2), 2 * LANES):  # as two sums
                s = less(s, load(L, row + c), load(L, col + c))
                t = less(t, load(L, row + c + LANES), load(L, col + c + LANES))
            if b % 2:
                s = less(s, load(L, row + LANES * (b - 1)), load(L, col + LANES * (b - 1)))
            s = total(s, t)
            if b < a:
                store(L, row + LANES * b, product(s, load(L, col + LANES * b)))
            else:
                s = total(s, total(spread(ridge, a), trace))
                store(L, row + LANES * a, inverse_root(s, least))


@jit
def _solve(L: Array, h: Array, r: int) -> None:
    """h <- (L L')^-1 h."""
    for a in range(r):
        s, row = load(h, LANES * a), _corner(a)
        for c in range(0, LANES * a, LANES):
            s = less(s, load(L, row + c), load(h, c))
        store(h, LANES * a, product(s, load(L, row + LANES * a)))
    for a in range(r - 1, -1, -1):
        s = load(h, LANES * a)
        for c in range(a + 1, r):
            s = less(s, load(L, _corner(c) + LANES * a), load(h, LANES * c))
        store(h, LANES * a, product(s, load(L, _corner(a) + LANES * a)))


@jit
def _lacking(G: Array, ridge: Array, x: Array, d: Array) -> None:
    """d = h - (G + diag(ridge)) x; h is in row r of G."""
    r = ridge.size
    for a in range(r):
        s = less(load(G, _corner(r) + LANES * a), spread(ridge, a), load(x, LANES * a))
        for b in range(a):
            s = less(s, load(G, _corner(a) + LANES * b), load(x, LANES * b))
        for b in range(a, r):
            s = less(s, load(G, _corner(b) + LANES * a), load(x, LANES * b))
        store(d, LANES * a, s)


@jit
def row_solves(
    values: Array,
    weights: Array,
    offset: Array,
    table: Array,
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
    r, W = ridge.size, table.shape[1]
    T, t, G = np.zeros(TILE * W), np.zeros(TILE), np.zeros((W + 1) * W)
    size = LANES * (r + 1) * (r + 2) // 2
    GG, L, x, d = np.zeros(size), np.zeros(size), np.zeros(LANES * r), np.zeros(LANES * r)
    flat = table.reshape(table.size)
    for start in range(first, last, LANES):
        n = min(LANES, last - start)
        for lane in range(n):
            i = start + lane
            left[i] = _moments(values, weights, offset, flat, W, starts, others, i, r, T, t, G)
            at = lane
            for a in range(r + 1):
                for b in range(a * W, a * W + min(a + 1, r)):
                    GG[at] = G[b]
                    at += LANES
        _factor(GG, ridge, L)
        for at in range(0, LANES * r, LANES):
            store(x, at, load(GG, _corner(r) + at))
        _solve(L, x, r)
        _lacking(GG, ridge, x, d)
        _solve(L, d, r)
        for at in range(0, LANES * r, LANES):
            store(x, at, total(load(x, at), load(d, at)))
        _lacking(GG, ridge, x, d)
        for lane in range(n):
            for a in range(r):
                at = LANES * a + lane
                out[start + lane, a] = x[at]
                left[start + lane] -= (GG[_corner(r) + at] + d[at]) * x[at]


@jit
def row_solves_nonnegative(
    values: Array,
    weights: Array,
    offset: Array,
    table: Array,
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
    r, W = ridge.size, table.shape[1]
    T, t, sums = np.zeros(TILE * W), np.zeros(TILE), np.zeros((W + 1) * W)
    flat, G = table.reshape(table.size), sums.reshape(W + 1, W)
    for i in range(first, last):
        squares = _moments(values, weights, offset, flat, W, starts, others, i, r, T, t, sums)
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
        for a in range(r):
            s = -2.0 * G[r, a]
            for b in range(r):
                s += G[a, b] * out[i, b]
            squares += s * out[i, a]
        left[i] = squares


__all__ = [
    "clipped_rows",
    "row_grams",
    "row_solves",
    "row_solves_nonnegative",
    "sampled_products",
    "scattered",
    "split_rows",
]
