"""Groups in loops: what their coefficients pay and gain, and how they descend in a parabola.

A node has groups taken (IN), groups left out (OUT) and kappa more to be chosen among the others (FREE). Its relaxation,

    min over x, v of  f(b - A x - F v) + sum over IN of p(x_g) + Omega(x_FREE),

where Omega is the conjugate of the sum of the kappa largest h(z_g), is made for every penalty theta on the use of a
group: with phi = min over 0 < s <= 1 of s p(x_g / s) + theta s in the place of p, whose conjugate is (h - theta)_+, all
groups are by themselves. The right theta is that at which the shares s sum to kappa. f is bent into its parabola near
x over a working set, which is descended group by group. What counts is the dual vector y = grad f of the residual: it
bounds the node however x was found.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from fewatoms._types import Array
from fewatoms.proofs.smooth._losses import factored, solved
from fewatoms.proofs.smooth.given import FREE, IN, Given

PENALTIES = 14  # penalties that are tried in one parabola
EVEN_SHARES = 0.02  # what the shares may miss kappa by
BISECTIONS = 45  # of a penalty
LEAP = 200  # coefficients that take a step of Newton's together at most
PASSES, MANY_PASSES = 60, 600  # over the working set for one penalty; where classes are fitted
REPEATED = 3  # steps in one group of several columns at a time
OF_THETA = 0.5  # share of theta from which on a group is looked at


def conjugate(z: float, d: float, cap: float, nonnegative: bool) -> float:
    """h of one coordinate: the maximum of z c - d c^2 / 2 over the coefficients that are allowed."""
    size = max(z, 0.0) if nonnegative else abs(z)
    if size == 0.0:
        return 0.0
    c = min(size / d, cap) if d > 0.0 else cap
    return c * (size - 0.5 * d * c)


def clipped(c: float, cap: float, nonnegative: bool) -> float:
    """The nearest coefficient that is allowed."""
    return min(max(c, 0.0 if nonnegative else -cap), cap)


def leading(h: Array, state: Array, kappa: int) -> tuple[float, float, float]:
    """The sum of the kappa largest h among the free groups, the last of these and the next one (0: there is none)."""
    top, count = np.zeros(kappa + 1), 0
    for j in range(h.size):
        if state[j] != FREE or (count > kappa and h[j] <= top[kappa]):
            continue
        at = min(count, kappa)
        while at > 0 and top[at - 1] < h[j]:
            top[at] = top[at - 1]
            at -= 1
        top[at] = h[j]
        count = min(count + 1, kappa + 1)
    total = 0.0
    for j in range(kappa):
        total += top[j]
    return total, (top[kappa - 1] if kappa else inf), top[kappa]


def gained(g: Given, z: Array, h: Array) -> None:
    """h of every group."""
    for j in range(h.size):
        total = 0.0
        for a in range(g.starts[j], g.starts[j + 1]):
            total += conjugate(z[a], g.d[a], g.cap[a], g.nonnegative)
        h[j] = total


def paid(g: Given, x: Array, j: int, theta: float, state: int) -> float:
    """What the coefficients of a group pay: p, or phi where the group is free."""
    total, least = 0.0, 0.0
    for a in range(g.starts[j], g.starts[j + 1]):
        total += 0.5 * g.d[a] * x[a] * x[a]
        least = max(least, abs(x[a]) / g.cap[a])
    if state == IN or (total == 0.0 and least == 0.0):
        return total
    if theta <= 0.0:
        return total
    share = min(1.0, max(least, sqrt(total / theta)))
    return total / share + theta * share


def even(g: Given, x: Array, state: Array, kappa: int) -> float:
    """The penalty at which what all groups pay is most, less kappa times it: Omega of x. Where caps ask for more than
    kappa shares, as if there were so many."""
    weight, least, count, asked = np.empty(state.size), np.empty(state.size), 0, 0.0
    for j in range(state.size):
        if state[j] != FREE:
            continue
        total, low = 0.0, 0.0
        for a in range(g.starts[j], g.starts[j + 1]):
            total += 0.5 * g.d[a] * x[a] * x[a]
            low = max(low, abs(x[a]) / g.cap[a])
        if total > 0.0 or low > 0.0:
            weight[count], least[count] = total, min(low, 1.0)
            asked += least[count]
            count += 1
    if count <= kappa:
        return 0.0
    room = max(float(kappa), asked)
    below, above = 0.0, 0.0
    for j in range(count):
        above = max(above, weight[j])
    above *= (count / max(room, 1e-300)) ** 2
    for _ in range(BISECTIONS):
        theta, shares = 0.5 * (below + above), 0.0
        for j in range(count):
            shares += min(1.0, max(least[j], sqrt(weight[j] / theta) if theta > 0.0 else 1.0))
        if shares > room:
            below = theta
        else:
            above = theta
    return above


def one(a: float, d: float, cap: float, tau: float, theta: float, nonnegative: bool) -> tuple[float, float]:
    """argmin over x of tau x^2 / 2 - a x + phi(x) for one coordinate, and the share that it takes."""
    size = max(a, 0.0) if nonnegative else abs(a)
    if d > 0.0 and theta <= 0.5 * d * cap * cap:
        edge = sqrt(2.0 * theta * d)
        most = edge / d
    else:
        edge = theta / cap + 0.5 * d * cap
        most = cap
    if size <= edge:
        return 0.0, 0.0
    c, share = (size - edge) / tau, 1.0
    if c < most:
        share = c / most
    else:
        c = max(most, min(size / (tau + d), cap))
    return (c if a > 0.0 else -c), share


def block(g: Given, j: int, a: Array, tau: float, theta: float, state: int, out: Array) -> float:
    """argmin over x of tau |x|^2 / 2 - <a, x> + what group j pays, and the share that it takes."""
    low, size = g.starts[j], g.starts[j + 1] - g.starts[j]
    if size == 1 and state == FREE:
        out[0], share = one(a[0], g.d[low], g.cap[low], tau, theta, g.nonnegative)
        return share
    whole, rest, even, length = 0.0, 0.0, True, 0.0
    for i in range(size):
        d, cap = g.d[low + i], g.cap[low + i]
        out[i] = clipped(a[i] / (tau + d), cap, g.nonnegative)
        whole += conjugate(a[i], d, cap, g.nonnegative)
        rest += conjugate(a[i] - tau * out[i], d, cap, g.nonnegative)
        even = even and d == g.d[low] and cap == inf and not g.nonnegative
        length += a[i] * a[i]
    if state == IN or rest >= theta:
        return 1.0
    if whole <= theta:
        for i in range(size):
            out[i] = 0.0
        return 0.0
    if even:
        d, length = g.d[low], sqrt(length)
        shrunk = (length - sqrt(2.0 * theta * d)) / (length * tau)
        for i in range(size):
            out[i] = shrunk * a[i]
        return min(1.0, shrunk * length * sqrt(d / (2.0 * theta)))
    return _partly(g, low, size, a, tau, theta, out)


def _partly(g: Given, low: int, size: int, a: Array, tau: float, theta: float, out: Array) -> float:
    """The same where the share is between 0 and 1 and known by no formula: h of what is left falls to theta."""
    below, above = 0.0, 1.0
    for _ in range(50):
        share = 0.5 * (below + above)
        rest = 0.0
        for i in range(size):
            d, cap = g.d[low + i], g.cap[low + i]
            out[i] = clipped(a[i] / (tau + d / share), cap * share, g.nonnegative)
            rest += conjugate(a[i] - tau * out[i], d, cap, g.nonnegative)
        if rest > theta:
            below = share
        else:
            above = share
        if above - below <= 1e-10 * above:
            break
    return share


def descended(
    g: Given, Q: Array, slack: Array, x: Array, work: Array, at: Array, tau: Array, state: Array, theta: float,
    tolerance: float, most: int,
) -> float:  # fmt: skip
    """Passes over the working set until they change little; the sum of the shares of the free groups.

    x, slack : coefficients there, and c - Q x; at : where groups begin; work : their numbers
    """
    widest = 0
    for j in range(work.size):
        widest = max(widest, at[j + 1] - at[j])
    a, fresh, before = np.empty(widest), np.empty(widest), np.empty(widest)
    shares = 0.0
    for turn in range(most):
        moved, shares = 0.0, 0.0
        for j in range(work.size):
            low, size, kind = at[j], at[j + 1] - at[j], state[work[j]]
            share, there = 0.0, 0.0
            for i in range(size):
                before[i], fresh[i] = x[low + i], x[low + i]
            for _ in range(1 if size == 1 else REPEATED):
                for i in range(size):
                    total = slack[low + i]
                    for t in range(size):
                        total -= Q[low + i, low + t] * (fresh[t] - before[t])
                    a[i] = total + tau[j] * fresh[i]
                share = block(g, work[j], a, tau[j], theta, kind, fresh)
            for i in range(size):
                change = fresh[i] - x[low + i]
                if change != 0.0:
                    x[low + i] = fresh[i]
                    there += change * change
                    row = Q[low + i]
                    for t in range(x.size):
                        slack[t] -= change * row[t]
            moved = max(moved, tau[j] * there)
            shares += share if kind == FREE else 0.0
        if moved <= tolerance:
            break
        if turn % 4 == 1:
            leapt(g, Q, slack, x, work, at, state)
    return shares


def leapt(g: Given, Q: Array, slack: Array, x: Array, work: Array, at: Array, state: Array) -> None:
    """Newton's step of all coefficients of groups taken that are inside their box, as far as they stay there."""
    some, places, count = np.empty(x.size, dtype=np.int64), np.empty(x.size, dtype=np.int64), 0
    for j in range(work.size):
        for i in range(at[j], at[j + 1] if state[work[j]] == IN else at[j]):
            a = g.starts[work[j]] + i - at[j]
            if abs(x[i]) < g.cap[a] and (x[i] > 0.0 or not g.nonnegative):
                some[count], places[count] = i, a
                count += 1
    if not 1 < count <= LEAP:
        return
    K, step = np.empty((count, count)), np.empty(count)
    for i in range(count):
        for t in range(i + 1):
            K[i, t] = Q[some[i], some[t]]
        K[i, i] += g.d[places[i]]
        step[i] = slack[some[i]] - g.d[places[i]] * x[some[i]]
    factored(K)
    solved(K, step)
    far = 1.0
    for i in range(count):
        ahead, a = x[some[i]] + step[i], places[i]
        if ahead != clipped(ahead, g.cap[a], g.nonnegative):
            edge = clipped(ahead, g.cap[a], g.nonnegative)
            far = min(far, (edge - x[some[i]]) / step[i])
    for i in range(count):
        x[some[i]] = clipped(x[some[i]] + far * step[i], g.cap[places[i]], g.nonnegative)
        for t in range(x.size):
            slack[t] -= far * step[i] * Q[some[i], t]


def balanced(
    g: Given, Q: Array, slack: Array, x: Array, work: Array, at: Array, tau: Array, state: Array, kappa: int,
    theta: float, tolerance: float,
) -> float:  # fmt: skip
    """Descend until the shares sum to kappa as well; the penalty at which they do."""
    low, high, much, little = 0.0, inf, inf, 0.0
    for trial in range(PENALTIES):
        shares = descended(g, Q, slack, x, work, at, tau, state, theta, tolerance, PASSES if kappa else MANY_PASSES)
        if abs(shares - kappa) <= EVEN_SHARES or kappa == 0:
            break
        if shares > kappa:
            low, much = theta, shares
        else:
            high, little = theta, shares
        if high == inf:
            theta *= min(16.0, max(1.1, (shares / kappa) ** 2))
        elif low == 0.0:
            if theta < 1e-200 or trial == PENALTIES - 1:
                break
            theta *= max(1.0 / 16.0, min(0.9, (max(shares, 0.0) / kappa) ** 2))
        else:
            part = (much - kappa) / (much - little)
            theta = low * (high / low) ** min(0.9, max(0.1, part))
    return theta


def working(g: Given, x: Array, h: Array, state: Array, theta: float, most: int) -> Array:
    """The groups that are looked at: those taken, those in use, and the free ones whose h is not far below theta."""
    found, count, other = np.empty(h.size, dtype=np.int64), 0, np.empty(h.size)
    candidates = 0
    for j in range(h.size):
        used = state[j] == IN
        if state[j] == FREE:
            for a in range(g.starts[j], g.starts[j + 1]):
                used = used or x[a] != 0.0
            if not used and h[j] > OF_THETA * theta:
                other[candidates] = h[j]
                candidates += 1
        if used:
            found[count] = j
            count += 1
    bar = OF_THETA * theta
    if candidates > most:
        bar = max(bar, np.sort(other[:candidates])[candidates - most])
    for j in range(h.size):
        used = state[j] != FREE or h[j] <= OF_THETA * theta or h[j] < bar
        for a in range(g.starts[j], g.starts[j + 1]):
            used = used or x[a] != 0.0
        if not used:
            found[count] = j
            count += 1
    return found[:count]
