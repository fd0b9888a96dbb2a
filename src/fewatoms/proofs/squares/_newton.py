"""Steps of Newton's method for the relaxation of a node, see `_node.py`, and the whole of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.proofs.squares._node import Node, bracketed, filling, level, slope, slopes, swept, value

INSIDE, SATURATED, FRACTIONAL = 2, 1, 0
DAMPED = 1e-13  # on the diagonal, where columns may depend on each other
TRIES = 8  # of shorter and shorter steps
EACH_TRY = 0.4
AS_TAKEN = 1e-7  # relative: a set is what the step took it for


class Step(NamedTuple):
    """What a step of Newton's method is made of: the atoms that move, what they are, their signs, and the system."""

    which: Array
    kind: Array
    sign: FloatArray
    H: FloatArray
    r: FloatArray


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
        length *= EACH_TRY
    return s, val, False


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
