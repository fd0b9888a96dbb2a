"""A support of blocks of columns, and the steps that move it: what `state.py` and `single.py` are to single atoms.

An atom is a block of columns that enters or leaves as a whole; inside its block each coefficient is free. Blocks are
those of `whiten`: G is the unit matrix on each of them. The columns inside make a `State` of their own. With i the
places that the columns of one block have in it, and D_g what is left of the inner products of block g,

    coming in, g lowers the loss by   z_g' inv(D_g) z_g
    going, i raises it by             c_i' inv(H_ii) c_i
    without i, they would be          z + B_i' inv(H_ii) c_i   and   D_g + B_ig' inv(H_ii) B_ig

A column of which the others leave less than a Gram matrix can see stays out of its block until there is more of it.
Coefficients have any sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram import single, state
from fewatoms.gram.state import PIVOT, State, axpy

if TYPE_CHECKING:
    from fewatoms.gram.drivers import Rules


class Blocks(NamedTuple):
    """S, place, may, stays as in `State`, of blocks; count has a fourth number: columns that blocks inside lack."""

    S: IntArray
    place: IntArray
    may: Array
    stays: Array
    count: IntArray  # type: ignore[assignment]  # tuples count, too
    loss: FloatArray  # that of the columns
    columns: State
    starts: IntArray  # block g has the columns starts[g] to starts[g + 1]
    beside: IntArray  # the columns of each column's block, in a row; what is beyond the block means nothing
    D: FloatArray  # what is left of each column's inner products with them
    weights: FloatArray  # of blocks in the penalty


def blank_blocks(
    G: FloatArray,
    h: FloatArray,
    bb: float,
    most: int,
    may: Array,
    stays: Array,
    starts: IntArray,
    weights: FloatArray,
) -> Blocks:
    """The empty support, with room for `most` blocks."""
    n, count = h.size, starts.size - 1
    lengths = np.diff(starts)
    room = int(np.sort(lengths)[::-1][:most].sum())
    columns = state.blank(G, h, bb, room, np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_))
    beside = np.repeat(starts[:-1], lengths)[:, None] + np.arange(lengths.max(initial=0))
    beside = np.minimum(beside, max(n - 1, 0))
    return Blocks(
        np.zeros(most, dtype=np.int64),
        np.full(count, -1, dtype=np.int64),
        may,
        stays,
        np.array([0, 0, np.count_nonzero(stays), 0]),
        columns.loss,
        columns,
        starts,
        beside,
        G[np.arange(n)[:, None], beside],
        weights,
    )


def _alike(s: Blocks) -> Iterator[tuple[IntArray, IntArray]]:
    """Blocks of one size at a time, and their columns, a block in each row."""
    lengths = np.diff(s.starts)
    for length in np.unique(lengths[lengths > 0]):
        labels = np.flatnonzero(lengths == length)
        yield labels, s.starts[labels, None] + np.arange(length)


def _gains(E: FloatArray, r: FloatArray) -> FloatArray:
    """r' inv(E) r for each of several small matrices, by elimination; pivots that a Gram matrix cannot see are passed
    over. Both are overwritten."""
    out = np.zeros(r.shape[0])
    for t in range(r.shape[1]):
        pivot = E[:, t, t]
        over = np.where(pivot > PIVOT, 1.0 / np.maximum(pivot, PIVOT), 0.0)
        out += r[:, t] ** 2 * over
        below = E[:, t + 1 :, t] * over[:, None]
        r[:, t + 1 :] -= below * r[:, t, None]
        E[:, t + 1 :, t + 1 :] -= below[:, :, None] * E[:, None, t, t + 1 :]
    return out


def _worths(s: Blocks, W: FloatArray, y: FloatArray, sign: float) -> FloatArray:
    """Twice by how much each block outside would lower the loss if z were z + sign W'y, and D were D + sign W'W."""
    z, out = s.columns.z + sign * (y @ W), np.zeros(s.place.size)
    for labels, columns in _alike(s):
        good = s.may[labels] & (s.place[labels] < 0)
        labels, columns = labels[good], columns[good]
        beside = np.moveaxis(W[:, columns], 0, 1)
        E = s.D[columns, : columns.shape[1]] + sign * (beside.transpose(0, 2, 1) @ beside)
        out[labels] = _gains(E, z[columns])
    return out


def _without(s: Blocks, i: int) -> tuple[FloatArray, FloatArray]:
    """W and y for the support without the block in place i; y'y is twice what its going costs."""
    t = s.columns
    at = t.place[s.starts[s.S[i]] : s.starts[s.S[i] + 1]]
    at = at[at >= 0]
    L = np.linalg.cholesky(t.H[np.ix_(at, at)])
    return np.linalg.solve(L, t.B[at]), np.linalg.solve(L, t.c[at])


def _lift(s: Blocks, at: int, sign: float) -> None:
    """D by what the column in this place explains."""
    row = s.columns.B[at]
    s.D[:] += (sign / s.columns.H[at, at]) * row[:, None] * row[s.beside]


def _complete(G: FloatArray, s: Blocks, j: int) -> int:
    """Let in the columns of block j that are outside, as far as they are independent; how many stay out."""
    out = 0
    for a in range(s.starts[j], s.starts[j + 1]):
        if s.columns.place[a] < 0:
            if s.columns.d[a] > PIVOT:
                state.enter(G, s.columns, a)
                _lift(s, s.columns.place[a], -1.0)
            else:
                out += 1
    return out


def clear(G: FloatArray, h: FloatArray, bb: float, s: Blocks) -> None:
    """The empty support again."""
    single.clear(G, h, bb, s.columns)
    s.count[2] += np.count_nonzero(s.stays[s.S[: s.count[0]]])
    s.place[:] = -1
    s.count[0] = s.count[1] = s.count[3] = 0
    s.D[:] = G[np.arange(h.size)[:, None], s.beside]


def enter(G: FloatArray, s: Blocks, j: int) -> None:
    """Block j comes in."""
    p = s.count[0]
    s.count[3] += _complete(G, s, j)
    s.S[p], s.place[j] = j, p
    s.count[0], s.count[1], s.count[2] = p + 1, s.count[1] + 1, s.count[2] - s.stays[j]


def leave(s: Blocks, i: int) -> None:
    """The block in place i goes; the last one takes its place."""
    j, last = s.S[i], s.count[0] - 1
    for a in range(s.starts[j], s.starts[j + 1]):
        at = s.columns.place[a]
        if at >= 0:
            _lift(s, at, 1.0)
            state.leave(s.columns, at)
        else:
            s.count[3] -= 1
    s.S[i] = s.S[last]
    s.place[s.S[i]] = i
    s.place[j] = -1
    s.count[0], s.count[1], s.count[2] = last, s.count[1] + 1, s.count[2] + s.stays[j]


def settle(G: FloatArray, h: FloatArray, s: Blocks, signed: bool) -> None:
    """Let in what blocks inside lack, where others have left room for it."""
    if s.count[3] > 0:
        s.count[3] = 0
        for i in range(s.count[0]):
            s.count[3] += _complete(G, s, s.S[i])


def fits(s: Blocks, j: int, signed: bool) -> bool:
    """Whether something is left of block j."""
    return bool((s.columns.d[s.starts[j] : s.starts[j + 1]] > PIVOT).any())


def worths(s: Blocks, signed: bool) -> FloatArray:
    """Twice by how much each block outside would lower the loss; 0 for those that cannot or must not come in."""
    return _worths(s, s.columns.B[:0], s.columns.c[:0], 1.0)


def best_entry(s: Blocks, signed: bool) -> tuple[int, float]:
    """The block outside that would lower the loss most, and twice by how much; -1 if there is none."""
    worth = worths(s, signed)
    j = int(worth.argmax())
    return (j, float(worth[j])) if worth[j] > 0 else (-1, 0.0)


def cheapest(s: Blocks) -> tuple[int, float]:
    """The place of the block inside whose going costs least, and twice how much; -1 if all must stay."""
    at, best = -1, np.inf
    for i in range(s.count[0]):
        if not s.stays[s.S[i]]:
            _, y = _without(s, i)
            if y @ y < best:
                at, best = i, float(y @ y)
    return at, best


def best_swap(s: Blocks, signed: bool) -> tuple[int, int, float]:
    """The exchange of the block in place i for j outside that lowers the loss most, and twice by how much."""
    best = (-1, -1, 0.0)
    for i in range(s.count[0]):
        if s.stays[s.S[i]]:
            continue
        W, y = _without(s, i)
        worth = _worths(s, W, y, 1.0)
        j = int(worth.argmax())
        gain = float(worth[j] - y @ y)
        if gain > best[2] and worth[j] > 0:
            best = (i, j, gain)
    return best


def swap(G: FloatArray, h: FloatArray, s: Blocks, U: FloatArray, floor: float, rules: Rules) -> bool:
    """Make the best exchange, if it lowers the loss by more than half the floor; whether it did."""
    i, j, gained = best_swap(s, True)
    if not gained > floor:
        return False
    leave(s, i)
    enter(G, s, j)
    settle(G, h, s, True)
    return True


def copy_state(to: Blocks, s: Blocks) -> None:
    """All of s into another state of the same size."""
    state.copy_state(to.columns, s.columns)
    to.S[:] = s.S
    to.place[:] = s.place
    to.count[:] = s.count
    to.D[:] = s.D


def sizes(s: Blocks, x: FloatArray) -> FloatArray:
    """The length of x on each block."""
    labels = np.repeat(np.arange(s.place.size), np.diff(s.starts))
    return np.sqrt(np.bincount(labels, weights=x * x, minlength=s.place.size))


def relax(
    G: FloatArray, s: Blocks, x: FloatArray, q: FloatArray, lam: float, rules: Rules, passes: int, tol: float
) -> None:
    """Descent block by block on x'Gx/2 - h'x + penalty, q = h - Gx: lam times the weighted lengths of x on blocks, or
    with relief the minimax concave penalty of these lengths. It compiles as it stands."""
    active = np.flatnonzero(sizes(s, x))
    for _ in range(passes):
        outside = sizes(s, q)
        outside[active] = 0.0
        coming = np.flatnonzero(s.may & (outside > lam * s.weights * (1.0 + tol)))
        active = np.concatenate((active, coming))
        for _ in range(passes):
            largest = 0.0
            for j in active:
                a, b = s.starts[j], s.starts[j + 1]
                t = q[a:b] + x[a:b]
                size, pays = np.sqrt((t * t).sum()), lam * s.weights[j]
                if size <= pays:
                    share = 0.0
                elif rules.relief > 0.0 and size > rules.relief * pays:
                    share = 1.0
                elif rules.relief > 1.0:
                    share = (1.0 - pays / size) / (1.0 - 1.0 / rules.relief)
                else:
                    share = 1.0 - pays / size
                step = share * t - x[a:b]
                x[a:b] += step
                for i in range(b - a):
                    if step[i] != 0.0:
                        axpy(q, -step[i], G[a + i])
                largest = max(largest, np.sqrt((step * step).sum()) / s.weights[j])
            if largest <= tol * lam:
                break
        held = sizes(s, x)
        active = active[held[active] > 0.0]
        if coming.size == 0:
            break


def best_pair(G: FloatArray, s: Blocks, most: int, signed: bool) -> tuple[int, int, float]:
    """The two blocks outside that would lower the loss most together, one of them among the `most` best alone, and
    twice by how much."""
    t, p = s.columns, s.columns.count[0]
    worth = worths(s, True)
    best = (-1, -1, 0.0)
    for a in np.argsort(-worth, kind="stable")[:most]:
        if not worth[a] > 0.0:
            break
        columns = np.arange(s.starts[a], s.starts[a + 1])
        columns = columns[_independent(s.D[columns, : columns.size])]
        V = G[columns] - t.B[:p, columns].T @ G[t.S[:p]]
        L = np.linalg.cholesky(V[:, columns])
        beside = _worths(s, np.linalg.solve(L, V), np.linalg.solve(L, t.z[columns]), -1.0)
        beside[a] = 0.0
        b = int(beside.argmax())
        if beside[b] > 0.0 and worth[a] + beside[b] > best[2]:
            best = (int(a), b, float(worth[a] + beside[b]))
    return best


def _independent(E: FloatArray) -> Array:
    """Which columns elimination does not pass over."""
    E = E.copy()
    good = np.zeros(E.shape[0], dtype=np.bool_)
    for t in range(E.shape[0]):
        good[t] = E[t, t] > PIVOT
        if good[t]:
            E[t + 1 :, t + 1 :] -= np.outer(E[t + 1 :, t], E[t, t + 1 :]) / E[t, t]
    return good


def coefficients(s: Blocks) -> FloatArray:
    """Coefficients of the columns of the blocks in S, one block after the other; 0 for those that stay out."""
    columns = [np.arange(s.starts[j], s.starts[j + 1]) for j in s.S[: s.count[0]]]
    at = s.columns.place[np.concatenate([np.empty(0, dtype=np.int64), *columns])]
    return np.where(at >= 0, s.columns.c[at], 0.0)
