"""What follows from the three members that an operator needs."""

import numpy as np
import pytest

import naive
from fewatoms import Counting, norms
from fewatoms.testing import check_operator
from operators.small import Blur


def test_an_operator_needs_three_members():
    check_operator(Blur())
    check_operator(Counting(Blur()))
    np.testing.assert_allclose(norms.column_norms(Blur()), np.linalg.norm(naive.dense_operator(Blur()), axis=0))


def test_blocks_columns_and_subsets_follow():
    M, rng = Blur(), np.random.default_rng(1)
    A = naive.dense_operator(M)
    X, Y = rng.standard_normal((6, 3)), rng.standard_normal((4, 3))
    np.testing.assert_allclose(M.apply_block(X), A @ X)
    np.testing.assert_allclose(M.adjoint_block(Y), A.T @ Y)
    assert M.apply_block(X[:, :0]).shape == (4, 0)
    assert M.adjoint_block(Y[:, :0]).shape == (6, 0)
    np.testing.assert_array_equal(M.columns(np.array([5, 2])), A[:, [5, 2]])
    np.testing.assert_array_equal(naive.dense_operator(M.subset(np.array([3, 0]))), A[[3, 0]])
    outer, counter = M.counted()
    outer.apply(np.ones(6))
    assert counter.products == 1


def test_data_are_read_with_a_remedy():
    with pytest.raises(
        ValueError, match=r"^b must be a vector of length m = 4; got shape \(2, 2\): pass b\.ravel\(\)$"
    ):
        Blur().read_data(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"^b must be a vector of length m = 4; got 3\.0$"):
        Blur().read_data(3.0)


def test_an_image_of_another_length_is_told():
    class Short(Blur):
        def apply(self, x):
            return super().apply(x)[:1]

    with pytest.raises(ValueError, match=r"^M\.apply must return 4 numbers; got shape \(1,\)$"):
        Short().columns(np.array([0]))
