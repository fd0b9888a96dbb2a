"""Clicks with ids: the same as the plain doors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import fewatoms as fa
from fewatoms.estimators import MatrixCompletion


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    own = rng.integers(3, size=40)[:, None] == rng.integers(3, size=25)
    counts = rng.poisson(np.where(own, 0.8, 0.05))
    counts[np.flatnonzero(counts.sum(axis=1) == 0), 0] = 1
    counts[0, np.flatnonzero(counts.sum(axis=0) == 0)] = 1
    return counts


@pytest.fixture
def frame(table):
    i, j = np.nonzero(table)
    return pd.DataFrame({"who": [f"u{k:02}" for k in i], "what": j, "n": table[i, j]})


WORDS = {"rank": 3, "ridge": 1.0, "background": 0.5, "confidence": 2.0}


def test_the_plain_door(table, frame):
    model = MatrixCompletion(**WORDS).fit(frame, user="who", item="what", value="n")
    i, j = np.nonzero(table)
    M = fa.Sampling(i, j, table.shape, background=0.5)
    loss = fa.LeastSquares(1.0 + 2.0 * table[i, j])
    s = fa.fit(M, np.ones(i.size), atoms=fa.RankOne(*table.shape), k=3, ridge=1.0, loss=loss)
    assert model.solution_.loss == pytest.approx(s.loss)
    np.testing.assert_allclose(model.predict(frame[["who", "what"]]), s.predict(i, j))
    best = model.recommend(["u03"], n=4)
    assert not set(best["what"]) & set(j[i == 3])
    assert best["what"].tolist() == s.top(3, 4, exclude=j[i == 3])[0].tolist()


def test_every_form_is_the_same(table, frame):
    model = MatrixCompletion(**WORDS)
    loss = clone(model).fit(frame, user="who", item="what", value="n").solution_.loss
    assert clone(model).fit(frame[["who", "what"]], frame["n"]).solution_.loss == pytest.approx(loss)
    assert clone(model).fit(table.astype(float)).solution_.loss == pytest.approx(loss)
    assert clone(model).fit(np.where(table > 0, table, np.nan)).solution_.loss == pytest.approx(loss)
    one_by_one = frame.loc[frame.index.repeat(frame["n"])]
    model.set_params(duplicates="sum")
    assert model.fit(one_by_one, user="who", item="what").solution_.loss == pytest.approx(loss)


def test_chosen_by_clicks_held_out(frame):
    model = MatrixCompletion(background=1.0).fit(frame, user="who", item="what", value="n")
    assert 0 < model.solution_.held_out < 1
    assert model.ridge_[0] > 0


def test_new_rows_and_strangers(frame):
    model = MatrixCompletion(**WORDS).fit(frame, user="who", item="what", value="n")
    own = frame[frame["who"] == "u05"]
    model.fold_in(own.assign(who="new")[["who", "what"]], own["n"])
    pairs = [("new", 3), ("u05", 3)]
    np.testing.assert_allclose(*model.predict(pairs), atol=0.02)
    assert model.predict([("stranger", 3), ("u05", 999)]).tolist() == [0.0, 0.0]
    assert 0 <= model.score([("u05", int(c)) for c in set(range(25)) - set(own["what"])][:2]) <= 1


def test_clip(frame):
    model = MatrixCompletion(**WORDS, clip="auto").fit(frame, user="who", item="what", value="n")
    said = model.predict(frame[["who", "what"]])
    assert said.min() >= 0
    assert said.max() <= 1
    assert np.ptp(said) > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"biases": True}, "biases must be False beside a background"),
        ({"background": -1.0}, "background must be"),
        ({"confidence": -1.0}, "confidence must be"),
    ],
)
def test_refusals(frame, words, said):
    with pytest.raises(ValueError, match=said):
        MatrixCompletion(**WORDS | words).fit(frame, user="who", item="what", value="n")


def test_what_clicks_have_no_use_for(table, frame):
    model = MatrixCompletion(**WORDS).fit(table.astype(float))
    with pytest.raises(ValueError, match="transform fills in values"):
        model.transform(table.astype(float))
    with pytest.raises(ValueError, match="counts of clicks must be positive"):
        MatrixCompletion(**WORDS).fit(frame[["who", "what"]], -frame["n"])
    with pytest.raises(ValueError, match="user, item and value must name columns"):
        MatrixCompletion().fit(frame, user="who", item="what")
    with pytest.raises(ValueError, match="both ids are known"):
        MatrixCompletion(**WORDS).fit(frame, user="who", item="what").score([("x", 1)])
