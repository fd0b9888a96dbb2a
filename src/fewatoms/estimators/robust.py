"""Principal components of data with gross errors: low rank plus sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from fewatoms import _checks
from fewatoms._types import Array, FloatArray
from fewatoms.atoms import RankOne, SignedOneHot
from fewatoms.doors import fit
from fewatoms.estimators.base import with_gaps
from fewatoms.estimators.seeds import seed
from fewatoms.operators import Identity, Sampling

if TYPE_CHECKING:
    from sklearn.utils import Tags

OUTSTANDING = 3 * 1.4826  # median residuals: three standard deviations of normal noise
NEVER_OUT = 1e-11  # of the largest entry: what never stands out
DOWN, RUNGS = 0.7, 24  # from one threshold to the next, and how many there are
STEPS_EACH = 2
TRIMS = 20  # rounds of leaving out what stands out
ROWS_WORK = 1 << 21  # numbers that are held at a time for rows to be transformed


class RobustPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """X = L + S and noise: L of low rank, S with few entries, which are gross errors of any size; NaN are missing.

    Parameters
    ----------
    rank : int, optional
        Of L at most. None: ranks are tried in turn as long as they pay: in what is left of entries held out, or, up to
        10,000 entries, in Schwarz's criterion (by a robust scale of X - L where `entries` is None too).
    entries : int, optional
        Of S at most. None: those that stand out of the noise by three standard deviations or more, and by so many
        that hardly any of them is noise.
    center : bool
        Whether the medians of the columns are taken out first. Without, as in the literature on low rank plus sparse,
        a mean is a component like others.
    callback : callable, optional
        As for `fewatoms.fit`. A `Deadline` serves one fit: give a new one for the next, or for a clone.
    random_state : int or RandomState, optional
        Of start vectors; None is a fixed seed.

    Attributes
    ----------
    solution_ : Solution, of X less mean_, with its certificate; its parts are L and S
    low_rank_ : (n, q) array, L, with mean_ added; entries that are missing are filled in by it
    sparse_ : (n, q) sparse array, S
    components_ : (r, q) array with orthonormal rows, which span those of L; singular_values_ : those of L
    mean_ : (q,) array; zeros unless center
    rank_ : r, how many components there are
    threshold_ : the size from which on residuals are gross errors for `transform`: three standard deviations of the
        noise, estimated from the median of |X - L|
    """

    def __init__(
        self,
        rank: int | None = None,
        entries: int | None = None,
        *,
        center: bool = False,
        callback: Callable[..., None] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.rank = rank
        self.entries = entries
        self.center = center
        self.callback = callback
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: object, y: object = None) -> Self:
        """Split X into L and S. y is ignored."""
        table = self._table(X, reset=True)
        seen = ~np.isnan(table)
        if not seen.any():
            raise ValueError("X must have at least one entry that is not missing; got none")
        self.mean_ = _medians(table) if _checks.flag("center", self.center) else np.zeros(table.shape[1])
        centred = table - self.mean_
        p, q = table.shape
        M, b = (Identity(table.shape), centred) if seen.all() else Sampling.from_array(centred)
        rank = self.rank if self.rank is None else _checks.integer("rank", self.rank, 1, min(p, q))
        entries = self.entries if self.entries is None else _checks.integer("entries", self.entries, 1, p * q)
        with _checks.told_of("b", "X"):
            self.solution_ = fit(
                M,
                b,
                atoms=RankOne(p, q) + SignedOneHot((p, q)),
                k=(rank, entries),
                callback=self.callback,
                rng=seed(self.random_state),
            )
        low, few = self.solution_.parts
        self._scores, self.singular_values_, self.components_ = _components(low.left, low.right)
        self.rank_ = len(self.components_)
        places = few.indices.reshape(-1, 2)
        self.sparse_ = sp.csr_array((few.coefficients, (places[:, 0], places[:, 1])), shape=(p, q))
        self.threshold_ = self._threshold(centred, seen)
        return self

    def _threshold(self, centred: FloatArray, seen: Array) -> float:
        left = np.abs(centred - self._scores @ self.components_)[seen]
        return max(OUTSTANDING * float(np.median(left)), NEVER_OUT * float(np.abs(centred[seen]).max()))

    @property
    def low_rank_(self) -> FloatArray:
        return self._scores @ self.components_ + self.mean_

    @property
    def _n_features_out(self) -> int:
        return self.rank_

    def _table(self, X: object, *, reset: bool = False) -> FloatArray:
        return with_gaps(self, X, reset=reset)

    def transform(self, X: object) -> FloatArray:
        """The scores of rows: those of a regression on the components from which entries that stand out are left out.

        Each row by itself, at most half of its entries beyond as many as there are components. A row that was fitted
        gets its scores in L, unless they are only one of several ways to leave entries out.
        """
        check_is_fitted(self)
        table = self._table(X)
        scores = np.empty((len(table), self.rank_))
        for some in self._blocks(len(table)):
            scores[some] = _trimmed(table[some] - self.mean_, self.components_, self.threshold_)
        return scores

    def _blocks(self, count: int) -> Iterator[slice]:
        size = max(1, ROWS_WORK // (self.components_.shape[1] * max(1, self.rank_)))
        return (slice(start, start + size) for start in range(0, count, size))

    def inverse_transform(self, X: object) -> FloatArray:
        """The rows of L that have these scores."""
        check_is_fitted(self)
        scores: FloatArray = check_array(X, dtype=np.float64, ensure_min_features=0)
        if scores.shape[1] != self.rank_:
            raise ValueError(f"X must have {self.rank_} columns, one for each component; got shape {scores.shape}")
        return scores @ self.components_ + self.mean_


def _medians(table: FloatArray) -> FloatArray:
    """Of what is seen of each column; 0 where that is nothing."""
    some = ~np.isnan(table).all(axis=0)
    medians = np.zeros(table.shape[1])
    medians[some] = np.nanmedian(table[:, some], axis=0)
    return medians


def _components(left: Array, right: Array) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scores, singular values and orthonormal components of left right^T; the largest entry of each is positive."""
    (P, A), (Q, B) = np.linalg.qr(left), np.linalg.qr(right)
    U, s, Vt = np.linalg.svd(A @ B.T)
    components = Vt @ Q.T
    largest = np.abs(components).argmax(axis=1, keepdims=True)
    signs = np.sign(np.take_along_axis(components, largest, axis=1))
    return P @ (U * s) * signs.T, s, components * signs


def _trimmed(rows: FloatArray, V: FloatArray, threshold: float) -> FloatArray:
    """Scores t of rows x that minimise the sum of (x - tV)^2 over the entries that are seen and do not stand out.

    Residuals are clipped at thresholds that fall from the largest entry of the row to the one that is given, with a few
    steps of a majoriser at each, which finds scores among gross errors; then those beyond the last are left out
    altogether, until they stay the same.
    """
    seen = ~np.isnan(rows)
    x = np.where(seen, rows, 0.0)
    inverse = None if seen.all() else _inverses(seen, V)
    top = np.maximum(np.abs(x).max(axis=1, keepdims=True), threshold)
    t = np.zeros((len(x), len(V)))
    for step in range(RUNGS * STEPS_EACH):
        bound = np.maximum(top * DOWN ** (step // STEPS_EACH), threshold)
        pull = np.where(seen, np.clip(x - t @ V, -bound, bound), 0.0) @ V.T
        t += pull if inverse is None else np.einsum("iab,ib->ia", inverse, pull)
    kept, turning = np.zeros_like(seen), np.arange(len(x))
    for _ in range(TRIMS):
        now = _kept(x[turning], seen[turning], t[turning] @ V, threshold, len(V))
        changed = (now != kept[turning]).any(axis=1)
        turning, now = turning[changed], now[changed]
        if turning.size == 0:
            break
        kept[turning] = now
        t[turning] = np.einsum("iab,ib->ia", _inverses(now, V), (now * x[turning]) @ V.T)
    return t


def _kept(x: FloatArray, seen: Array, said: FloatArray, threshold: float, rank: int) -> Array:
    """Entries that do not stand out; of those that do, the smaller ones where too few would be left."""
    size = np.where(seen, np.abs(x - said), -1.0)
    most = np.maximum(seen.sum(axis=1) - rank, 0) // 2
    places = np.argsort(np.argsort(-size, axis=1, kind="stable"), axis=1, kind="stable")
    return seen & ~((size >= threshold) & (places < most[:, None]))


def _inverses(kept: Array, V: FloatArray) -> FloatArray:
    """Of the Gram matrices of V over the entries kept, row by row; pseudoinverses where these are too few."""
    outer = (V[:, None] * V[None]).reshape(-1, V.shape[1])
    grams = (kept @ outer.T).reshape(len(kept), len(V), len(V))
    return np.asarray(np.linalg.pinv(grams, hermitian=True), dtype=np.float64)
