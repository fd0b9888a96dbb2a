"""A support in the space of a Gram matrix, and the steps that move it.

Atoms are columns of length 1 (with a ridge, of squared length 1 + ridge); G holds their inner products, h those with
the data. For a support S the state keeps, with H the inverse of G on S:

    c = H h_S                       its coefficients
    B = H G[S, :]                   every atom in terms of those inside (the unit matrix on S)
    d = diag(G) - diag(G[:, S] B)   the squared length that the atoms inside leave of every other one
    z = h - G[:, S] c               alignments of all atoms with the residual
    loss = |b|^2 - h_S'c            twice the objective

An atom that enters or leaves changes all of them by one outer product, |S| times the number of atoms. What is here is
the meaning in NumPy; `_state.py` has the same steps as loops, under the same names.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray

PIVOT = 1e-8  # squared length that must be left of an atom of length 1: below this a Gram matrix cannot see


class State(NamedTuple):
    """count holds how many atoms are inside, how many steps ago everything was computed from scratch, and how many of
    those that must stay are outside, because their best coefficient is 0: they keep their place.

    may : atoms that may enter; stays : atoms that must not leave
    """

    S: IntArray
    place: IntArray  # of each atom in S, -1 outside
    H: FloatArray
    c: FloatArray
    B: FloatArray
    d: FloatArray
    z: FloatArray
    may: Array
    stays: Array
    count: IntArray  # type: ignore[assignment]  # tuples count, too
    loss: FloatArray  # one number


def blank(G: FloatArray, h: FloatArray, bb: float, most: int, may: Array, stays: Array) -> State:
    """The empty support, with room for `most` atoms."""
    n = h.size
    return State(
        np.zeros(most, dtype=np.int64),
        np.full(n, -1, dtype=np.int64),
        np.zeros((most, most)),
        np.zeros(most),
        np.zeros((most, n)),
        G.diagonal().copy(),
        h.copy(),
        may,
        stays,
        np.array([0, 0, np.count_nonzero(stays)]),
        np.full(1, bb),
    )


def enter(G: FloatArray, s: State, j: int) -> None:
    """Atom j comes in."""
    p = s.count[0]
    u = s.B[:p, j].copy()
    v = G[j] - u @ G[s.S[:p]]
    left = v[j]
    t = s.z[j] / left
    s.loss[0] -= t * s.z[j]
    s.d[:] -= v * v / left
    s.z[:] -= t * v
    v /= left
    s.B[:p] -= np.outer(u, v)
    s.B[p] = v
    s.H[:p, :p] += np.outer(u, u) / left
    s.H[p, :p] = s.H[:p, p] = -u / left
    s.H[p, p] = 1.0 / left
    s.c[:p] -= t * u
    s.c[p] = t
    s.S[p], s.place[j] = j, p
    s.count[0], s.count[1] = p + 1, s.count[1] + 1
    s.count[2] -= s.stays[j]


def leave(s: State, i: int) -> None:
    """The atom in place i goes; the last one takes its place."""
    p = s.count[0]
    last = p - 1
    eta = s.H[i, i]
    row, column, ci = s.B[i].copy(), s.H[:p, i] / eta, s.c[i]
    s.loss[0] += ci * ci / eta
    s.d[:] += row * row / eta
    s.z[:] += (ci / eta) * row
    s.B[:p] -= np.outer(column, row)
    s.c[:p] -= column * ci
    s.H[:p, :p] -= np.outer(column, column * eta)
    s.place[s.S[i]] = -1
    s.count[2] += s.stays[s.S[i]]
    if i != last:
        s.S[i], s.c[i], s.B[i] = s.S[last], s.c[last], s.B[last]
        s.place[s.S[i]] = i
        s.H[i, :p] = s.H[last, :p]
        s.H[:p, i] = s.H[:p, last]
    s.count[0], s.count[1] = last, s.count[1] + 1


def best_entry(s: State, signed: bool) -> tuple[int, float]:
    """The atom outside that would lower the loss most, and twice by how much; -1 if there is none."""
    z = s.z if signed else np.maximum(s.z, 0.0)
    worth = np.where(s.may & (s.place < 0) & (s.d > PIVOT), z * z / np.maximum(s.d, PIVOT), 0.0)
    j = int(worth.argmax())
    return (j, float(worth[j])) if worth[j] > 0 else (-1, 0.0)


def cheapest(s: State) -> tuple[int, float]:
    """The place of the atom inside whose going costs least, and twice how much; -1 if all must stay."""
    p = s.count[0]
    cost = np.where(s.stays[s.S[:p]], np.inf, s.c[:p] ** 2 / s.H.diagonal()[:p])
    i = int(cost.argmin()) if p else -1
    return (i, float(cost[i])) if p and cost[i] < np.inf else (-1, np.inf)


def best_swap(s: State, signed: bool) -> tuple[int, int, float]:
    """The exchange of the atom in place i for j outside that lowers the loss most, and twice by how much.

    Without i the alignments are z + (c_i / H_ii) B_i, and the squared lengths left d + B_i^2 / H_ii.
    """
    p = s.count[0]
    outside = s.may & (s.place < 0)
    best = (-1, -1, 0.0)
    for i in range(p):
        if s.stays[s.S[i]]:
            continue
        eta = s.H[i, i]
        reach = s.z + (s.c[i] / eta) * s.B[i]
        left = s.d + s.B[i] * s.B[i] / eta
        worth = np.where(outside & (left > PIVOT), reach * reach / np.maximum(left, PIVOT), 0.0)
        if not signed:
            worth[reach <= 0] = 0.0
        j = int(worth.argmax())
        gain = float(worth[j]) - s.c[i] ** 2 / eta
        if gain > best[2] and worth[j] > 0:
            best = (i, j, gain)
    return best


def swap_bounds(s: State, out: FloatArray) -> None:
    """out[i, j] = twice what the exchange of place i for j would lower the loss by, were coefficients free."""
    p = s.count[0]
    outside = s.may & (s.place < 0)
    for i in range(p):
        if s.stays[s.S[i]]:
            out[i] = -np.inf
            continue
        eta = s.H[i, i]
        reach = s.z + (s.c[i] / eta) * s.B[i]
        left = s.d + s.B[i] * s.B[i] / eta
        worth = reach * reach / np.maximum(left, PIVOT) - s.c[i] ** 2 / eta
        out[i] = np.where(outside & (left > PIVOT), worth, -np.inf)


def axpy(y: FloatArray, t: float, x: FloatArray) -> None:
    """y += t x."""
    y += t * x


def copy_state(to: State, s: State) -> None:
    """All of s into another state of the same size."""
    p = s.count[0]
    to.S[:] = s.S
    to.place[:] = s.place
    to.H[:p, :p] = s.H[:p, :p]
    to.c[:] = s.c
    to.B[:p] = s.B[:p]
    to.d[:] = s.d
    to.z[:] = s.z
    to.count[:] = s.count
    to.loss[:] = s.loss
