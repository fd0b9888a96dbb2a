"""An operator after a linear map, against the product of two matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from contracts.families import black_box, generator
from fewatoms import Counting, Identity
from fewatoms.atoms.mapped import LinearMap
from fewatoms.capabilities import ColumnBlocks
from fewatoms.operators import Composed, as_operator, composed

A, B = generator(1).standard_normal((5, 7)), generator(2).standard_normal((7, 6))
MAPS = {"dense": B, "sparse": sp.csr_array(B * (np.abs(B) > 0.7)), "black box": black_box(B)}


@pytest.mark.parametrize("name", MAPS)
def test_columns_products_and_subsets_are_those_of_the_product(name):
    map_ = LinearMap(MAPS[name], "B")
    M, AB = as_operator(A).after(map_, (2, 3)), A @ naive.dense_map(map_)
    assert isinstance(M, Composed)
    assert (M.shape, M.model_shape) == ((5, 6), (2, 3))
    np.testing.assert_allclose(naive.dense_operator(M), AB, atol=1e-12)
    np.testing.assert_allclose(M.columns(np.array([4, 0])), AB[:, [4, 0]], atol=1e-12)
    assert M.columns(np.empty(0, dtype=np.intp)).shape == (5, 0)
    Y = generator(3).standard_normal((5, 3))
    np.testing.assert_allclose(M.adjoint_block(Y), AB.T @ Y, atol=1e-12)
    np.testing.assert_allclose(naive.dense_operator(M.subset(np.array([3, 1]))), AB[[3, 1]], atol=1e-12)
    U, V = generator(4).standard_normal((2, 1)), generator(5).standard_normal((3, 1))
    np.testing.assert_allclose(M.apply_factors(U, V), AB @ (U @ V.T).ravel(), atol=1e-12)


@pytest.mark.parametrize("name", ["dense", "sparse"])
def test_lengths_of_columns_with_weights(name, monkeypatch):
    map_, weights = LinearMap(MAPS[name], "B"), generator(6).uniform(0.1, 3.0, 5)
    M, AB = as_operator(A).after(map_, (6,)), A @ naive.dense_map(map_)
    columns = M.offers(ColumnBlocks)
    np.testing.assert_allclose(columns.column_lengths(), np.linalg.norm(AB, axis=0))
    np.testing.assert_allclose(columns.column_lengths(weights), np.sqrt(weights @ AB**2))
    X = generator(7).standard_normal((6, 2))
    np.testing.assert_allclose(columns.times(X), AB @ X, atol=1e-12)
    assert columns.times(X[:, :0]).shape == columns.read(np.empty(0, dtype=np.intp)).shape == (5, 0)
    monkeypatch.setattr(composed, "READ_LIMIT", 5 * 7 * 6 - 1)
    assert columns.column_lengths() is None  # too dear: nobody knows


def test_products_are_counted_inside():
    M = Counting(A)
    outer = M.after(LinearMap(B, "B"), (6,)).after(LinearMap(np.eye(6)[::-1], "C"), (6,))
    np.testing.assert_allclose(outer.apply(np.arange(6.0)), A @ B @ np.arange(6.0)[::-1])
    assert M.products == 1
    assert Identity((2, 3)).after(LinearMap(np.eye(6), "B"), (6,)).read_data(np.ones((2, 3))).shape == (6,)
