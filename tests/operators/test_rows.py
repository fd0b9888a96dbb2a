"""Some rows of an operator."""

import numpy as np
import pytest

import naive
from contracts.families import (
    assert_restricts,
    generator,
    matrix_operators,
    over,
    precision,
    vector_operators,
)
from fewatoms import norms
from fewatoms.operators import Rows

M_ROWS = 9
WEIGHTS = generator(20).uniform(0.2, 3.0, M_ROWS)
FREE = np.column_stack([np.ones(M_ROWS), np.arange(M_ROWS) ** 2.0])
GROUPS = np.array([0, 2, 1, 0, 2, 3, 1])
NINE_ROWS = {name: M for name, M in vector_operators(7, M_ROWS).items() if M.shape[0] == M_ROWS}
every_matrix = pytest.mark.parametrize(("name", "M"), **over(NINE_ROWS))


HELD = np.array([4, 0, 7, 2])


@pytest.mark.parametrize("rows", [HELD, np.arange(M_ROWS)[::-1].copy(), np.array([3])], ids=["some", "turned", "one"])
@every_matrix
def test_rows_are_the_rows_of_the_matrix(name, M, rows):
    A = naive.dense_operator(M)[rows]
    for op in (Rows(M, rows), M.subset(rows)):
        np.testing.assert_allclose(naive.dense_operator(op), A, atol=precision(name))
        y = generator(26).standard_normal(rows.size)
        np.testing.assert_allclose(naive.dense_dual(op.adjoint(y), (7,)), A.T @ y, atol=100 * precision(name))
        sizes = norms.column_norms(op)
        assert sizes is None or (sizes >= np.linalg.norm(A, axis=0) * (1 - precision(name)) - precision(name)).all()
        assert_restricts(op, A, precision(name))
        np.testing.assert_allclose(naive.dense(op.columns(np.array([6, 1]))), A[:, [6, 1]], atol=precision(name))


@every_matrix
def test_rows_of_rows(name, M):
    again = np.array([2, 0])
    A = naive.dense_operator(M)[HELD][again]
    np.testing.assert_allclose(naive.dense_operator(Rows(M, HELD).subset(again)), A, atol=precision(name))


@pytest.mark.parametrize(("name", "M"), **over(matrix_operators(3, 4)))
def test_rows_of_operators_on_matrices(name, M):
    rows = np.arange(0, M.shape[0], 2)
    A = naive.dense_operator(M)[rows]
    for op in (Rows(M, rows), M.subset(rows)):
        assert op.model_shape == M.model_shape
        np.testing.assert_allclose(naive.dense_operator(op), A, atol=1e-12)
        y = generator(4).standard_normal(rows.size)
        np.testing.assert_allclose(naive.dense_dual(op.adjoint(y), (12,)), A.T @ y, atol=1e-12)
