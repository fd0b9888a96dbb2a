"""Many small regressions over nonnegative numbers, all together."""

from __future__ import annotations

import numpy as np

from fewatoms._types import Array, FloatArray

DESCENT_PASSES = 50  # of coordinate descent, where coefficients must not be negative
PASSES_AT_ONCE = 5  # of them: between two looks at whether supports have settled
SINGLY = 64  # rows whose supports have not settled, at most, that are solved for one after the other
WITHIN_ROUNDING = 1e-14  # of the largest eigenvalue of a Gram matrix: smaller ones are rounding


def descended(G: FloatArray, h: FloatArray, begin: FloatArray, bound: Array) -> FloatArray:
    """Per row the least of x'Gx - 2 h'x, over x[a] >= 0 where bound[a], by coordinate descent: all rows together, and
    those are done whose least point on the support they have come to is the least of all."""
    x = np.where(np.einsum("iaa->ia", G) > 0, begin, 0.0)
    left = np.arange(len(x))
    for _ in range(DESCENT_PASSES // PASSES_AT_ONCE):
        some, pull = G[left], h[left]
        moved, still = _passes(some, pull, x[left], bound)
        x[left], done = _on_support(some, pull, moved, bound)
        left = left[~done]
        if still or not left.size:
            break
        if left.size <= SINGLY and bound.all():
            for i in left:
                x[i] = _least(G[i], h[i], x[i])
            break
    return x


def _least(G: FloatArray, h: FloatArray, x: FloatArray) -> FloatArray:
    """The least point over nonnegative numbers, by an active set; another one where that is no lower."""
    from scipy.optimize import nnls

    values, vectors = np.linalg.eigh(G)
    seen = values > WITHIN_ROUNDING * max(float(values[-1]), 1e-300)
    root = np.sqrt(values[seen])
    target = (vectors[:, seen].T @ h) / root
    size = max(float(np.abs(target).max(initial=0.0)), 1e-300)  # nnls judges small numbers by absolute size
    try:
        y = np.asarray(nnls(root[:, None] * vectors[:, seen].T, target / size)[0]) * size
    except RuntimeError:  # it did not settle within its iterations
        return x
    return y if float(y @ (G @ y - 2.0 * h)) < float(x @ (G @ x - 2.0 * h)) else x


def _passes(G: FloatArray, h: FloatArray, begin: FloatArray, bound: Array) -> tuple[FloatArray, bool]:
    """Some passes, with what slopes become after each step; and whether the last moved nothing."""
    grams, pull, x = np.ascontiguousarray(G.transpose(1, 2, 0)), h.T, np.ascontiguousarray(begin.T)
    d, least = np.einsum("aai->ai", grams), np.where(bound, 0.0, -np.inf)
    share = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)
    for _ in range(PASSES_AT_ONCE):
        before, slope = x.copy(), pull - np.einsum("abi,bi->ai", grams, x)
        for a in range(len(x)):
            step = np.maximum(x[a] + share[a] * slope[a], least[a]) - x[a]
            x[a] += step
            slope -= grams[a] * step
        if np.abs(x - before).max(initial=0.0) <= 1e-9 * np.abs(x).max(initial=0.0):
            return x.T, True
    return x.T, False


def _on_support(G: FloatArray, h: FloatArray, x: FloatArray, bound: Array) -> tuple[FloatArray, Array]:
    """The least points on the supports of x where these are no worse than x and no slope leads away; and where."""
    free = (x > 0) | (~bound & (np.einsum("iaa->ia", G) > 0))
    try:
        inside = np.where(free[:, :, None] & free[:, None, :], G, 0.0) + np.eye(x.shape[1]) * ~free[:, None, :]
        y = np.linalg.solve(inside, np.where(free, h, 0.0)[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return x, np.zeros(len(x), dtype=bool)
    slope = h - np.einsum("iab,ib->ia", G, y)
    level = 1e-9 * np.abs(h).max(axis=1, initial=0.0, keepdims=True)
    kept = np.where(free, np.abs(slope) <= level, slope <= level) & ((y >= 0) | ~bound)
    lower = np.einsum("ia,ia->i", y, h + slope) >= np.einsum("ia,ia->i", x, 2.0 * h - np.einsum("iab,ib->ia", G, x))
    done = kept.all(axis=1) & lower
    return np.where(done[:, None], y, x), done
