"""Operators of which only products are known."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from contracts.families import black_box, generator
from fewatoms import Counting, Groups, Mapped, SignedOneHot, norms
from fewatoms.operators import BlackBox, Rows, as_operator
from fewatoms.testing import check_operator
from operators.small import ROWS, Knowing, P, Q, faces


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


def test_a_black_box_is_asked_for_factors_if_it_knows_about_them():
    A, rng = generator(12).standard_normal((ROWS, P * Q)), generator(13)
    U, V = rng.standard_normal((P, 2)), rng.standard_normal((Q, 2))
    knowing = Knowing(A, (P, Q))
    np.testing.assert_allclose(as_operator(knowing).apply_factors(U, V), A @ (U @ V.T).ravel(), atol=1e-12)
    assert knowing.asked == ["factors"]
    face = faces(P, Q)["two"]
    as_operator(knowing).restrict(face).apply(np.ones(4))
    assert knowing.asked == ["factors", "factors"]

    class Subclass(LinearOperator):
        def __init__(self):
            super().__init__(np.float64, A.shape)

        def _matvec(self, x):
            raise AssertionError("the product is not to be formed")

        def _rmatvec(self, y):
            return A.T @ y

        def apply_factors(self, U, V):
            return A @ (U @ V.T).ravel()

    np.testing.assert_allclose(as_operator(Subclass()).apply_factors(U, V), A @ (U @ V.T).ravel(), atol=1e-12)
    plain = as_operator(black_box(A))
    np.testing.assert_allclose(plain.apply_factors(U, V), A @ (U @ V.T).ravel(), atol=1e-12)


class Answering(Knowing):
    """Says whatever it is told to say."""

    def __init__(self, answer):
        super().__init__(np.ones((ROWS, P * Q)), (P, Q))
        self.answer = answer

    def apply_factors(self, U, V):
        return self.answer


GOOD = {
    "a column": np.arange(9.0)[:, None],
    "a list": list(range(9)),
    "integers": np.arange(9),
    "booleans": np.arange(9) > 3,
    "single": np.arange(9, dtype=np.float32),
}


BAD = {
    "too short": (np.ones(8), ValueError, r"^M\.apply_factors must return 9 numbers; got shape \(8,\)$"),
    "the matrix": (np.ones((3, 4)), ValueError, r"^M\.apply_factors must return 9 numbers; got shape \(3, 4\)$"),
    "one number": (1.0, ValueError, r"^M\.apply_factors must return 9 numbers; got shape \(\)$"),
    "complex": (1j * np.ones(9), TypeError, r"^M\.apply_factors must return real numbers; got an array of complex128$"),
    "words": (np.array(["a"] * 9), TypeError, r"^M\.apply_factors must return real numbers"),
    "nothing": (None, ValueError, r"^M\.apply_factors must return 9 numbers"),
    "not a number": (np.full(9, np.nan), ValueError, r"M\.apply_factors's result must hold finite numbers only"),
    "infinite": (np.append(np.ones(8), np.inf), ValueError, r"M\.apply_factors's result must hold finite numbers only"),
    "both infinities": (np.array([np.inf, -np.inf] + [0.0] * 7), ValueError, "must hold finite numbers only"),
}


@pytest.mark.parametrize("case", GOOD)
def test_what_a_black_box_may_say_of_factors(case):
    found = BlackBox(Answering(GOOD[case])).apply_factors(np.ones((P, 1)), np.ones((Q, 1)))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.asarray(GOOD[case], dtype=float).ravel())


@pytest.mark.parametrize("case", BAD)
def test_what_a_black_box_must_not_say_of_factors(case):
    answer, error, told = BAD[case]
    for M in (
        BlackBox(Answering(answer)),
        Counting(Answering(answer)),
        Rows(BlackBox(Answering(answer)), np.array([2])),
    ):
        with pytest.raises(error, match=told):
            M.apply_factors(np.ones((P, 1)), np.ones((Q, 1)))


def test_what_a_black_box_raises_passes_through():
    class Raising(Knowing):
        def apply_factors(self, U, V):
            raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match=r"^out of order$"):
        BlackBox(Raising(np.ones((ROWS, P * Q)), (P, Q))).apply_factors(np.ones((P, 1)), np.ones((Q, 1)))


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.float32])
@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
def test_numbers_of_any_kind_may_be_returned(kind, pack):
    """Of truth values and whole numbers as well: they are taken for what they count."""
    A = (np.random.default_rng(0).random((12, 9)) < 0.4).astype(kind)

    class Own:
        shape, model_shape = (12, 9), (3, 3)

        def apply(self, x):
            return A.astype(float) @ x.ravel()

        def adjoint(self, y):
            return pack((A.T @ (y > 0).astype(kind)).reshape(3, 3).astype(kind))

    z = as_operator(Own()).adjoint(np.ones(12))
    dense = z.toarray() if sp.issparse(z) else z
    assert z.dtype == (np.float32 if kind is np.float32 else np.float64)
    np.testing.assert_array_equal(-dense, -((A.T @ np.ones(12, dtype=kind)).reshape(3, 3).astype(float)))
