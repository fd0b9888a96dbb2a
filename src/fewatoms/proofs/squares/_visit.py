"""One node of the tree, from its parent's point: its bound, what that decides, a choice for the incumbent.

The bound of x over the atoms I inside and those free, with g = c - Qx, is

    b'b / 2 - x'Qx / 2 - (sum over I of h(g_i)) - (sum of the kappa largest h(g_i) among the free)

and holds for every x. It is taken with g summed anew from Q, and all entries of g as large as rounding in M'M, M'b and
these sums can have made them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.proofs.squares._newton import relaxed
from fewatoms.proofs.squares._node import Node, gain, level, slopes, value

OUT, FREE, IN = -1, 0, 1
FEW_ACTIVE = 40  # active atoms up to which a step of Newton's method costs no more than sweeps
SWEEPS, NEWTON = 5, 4
CLOSE_TO = 1e-3  # relative: atoms this near to the level are active
AWAY = 0.5  # share of what separates the relaxation from the target that its bound may be away from it


class Space(NamedTuple):
    """The atoms that are left at some stage, in units of their images.

    Q, c, bb : M'M less what was moved out of its diagonal, M'b, b'b / 2
    d, C, nonneg : what coefficients pay; with what was moved
    size : |b|; off : by how much entries of g are off at most, for |b| + |x|_1 = 1
    """

    Q: FloatArray
    c: FloatArray
    bb: float
    d: FloatArray
    C: FloatArray
    nonneg: bool
    size: float
    off: float


def leading(h: FloatArray, n: int, k: int) -> tuple[float, float]:
    """The k-th largest of n numbers that are not negative, and the sum of the k largest."""
    if k <= 0:
        return np.inf, 0.0
    top, total = np.zeros(k), 0.0
    for i in range(n):
        if h[i] > top[k - 1]:
            j = k - 1
            while j > 0 and top[j - 1] < h[i]:
                top[j] = top[j - 1]
                j -= 1
            top[j] = h[i]
    for j in range(k):
        total += top[j]
    return top[k - 1], total


def pulled(space: Space, x: FloatArray, g: FloatArray) -> None:
    """g = c - Qx."""
    g[:] = space.c
    for j in range(x.size):
        if x[j] != 0.0:
            for i in range(x.size):
                g[i] -= space.Q[j, i] * x[j]


def bound(space: Space, status: Array, k: int, x: FloatArray, g: FloatArray, h: FloatArray) -> float:
    """What x proves, rounded down; h for all atoms that are not out."""
    length, inner, kappa = 0.0, 0.0, k
    for i in range(x.size):
        if x[i] != 0.0:
            length += abs(x[i])
            inner += x[i] * (space.c[i] - g[i])
    off = space.off * (space.size + length)
    inside, n, free = 0.0, 0, np.empty(x.size)
    for i in range(x.size):
        h[i] = 0.0
        if status[i] != OUT:
            g_i = g[i] if space.nonneg else abs(g[i])
            h[i] = gain(g_i + off, space.d[i], space.C[i], space.nonneg)
            if status[i] == IN:
                inside += h[i]
                kappa -= 1
            else:
                free[n] = h[i]
                n += 1
    most = leading(free, n, min(kappa, n))[1]
    doubt = 4.0 * off * (space.size + length) + 2.0 * space.off * (inside + most)
    return space.bb - 0.5 * inner - inside - most - doubt


def worth(space: Space, i: int, g: float) -> float:
    """h of one atom."""
    return gain(g, space.d[i], space.C[i], space.nonneg)


def activated(space: Space, status: Array, x: FloatArray, g: FloatArray, s: float, kappa: int, act: Array) -> int:
    """The atoms that a relaxation has to look at: how many."""
    a = 0
    for i in range(x.size):
        near = kappa > 0 and worth(space, i, g[i]) > 0.5 * s * s * (1.0 - CLOSE_TO)
        if status[i] == IN or (status[i] == FREE and (x[i] != 0.0 or near)):
            act[a] = i
            a += 1
    return a


def gathered(space: Space, status: Array, kappa: int, act: Array, a: int) -> Node:
    """The node over these atoms."""
    Q, c, d, C, ins = np.empty((a, a)), np.empty(a), np.empty(a), np.empty(a), np.empty(a, np.bool_)
    for u in range(a):
        i = act[u]
        for v in range(a):
            Q[u, v] = space.Q[i, act[v]]
        c[u], d[u], C[u], ins[u] = space.c[i], space.d[i], space.C[i], status[i] == IN
    return Node(Q, c, d, C, ins, kappa, space.nonneg)


def free_of(status: Array, k: int) -> int:
    """How many atoms may still be taken."""
    kappa = k
    for i in range(status.size):
        if status[i] == IN:
            kappa -= 1
    return kappa


def entering(space: Space, status: Array, x: FloatArray, h: FloatArray, s: float) -> bool:
    """Whether an atom that is not in the relaxation is pulled into it."""
    found = False
    for i in range(x.size):
        found |= status[i] == FREE and x[i] == 0.0 and h[i] > 0.5 * s * s * (1.0 + 1e-5)
    return found


def relax(
    space: Space, status: Array, k: int, x: FloatArray, g: FloatArray, h: FloatArray, s: float, target: float, most: int
) -> tuple[float, float]:
    """Better and better x, until the bound reaches the target or it is clear that it will not: the bound, s."""
    kappa, act = free_of(status, k), np.empty(x.size, np.int64)
    pulled(space, x, g)
    for round_ in range(most):
        a = activated(space, status, x, g, s, kappa, act)
        node, y = gathered(space, status, kappa, act, a), x[act[:a]]
        s = relaxed(node, y, s, SWEEPS, NEWTON if a <= FEW_ACTIVE or round_ > 0 else 0)
        for u in range(a):
            step = y[u] - x[act[u]]
            if step != 0.0:
                x[act[u]] = y[u]
                for j in range(x.size):
                    g[j] -= step * space.Q[act[u], j]
        low = bound(space, status, k, x, g, h)
        if low >= target or round_ == most - 1:
            break
        if not entering(space, status, x, h, s) and a > 0:
            at = level(node, y, s)
            above = space.bb + value(node, y, g[act[:a]], at) if at >= 0.0 else np.inf
            if above - low <= AWAY * (target - above) or above - low <= 1e-9 * abs(above):
                break
    pulled(space, x, g)
    return bound(space, status, k, x, g, h), s


def decide(status: Array, k: int, h: FloatArray, low: float, target: float) -> int:
    """Take in, or leave out, atoms for which the opposite is proven to be worse than the target: how many are free
    then; -1 where nothing is left to try."""
    kappa, n, free = free_of(status, k), 0, np.empty(status.size)
    for i in range(status.size):
        if status[i] == FREE:
            free[n] = h[i]
            n += 1
    if 0 < kappa < n:
        last, after = leading(free, n, kappa)[0], leading(free, n, kappa + 1)[0]
        for i in range(status.size):
            if status[i] == FREE:
                if h[i] < last and low + last - h[i] > target:
                    status[i] = OUT
                    n -= 1
                elif h[i] > after and low + h[i] - after > target:
                    status[i] = IN
                    n -= 1
                    kappa -= 1
    return -1 if kappa < 0 else n


def branching(space: Space, status: Array, x: FloatArray, h: FloatArray, s: float) -> int:
    """The free atom with the largest share that is none of the whole ones, else that with the largest gain."""
    best, most = -1, -1.0
    for i in range(x.size):
        if status[i] == FREE:
            share = 0.0
            if x[i] != 0.0:
                share = 1.0
                if s > 0.0:
                    share = min(1.0, max(abs(x[i]) * space.d[i] ** 0.5 / s, abs(x[i]) / space.C[i]))
            rank = 1.0 + share if 0.0 < share < 1.0 - 1e-9 else share - 1.0 + h[i] / (1.0 + h[i])
            if rank > most or best < 0:
                best, most = i, rank
    return best


def candidate(space: Space, status: Array, k: int, x: FloatArray, h: FloatArray, chosen: Array) -> float:
    """The objective of the atoms inside and the largest others, fitted anew; who they are."""
    n = 0
    for i in range(x.size):
        if status[i] == IN and n < k:
            chosen[n] = i
            n += 1
    used = status == IN
    while n < k:
        best, most = -1, 0.0
        for i in range(x.size):
            if status[i] == FREE and not used[i]:
                rank = abs(x[i]) * (space.d[i] ** 0.5 + 1e-9) + 1e-9 * h[i]
                if rank > most:
                    best, most = i, rank
        if best < 0:
            break
        chosen[n], used[best] = best, True
        n += 1
    chosen[n:] = -1
    whole = np.ones(x.size, np.int8)
    node = gathered(space, whole, 0, chosen, n)
    y, g = x[chosen[:n]], np.empty(n)
    relaxed(node, y, 0.0, SWEEPS, 4 * NEWTON)
    slopes(node, y, g)
    return space.bb + value(node, y, g, 0.0)


def visit(
    space: Space, status: Array, k: int, x: FloatArray, h: FloatArray, chosen: Array, s: float, target: float, most: int
) -> tuple[float, float, int, float, int]:
    """A node whose status its parent and a branch have made, and what comes of it in the place of status, x, h and
    chosen: its bound, s, how many atoms are free (-1: closed), the objective of the chosen, where to branch."""
    g = np.empty(x.size)
    for i in range(x.size):
        if status[i] == OUT:
            x[i] = 0.0
    low, s = relax(space, status, k, x, g, h, s, target, most)
    if low >= target:
        return low, s, -1, np.inf, -1
    found = candidate(space, status, k, x, h, chosen)
    n = decide(status, k, h, low, target)
    return low, s, n, found, branching(space, status, x, h, s)
