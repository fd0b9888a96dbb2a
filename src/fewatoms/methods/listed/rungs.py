"""Ladders of penalties over a working set: the coefficients of all rungs, and the supports that they suggest."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from fewatoms import ledger, linalg
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram import engine
from fewatoms.gram.drivers import Rules
from fewatoms.gram.state import PIVOT
from fewatoms.gram.who import CREW
from fewatoms.methods.listed.small import Small

PASSES, CAREFULLY = 8, 20  # over the coefficients of a rung, for small supports and for large ones
TOLERANCE = 1e-2  # the share of the penalty that they settle to
FRESH = 32  # atoms taken in after a look at least, or half as many as there are
UNCOMPILED = 5e-5  # seconds for each coefficient of a rung that is not compiled, roughly
BESIDE_RUNGS = 1 << 23  # numbers in the residuals, and in their products, that are held against all atoms together
RUNGS_AT_ONCE = 6  # rungs from one tick to the next


def ladder(
    small: Small, rules: Rules, lams: FloatArray, limit: int, *, looks: int = 0, passes: int = PASSES
) -> FloatArray:
    """The coefficients of each rung in a row, down to where there are `limit` of them; so many times the working set
    takes in atoms that do not stay at zero."""
    X = _down(small, rules, lams, limit, passes)
    for _ in range(looks):
        if small.whole or not small.take(_violators(small, X, lams)):
            break
        X = _down(small, rules, lams, limit, passes)
    return X


def _down(small: Small, rules: Rules, lams: FloatArray, limit: int, passes: int) -> FloatArray:
    n = small.h.size
    CREW.expect("ladder", UNCOMPILED * limit * lams.size)
    x, q, X, count = np.zeros(n), small.h.copy(), np.zeros((lams.size, n)), 0
    while count < lams.size:
        ledger.tick()
        some = slice(count, count + RUNGS_AT_ONCE)
        with linalg.single_thread():
            done = engine().ladder(small.G, x, q, lams[some], limit, rules, small.may, passes, TOLERANCE, X[some])
        count += done
        if done < X[some].shape[0] or np.count_nonzero(x) >= limit:
            break
    return X[:count]


def _violators(small: Small, X: FloatArray, lams: FloatArray) -> IntArray:
    """Classes outside of the working set that do not stay at zero on some rung, the farthest first."""
    view, images = small.view, small.images
    scale = np.where(small.lengths > 0, 1.0 / np.where(small.lengths > 0, small.lengths, 1.0), 0.0)
    excess, lams = np.zeros(view.count), lams[: len(X)]
    together = max(1, BESIDE_RUNGS // (images.target.size + view.M.shape[1]))
    for some in np.split(np.arange(len(X)), range(together, len(X), together)):
        left = images.target[:, None] - images.combined(X[some] * scale)
        Z = view.pull_block(view.outer.adjoint_block(linalg.rowwise(images.root, left)))
        for z, lam in zip(Z, lams[some], strict=True):
            np.maximum(excess, small.promise(z) / lam, out=excess)
    excess[small.classes] = 0.0
    fresh = linalg.top_k(excess, max(FRESH, small.columns // 2))
    return fresh[excess[fresh] > 1.0]


def suggested(X: FloatArray, k: int, stays: Array) -> list[IntArray]:
    """For each rung with half as many coefficients as that, the places of the k largest, none twice."""
    k = min(k, X.shape[1])
    size = np.abs(X)
    full = 2 * np.count_nonzero(X, axis=1) >= k
    size[:, stays] = np.inf
    size = size[full]
    top = np.argpartition(-size, k - 1, axis=1)[:, :k] if k < X.shape[1] else np.tile(np.arange(k), (len(size), 1))
    top.sort(axis=1)
    rows = [places[one[places] > 0] for places, one in zip(top.astype(np.int64), size, strict=True)]
    return list({row.tobytes(): row for row in rows}.values())


def in_rows(supports: list[IntArray], k: int) -> IntArray:
    """Supports of at most k places as the rows of a table, -1 beyond."""
    table = np.full((len(supports), k), -1, dtype=np.int64)
    for row, places in zip(table, supports, strict=True):
        row[: places.size] = places
    return table


def nested(small: Small, X: FloatArray, most: int) -> IntArray:
    """For every size up to that, in a row filled up with -1, the places of the largest coefficients of the rung where
    so many fit best: a triangular factor of all of them, in their order, has the fits of all sizes."""
    table, lowest = np.full((most + 1, most), -1, dtype=np.int64), np.full(most, np.inf)
    size = np.abs(X)
    size[:, small.stays] = np.inf
    for one in size:
        places = linalg.top_k(one, most)
        places = places[one[places] > 0]
        factor, bad = lapack.dpotrf(small.G[places[:, None], places], clean=0) if places.size else (np.eye(0), 0)
        fits = int(bad) - 1 if bad else places.size
        weak = np.flatnonzero(factor.diagonal()[:fits] ** 2 < PIVOT)
        fits = int(weak[0]) if weak.size else fits
        if fits:
            u = lapack.dtrtrs(factor[:fits, :fits], small.h[places[:fits]], trans=1)[0]
            losses = small.bb - np.cumsum(u**2)
            for k in np.flatnonzero(losses < lowest[:fits]):
                table[k + 1, : k + 1], lowest[k] = places[: k + 1], losses[k]
    return table
