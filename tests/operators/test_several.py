"""One operator for several data vectors, against the Kronecker product."""

import numpy as np
import pytest

import naive
from contracts.families import (
    black_box,
    generator,
    over,
    precision,
    vector_operators,
)
from fewatoms import (
    Counting,
    norms,
)
from fewatoms.capabilities import ColumnBlocks
from fewatoms.operators import Several, as_operator


def several_operators():
    return {name: M for name, M in vector_operators(7).items() if name not in ("one row",)}


@pytest.mark.parametrize(("name", "M"), **over(several_operators()))
def test_several_is_the_kronecker_product(name, M):
    A = np.kron(naive.dense_operator(M), np.eye(3))
    op, tol = Several(M, 3), precision(name)
    assert op.shape == A.shape
    assert op.model_shape == (M.shape[1], 3)
    np.testing.assert_allclose(naive.dense_operator(op), A, atol=tol)
    y = generator(1).standard_normal(A.shape[0])
    np.testing.assert_allclose(naive.dense_dual(op.adjoint(y), (A.shape[1],)), A.T @ y, atol=10 * tol)
    which = np.array([4, 0, 20, 4, 11])
    np.testing.assert_allclose(naive.dense(op.columns(which)), A[:, which], atol=tol)


@pytest.mark.parametrize("weights", [None, "row by row", "all different"])
@pytest.mark.parametrize(("name", "M"), **over(several_operators()))
def test_several_knows_the_lengths_of_its_columns(name, M, weights):
    A = np.kron(naive.dense_operator(M), np.eye(3))
    draw = generator(3)
    w = None
    if weights is not None:
        w = np.repeat(draw.uniform(0.5, 2, M.shape[0]), 3) if "row" in weights else draw.uniform(0.5, 2, A.shape[0])
    at_hand = Several(M, 3).offers(ColumnBlocks)
    if at_hand is None:
        assert M.offers(ColumnBlocks) is None
    else:
        lengths = at_hand.column_lengths(w)
        root = 1.0 if w is None else np.sqrt(w)[:, None]
        np.testing.assert_allclose(lengths, np.linalg.norm(root * A, axis=0), atol=10 * precision(name))


@pytest.mark.parametrize(("name", "M"), **over(several_operators()))
def test_several_bounds_the_norms_of_its_blocks(name, M):
    A = np.kron(naive.dense_operator(M), np.eye(3))
    blocks = [np.arange(3), np.array([0, 5, 10]), np.arange(A.shape[1])]
    bounds = norms.block_norms(Several(M, 3), blocks)
    assert all(
        bound >= np.linalg.norm(A[:, block], 2) * (1 - precision(name))
        for bound, block in zip(bounds, blocks, strict=True)
    )


def test_several_reads_data_in_both_forms():
    op = Several(as_operator(np.eye(4)), 2)
    B = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(op.read_data(B), B.ravel())
    np.testing.assert_array_equal(op.read_data(np.asfortranarray(B)), B.ravel())
    np.testing.assert_array_equal(op.read_data(B.ravel()), B.ravel())
    with pytest.raises(ValueError, match=r"^b must have shape \(4, 2\) or be flat; got shape \(2, 4\)$"):
        op.read_data(B.T)


def test_a_product_with_several_is_counted_by_what_wraps_it():
    counting = Counting(black_box(generator(6).standard_normal((5, 4))))
    op = Several(counting, 3)
    op.apply(np.ones((4, 3)))
    op.adjoint(np.ones(15))
    assert counting.products == 6


@pytest.mark.parametrize(("count", "size"), [(3, 15), (9, 45), (10, 5), (25, 5)])
def test_images_of_many_data_vectors_are_thin(count, size):
    """Those of a few are told to be as long as the data, since they are kept so."""
    op = Several(as_operator(generator(4).standard_normal((5, 4))), count)
    columns = op.offers(ColumnBlocks)
    assert columns.image_size == size
    assert columns.read(np.arange(4 * count)).nnz == 5 * 4 * count
