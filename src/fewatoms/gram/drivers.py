"""Searches over supports: what is done step after step, in Python that compiles as it stands.

Everything here is written in the few words that the compiler knows, and calls the steps of `state.py` by name: run as
it is, it is the twin of what `_compiled.py` makes of it. Losses are twice what users know.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram.state import (
    PIVOT,
    State,
    axpy,
    best_entry,
    best_swap,
    blank,
    cheapest,
    copy_state,
    enter,
    leave,
    swap_bounds,
)

# everything that searches call, for the compiler to know
PARTS = (
    "clear", "build", "fresh", "nonnegative", "only_used", "fill", "swap_nonnegative", "exchange", "refill", "shake",
    "rung", "leading", "try_atoms", "descend", "shrunk", "best_pair", "pairs", "demanded", "room", "noted",
)  # fmt: skip
REBUILD = 64  # steps after which rounding is cleared away
SEEN = 1e-13  # share of |b|^2 below which a Gram matrix sees no loss


class Rules(NamedTuple):
    """How a search goes.

    signed : whether coefficients may be negative
    gain : the share by which an exchange must lower the loss
    trials : exchanges tried at most, for each that is made, where coefficients are nonnegative
    shakes, idle : at most, and in a row without success
    relief : coefficients this many times the penalty pay no more (the minimax concave penalty); 0 for none
    pairs : atoms that exchanges of two at a time begin with; 0 for none
    """

    signed: bool
    gain: float
    trials: int
    shakes: int
    idle: int
    relief: float
    pairs: int


def demanded(s: State) -> IntArray:
    """The atoms that must stay."""
    out = np.empty(s.place.size, dtype=np.int64)
    count = 0
    for j in range(s.place.size):
        if s.stays[j]:
            out[count] = j
            count += 1
    return out[:count]


def room(s: State, k: int) -> int:
    """How many more atoms may come in, of those that need not be inside."""
    return k - s.count[0] - s.count[2]


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


def build(G: FloatArray, h: FloatArray, bb: float, s: State, atoms: IntArray) -> None:
    """The support of these atoms, as far as they are independent."""
    clear(G, h, bb, s)
    for i in range(atoms.size):
        j = atoms[i]
        if j >= 0 and s.place[j] < 0 and s.d[j] > PIVOT and s.count[0] < s.S.size:
            enter(G, s, j)
    s.count[1] = 0


def fresh(G: FloatArray, h: FloatArray, bb: float, s: State) -> None:
    """Clear rounding away, once enough steps have been made."""
    if s.count[1] > REBUILD + 2 * s.count[0]:
        build(G, h, bb, s, s.S[: s.count[0]].copy())


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


def fill(G: FloatArray, h: FloatArray, s: State, k: int, signed: bool) -> None:
    """Add the best atom, again and again, up to k."""
    for _ in range(2 * k):
        j = -1
        if s.count[2] > 0:  # those that must be inside, if they are of use
            for a in range(h.size):
                if s.stays[a] and s.place[a] < 0 and s.d[a] > PIVOT and (signed or s.z[a] > 0.0):
                    j = a
        if j < 0 and room(s, k) > 0:
            j, _gain = best_entry(s, signed)
        if j < 0:
            break
        enter(G, s, j)
        if not signed:
            only_used(G, h, s)
            if s.place[j] < 0:
                break


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


def exchange(G: FloatArray, h: FloatArray, bb: float, s: State, k: int, rules: Rules) -> None:
    """Fill up, then make the best exchange as long as the loss falls."""
    signed = rules.signed
    U = np.empty((0, 0)) if signed else np.empty((s.S.size, h.size))
    fill(G, h, s, k, signed)
    for _ in range(20 + 4 * k):
        if not s.loss[0] > SEEN * bb:
            break
        floor = rules.gain * s.loss[0]
        if signed:
            i, j, gained = best_swap(s, signed)
            if not gained > floor:
                break
            leave(s, i)
            enter(G, s, j)
        elif not swap_nonnegative(G, h, s, U, floor, rules.trials):
            break
        if room(s, k) > 0 or s.count[2] > 0:
            fill(G, h, s, k, signed)
        fresh(G, h, bb, s)


def refill(G: FloatArray, h: FloatArray, s: State, k: int, signed: bool, die: float, among: int) -> None:
    """Fill up with atoms drawn from the best few outside."""
    offers = np.empty(among, dtype=np.int64)
    found = 0
    worth = np.zeros(h.size)
    for j in range(h.size):
        if s.may[j] and s.place[j] < 0 and s.d[j] > PIVOT and (signed or s.z[j] > 0.0):
            worth[j] = s.z[j] * s.z[j] / s.d[j]
    for a in range(among):
        j = int(worth.argmax())
        if worth[j] <= 0.0:
            break
        offers[a] = j
        worth[j] = 0.0
        found += 1
    while room(s, k) > 0 and found > 0:
        die = (die * 9301.0 + 0.49297) % 1.0
        a = int(die * found)
        j = offers[a]
        offers[a] = offers[found - 1]
        found -= 1
        if s.d[j] > PIVOT:
            enter(G, s, j)
    if not signed:
        only_used(G, h, s)


def shake(
    G: FloatArray, h: FloatArray, bb: float, best: State, s: State, k: int, rules: Rules, dice: FloatArray
) -> None:
    """Replace some atoms at random by others that are well aligned with what is then left over, and exchange; keep
    what is better."""
    failed, die = 0, 0
    for _ in range(rules.shakes):
        copy_state(s, best)
        count = min(max(2, k // 10), s.count[0])
        if count == 0 or failed >= rules.idle or not best.loss[0] > SEEN * bb:
            break
        gone = np.full(count, -1, dtype=np.int64)
        for a in range(count):
            i = int(dice[die % dice.size] * s.count[0])
            die += 1
            if not s.stays[s.S[i]]:
                gone[a] = s.S[i]
                s.may[gone[a]] = False
                leave(s, i)
        refill(G, h, s, k, rules.signed, dice[die % dice.size], 4 * count)
        die += 1
        for a in range(count):
            if gone[a] >= 0:
                s.may[gone[a]] = True
        exchange(G, h, bb, s, k, rules)
        failed += 1
        if s.loss[0] < best.loss[0] * (1.0 - rules.gain):
            failed = 0
            copy_state(best, s)


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
    for _ in range(passes):
        moved = False
        for j in range(x.size):  # those that do not stay at 0
            if x[j] == 0.0 and may[j] and (abs(q[j]) if signed else q[j]) > lam * (1.0 + tol):
                active[count] = j
                count += 1
                moved = True
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
        if not moved:
            break


def leading(x: FloatArray, k: int, stays: Array) -> IntArray:
    """Atoms that must be in, then those with the largest coefficients; k at most."""
    size = np.abs(x)
    for j in range(x.size):
        if stays[j]:
            size[j] = np.inf
    out = np.empty(min(k, x.size), dtype=np.int64)
    count = 0
    for _ in range(out.size):
        j = int(size.argmax())
        if size[j] <= 0.0:
            break
        out[count] = j
        size[j] = 0.0
        count += 1
    return out[:count]


def try_atoms(
    G: FloatArray, h: FloatArray, bb: float, best: State, s: State, atoms: IntArray, k: int, rules: Rules
) -> None:
    """Exchange from these atoms; what is better than the best replaces it."""
    build(G, h, bb, s, atoms)
    if not rules.signed:
        only_used(G, h, s)
    exchange(G, h, bb, s, k, rules)
    if s.loss[0] < best.loss[0] * (1.0 - rules.gain):
        copy_state(best, s)


def descend(
    G: FloatArray,
    h: FloatArray,
    bb: float,
    best: State,
    s: State,
    x: FloatArray,
    q: FloatArray,
    lams: FloatArray,
    k: int,
    rules: Rules,
) -> None:
    """Down a ladder of penalties from x: on each rung the k largest coefficients, exchanged.

    It ends where there are three times as many coefficients as are asked for, and some more.
    """
    tried = np.zeros(h.size, dtype=np.bool_)
    for step in range(lams.size):
        rung(G, x, q, lams[step], rules, s.may, 20, 1e-2)
        held = 0
        for j in range(x.size):
            if x[j] != 0.0:
                held += 1
        if 2 * held < k:
            continue
        atoms = leading(x, k, s.stays)
        same = True
        for a in range(atoms.size):
            same = same and tried[atoms[a]]
        if not same:
            tried[:] = False
            for a in range(atoms.size):
                tried[atoms[a]] = True
            try_atoms(G, h, bb, best, s, atoms, k, rules)
        if held >= 3 * k + 8:
            break


def shrunk(
    G: FloatArray, h: FloatArray, bb: float, best: State, s: State, ridges: FloatArray, k: int, rules: Rules
) -> None:
    """Down a ladder of ridges, each exchanged from where the one above ended: shrinkage smooths the way."""
    n = h.size
    diagonal = np.diag(G).copy()
    atoms = demanded(s)
    for step in range(ridges.size):
        for j in range(n):
            G[j, j] = diagonal[j] + ridges[step]
        build(G, h, bb, s, atoms)
        if not rules.signed:
            only_used(G, h, s)
        exchange(G, h, bb, s, k, rules)
        atoms = s.S[: s.count[0]].copy()
    for j in range(n):
        G[j, j] = diagonal[j]
    if ridges.size:
        try_atoms(G, h, bb, best, s, atoms, k, rules)


def best_pair(G: FloatArray, s: State, most: int, signed: bool) -> tuple[int, int, float]:
    """The two atoms outside that would lower the loss most together, one of them among the `most` best alone, and twice
    by how much; with nonnegative coefficients only pairs that leave all of them so."""
    n, p = s.z.size, s.count[0]
    worth = np.zeros(n)
    for j in range(n):
        if s.may[j] and s.place[j] < 0 and s.d[j] > PIVOT:
            worth[j] = s.z[j] * s.z[j] / s.d[j]
            if not signed and s.z[j] <= 0.0:
                worth[j] *= 1e-3
    first, second, best = -1, -1, 0.0
    v = np.empty(n)
    for _ in range(min(most, n)):
        a = int(worth.argmax())
        if not worth[a] > 0.0:
            break
        worth[a] = 0.0
        v[:] = G[a]
        for i in range(p):
            axpy(v, -s.B[i, a], G[s.S[i]])
        da, za = s.d[a], s.z[a]
        alone = za * za / da
        for b in range(n):
            left = s.d[b] - v[b] * v[b] / da
            if not left > PIVOT or s.place[b] >= 0 or not s.may[b]:
                continue
            reach = s.z[b] - v[b] * za / da
            together = alone + reach * reach / left
            if together > best:
                fits = True
                if not signed:
                    cb = reach / left
                    ca = (za - v[b] * cb) / da
                    fits = ca > 0.0 and cb > 0.0
                    for i in range(p):
                        fits = fits and s.c[i] - s.B[i, a] * ca - s.B[i, b] * cb >= 0.0
                if fits:
                    first, second, best = a, b, together
    return first, second, best


def pairs(G: FloatArray, h: FloatArray, bb: float, best: State, s: State, k: int, rules: Rules) -> None:
    """Exchange two atoms at a time, as long as that lowers the loss."""
    for _ in range(2 * k):
        if best.count[0] < 2 or not best.loss[0] > SEEN * bb:
            return
        better = False
        for i in range(best.count[0] - 1):
            for j in range(i + 1, best.count[0]):
                first, second = best.S[i], best.S[j]
                if best.stays[first] or best.stays[second]:
                    continue
                copy_state(s, best)
                leave(s, s.place[first])
                leave(s, s.place[second])
                a, b, gained = best_pair(G, s, rules.pairs, rules.signed)
                if a < 0 or not s.loss[0] - gained < best.loss[0] * (1.0 - rules.gain):
                    continue
                enter(G, s, a)
                if s.d[b] > PIVOT:
                    enter(G, s, b)
                if not rules.signed:
                    only_used(G, h, s)
                exchange(G, h, bb, s, k, rules)
                if s.loss[0] < best.loss[0] * (1.0 - rules.gain):
                    build(G, h, bb, best, s.S[: s.count[0]].copy())
                    better = True
                    break
            if better:
                break
        if not better:
            return


def search(
    G: FloatArray,
    h: FloatArray,
    bb: float,
    best: State,
    s: State,
    starts: IntArray,
    lams: FloatArray,
    ridges: FloatArray,
    k: int,
    rules: Rules,
    dice: FloatArray,
) -> None:
    """All there is for one k: from the atoms of each row of `starts`, down a ladder of penalties, down one of ridges,
    pairs, shakes. The best support seen stays in `best`, if it is better than what is there."""
    for row in range(starts.shape[0]):
        try_atoms(G, h, bb, best, s, starts[row], k, rules)
    if lams.size:
        descend(G, h, bb, best, s, np.zeros(h.size), h.copy(), lams, k, rules)
    shrunk(G, h, bb, best, s, ridges, k, rules)
    if rules.pairs:
        pairs(G, h, bb, best, s, k, rules)
    shake(G, h, bb, best, s, k, rules, dice)


def noted(G: FloatArray, h: FloatArray, bb: float, s: State, table: IntArray, losses: FloatArray, k: int) -> None:
    """The better one of a support and what the table has for k, in both places."""
    if s.loss[0] < losses[k]:
        losses[k] = s.loss[0]
        table[k, :] = -1
        table[k, : s.count[0]] = s.S[: s.count[0]]
    elif s.loss[0] > losses[k]:
        build(G, h, bb, s, table[k])


def sweep(
    G: FloatArray,
    h: FloatArray,
    bb: float,
    s: State,
    spare: State,
    table: IntArray,
    losses: FloatArray,
    low: int,
    high: int,
    target: float,
    rules: Rules,
) -> int:
    """Supports of every size from low to high, into the rows of `table`: up, each from the one before or from the row
    that is there, until the loss meets the target; then down again. The largest size reached.

    Losses of rows that are of other data, or of another ridge, are infinite: those are exchanged first.
    """
    top = high
    for k in range(low, high + 1):
        exchange(G, h, bb, s, k, rules)
        if table[k, 0] >= 0 and losses[k] == np.inf:
            build(G, h, bb, spare, table[k])
            if not rules.signed:
                only_used(G, h, spare)
            exchange(G, h, bb, spare, k, rules)
            noted(G, h, bb, spare, table, losses, k)
        noted(G, h, bb, s, table, losses, k)
        if losses[k] <= target:
            top = k
            break
    for k in range(top - 1, low - 1, -1):
        for _ in range(s.count[0]):
            if room(s, k) < 0:
                i, _cost = cheapest(s)
                if i < 0:
                    break
                leave(s, i)
        exchange(G, h, bb, s, k, rules)
        noted(G, h, bb, s, table, losses, k)
    return top
