"""Low rank plus sparse: the same as the plain door; scores of rows with gross errors."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import fewatoms as fa
from fewatoms.estimators import RobustPCA

EXPECTED: dict[str, str] = {}  # none


@parametrize_with_checks([RobustPCA(rank=1)], expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_is_content(estimator, check):
    check_it = check
    check_it(estimator)


@pytest.mark.sampled(20)
@parametrize_with_checks([RobustPCA(), RobustPCA(center=True)], expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_is_content_with_choices(estimator, check):
    check_it = check
    check_it(estimator)


def planted(rng, n=60, q=25, rank=2, share=0.05, noise=0.0):
    """L, and L with gross errors in a share of the entries, and noise."""
    L = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, q))
    S = np.where(rng.random(L.shape) < share, 10 * rng.choice([-1.0, 1.0], L.shape), 0.0)
    return L, S, L + S + noise * rng.standard_normal(L.shape)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_the_split_is_that_of_the_plain_door(rng):
    L, S, X = planted(rng)
    s = fa.fit(fa.Identity(X.shape), X, atoms=fa.RankOne(60, 25) + fa.SignedOneHot((60, 25)), k=(None, None))
    model = RobustPCA().fit(X)
    assert (model.rank_, model.sparse_.nnz) == (s.parts[0].cardinality, s.parts[1].cardinality) == (2, (S != 0).sum())
    np.testing.assert_array_equal(model.sparse_.toarray(), s.parts[1].x)
    np.testing.assert_allclose(model.low_rank_, s.parts[0].x, atol=1e-12)
    np.testing.assert_allclose(model.low_rank_, L, atol=1e-4)
    assert model.solution_.loss == s.loss
    both = RobustPCA(rank=2, entries=int((S != 0).sum())).fit(X)
    np.testing.assert_allclose(both.low_rank_, L, atol=1e-4)


def test_components_are_those_of_the_low_rank_part(rng):
    _, _, X = planted(rng, noise=0.1)
    model = RobustPCA(rank=2).fit(X)
    _, s, Vt = np.linalg.svd(model.low_rank_)
    np.testing.assert_allclose(model.singular_values_, s[:2])
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(model.components_ * Vt[:2], axis=1)), 1.0)
    largest = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[[0, 1], largest] > 0).all()
    np.testing.assert_allclose(model.inverse_transform(model.low_rank_ @ model.components_.T), model.low_rank_)


def test_scores_of_new_rows_do_not_mind_gross_errors_and_gaps(rng):
    L, _, X = planted(rng, n=120, q=40, noise=0.01)
    model = RobustPCA(rank=2).fit(X[:80])
    new = X[80:].copy()
    new[rng.random(new.shape) < 0.15] += 50.0
    new[rng.random(new.shape) < 0.1] = np.nan
    error = np.abs(model.inverse_transform(model.transform(new)) - L[80:])
    assert error.max() < 0.1
    plain = np.abs(np.nan_to_num(new) @ model.components_.T @ model.components_ - L[80:])
    assert plain.max() > 5  # of an ordinary projection
    fitted = model.transform(X[:80])
    np.testing.assert_allclose(fitted, model.low_rank_ @ model.components_.T, atol=0.02)


def test_scores_are_a_regression_on_what_does_not_stand_out(rng):
    _, _, X = planted(rng, n=80, share=0.1, noise=0.1)
    model = RobustPCA(rank=2).fit(X[:40])
    new = X[40:]
    new[3, 4:9], new[5] = np.nan, np.nan
    for row, scores in zip(new, model.transform(new), strict=True):
        left = np.abs(row - scores @ model.components_)
        kept = left < model.threshold_  # false for gaps
        by_hand, *_ = np.linalg.lstsq(model.components_[:, kept].T, row[kept], rcond=None)
        np.testing.assert_allclose(scores, by_hand, atol=1e-9)
    assert not model.transform(new)[5].any()
    np.testing.assert_allclose(model.transform(new[::3]), model.transform(new)[::3], atol=1e-12)


def test_no_more_than_half_of_the_rest_of_a_row_is_left_out(rng):
    V = np.linalg.qr(rng.standard_normal((8, 2)))[0].T
    model = RobustPCA(rank=2).fit(rng.standard_normal((30, 2)) @ V)  # no noise: everything stands out
    row = rng.standard_normal(8)
    left = np.abs(row - model.inverse_transform(model.transform(row[None]))[0])
    assert np.sum(left > 1e-9) >= 3  # three of the six that are more than components may be left out


def test_what_is_missing_is_filled_in(rng):
    L, _, X = planted(rng)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = RobustPCA().fit(X)
    assert model.rank_ == 2
    np.testing.assert_allclose(model.low_rank_, L, atol=1e-3)


def test_centred_data_have_medians_beside_components(rng):
    _, _, X = planted(rng, noise=0.05)
    X += rng.normal(scale=20.0, size=25)
    model = RobustPCA(rank=3, center=True).fit(X)
    np.testing.assert_allclose(model.mean_, np.median(X, axis=0))
    plain = RobustPCA(rank=3).fit(X - model.mean_)
    np.testing.assert_allclose(model.low_rank_, plain.low_rank_ + model.mean_)
    np.testing.assert_array_equal(model.sparse_.toarray(), plain.sparse_.toarray())
    np.testing.assert_allclose(model.transform(X), plain.transform(X - model.mean_))
    np.testing.assert_allclose(model.inverse_transform(np.zeros((1, 3)))[0], model.mean_)
    X[:, 3] = np.nan
    assert RobustPCA(rank=1, entries=5, center=True).fit(X).mean_[3] == 0.0


def test_nothing_to_explain():
    model = RobustPCA().fit(np.zeros((5, 4)))
    assert (model.rank_, model.sparse_.nnz, model.components_.shape) == (0, 0, (0, 4))
    assert model.transform(np.ones((3, 4))).shape == (3, 0)
    np.testing.assert_array_equal(model.inverse_transform(np.zeros((3, 0))), np.zeros((3, 4)))


def test_frames_pickles_and_pipelines(rng):
    L, _, X = planted(rng, noise=0.05)
    names = [f"c{j}" for j in range(25)]
    columns = {name: [None if (i, j) == (2, 1) else v for i, v in enumerate(X[:, j])] for j, name in enumerate(names)}
    X[2, 1] = np.nan
    plain = RobustPCA(rank=2).fit_transform(X)
    for frame in (pd.DataFrame(columns).convert_dtypes(), pl.DataFrame(columns), pa.table(columns)):
        model = RobustPCA(rank=2).fit(frame)
        np.testing.assert_array_equal(model.transform(frame), plain)
        assert model.feature_names_in_.tolist() == names
    scores = model.set_output(transform="pandas").transform(pd.DataFrame(columns))
    assert scores.columns.tolist() == model.get_feature_names_out().tolist() == ["robustpca0", "robustpca1"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.low_rank_, model.low_rank_)
    y = L @ model.components_.sum(axis=0)
    search = GridSearchCV(make_pipeline(RobustPCA(), LinearRegression()), {"robustpca__rank": [1, 2]}, cv=2)
    assert search.fit(X, y).best_params_ == {"robustpca__rank": 2}


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"rank": 0}, np.ones((4, 3)), "rank must be an integer between 1 and 3; got 0"),
        ({"entries": 13}, np.ones((4, 3)), "entries must be an integer between 1 and 12; got 13"),
        ({"entries": 0}, np.ones((4, 3)), "^entries must be an integer between 1 and 12; got 0$"),
        ({"center": "mean"}, np.ones((4, 3)), "center must be True or False"),
        ({}, np.full((4, 3), np.nan), "at least one entry that is not missing"),
        ({}, np.full((4, 3), np.inf), "infinity"),
    ],
)
def test_what_cannot_be_fitted_is_told(parameters, X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        RobustPCA(**parameters).fit(X)


def test_scores_of_another_width_are_refused():
    model = RobustPCA(rank=1).fit(np.outer(np.arange(1.0, 6.0), np.ones(3)))
    with pytest.raises(ValueError, match="X must have 1 columns, one for each component"):
        model.inverse_transform(np.ones((2, 3)))
