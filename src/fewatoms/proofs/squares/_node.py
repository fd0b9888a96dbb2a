"""The relaxation of one node over a few active atoms.

Of atoms in units of their images, those inside I pay p(x) = d x^2 / 2 as they are, those that are free in perspective:
z p(x / z) for shares z between 0 and 1 that sum to kappa at most, |x| <= C z. With s for the multiplier of the shares
(s^2 / 2 is what a whole one costs) a free atom has z = min(1, max(sqrt(d) |x| / s, |x| / C)): it is saturated where
that is 1, fractional elsewhere. Fractional ones pay sigma(s) |x|, linear in x, where h(sigma) = s^2 / 2 for the
conjugate h of p. Minimised is

    phi(x) = x'Qx / 2 - c'x + (what the atoms pay),

by sweeps over coordinates at a fixed s, and steps of Newton's method in (x, s) once it is known which atoms are
saturated, fractional or at their caps: all equations are linear then, but for s where fractional atoms feel caps. A
step counts only where phi falls. Whatever comes out bounds (P) from below, so nothing here has to be exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray

LEVELS_TRIED = 30  # of the interval that s is in


class Node(NamedTuple):
    """The active atoms of a node.

    Q, c : of phi; d, C : what each pays, and its cap; ins : which are inside; kappa : how many others there may be
    nonneg : whether coefficients must not be negative
    """

    Q: FloatArray
    c: FloatArray
    d: FloatArray
    C: FloatArray
    ins: Array
    kappa: int
    nonneg: bool


def slope(s: float, d: float, C: float) -> float:
    """sigma with h(sigma) = s^2 / 2: what a fractional atom pays for a unit of x."""
    if s <= d**0.5 * C:
        return d**0.5 * s
    return 0.5 * (s * s / C + d * C)


def gain(z: float, d: float, C: float, nonneg: bool) -> float:
    """h(z)."""
    a = z if nonneg else abs(z)
    if a <= 0.0:
        return 0.0
    if a <= d * C:
        return a * a / (2.0 * d)
    return C * (a - 0.5 * d * C)


def level(node: Node, x: FloatArray, begin: float) -> float:
    """The s for which the shares sum to kappa; 0 where they need not, -1 where caps forbid that. Where all of them feel
    their caps, and sum to kappa by these, any larger one does as well: `begin`, if it is."""
    count, capped, lin = 0, 0.0, 0.0
    for i in range(x.size):
        if not node.ins[i] and x[i] != 0.0:
            count += 1
            capped += abs(x[i]) / node.C[i]
            lin += abs(x[i]) * node.d[i] ** 0.5
    if count <= node.kappa:
        return 0.0
    if node.kappa <= 0 or capped > node.kappa * (1.0 + 1e-12):
        return -1.0
    s = begin if begin > 0.0 else lin / node.kappa
    low, high = 0.0, np.inf
    for _ in range(200):
        room, rest = shared(node, x, s)
        if rest == 0.0 and abs(room) <= 1e-9 * node.kappa:
            return s
        if room <= 0.0:
            low, new = s, 2.0 * s
        elif rest == 0.0:
            if s < 1e-200:
                return 0.0
            high, new = s, 0.5 * (low + s)
        else:
            new = rest / room
            if abs(new - s) <= 1e-12 * s:
                return s
            if new > s:
                low = s
            else:
                high = s
        if not low < new < high:
            new = 0.5 * (low + high) if high < np.inf else 2.0 * s
        if high < np.inf and high - low <= 1e-13 * high:
            return high
        s = new
    return s


def shared(node: Node, x: FloatArray, s: float) -> tuple[float, float]:
    """What is left of kappa beside atoms that are saturated or feel their caps at this s, and sqrt(d) |x| summed over
    the others."""
    room, rest = float(node.kappa), 0.0
    for i in range(x.size):
        if not node.ins[i] and x[i] != 0.0:
            w, z = abs(x[i]) * node.d[i] ** 0.5, abs(x[i]) / node.C[i]
            if w >= s or z >= 1.0:
                room -= 1.0
            elif z * s > w:
                room -= z
            else:
                rest += w
    return room, rest


def value(node: Node, x: FloatArray, g: FloatArray, s: float) -> float:
    """phi(x), for g = c - Qx and s the level of x."""
    v = 0.0
    for i in range(x.size):
        if x[i] != 0.0:
            v -= 0.5 * x[i] * (node.c[i] + g[i])
            if node.d[i] > 0.0:
                z = 1.0
                if not node.ins[i] and s > 0.0:
                    z = min(1.0, max(abs(x[i]) * node.d[i] ** 0.5 / s, abs(x[i]) / node.C[i]))
                v += 0.5 * node.d[i] * x[i] * x[i] / z
    return v


def slopes(node: Node, x: FloatArray, g: FloatArray) -> None:
    """g = c - Qx."""
    g[:] = node.c
    for j in range(x.size):
        if x[j] != 0.0:
            for i in range(x.size):
                g[i] -= node.Q[j, i] * x[j]


def best_at(r: float, q: float, d: float, C: float, s: float, inside: bool) -> float:
    """The least of q x^2 / 2 - r x + (what x pays), for r > 0."""
    if inside:
        return min(r / (q + d), C) if q + d > 0.0 else 0.0
    paid = slope(s, d, C)
    if r <= paid:
        return 0.0
    whole = min(paid / d, C) if d > 0.0 else C
    if r - paid <= q * whole:
        return (r - paid) / q
    return min(max(r / (q + d), whole), C)


def sweep(node: Node, x: FloatArray, g: FloatArray, s: float) -> None:
    """Each coordinate in turn at its best, at a fixed s."""
    for i in range(x.size):
        q = node.Q[i, i]
        pull = g[i] + q * x[i]
        size = pull if node.nonneg else abs(pull)
        new = 0.0
        if size > 0.0:
            new = best_at(size, q, node.d[i], node.C[i], s, node.ins[i])
            if pull < 0.0:
                new = -new
        step = new - x[i]
        if step != 0.0:
            x[i] = new
            for j in range(x.size):
                g[j] -= step * node.Q[i, j]


def swept(node: Node, x: FloatArray, g: FloatArray, s: float, val: float, count: int) -> tuple[float, float]:
    """Some sweeps, at levels that follow them; kept while phi falls."""
    y, gy = np.empty_like(x), np.empty_like(g)
    for _ in range(count):
        y[:], gy[:] = x, g
        sweep(node, y, gy, s)
        new = level(node, y, s)
        if new < 0.0:
            s *= 1.5
            continue
        v = value(node, y, gy, new)
        if v < val:
            small = val - v <= 1e-9 * abs(v)
            val, x[:], g[:] = v, y, gy
            s = new if new > 0.0 else 0.5 * s
            if small:
                break
        else:
            s = 0.5 * (s + new)
    return s, val


def filling(node: Node, x: FloatArray) -> float:
    """What caps make of the shares at least."""
    total = 0.0
    for i in range(x.size):
        if not node.ins[i]:
            total += abs(x[i]) / node.C[i]
    return total


def bracketed(node: Node, x: FloatArray, g: FloatArray, s: float) -> float:
    """x for the s at which the shares sum to kappa, by bisection: where caps make shares, phi is infinite beyond a wall
    along which it cannot be followed, but at a fixed s there is none."""
    low, high = 0.0, np.inf
    for _ in range(LEVELS_TRIED):
        for _sweep in range(3):
            sweep(node, x, g, s)
        shares = 0.0
        for i in range(x.size):
            if not node.ins[i] and x[i] != 0.0:
                w = abs(x[i]) * node.d[i] ** 0.5
                shares += (
                    min(1.0, max(w / s if w < s else 1.0, abs(x[i]) / node.C[i])) if w > 0.0 else abs(x[i]) / node.C[i]
                )
        if abs(shares - node.kappa) <= 1e-6 * node.kappa:
            break
        if shares > node.kappa:
            low = s
        else:
            high = s
        if high == np.inf:
            s *= 1.5
        elif low == 0.0:
            s *= 0.5
        else:
            s = 0.5 * (low + high)
        if high - low <= 1e-6 * low or s < 1e-12:
            break
    return s
