"""The diagonal that is moved out of M'M: D >= 0 with M'M - diag(D) positive semidefinite, so that D is paid in
perspective.

The smallest eigenvalue for all atoms is one such D. A larger sum of D, no entry far below that, is a semidefinite
programme; some steps of Newton's method on the barrier

    sum of D + (mu / n) (log det(M'M - diag(D)) + sum of log(D_i - floor))

come near, for falling mu. What is taken is verified in the end, whatever the steps did.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from fewatoms import ledger
from fewatoms._types import FloatArray
from fewatoms.proofs.squares.table import margin, shiftable

FLOOR = 0.5  # share of the smallest eigenvalue that no entry falls below
BARRIER_STEPS = 24
LARGEST = 400  # atoms up to which the steps are worth what they cost
FALL, NEARNESS = 0.25, 2e-2
INWARD = 0.3  # Newton decrement, for each root of an atom, at which mu falls


def shift(G: FloatArray, m: int) -> FloatArray:
    """D for the Gram matrix of m-vectors of length 1; zeros where there is none."""
    n = len(G)
    nothing = np.zeros(n)
    if n > 0.95 * m or n == 0:
        return nothing
    least = float(np.linalg.eigvalsh(G)[0])
    even = least - 2.0 * margin(n, m)
    if even < 1e-3 * least or even <= 1e-9:
        return nothing
    D = np.full(n, even)
    if n <= LARGEST:
        better = _ascended(G, FLOOR * even)
        better *= 1.0 - 1e-6
        if shiftable(G, better, m):
            return better
    return D if shiftable(G, D, m) else nothing


def _ascended(G: FloatArray, floor: float) -> FloatArray:
    n = len(G)
    D = np.full(n, 1.5 * floor)
    mu = 0.3 * float(D.mean())
    for _ in range(BARRIER_STEPS):
        ledger.tick()
        factor, _bad = lapack.dpotrf(G - np.diag(D), lower=1)
        inverse, _bad = lapack.dpotri(factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        inward = 1.0 / (D - floor)
        slope = 1.0 / n - mu / n * (inverse.diagonal() - inward)
        bend = mu / n * inverse * inverse
        bend[np.diag_indices(n)] += mu / n * inward * inward
        factor, bad = lapack.dpotrf(bend, lower=1)
        if bad:
            break
        step = lapack.dpotrs(factor, slope, lower=1)[0]
        decrement = np.sqrt(max(0.0, float(step @ slope)) * n / mu)
        D = _moved(G, D, step, min(1.0, 2.5 / (1.0 + decrement)), floor)
        if decrement < INWARD * np.sqrt(n):
            mu *= FALL
        if mu < NEARNESS * float(D.mean()):
            break
    return D


def _moved(G: FloatArray, D: FloatArray, step: FloatArray, length: float, floor: float) -> FloatArray:
    """As far along a step as M'M - diag(D) stays positive definite, or nearly."""
    while length > 1e-8:
        new = D + length * step
        if (new > floor).all() and not lapack.dpotrf(G - np.diag(new), lower=1)[1]:
            return np.asarray(new)
        length *= 0.6
    return D
