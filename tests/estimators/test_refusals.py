"""What estimators refuse, each in one line that names the argument, the demand and what came."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

import fewatoms as fa
from estimators.tables import NAMES, rows
from fewatoms.estimators import (
    MatrixCompletion,
    RobustPCA,
    SparseClassifier,
    SparseClassifierCV,
    SparseCoder,
    SparseRegressor,
    SparseRegressorCV,
)

X, Y = rows()
FRAME = pd.DataFrame(X, columns=NAMES)
LABELS = np.where(Y - np.median(Y) > 0, "high", "low")
MODELS = {
    "regressor": SparseRegressor(2),
    "classifier": SparseClassifier(2, 0.1),
    "coder": SparseCoder(X, 2),
    "completion": MatrixCompletion(1, ridge=0.0),
    "robust": RobustPCA(1),
}
every_model = pytest.mark.parametrize("name", MODELS)


def assert_refused(name, given, message, kind=ValueError):
    """In one line."""
    with pytest.raises(kind, match=message) as told:
        MODELS[name].fit(given, LABELS if name == "classifier" else Y)
    assert "\n" not in str(told.value)


# Columns --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [{}, {"loss": "huber", "delta": 1.0}, {"groups": [0, 0, 1, 1, 2, 2, 3, 3]}], ids=str)
def test_columns_too_large_to_be_measured_are_refused_beside_an_intercept(words):
    with pytest.raises(ValueError, match=r"^X must be in units in which .* too large here: rescale it$"):
        SparseRegressor(2, **words).fit(FRAME.assign(age=1e200 * FRAME["age"]), Y)


@every_model
def test_columns_that_are_called_the_same_are_refused(name):
    assert_refused(
        name, FRAME.rename(columns={"bmi": "age"}), "^X must have columns of different names; 'age' is there more"
    )


@every_model
def test_complex_columns_are_refused(name):
    message = "^X must hold real numbers; got an array of complex128"
    for given in (FRAME.assign(bmi=FRAME["bmi"] + 1j), FRAME + 0j, X + 0j):
        assert_refused(name, given, message)


def test_complex_numbers_are_refused_elsewhere():
    mixed = FRAME.assign(bmi=FRAME["bmi"] + 1j)
    with pytest.raises(ValueError, match=r"^y must hold real numbers; got an array of complex128"):
        SparseRegressor(2).fit(FRAME, Y + 1j)
    with pytest.raises(ValueError, match=r"^dictionary must hold real numbers; got an array of complex128"):
        SparseCoder(mixed, 2).fit(X)
    with pytest.raises(ValueError, match=r"^X must hold real numbers; got an array of complex128"):
        SparseCoder(FRAME, 2).fit(FRAME).answers(mixed)
    with pytest.raises(TypeError, match=r"^M must be real; got complex128"):
        fa.fit(mixed, Y, atoms=fa.SignedOneHot(8), k=2)


@every_model
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_columns_of_dates_and_text_are_named(name, kind):
    for odd in (pd.date_range("2026-01-01", periods=60), ["x"] * 60):
        given = kind({**dict(FRAME), "odd": odd}) if kind is pd.DataFrame else pl.from_pandas(FRAME.assign(odd=odd))
        assert_refused(name, given, r"^X must have numbers in all columns; these hold others: 'odd'", TypeError)


@every_model
def test_frames_of_objects_that_are_numbers_are_read_as_arrays_of_them_are(name):
    y = LABELS if name == "classifier" else Y
    plain, boxed = (MODELS[name].fit(given, y).__dict__.copy() for given in (FRAME, FRAME.astype(object)))
    for attribute in ("coef_", "dictionary_", "mean_", "components_"):
        np.testing.assert_array_equal(plain.get(attribute, 0), boxed.get(attribute, 0))
    assert boxed["feature_names_in_"].tolist() == list(NAMES)


def test_gaps_in_frames_of_objects_are_named():
    boxed = FRAME.astype(object)
    boxed.loc[3, "bp"] = None
    with pytest.raises(ValueError, match=r"^X must have no missing values; got 1 in column 'bp'"):
        SparseRegressor(2).fit(boxed, Y)
    assert MatrixCompletion(1, ridge=0.0).fit(boxed).transform(boxed).shape == X.shape


# Units ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_units_are_told_of_what_came(size):
    message = r"must be in units in which its loss is an ordinary number; got \S+: rescale it$"
    assert_refused("robust", size * FRAME, f"^X {message}")
    assert_refused("completion", size * X, f"^X {message}")
    with pytest.raises(ValueError, match=f"^y {message}"):
        SparseRegressor(2).fit(X, size * Y)
    ids = pd.DataFrame({"u": [0, 0, 1, 1], "i": [0, 1, 0, 1], "r": size * Y[:4]})
    with pytest.raises(ValueError, match=f"^y {message}"):
        MatrixCompletion(1, ridge=0).fit(ids[["u", "i"]], ids["r"])
    with pytest.raises(ValueError, match=f"^the column 'r' {message}"):
        MatrixCompletion(1, ridge=0).fit(ids, user="u", item="i", value="r")


def test_weights_may_be_what_is_too_small():
    with pytest.raises(ValueError, match=r"^y must be in units .*: rescale it, or its weights$"):
        SparseRegressor(2).fit(X, Y, sample_weight=np.full(60, 1e-320))


# Targets and choices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["string", "str", "category", object])
@pytest.mark.parametrize(
    "model", [SparseClassifier(2, 0.1), SparseClassifierCV([1], 0.1, StratifiedKFold(2))], ids=["plain", "cv"]
)
def test_labels_that_are_missing_are_counted(model, kind):
    labels = pd.Series([None, *LABELS[1:]], dtype=kind)
    with pytest.raises(ValueError, match=r"^y must have no missing values; got 1: leave those rows out$"):
        model.fit(FRAME, labels)


def test_rows_of_one_class_are_not_fitted_to():
    ordered = np.sort(LABELS)
    with pytest.raises(ValueError, match=r"^cv must leave rows of two classes or more to be fitted to; split 1"):
        SparseClassifierCV([1], 0.1, cv=KFold(2)).fit(X, ordered)
    assert SparseClassifierCV([1], 0.1, cv=StratifiedKFold(2)).fit(X, ordered).k_ == 1


@pytest.mark.parametrize("model", [SparseRegressor(2, delta=1.0), SparseRegressorCV([1], 0.0, delta=1.0)], ids=repr)
def test_a_delta_is_for_huber_alone(model):
    with pytest.raises(ValueError, match=r"^delta must be None unless loss is 'huber'; got 1.0$"):
        model.fit(X, Y)


# Groups ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pd.Series, pd.Categorical, lambda g: np.array(g, dtype=object), pl.Series])
def test_labels_of_groups_are_their_names_whatever_they_come_in(kind):
    groups = ["body", "body", "body", "blood", "blood", "blood", "blood", "rest"]
    model = SparseRegressor(1, groups=kind(groups)).fit(FRAME, Y)
    assert model.solution_.names.tolist() == ["body"]
    s = fa.fit(FRAME, Y, atoms=fa.Groups(kind(groups)), k=1, free="intercept")
    assert s.names.tolist() == ["body"]
