"""Matrices, dense and sparse, as operators: in place, in double precision."""

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from contracts.families import generator
from fewatoms import SignedOneHot, norms
from fewatoms.faces import Factors
from fewatoms.operators import MatrixOperator, as_operator
from operators.small import P, Q, faces, matrices


def test_matrices_are_used_in_place():
    A = generator().standard_normal((4, 3))
    assert as_operator(A).matrix is A
    S = sp.csr_array(A)
    before = S.copy()
    M = as_operator(S)
    M.restrict(SignedOneHot(3).expose(np.ones(3), 2))
    norms.rank_one_norm(M)
    assert M.matrix is S
    assert (before != S).nnz == 0


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (2, 7), (5, 5)])
@pytest.mark.parametrize("name", matrices(2, 2))
def test_images_on_models_of_every_shape(name, shape):
    M = matrices(*shape)[name]
    r, s = min(2, shape[0]), min(3, shape[1])
    rng = generator(7)
    face = Factors(
        np.linalg.qr(rng.standard_normal((shape[0], r)))[0], np.linalg.qr(rng.standard_normal((shape[1], s)))[0]
    )
    np.testing.assert_allclose(M.images(face), naive.reduced_matrix(M, face), atol=1e-11)


@pytest.mark.parametrize("name", ["single", "single, fortran"])
def test_single_precision_is_converted_before_it_is_multiplied(name):
    """What a matrix of single precision says exactly, in double precision: no product is rounded to it."""
    M = matrices(P, Q)[name]
    exact = M.matrix.astype(np.float64)
    face = faces(P, Q)["all"]
    twin = exact @ naive.basis(face)
    np.testing.assert_allclose(M.images(face), twin, atol=1e-14 * np.abs(twin).max() * P * Q)


def test_images_a_block_of_rows_at_a_time():
    """More rows than are converted at once."""
    p, q = 64, 64
    A = generator(8).standard_normal((1030, p * q)).astype(np.float32)
    U, V = (np.linalg.qr(generator(9).standard_normal((n, 2)))[0] for n in (p, q))
    assert A.shape[0] > (1 << 22) // (p * q)
    np.testing.assert_allclose(
        MatrixOperator(A).images(Factors(U, V)), A.astype(np.float64) @ np.kron(U, V), atol=1e-11
    )


@pytest.mark.parametrize("name", matrices(2, 3))
def test_lengths_subsets_and_blocks_are_those_of_the_matrix(name):
    M = matrices(2, 3)[name]
    A, rng = naive.dense(M.matrix).astype(np.float64), generator(15)
    weights, rows, some = rng.uniform(0.1, 3.0, len(A)), np.arange(len(A))[::-2].copy(), np.array([4, 0])
    np.testing.assert_allclose(M.column_lengths(), np.linalg.norm(A, axis=0), rtol=1e-12)
    np.testing.assert_allclose(M.column_lengths(weights), np.sqrt(weights @ A**2), rtol=1e-12)
    np.testing.assert_array_equal(naive.dense(M.columns(some)), A[:, some])
    np.testing.assert_array_equal(naive.dense(M.subset(rows).matrix).astype(np.float64), A[rows])
    np.testing.assert_allclose(
        M.block_norms([some, np.arange(6)]), [np.linalg.norm(A[:, some], 2), np.linalg.norm(A, 2)]
    )
    Y = rng.standard_normal((len(A), 2))
    np.testing.assert_allclose(M.adjoint_block(Y), A.T @ Y, atol=1e-12)
    assert np.linalg.norm(A, 2) <= M.rank_one_norm() <= np.linalg.norm(A, 2) * (1 + 1e-6)


def test_the_norm_of_a_large_matrix_is_bounded(monkeypatch):
    A = generator(16).standard_normal((6, 8))
    for form in (A, sp.csr_array(A)):
        monkeypatch.setattr("fewatoms.operators.matrix.EXACT_NORM_SIDE", 5)
        assert np.linalg.norm(A, 2) <= as_operator(form).rank_one_norm() <= np.linalg.norm(A) * (1 + 1e-12)
