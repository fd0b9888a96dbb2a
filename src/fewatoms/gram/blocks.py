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
from fewatoms.gram import state
from fewatoms.gram.state import PIVOT, State, axpy

if TYPE_CHECKING:
    from fewatoms.gram.drivers import Rules

EATEN = 1e-12  # share of a squared length below which rounding may have made what is left of it


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
    D: FloatArray  # D[o, a]: what is left of the inner product of columns a and a + o, if they are of one block
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
    n, lengths = h.size, np.diff(starts)
    D = np.zeros((max(1, lengths.max(initial=0)), n))
    columns = state.blank(
        G, h, bb, int(np.sort(lengths)[::-1][:most].sum()), np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    )._replace(d=D[0])
    s = Blocks(
        np.zeros(most, dtype=np.int64),
        np.full(lengths.size, -1, dtype=np.int64),
        may,
        stays,
        np.array([0, 0, np.count_nonzero(stays), 0]),
        columns.loss,
        columns,
        starts,
        D,
        weights,
    )
    _restart(G, s)
    return s


def _restart(G: FloatArray, s: Blocks) -> None:
    """All is left of all columns."""
    for o in range(min(s.D.shape)):
        s.D[o, : s.D.shape[1] - o] = np.diagonal(G, o)


def _alike(s: Blocks) -> Iterator[tuple[IntArray, IntArray]]:
    """Blocks of one size at a time, and their columns, a block in each row."""
    lengths = np.diff(s.starts)
    for length in np.unique(lengths[lengths > 0]):
        labels = np.flatnonzero(lengths == length)
        yield labels, s.starts[labels, None] + np.arange(length)


def _left(s: Blocks, columns: IntArray) -> FloatArray:
    """D_g of blocks of one size."""
    i, j = np.indices((columns.shape[1], columns.shape[1]))
    return s.D[abs(i - j), columns[:, np.minimum(i, j)]]


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


def _worths(s: Blocks, z: FloatArray, W: FloatArray, sign: float) -> FloatArray:
    """Twice by how much each block outside would lower the loss with these alignments, and if D were D + sign W'W."""
    out = np.zeros(s.place.size)
    for labels, columns in _alike(s):
        good = s.may[labels] & (s.place[labels] < 0)
        labels, columns = labels[good], columns[good]
        beside = np.moveaxis(W[:, columns], 0, 1)
        E = _left(s, columns) + sign * (beside.transpose(0, 2, 1) @ beside)
        out[labels] = _gains(E, z[columns])
    return out


def _places(s: Blocks, i: int) -> IntArray:
    """Of the columns of the block in place i."""
    at = s.columns.place[s.starts[s.S[i]] : s.starts[s.S[i] + 1]]
    return at[at >= 0]


def _without(s: Blocks, at: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """W and y for the support without the columns in these places, and the rows that make these of B and c; y'y is
    twice what their going costs."""
    t = s.columns
    rows = _rows(t.H[np.ix_(at, at)])
    return rows @ t.B[at], rows @ t.c[at], rows


def _with(G: FloatArray, s: Blocks, j: int) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """W and y for the support with block j, the rows that make these of what is left of its columns, and which of them
    these are: those that are independent, and not inside."""
    t, p = s.columns, s.columns.count[0]
    columns = np.arange(s.starts[j], s.starts[j + 1])
    columns = columns[_independent(_left(s, columns[None])[0]) & (t.place[columns] < 0)]
    V = G[columns] - G[np.ix_(columns, t.S[:p])] @ t.B[:p]
    rows = _rows(V[:, columns].copy())
    return rows @ V, rows @ t.z[columns], rows, columns


def _independent(E: FloatArray) -> Array:
    """Which columns elimination does not pass over."""
    good = np.zeros(E.shape[0], dtype=np.bool_)
    for t in range(E.shape[0]):
        good[t] = E[t, t] > PIVOT
        if good[t]:
            E[t + 1 :, t + 1 :] -= np.outer(E[t + 1 :, t], E[t, t + 1 :]) / E[t, t]
    return good


def _rows(E: FloatArray) -> FloatArray:
    """inv(L) with L L' = E, which is overwritten; pivots that rounding has eaten are taken for very small."""
    least = EATEN * E.diagonal()
    for t in range(E.shape[0]):
        E[t, t] = np.sqrt(max(E[t, t], least[t]))
        E[t + 1 :, t] /= E[t, t]
        E[t + 1 :, t + 1 :] -= np.outer(E[t + 1 :, t], E[t + 1 :, t])
    return np.asarray(np.linalg.inv(np.tril(E)), dtype=np.float64)


def _explain(s: Blocks, W: FloatArray, y: FloatArray, sign: float) -> None:
    """z, D and the loss, by what columns explain that come in (-1) or go (1)."""
    s.columns.z[:] += sign * (y @ W)
    s.loss[0] += sign * (y @ y)
    n = s.D.shape[1]
    for o in range(min(s.D.shape)):
        s.D[o, : n - o] += sign * np.einsum("ij,ij->j", W[:, : n - o], W[:, o:])


def _complete(G: FloatArray, s: Blocks, j: int) -> int:
    """Let in the columns of block j that are outside, as far as they are independent; how many stay out."""
    W, y, rows, columns = _with(G, s, j)
    t, p, q = s.columns, s.columns.count[0], s.columns.count[0] + columns.size
    U, H = t.B[:p, columns].copy(), rows.T @ rows
    B, c = rows.T @ W, rows.T @ y
    t.B[:p] -= U @ B
    t.c[:p] -= U @ c
    t.H[:p, :p] += U @ H @ U.T
    t.H[:p, p:q] = -U @ H
    t.B[p:q], t.c[p:q], t.H[p:q, p:q], t.H[p:q, :p] = B, c, H, t.H[:p, p:q].T
    t.S[p:q], t.place[columns], t.count[0] = columns, np.arange(p, q), q
    _explain(s, W, y, -1.0)
    return int(np.count_nonzero(t.place[s.starts[j] : s.starts[j + 1]] < 0))


def _let_go(s: Blocks, at: IntArray) -> None:
    """The columns in these places go; the last ones take their places."""
    W, y, rows = _without(s, at)
    t, p = s.columns, s.columns.count[0]
    U = t.H[:p, at] @ rows.T
    t.B[:p] -= U @ W
    t.c[:p] -= U @ y
    t.H[:p, :p] -= U @ U.T
    _explain(s, W, y, 1.0)
    for i in np.sort(at)[::-1]:
        last = t.count[0] - 1
        t.place[t.S[last]], t.place[t.S[i]] = i, -1
        t.S[i], t.c[i], t.B[i] = t.S[last], t.c[last], t.B[last]
        t.H[i, :p] = t.H[last, :p]
        t.H[:p, i] = t.H[:p, last]
        t.count[0] = last


def clear(G: FloatArray, h: FloatArray, bb: float, s: Blocks) -> None:
    """The empty support again."""
    s.columns.place[:], s.columns.z[:], s.columns.count[0], s.loss[0] = -1, h, 0, bb
    _restart(G, s)
    s.count[2] += np.count_nonzero(s.stays[s.S[: s.count[0]]])
    s.place[:] = -1
    s.count[0] = s.count[1] = s.count[3] = 0


def enter(G: FloatArray, s: Blocks, j: int) -> None:
    """Block j comes in."""
    p = s.count[0]
    s.count[3] += _complete(G, s, j)
    s.S[p], s.place[j] = j, p
    s.count[0], s.count[1], s.count[2] = p + 1, s.count[1] + 1, s.count[2] - s.stays[j]


def leave(s: Blocks, i: int) -> None:
    """The block in place i goes; the last one takes its place."""
    j, at, last = s.S[i], _places(s, i), s.count[0] - 1
    s.count[3] -= s.starts[j + 1] - s.starts[j] - at.size
    _let_go(s, at)
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
    return _worths(s, s.columns.z, s.columns.B[:0], 1.0)


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
            _, y, _ = _without(s, _places(s, i))
            if y @ y < best:
                at, best = i, float(y @ y)
    return at, best


def shares(s: Blocks, i: int) -> FloatArray:
    """Of what the block in place i explains that the others do not, the share that each block outside would explain in
    its place."""
    W, y, _ = _without(s, _places(s, i))
    return _worths(s, y @ W, W, 1.0) / max(float(y @ y), np.finfo(float).tiny)


def best_swap(s: Blocks, signed: bool) -> tuple[int, int, float]:
    """The exchange of the block in place i for j outside that lowers the loss most, and twice by how much."""
    best = (-1, -1, 0.0)
    for i in range(s.count[0]):
        if s.stays[s.S[i]]:
            continue
        W, y, _ = _without(s, _places(s, i))
        worth = _worths(s, s.columns.z + y @ W, W, 1.0)
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
    worth = worths(s, True)
    best = (-1, -1, 0.0)
    for a in np.argsort(-worth, kind="stable")[:most]:
        if not worth[a] > 0.0:
            break
        W, y, _, _ = _with(G, s, a)
        beside = _worths(s, s.columns.z - y @ W, W, -1.0)
        beside[a] = 0.0
        b = int(beside.argmax())
        if beside[b] > 0.0 and worth[a] + beside[b] > best[2]:
            best = (int(a), b, float(worth[a] + beside[b]))
    return best


def coefficients(s: Blocks) -> FloatArray:
    """Coefficients of the columns of the blocks in S, one block after the other; 0 for those that stay out."""
    columns = [np.arange(s.starts[j], s.starts[j + 1]) for j in s.S[: s.count[0]]]
    at = s.columns.place[np.concatenate([np.empty(0, dtype=np.int64), *columns])]
    return np.where(at >= 0, s.columns.c[at], 0.0)
