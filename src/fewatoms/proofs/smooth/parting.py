"""What the y of a node decides, and how the rest is parted."""

from __future__ import annotations

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.proofs.smooth.given import FREE, IN, OUT
from fewatoms.proofs.smooth.nodes import Bounded

HANDED_ON = -1  # in the place of the class by which a node was parted, where it was not
IN_DOUBT = 1e-6  # a share nearer to 0 or 1 than this is not


def decided(state: Array, kappa: int, known: Bounded, bound: float, target: float) -> tuple[Array, IntArray, IntArray]:
    """The states once all classes are fixed that the y of a node decides, which these are, and how."""
    free = np.flatnonzero(state == FREE)
    h = known.h[free]
    nothing = np.empty(0, dtype=np.int64)
    if not 0 < kappa < free.size:
        return state.copy(), nothing, nothing
    order = np.sort(h)[::-1]
    out = free[bound + order[kappa - 1] - h >= target]
    inside = free[bound + h - order[kappa] >= target][:kappa]
    after = state.copy()
    after[out], after[inside] = OUT, IN
    return after, np.concatenate([out, inside]), np.repeat([OUT, IN], [out.size, inside.size])


def parted(state: Array, kappa: int, shares: FloatArray) -> list[tuple[int, int, Array, int]]:
    """What is left of a node in two parts, or as it is where there is nothing to choose: class, side, states and how
    many more may be taken."""
    free = np.flatnonzero(state == FREE)
    if kappa <= 0 or free.size <= kappa:
        after = state.copy()
        after[free] = OUT if kappa <= 0 else IN
        return [(HANDED_ON, FREE, after, max(0, kappa - free.size))]
    doubt = np.minimum(shares[free], 1.0 - shares[free])
    at = int(np.argmax(doubt))
    if doubt[at] <= IN_DOUBT:
        at = int(np.argmax(shares[free]))
    taken, left = state.copy(), state.copy()
    taken[free[at]], left[free[at]] = IN, OUT
    return [(int(free[at]), IN, taken, kappa - 1), (int(free[at]), OUT, left, kappa)]
