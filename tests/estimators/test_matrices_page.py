"""What docs/matrices.md shows runs, and gives what it says."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "matrices.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)


@pytest.fixture(scope="module")
def space():
    """The blocks run one after the other, in one namespace, as a reader would type them."""
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "matrices.md", "exec"), names)
    return names


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
