"""Regressors: the answers of `fit` and `fit_path`, whatever the rows come in."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fewatoms as fa
from estimators.tables import CLOTHES, NAMED, NAMES, SERIES, TRUE, rows
from fewatoms.estimators import SparseRegressor, SparseRegressorCV

X, Y = rows()
ATOMS = fa.SignedOneHot(8)


def assert_same(estimator, solution, rtol=1e-9):
    np.testing.assert_array_equal(estimator.selected_, np.sort(solution.indices))
    np.testing.assert_allclose(estimator.coef_, solution.x, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(estimator.intercept_, solution.intercept, rtol=rtol)
    assert estimator.solution_.loss == pytest.approx(solution.loss, rel=rtol)


# The same answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clothes", CLOTHES)
def test_every_clothing_gives_the_answer_of_fit(clothes):
    given = CLOTHES[clothes](X)
    e = SparseRegressor(3).fit(given, Y)
    assert_same(e, fa.fit(X, Y, atoms=ATOMS, k=3, free="intercept"))
    named = clothes in NAMED
    assert hasattr(e, "feature_names_in_") == named
    assert e.solution_.names is None or named
    if named:
        assert e.feature_names_in_.tolist() == list(NAMES)
        assert set(e.solution_.names) == {NAMES[i] for i in e.selected_}
    np.testing.assert_allclose(e.predict(given), e.solution_.predict(X), rtol=1e-12)
    np.testing.assert_allclose(e.predict(given), X @ e.coef_ + e.intercept_, rtol=1e-12)


@pytest.mark.parametrize("clothes", SERIES)
def test_every_clothing_of_the_target(clothes):
    assert_same(SparseRegressor(2).fit(X, SERIES[clothes](Y)), fa.fit(X, Y, atoms=ATOMS, k=2, free="intercept"))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"k": 3, "fit_intercept": False}, {"k": 3, "free": None}),
        ({"misfit": 0.2}, {"misfit": 0.2}),
        ({"k": 4, "misfit": 0.3, "effort": "thorough"}, {"k": 4, "misfit": 0.3, "effort": "thorough"}),
        ({"k": 3, "ridge": 0.5}, {"k": 3, "ridge": 0.5}),
        ({"k": 3, "ridge": "auto"}, {"k": 3, "ridge": "auto"}),
        ({"k": 2, "positive": True}, {"k": 2, "atoms": fa.NonnegativeOneHot(8)}),
        ({"k": 2, "groups": [0, 0, 1, 1, 2, 2, 3, 3]}, {"k": 2, "atoms": fa.Groups([0, 0, 1, 1, 2, 2, 3, 3])}),
        ({"k": 3, "loss": "huber", "delta": 0.2}, {"k": 3, "loss": fa.Huber(0.2)}),
    ],
    ids=str,
)
def test_words_mean_what_they_mean_to_fit(asked, words):
    e = SparseRegressor(**asked).fit(X, Y)
    s = fa.fit(X, Y, **{"atoms": ATOMS, "free": "intercept", **words})
    if "groups" not in asked:
        assert_same(e, s)
    np.testing.assert_allclose(e.coef_, s.x)
    assert e.ridge_ == s.ridge
    assert e.k_ == asked.get("k", s.cardinality)
    assert e.solution_.certificate.loss == pytest.approx(s.loss)


def test_nothing_said_chooses_k_as_a_path_does():
    path = fa.fit_path(X, Y, atoms=ATOMS, k=range(1, 9), free="intercept")
    path.choose_k("cv")
    for e in (SparseRegressor(), SparseRegressorCV(ridges=0.0)):
        assert_same(e.fit(X, Y), path.best)
        assert e.k_ == path.chosen
    np.testing.assert_allclose(e.scores_, path.scores["cv"][None])
    assert e.path_.k == list(range(1, 9))


def test_ridges_are_chosen_as_a_path_does():
    path = fa.fit_path(X, Y, atoms=ATOMS, k=(2, 3), ridge="auto", free="intercept")
    path.choose_k("cv", rule="1se")
    e = SparseRegressorCV((2, 3), rule="1se").fit(X, Y)
    assert_same(e, path.best)
    assert (e.k_, e.ridge_) == (path.chosen, path.ridge)
    assert e.scores_.shape == (len(path.ridges), 2)
    np.testing.assert_allclose(e.scores_, path.scores["cv"])


def test_k_above_the_number_of_features_is_refused_and_a_range_is_cut():
    with pytest.raises(ValueError, match=r"^k must be at most 8, as there are 8 feature\(s\) or groups; got 40$"):
        SparseRegressor(40).fit(X, Y)
    with pytest.raises(ValueError, match=r"^k must be at most 8,"):
        SparseRegressorCV([9, 10], 0.0).fit(X, Y)
    e = SparseRegressor(8).fit(X, Y)
    assert e.k_ == 8
    np.testing.assert_allclose(e.coef_, np.linalg.lstsq(X - X.mean(0), Y - Y.mean(), rcond=None)[0], rtol=1e-8)
    assert SparseRegressorCV([1, 8, 9, 10], 0.0).fit(X, Y).path_.k == [1, 8]


# Splits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [KFold(3), TimeSeriesSplit(3), [*KFold(4).split(X)]], ids=["k", "time", "list"])
def test_splitters_split(cv):
    splits = cv if isinstance(cv, list) else [*cv.split(X)]
    path = fa.fit_path(X, Y, atoms=ATOMS, k=(1, 2, 3), free="intercept")
    path.choose_k("cv", folds=splits)
    e = SparseRegressorCV([1, 2, 3], 0.0, cv=cv).fit(X, Y)
    np.testing.assert_allclose(e.scores_[0], path.scores["cv"])
    assert_same(e, path.best)


def test_splits_are_drawn_once():
    splits = [*KFold(3).split(X)]
    asked = {"ks": [1, 2], "ridges": 0.0, "loss": "huber"}
    once, listed = (SparseRegressorCV(cv=cv, **asked).fit(X, Y) for cv in (iter(splits), splits))
    np.testing.assert_array_equal(once.scores_, listed.scores_)


def test_splits_are_of_the_rows_that_came():
    weights = np.where(np.arange(60) % 7 == 0, 0.0, 1.0)
    kept = np.flatnonzero(weights)
    place = {row: i for i, row in enumerate(kept)}
    splits = [*KFold(3).split(X)]
    inside = [tuple([place[r] for r in part if r in place] for part in split) for split in splits]
    a = SparseRegressorCV([1, 2, 3], 0.0, cv=splits).fit(X, Y, sample_weight=weights)
    b = SparseRegressorCV([1, 2, 3], 0.0, cv=inside).fit(X[kept], Y[kept])
    np.testing.assert_allclose(a.scores_, b.scores_)


def test_groups_of_rows_go_to_the_splitter():
    own = np.repeat(np.arange(6), 10)
    e = SparseRegressorCV([1, 2], 0.0, cv=GroupKFold(3)).fit(X, Y, groups=own)
    f = SparseRegressorCV([1, 2], 0.0, cv=[*GroupKFold(3).split(X, Y, own)]).fit(X, Y)
    np.testing.assert_array_equal(e.scores_, f.scores_)
    with pytest.raises(TypeError, match=r"groups where cv is a splitter"):
        SparseRegressorCV([1, 2], 0.0).fit(X, Y, groups=own)


# Weights --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        SparseRegressor(2),
        SparseRegressor(2, ridge=0.4),
        SparseRegressor(misfit=0.2),
        SparseRegressor(2, loss="huber"),
        SparseRegressor(2, groups=[0, 0, 1, 1, 2, 2, 3, 3], fit_intercept=False),
    ],
    ids=repr,
)
def test_weights_are_rows_repeated(estimator):
    weights = np.random.default_rng(1).integers(0, 4, 60)
    a = clone(estimator).fit(X, Y, sample_weight=weights)
    b = clone(estimator).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights))
    np.testing.assert_array_equal(a.selected_, b.selected_)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-6)


def test_rows_of_weight_zero_are_left_out_of_choices():
    weights = np.where(np.arange(60) < 15, 0.0, 2.0)
    a = SparseRegressor().fit(X, Y, sample_weight=weights)
    b = SparseRegressor().fit(X[15:], Y[15:], sample_weight=np.full(45, 2.0))
    np.testing.assert_array_equal(a.coef_, b.coef_)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        (np.ones(59), r"sample_weight must have shape \(60,\).*\(59,\)"),
        (np.ones((60, 1)), r"sample_weight must have shape \(60,\)"),
        (-np.ones(60), "nonnegative number per row; got -1"),
        (np.zeros(60), "zero for all rows"),
        (np.where(np.arange(60) == 3, np.nan, 1.0), "sample_weight must hold finite numbers only; it contains nan"),
    ],
)
def test_weights_that_cannot_be(weights, told):
    with pytest.raises(ValueError, match=told):
        SparseRegressor(2).fit(X, Y, sample_weight=weights)


# Huber ----------------------------------------------------------------------------------------------------------------


def test_delta_is_in_scales_of_a_first_residual():
    wild = Y.copy()
    wild[:5] += 80.0
    first = SparseRegressor(3).fit(X, wild)
    left = wild - first.predict(X)
    delta = 1.35 * 1.4826 * np.median(np.abs(left - np.median(left)))
    e, given = (SparseRegressor(3, loss="huber", delta=d).fit(X, wild) for d in (None, delta))
    np.testing.assert_allclose(e.coef_, given.coef_, rtol=1e-9)
    assert np.abs(e.coef_ - TRUE).max() < 0.5 * np.abs(first.coef_ - TRUE).max()


# Names ----------------------------------------------------------------------------------------------------------------

FRAME = pd.DataFrame(X, columns=NAMES)
PAIRS = [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("groups", "labels"),
    [
        (PAIRS, PAIRS),
        (pd.Series(list("aabbccdd")), list("aabbccdd")),
        ([["age", "bmi"], ["bp", "s1"], ["s2", "s3", "s4", "s5"]], [0, 0, 1, 1, 2, 2, 2, 2]),
        ([[0, 1], [2, 3]], [0, 0, 1, 1, 2, 3, 4, 5]),
        ({"body": ["bmi", "age"], "blood": [2, 3, 4]}, ["body", "body", "blood", "blood", "blood", "s3", "s4", "s5"]),
    ],
)
def test_groups_by_label_by_number_and_by_name(groups, labels):
    e = SparseRegressor(2, groups=groups).fit(FRAME, Y)
    s = fa.fit(X, Y, atoms=fa.Groups(labels), k=2, free="intercept")
    assert e.solution_.indices.tolist() == s.indices.tolist()
    np.testing.assert_allclose(e.coef_, s.x)
    np.testing.assert_array_equal(e.selected_, np.flatnonzero(np.isin(labels, s.indices)))


@pytest.mark.parametrize(
    ("groups", "kind", "told"),
    [
        (3, TypeError, "groups must be a label for each feature.*got 3"),
        ([0, 1], ValueError, "2 labels for 8 features"),
        ([["age"], ["age", "bmi"]], ValueError, "each feature in one of them"),
        ([[0, 0]], ValueError, "each feature in one of them"),
        ([["aeg"]], ValueError, "groups must name columns that are there.*'age'"),
        ([[8]], ValueError, "groups must lie between 0 and 7"),
        ({"s5": ["age"]}, ValueError, "'s5' twice"),
    ],
)
def test_groups_that_cannot_be(groups, kind, told):
    with pytest.raises(kind, match=told):
        SparseRegressor(1, groups=groups).fit(FRAME, Y)


@pytest.mark.parametrize("clothes", NAMED)
def test_a_table_is_a_frame_of_the_kind_that_was_fitted(clothes):
    frame = CLOTHES[clothes](X)
    table = SparseRegressor(2).fit(frame, Y).solution_.table()
    assert type(table) is type(frame)
    names = table["name"].to_pylist() if clothes == "arrow" else list(table["name"])
    assert sorted(names) == ["age", "bp"]


def test_a_table_has_its_names_after_a_pickle():
    model = SparseRegressor(2).fit(FRAME, Y)
    before, after = model.solution_.table(), pickle.loads(pickle.dumps(model)).solution_.table()
    assert type(after) is type(before)
    assert list(after["name"]) == list(before["name"])


def test_names_need_a_frame():
    with pytest.raises(ValueError, match="by number where columns of X have no names; got 'age'"):
        SparseRegressor(1, groups=[["age"]]).fit(X, Y)
    with pytest.raises(ValueError, match="positive must be False where there are groups"):
        SparseRegressor(1, groups=PAIRS, positive=True).fit(X, Y)


@pytest.mark.parametrize("clothes", NAMED)
def test_new_rows_have_the_columns_in_their_order(clothes):
    e = SparseRegressor(2).fit(FRAME, Y)
    frame = pd.DataFrame(X, columns=NAMES[::-1])
    with pytest.raises(ValueError, match="same order"):
        e.predict(frame)
    with pytest.raises(ValueError, match="age2"):
        e.predict(frame.rename(columns={"age": "age2"}))
    np.testing.assert_allclose(e.predict(CLOTHES[clothes](X)), X @ e.coef_ + e.intercept_)


def test_text_columns_are_named_with_a_remedy():
    odd = FRAME.assign(city="Rome", when=pd.Timestamp(0))
    with pytest.raises(TypeError, match=r"X must have numbers.*'city' \((str|object)\), 'when'.*Encode categories"):
        SparseRegressor(2).fit(odd, Y)
    with pytest.raises(ValueError, match="X must have no missing values; got 1 in column 'bp'"):
        SparseRegressor(2).fit(FRAME.mask((FRAME.index.to_numpy() == 3)[:, None] & (FRAME.columns == "bp")), Y)
    e = SparseRegressor(2).fit(FRAME, Y)
    with pytest.raises(TypeError, match="'bp'"):
        e.predict(FRAME.assign(bp="high"))


@pytest.mark.parametrize(
    ("asked", "kind", "told"),
    [
        ({"k": 0}, ValueError, "k must be an integer of at least 1; got 0"),
        ({"k": 2.5}, TypeError, "k must be an integer"),
        ({"k": 2, "loss": "l1"}, ValueError, "loss must be 'squared' or 'huber'; got 'l1'"),
        ({"k": 2, "effort": "much"}, ValueError, "effort must be one of"),
        ({"k": 2, "ridge": -1.0}, ValueError, "ridge must be"),
        ({"misfit": 0.1, "loss": "huber"}, ValueError, "misfit"),
        ({"k": 2, "positive": "yes"}, TypeError, "positive must be True or False; got 'yes'"),
        ({"k": 2, "fit_intercept": 1}, TypeError, "fit_intercept must be True or False"),
    ],
)
def test_words_that_cannot_be(asked, kind, told):
    with pytest.raises(kind, match=told):
        SparseRegressor(**asked).fit(X, Y)


@pytest.mark.parametrize(
    "asked",
    [
        {"cv": 61},
        {"cv": 1},
        {"cv": []},
        {"cv": [([0, 1, 2], [60])]},
        {"cv": [([0, 1, 2], [2, 3])]},
        {"rule": "2se"},
        {"ks": 3},
        {"ks": []},
    ],
    ids=str,
)
def test_choices_that_cannot_be(asked):
    with pytest.raises((TypeError, ValueError), match=f"^{next(iter(asked)).removesuffix('s')}s? must"):
        SparseRegressorCV(**{"ks": [1, 2], "ridges": 0.0, **asked}).fit(X, Y)


# In a pipeline --------------------------------------------------------------------------------------------------------


def test_pipelines_searches_and_selection():
    pipe = make_pipeline(StandardScaler(), SparseRegressor(2))
    search = GridSearchCV(pipe, {"sparseregressor__k": [1, 2, 3]}, cv=3).fit(FRAME, Y)
    assert search.best_params_ == {"sparseregressor__k": 3}
    best = SelectFromModel(SparseRegressor(3), threshold=1e-12).fit(FRAME, Y)
    assert best.get_feature_names_out().tolist() == ["age", "bp", "s3"]
    assert best.set_output(transform="pandas").transform(FRAME).columns.tolist() == ["age", "bp", "s3"]


def test_a_pickle_predicts_and_leaves_the_rows_behind():
    e = SparseRegressorCV([1, 2, 3], [0.0, 0.1]).fit(FRAME, Y)
    f = pickle.loads(pickle.dumps(e))
    np.testing.assert_array_equal(e.predict(FRAME), f.predict(FRAME))
    assert f.solution_.loss == e.solution_.loss
    assert len(pickle.dumps(SparseRegressor(2).fit(X, Y))) < len(pickle.dumps(X)) + 4000
    assert f.path_[2].indices.tolist() == e.path_[2].indices.tolist()


def test_seeds_are_told_in_every_way():
    many, target = rows(3, 40)
    states = [None, 7, np.random.RandomState(7), np.random.default_rng(7)]
    scores = [SparseRegressorCV([1, 2], 0.0, random_state=s).fit(many, target).scores_ for s in states]
    again = [SparseRegressorCV([1, 2], 0.0, random_state=s).fit(many, target).scores_ for s in (None, 7)]
    np.testing.assert_array_equal(scores[0], again[0])
    np.testing.assert_array_equal(scores[1], again[1])
    assert all(not np.array_equal(scores[0], other) for other in scores[1:])


def test_where_nothing_is_left_any_delta_will_do():
    exact = SparseRegressor(8, loss="huber").fit(X, X @ TRUE)
    np.testing.assert_allclose(exact.coef_, TRUE, atol=1e-8)
