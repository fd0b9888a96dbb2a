"""What searches ask of single atoms beyond the steps of `state.py`, in Python that compiles as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram.exchanges import best_nonnegative_swap, best_two, promising
from fewatoms.gram.state import PIVOT, State, axpy, best_entry, best_swap, blank, enter, leave, swap_bounds

if TYPE_CHECKING:
    from fewatoms.gram.drivers import Rules


def clear(G: FloatArray, h: FloatArray, bb: float, s: State) -> None:
    """The empty support again."""
    for i in range(s.count[0]):
        s.place[s.S[i]] = -1
        s.count[2] += s.stays[s.S[i]]
    s.count[0] = 0
    s.count[1] = 0
    s.loss[0] = bb
    for j in range(h.size):
        s.d[j] = G[j, j]
        s.z[j] = h[j]


def fits(s: State, j: int, signed: bool) -> bool:
    """Whether atom j could come in: something is left of it and, where coefficients are nonnegative, aligned."""
    return bool(s.d[j] > PIVOT and (signed or s.z[j] > 0.0))


def worths(s: State, signed: bool) -> FloatArray:
    """Twice by how much each atom outside would lower the loss; 0 for those that cannot or must not come in."""
    out = np.zeros(s.z.size)
    for j in range(s.z.size):
        if s.may[j] and s.place[j] < 0 and s.d[j] > PIVOT and (signed or s.z[j] > 0.0):
            out[j] = s.z[j] * s.z[j] / s.d[j]
    return out


def sizes(s: State, x: FloatArray) -> FloatArray:
    """What x has of each atom."""
    return np.abs(x)


def nonnegative(G: FloatArray, h: FloatArray, atoms: IntArray, c: FloatArray) -> float:
    """The best nonnegative coefficients of a few atoms, into c, and what they gain: h'c. (Lawson and Hanson)"""
    p = atoms.size
    g, t = np.empty((p, p)), np.empty(p)
    for a in range(p):
        t[a] = h[atoms[a]]
        for b in range(p):
            g[a, b] = G[atoms[a], atoms[b]]
    may, stays = np.ones(p, dtype=np.bool_), np.zeros(p, dtype=np.bool_)
    s = blank(g, t, 0.0, p, may, stays)
    c[:] = 0.0
    for _ in range(3 * p + 3):
        j, _gain = best_entry(s, False)
        if j < 0:
            break
        enter(g, s, j)
        for _ in range(p):
            # how far from the last feasible point to the new one
            share, blocks = 1.0, -1
            for i in range(s.count[0]):
                a = s.S[i]
                if s.c[i] <= 0.0:
                    reach = c[a] / (c[a] - s.c[i]) if c[a] > s.c[i] else 0.0
                    if reach < share or blocks < 0:
                        share, blocks = reach, i
            for i in range(s.count[0]):
                a = s.S[i]
                c[a] += share * (s.c[i] - c[a])
            if blocks < 0:
                break
            if s.S[blocks] == j:
                may[j] = False  # rounding let it in
            c[s.S[blocks]] = 0.0
            leave(s, blocks)
    c[:] = 0.0
    gained = 0.0
    for i in range(s.count[0]):
        c[s.S[i]] = s.c[i]
        gained += t[s.S[i]] * s.c[i]
    return gained


def only_used(G: FloatArray, h: FloatArray, s: State) -> None:
    """Nonnegative coefficients: let go of the atoms that the best ones do not use."""
    least = 0.0
    for i in range(s.count[0]):
        least = min(least, s.c[i])
    if least >= 0.0:
        return
    atoms = s.S[: s.count[0]].copy()
    c = np.zeros(atoms.size)
    nonnegative(G, h, atoms, c)
    for a in range(atoms.size):
        if c[a] <= 0.0:
            leave(s, s.place[atoms[a]])


def settle(G: FloatArray, h: FloatArray, s: State, signed: bool) -> None:
    """Back to coefficients that are allowed."""
    if not signed:
        only_used(G, h, s)


def swap_nonnegative(G: FloatArray, h: FloatArray, s: State, U: FloatArray, floor: float, trials: int) -> bool:
    """Make the best exchange found among the `trials` most promising ones; whether there was any.

    What an exchange gains with free coefficients bounds what it gains with nonnegative ones.
    """
    p, n = s.count[0], h.size
    swap_bounds(s, U)
    here = 0.0
    for i in range(p):
        here += h[s.S[i]] * s.c[i]
    best, best_i, best_j = floor, -1, -1
    atoms = np.empty(p + s.count[2], dtype=np.int64)  # those that must stay may be of use again
    atoms[:p] = s.S[:p]
    count = p
    for j in range(n if s.count[2] else 0):
        if s.stays[j] and s.place[j] < 0:
            atoms[count] = j
            count += 1
    c = np.zeros(count)
    for _ in range(trials):
        at = int(U[:p].argmax()) if p else 0
        i, j = at // n, at % n
        if p == 0 or not U[i, j] > best:
            break
        U[i, j] = -np.inf
        atoms[i] = j
        gain = nonnegative(G, h, atoms, c) - here
        atoms[i] = s.S[i]
        if gain > best:
            best, best_i, best_j = gain, i, j
    if best_i < 0:
        return False
    leave(s, best_i)
    enter(G, s, best_j)
    only_used(G, h, s)
    return True


def swap(G: FloatArray, h: FloatArray, s: State, U: FloatArray, floor: float, rules: Rules) -> bool:
    """Make the best exchange, if it lowers the loss by more than half the floor; whether it did. U has room for bounds
    of all exchanges where coefficients are nonnegative."""
    i, j, gained = best_swap(s, True) if rules.signed else best_nonnegative_swap(s)
    if not gained > floor:
        return not rules.signed and rules.trials > 0 and swap_nonnegative(G, h, s, U, floor, rules.trials)
    leave(s, i)
    enter(G, s, j)
    return True


def rung(
    G: FloatArray, x: FloatArray, q: FloatArray, lam: float, rules: Rules, may: Array, passes: int, tol: float
) -> None:
    """Coordinate descent on x'Gx/2 - h'x + penalty, q = h - Gx: lam |x|, or with relief the minimax concave penalty."""
    signed, relief = rules.signed, rules.relief
    active = np.empty(x.size, dtype=np.int64)
    count = 0
    for j in range(x.size):
        if x[j] != 0.0:
            active[count] = j
            count += 1
    for turn in range(passes):
        moved = False
        for j in range(x.size):  # those that do not stay at 0
            if x[j] == 0.0 and may[j] and (abs(q[j]) if signed else q[j]) > lam * (1.0 + tol):
                active[count] = j
                count += 1
                moved = True
        if turn and not moved:
            break
        for _ in range(passes):
            largest = 0.0
            for a in range(count):
                j = active[a]
                bend = G[j, j]
                t = q[j] + bend * x[j]
                size = abs(t)
                if size <= lam or (t < 0.0 and not signed):
                    new = 0.0
                elif relief > 0.0 and size > relief * lam * bend:
                    new = size / bend
                elif relief * bend > 1.0:
                    new = (size - lam) / (bend - 1.0 / relief)
                else:
                    new = (size - lam) / bend
                step = (new if t > 0.0 else -new) - x[j]
                if step != 0.0:
                    x[j] += step
                    axpy(q, -step, G[j])
                    largest = max(largest, abs(step) * bend)
            if largest <= tol * lam:
                break
        kept = 0
        for a in range(count):
            if x[active[a]] != 0.0:
                active[kept] = active[a]
                kept += 1
        count = kept


def relax(
    G: FloatArray, s: State, x: FloatArray, q: FloatArray, lam: float, rules: Rules, passes: int, tol: float
) -> None:
    """The rung over the atoms that may enter."""
    rung(G, x, q, lam, rules, s.may, passes, tol)


def best_pair(G: FloatArray, s: State, most: int, signed: bool) -> tuple[int, int, float]:
    """The two atoms outside that would lower the loss most together, one of them among the `most` best alone, and twice
    by how much; with nonnegative coefficients only pairs that leave all of them so."""
    return best_two(G, s, promising(s, most, signed, 0.0), signed, 0.0)
