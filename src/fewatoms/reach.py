"""Whether a bound is out of reach for every x: proven, or not claimed.

Least squares over vectors. For any y, f(b - Mx) >= <b, y> - f*(y) - sum_i k_i |u_i|, where u_i = x_i |M e_i| and k_i is
the alignment of y with column i in units of its length, rounding included. An x that meets the bound has an image of
length |b| + sqrt(2 alpha) at most, which bounds |u| where the columns are independent: if that does not suffice for the
sum, no x meets it. Whatever y was computed from, and whatever the units of the columns, what is claimed holds in exact
arithmetic. Columns that are nearly dependent, or as many as data, prove nothing.

Semidefinite matrices: diagonal entries and intensities that are negative in b.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from fewatoms import ledger
from fewatoms._types import FloatArray
from fewatoms.capabilities import ColumnBlocks, Intensities, SeenAsIs, Semidefinite
from fewatoms.norms import dense
from fewatoms.problem import Problem
from fewatoms.rounding import gamma

WORK = 1e9  # of a factorisation of the columns, at most
ASKED = 100  # columns that an operator is asked for, one product each
CONE = 200_000  # numbers in columns for which nonnegative coefficients are found


def out_of_reach(problem: Problem) -> bool:
    """Whether it is proven that no x, with any number of atoms, meets the bound."""
    loss, M = problem.base_loss, problem.measured
    if problem.alpha is not None and loss.squares and _below_zero(problem) > problem.tolerance + problem.slack:
        return True
    if problem.alpha is None or not loss.squares or M.model_shape != (M.shape[1],):
        return False
    with ledger.stage("proving the bound out of reach"):
        ledger.tick()
        columns = _columns(problem)
        if columns is None:
            return False
        root = np.ones(1) if loss.weights is None else np.sqrt(loss.weights)
        A, b = root[:, None] * columns, root * problem.data
        lengths = np.linalg.norm(A, axis=0)
        A, bound = A[:, lengths > 0] / lengths[lengths > 0], problem.tolerance + problem.slack
        return _free(A, b, bound) or (_signed(problem) and _nonnegative(A, b, bound))


def _below_zero(problem: Problem) -> float:
    """What data leave that are negative where no semidefinite x has anything negative: on its diagonal, or in
    intensities. The dual vector that proves it is b there, which has M*y <= 0; 0 for other sets."""
    inside, M = problem.atoms.unwrapped(), problem.measured
    if inside.inner.offers(Semidefinite) is None or inside.maps or inside.scale < 0 or not problem.plain:
        return 0.0
    seen, n = M.offers(SeenAsIs), problem.atoms.shape[0]
    if seen is None and M.offers(Intensities) is None:
        return 0.0
    places = None if seen is None else seen.places()
    counted = True if seen is None else (np.arange(n * n) if places is None else places) % (n + 1) == 0
    left = problem.base_loss.value(np.where(counted, np.minimum(problem.data, 0.0), 0.0))
    return left * (1 - _rounding(problem.m))


def _columns(problem: Problem) -> FloatArray | None:
    """The columns of M and the free ones, where they can be had and could prove something."""
    M, F = problem.measured, problem.beside.columns
    beside, at_hand = 0 if F is None else F.shape[1], M.offers(ColumnBlocks)
    (m, n), cone = M.shape, _signed(problem)
    few = m * n <= CONE if cone else n + beside < m and m * (n + beside) ** 2 <= WORK
    if not few or (at_hand is None and n > ASKED):
        return None
    every = np.arange(n)
    columns = dense(M.columns(every) if at_hand is None else at_hand.read(every))
    return columns if F is None else np.concatenate([columns, F], axis=1)


def _signed(problem: Problem) -> bool:
    """Whether coefficients of the columns themselves must not be negative."""
    listing = problem.atoms.listing()
    plain = listing is not None and not listing.maps and listing.factor > 0 and problem.beside.count == 0
    return listing is not None and plain and listing.nonnegative


def _free(A: FloatArray, b: FloatArray, bound: float) -> bool:
    """For columns of length 1 and coefficients of any sign."""
    m, n = A.shape
    if n >= m:
        return False
    Q, R = scipy.linalg.qr(A, mode="economic", check_finite=False)
    values = scipy.linalg.svdvals(R, check_finite=False) if n else np.ones(1)
    least = float(values[-1]) - _rounding(10 * m) * math.sqrt(max(n, 1)) * float(values[0])
    y = b - Q @ (Q.T @ b)
    y = y - Q @ (Q.T @ y)
    if least <= 0:
        return False
    aligned = np.abs(A.T @ y) + _rounding(m) * (np.abs(A).T @ np.abs(y))
    return float(np.linalg.norm(aligned)) * _image(b, bound) / least < _excess(y, b, bound)


def _nonnegative(A: FloatArray, b: FloatArray, bound: float) -> bool:
    """For columns of length 1 and coefficients that are not negative. Their sum is bounded by a direction that all
    columns point along, if there is one."""
    from scipy.optimize import nnls

    size = float(np.abs(b).max())
    if not A.shape[1]:
        return _excess(b, b, bound) > 0
    try:
        c = size * nnls(A, b / size)[0]
    except RuntimeError:  # it did not settle
        return False
    y, along = b - A @ c, A.mean(axis=1)
    rounding = _rounding(A.shape[0]) * np.abs(A).T
    aligned = max(0.0, float((A.T @ y + rounding @ np.abs(y)).max()))
    least = float((A.T @ along - rounding @ np.abs(along)).min())
    if aligned == 0.0:
        return _excess(y, b, bound) > 0
    return least > 0 and aligned * float(np.linalg.norm(along)) * _image(b, bound) / least < _excess(y, b, bound)


def _image(b: FloatArray, bound: float) -> float:
    """How long the image of an x that meets the bound can be."""
    return (float(np.linalg.norm(b)) + math.sqrt(2 * bound)) * (1 + _rounding(b.size))


def _excess(y: FloatArray, b: FloatArray, bound: float) -> float:
    """By how much <b, y> - f*(y) exceeds the bound, for certain."""
    rounding = _rounding(b.size) * float(np.abs(b) @ np.abs(y) + y @ y)
    return float(b @ y) - 0.5 * float(y @ y) - bound * (1 + _rounding(1)) - rounding


def _rounding(terms: int) -> float:
    """What the rounding of so many terms, and of making columns of length 1, comes to, as a share of their sizes."""
    return gamma(2 * (terms + 8))
