"""More steps over single atoms: exchanges that keep coefficients nonnegative, exchanges of two atoms at once, and what
could stand in for an atom. What is here is the meaning in NumPy; `_exchanges.py` has the same as loops.
"""

from __future__ import annotations

import numpy as np

from fewatoms._types import FloatArray, IntArray
from fewatoms.gram.state import PIVOT, State


def best_nonnegative_swap(s: State) -> tuple[int, int, float]:
    """The exchange of the atom in place i for j outside that lowers the loss most and leaves all coefficients
    nonnegative, and twice by how much."""
    p = s.count[0]
    outside = s.may & (s.place < 0)
    best = (-1, -1, 0.0)
    for i in range(p):
        if s.stays[s.S[i]]:
            continue
        eta, others = s.H[i, i], np.arange(p) != i
        reach = s.z + (s.c[i] / eta) * s.B[i]
        left = s.d + s.B[i] * s.B[i] / eta
        some = np.flatnonzero(outside & (left > PIVOT) & (reach > 0))
        t, u = reach[some] / left[some], s.H[:p, i][others] / eta
        rest = (s.c[:p][others] - u * s.c[i])[:, None] - (s.B[:p, some][others] - np.outer(u, s.B[i, some])) * t
        worth = np.where((rest >= 0).all(axis=0), reach[some] * t, 0.0)
        if some.size:
            j = int(worth.argmax())
            gain = float(worth[j]) - s.c[i] ** 2 / eta
            if gain > best[2] and worth[j] > 0:
                best = (i, int(some[j]), gain)
    return best


def rivals(s: State, signed: bool, floor: float, out: FloatArray) -> None:
    """out[i] = how much the best atom outside would explain in the place of the atom in place i, as a share of what
    that one explains; 0 below the floor, and for atoms that must stay."""
    outside = s.may & (s.place < 0)
    for i in range(s.count[0]):
        eta = s.H[i, i]
        reach = s.z + (s.c[i] / eta) * s.B[i]
        left = s.d + s.B[i] * s.B[i] / eta
        worth = np.where(outside & (left > PIVOT), reach * reach / np.maximum(left, PIVOT), 0.0)
        if not signed:
            worth[reach <= 0] = 0.0
        cost, most = s.c[i] ** 2 / eta, worth.max(initial=0.0)
        out[i] = 0.0 if s.stays[s.S[i]] or not most > floor * cost else most / cost if cost > 0.0 else np.inf


def promising(s: State, most: int, signed: bool, floor: float) -> IntArray:
    """Atoms outside that would lower the loss by more than half the floor, the `most` best of them."""
    z = s.z if signed else np.maximum(s.z, 0.0)
    worth = np.where(s.may & (s.place < 0) & (s.d > PIVOT), z * z / np.maximum(s.d, PIVOT), 0.0)
    found = np.flatnonzero(worth > floor)
    return np.sort(found[np.argsort(-worth[found], kind="stable")[:most]])


def best_two(G: FloatArray, s: State, rows: IntArray, signed: bool, bar: float) -> tuple[int, int, float]:
    """The two atoms outside, one of them among `rows`, that lower the loss most together, and twice by how much; with
    nonnegative coefficients only if they leave all of them so. -1 where none gain more than the bar.

    Where d are the squared lengths left, z the alignments and v = G_ab less what the atoms inside explain of it, the
    two have coefficients (z_a d_b - z_b v, z_b d_a - z_a v) / (d_a d_b - v^2).
    """
    p = s.count[0]
    d = np.where(s.may & (s.place < 0), s.d, 0.0)
    first, second = -1, -1
    for a in rows:
        v = G[a] - s.B[:p, a] @ G[s.S[:p]]
        det = d[a] * d - v * v
        ca, cb = s.z[a] * d - s.z * v, s.z * d[a] - s.z[a] * v
        good = det > PIVOT * d[a]
        if not signed:
            good &= (ca > 0) & (cb > 0)
            rest = s.c[:p, None] * det - np.outer(s.B[:p, a], ca) - s.B[:p] * cb
            good &= (rest >= 0).all(axis=0)
        gain = np.where(good, (s.z[a] * ca + s.z * cb) / np.where(good, det, 1.0), 0.0)
        b = int(gain.argmax())
        if gain[b] > bar:
            first, second, bar = int(a), b, float(gain[b])
    return first, second, bar
