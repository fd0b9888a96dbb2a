"""Operators of which only products are known."""

import numpy as np

from contracts.families import (
    black_box,
    generator,
)
from fewatoms import (
    Counting,
    Groups,
    Mapped,
    SignedOneHot,
    norms,
)
from fewatoms.operators import as_operator
from fewatoms.testing import check_operator


class Bare:
    """Shape, matvec and rmatvec, nothing else."""

    def __init__(self, A):
        self.A, self.shape = A, A.shape

    def matvec(self, x):
        return self.A @ x

    def rmatvec(self, y):
        return (self.A.T @ y)[:, None]  # a column will do


def test_anything_with_products_is_an_operator():
    A = generator(20).standard_normal((5, 4))
    check_operator(Bare(A))
    np.testing.assert_allclose(norms.column_norms(as_operator(Bare(A))), np.linalg.norm(A, axis=0))
    check_operator(A.tolist())


def test_columns_of_a_black_box_come_in_blocks(monkeypatch):
    A = generator(21).standard_normal((5, 600))
    M = as_operator(black_box(A))
    np.testing.assert_allclose(norms.column_norms(M), np.linalg.norm(A, axis=0))
    indices = np.arange(0, 600, 7)
    np.testing.assert_allclose(M.columns(indices), A[:, indices])
    assert M.columns(indices[:0]).shape == (5, 0)


def test_large_black_boxes_are_not_asked_for_all_columns(monkeypatch):
    monkeypatch.setattr("fewatoms.norms.PROBE_LIMIT", 3)
    M = Counting(black_box(np.ones((2, 4))))
    assert norms.column_norms(M) is None
    assert norms.block_norms(M, [np.arange(4)]) is None
    assert SignedOneHot(4).operator_norm(M) is None
    assert Groups([0, 0, 1, 1]).operator_norm(M) is None
    assert Mapped(np.eye(4), SignedOneHot(4)).operator_norm(M) is None
    assert M.products == 0
