"""All choices of a few atoms, one after the other: rank-one updates, the last atom in closed form.

With some atoms taken, `r` is what is left of M'b and `s` of the diagonal of M'M (and ridge): taking j as well lowers
the objective by r_j^2 / (2 s_j). Without signs and caps fits are no worse, so that most choices are done with by that
number. Of the others, one with a coefficient that is below 0 and none beyond its cap is no better than a choice of
fewer, all of which are looked at too where signs matter: on the way from the best allowed point to the fit the
objective falls, so that point has a coefficient that is 0. That is of no use where atoms are in every choice, as these
are not left out. What remains is told, and
fitted within its box elsewhere.

What rounding in M'M does to the objective of a choice grows with the square of its coefficients, which are bounded by
the inverse of its M'M. Where columns are so dependent that this decides, the choice is told as well: two columns that
are nearly one explain all that lies between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.proofs.squares._newton import solved
from fewatoms.proofs.squares._visit import Space

NOTHING_LEFT = 1e-11  # what is left of a unit column of which M'M says no more
INDISTINCT = 1e-3  # of rounding times the inverse of M'M, from which on signs of coefficients are not to be trusted
ALL_DONE, MORE, NEAR_TARGET = 0, 1, 2


class List(NamedTuple):
    """Where the listing stands: a row for each atom taken.

    L : rows of the decomposition; r, s : what is left; low : the objective; taken : which atoms
    root : of the diagonal of the decomposition; inverse : the trace of the inverse of what was decomposed, infinite
        where a column was spent
    at : the next atom of each row; depth : the row; done : choices looked at
    """

    L: FloatArray
    r: FloatArray
    s: FloatArray
    low: FloatArray
    root: FloatArray
    inverse: FloatArray
    taken: Array
    at: Array
    depth: Array
    done: Array


def blank_list(space: Space, k: int) -> List:
    """Before anything is taken."""
    n = space.c.size
    list_ = List(
        np.zeros((k + 1, n)), np.zeros((k + 1, n)), np.zeros((k + 1, n)), np.zeros(k + 1), np.ones(k + 1),
        np.zeros(k + 1), np.zeros(k + 1, np.int64), np.zeros(k + 2, np.int64), np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )  # fmt: skip
    list_.r[0] = space.c
    for i in range(n):
        list_.s[0, i] = space.Q[i, i] + space.d[i]
    list_.low[0] = space.bb
    return list_


def taller(list_: List, t: int, i: int) -> float:
    """The trace of the inverse once atom i is taken as well."""
    s = list_.s[t, i]
    u, size = np.empty(t), 1.0
    for q in range(t - 1, -1, -1):
        w = list_.L[q, i]
        for p in range(q + 1, t):
            w -= list_.L[q, list_.taken[p]] * u[p]
        u[q] = w / list_.root[q]
        size += u[q] * u[q]
    return list_.inverse[t] + size / s


def take(list_: List, space: Space, t: int, i: int, first: int) -> None:
    """Row t + 1: with atom i as well, for the atoms from `first` on."""
    s = list_.s[t, i]
    if s <= NOTHING_LEFT or list_.inverse[t] == np.inf:  # from here on choices are fitted elsewhere
        list_.L[t], list_.root[t], list_.inverse[t + 1] = 0.0, 1.0, np.inf
        list_.r[t + 1], list_.s[t + 1], list_.low[t + 1] = list_.r[t], list_.s[t], list_.low[t]
        list_.taken[t] = i
        return
    list_.inverse[t + 1] = taller(list_, t, i)
    list_.root[t] = root = s**0.5
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
        if abs(x[u]) > space.C[taken[u]] * (1.0 - 1e-9):
            return 2
        if space.nonneg and x[u] < 0.0:
            found = 0
    return found


def promising(space: Space, taken: Array, n: int, held: int, inverse: float) -> bool:
    """Whether a choice whose fit is below the target may be so within its box too."""
    blurred = not space.off * inverse < INDISTINCT
    return held > 0 or blurred or worth_fitting(space, taken, n, np.empty(n)) > 0


def last(list_: List, space: Space, t: int, first: int, target: float, held: int) -> int:
    """Row t with each further atom: the first that makes a choice below the target, -1 if none does."""
    room, inverse = list_.low[t] - target, list_.inverse[t]
    r, s, vague = list_.r[t], list_.s[t], inverse == np.inf
    spread = (t * inverse) ** 0.5  # coefficients of those taken, for data of length 1; and their moves for another's
    for j in range(first, r.size):
        if vague or s[j] <= NOTHING_LEFT:
            near, after = own(list_.taken, t, j), np.inf
        else:
            far = space.size * (1.0 + spread) + (1.0 + spread) * abs(r[j]) / s[j]
            near = 0.5 * r[j] * r[j] / s[j] + space.off * far * far > room
            after = inverse + (1.0 + spread * spread) / s[j]
        if near:
            list_.taken[t] = j
            if promising(space, list_.taken, t + 1, held, after):
                return j
    return -1


def own(taken: Array, t: int, j: int) -> bool:
    """Whether an atom is none of those that have been taken."""
    new = True
    for u in range(t):
        new &= taken[u] != j
    return new


def fewer(list_: List, space: Space, t: int, target: float, held: int) -> bool:
    """Whether the t atoms taken may be below the target by themselves."""
    inverse = list_.inverse[t]
    if inverse < np.inf:
        far = space.size * (1.0 + (t * inverse) ** 0.5)
        if list_.low[t] - space.off * far * far >= target:
            return False
    return promising(space, list_.taken, t, held, inverse)


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
            if space.nonneg and fewer(list_, space, t + 1, target, held):
                return NEAR_TARGET, t + 1
    return (ALL_DONE if list_.depth[0] < held else MORE), 0
