"""All choices of a few atoms, one after the other: rank-one updates, the last atom in closed form.

With some atoms taken, `r` is what is left of M'b and `s` of the diagonal of M'M (and ridge): taking j as well lowers
the objective by r_j^2 / (2 s_j). Without signs and caps fits are no worse, so that most choices are done with by that
number. Of the others, one with a coefficient that is below 0 and none beyond its cap is no better than a choice of
fewer, all of which are looked at too where signs matter: on the way from the best allowed point to the fit the
objective falls, so that point has a coefficient that is 0. That is of no use where atoms are in every choice, as these
are not left out. What remains is told, and
fitted within its box elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.proofs.squares._newton import solved
from fewatoms.proofs.squares._visit import Space

DEPENDS = 1e-5  # length of what is left of a column, with which a fit is no longer that of the columns
NOTHING_LEFT = 1e-11  # what is left of a unit column that is no new one
ALL_DONE, MORE, NEAR_TARGET = 0, 1, 2


class List(NamedTuple):
    """Where the listing stands: a row for each atom taken.

    L : rows of the decomposition; r, s : what is left; low : the objective; taken : which atoms
    at : the next atom of each row; depth : the row; done : choices looked at
    """

    L: FloatArray
    r: FloatArray
    s: FloatArray
    low: FloatArray
    taken: Array
    at: Array
    depth: Array
    done: Array


def blank_list(space: Space, k: int) -> List:
    """Before anything is taken."""
    n = space.c.size
    list_ = List(
        np.zeros((k + 1, n)), np.zeros((k + 1, n)), np.zeros((k + 1, n)), np.zeros(k + 1), np.zeros(k + 1, np.int64),
        np.zeros(k + 2, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip
    list_.r[0] = space.c
    for i in range(n):
        list_.s[0, i] = space.Q[i, i] + space.d[i]
    list_.low[0] = space.bb
    return list_


def take(list_: List, space: Space, t: int, i: int, first: int) -> None:
    """Row t + 1: with atom i as well, for the atoms from `first` on."""
    s = list_.s[t, i]
    if s <= NOTHING_LEFT:  # it adds nothing, but for room beneath a cap
        list_.L[t] = 0.0
        list_.r[t + 1], list_.s[t + 1], list_.low[t + 1] = list_.r[t], list_.s[t], list_.low[t]
        list_.taken[t] = i
        return
    root = s**0.5
    reach = list_.r[t, i] / root
    row = list_.L[t]
    for j in range(first, row.size):
        row[j] = space.Q[i, j]
    for q in range(t):
        share, above = list_.L[q, i], list_.L[q]
        for j in range(first, row.size):
            row[j] -= share * above[j]
    for j in range(first, row.size):
        w = row[j] / root
        row[j] = w
        list_.r[t + 1, j] = list_.r[t, j] - w * reach
        list_.s[t + 1, j] = list_.s[t, j] - w * w
    list_.s[t + 1, i] = 0.0  # with a ridge the sum above is not
    list_.low[t + 1] = list_.low[t] - 0.5 * reach * reach
    list_.taken[t] = i


def worth_fitting(space: Space, taken: Array, n: int, x: FloatArray) -> int:
    """0 if a choice is no better than one of fewer atoms, 1 if its fit is allowed, 2 if it has to be made within its
    box."""
    H, r = np.empty((n, n)), np.empty((1, n))
    for u in range(n):
        for v in range(n):
            H[u, v] = space.Q[taken[u], taken[v]]
        H[u, u] += space.d[taken[u]]
        r[0, u] = space.c[taken[u]]
    if not solved(H, r, n):
        return 2
    found = 1
    for u in range(n):
        x[u] = r[0, u]
        if H[u, u] < DEPENDS:
            return 2
        if abs(x[u]) > space.C[taken[u]] * (1.0 - 1e-9):
            return 2
        if space.nonneg and x[u] < 0.0:
            found = 0
    return found


def promising(space: Space, taken: Array, n: int, held: int) -> bool:
    """Whether a choice whose fit is below the target may be so within its box too."""
    return held > 0 or worth_fitting(space, taken, n, np.empty(n)) > 0


def last(list_: List, space: Space, t: int, first: int, target: float, held: int) -> int:
    """Row t with each further atom: the first that makes a choice below the target, -1 if none does."""
    room = list_.low[t] - target
    r, s = list_.r[t], list_.s[t]
    for j in range(first, r.size):
        near = False
        if s[j] > NOTHING_LEFT:
            far = space.size + 2.0 * abs(r[j]) / s[j]
            near = 0.5 * r[j] * r[j] / s[j] + space.off * far * far > room
        elif room < 0.0:
            near = own(list_.taken, t, j)
        if near:
            list_.taken[t] = j
            if promising(space, list_.taken, t + 1, held):
                return j
    return -1


def own(taken: Array, t: int, j: int) -> bool:
    """Whether an atom is none of those that have been taken."""
    new = True
    for u in range(t):
        new &= taken[u] != j
    return new


def listed(list_: List, space: Space, k: int, held: int, target: float, many: int) -> tuple[int, int]:
    """Go on for so many choices of all but one: what comes of it, and how many atoms have been taken then. The first
    `held` rows are those that are in every choice."""
    n, stop = space.c.size, list_.done[0] + many
    while list_.depth[0] >= held and list_.done[0] < stop:
        t = list_.depth[0]
        i = list_.at[t]
        if t == k - 1:
            list_.done[0] += 1
            j = last(list_, space, t, i, target, held)
            if j >= 0:
                list_.at[t] = j + 1
                return NEAR_TARGET, k
            list_.depth[0] -= 1
            continue
        if i >= n:
            list_.depth[0] -= 1
            continue
        list_.at[t] = i + 1
        if own(list_.taken, t, i):
            take(list_, space, t, i, i + 1)
            list_.depth[0] += 1
            list_.at[t + 1] = i + 1
            if space.nonneg and list_.low[t + 1] < target and promising(space, list_.taken, t + 1, held):
                return NEAR_TARGET, t + 1
    return (ALL_DONE if list_.depth[0] < held else MORE), 0
