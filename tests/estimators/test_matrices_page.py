"""What docs/matrices.md shows runs, and gives what it says."""

import numpy as np
import pytest

from reading import Page


@pytest.fixture(scope="module")
def space():
    return Page("docs/matrices.md").run()


def test_ratings(space):
    model, said, best = space["model"], space["said"], space["best"]
    known = model.col_biases_[model.col_ids_.tolist().index("Alien")]
    assert said[1] == pytest.approx(model.center_ + known)
    assert best.columns.tolist() == ["who", "film", "score"]
    assert best["score"].between(1, 5).all()
    assert best[best.who == "ann"].film.tolist() == ["Cube"]


def test_tables(space):
    np.testing.assert_allclose(space["filled"], space["X"], atol=1e-3)


def test_gross_errors(space):
    pca, X = space["pca"], space["X"]
    assert (pca.rank_, pca.sparse_.nnz) == (2, 20)
    np.testing.assert_allclose(pca.low_rank_, X, atol=1e-3)
    np.testing.assert_allclose(pca.inverse_transform(space["scores"]), X, atol=1e-3)
