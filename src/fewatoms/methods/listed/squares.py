"""Least squares over a few images, to the last digit: by their Gram matrix where it can see, by QR where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from fewatoms import linalg
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram.state import PIVOT
from fewatoms.methods.listed.boxed import boxed
from fewatoms.methods.listed.images import Images

FAINT = 1e-12  # share of |b|^2 below which what is left of the data is fitted by QR: a misfit of 1e-6
EPS = float(np.finfo(float).eps)


class Fitted(NamedTuple):
    """kept : places of the columns that are used, in the order of c and of the factor; factor : upper triangle, of the
    Gram matrix and what the coefficients pay."""

    kept: IntArray
    c: FloatArray
    residual: FloatArray
    factor: FloatArray | None


def fitted(images: Images, slots: IntArray, ridge: float = 0.0, *, nonnegative: bool = False) -> Fitted:
    """The best coefficients of the images in these slots, each of which pays (ridge / 2) times its squared image.

    Columns that depend on the others, as far as double precision can tell, are left out; so are nonnegative ones that
    the best coefficients do without.
    """
    target = images.target
    kept: IntArray = np.arange(slots.size)
    for _ in range(slots.size + 1):
        if not kept.size:
            break
        found = _by_gram(images, slots[kept], ridge) or _by_qr(images, slots[kept], ridge)
        if nonnegative and found.c.size and found.c.min() < 0:
            used = _used(images, slots[kept], ridge)
            # rounding may keep what the fit without bounds finds negative: it goes
            used = used if not used.all() else np.isin(kept, kept[found.kept[found.c > 0]])
            kept = kept[used]
            continue
        return found._replace(kept=kept[found.kept])
    return Fitted(kept[:0], np.zeros(0), target, None)


def _by_gram(images: Images, slots: IntArray, ridge: float) -> Fitted | None:
    """By a Cholesky factor and one step of refinement; None where the Gram matrix cannot see enough."""
    G, h, target = images.gram[slots[:, None], slots], images.moments[slots], images.target
    squares = G.diagonal().copy()
    if ridge:
        G[np.diag_indices_from(G)] += ridge * squares
    factor, bad = lapack.dpotrf(G, clean=0)
    if bad or (factor.diagonal() ** 2 < PIVOT * squares).any() or not squares.all():
        return None
    c = lapack.dpotrs(factor, h)[0]
    for _ in range(2):
        residual = target - images.combine(slots, c)
        slope = images.correlate(slots, residual)
        c = c + lapack.dpotrs(factor, slope - ridge * squares * c if ridge else slope)[0]
    residual = target - images.combine(slots, c)
    if float(residual @ residual) < FAINT * float(target @ target):
        return None
    return Fitted(np.arange(slots.size), c, residual, factor)


def _by_qr(images: Images, slots: IntArray, ridge: float) -> Fitted:
    """By a pivoted QR factorisation of the images themselves, above the rows that the ridge adds."""
    rows, A = _dense(images, slots)
    target, height = images.target[rows], images.target.size + (slots.size if ridge else 0)
    lengths = np.linalg.norm(A, axis=0)
    scale = np.where(lengths > 0, lengths, 1.0)
    whole, data = A / scale, target
    if ridge:
        whole = np.vstack([whole, np.sqrt(ridge) * np.eye(slots.size) * (lengths > 0)])
        data = np.concatenate([target, np.zeros(slots.size)])
    packed, pivots, tau, _, _ = lapack.dgeqp3(whole)
    side = min(whole.shape)
    diagonal = np.abs(packed.diagonal()[:side])
    rounding = max(height, slots.size) * EPS
    rank = int(np.count_nonzero(diagonal > rounding * diagonal[0])) if diagonal[0] > 0 else 0
    kept = np.asarray(pivots[:rank] - 1, dtype=np.intp)
    R = np.triu(packed[:rank, :rank])
    c, left = np.zeros(rank), data
    for _ in range(2 if rank else 0):
        turned, _, _ = lapack.dormqr("L", "T", packed[:, :side], tau, left[:, None], 64 * side)
        step, _ = lapack.dtrtrs(R, turned[:rank, 0])
        c = c + step
        left = data - whole[:, kept] @ c
    residual = images.target.copy()
    residual[rows] = left[: target.size]
    return Fitted(kept, c / scale[kept], residual, R * scale[kept] if rank else None)


def within(images: Images, slots: IntArray, ridge: float, lower: FloatArray, upper: FloatArray) -> Fitted:
    """The same over a box of coefficients. All columns stay, whether they are used or not."""
    lengths = np.sqrt(images.gram[slots, slots])
    scale = np.where(lengths > 0, lengths, 1.0)
    R, turn = _triangle(images, slots, scale, ridge)
    u, low, high, residual = np.zeros(slots.size), lower * scale, upper * scale, images.target
    for _ in range(2):  # what the first leaves of the data is fitted once more
        step = boxed(R, turn(residual, u), low - u, high - u)
        u = np.clip(u + step, low, high)
        residual = images.target - images.combine(slots, u / scale)
    sound = len(R) == slots.size and bool((np.abs(R.diagonal()) > slots.size * EPS).all())
    return Fitted(np.arange(slots.size), np.clip(u / scale, lower, upper), residual, R * scale if sound else None)


Turn = Callable[[FloatArray, FloatArray], FloatArray]  # data and coefficients that there are to what R is to explain


def _triangle(images: Images, slots: IntArray, scale: FloatArray, ridge: float) -> tuple[FloatArray, Turn]:
    """R and t for which |t - Rc| is, up to a constant, what coefficients of unit columns leave, ridge included."""
    G = images.gram[slots[:, None], slots] / (scale[:, None] * scale)
    G.flat[:: slots.size + 1] += ridge
    factor, bad = lapack.dpotrf(G)
    if not bad and (factor.diagonal() ** 2 >= PIVOT).all():

        def by_gram(residual: FloatArray, u: FloatArray) -> FloatArray:
            slope = images.correlate(slots, residual) / scale - ridge * u
            return np.asarray(lapack.dtrtrs(factor, slope, trans=1)[0])

        return factor, by_gram
    rows, A = _dense(images, slots)
    whole = np.vstack([A / scale, np.sqrt(ridge) * np.eye(slots.size if ridge else 0, slots.size)])
    Q, R = np.linalg.qr(whole)

    def by_qr(residual: FloatArray, u: FloatArray) -> FloatArray:
        return np.asarray(Q.T @ np.concatenate([residual[rows], -np.sqrt(ridge) * u if ridge else u[:0]]))

    return R, by_qr


def _used(images: Images, slots: IntArray, ridge: float) -> Array:
    """Which of these columns the best nonnegative coefficients use; all of them where the search did not settle."""
    from scipy.optimize import nnls

    rows, A = _dense(images, slots)
    target = images.target[rows]
    lengths = np.linalg.norm(A, axis=0)
    A /= np.where(lengths > 0, lengths, 1.0)  # nnls judges slopes by one size for all
    if ridge:
        A = np.vstack([A, np.sqrt(ridge) * np.diag(lengths > 0)])
        target = np.concatenate([target, np.zeros(slots.size)])
    size = max(float(np.abs(target).max(initial=0.0)), 1e-300)  # nnls judges small numbers by absolute size
    try:
        c: FloatArray = nnls(A, target / size, maxiter=max(100, 10 * A.shape[1]))[0]
    except RuntimeError:
        return np.ones(slots.size, dtype=bool)
    return c > 0


def _dense(images: Images, slots: IntArray) -> tuple[IntArray | slice, FloatArray]:
    """The rows in which any of these images has entries, and the images there."""
    rows, A = linalg.filled_rows(images.columns(slots))
    return rows, np.array(A, order="F")
