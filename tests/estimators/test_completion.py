"""Matrices with missing entries: the same as the plain doors, for every form in which entries come."""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fewatoms as fa
from fewatoms import completed
from fewatoms.estimators import MatrixCompletion
from fewatoms.methods.lowrank import HeldOut

PAIRS = "its X has two columns of whole numbers beside y: pairs of ids here, and they repeat"
EXPECTED = {
    "check_sample_weights_shape": PAIRS,
    "check_sample_weights_not_overwritten": PAIRS,
    "check_sample_weight_equivalence_on_dense_data": "entries held out are drawn among those that are there: rows that "
    "are repeated are others than rows of twice the weight",
}


def expected(estimator):
    """The last one only where something is chosen by entries held out."""
    chosen = estimator.rank is None or estimator.ridge is None
    return EXPECTED if chosen else {name: EXPECTED[name] for name in list(EXPECTED)[:2]}


@parametrize_with_checks([MatrixCompletion(rank=1, ridge=0.0)], expected_failed_checks=expected)
def test_scikit_learn_is_content(estimator, check):
    check_it = check
    check_it(estimator)


@pytest.mark.sampled(40)
@parametrize_with_checks([MatrixCompletion(), MatrixCompletion(biases=True)], expected_failed_checks=expected)
def test_scikit_learn_is_content_with_choices(estimator, check):
    check_it = check
    check_it(estimator)


def test_the_page_lists_the_expected_failures():
    text = (Path(__file__).parents[2] / "docs" / "matrices.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(check_\w+)`", text)) == set(EXPECTED)


def planted(rng, p=30, q=12, rank=2, share=0.7, noise=0.0):
    """A matrix of low rank, and the same with gaps; every row and column has entries."""
    L = rng.standard_normal((p, rank)) @ rng.standard_normal((rank, q))
    gaps = rng.random(L.shape) > share
    gaps[:, :4] &= rng.random((p, 4)) > 0.5
    gaps[np.arange(q * 2) % p, np.arange(q * 2) % q] = False
    return L, np.where(gaps, np.nan, L + noise * rng.standard_normal(L.shape))


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def ratings(rng):
    """Users called by words, items by numbers, a value each, and the fit."""
    _, X = planted(rng, p=20, q=9, noise=0.3)
    i, j = np.nonzero(~np.isnan(X))
    order = rng.permutation(i.size)
    i, j = i[order], j[order]
    return [f"user {a:02d}" for a in i], (100 + 7 * j).tolist(), 3 + X[i, j]


# The same as the doors ------------------------------------------------------------------------------------------------


def test_a_rank_is_that_of_what_was_found():
    L = np.random.default_rng(0).standard_normal((20, 3)) @ np.random.default_rng(1).standard_normal((3, 20))
    model = MatrixCompletion(rank=15, ridge=0).fit(L)
    assert model.rank_ == model.left_.shape[1] == 3


@pytest.mark.parametrize("biases", [False, True])
def test_a_table_is_fitted_as_by_the_plain_door(rng, biases):
    _, X = planted(rng, p=14, q=6, noise=0.1)
    M, b = fa.Sampling.from_array(X)
    s = fa.fit(M, b, atoms=fa.RankOne(14, 6), k=2, free="biases" if biases else None, ridge="auto")
    model = MatrixCompletion(2, biases=biases).fit(X)
    np.testing.assert_array_equal(model.left_, s.left)
    np.testing.assert_array_equal(model.right_, s.right)
    assert model.ridge_ == s.ridge
    assert model.center_ == (b.mean() if biases else 0.0)
    assert (model.rank_, model.n_features_in_, model.solution_.loss) == (2, 6, s.loss)
    rows, cols = np.nonzero(np.isnan(X))
    pairs = np.column_stack([rows, cols])
    np.testing.assert_allclose(model.predict(pairs), s.predict(rows, cols))


def test_an_open_rank_is_the_one_that_the_path_chooses(rng):
    _, X = planted(rng, p=24, q=5, share=0.9, noise=0.1)
    M, b = fa.Sampling.from_array(X)
    words = {"atoms": fa.RankOne(24, 5), "ridge": "auto"}
    path = fa.fit_path(M, b, k=[1, 2, 3, 5], **words)
    model = MatrixCompletion().fit(X)
    assert model.rank_ == path.choose_k("held-out") == 2
    assert model.solution_.held_out == path.best.held_out
    np.testing.assert_allclose(model.left_ @ model.right_.T, path.best.x, atol=1e-3)
    assert MatrixCompletion(ridge=0.01).fit(X).ridge_ == (0.01, 0.0)


def test_random_state_is_a_seed(rng):
    _, X = planted(rng, q=6, noise=0.1)
    one, same, other = (MatrixCompletion(1, ridge="auto", random_state=s).fit(X).ridge_ for s in (1, 1, 2))
    assert one == same != other


def test_random_state_draws_the_entries_that_ranks_are_chosen_by():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 8)) + rng.standard_normal((30, 8))
    one, other, same = (MatrixCompletion(random_state=s).fit(X).solution_.held_out for s in (0, 2, 2))
    assert other == same != one
    one, same = (MatrixCompletion(random_state=np.random.default_rng(s)).fit(X).solution_.held_out for s in (4, 4))
    assert one == same


def test_generators_hold_out_the_same_entries_for_each_rank(monkeypatch):
    drawn, tried = [], []
    parts, choose = HeldOut._parts, HeldOut.choose
    monkeypatch.setattr(HeldOut, "_parts", lambda how, m: drawn.append(m) or parts(how, m))
    monkeypatch.setattr(
        HeldOut, "choose", lambda how, trial, asked, *more: tried.append(asked.k) or choose(how, trial, asked, *more)
    )
    MatrixCompletion(random_state=np.random.default_rng(3)).fit(np.random.default_rng(0).standard_normal((30, 8)))
    assert drawn == [240]
    assert tried == [1, 2, 3, 5]  # three in a row are no better than nothing


@pytest.mark.parametrize("ridge", [0, 0.01])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_blocks_that_share_no_row_and_no_column_are_all_fitted(ridge, scale):
    """Singular vectors live in one of them, and sweeps leave zeros as they are."""
    rng = np.random.default_rng(1)
    full = np.outer(rng.uniform(1, 2, 40), rng.uniform(1, 2, 30))
    full[20:] *= scale
    X = np.where(rng.random(full.shape) < 0.7, full, np.nan)
    X[:20, 15:] = X[20:, :15] = np.nan
    filled = MatrixCompletion(rank=1, ridge=ridge).fit(X).transform(X)
    for block in (np.s_[:20, :15], np.s_[20:, 15:]):
        np.testing.assert_allclose(filled[block], full[block], rtol=1e-2)


def test_a_callback_may_stop_the_search(rng):
    _, X = planted(rng, noise=0.1)
    model = MatrixCompletion(callback=fa.callbacks.Deadline(1e-9)).fit(X)
    assert model.solution_.status is fa.Status.STOPPED


def test_all_forms_of_entries_say_the_same(ratings):
    users, items, values = ratings
    columns = {"who": users, "what": items, "stars": values}
    first = MatrixCompletion(2, ridge=0.1).fit(list(zip(users, items, strict=True)), values)
    said = first.predict(list(zip(users, items, strict=True)))
    assert np.sqrt(np.mean((said - values) ** 2)) < 1
    objects = np.array([users, items], dtype=object).T
    np.testing.assert_array_equal(MatrixCompletion(2, ridge=0.1).fit(objects, values).predict(objects), said)
    mixed = pd.DataFrame(columns).astype({"who": "category", "what": "Int64"})
    arrow = pa.table(columns)
    for frame in (pd.DataFrame(columns), mixed, pl.DataFrame(columns), arrow):
        model = MatrixCompletion(2, ridge=0.1).fit(frame, user="who", item="what", value="stars")
        np.testing.assert_array_equal(model.predict(frame), said)
        assert model.row_ids_.tolist() == sorted(set(users))
        assert model.col_ids_.tolist() == sorted(set(items))
        two = frame.select(["what", "who"]) if frame is arrow else frame[["what", "who"]]
        np.testing.assert_array_equal(model.predict(two), said)  # by name, in any order


def test_all_forms_of_tables_say_the_same(rng):
    _, X = planted(rng)
    names = [f"c{j}" for j in range(X.shape[1])]
    columns = {name: [None if np.isnan(v) else v for v in X[:, j]] for j, name in enumerate(names)}
    plain = MatrixCompletion(2).fit_transform(X)
    frames = [pd.DataFrame(columns), pd.DataFrame(columns).convert_dtypes(), pl.DataFrame(columns), pa.table(columns)]
    for table in (np.ma.masked_invalid(X), X.tolist(), *frames):
        model = MatrixCompletion(2).fit(table)
        np.testing.assert_array_equal(model.transform(table), plain)
    assert model.feature_names_in_.tolist() == model.get_feature_names_out().tolist() == names
    np.testing.assert_allclose(model.predict([(3, "c4"), (4, "c0")]), [plain[3, 4], plain[4, 0]], atol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frames[0][names[::-1]])


# Predictions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("biases", [False, True])
def test_a_number_for_every_pair(ratings, biases):
    users, items, values = ratings
    model = MatrixCompletion(2, biases=biases, ridge=0.3).fit(list(zip(users, items, strict=True)), values)
    rows = {u: (model.left_[k], model.row_biases_[k]) for k, u in enumerate(model.row_ids_)}
    cols = {i: (model.right_[k], model.col_biases_[k]) for k, i in enumerate(model.col_ids_)}
    asked = [(users[0], items[3]), ("nobody", items[3]), (users[1], 0), ("nobody", 0)]
    slow = []
    for user, item in asked:
        (left, a), (right, c) = rows.get(user, (np.zeros(2), 0.0)), cols.get(item, (np.zeros(2), 0.0))
        known = user in rows and item in cols
        slow.append(model.center_ + a + c + left @ right if known or biases else np.mean(values))
    np.testing.assert_allclose(model.predict(asked), slow)
    assert model.mean_ == pytest.approx(np.mean(values))


def test_rows_and_columns_without_entries_are_said_by_the_mean(rng):
    _, X = planted(rng)
    X[4], X[:, 5] = np.nan, np.nan
    model = MatrixCompletion(2).fit(X)
    filled = model.transform(X)
    np.testing.assert_allclose(filled[4], np.nanmean(X))
    np.testing.assert_allclose(filled[:, 5], np.nanmean(X))
    np.testing.assert_allclose(model.predict([(4, 0), (0, 5)]), np.nanmean(X))


def test_predictions_keep_to_the_scale(ratings):
    users, items, values = ratings
    pairs = list(zip(users, items, strict=True))
    free = MatrixCompletion(3).fit(pairs, values)
    kept = MatrixCompletion(3, clip=(2.5, 4)).fit(pairs, values)
    np.testing.assert_allclose(kept.predict(pairs), np.clip(free.predict(pairs), 2.5, 4))
    assert np.ptp(free.predict(pairs)) > 1.5
    everywhere = [(u, i) for u in free.row_ids_ for i in free.col_ids_]
    auto = MatrixCompletion(3, clip="auto").fit(pairs, values).predict(everywhere)
    assert free.predict(everywhere).min() < values.min() == auto.min()
    np.testing.assert_allclose(auto, np.clip(free.predict(everywhere), values.min(), values.max()))
    np.testing.assert_array_equal(kept.recommend(n=3)[0], free.recommend(n=3)[0])  # ranks are those of the model


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("exclude_seen", [False, True])
def test_recommendations_are_the_largest_predictions(ratings, monkeypatch, biases, exclude_seen):
    users, items, values = ratings
    pairs = list(zip(users, items, strict=True))
    model = MatrixCompletion(2, biases=biases, ridge=0.3).fit(pairs, values)
    whole = model.recommend(n=4, exclude_seen=exclude_seen)
    monkeypatch.setattr(completed, "SCORES_TOGETHER", 20)  # two users at a time
    ids, scores = model.recommend(n=4, exclude_seen=exclude_seen)
    np.testing.assert_array_equal(ids, whole[0])
    np.testing.assert_allclose(scores, whole[1])
    for user, found, said in zip(model.row_ids_, ids, scores, strict=True):
        among = [i for i in model.col_ids_ if not (exclude_seen and (user, i) in pairs)]
        order = sorted(among, key=lambda i, user=user: -model.predict([(user, i)])[0])[:4]
        assert [i for i in found if i is not None] == order
        np.testing.assert_allclose(said[: len(order)], [model.predict([(user, i)])[0] for i in order])
        assert np.isnan(said[len(order) :]).all()


def test_recommendations_for_strangers(ratings):
    users, items, values = ratings
    pairs = list(zip(users, items, strict=True))
    model = MatrixCompletion(2, biases=True, ridge=0.3).fit(pairs, values)
    ids, scores = model.recommend(["nobody"], 3)
    order = np.argsort(-model.col_biases_)[:3]
    assert ids[0].tolist() == model.col_ids_[order].tolist()
    np.testing.assert_allclose(scores[0], model.center_ + model.col_biases_[order])
    with pytest.raises(ValueError, match="1 are not, 'nobody': fold them in"):
        MatrixCompletion(2).fit(pairs, values).recommend([users[0], "nobody"])


def test_recommendations_come_as_the_frame_did(ratings):
    users, items, values = ratings
    columns = {"who": users, "what": items, "stars": values}
    plain = MatrixCompletion(2).fit(list(zip(users, items, strict=True)), values).recommend(users[:2], 2)
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        long = MatrixCompletion(2).fit(frame, user="who", item="what", value="stars").recommend(users[:2], 2)
        assert type(long) is type(frame)
        assert np.asarray(long["what"]).tolist() == [i for row in plain[0] for i in row if i is not None]
        assert set(np.asarray(long["who"])) <= set(users[:2])


# New rows -------------------------------------------------------------------------------------------------------------


def test_new_rows_are_folded_in(rng):
    L, X = planted(rng, p=50)
    model = MatrixCompletion(2).fit(X[:40])
    np.testing.assert_allclose(model.transform(X), L, atol=1e-4)  # rows that were fitted, and others
    np.testing.assert_array_equal(model.transform(X)[~np.isnan(X)], X[~np.isnan(X)])
    np.testing.assert_allclose(model.transform(X[45:46]), model.transform(X)[45:46])
    before = model.predict([(3, 5)])
    rows, cols = np.nonzero(~np.isnan(X[40:]))
    by_door = model.solution_.fold_in(rows, cols, X[40:][rows, cols])
    assert model.fold_in(X[40:]) is model
    np.testing.assert_array_equal(model.left_, by_door.left)
    assert model.row_ids_.tolist() == list(range(50))
    np.testing.assert_array_equal(model.predict([(3, 5)]), before)
    np.testing.assert_allclose(model.predict([(49, 5)]), L[49, 5], atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1])
def test_new_ids_are_folded_in(rng, axis):
    L, _ = planted(rng, p=20, q=20)
    name = [f"r{i}" for i in range(20)], [f"c{j}" for j in range(20)]
    old = L[:16] if axis == 0 else L[:, :16]
    pairs = [(name[0][i], name[1][j]) for i, j in np.ndindex(old.shape)]
    model = MatrixCompletion(2).fit(pairs, old.ravel())
    new = [(i, j) if axis == 0 else (j, i) for i in range(16, 20) for j in range(0, 20, 3)]
    model.fold_in([(name[0][i], name[1][j]) for i, j in new], [L[i, j] for i, j in new], axis=axis)
    i, j = (18, 4) if axis == 0 else (4, 18)
    np.testing.assert_allclose(model.predict([(name[0][i], name[1][j])]), L[i, j], atol=1e-6)
    found, _ = model.recommend([name[0][17]], 20) if axis == 0 else model.recommend([name[0][3]], 20)
    seen = {name[1][b] for a, b in new if a == (17 if axis == 0 else 3)} | ({*name[1][:16]} if axis == 1 else set())
    assert {i for i in found[0] if i is not None} == set(name[1]) - seen


# Weights, duplicates --------------------------------------------------------------------------------------------------


def test_weights_add_up_where_entries_repeat(ratings):
    users, items, values = ratings
    pairs = list(zip(users, items, strict=True))
    weights = np.ones(len(pairs))
    weights[:10] = 2.0
    once = MatrixCompletion(2, ridge=0.3).fit(pairs, values, sample_weight=weights)
    twice = MatrixCompletion(2, ridge=0.3, duplicates="mean").fit(
        pairs + pairs[:10], np.append(values, values[:10]), sample_weight=np.ones(len(pairs) + 10)
    )
    np.testing.assert_allclose(once.predict(pairs), twice.predict(pairs))
    plain = MatrixCompletion(2, ridge=0.3).fit(pairs, values)
    assert np.abs(once.predict(pairs) - plain.predict(pairs)).max() > 1e-3
    assert once.mean_ == pytest.approx(np.average(values, weights=weights))


def test_entries_of_weight_zero_are_left_out(ratings):
    users, items, values = ratings
    pairs = list(zip(users, items, strict=True))
    weights = np.ones(len(pairs))
    weights[:5] = 0.0
    model = MatrixCompletion(2).fit(pairs, np.where(weights, values, 1e6), sample_weight=weights)
    without = MatrixCompletion(2).fit(pairs[5:], values[5:])
    np.testing.assert_allclose(model.predict(pairs[5:]), without.predict(pairs[5:]))


@pytest.mark.parametrize(("duplicates", "value"), [("mean", 2.0), ("last", 3.0)])
def test_duplicates(duplicates, value):
    pairs, y = [("a", 1), ("b", 1), ("a", 1), ("b", 2)], [1.0, 5.0, 3.0, 7.0]
    merged = MatrixCompletion(1, duplicates=duplicates).fit(pairs, y)
    by_hand = MatrixCompletion(1).fit([("a", 1), ("b", 1), ("b", 2)], [value, 5.0, 7.0])
    np.testing.assert_allclose(merged.predict(pairs), by_hand.predict(pairs))
    with pytest.raises(ValueError, match=r"1 repeat another, \('a', 1\) for one: duplicates='mean' or 'last'"):
        MatrixCompletion(1).fit(pairs, y)


# In scikit-learn's house ----------------------------------------------------------------------------------------------


def test_scores(rng, ratings):
    users, items, values = ratings
    pairs = list(zip(users, items, strict=True))
    model = MatrixCompletion(2, biases=True, ridge=0.3).fit(pairs, values)
    weights = rng.random(len(pairs))
    by_hand = r2_score(values, model.predict(pairs), sample_weight=weights)
    assert model.score(pairs, values, sample_weight=weights) == pytest.approx(by_hand)


def test_score_of_a_table_predicts_each_half_of_a_row_from_the_other(rng):
    _, X = planted(rng, p=40, noise=0.3)
    model = MatrixCompletion(2, ridge=0.1).fit(X[:30])
    truth, said = [], []
    for row in X[30:]:
        there = np.flatnonzero(~np.isnan(row))
        for half in (there[::2], there[1::2]):
            hidden = row.copy()
            hidden[half] = np.nan
            said.extend(model.predict(hidden[None])[0, half])
            truth.extend(row[half])
    assert model.score(X[30:]) == pytest.approx(r2_score(truth, said))


def test_grid_search_finds_the_rank(rng):
    _, X = planted(rng, p=40, q=15, share=0.9, noise=0.1)
    i, j = np.nonzero(~np.isnan(X))
    search = GridSearchCV(MatrixCompletion(ridge=0.1), {"rank": [1, 2, 5]}, cv=3)
    assert search.fit(np.column_stack([i, j]), X[i, j]).best_params_ == {"rank": 2}
    assert search.fit(X).best_params_ == {"rank": 2}


def test_pipelines_clones_pickles_and_frames(rng):
    L, X = planted(rng)
    model = MatrixCompletion(2, clip=(-9, 9))
    assert clone(model).get_params() == model.get_params()
    scores = make_pipeline(StandardScaler(), model, PCA(2)).fit_transform(X)
    assert np.isfinite(scores).all()
    model.fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.recommend([2])[0], model.recommend([2])[0])
    frame = pl.DataFrame(X, schema=[f"c{j}" for j in range(12)])
    filled = MatrixCompletion(2).set_output(transform="polars").fit_transform(frame)
    assert filled.columns == frame.columns
    np.testing.assert_allclose(filled.to_numpy(), L, atol=1e-4)


def test_nothing_that_came_is_changed(rng):
    _, X = planted(rng)
    before = X.copy()
    model = MatrixCompletion(2).fit(X)
    model.transform(X)
    model.fold_in(X)
    np.testing.assert_array_equal(X, before)


# Bad input ------------------------------------------------------------------------------------------------------------

FRAME = pd.DataFrame({"user": ["a", "b"], "film": [1, 2], "stars": [3.0, np.nan]})
TABLE = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    ("parameters", "given", "words", "message"),
    [
        ({}, (FRAME,), {}, r"^X must have numbers in all columns; these hold others: 'user'.*fit\(pairs, y\)"),
        ({}, (FRAME,), {"user": "usr", "item": "film", "value": "stars"}, "'usr' is not: did you mean 'user'"),
        ({}, (FRAME,), {"user": "user"}, "all three; got 'user', None, None"),
        ({}, (TABLE,), {"user": "u", "item": "i", "value": "v"}, "beside an X that is none"),
        ({}, (FRAME,), {"user": "user", "item": "film", "value": "stars"}, "column 'stars' must hold finite"),
        ({}, (FRAME,), {"user": "user", "item": "stars", "value": "film"}, "second column of pairs must .* 1 are miss"),
        ({}, ([("a", 1), ("b", None)], [1, 2]), {}, "1 are missing"),
        ({}, ([("a", 1), ("b", 2)], [1, 2, 3]), {}, "y must have 2 entries"),
        ({}, ([("a", 1), ("b", 2)], ["x", "y"]), {}, "y must hold real numbers"),
        ({}, ([("a", 1), (["b"], 2)], [1, 2]), {}, "told apart"),
        ({}, ([("a", 1), ("b", 2)], [1, 2]), {"sample_weight": [1, -1]}, "sample_weight must be nonneg.* got -1"),
        ({}, (np.full((3, 2), np.nan),), {}, "at least one entry"),
        ({"rank": 4}, (TABLE,), {}, "rank must be an integer between 1 and 3; got 4"),
        ({"biases": "yes"}, (TABLE,), {}, "biases must be True or False"),
        ({"clip": (5, 1)}, (TABLE,), {}, r"clip must be .* low < high.* got \(5, 1\)"),
        ({"clip": "range"}, (TABLE,), {}, "clip must be .* got 'range'"),
        ({"duplicates": "first"}, (TABLE,), {}, "duplicates must be 'error', 'mean', 'last' or 'sum'; got 'first'"),
        ({"ridge": -1}, (TABLE,), {}, "ridge must be a nonnegative number"),
    ],
)
def test_what_cannot_be_fitted_is_told(parameters, given, words, message):
    with pytest.raises((ValueError, TypeError), match=message):
        MatrixCompletion(**parameters).fit(*given, **words)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: m.predict([(1, 1)]), "first column of pairs must hold ids of the type .* text; got integers"),
        (lambda m: m.predict(TABLE), "one column for each of the 2 ids"),
        (lambda m: m.recommend("a"), "users must be several ids"),
        (lambda m: m.recommend(["a"], 0), "n must be an integer of at least 1"),
        (lambda m: m.fold_in([("a", 1)], [1.0]), "new ids along axis 0; 1 are known already, 'a'"),
        (lambda m: m.fold_in([("c", 3)], [1.0]), "known ids along axis 1; 1 are not, 3"),
        (lambda m: m.fold_in([("c", 1)], [1.0], axis=2), "axis must be 0"),
        (lambda m: m.fold_in(TABLE), "pairs of ids beside their values y"),
        (lambda m: m.fold_in(TABLE, [1.0]), "pairs of ids beside y"),
    ],
)
def test_what_cannot_be_asked_is_told(ask, message):
    model = MatrixCompletion(1).fit([("a", 1), ("b", 2), ("b", 1)], [1.0, 2.0, 3.0])
    with pytest.raises((ValueError, TypeError), match=message):
        ask(model)


def test_a_matrix_by_pairs_takes_tables_by_the_ids_of_its_columns():
    pairs = [(r, c) for r in "ab" for c in "xyz"]
    model = MatrixCompletion(1).fit(pairs, [1.0, 2.0, 3.0, 2.0, 4.0, 6.0])
    filled = model.set_output(transform="pandas").transform(pd.DataFrame({"z": [9.0], "x": [np.nan], "y": [6.0]}))
    assert filled.columns.tolist() == ["x", "y", "z"]
    np.testing.assert_allclose(filled.to_numpy(), [[3.0, 6.0, 9.0]])


def test_a_frame_of_entries_that_nobody_names_is_asked_about():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    i, j = np.nonzero(rng.random((12, 9)) < 0.7)
    frame = pd.DataFrame({"who": i, "what": j, "how": rng.standard_normal(i.size)})
    with pytest.warns(UserWarning, match=r"fit\(X, user='who', item='what', value='how'\)"):
        MatrixCompletion(rank=1).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MatrixCompletion(rank=1).fit(frame, user="who", item="what", value="how")
        MatrixCompletion(rank=1).fit(pd.DataFrame(rng.standard_normal((20, 3)), columns=["a", "b", "c"]))
        table = MatrixCompletion(rank=1).fit(frame.assign(how=np.where(i > 5, np.nan, 1.0 + i)))
    assert table.n_features_in_ == 3
