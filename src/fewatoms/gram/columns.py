"""One Gram matrix, many data vectors: the support of each, found by itself, in Python that compiles as it stands.

From the greedy support, single exchanges, and the same from supports on ladders of penalties (`laddered`); then atoms
that another could nearly replace are put out for once (`kick`), two atoms are exchanged at a time (`paired`), and some
are replaced at random (`shaken`). Where no atom outside could explain much of what those inside do, there is nothing to
confuse, and all of that is passed over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram.drivers import SEEN, Rules, descend, exchange
from fewatoms.gram.exchanges import best_two, promising, rivals
from fewatoms.gram.single import clear, settle
from fewatoms.gram.state import PIVOT, State, blank, cheapest, copy_state, enter, leave

RIVAL = 0.3  # share of what an atom explains that another must be able to, to be confused with it
PROMISE = 0.25  # share of what two atoms explained that one alone must, to begin a pair
SAME = 1e-7  # relative: losses this close are of one support
REMEMBERED = 16  # losses of supports that pairs have been exchanged in
PAIRED = 8  # atoms up to which all pairs of them are exchanged
MUCH = 0.1  # share of |b|^2 that a small support must leave to be doubted
LONG = 4  # shakes in vain after which one atom more is replaced
SHRINK = 0.7  # from one rung to the next
DEPENDENT = 1e-13  # squared length left of a unit column below which it is rounding


class Asked(NamedTuple):
    """What is asked of all columns, and what may be spent on each.

    k : atoms at most
    fewest : whether fewer are wanted, once a bound is met
    ridge : what is on the diagonal of G beyond 1
    rungs : of the ladders of penalties that supports are taken from as well
    kicks : atoms put out for once, at most
    rows : atoms that pairs begin with, at most
    shakes, idle : at most, and in a row in vain
    """

    k: int
    fewest: bool
    ridge: float
    rungs: int
    kicks: int
    rows: int
    shakes: int
    idle: int


class Aim(NamedTuple):
    """One column: its inner products with all atoms, its squared length, twice the loss that is asked for (negative
    where the smallest is)."""

    h: FloatArray
    bb: float
    target: float


def wanting(s: State, aim: Aim, asked: Asked) -> bool:
    """Whether a support could be better."""
    paid = 0.0
    for i in range(s.count[0] if asked.ridge > 0.0 else 0):
        paid += s.c[i] * s.c[i]
    return bool(s.loss[0] > SEEN * aim.bb and s.loss[0] - asked.ridge * paid > aim.target)


def hard(s: State, aim: Aim, k: int) -> bool:
    """Whether the best support may be a very different one: where it is large, or leaves much."""
    return bool(k > PAIRED or s.loss[0] > MUCH * aim.bb)


def better(best: State, s: State, rules: Rules) -> bool:
    """Take what is better; whether it is."""
    if s.loss[0] < best.loss[0] * (1.0 - rules.gain):
        copy_state(best, s)
        return True
    return False


def rivalled(s: State, signed: bool, share: FloatArray, out: IntArray) -> int:
    """The atoms inside that others could nearly replace, those first that they could best; how many."""
    rivals(s, signed, RIVAL, share)
    for count in range(s.count[0]):
        i = 0
        for a in range(1, s.count[0]):
            if share[a] > share[i]:
                i = a
        if share[i] == 0.0:
            return count
        out[count] = s.S[i]
        share[i] = 0.0
    return int(s.count[0])


def laddered(
    G: FloatArray, aim: Aim, best: State, s: State, k: int, asked: Asked, rules: Rules, relieved: Rules
) -> None:
    """Supports from two ladders of penalties."""
    names, share = np.empty(best.S.size, dtype=np.int64), np.empty(best.S.size)
    if asked.rungs == 0 or not hard(best, aim, k) or rivalled(best, rules.signed, share, names) == 0:
        return
    top = 0.0
    for j in range(aim.h.size):
        if s.may[j]:
            top = max(top, abs(aim.h[j]) if rules.signed else aim.h[j])
    lams = top * SHRINK ** np.arange(1.0, asked.rungs + 1.0)
    for turn in range(2):
        if wanting(best, aim, asked):
            x, q = np.zeros(aim.h.size), aim.h.copy()
            descend(G, aim.h, aim.bb, best, s, x, q, lams, k, relieved if turn else rules)


def kick(G: FloatArray, aim: Aim, best: State, s: State, k: int, asked: Asked, rules: Rules) -> None:
    """Put atoms out one by one, exchange without them, then with them."""
    names, share = np.empty(best.S.size, dtype=np.int64), np.empty(best.S.size)
    left, gained = asked.kicks, True
    while gained:
        gained = False
        for a in range(min(left, rivalled(best, rules.signed, share, names))):
            if gained or not wanting(best, aim, asked):
                break
            j = names[a]
            copy_state(s, best)
            leave(s, s.place[j])
            for step in range(2):
                s.may[j] = step == 1
                exchange(G, aim.h, aim.bb, s, k, rules)
            left -= 1
            gained = better(best, s, rules)


def paired(G: FloatArray, aim: Aim, best: State, s: State, k: int, asked: Asked, rules: Rules) -> None:
    """Exchange two atoms at a time, one of them at least with a rival, until no two are left that gain."""
    names, share = np.empty(best.S.size, dtype=np.int64), np.empty(best.S.size)
    tried = np.zeros(G.shape[0], dtype=np.bool_)  # atoms whose pairs have been, since the last success
    count, a, i = rivalled(best, rules.signed, share, names), 0, 0
    for _ in range(4 * k * k * k):
        if a == count or not wanting(best, aim, asked):
            return
        first, second = names[a], best.S[i]
        tried[first] = True
        i += 1
        if i == best.count[0]:
            a, i = a + 1, 0
        if tried[second] or best.stays[second]:
            continue
        copy_state(s, best)
        leave(s, s.place[first])
        leave(s, s.place[second])
        bar = s.loss[0] - best.loss[0] * (1.0 - rules.gain)
        b, c, _gain = best_two(G, s, promising(s, asked.rows, rules.signed, PROMISE * bar), rules.signed, bar)
        if b >= 0:
            enter(G, s, b)
            enter(G, s, c)
            settle(G, aim.h, s, rules.signed)
            exchange(G, aim.h, aim.bb, s, k, rules)
            if better(best, s, rules):
                tried[:] = False
                count, a, i = rivalled(best, rules.signed, share, names), 0, 0


def disturb(
    G: FloatArray,
    aim: Aim,
    s: State,
    k: int,
    names: IntArray,
    count: int,
    gone: int,
    rules: Rules,
    dice: FloatArray,
    die: int,
) -> int:
    """Replace so many of these atoms, which have rivals, by others drawn from the best few outside; where the dice
    are."""
    for a in range(gone):
        i = a + int(dice[(die + a) % dice.size] * (count - a))
        names[a], names[i] = names[i], names[a]
        leave(s, s.place[names[a]])
        s.may[names[a]] = False
    offers = promising(s, 4 * gone, rules.signed, 0.0)
    found = offers.size
    throw = dice[(die + gone) % dice.size]
    while s.count[0] + s.count[2] < k and found > 0:
        throw = (throw * 9301.0 + 0.49297) % 1.0
        a = int(throw * found)
        j = offers[a]
        offers[a] = offers[found - 1]
        found -= 1
        if s.d[j] > PIVOT:
            enter(G, s, j)
    for a in range(gone):
        s.may[names[a]] = True
    settle(G, aim.h, s, rules.signed)
    return die + gone + 1


def shaken(
    G: FloatArray,
    aim: Aim,
    best: State,
    s: State,
    spare: State,
    k: int,
    asked: Asked,
    rules: Rules,
    dice: FloatArray,
) -> None:
    """Pairs; then replace atoms that have rivals at random and exchange, with pairs where that leads somewhere new."""
    names, share = np.empty(best.S.size, dtype=np.int64), np.empty(best.S.size)
    losses = np.full(REMEMBERED, -1.0)
    die, known, failed, gained, count = 0, 0, -1, True, 0
    for turn in range(1 + asked.shakes):
        if failed >= asked.idle or not wanting(best, aim, asked):
            return
        if gained:
            count = rivalled(best, rules.signed, share, names)
        if count == 0 or (turn > 0 and count == 1):
            return
        copy_state(s, best)
        if turn > 0:
            gone = min(max(2, k // 10) + failed // LONG, count)
            die = disturb(G, aim, s, k, names, count, gone, rules, dice, die)
            exchange(G, aim.h, aim.bb, s, k, rules)
        new = turn == 0 or abs(s.loss[0] - best.loss[0]) > SAME * best.loss[0]
        for a in range(REMEMBERED):
            new = new and abs(s.loss[0] - losses[a]) > SAME * losses[a]
        if new and asked.rows > 0 and k <= PAIRED:
            losses[known % REMEMBERED] = s.loss[0]
            known += 1
            paired(G, aim, s, spare, k, asked, rules)
        gained = better(best, s, rules)
        failed = 0 if gained or turn == 0 else failed + 1


def doubtful(s: State) -> bool:
    """Whether an atom outside, so near to those inside that a Gram matrix hardly sees it, might explain some of the
    rest."""
    for j in range(s.z.size):
        near = s.may[j] and s.place[j] < 0 and DEPENDENT < s.d[j] <= PIVOT
        if near and s.z[j] * s.z[j] > 1e-2 * s.d[j] * s.loss[0]:
            return True
    return False


def many(
    G: FloatArray,
    H: FloatArray,
    bbs: FloatArray,
    targets: FloatArray,
    may: Array,
    stays: Array,
    first: int,
    last: int,
    asked: Asked,
    rules: Rules,
    relieved: Rules,
    dice: FloatArray,
    atoms: IntArray,
    doubts: Array,
) -> None:
    """The supports of columns first to last, into the rows of `atoms`, filled up with -1.

    H : a column's inner products with all atoms in each row; bbs : squared lengths; targets : see `Aim`
    relieved : the rules of the second ladder
    doubts : whether a Gram matrix is not enough
    """
    k, may = asked.k, may.copy()
    h = np.zeros(G.shape[0])
    best, s, spare = blank(G, h, 0.0, k, may, stays), blank(G, h, 0.0, k, may, stays), blank(G, h, 0.0, k, may, stays)
    kept = blank(G, h, 0.0, k if asked.fewest else 0, may, stays)
    for j in range(first, last):
        aim = Aim(H[j], bbs[j], targets[j])
        clear(G, aim.h, aim.bb, best)
        size, step = k if aim.target < 0.0 else 1, 1
        while True:
            exchange(G, aim.h, aim.bb, best, size, rules)
            if wanting(best, aim, asked) and (step < 0 or size >= k):
                laddered(G, aim, best, s, size, asked, rules, relieved)
                if hard(best, aim, size) or not rules.signed or asked.rows == 0:  # else pairs do as well
                    kick(G, aim, best, s, size, asked, rules)
                shaken(G, aim, best, s, spare, size, asked, rules, dice)
            met = not wanting(best, aim, asked)
            if step < 0 and not met:
                copy_state(best, kept)
            if (met and not asked.fewest) or (not met and (step < 0 or size >= k)):
                break
            if met:  # with one atom less?
                copy_state(kept, best)
                i, _cost = cheapest(best)
                if i < 0:
                    break
                leave(best, i)
                settle(G, aim.h, best, rules.signed)
                size, step = kept.count[0] - 1, -1
            else:
                size += 1
        doubts[j] = doubtful(best)
        atoms[j, :] = -1
        atoms[j, : best.count[0]] = best.S[: best.count[0]]
