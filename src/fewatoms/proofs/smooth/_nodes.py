"""A node of the tree, bounded, in loops. What its relaxation is stands in `_groups.py`."""

from __future__ import annotations

from math import inf

import numpy as np

from fewatoms._types import Array
from fewatoms.proofs.smooth._groups import balanced, even, gained, leading, paid, working
from fewatoms.proofs.smooth._losses import HALVINGS, bent, curved, inner, settled, sloped, solved
from fewatoms.proofs.smooth.given import HUBER, IN, OUT, SQUARES, Given

DESCENT = 1e-3  # of what is to be gained: what passes may leave
FITTED_TO = 1e-6  # the same where classes are fitted
OF_LOSS = 0.1  # share of the loss that is never left, whatever is to be gained
SO_NEAR = 0.1  # share of what lacks for a node to close: once its bound is so near its relaxation, it is branched on
ASTRAY = 1e-9  # share of its terms that an inner product of y with a free column may have and still be rounding


def image(g: Given, x: Array, left: Array) -> None:
    """left = b - A x."""
    for i in range(left.size):
        left[i] = g.b[i]
    for a in range(x.size):
        if x[a] != 0.0:
            row, c = g.A[a], x[a]
            for i in range(left.size):
                left[i] -= c * row[i]


def aligned(g: Given, y: Array, x: Array, z: Array) -> float:
    """z = A'y, and what was moved out of f given back; <z, x> less half of that."""
    value = 0.0
    for a in range(z.size):
        z[a] = inner(g.A[a], y) + g.shift[a] * x[a]
        value += (z[a] - 0.5 * g.shift[a] * x[a]) * x[a]
    return value


def priced(g: Given, x: Array, state: Array, theta: float) -> float:
    """What all coefficients pay, less what was moved out of f."""
    total = 0.0
    for j in range(state.size):
        if state[j] != OUT:
            total += paid(g, x, j, theta, state[j])
    for a in range(x.size):
        total -= 0.5 * g.shift[a] * x[a] * x[a]
    return total


def parabola(
    g: Given, places: Array, bend: Array, L: Array, HF: Array, y: Array, slack: Array, across: Array, ahead: Array
) -> Array:
    """Q = A'HA over some coordinates, past what the free columns take of it; `across` is (F'HF)^-1 F'HA, and `ahead`
    what the free coefficients do by themselves."""
    n, q, m = places.size, g.F.shape[0], y.size
    Q = np.empty((n, n))
    if g.kind == SQUARES:
        for i in range(n):
            for j in range(n):
                Q[i, j] = g.gram[places[i], places[j]]
        return Q
    weighed = np.empty(m)
    for i in range(n):
        bent(g, bend, g.A[places[i]], weighed)
        for j in range(i + 1):
            Q[i, j] = inner(weighed, g.A[places[j]])
        Q[i, i] -= g.shift[places[i]]
    for k in range(q):
        ahead[k] = inner(g.F[k], y)
    if q:
        solved(L, ahead)
    beside = np.empty(q)
    for i in range(n):
        for k in range(q):
            beside[k] = inner(HF[k], g.A[places[i]])
            across[i, k] = beside[k]
            slack[i] -= beside[k] * ahead[k]
        solved(L, beside)
        for j in range(i + 1):
            for k in range(q):
                Q[i, j] -= beside[k] * across[j, k]
    for i in range(n):
        solved(L, across[i])
        for j in range(i):
            Q[j, i] = Q[i, j]
    return Q


def steepness(g: Given, Q: Array, work: Array, at: Array, tau: Array) -> None:
    """An upper bound of the curvature within each group: the largest sum of sizes in a row."""
    for j in range(work.size):
        top = 0.0
        for i in range(at[j], at[j + 1]):
            total = 0.0
            for t in range(at[j], at[j + 1]):
                total += abs(Q[i, t])
            top = max(top, total)
        tau[j] = max(top, 1e-12)
        if g.kind == SQUARES:
            tau[j] = max(min(top, g.tau[work[j]]), 1e-12)


def proposed(
    g: Given, x: Array, z: Array, y: Array, h: Array, bend: Array, L: Array, HF: Array, state: Array, kappa: int,
    theta: float, tolerance: float, most: int, goal: Array, free: Array,
) -> float:  # fmt: skip
    """The best coefficients in the parabola near x, and steps of the free ones; the penalty there."""
    work = working(g, x, h, state, theta, most)
    at = np.zeros(work.size + 1, dtype=np.int64)
    for j in range(work.size):
        at[j + 1] = at[j] + g.starts[work[j] + 1] - g.starts[work[j]]
    n, q = at[work.size], g.F.shape[0]
    places, slack, there = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    for j in range(work.size):
        for i in range(at[j + 1] - at[j]):
            places[at[j] + i] = g.starts[work[j]] + i
    for i in range(n):
        slack[i], there[i] = z[places[i]], x[places[i]]
    across, ahead, tau = np.empty((n, q)), np.zeros(q), np.empty(work.size)
    Q = parabola(g, places, bend, L, HF, y, slack, across, ahead)
    steepness(g, Q, work, at, tau)
    theta = balanced(g, Q, slack, there, work, at, tau, state, kappa, theta, tolerance)
    for k in range(q):
        free[k] = ahead[k]
    for i in range(n):
        goal[places[i]] = there[i]
        for k in range(q):
            free[k] -= across[i, k] * (there[i] - x[places[i]])
    return theta


def moved(
    g: Given, x: Array, v: Array, goal: Array, free: Array, state: Array, theta: float, value: float, left: Array,
    r: Array, y: Array, bend: Array, L: Array, HF: Array,
) -> tuple[float, float]:  # fmt: skip
    """Go to the goal, or part of the way where that is not better; f there, and the part; x and v changed. What all pay
    for theta falls, unless no step does."""
    n, q = x.size, v.size
    here, begin = value + priced(g, x, state, theta), v.copy()
    start, t = x.copy(), 1.0
    for _ in range(HALVINGS):
        for a in range(n):
            x[a] = start[a] + t * (goal[a] - start[a])
        for k in range(q):
            v[k] = begin[k] + t * free[k]
        image(g, x, left)
        value = settled(g, left, v, r, y, bend, L, HF)
        if g.kind == SQUARES or value + priced(g, x, state, theta) <= here:
            return value, t
        t *= 0.5 if t > 0.1 else 0.2
    return value, 0.0


def proven(
    g: Given, value: float, y: Array, now: Array, state: Array, kappa: int, z: Array, here: Array, free: Array
) -> tuple[float, float]:
    """What y proves, with the gains of all groups, and the h that is next to those that count."""
    bound = value + aligned(g, y, now, z) if sloped(g, y, free) <= ASTRAY else -inf
    gained(g, z, here)
    sums, last, following = leading(here, state, kappa)
    for j in range(state.size):
        if state[j] == IN:
            sums += here[j]
    return bound - sums, (following if following > 0.0 else last)


def node(
    g: Given, state: Array, kappa: int, x: Array, v: Array, theta: float, target: float, enough: float, steps: int,
    most: int, h: Array, fit: Array, free_fit: Array,
) -> tuple[float, float, float, int]:  # fmt: skip
    """The best bound of a node that a few steps from x find: x, v and h are those of the best y.

    `fit` and `free_fit` become the coefficients with the lowest objective in the relaxation.

    What y leaves of free columns must be rounding, or it proves nothing. It ends once the bound is at `target`, or
    where the relaxation is known to be below. The bound; what the relaxation comes to, roughly; the penalty; how many
    steps were taken.
    """
    n, m, q, count = x.size, g.b.size, v.size, h.size
    left, r, y, bend, bowl = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    z, here, L, HF = np.empty(n), np.empty(count), np.empty((q, q)), np.empty((q, m))
    now, beside, goal, free = x.copy(), v.copy(), np.empty(n), np.empty(q)
    image(g, now, left)
    value = settled(g, left, beside, r, y, bend, L, HF)
    best, above, step, known, far = -inf, inf, 0, theta, 1.0
    while True:
        bound, near = proven(g, value, y, now, state, kappa, z, here, free)
        if theta < 0.0:
            theta = near
        if bound > best or step == 0:
            best, known = bound, theta
            x[:] = now
            v[:] = beside
            h[:] = here
        fair = even(g, now, state, kappa) if kappa else 0.0
        objective = value + priced(g, now, state, fair) - kappa * fair
        if step and objective < above:
            above = objective
            fit[:] = now
            free_fit[:] = beside
        lacking = target - best
        done = lacking <= 0.0 or step >= steps or above - best <= enough
        if done or (kappa > 0 and above < target and above - best <= SO_NEAR * (target - above)):
            break
        tolerance = (DESCENT if kappa else FITTED_TO) * max(enough, min(lacking, above - best, OF_LOSS * value))
        goal[:] = now
        theta = theta if kappa else 0.0
        if far < 1.0 and g.kind == HUBER:  # what is flat is bent as far as that stays above it
            curved(g, bend, bowl, L, HF, r, y, True)
        else:
            bowl[:] = bend
        theta = proposed(g, now, z, y, here, bowl, L, HF, state, kappa, theta, tolerance, most, goal, free)
        value, far = moved(g, now, beside, goal, free, state, theta, value, left, r, y, bend, L, HF)
        step += 1
    return best, above, known, step
