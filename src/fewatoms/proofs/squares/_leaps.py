"""Leaps and bounds: atoms are removed from all of them, one after the other, until k are left.

With S the atoms that are left, W the inverse of their M'M (and ridge) and beta the coefficients of their fit, removing
i costs beta_i^2 / (2 W_ii), and no less if others have been removed before. So atoms are taken in the order of what
that costs, the dearest first: either it is removed now, or it stays for good. A way is given up once its fit costs as
much as the target. Caps and signs are not looked at: without them fits are no worse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray


class Way(NamedTuple):
    """Where the search stands, a row for each atom removed.

    W, beta, value : of the atoms left there; who : which these are; stays : whether they may not be removed
    order, cost : atoms that may be removed, the dearest first; many : how many; at : the next of them
    depth : of the row that is looked at, -1 at the end; nodes : fits so far
    """

    W: FloatArray
    beta: FloatArray
    value: FloatArray
    who: Array
    stays: Array
    order: Array
    cost: FloatArray
    many: Array
    at: Array
    depth: Array
    nodes: Array


def ranked(way: Way, t: int, p: int, sure: float) -> None:
    """What removing each atom of a row costs at least, sorted."""
    n = 0
    for i in range(p):
        if not way.stays[t, i]:
            cost = 0.5 * sure * way.beta[t, i] * way.beta[t, i] / way.W[t, i, i]
            j = n
            while j > 0 and way.cost[t, j - 1] < cost:
                way.cost[t, j], way.order[t, j] = way.cost[t, j - 1], way.order[t, j - 1]
                j -= 1
            way.cost[t, j], way.order[t, j] = cost, i
            n += 1
    way.many[t], way.at[t] = n, 0


def removed(way: Way, t: int, p: int, i: int, value: float) -> None:
    """The next row: without atom i of this one."""
    W, V = way.W[t], way.W[t + 1]
    ratio = way.beta[t, i] / W[i, i]
    u = 0
    for a in range(p):
        if a != i:
            share = W[a, i] / W[i, i]
            for b in range(i):
                V[u, b] = W[a, b] - share * W[i, b]
            for b in range(i + 1, p):
                V[u, b - 1] = W[a, b] - share * W[i, b]
            way.beta[t + 1, u] = way.beta[t, a] - ratio * W[a, i]
            way.who[t + 1, u], way.stays[t + 1, u] = way.who[t, a], way.stays[t, a]
            u += 1
    way.value[t + 1] = value


def after(way: Way, t: int, j: int, less: int, sure: float, top: FloatArray) -> float:
    """What the removal of some `less` atoms costs at least once the j-th of a row is removed: the dearest of the
    cheapest that may be. No row is made for that."""
    i, n = way.order[t, j], way.many[t]
    many = n - j - less  # of those that may be removed then, as dear as the one that counts or dearer
    top[:many] = 0.0
    ratio, own = way.beta[t, i] / way.W[t, i, i], way.W[t, i, i]
    for u in range(j + 1, n):
        a = way.order[t, u]
        w = way.W[t, a, i]
        left = way.W[t, a, a] - w * w / own
        beta = way.beta[t, a] - ratio * w
        cost = 0.5 * sure * beta * beta / left if left > 0.0 else 0.0
        if cost > top[many - 1]:
            v = many - 1
            while v > 0 and top[v - 1] < cost:
                top[v] = top[v - 1]
                v -= 1
            top[v] = cost
    return top[many - 1]


def leaps(way: Way, n: int, k: int, target: float, sure: float, many: int, chosen: Array) -> int:
    """Go on for so many fits: 0 at the end, 1 if there is more, 2 for k atoms whose fit is below the target."""
    stop, top = way.nodes[0] + many, np.empty(n + 1)
    while way.depth[0] >= 0 and way.nodes[0] < stop:
        t = way.depth[0]
        p, j = n - t, way.at[t]
        less = p - k
        if less <= 0 or j > way.many[t] - less:
            way.depth[0] -= 1
            continue
        value = way.value[t] + way.cost[t, j]
        i = way.order[t, j]
        way.at[t] += 1
        if value >= target:
            way.stays[t, i] = True
            continue
        way.nodes[0] += 1
        if less == 1:
            u = 0
            for a in range(p):
                if a != i:
                    chosen[u] = way.who[t, a]
                    u += 1
            way.stays[t, i] = True
            return 2
        if value + after(way, t, j, less - 1, sure, top) < target:
            removed(way, t, p, i, value)
            ranked(way, t + 1, p - 1, sure)
            way.depth[0] += 1
        way.stays[t, i] = True
    return 0 if way.depth[0] < 0 else 1


def blank_way(n: int, k: int) -> Way:
    """Room for a search over n atoms."""
    rows = max(1, n - k + 1)
    return Way(
        np.empty((rows, n, n)), np.empty((rows, n)), np.empty(rows), np.zeros((rows, n), np.int64),
        np.zeros((rows, n), np.bool_), np.zeros((rows, n), np.int64), np.empty((rows, n)), np.zeros(rows, np.int64),
        np.zeros(rows, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip
