"""What the five minutes show runs, and gives what it says."""

import numpy as np
import pytest

from reading import Page

TOUR = Page("docs/tour.md")


@pytest.fixture(scope="module")
def space():
    return TOUR.run(watched="s")


def test_sparse_vector(space):
    s = space["answers"][0]
    assert s.success
    assert s.indices.tolist() == [50, 3, 200]
    np.testing.assert_allclose(s.coefficients, [-2.0, 1.0, 0.5], atol=1e-9)


def test_path(space):
    path = space["path"]
    assert path.chosen == 3
    assert path.best.indices.tolist() == [50, 3, 200]
    assert path.best.free_coefficients == pytest.approx([4.0], abs=0.1)
    assert np.abs(path.best.predict(space["M"]) - space["noisy"]).max() < 0.5


def test_estimator(space):
    model, path = space["model_of_three"], space["path"]
    assert model.selected_.tolist() == [3, 50, 200]
    np.testing.assert_allclose(model.coef_, path[3].x, atol=1e-9)


def test_matrix_completion(space):
    s, X = space["answers"][3], space["X"]
    assert s.left.shape == (40, 2)
    assert s.right.shape == (30, 2)
    np.testing.assert_allclose(s.left @ s.right.T, X, atol=1e-4)


def test_ratings(space):
    ranks, model = space["ranks"], space["model"]
    assert ranks.chosen in ranks
    seen = space["items"][space["users"] == 0]
    found, values = ranks.best.top(0, 3, exclude=seen)
    assert not np.isin(found, seen).any()
    np.testing.assert_allclose(values, ranks.best.predict(0, found))
    assert model.shape == (61, 50)
    error = ranks.best.predict(space["users"], space["items"]) - space["ratings"]
    assert np.sqrt(np.mean(error**2)) < 0.5


def test_background_and_foreground(space):
    s = space["answers"][5]
    assert s.success
    assert s.parts[0].left.shape == (40, 2)
    assert {tuple(i) for i in s.parts[1].indices} == set(zip(*np.nonzero(space["S"]), strict=True))


def test_phases(space):
    s, signal = space["answers"][6], space["signal"]
    assert s.success
    np.testing.assert_allclose(s.left @ s.right.T, np.outer(signal, signal.conj()), atol=1e-3)


def test_all_blocks_are_tested():
    assert len(TOUR.blocks) == 7
