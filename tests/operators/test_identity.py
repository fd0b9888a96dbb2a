"""Full observation of a vector or matrix."""

import numpy as np
import pytest

import fewatoms as fa
import naive
from contracts.families import generator
from fewatoms import Identity, Sampling
from fewatoms.capabilities import ColumnBlocks


@pytest.mark.parametrize("shape", [5, (2, 3), (3, 1)])
def test_everything_is_that_of_the_unit_matrix(shape):
    M = Identity(shape)
    n = M.shape[1]
    eye, weights, some = np.eye(n), generator(1).uniform(0.1, 3.0, n), np.array([n - 1, 0])
    np.testing.assert_array_equal(naive.dense_operator(M), eye)
    np.testing.assert_array_equal(naive.dense(M.columns(some)), eye[:, some])
    columns = M.offers(ColumnBlocks)
    np.testing.assert_array_equal(columns.column_lengths(), np.ones(n))
    np.testing.assert_allclose(columns.column_lengths(weights), np.sqrt(weights @ eye**2))
    np.testing.assert_array_equal(naive.dense_operator(M.subset(some)), eye[some])
    assert M.adjoint(np.arange(float(n))).shape == M.model_shape


def test_images_do_not_share_memory_with_models():
    x = np.ones((2, 3))
    Identity((2, 3)).apply(x)[0] = 7.0
    assert (x == 1.0).all()


def test_some_entries_of_a_matrix_are_sampled():
    M = Identity((2, 3)).subset(np.array([5, 1]))
    assert isinstance(M, Sampling)
    np.testing.assert_array_equal(M.apply(np.arange(6.0).reshape(2, 3)), [5.0, 1.0])


def test_data_come_in_the_shape_of_the_model_or_flat():
    X = np.arange(6.0).reshape(2, 3)
    for b in (X, X.ravel(), X.tolist()):
        np.testing.assert_array_equal(Identity((2, 3)).read_data(b), np.arange(6.0))
    with pytest.raises(ValueError, match=r"^b must have shape \(2, 3\) or be flat; got shape \(3, 2\)$"):
        Identity((2, 3)).read_data(X.T)


def test_the_shape_of_a_vector_will_do():
    x = np.arange(4.0)
    assert fa.Identity(x.shape).model_shape == fa.Identity([4]).model_shape == fa.Identity(4).model_shape == (4,)
    assert fa.fit(fa.Identity(x.shape), x, atoms=fa.SignedOneHot(4), k=1).indices.tolist() == [3]
