"""Searches over supports: what is done step after step, in Python that compiles as it stands.

Everything here is written in the few words that the compiler knows, and calls the steps of `steps.py` by name: run as
it is, it is the twin of what `_compiled.py` makes of it. Atoms are single columns or blocks of them: the steps know.
Losses are twice what users know.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram.single import rung
from fewatoms.gram.steps import (
    Support,
    best_entry,
    best_pair,
    cheapest,
    clear,
    copy_state,
    enter,
    fits,
    leave,
    relax,
    settle,
    sizes,
    swap,
    worths,
)

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
    swaps : exchanges in a row, at most
    """

    signed: bool
    gain: float
    trials: int
    shakes: int
    idle: int
    relief: float
    pairs: int
    swaps: int = 1 << 30


def demanded(s: Support) -> IntArray:
    """The atoms that must stay."""
    out = np.empty(s.place.size, dtype=np.int64)
    count = 0
    for j in range(s.place.size):
        if s.stays[j]:
            out[count] = j
            count += 1
    return out[:count]


def room(s: Support, k: int) -> int:
    """How many more atoms may come in, of those that need not be inside."""
    return k - s.count[0] - s.count[2]


def build(G: FloatArray, h: FloatArray, bb: float, s: Support, atoms: IntArray) -> None:
    """The support of these atoms, as far as they are independent."""
    clear(G, h, bb, s)
    for i in range(atoms.size):
        j = atoms[i]
        if j >= 0 and s.place[j] < 0 and fits(s, j, True) and s.count[0] < s.S.size:
            enter(G, s, j)
    s.count[1] = 0


def fresh(G: FloatArray, h: FloatArray, bb: float, s: Support) -> None:
    """Clear rounding away, once enough steps have been made."""
    if s.count[1] > REBUILD + 2 * s.count[0]:
        build(G, h, bb, s, s.S[: s.count[0]].copy())


def fill(G: FloatArray, h: FloatArray, s: Support, k: int, signed: bool) -> None:
    """Add the best atom, again and again, up to k."""
    for _ in range(2 * k):
        j = -1
        if s.count[2] > 0 and s.count[0] < s.S.size:  # those that must be inside, if they are of use
            for a in range(s.place.size):
                if s.stays[a] and s.place[a] < 0 and fits(s, a, signed):
                    j = a
        if j < 0 and room(s, k) > 0:
            j, _gain = best_entry(s, signed)
        if j < 0:
            break
        enter(G, s, j)
        settle(G, h, s, signed)
        if s.place[j] < 0:
            break


def exchange(G: FloatArray, h: FloatArray, bb: float, s: Support, k: int, rules: Rules) -> None:
    """Fill up, then make the best exchange as long as the loss falls."""
    signed = rules.signed
    U = np.empty((0, 0)) if signed else np.empty((s.S.size, h.size))
    fill(G, h, s, k, signed)
    for _ in range(min(20 + 4 * k, rules.swaps)):
        if not s.loss[0] > SEEN * bb:
            break
        if not swap(G, h, s, U, rules.gain * s.loss[0], rules):
            break
        if room(s, k) > 0 or s.count[2] > 0:
            fill(G, h, s, k, signed)
        fresh(G, h, bb, s)


def refill(G: FloatArray, h: FloatArray, s: Support, k: int, signed: bool, die: float, among: int) -> None:
    """Fill up with atoms drawn from the best few outside."""
    offers = np.empty(among, dtype=np.int64)
    found = 0
    worth = worths(s, signed)
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
        if fits(s, j, True):
            enter(G, s, j)
    settle(G, h, s, signed)


def shake(
    G: FloatArray, h: FloatArray, bb: float, best: Support, s: Support, k: int, rules: Rules, dice: FloatArray
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
    G: FloatArray, h: FloatArray, bb: float, best: Support, s: Support, atoms: IntArray, k: int, rules: Rules
) -> None:
    """Exchange from these atoms; what is better than the best replaces it."""
    build(G, h, bb, s, atoms)
    settle(G, h, s, rules.signed)
    exchange(G, h, bb, s, k, rules)
    if s.loss[0] < best.loss[0] * (1.0 - rules.gain):
        copy_state(best, s)


def descend(
    G: FloatArray,
    h: FloatArray,
    bb: float,
    best: Support,
    s: Support,
    x: FloatArray,
    q: FloatArray,
    lams: FloatArray,
    k: int,
    rules: Rules,
) -> None:
    """Down a ladder of penalties from x: on each rung the k largest coefficients, exchanged.

    It ends where there are three times as many coefficients as are asked for, and some more.
    """
    tried = np.zeros(s.place.size, dtype=np.bool_)
    for step in range(lams.size):
        relax(G, s, x, q, lams[step], rules, 20, 1e-2)
        size = sizes(s, x)
        held = 0
        for j in range(size.size):
            if size[j] > 0.0:
                held += 1
        if 2 * held < k:
            continue
        atoms = leading(size, k, s.stays)
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


def ladder(
    G: FloatArray,
    x: FloatArray,
    q: FloatArray,
    lams: FloatArray,
    limit: int,
    rules: Rules,
    may: Array,
    passes: int,
    tol: float,
    X: FloatArray,
) -> int:
    """Down a ladder of penalties from x, with q = h - Gx, over single atoms: what each rung has, into the rows of X,
    until there are `limit` coefficients; how many rungs."""
    for step in range(lams.size):
        rung(G, x, q, lams[step], rules, may, passes, tol)
        held = 0
        for j in range(x.size):
            X[step, j] = x[j]
            if x[j] != 0.0:
                held += 1
        if held >= limit:
            return step + 1
    return int(lams.size)


def shrunk(
    G: FloatArray, h: FloatArray, bb: float, best: Support, s: Support, ridges: FloatArray, k: int, rules: Rules
) -> None:
    """Down a ladder of ridges, each exchanged from where the one above ended: shrinkage smooths the way."""
    n = h.size
    diagonal = np.diag(G).copy()
    atoms = demanded(s)
    for step in range(ridges.size):
        for j in range(n):
            G[j, j] = diagonal[j] + ridges[step]
        build(G, h, bb, s, atoms)
        settle(G, h, s, rules.signed)
        exchange(G, h, bb, s, k, rules)
        atoms = s.S[: s.count[0]].copy()
    for j in range(n):
        G[j, j] = diagonal[j]
    if ridges.size:
        try_atoms(G, h, bb, best, s, atoms, k, rules)


def pairs(G: FloatArray, h: FloatArray, bb: float, best: Support, s: Support, k: int, rules: Rules) -> None:
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
                if fits(s, b, True):
                    enter(G, s, b)
                settle(G, h, s, rules.signed)
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
    best: Support,
    s: Support,
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


def noted(G: FloatArray, h: FloatArray, bb: float, s: Support, table: IntArray, losses: FloatArray, k: int) -> None:
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
    s: Support,
    spare: Support,
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
            settle(G, h, spare, rules.signed)
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
                settle(G, h, s, rules.signed)
        exchange(G, h, bb, s, k, rules)
        noted(G, h, bb, s, table, losses, k)
    return top
