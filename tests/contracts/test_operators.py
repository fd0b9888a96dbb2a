"""Every operator: adjoint, linearity, restriction, counts, and the norms that certificates rest on."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import naive
from contracts.families import (
    complex_operators,
    few,
    generator,
    hermitian_dual,
    matrix_operators,
    matrix_sets,
    over,
    precision,
    square_operators,
    square_sets,
    vector_operators,
    vector_sets,
)
from fewatoms import PSDRankOne, norms
from fewatoms.testing import check_operator

VECTOR = vector_operators(7)
MATRIX = {f"{name} 3x4": op for name, op in matrix_operators(3, 4).items()}
TALL = {f"{name} 4x1": op for name, op in matrix_operators(4, 1).items()}
SQUARE = {f"{name} 3x3": op for name, op in matrix_operators(3, 3).items()} | square_operators(3)
COMPLEX = complex_operators(3)
EVERY = VECTOR | MATRIX | TALL | SQUARE | COMPLEX
every_operator = pytest.mark.parametrize(("name", "M"), **over(EVERY))


@every_operator
def test_identities(name, M):
    check_operator(M, rng=0, tol=precision(name))


@pytest.mark.parametrize(("name", "M"), **over(VECTOR | MATRIX | TALL | SQUARE))
def test_adjoint_is_the_transpose_of_the_dense_matrix(name, M):
    A = naive.dense_operator(M)
    y = generator(1).standard_normal(M.shape[0])
    z = naive.dense_dual(M.adjoint(y), (M.shape[1],))
    np.testing.assert_allclose(z, A.T @ y, atol=precision(name))


@every_operator
def test_nothing_passed_in_is_modified(name, M):
    rng = generator(2)
    y, x = rng.standard_normal(M.shape[0]), rng.standard_normal(M.model_shape)
    indices = np.array([M.shape[1] - 1, 0], dtype=np.intp)
    X = rng.standard_normal((M.shape[1], 2))
    before = [a.copy() for a in (y, x, indices, X)]
    M.apply(x)
    z = M.adjoint(y)
    M.columns(indices)
    M.apply_block(X)
    norms.column_norms(M)
    if not sp.issparse(z) and not isinstance(z, LinearOperator):
        assert z.size == M.shape[1]
    for array, copy in zip((y, x, indices, X), before, strict=True):
        np.testing.assert_array_equal(array, copy)


# Restriction: every operator on every face that fits it


def fitting(operators, sets, dual=None):
    """(id, operator, face) for all pairs over one model space, which faces of two atoms and of none are drawn from."""
    for name, M in operators.items():
        for told, atoms in sets.items():
            shape = M.model_shape
            if len(shape) > 1 and atoms.shape != shape:
                if len(atoms.shape) > 1:
                    continue
                atoms = atoms.reshaped(shape)
            rng = generator(12)
            z = rng.standard_normal(atoms.shape) if dual is None else dual(rng)
            yield pytest.param(name, M, atoms, z, id=f"{name} on {told}")


def without_copies(operators):
    """Less those that differ from others only in how their matrix is stored."""
    return {name: M for name, M in operators.items() if name not in ("fortran", "strided", "integers", "csc", "coo")}


REAL_SQUARE = {f"{name} 3x3": op for name, op in matrix_operators(3, 3).items()} | square_operators(3)
PAIRS = [
    *fitting(without_copies(vector_operators(12)) | matrix_operators(3, 4), vector_sets(12) | matrix_sets(3, 4)),
    *fitting(REAL_SQUARE | {"dense 9": vector_operators(9)["dense"]}, square_sets(3) | matrix_sets(3, 3)),
    *fitting(complex_operators(3), {"complex psd": PSDRankOne(3), "double": 2.0 * PSDRankOne(3)}, hermitian_dual(3)),
    *fitting(complex_operators(3), {"real psd": PSDRankOne(3)}),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "M", "atoms", "z"), PAIRS)
def test_reduced_operator_is_M_after_point(name, M, atoms, z):
    rng, tol = generator(13), 100 * precision(name)
    b, weights = rng.standard_normal(M.shape[0]), rng.uniform(0.2, 3.0, M.shape[0])
    for k in (0, 2):
        face = atoms.expose(z, few(atoms, k) if k else 0)
        reduced = M.restrict(face)
        assert reduced.dim == face.dim
        R = naive.reduced_matrix(M, face)
        c = rng.standard_normal(face.dim)
        before = c.copy(), b.copy(), weights.copy()
        np.testing.assert_allclose(reduced.apply(c), M.apply(face.point(c)), atol=tol)
        np.testing.assert_allclose(reduced.adjoint(b), R.T @ b, atol=tol)
        np.testing.assert_allclose(reduced.formed().apply(c), R @ c, atol=tol)
        np.testing.assert_allclose(naive.dense(reduced.formed().matrix), R, atol=tol)
        np.testing.assert_allclose(reduced.scaled(-2.0).apply(c), -2 * R @ c, atol=tol)
        for w in (None, weights):
            G, h = reduced.normal_equations(b, w)
            expected_G, expected_h = naive.normal_equations(R, b, w)
            np.testing.assert_allclose(G, expected_G, atol=tol)
            np.testing.assert_allclose(h, expected_h, atol=tol)
        if reduced.norms() is not None:
            np.testing.assert_allclose(reduced.norms(), np.linalg.norm(R, axis=0), atol=tol)
        np.testing.assert_allclose(face.measure(M, c), R @ c, atol=tol)
        for array, copy in zip((c, b, weights), before, strict=True):
            np.testing.assert_array_equal(array, copy)
