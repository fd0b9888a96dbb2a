"""Rows and columns that were given up to the sparse part, though the space of the others explains much of them."""

from __future__ import annotations

from dataclasses import dataclass
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
    other frames know the patch. (Before walls that are never dark there is nothing to ask: L explains the wall.) They
    do if squares fitted to all of the line, each entry held out by itself, leave much less of it (something as large in
    a place that they know nothing of would be explained by about its share of the entries), and if what they say goes
    up and down within the patch as the data do.

    Of one line that is often hard to say, of all that lose squares to the sparse part, dark or not, it is less so:
    where the space knows what they lose, all in all, this is a matter of light, and only lines that do not follow at
    all stay as they are (of those that are not dark it is shadows that are taken back). Otherwise each must show it by
    itself. Lines that are taken back have no say in the space.
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
        asked = _asked(run.settings, X if W is None else W * X, R, out, how_many(X, W), rank, unit)
        fits = [_Fitted.of(X[line], None if W is None else W[line], R[line], out[line], right) for line in asked.lines]
        for i in _light(run.settings, asked, fits):
            left[asked.lines[i]], found = fits[i].c, True
            noise[turned][asked.lines[i]] = max(1.0, NORMAL_MEDIAN * fits[i].middle / unit)
        at = orthonormal(left, right) if turned else (left, right)
    return (at, noise) if found else None


@dataclass(frozen=True, eq=False)
class _Asked:
    """Lines of which some squares are in the sparse part: which ones, what share of their squares that is, and whether
    the rest is hardly more than noise."""

    lines: Array
    lost: FloatArray
    dark: Array


def _asked(settings: Trimming, X: Array, R: Array, out: Array, count: Array, rank: int, unit: float) -> _Asked:
    """Those with entries enough; none if no dark line was given up."""
    sparse, whole = np.square(np.where(out, R, 0.0)).sum(axis=1), np.square(X).sum(axis=1)
    rest, others = np.square(np.where(out, 0.0, X)).sum(axis=1), count - np.count_nonzero(out, axis=1)
    dark = rest <= (settings.dark * unit) ** 2 * others
    lost = sparse / np.where(whole > 0, whole, 1.0)
    some = (lost >= min(settings.noticed, settings.given_up)) & (lost > 0) & (count >= settings.enough * rank)
    lines = np.flatnonzero(some if (some & dark & (lost >= settings.given_up)).any() else np.zeros_like(some))
    return _Asked(lines, lost[lines], dark[lines])


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Least squares over all of a line.

    known : the share of the squares left to the sparse part that is explained then, each entry had it not been seen,
        beyond the share of the entries
    follows : the correlation of what is fitted with the data, among entries that stood out
    middle : the median size of what is left
    """

    c: FloatArray
    known: float
    follows: float
    middle: float

    @staticmethod
    def of(x: Array, w: Array | None, R: Array, out: Array, B: Array) -> _Fitted:
        """For the orthonormal space B."""
        if w is None:
            c, w = B.T @ x, np.ones(x.size)
        else:
            w = np.asarray(w, dtype=np.float64)
            c = np.linalg.lstsq(w[:, None] * B, w * x, rcond=None)[0]
        r = w * (x - B @ c)
        alone = r / np.maximum(1 - leverages(np.square(w)[None], B)[0], 1e-9)
        share = np.count_nonzero(out) / np.count_nonzero(w)
        explained = 1 - float(alone @ alone) / float(R @ R)
        known = (explained - share) / max(1 - share, np.finfo(np.float64).eps)
        return _Fitted(c, known, _correlated(x[out], B[out] @ c), float(np.median(np.abs(r[w > 0]))))


def _light(settings: Trimming, asked: _Asked, fits: list[_Fitted]) -> Array:
    """Which of the lines are taken back."""
    if not fits:
        return asked.lines
    known, follows = np.array([fit.known for fit in fits]), np.array([fit.follows for fit in fits])
    itself = (asked.lost >= settings.given_up) & asked.dark & (known >= settings.known) & (follows >= settings.follows)
    weights = asked.lost / asked.lost.sum()
    if asked.lines.size < 2 or weights @ known < settings.known / 2 or weights @ follows < settings.follows:
        return np.flatnonzero(itself)
    return np.flatnonzero(itself | (follows >= settings.follows / 2))


def _correlated(x: Array, fitted: Array) -> float:
    """The correlation of what is fitted with the data; 0 where either does not change."""
    x, fitted = x - x.mean(), fitted - fitted.mean()
    return float(x @ fitted) / max(float(np.linalg.norm(x) * np.linalg.norm(fitted)), np.finfo(np.float64).tiny)
