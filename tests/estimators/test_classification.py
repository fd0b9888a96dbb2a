"""Classifiers: the answers of `fit` with labels, whatever these are."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import fewatoms as fa
from estimators.tables import CLOTHES, NAMED, NAMES, rows
from fewatoms.estimators import SparseClassifier, SparseClassifierCV

X, SCORE = rows(1, 80, noise=1.0)
TWO, THREE = np.digitize(SCORE, [5.0]), np.digitize(SCORE, [4.0, 6.0])
ATOMS = fa.SignedOneHot(8)
LOSSES = {2: fa.Logistic, 3: fa.Multinomial}


def asked(count, **words):
    return {"atoms": ATOMS, "loss": LOSSES[count](), "free": "intercept", **words}


def assert_same(e, s):
    np.testing.assert_array_equal(e.selected_, np.sort(np.ravel(s.indices)))
    np.testing.assert_allclose(e.coef_, np.atleast_2d(s.x.T), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(e.intercept_, np.atleast_1d(s.intercept), rtol=1e-6)


@pytest.mark.parametrize("clothes", CLOTHES)
def test_every_clothing_gives_the_answer_of_fit(clothes):
    given = CLOTHES[clothes](X)
    e = SparseClassifier(3, 0.05).fit(given, TWO)
    s = fa.fit(X, TWO, k=3, ridge=0.05, **asked(2))
    assert_same(e, s)
    np.testing.assert_allclose(e.predict_proba(given), s.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(e.decision_function(given), s.predict(X), rtol=1e-9)
    assert (e.solution_.names is not None) == (clothes in NAMED)


@pytest.mark.parametrize(("labels", "count"), [(TWO, 2), (THREE, 3)], ids=["two", "three"])
def test_what_is_said_of_new_rows(labels, count):
    e, s = SparseClassifier(2, 0.1).fit(X, labels), fa.fit(X, labels, k=2, ridge=0.1, **asked(count))
    assert_same(e, s)
    P, margins = e.predict_proba(X), e.decision_function(X)
    np.testing.assert_allclose(P, s.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(margins, np.squeeze(X @ e.coef_.T + e.intercept_), rtol=1e-9)
    np.testing.assert_allclose(np.exp(e.predict_log_proba(X)), P, rtol=1e-9)
    np.testing.assert_array_equal(e.predict(X), e.classes_[P.argmax(axis=1)])
    assert np.isfinite(e.predict_log_proba(1e4 * X)).all()
    assert e.score(X, labels) > 0.7


@pytest.mark.parametrize(
    "kinds",
    [["no", "yes"], [False, True], [-1, 1], [3.0, 7.0], ["a", "b", "c"]],
    ids=str,
)
def test_classes_as_they_come(kinds):
    codes = TWO if len(kinds) == 2 else THREE
    labels = np.array(kinds)[codes]
    plain = SparseClassifier(2, 0.1, effort="quick").fit(X, codes)
    columns = {"array": labels, "list": labels.tolist(), "pandas": pd.Series(labels), "polars": pl.Series(labels)}
    columns["categories"] = pd.Series(labels).astype("category")
    columns["objects"] = labels.astype(object)
    for came in columns.values():
        e = clone(plain).fit(X, came)
        assert e.classes_.tolist() == kinds
        np.testing.assert_array_equal(e.coef_, plain.coef_)
        assert set(e.predict(X).tolist()) <= set(kinds)
        assert np.asarray(e.solution_.classes).tolist() == kinds
        assert e.score(X, labels) == plain.score(X, codes)


def test_ridge_and_k_are_chosen_as_a_path_does():
    path = fa.fit_path(X, TWO, k=(2, 3), **asked(2, ridge=[0.01, 0.1]))
    path.choose_k("cv", folds=2)
    e = SparseClassifierCV([2, 3], [0.01, 0.1], cv=2).fit(X, TWO)
    assert_same(e, path.best)
    assert (e.k_, e.ridge_) == (path.chosen, path.ridge)
    np.testing.assert_allclose(e.scores_, path.scores["cv"])


@pytest.mark.soak
def test_a_ridge_is_chosen_as_fit_does():
    alone = fa.fit(X[:, :2], TWO, k=2, **asked(2, ridge="auto", atoms=fa.SignedOneHot(2)))
    e = SparseClassifier(2).fit(X[:, :2], TWO)
    assert_same(e, alone)
    assert e.ridge_ == alone.ridge


@pytest.mark.soak
def test_nothing_said_chooses_both():
    few = X[:, :1]
    e = SparseClassifier().fit(few, TWO)
    path = fa.fit_path(few, TWO, k=(1,), **asked(2, ridge="auto", atoms=fa.SignedOneHot(1)))
    path.choose_k("cv")
    assert_same(e, path.best)


def test_as_many_features_as_the_rarest_class_allows():
    rare = np.where(np.argsort(np.argsort(-SCORE)) < 15, "rare", "usual")
    assert SparseClassifierCV(ridges=0.1, cv=3).fit(X, rare).path_.k == [1, 2]  # 10 of them in a fold
    assert SparseClassifierCV([1, 4], ridges=0.1, cv=3).fit(X, rare).path_.k == [1, 4]


def test_splitters_split():
    e = SparseClassifierCV([1, 2], 0.1, cv=StratifiedKFold(2)).fit(X, THREE)
    f = SparseClassifierCV([1, 2], 0.1, cv=[*StratifiedKFold(2).split(X, THREE)]).fit(X, THREE)
    np.testing.assert_array_equal(e.scores_, f.scores_)


# Weights --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 1: 1.0, 2: 0.5}], ids=str)
def test_weights_are_rows_repeated(labels, class_weight):
    if labels is TWO and class_weight not in (None, "balanced"):
        class_weight = {0: 3.0, 1: 1.0}
    weights = np.random.default_rng(1).integers(0, 4, 80)
    e = SparseClassifier(2, 0.1, class_weight=class_weight, effort="quick")
    a = clone(e).fit(X, labels, sample_weight=weights)
    b = clone(e).fit(np.repeat(X, weights, axis=0), np.repeat(labels, weights))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-5, atol=1e-7)


def test_weights_of_classes_are_weights_of_their_rows():
    a = SparseClassifier(2, 0.1, class_weight={0: 5.0, 1: 0.5}).fit(X, TWO)
    b = SparseClassifier(2, 0.1).fit(X, TWO, sample_weight=np.where(TWO == 0, 5.0, 0.5))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    c = SparseClassifier(2, 0.1, class_weight="balanced").fit(X, TWO)
    share = TWO.size / (2 * np.bincount(TWO))
    np.testing.assert_allclose(c.coef_, SparseClassifier(2, 0.1).fit(X, TWO, sample_weight=share[TWO]).coef_)


def test_a_class_of_weight_zero_is_left_out():
    e = SparseClassifier(2, 0.1).fit(X, THREE, sample_weight=(THREE != 1).astype(float))
    assert e.classes_.tolist() == [0, 2]
    np.testing.assert_array_equal(e.coef_, SparseClassifier(2, 0.1).fit(X[THREE != 1], THREE[THREE != 1]).coef_)


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "words", "told"),
    [
        (np.zeros(80), {}, "y must hold labels of two classes or more; got one class, 0.0"),
        (SCORE, {}, "continuous"),
        (TWO, {"class_weight": "even"}, "class_weight must be a mapping from class to weight, or 'balanced'"),
        (THREE, {"positive": True}, "atoms must be SignedOneHot"),
        (TWO[:-1], {}, "inconsistent numbers of samples"),
        (np.where(TWO > 0, "a", None), {}, r"^y must have no missing values; got \d+: leave those rows out$"),
    ],
)
def test_labels_and_words_that_cannot_be(labels, words, told):
    with pytest.raises((TypeError, ValueError), match=told):
        SparseClassifier(2, 0.1, **words).fit(X, labels)


def test_positive_coefficients_of_two_classes():
    e = SparseClassifier(3, 0.1, positive=True).fit(X, TWO)
    assert (e.coef_ >= 0).all()
    assert_same(e, fa.fit(X, TWO, k=3, ridge=0.1, **asked(2, atoms=fa.NonnegativeOneHot(8))))


def test_groups_by_name():
    frame = pd.DataFrame(X, columns=NAMES)
    e = SparseClassifier(1, 0.1, groups={"body": ["age", "bmi"]}).fit(frame, THREE)
    assert e.solution_.indices.tolist() == ["body"]
    assert e.selected_.tolist() == [0, 1]


def test_searches_scores_and_pickles():
    search = GridSearchCV(
        SparseClassifier(ridge=0.05, effort="quick"), {"k": [1, 2]}, cv=3, scoring="neg_log_loss"
    ).fit(X, THREE)
    f = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(f.predict_proba(X), search.predict_proba(X))
    assert cross_val_score(SparseClassifier(2, 0.05), X, TWO, scoring="roc_auc", cv=3).mean() > 0.8
