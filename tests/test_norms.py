"""Norms of images of atoms: proven bounds, and exact where they can be."""

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from contracts.families import (
    complex_operators,
    generator,
    matrix_operators,
    matrix_sets,
    over,
    precision,
    square_operators,
    vector_operators,
    vector_sets,
)
from fewatoms import (
    Quadratic,
    norms,
)
from fewatoms.operators import MatrixOperator, as_operator

VECTOR = vector_operators(7)
MATRIX = {f"{name} 3x4": op for name, op in matrix_operators(3, 4).items()}
TALL = {f"{name} 4x1": op for name, op in matrix_operators(4, 1).items()}
SQUARE = {f"{name} 3x3": op for name, op in matrix_operators(3, 3).items()} | square_operators(3)
COMPLEX = complex_operators(3)


@pytest.mark.parametrize(("name", "M"), **over(VECTOR | MATRIX | SQUARE))
def test_column_and_block_norms(name, M):
    A = naive.dense_operator(M)
    tol = 1e-6 if name in ("single", "single, sparse") else 1e-12
    blocks = [np.array([0, 2]), np.array([1]), np.arange(3, M.shape[1])]
    columns, spectral = norms.column_norms(M), norms.block_norms(M, blocks)
    if isinstance(M, Quadratic) or "quadratic" in name:
        assert columns is None
        assert spectral is None
        return
    np.testing.assert_allclose(columns, np.linalg.norm(A, axis=0), atol=tol)
    np.testing.assert_allclose(spectral, [np.linalg.norm(A[:, i], 2) for i in blocks], atol=tol)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_single_precision_norms_are_bounds_in_double(kind):
    A = generator(8).standard_normal((60, 40)).astype(np.float32)
    exact = A.astype(np.float64)
    M = as_operator(A if kind == "dense" else sp.csr_array(A))
    np.testing.assert_allclose(norms.column_norms(M), np.linalg.norm(exact, axis=0), rtol=1e-14)
    top = np.linalg.norm(exact, 2)
    assert top <= norms.rank_one_norm(M) <= top * (1 + 1e-11)
    W = A[:, :20]
    bound = np.linalg.norm(W.astype(np.float64), axis=1).max() * np.linalg.norm(W.astype(np.float64), 2)
    psd = norms.psd_norm(Quadratic(W if kind == "dense" else sp.csr_array(W)))
    assert bound <= psd <= bound * (1 + 1e-11)


def random_atoms(shape, rng, count=400):
    for i in range(count):
        u, v = (rng.standard_normal(n) for n in shape)
        if i % 4 == 0:  # and the sparse ones, where sampling is largest
            u, v = (np.eye(n)[rng.integers(n)] for n in shape)
        yield u / np.linalg.norm(u), v / np.linalg.norm(v)


@pytest.mark.parametrize(("name", "M"), **over(MATRIX | TALL | SQUARE))
def test_rank_one_norm_is_a_bound(name, M):
    bound = norms.rank_one_norm(M)
    if bound is None:
        assert "quadratic" in name or "composed" in name
        return
    sizes = [np.linalg.norm(M.apply(np.outer(u, v))) for u, v in random_atoms(M.model_shape, generator(9))]
    assert max(sizes) <= bound * (1 + 1e-12)
    if "sampling" in name or "identity" in name:
        assert bound == 1.0
        i, j = np.argwhere(naive.dense_dual(M.adjoint(np.ones(M.shape[0])), M.model_shape))[0]
        atom = np.zeros(M.model_shape)
        atom[i, j] = 1.0
        assert np.linalg.norm(M.apply(atom)) == pytest.approx(bound)  # and it is attained


@pytest.mark.parametrize(("name", "M"), **over(SQUARE | COMPLEX))
def test_psd_norm_is_a_bound(name, M):
    bound = norms.psd_norm(M)
    if bound is None:
        assert "operator" in name or "pylops" in name or "composed" in name
        return
    rng = generator(10)
    largest = 0.0
    for _ in range(400):
        v = rng.standard_normal(3) + (1j * rng.standard_normal(3) if name in COMPLEX else 0)
        v /= np.linalg.norm(v)
        largest = max(largest, np.linalg.norm(M.apply(np.outer(v, v.conj()))))
    assert largest <= bound * (1 + precision(name))


@pytest.mark.parametrize("shape", [(9, 12), (12, 9), (1, 5), (5, 1)])
def test_spectral_bound_of_a_matrix(shape):
    """For matrix models a plain matrix bounds by its spectral norm over all of vec(X)."""
    A = generator(11).standard_normal(shape)
    for M in (MatrixOperator(A), MatrixOperator(sp.csr_array(A))):
        top = np.linalg.norm(A, 2)
        assert top <= norms.rank_one_norm(M) <= top * (1 + 1e-6)
    assert norms.rank_one_norm(MatrixOperator(np.zeros(shape))) == 0.0


def test_spectral_bound_of_a_large_matrix_is_cheap_and_safe(monkeypatch):
    monkeypatch.setattr("fewatoms.operators.matrix.EXACT_NORM_SIDE", 10)
    for A in (sp.random_array((80, 90), density=0.05, rng=generator(12), format="csr"), np.eye(11), np.ones((11, 12))):
        bound = norms.rank_one_norm(MatrixOperator(A))
        dense = naive.dense(A)
        assert np.linalg.norm(dense, 2) <= bound * (1 + 1e-14)
        assert bound <= np.linalg.norm(dense) * (1 + 1e-12)


@pytest.mark.parametrize(("name", "M"), **over(vector_operators(6) | matrix_operators(2, 3)))
def test_set_norms_bound_the_images_of_atoms(name, M):
    rng = generator(14)
    checked = 0
    for told, atoms in (vector_sets(6) | matrix_sets(2, 3)).items():
        if len(M.model_shape) > 1 and atoms.shape != M.model_shape:
            atoms = atoms.reshaped(M.model_shape)
        norm, norms = atoms.operator_norm(M), atoms.atom_norms(M)
        if not atoms.bounded:
            assert norm == np.inf
            continue
        if norm is None:
            assert norms is None
            continue
        for _ in range(25):
            z = rng.standard_normal(atoms.shape)
            _, face = atoms.extreme(z)
            image = np.linalg.norm(M.apply(face.point(face.mean_atom()))) if face.size else 0.0
            assert image <= norm * (1 + 1e-6 if "single" in name else 1 + 1e-12), told
            checked += 1
        if norms is not None:
            assert norm == pytest.approx(norms.max())
            assert norms.size == atoms.count
    assert checked > 0
