"""Coded diffraction: the operator is its dense matrix, and Quadratic does not mind which of the two it holds."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import ledger, linalg
from fewatoms.operators import CodedDiffraction
from fewatoms.testing import check_operator

SHAPES = [(1, 1), (1, 6), (3, 8), (4, 15), (2, 3, 5), (3, 4, 4), (5, 1, 7)]


def masks_of(shape, kind="complex", seed=0):
    rng = np.random.default_rng(seed)
    masks = rng.standard_normal(shape)
    return masks + 1j * rng.standard_normal(shape) if kind == "complex" else masks


def dense(masks):
    """The matrix from the definition: a unitary Fourier matrix (of rows and of columns) times each mask."""
    sides = masks.shape[1:]
    F = np.ones((1, 1))
    for side in sides:
        grid = np.outer(np.arange(side), np.arange(side))
        F = np.kron(F, np.exp(-2j * np.pi * grid / side) / np.sqrt(side))
    return np.concatenate([F * mask.ravel() for mask in masks])


def randoms(rows, cols, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, cols)) + 1j * rng.standard_normal((rows, cols))


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("shape", SHAPES)
def test_operator_is_its_matrix(shape, kind):
    masks = masks_of(shape, kind)
    A, D = CodedDiffraction(masks), dense(masks)
    assert A.shape == D.shape
    X, Y = randoms(A.shape[1], 3), randoms(A.shape[0], 3)
    np.testing.assert_allclose(A @ X, D @ X, atol=1e-12)
    np.testing.assert_allclose(A @ X[:, 0], D @ X[:, 0], atol=1e-12)
    np.testing.assert_allclose(A @ X[:, 0].real, D @ X[:, 0].real, atol=1e-12)
    np.testing.assert_allclose(A.H @ Y, D.conj().T @ Y, atol=1e-12)
    np.testing.assert_allclose(A.rmatvec(Y[:, 0]), D.conj().T @ Y[:, 0], atol=1e-12)
    np.testing.assert_allclose(A.row_squares(), (np.abs(D) ** 2).sum(axis=1), rtol=1e-12)
    assert A.spectral_norm() == pytest.approx(np.linalg.norm(D, 2), rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_adjoint_identity(shape):
    A = CodedDiffraction(masks_of(shape))
    x, y = randoms(A.shape[1], 1)[:, 0], randoms(A.shape[0], 1)[:, 0]
    assert np.vdot(y, A @ x) == pytest.approx(np.vdot(A.rmatvec(y), x), rel=1e-12)


def test_masks_of_modulus_one_give_a_multiple_of_an_isometry():
    A = CodedDiffraction(np.exp(1j * masks_of((6, 4, 5), "real")))
    x = randoms(20, 1)[:, 0]
    np.testing.assert_allclose(A.H @ (A @ x), 6 * x, atol=1e-12)


def test_random_masks_are_octanary_and_repeat():
    A = CodedDiffraction.random((40, 50), 5, rng=3)
    assert A.shape == (10000, 2000)
    np.testing.assert_array_equal(A.masks, CodedDiffraction.random((40, 50), 5, rng=3).masks)
    sizes = np.abs(A.masks)
    weak = np.isclose(sizes, np.sqrt(0.5))
    assert np.all(weak | np.isclose(sizes, np.sqrt(3)))
    assert abs(weak.mean() - 0.8) < 0.02
    assert len(np.unique(np.round(A.masks / sizes, 6))) == 4
    assert np.mean(sizes**2) == pytest.approx(1.0, abs=0.05)
    assert CodedDiffraction.random(7, 2).shape == (14, 7)
    assert "5 patterns of 40 x 50" in repr(A)


@pytest.mark.parametrize(
    ("masks", "error", "said"),
    [
        (np.ones(5), ValueError, r"masks must have shape \(L, n\) or \(L, h, w\).*got \(5,\)"),
        (np.ones((2, 0)), ValueError, "masks must have shape"),
        (np.ones((2, 3, 4, 5)), ValueError, "masks must have shape"),
        (np.array([["a", "b"]]), TypeError, "masks must hold numbers"),
        (np.array([[1.0, np.nan]]), ValueError, "masks must hold finite numbers only"),
    ],
)
def test_bad_masks(masks, error, said):
    with pytest.raises(error, match=said):
        CodedDiffraction(masks)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(((2, 3, 4), 5), "shape must be n or"), ((0, 5), "shape must be an integer"), ((4, 0), "patterns must be")],
)
def test_bad_random_masks(arguments, said):
    with pytest.raises(ValueError, match=said):
        CodedDiffraction.random(*arguments)


# Quadratic around it -------------------------------------------------------------------------------------------------


def quadratics(kind):
    """The same measurement through products and through an array (dense, or sparse)."""
    if kind == "diffraction":
        masks = masks_of((3, 2, 4))
        return fa.Quadratic(CodedDiffraction(masks)), fa.Quadratic(dense(masks))
    rng = np.random.default_rng(5)
    D = rng.standard_normal((20, 6)) * (rng.random((20, 6)) < 0.6)
    if kind == "complex":
        D = D * np.exp(2j * np.pi * rng.random(D.shape))
    if kind == "sparse":
        return fa.Quadratic(sp.csr_array(D)), fa.Quadratic(D)
    box = LinearOperator(D.shape, matvec=lambda x: D @ x, rmatvec=lambda y: D.conj().T @ y, dtype=D.dtype)
    return fa.Quadratic(box), fa.Quadratic(D)


KINDS = ["diffraction", "real", "complex", "sparse"]


@pytest.mark.parametrize("kind", KINDS)
def test_quadratic_of_an_operator_is_that_of_its_matrix(kind):
    M, N = quadratics(kind)
    rng = np.random.default_rng(2)
    L = rng.standard_normal((M.n, 2)) + (1j * rng.standard_normal((M.n, 2)) if M.complex else 0)
    X, y = L @ L.conj().T, rng.standard_normal(M.m)
    check_operator(M)
    np.testing.assert_allclose(M.apply(X), N.apply(X), atol=1e-10)
    Z = M.adjoint(y)
    np.testing.assert_allclose(Z @ L, N.adjoint(y) @ L, atol=1e-10)
    np.testing.assert_allclose(np.vdot(y, M.apply(X)), np.trace(X @ (Z @ np.eye(M.n))).real, rtol=1e-10)
    for k in (1, 2):
        (image, pull), (image_n, pull_n) = M.measure_factor(L[:, :k]), N.measure_factor(L[:, :k])
        np.testing.assert_allclose(image, M.apply(L[:, :k] @ L[:, :k].conj().T), atol=1e-10)
        np.testing.assert_allclose(image, image_n, atol=1e-10)
        np.testing.assert_allclose(pull(y), 2 * np.asarray(Z @ L[:, :k]), atol=1e-10)
        np.testing.assert_allclose(pull(y), pull_n(y), atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_of_rows(kind):
    M, N = quadratics(kind)
    if kind in ("diffraction", "sparse"):
        np.testing.assert_allclose(M.row_squares(), N.row_squares(), rtol=1e-12)
    else:  # products would have to tell them
        assert M.row_squares() is None


def test_the_norm_of_coded_diffraction_is_proven():
    M, N = quadratics("diffraction")
    assert M.psd_norm() == pytest.approx(N.psd_norm(), rel=1e-9)
    largest = max(np.linalg.norm(M.apply(np.outer(v, v.conj()) / np.vdot(v, v).real)) for v in randoms(8, 50).T)
    assert largest <= M.psd_norm()
    assert quadratics("real")[0].psd_norm() is None


# Implicit Hermitian matrices -----------------------------------------------------------------------------------------


def test_leading_eigenpairs_are_found_once():
    n = linalg.DENSE_SIDE + 20
    values = np.linspace(0, 1, n)
    calls = []

    def product(X):
        calls.append(1)
        return (values if X.ndim == 1 else values[:, None]) * X

    z = linalg.Hermitian(n, product, np.float64)
    assert z.H is z
    found, vectors = linalg.top_eigh(z, 1)
    before = len(calls)
    again, pair = linalg.top_eigh(z, 2)
    assert len(calls) == before
    np.testing.assert_allclose(again, values[::-1][:2], atol=1e-12)
    np.testing.assert_array_equal(again[:1], found)
    np.testing.assert_array_equal(pair[:, :1], vectors)
    linalg.top_eigh(z, 3)
    assert len(calls) > before


def test_rough_eigenpairs_cost_less():
    n = linalg.DENSE_SIDE + 20
    D = np.diag(np.r_[np.linspace(0, 1, n - 1), 1.3])
    with ledger.opened(0) as fine:
        linalg.top_eigh(linalg.Hermitian(n, lambda X: D @ X, np.float64), 1)
    with ledger.opened(0) as rough:
        values, vectors = linalg.top_eigh(linalg.Hermitian(n, lambda X: D @ X, np.float64), 1, tol=1e-3)
    assert rough.svd_products < fine.svd_products
    assert values[0] == pytest.approx(1.3, rel=1e-2)
    assert abs(vectors[-1, 0]) > 0.99


def test_a_zero_implicit_matrix_is_not_written_out():
    n = linalg.DENSE_SIDE + 20
    values, vectors = linalg.top_eigh(linalg.Hermitian(n, np.zeros_like, np.float64), 2)
    np.testing.assert_array_equal(values, 0.0)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(2))
