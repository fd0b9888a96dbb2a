"""Matrices with missing entries: fill them in, predict, recommend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from fewatoms import _checks, frames
from fewatoms._types import Array, FloatArray, Foreign, IntArray
from fewatoms.completed import Completed, Entries
from fewatoms.estimators.base import with_gaps
from fewatoms.estimators.entries import click_score, clicks, spanned, weighed
from fewatoms.estimators.filed import files_meant, from_files, solved
from fewatoms.estimators.pairs import column, measured, pairs, warn_of_triplets
from fewatoms.ids import UNKNOWN, Ids, listed, told

if TYPE_CHECKING:
    from sklearn.utils import Tags


class MatrixCompletion(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A matrix of low rank from some of its entries: users and items, rows with gaps.

    `fit(X)` takes a table with NaN for what is missing, `fit(pairs, y)` entries by the ids of their rows and columns,
    `fit(frame, user="u", item="i", value="r")` columns of a frame by name, `fit("folder/")` files of entries that may
    be larger than memory (`EntryBlocks`). Two columns beside y are pairs, unless they
    hold numbers with fractions; beside any other table y is ignored, as transformers do. Sparse matrices are refused:
    they do not tell zeros from missing entries.

    Parameters
    ----------
    rank : int, optional
        How many atoms at most. None: the one of 1, 2, 3, 5, 8, 12, 20 that predicts entries held out best, tried in
        turn until three in a row predict no better.
    biases : bool
        Whether a centre, row and column biases stand beside the atoms.
    ridge : float or "auto", optional
        On the nuclear norm, and on the biases beside it. None, or "auto": what predicts entries held out best, 0 among
        others. 0 is the plain fit of that rank, for data without noise.
    clip : (low, high) or "auto", optional
        Range that predictions keep to; "auto" is that of the values fitted.
    nonnegative : bool
        Whether factors must not be negative.
    duplicates : "error", "mean", "last" or "sum"
        What to do with entries that occur more than once.
    background : float, optional
        For clicks: the weight of all cells without an entry, as zeros, such as 1. y are counts then (of a table what is
        above 0), each a preference of 1 with weight 1 + confidence * count; ridge and rank are those that rank clicks
        held out best. None or 0: cells without an entry are unknown.
    confidence : float, what one more click adds to a weight, beside a background
    engine : who works on the entries of files: see `EntryBlocks.of`. None: the Dask client that is open, or threads
    callback : callable, optional
        As for `fewatoms.fit`. A `Deadline` serves one fit: give a new one for the next, or for a clone.
    random_state : int, RandomState or Generator, optional
        Of start vectors and of the entries held out; None is a fixed seed.

    Attributes
    ----------
    solution_ : Solution, with its certificate; it knows codes, the places of ids in row_ids_ and col_ids_
    row_ids_, col_ids_ : the ids; sorted, or as they came where they have no order; numbers for the rows of a table
    left_, right_ : the factors, one row per id; row_biases_, col_biases_, center_ : beside them, 0 where there are none
    mean_ : the (weighted) mean of the values fitted
    rank_ : how many atoms there are: the rank given or chosen, or fewer where fewer explain all that more would
    ridge_ : as given or chosen, a pair, on the factors and on the biases
    n_features_in_, feature_names_in_ : of a table
    """

    def __init__(
        self,
        rank: int | None = None,
        *,
        biases: bool = False,
        ridge: float | str | None = None,
        clip: tuple[float, float] | str | None = None,
        nonnegative: bool = False,
        duplicates: str = "error",
        background: float | None = None,
        confidence: float = 1.0,
        engine: object = None,
        callback: Callable[..., None] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.rank = rank
        self.biases = biases
        self.ridge = ridge
        self.clip = clip
        self.nonnegative = nonnegative
        self.duplicates = duplicates
        self.background = background
        self.confidence = confidence
        self.engine = engine
        self.callback = callback
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # Fitting ----------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: object,
        y: object = None,
        *,
        sample_weight: object = None,
        user: str | None = None,
        item: str | None = None,
        value: str | None = None,
    ) -> Self:
        """Fit to a table, to pairs of ids with values y, or to columns of a frame by name.

        sample_weight : how much each pair counts, or each row of a table; 0 leaves it out
        """
        if files_meant(X):
            return self._fit_files(X, y, sample_weight, (user, item, value))
        _checks.require(self.engine is None, "engine", "None where X is no file or folder", self.engine)
        entries = clicks(self, self._read(X, y, sample_weight, (user, item, value)).once(self.duplicates))
        span = spanned(self.clip, entries.range)
        of_pairs = "y" if value is None else f"the column {value!r}"
        with _checks.told_of("b", "X" if hasattr(self, "n_features_in_") else of_pairs):
            self.solution_ = solution = solved(self, entries.sampling(), entries.values, entries.weights)
        self.mean_ = entries.mean
        self.rank_, self.ridge_ = solution.cardinality, solution.ridge
        mean = 0.0 if entries.background else self.mean_
        self._filled = Completed(solution.model, entries.rows, entries.cols, entries.grid, mean, span)
        return self

    def _fit_files(self, X: object, y: object, sample_weight: object, named: tuple[str | None, ...]) -> Self:
        """Entries of files stay in blocks, with the estimator, for recommendations."""
        with _checks.told_of("b", "X"):
            M, solution = from_files(self, X, y, sample_weight, named)
        self._remember(None, M.called[:2])
        self.solution_, self.mean_ = solution, M.mean_value
        self.rank_, self.ridge_ = solution.cardinality, solution.ridge
        span = spanned(self.clip, np.array(M.span))
        self._filled = Completed(solution.model, Ids(M.row_ids), Ids(M.col_ids), None, self.mean_, span, M.seen)
        return self

    def _remember(self, frame: frames.Frame | None, named: tuple[str, ...]) -> None:
        """The kind of data frame for recommendations, and the columns of pairs; earlier tables are forgotten."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self._frame = None if frame is None else type(frame.native)
        self._named = named

    def _read(self, X: object, y: object, sample_weight: object, named: tuple[str | None, ...]) -> Entries:
        frame = frames.framed("X", X)
        self._remember(frame, ())
        called = "y"
        if any(name is not None for name in named):
            columns, y = self._by_name(frame, named)
            called = f"the column {named[2]!r}"
        else:
            two = None if y is None else pairs("X", X)
            if two is None or measured(two):
                warn_of_triplets(frame)
                table = self._table(X, reset=True)
                cols = Ids(getattr(self, "feature_names_in_", np.arange(table.shape[1])))
                return Entries.of_table(table, cols, weighed(sample_weight, len(table)))
            columns = two
            if frame is not None:
                self._named = tuple(str(label) for label in frame.labels)
        values = _checks.real_vector(called, frames.vector(called, y), len(columns[0]), " (one per pair)")
        return Entries.of_pairs(columns, values, weighed(sample_weight, values.size))

    def _by_name(self, frame: frames.Frame | None, named: tuple[str | None, ...]) -> tuple[tuple[Array, Array], Array]:
        user, item, value = named
        if frame is None or user is None or item is None or (value is None and not self.background):
            came = f"got {', '.join(map(repr, named))}{'' if frame is not None else ' beside an X that is none'}"
            raise ValueError(f"user, item and value must name columns of a data frame X, all three; {came}")
        self._named = (user, item)
        users = column(frame, user)
        return (users, column(frame, item)), np.ones(len(users)) if value is None else column(frame, value)

    def _table(self, X: object, *, reset: bool = False) -> FloatArray:
        """A table with NaN for what is missing, its columns checked against those known."""
        if reset or hasattr(self, "n_features_in_"):
            try:
                return with_gaps(self, X, reset=reset)
            except (TypeError, ValueError) as error:
                if not any(words in str(error) for words in ("could not convert", "these hold others")):
                    raise
                how = "entries with ids are fit(pairs, y), or fit(frame, user=..., item=..., value=...)"
                told = error if isinstance(error, TypeError) else f"X must hold numbers where it is a table; {error}"
                raise type(error)(f"{told}: {how}") from None
        named = frames.table("X", X, tuple(map(str, self.col_ids_)))
        array: FloatArray = check_array(named, dtype=np.float64, ensure_all_finite="allow-nan")
        if array.shape[1] != len(self.col_ids_):
            raise ValueError(
                f"X must be pairs of ids, or a table with one column for each of the {len(self.col_ids_)} ids in "
                f"col_ids_; got shape {array.shape}"
            )
        return array

    # What is known afterwards -----------------------------------------------------------------------------------------

    @property
    def row_ids_(self) -> Array:
        return self._filled.rows.values

    @property
    def col_ids_(self) -> Array:
        return self._filled.cols.values

    @property
    def left_(self) -> Array:
        return self._filled.model.left

    @property
    def right_(self) -> Array:
        return self._filled.model.right

    @property
    def center_(self) -> float:
        biases = self._filled.model.biases
        return 0.0 if biases is None else biases.center

    @property
    def row_biases_(self) -> FloatArray:
        biases = self._filled.model.biases
        return np.zeros(len(self.row_ids_)) if biases is None else biases.rows

    @property
    def col_biases_(self) -> FloatArray:
        biases = self._filled.model.biases
        return np.zeros(len(self.col_ids_)) if biases is None else biases.cols

    # Pairs ------------------------------------------------------------------------------------------------------------

    def _codes(self, X: object) -> tuple[IntArray, IntArray] | None:
        """The codes of pairs of ids; None where X is a table."""
        two = pairs("X", X, self._named)
        width = getattr(self, "n_features_in_", 0)
        if two is None or (width == 2 and (measured(two) or frames.names_of("X", X) is not None)):
            return None
        rows, cols = self._filled.rows, self._filled.cols
        return rows.codes("the first column of pairs", two[0]), cols.codes("the second column of pairs", two[1])

    def predict(self, X: object) -> FloatArray:
        """What the model says of pairs of ids, or of all entries of a table, those that are there included.

        A number for every pair: where an id is not known, by the biases of the other; without biases, the mean of the
        values fitted. Rows of a table are folded in, each by its own entries.
        """
        check_is_fitted(self)
        codes = self._codes(X)
        if codes is not None:
            return self._filled.at(*codes)
        table = self._table(X)
        i, j = np.indices(table.shape).reshape(2, -1)
        return self._said_of(table, i, j).reshape(table.shape)

    def score(self, X: object, y: object = None, sample_weight: object = None) -> float:
        """The R^2 of predictions for pairs with values y. Beside a background the NDCG of pairs that were not fitted (y
        is ignored): where they stand among all columns of their rows that were not clicked on.

        Of a table (y is ignored): the entries of each row are dealt out in turn to two halves, and each half is
        predicted from the other, so that rows that were not fitted tell which model is better.
        """
        check_is_fitted(self)
        if self._filled.model.background:
            return click_score(self._filled, self._codes(X))
        codes = None if y is None else self._codes(X)
        if codes is None:
            return self._score_of_table(self._table(X), sample_weight)
        values = _checks.real_vector("y", frames.vector("y", y), codes[0].size, " (one per pair)")
        return float(r2_score(values, self._filled.at(*codes), sample_weight=weighed(sample_weight, values.size)))

    def _score_of_table(self, table: FloatArray, sample_weight: object) -> float:
        weights = weighed(sample_weight, len(table))
        there = ~np.isnan(table)
        half = there.cumsum(axis=1) % 2
        said = np.full(table.shape, np.nan)
        for side in (0, 1):
            i, j = np.nonzero(there & (half == side))
            said[i, j] = self._said_of(np.where(half == side, np.nan, table), i, j)
        i, j = np.nonzero(there)
        return float(r2_score(table[i, j], said[i, j], sample_weight=None if weights is None else weights[i]))

    def recommend(self, users: object = None, n: int = 10, *, exclude_seen: bool = True) -> Foreign:
        """The columns with the n largest predictions for each of these rows, largest first, and the predictions.

        Two arrays with a row per user: ids and scores; None and NaN where fewer than n are left. Where a data frame was
        fitted, one of its kind with a row per recommendation, fewer than n where fewer are left. Users that are not
        known are served by the column biases; without biases they are refused.

        users : ids, in a list, an array or a series; None for all that are known
        exclude_seen : leave out what the user has entries for
        """
        check_is_fitted(self)
        n, filled = _checks.integer("n", n, 1), self._filled
        asked = filled.rows.values if users is None else np.asarray(listed("users", users))
        rows = filled.rows.codes("users", asked)
        unknown = asked[rows == UNKNOWN]
        if unknown.size and filled.model.biases is None:
            raise ValueError(
                f"users must be known where there are no biases; {unknown.size} are not, {told(unknown)}: fold them in"
            )
        cols, scores = filled.best(rows, n, exclude_seen=_checks.flag("exclude_seen", exclude_seen))
        if self._frame is None:
            return filled.cols.at(cols), scores
        there = cols != UNKNOWN
        user, item = self._named or ("row", "column")
        long = {
            user: _narrow(np.repeat(asked, there.sum(axis=1))),
            item: _narrow(filled.cols.values[cols[there]]),
            "score": scores[there],
        }
        return getattr(self._frame, "from_pydict", self._frame)(long)

    # Tables -----------------------------------------------------------------------------------------------------------

    def transform(self, X: object) -> FloatArray:
        """A table with what is missing filled in; what is there stays as it is.

        Each row is folded in by its own entries, so that rows may be new: a row that was fitted gets the factor that it
        had, as well as the fit has converged.
        """
        check_is_fitted(self)
        if self._filled.model.background:
            raise ValueError("transform fills in values; beside a background there are counts and preferences: predict")
        table = self._table(X).copy()
        i, j = np.nonzero(np.isnan(table))
        table[i, j] = self._said_of(table, i, j)
        return table

    def _said_of(self, table: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
        """What the model says of entries (i, j) of a table."""
        if i.size == 0 or np.isnan(table).all():
            return self._filled.at(np.full(i.size, UNKNOWN), j)
        fresh = clicks(self, Entries.of_table(table, self._filled.cols, None))
        return self._filled.extended(fresh, 0).at(len(self.row_ids_) + i, j)

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Those of a table; the ids of the columns where pairs were fitted."""
        check_is_fitted(self)
        if hasattr(self, "n_features_in_"):
            return super().get_feature_names_out(input_features)
        return np.array([str(value) for value in self.col_ids_], dtype=object)

    # New ones ---------------------------------------------------------------------------------------------------------

    def fold_in(self, X: object, y: object = None, *, axis: int = 0, sample_weight: object = None) -> Self:
        """Make new rows known by some of their entries, or new columns with axis=1; all else stays as it is.

        `fold_in(pairs, y)`: ids along the axis are new, those along the other known. `fold_in(X)`, where a table was
        fitted: its rows are numbered on. `solution_` stays that of the fit.
        """
        check_is_fitted(self)
        _checks.require(axis in (0, 1), "axis", "0 (new rows) or 1 (new columns)", axis)
        if y is None:
            self._filled = self._filled.extended(self._fresh_rows(X, axis, sample_weight), 0)
            return self
        two = pairs("X", X, self._named)
        if two is None:
            raise ValueError(f"X must be pairs of ids beside y; got {_checks.came(X)}")
        values = _checks.real_vector("y", frames.vector("y", y), len(two[0]), " (one per pair)")
        fresh = Entries.of_pairs(two, values, weighed(sample_weight, values.size))
        self._filled = self._filled.extended(clicks(self, self._placed(fresh, axis).once(self.duplicates)), axis)
        return self

    def _fresh_rows(self, X: object, axis: int, sample_weight: object) -> Entries:
        if not hasattr(self, "n_features_in_") or axis != 0:
            raise ValueError(
                "X must be pairs of ids beside their values y, unless it has new rows of a table; y is None"
            )
        table, known = self._table(X), len(self.row_ids_)
        fresh = clicks(self, Entries.of_table(table, self._filled.cols, weighed(sample_weight, len(table))))
        return replace(fresh, rows=Ids(known + fresh.rows.values))

    def _placed(self, fresh: Entries, axis: int) -> Entries:
        """New entries with the codes of the ids that are known along the other axis."""
        new, old = (fresh.rows, fresh.cols) if axis == 0 else (fresh.cols, fresh.rows)
        mine = (self._filled.rows, self._filled.cols)
        again = new.values[mine[axis].codes("pairs", new.values) != UNKNOWN]
        if again.size:
            raise ValueError(f"X must have new ids along axis {axis}; {again.size} are known already, {told(again)}")
        codes = mine[1 - axis].codes("pairs", old.values)
        if (codes == UNKNOWN).any():
            strange = old.values[codes == UNKNOWN]
            raise ValueError(f"X must have known ids along axis {1 - axis}; {strange.size} are not, {told(strange)}")
        if axis == 0:
            return replace(fresh, j=codes[fresh.j], cols=mine[1])
        return replace(fresh, i=codes[fresh.i], rows=mine[0])


def _narrow(ids: Array) -> Array | list[object]:
    """A column that frames know the type of."""
    return ids.tolist() if ids.dtype.kind == "O" else ids
