"""Operators behind free columns, against the dense projector."""

import numpy as np
import pytest

import naive
from contracts.families import (
    assert_restricts,
    generator,
    over,
    precision,
    projector,
    vector_operators,
)
from fewatoms import norms
from fewatoms.capabilities import ColumnBlocks
from fewatoms.operators import Projected, as_operator
from fewatoms.testing import check_operator

M_ROWS = 9
WEIGHTS = generator(20).uniform(0.2, 3.0, M_ROWS)
FREE = np.column_stack([np.ones(M_ROWS), np.arange(M_ROWS) ** 2.0])
GROUPS = np.array([0, 2, 1, 0, 2, 3, 1])
NINE_ROWS = {name: M for name, M in vector_operators(7, M_ROWS).items() if M.shape[0] == M_ROWS}
every_matrix = pytest.mark.parametrize(("name", "M"), **over(NINE_ROWS))


weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])


@every_matrix
def test_projected_keeps_the_contract(name, M):
    check_operator(Projected(M, FREE, WEIGHTS), rng=0, tol=precision(name))


@weighted
@every_matrix
def test_faces_behind_the_projection(name, M, weights):
    assert_restricts(Projected(M, FREE, weights), projector(FREE, weights) @ naive.dense_operator(M), precision(name))


@weighted
@every_matrix
def test_projected_is_the_projector_times_the_matrix(name, M, weights):
    P = projector(FREE, weights)
    A = P @ naive.dense_operator(M)
    op, tol = Projected(M, FREE, weights), 10 * precision(name)
    np.testing.assert_allclose(naive.dense_operator(op), A, atol=tol)
    which = np.array([5, 0, 5, 2])
    np.testing.assert_allclose(naive.dense(op.columns(which)), A[:, which], atol=tol)
    X = generator(1).standard_normal((7, 3))
    np.testing.assert_allclose(op.apply_block(X), A @ X, atol=tol)
    Y = generator(2).standard_normal((M_ROWS, 2))
    np.testing.assert_allclose(op.adjoint_block(Y), A.T @ Y, atol=10 * tol)
    r = generator(3).standard_normal(M_ROWS)
    np.testing.assert_allclose(op.seen(r), P @ r, atol=1e-12)
    np.testing.assert_allclose(op.seen(op.seen(r)), op.seen(r), atol=1e-12)


@weighted
@every_matrix
def test_lengths_behind_the_projection(name, M, weights):
    """In the norm of the weights; where the matrix is not at hand, none are claimed."""
    A = projector(FREE, weights) @ naive.dense_operator(M)
    root = 1.0 if weights is None else np.sqrt(weights)[:, None]
    at_hand = Projected(M, FREE, weights).offers(ColumnBlocks)
    if at_hand is None:
        assert M.offers(ColumnBlocks) is None
    else:
        lengths = at_hand.column_lengths(weights)
        np.testing.assert_allclose(lengths, np.linalg.norm(root * A, axis=0), atol=10 * precision(name))


@every_matrix
def test_an_orthogonal_projection_shortens(name, M):
    op = Projected(M, FREE)
    A = naive.dense_operator(op)
    sizes = norms.column_norms(op)
    assert (sizes >= np.linalg.norm(A, axis=0) * (1 - precision(name))).all()
    assert norms.column_norms(Projected(M, FREE, WEIGHTS)) is None  # in another norm it may lengthen


@weighted
def test_a_column_that_free_columns_span_has_length_zero(weights):
    A = generator(4).standard_normal((M_ROWS, 5))
    A[:, 2] = FREE @ [3.0, -0.01]
    op = Projected(as_operator(A), FREE, weights)
    assert op.offers(ColumnBlocks).column_lengths(weights)[2] == 0
    np.testing.assert_allclose(op.columns(np.array([2])), 0, atol=1e-12)


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_a_column_whose_square_is_no_number_is_measured_behind_the_projection(unit):
    A = generator(6).standard_normal((M_ROWS, 3))
    plain = Projected(as_operator(A), FREE).offers(ColumnBlocks).column_lengths()
    A[:, 1] *= unit
    lengths = Projected(as_operator(A), FREE).offers(ColumnBlocks).column_lengths()
    np.testing.assert_allclose(lengths, plain * [1.0, unit, 1.0], rtol=1e-9)


def test_dependent_free_columns_are_one():
    A = generator(5).standard_normal((M_ROWS, 4))
    twice = Projected(as_operator(A), np.column_stack([FREE, 1e6 * FREE[:, 0], FREE.sum(axis=1)]))
    np.testing.assert_allclose(naive.dense_operator(twice), projector(FREE, None) @ A, atol=1e-10)
