"""Rows and columns that were given up to the sparse part, though the space of the others explains much of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.methods.separation.lines import how_many, leverages, orthonormal, sides
from fewatoms.methods.separation.matrix import Low
from fewatoms.methods.sums import NORMAL_MEDIAN

if TYPE_CHECKING:
    from fewatoms.methods.separation.steps import Trims
    from fewatoms.methods.separation.trimming import Trimming


def taken_back(run: Trims, at: Low) -> tuple[Low, tuple[Array, Array]] | None:
    """L with such lines fitted anew, and the noise of rows and of columns in units of that of all; None where there
    are none.

    A dark frame of which a patch is lit has most of its pixels explained by next to nothing, and the patch, which is
    most of its light, stands out. So does something bright before a dark wall: what tells them apart is whether the
    other frames know the patch. (Before a wall that is not dark there is nothing to ask: L explains the wall.) They do
    if squares fitted to all of the line, each entry held out by itself, leave much less of it (something as large in a
    place that they know nothing of would be explained by about its share of the entries), and if what they say goes up
    and down within the patch as the data do. The others stay as they are, and such lines have no say in their space.
    """
    noise, rank = (np.ones(run.data.D.shape[0]), np.ones(run.data.D.shape[1])), at[1].shape[1]
    found = False
    for turned in (False, True):
        R = run.left(at)
        unit = run.rule.deviation(R)
        if unit <= run.rule.floor:
            break
        out = run.rule.left_out(R)
        (X, W), (R, out) = sides(run.data, turned=turned), (R.T, out.T) if turned else (R, out)
        left, right = orthonormal(*at) if turned else (at[0].copy(), at[1])
        for line in _given_up(run.settings, X if W is None else W * X, R, out, how_many(X, W), rank, unit):
            w = np.ones(X.shape[1]) if W is None else np.asarray(W[line], dtype=np.float64)
            c, r, alone = _squares(X[line], w, right)
            share = np.count_nonzero(out[line]) / np.count_nonzero(w)
            explained = 1 - float(alone @ alone) / float(R[line] @ R[line])
            there = out[line]
            known = explained - share >= run.settings.known * (1 - share)
            if known and _follows(X[line, there], right[there] @ c) >= run.settings.follows:
                left[line], found = c, True
                noise[turned][line] = max(1.0, NORMAL_MEDIAN * float(np.median(np.abs(r[w > 0]))) / unit)
        at = orthonormal(left, right) if turned else (left, right)
    return (at, noise) if found else None


def _given_up(settings: Trimming, X: Array, R: Array, out: Array, count: Array, rank: int, unit: float) -> Array:
    """Lines with entries enough, most of whose squares are left to the sparse part, while the rest is hardly more than
    noise."""
    sparse, whole = np.square(np.where(out, R, 0.0)).sum(axis=1), np.square(X).sum(axis=1)
    rest, others = np.square(np.where(out, 0.0, X)).sum(axis=1), count - np.count_nonzero(out, axis=1)
    given_up = (sparse >= settings.given_up * whole) & (sparse > 0) & (rest <= (settings.dark * unit) ** 2 * others)
    return np.flatnonzero(given_up & (count >= settings.enough * rank))


def _squares(x: Array, w: Array, B: Array) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares over all of a line; what is left of its entries, and of each had it not been seen."""
    c = np.linalg.lstsq(w[:, None] * B, w * x, rcond=None)[0]
    r = w * (x - B @ c)
    return c, r, r / np.maximum(1 - leverages(np.square(w)[None], B)[0], 1e-9)


def _follows(x: Array, fitted: Array) -> float:
    """The correlation of what is fitted with the data; 0 where either does not change."""
    x, fitted = x - x.mean(), fitted - fitted.mean()
    return float(x @ fitted) / max(float(np.linalg.norm(x) * np.linalg.norm(fitted)), np.finfo(np.float64).tiny)
