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

INSIDE, SATURATED, FRACTIONAL = 2, 1, 0
DAMPED = 1e-13  # on the diagonal, where columns may depend on each other
HALVINGS = 30  # of the interval that s is in
TRIES = 8  # of shorter and shorter steps
CUT = 0.4
AS_TAKEN = 1e-7  # relative: a set is what the step took it for


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


class Step(NamedTuple):
    """What a step of Newton's method is made of: the atoms that move, what they are, their signs, and the system."""

    which: Array
    kind: Array
    sign: FloatArray
    H: FloatArray
    r: FloatArray


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


def solved(H: FloatArray, r: FloatArray, n: int) -> bool:
    """H^{-1} r_0 and H^{-1} r_1 in the place of r, by Cholesky's decomposition in the place of H."""
    for j in range(n):
        for i in range(j, n):
            w = H[i, j]
            for q in range(j):
                w -= H[i, q] * H[j, q]
            if i == j:
                if not w > 0.0:
                    return False
                H[j, j] = w**0.5
            else:
                H[i, j] = w / H[j, j]
    for c in range(r.shape[0]):
        for i in range(n):
            w = r[c, i]
            for q in range(i):
                w -= H[i, q] * r[c, q]
            r[c, i] = w / H[i, i]
        for i in range(n - 1, -1, -1):
            w = r[c, i] / H[i, i]
            r[c, i] = w
            for q in range(i):
                r[c, q] -= H[i, q] * w
    return True


def sorted_out(node: Node, step: Step, x: FloatArray, g: FloatArray, s: float, tied: bool) -> tuple[int, int, int]:
    """Which atoms move and what they are: how many, and how many of them are saturated and fractional. `tied` where the
    shares sum to kappa at x."""
    n, saturated, fractional = 0, 0, 0
    for i in range(x.size):
        size = g[i] if node.nonneg else abs(g[i])
        if not (node.ins[i] or x[i] != 0.0 or size > slope(s, node.d[i], node.C[i]) * (1.0 + 1e-9)):
            continue
        sign = 1.0 if x[i] > 0.0 or (x[i] == 0.0 and g[i] > 0.0) else -1.0
        if abs(x[i]) >= node.C[i] * (1.0 - 1e-12) and sign * g[i] >= node.d[i] * node.C[i]:
            saturated += 0 if node.ins[i] else 1  # at its cap, and pulled beyond
            continue
        step.which[n], step.sign[n] = i, sign
        if node.ins[i]:
            step.kind[n] = INSIDE
        elif not tied or abs(x[i]) * node.d[i] ** 0.5 >= s:
            step.kind[n] = SATURATED
            saturated += 1
        else:
            step.kind[n] = FRACTIONAL
            fractional += 1
        n += 1
    if not tied and saturated > node.kappa:
        saturated = 0
        for u in range(n):
            if step.kind[u] == SATURATED:
                step.kind[u] = FRACTIONAL
                fractional += 1
    return n, saturated, fractional


def directed(node: Node, step: Step, x: FloatArray, g: FloatArray, s: float, n: int, room: float) -> tuple[bool, float]:
    """The step in x, left in r, and that in s: r_0 - (step in s) r_1."""
    taken = 0.0
    for u in range(n):
        i = step.which[u]
        for v in range(n):
            step.H[u, v] = node.Q[i, step.which[v]]
        step.r[0, u], step.r[1, u] = g[i], 0.0
        if step.kind[u] != FRACTIONAL:
            step.H[u, u] += node.d[i]
            step.r[0, u] -= node.d[i] * x[i]
        else:
            rise = node.d[i] ** 0.5 if s <= node.d[i] ** 0.5 * node.C[i] else s / node.C[i]
            step.r[1, u] = rise * step.sign[u]
            step.r[0, u] -= slope(s, node.d[i], node.C[i]) * step.sign[u]
            taken += rise * abs(x[i])
        step.H[u, u] += DAMPED * (1.0 + node.d[i])
    rises = step.r[1, :n].copy()
    if not solved(step.H, step.r[:, :n], n):
        return False, 0.0
    more, less = taken - s * room, room
    for u in range(n):
        more += rises[u] * step.r[0, u]
        less += rises[u] * step.r[1, u]
    return True, more / less if less > 0.0 else 0.0


def moved(node: Node, step: Step, x: FloatArray, y: FloatArray, n: int, ds: float, length: float) -> bool:
    """y, so far along the step, with signs and caps kept; whether any stood in the way."""
    held = False
    y[:] = x
    for u in range(n):
        i = step.which[u]
        new = x[i] + length * (step.r[0, u] - ds * step.r[1, u])
        if (step.kind[u] != INSIDE and new * step.sign[u] < 0.0) or (node.nonneg and new < 0.0):
            new, held = 0.0, True
        if abs(new) > node.C[i]:
            new, held = (node.C[i] if new > 0.0 else -node.C[i]), True
        y[i] = new
    return held


def settled(node: Node, step: Step, x: FloatArray, g: FloatArray, s: float, n: int) -> bool:
    """Whether all atoms are what the step took them for, and none beside them is pulled in."""
    for u in range(n):
        i = step.which[u]
        w = abs(x[i]) * node.d[i] ** 0.5
        if step.kind[u] == FRACTIONAL and w > s * (1.0 + AS_TAKEN):
            return False
        if step.kind[u] == SATURATED and w < s * (1.0 - AS_TAKEN):
            return False
    for i in range(x.size):
        if x[i] == 0.0 and not node.ins[i]:
            size = g[i] if node.nonneg else abs(g[i])
            if size > slope(s, node.d[i], node.C[i]) * (1.0 + 10 * AS_TAKEN):
                return False
    return True


def stepped(node: Node, step: Step, x: FloatArray, g: FloatArray, s: float, val: float) -> tuple[float, float, bool]:
    """One step of Newton's method, if phi falls along it: s, phi, whether x is the solution."""
    at = level(node, x, s)
    s = at if at > 0.0 else s
    n, saturated, fractional = sorted_out(node, step, x, g, s, at > 0.0)
    if n == 0:
        return s, val, True
    fine, ds = directed(node, step, x, g, s, n, float(node.kappa - saturated))
    if not fine:
        return s, val, False
    if fractional == 0:
        ds = 0.0
    y, gy, length = np.empty_like(x), np.empty_like(g), 1.0
    for _ in range(TRIES):
        held = moved(node, step, x, y, n, ds, length)
        slopes(node, y, gy)
        new = level(node, y, max(s + length * ds, 0.1 * s))
        if new >= 0.0:
            v = value(node, y, gy, new)
            if v <= val + 1e-14 * abs(val):
                x[:], g[:] = y, gy
                s = new if new > 0.0 else max(s + ds, 0.1 * s)
                whole = length == 1.0 and not held
                return s, min(v, val), whole and new > 0.0 and settled(node, step, x, g, s, n)
        length *= CUT
    return s, val, False


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
    for _ in range(HALVINGS):
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


def relaxed(node: Node, x: FloatArray, s: float, sweeps: int, steps: int) -> float:
    """x in its place, better; s."""
    a = x.size
    g = np.empty(a)
    filled = filling(node, x)
    if filled > node.kappa:
        for i in range(a):
            if not node.ins[i]:
                x[i] *= node.kappa / filled * (1.0 - 1e-9)
    new = max(0.0, level(node, x, s))
    slopes(node, x, g)
    val = value(node, x, g, new)
    s = new if new > 0.0 else 0.5 * s
    s, val = swept(node, x, g, s, val, sweeps)
    step = Step(np.empty(a, np.int64), np.empty(a, np.int64), np.empty(a), np.empty((a, a)), np.empty((2, a)))
    for _ in range(steps):
        before = val
        s, val, done = stepped(node, step, x, g, s, val)
        if done:
            break
        if before - val <= 1e-10 * abs(val):
            s, val = swept(node, x, g, s, val, 2)
            if before - val <= 1e-10 * abs(val):
                break
    if filling(node, x) > 0.9 * node.kappa and node.kappa > 0:
        s = bracketed(node, x, g, s)
    return s
