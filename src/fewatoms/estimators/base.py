"""What estimators share: rows read and weighed, atoms made of features, k chosen, attributes kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from sklearn import __version__
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import check_is_fitted, validate_data

from fewatoms import _checks, frames
from fewatoms._types import Array, FloatArray, Foreign, IntArray, Matrix
from fewatoms.choosing import FOLDS
from fewatoms.classes import missing
from fewatoms.doors import Words, fit
from fewatoms.estimators.features import atoms_of
from fewatoms.estimators.hearing import Hearing, tasks
from fewatoms.estimators.pairs import gapped
from fewatoms.estimators.seeds import seed
from fewatoms.losses import Loss
from fewatoms.operators import MatrixOperator
from fewatoms.path import Path, fit_path
from fewatoms.solution import Solution

# Since then scikit-learn knows frames that are not pandas'.
SINCE_1_9 = [int(part) for part in __version__.split(".")[:2]] >= [1, 9]

MOST_TRIED = 40  # the largest number of atoms that is tried where nobody says
ROWS_EACH = 5  # of the rarest class, for each atom tried

Folds: TypeAlias = "int | list[tuple[IntArray, IntArray]]"


# Rows -----------------------------------------------------------------------------------------------------------------


def numbers(name: str, X: object) -> object:
    """The columns of a data frame as one array, refused where they hold anything else; other things as they are."""
    frame = unboxed(name, X)
    return real(name, X if frame is None else frame.numbers())


def unboxed(name: str, X: object) -> frames.Frame | None:
    """The data frame that an argument is, with columns of objects that are numbers as such: arrays of objects are read
    that way too."""
    frame = frames.framed(name, X)
    plain = None if frame is None or frame.numeric else getattr(frame.native, "infer_objects", None)
    return frame if plain is None else frames.framed(name, plain())


def real(name: str, values: Foreign) -> Foreign:
    """Refuse complex arrays in one line, in scikit-learn's words; other things are as they are."""
    kind = getattr(values, "dtype", None)
    if getattr(kind, "kind", "") == "c":
        raise ValueError(f"{name} must hold real numbers; got an array of {kind}. Complex data not supported")
    return values


def target(y: object) -> Foreign:
    """Data or labels as an array, none of which is missing."""
    values = real("y", frames.vector("y", y))
    if isinstance(values, np.ndarray) and values.dtype.kind == "O":
        count = sum(map(missing, values.ravel().tolist()))
        if count:
            raise ValueError(f"y must have no missing values; got {count}: leave those rows out")
    return values


@dataclass(frozen=True, eq=False)
class Data:
    """Rows that count: those of weight 0 are left out.

    M, y : the rows, with the names of the columns, and data or labels for them
    weights : positive ones; None where all are 1
    rows : which of the rows that came these are
    came : how many came
    """

    M: MatrixOperator
    y: Array
    weights: FloatArray | None
    rows: IntArray
    came: int

    @classmethod
    def of(cls, X: Matrix, y: Array, weights: FloatArray, came: object) -> Data:
        """Those of X as an array, and of what it came as."""
        rows = np.flatnonzero(weights)
        if not rows.size:
            raise ValueError("sample_weight must not be zero for all rows, nor class_weight for all classes")
        if rows.size < weights.size:
            X, y = X[rows], y[rows]
        own = weights[rows]
        M, frame = MatrixOperator(X, frames.names_of("X", came), name="X"), frames.framed("X", came)
        M.framed = None if frame is None else frame.maker  # tables of answers are of the same kind
        return cls(M, y, None if (own == 1.0).all() else own, rows, weights.size)

    def placed(self, some: Array) -> IntArray:
        """Where these of the rows that came are; those that were left out are nowhere."""
        place = np.full(self.came, -1)
        place[self.rows] = np.arange(self.rows.size)
        found = place[_checks.indices("cv", some, self.came)]
        return np.asarray(found[found >= 0])


class _Headed:
    """What scikit-learn asks of a data frame: how large it is, and what its columns are called."""

    def __init__(self, frame: frames.Frame) -> None:
        self.shape = frame.native.shape
        self.column_names = lambda: list(frame.labels)

    def __dataframe__(self) -> _Headed:
        return self


def remembered(estimator: object, X: object, *, reset: bool) -> None:
    """What the columns of X are is kept in the estimator, or held against what is kept there."""
    frame = frames.framed("X", X)
    frames.names_of("X", frame)  # which must differ
    foreign = frame is not None and not SINCE_1_9 and not isinstance(frame, frames.PandasFrame)
    validate_data(estimator, _Headed(frame) if frame and foreign else X, reset=reset, skip_check_array=True)


def with_gaps(estimator: object, X: object, *, reset: bool) -> FloatArray:
    """A table with NaN for what is missing, whose columns are remembered or checked."""
    frame = unboxed("X", X)
    if frame is not None:
        frame.refuse_others()
    values = real("X", frames.table("X", X if frame is None else frame))
    table: FloatArray = check_array(
        gapped(values), dtype=np.float64, ensure_all_finite="allow-nan", estimator=estimator,
        input_name="X",
    )  # fmt: skip
    remembered(estimator, X, reset=reset)
    return table


def checked(estimator: object, X: object, y: object, *, numeric: bool) -> tuple[Matrix, Array]:
    """Rows and data as arrays; what the estimator remembers of the columns is set."""
    values, data = check_X_y(
        numbers("X", X),
        target(y),
        accept_sparse=("csr", "csc"),
        dtype=(np.float64, np.float32),
        y_numeric=numeric,
        estimator=estimator,
    )
    remembered(estimator, X, reset=True)
    return values, data


def new_rows(estimator: object, X: object) -> Matrix:
    """Rows not seen, whose columns are those that the estimator was fitted to, in their order."""
    check_is_fitted(estimator)
    values = check_array(
        numbers("X", X), accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), estimator=estimator,
        input_name="X",
    )  # fmt: skip
    remembered(estimator, X, reset=False)
    return values


def weights_of(sample_weight: object, rows: int) -> FloatArray:
    """One for each row; 1 where nobody says."""
    if sample_weight is None:
        return np.ones(rows)
    given = np.asarray(frames.vector("sample_weight", sample_weight))
    demand = f"sample_weight must have shape ({rows},), one nonnegative number per row"
    if given.shape != (rows,):
        raise ValueError(f"{demand}; got shape {given.shape}")
    weights = _checks.real_vector("sample_weight", given)
    if weights.min(initial=0.0) < 0:
        raise ValueError(f"{demand}; got {weights.min()}. Negative values in sample_weight mean nothing here")
    return weights


# Answers --------------------------------------------------------------------------------------------------------------


def compared(
    data: Data, words: Words, ks: Iterable[object] | None, ridge: object, folds: Folds, rule: str = "best"
) -> Path:
    """The path of answers, with that k chosen, and that ridge, which predict rows left out best."""
    rows, count = data.y.size, words["atoms"].count
    if isinstance(folds, int) and not 2 <= folds <= rows:
        raise ValueError(
            f"cv must be a number of folds between 2 and that of the rows; got {folds}, n_samples = {rows}"
        )
    if ks is not None and not _checks.several(ks):
        raise TypeError(f"ks must be several numbers of features such as range(1, 11); got {_checks.came(ks)}")
    if words["loss"].labelled and not isinstance(folds, int):
        _refuse_one_class(data, folds)
    sizes = range(1, _most(data, words, folds) + 1) if ks is None else _within(ks, count)
    asked: Words = {**words, "ridge": ridge}
    with _said():
        path = fit_path(data.M, data.y, k=sizes, **asked)
        path.choose_k("cv", folds=folds, rule=rule, rng=words.get("rng"), callback=words.get("callback"))
    return path


def _refuse_one_class(data: Data, folds: list[tuple[IntArray, IntArray]]) -> None:
    """Rows that are fitted to must be of two classes, or there is nothing to tell apart."""
    for number, (some, _) in enumerate(folds, 1):
        kinds = [*dict.fromkeys(data.y[some].tolist())]
        if len(kinds) == 1:
            raise ValueError(
                f"cv must leave rows of two classes or more to be fitted to; split {number} has only {kinds[0]!r}: "
                "StratifiedKFold keeps the shares of the classes"
            )


def at_most(k: object, count: int, what: str = "feature(s) or groups") -> int:
    """So many of a number of atoms; more than there are are refused."""
    wanted = _checks.integer("k", k, 1)
    if wanted > count:
        raise ValueError(f"k must be at most {count}, as there are {count} {what}; got {wanted}")
    return wanted


def _within(ks: Iterable[object], count: int) -> list[int]:
    """Those of several k that there are features for; the largest of them if one is beyond, refused if all are."""
    wanted = [*dict.fromkeys(_checks.integer("ks", k, 1) for k in ks)]
    return [k for k in wanted if k <= count] or [at_most(k, count) for k in wanted]


def _most(data: Data, words: Words, folds: Folds) -> int:
    """Atoms that the rows of a fold allow: one for each row beside the intercept, or for some of the rarest class."""
    rows = data.y.size
    fitted = (
        min([len(some) for some, _ in folds] or [1]) if isinstance(folds, list) else rows - -(-rows // max(1, folds))
    )
    allowed = fitted - (words.get("free") is not None)
    if words["loss"].labelled:
        rarest = min(Counter(data.y.tolist()).values())
        allowed = round(rarest * fitted / rows) // ROWS_EACH
    return max(1, min(MOST_TRIED, words["atoms"].count, allowed))


def answer(data: Data, words: Words, k: object, ridge: object, misfit: float | None = None) -> Solution:
    """The answer for a k or a misfit; where neither is given, for the k that predicts rows left out best."""
    k = None if k is None else at_most(k, words["atoms"].count)
    if k is None and misfit is None:
        if data.y.size < 2:
            raise ValueError("k must be given where there is 1 sample only: choosing one leaves rows out")
        return compared(data, words, None, ridge, min(FOLDS, data.y.size)).best
    asked: Words = {**words, "ridge": ridge, "misfit": misfit}
    with _said():
        return fit(data.M, data.y, k=k, **asked)


def _said() -> ExitStack:
    """Messages in the words of estimators."""
    stack = ExitStack()
    for library, here in (("b", "y"), ("M", "X"), ("folds", "cv")):
        stack.enter_context(_checks.told_of(library, here))
    return stack


class FewFeatures(Hearing, BaseEstimator, ABC):
    """Linear models of few features, or few groups of them.

    solution_ : the answer, with its certificate; k_, ridge_ : as given or chosen; selected_ : the features used
    """

    effort: str
    positive: bool
    groups: object
    fit_intercept: bool
    random_state: object
    solution_: Solution

    def _fitted(
        self, data: Data, loss: Callable[[Words], Loss], settle: Callable[[Words], Solution], X: object, y: object
    ) -> Self:
        """Settle what is asked, within the words that this estimator has for it; X and y are as they came."""
        told = tasks(self, X, y)
        words = Words(
            atoms=atoms_of(data.M.shape[1], data.M.names, self.positive, self.groups),
            effort=self.effort,
            free="intercept" if _checks.flag("fit_intercept", self.fit_intercept) else None,
            rng=seed(self.random_state),
            callback=told,
        )
        words["loss"] = loss(words)
        solution = self.solution_ = settle(words)
        asked = solution.certificate.asked.budget.most
        self.k_ = solution.cardinality if asked is None else asked
        self.ridge_ = solution.ridge
        self.n_iter_ = max(1, solution.iterations)
        self.selected_ = np.flatnonzero(solution.x.reshape(len(solution.x), -1).any(axis=1))
        self._keep(solution)
        if told is not None:
            told.end()
        return self

    @abstractmethod
    def _keep(self, solution: Solution) -> None:
        """Set the attributes that scikit-learn knows a linear model by."""

    def _linear(self, X: object) -> FloatArray:
        """What the model says of new rows, one number each or one for each class."""
        values, used = new_rows(self, X), self.selected_
        return np.asarray(values[:, used] @ self.solution_.x[used] + self.solution_.intercept)

    def __sklearn_tags__(self) -> Foreign:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
