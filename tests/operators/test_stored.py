"""Sparse matrices read where they are, against dense twins: any order, type and format, duplicates included."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import fewatoms as fa
from contracts.families import generator
from fewatoms.operators import MatrixOperator, matrix, stored
from fewatoms.testing import check_operator

M_ROWS, N = 40, 17
KINDS = {
    "csr array": sp.csr_array,
    "csc array": sp.csc_array,
    "csr matrix": sp.csr_matrix,
    "csc matrix": sp.csc_matrix,
}
TYPES = [np.float64, np.float32, np.int8, bool]
WANTED = [np.array([3, 0, 16, 3]), np.arange(N), np.array([5]), np.empty(0, dtype=np.intp)]


def dense_twin(dtype, seed=0):
    """With an empty row, an empty column, and an entry that is zero."""
    rng = generator(seed)
    A = (4 * rng.standard_normal((M_ROWS, N))).astype(dtype) * (rng.random((M_ROWS, N)) < 0.3)
    A[7], A[:, 4] = 0, 0
    return A.astype(dtype)


def told_twice(A):
    """The same matrix with each entry as the sum of two, out of order."""
    i, j = np.nonzero(A)
    half = A[i, j] / 2
    order = generator(1).permutation(2 * i.size)
    rows, values = np.tile(i, 2)[order], np.tile(half, 2)[order]
    cols, by = np.tile(j, 2)[order], np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=A.shape[0]))])
    return sp.csr_array((values[by], cols[by], starts), shape=A.shape)


@pytest.fixture(params=["whole", "pieces"])
def sizes(request, monkeypatch):
    """All entries at once, or few at a time; what is small otherwise counts as large."""
    monkeypatch.setattr(matrix, "COPIED", 0)
    if request.param == "pieces":
        monkeypatch.setattr(stored, "SCANNED", 5)


def check_twin(S, A):
    A = np.asarray(A, dtype=np.float64)
    weights = generator(2).uniform(0.1, 3.0, M_ROWS)
    before = S.copy()
    M = MatrixOperator(S)
    np.testing.assert_allclose(M.column_lengths(), np.linalg.norm(A, axis=0), rtol=1e-13)
    np.testing.assert_allclose(M.column_lengths(weights), np.linalg.norm(np.sqrt(weights)[:, None] * A, axis=0), 1e-13)
    for wanted in WANTED:
        found = M.read(wanted)
        assert found.shape == (M_ROWS, wanted.size)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found.toarray() if sp.issparse(found) else found, A[:, wanted], rtol=1e-15)
    X, Y = generator(3).standard_normal((N, 3)), generator(4).standard_normal((M_ROWS, 3))
    np.testing.assert_allclose(M.apply_block(X), A @ X, atol=1e-12)
    np.testing.assert_allclose(M.apply(X[:, 0]), A @ X[:, 0], atol=1e-12)
    np.testing.assert_allclose(M.adjoint_block(Y), A.T @ Y, atol=1e-12)
    np.testing.assert_allclose(M.adjoint(Y[:, 0]), A.T @ Y[:, 0], atol=1e-12)
    few = Y * (np.abs(Y) > 1.5)
    np.testing.assert_allclose(M.crossed(sp.csc_array(few)).toarray(), A.T @ few, atol=1e-12)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(S, part), getattr(before, part))
    check_operator(M, trials=1)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("wide", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_dense_twin(kind, dtype, wide):
    A = dense_twin(dtype)
    S = KINDS[kind](A)
    S.indices, S.indptr = S.indices.astype(wide), S.indptr.astype(wide)
    check_twin(S, A)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("turned", [False, True])
def test_entries_that_are_told_twice(turned):
    A = dense_twin(np.float64)
    check_twin(told_twice(A.T).T if turned else told_twice(A), A)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("kind", ["csr array", "csc array"])
def test_lengths_in_far_units(kind):
    A = dense_twin(np.float64) * np.logspace(-200, 200, N)
    lengths = MatrixOperator(KINDS[kind](A)).column_lengths()
    np.testing.assert_allclose(
        lengths, [np.abs(c).max() * np.linalg.norm(c / max(np.abs(c).max(), 1e-300)) for c in A.T]
    )


def test_many_readings_turn_the_matrix_once(monkeypatch):
    monkeypatch.setattr(matrix, "COPIED", 0)
    A = dense_twin(np.float64)
    M = MatrixOperator(sp.csr_array(A))
    for i in range(matrix.READINGS + 3):
        found = M.read(np.array([i % N]))
        np.testing.assert_array_equal(found if isinstance(found, np.ndarray) else found.toarray(), A[:, [i % N]])
    assert M._by_column is not None


def large(kind, dtype, lines=60_000, across=30_000, each=100):
    rng = generator(5)
    places = np.sort(rng.integers(across, size=(lines, each), dtype=np.int32), axis=1)
    values = rng.standard_normal(places.size).astype(dtype)
    starts = np.arange(lines + 1, dtype=np.int32) * np.int32(each)
    shape = (lines, across) if kind is sp.csr_array else (across, lines)
    return kind((values, places.ravel(), starts), shape=shape)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_a_fit_takes_less_than_half_a_matrix_more(kind, dtype):
    """The answer and its certificate, clean and with noise; nothing of the size of the matrix is made."""
    S = large(kind, dtype)
    size = S.data.nbytes + S.indices.nbytes + S.indptr.nbytes
    rng = generator(6)
    truth = np.sort(rng.choice(S.shape[1], 12, replace=False))
    x = np.zeros(S.shape[1])
    x[truth] = rng.choice([-1.0, 1.0], truth.size)
    b = S.astype(np.float64) @ x
    for noise in (0.0, 0.1):
        data = b + noise * np.linalg.norm(b) / np.sqrt(b.size) * rng.standard_normal(b.size)
        tracemalloc.start()
        s = fa.fit(S, data, atoms=fa.SignedOneHot(S.shape[1]), k=truth.size)
        answered = tracemalloc.get_traced_memory()[1]
        assert s.certificate.gap >= 0
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        np.testing.assert_array_equal(np.sort(s.indices), truth)
        assert s.products <= 4
        assert answered <= 0.6 * size + 16e6, f"{answered / size:.2f} times the matrix"
        assert peak <= 0.8 * size + 16e6, f"{peak / size:.2f} times the matrix"
