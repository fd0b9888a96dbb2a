"""Every operator: adjoint, linearity, restriction, counts, and the norms that certificates rest on."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import naive
from contracts.families import (
    black_box,
    complex_operators,
    generator,
    hermitian_dual,
    matrix_operators,
    matrix_sets,
    over,
    places,
    precision,
    square_operators,
    square_sets,
    vector_operators,
    vector_sets,
)
from fewatoms import (
    Counting,
    Groups,
    Identity,
    Mapped,
    Operator,
    PSDRankOne,
    Quadratic,
    RankOne,
    Sampling,
    SignedOneHot,
)
from fewatoms.faces import Factors, SymmetricFactors
from fewatoms.operators import MatrixOperator, as_operator
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
    M.column_norms()
    if not sp.issparse(z) and not isinstance(z, LinearOperator):
        assert z.size == M.shape[1]
    for array, copy in zip((y, x, indices, X), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_matrices_are_used_in_place():
    A = generator().standard_normal((4, 3))
    assert as_operator(A).matrix is A
    S = sp.csr_array(A)
    before = S.copy()
    M = as_operator(S)
    M.restrict(SignedOneHot(3).expose(np.ones(3), 2))
    M.rank_one_norm()
    assert M.matrix is S
    assert (before != S).nnz == 0


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


def budget(atoms, k):
    parts = getattr(atoms, "parts", None)
    return min(k, atoms.count) if parts is None else tuple(budget(p, k) for p in parts)


@pytest.mark.parametrize(("name", "M", "atoms", "z"), PAIRS)
def test_reduced_operator_is_M_after_point(name, M, atoms, z):
    rng, tol = generator(13), 100 * precision(name)
    b, weights = rng.standard_normal(M.shape[0]), rng.uniform(0.2, 3.0, M.shape[0])
    for k in (0, 2):
        face = atoms.expose(z, budget(atoms, k) if k else 0)
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


def test_normal_equations_in_many_blocks(monkeypatch):
    """The blocks that Gram matrices are summed in may be as small as a row."""
    monkeypatch.setattr("fewatoms.operators.reduced.BLOCK", 8)
    rng = generator(3)
    U, V = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (5, 6))
    weights = rng.uniform(0.5, 2.0, 30)
    cases = [
        (Identity((5, 6)), Factors(U, V)),
        (Sampling(*places(5, 6, 0.5, 1), (5, 6)), Factors(U, V)),
        (Quadratic(rng.standard_normal((20, 5))), SymmetricFactors(U)),
        (as_operator(rng.standard_normal((20, 9))), SignedOneHot(9).expose(rng.standard_normal(9), 4)),
    ]
    for M, face in cases:
        b, w = rng.standard_normal(M.shape[0]), weights[: M.shape[0]]
        R = naive.reduced_matrix(M, face)
        for some in (None, w):
            G, h = M.restrict(face).normal_equations(b, some)
            expected_G, expected_h = naive.normal_equations(R, b, some)
            np.testing.assert_allclose(G, expected_G, atol=1e-12)
            np.testing.assert_allclose(h, expected_h, atol=1e-12)


def test_wide_sparse_columns_stay_sparse():
    A = sp.random_array((50_000, 120), density=1e-3, rng=generator(4), format="csr")
    face = SignedOneHot(120).expose(generator(5).standard_normal(120), 100)
    reduced = as_operator(A).restrict(face)
    assert sp.issparse(reduced.matrix)
    R = A.tocsc()[:, face.indices] @ sp.diags_array(face.signs)
    c, b = np.ones(100), np.ones(50_000)
    np.testing.assert_allclose(reduced.apply(c), R @ c, atol=1e-12)
    G, h = reduced.normal_equations(b, 2 * b)
    np.testing.assert_allclose(G, 2 * (R.T @ R).toarray(), atol=1e-12)
    np.testing.assert_allclose(h, 2 * R.T @ b, atol=1e-12)
    np.testing.assert_allclose(reduced.norms() ** 2, R.multiply(R).sum(axis=0), atol=1e-12)


def test_memory_of_sampled_normal_equations():
    """Nothing of m times k squared numbers is held, and nothing of m times k either with the compiled loop."""
    p, q, k, m = 200, 200, 10, 20_000
    rng = generator(6)
    U, V = (np.linalg.qr(rng.standard_normal((n, k)))[0] for n in (p, q))
    M = Sampling(*places(p, q, m / (p * q), 7), (p, q))
    reduced = M.restrict(Factors(U, V))
    b, weights = rng.standard_normal(m), rng.uniform(0.5, 1.0, m)
    reduced.normal_equations(b, weights)
    tracemalloc.start()
    try:
        G, h = reduced.normal_equations(b, weights)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.4 * 8 * m * k * k
    assert peak < 6 * 8 * m * k
    R = (U[M.rows][:, :, None] * V[M.cols][:, None, :]).reshape(m, k * k)
    np.testing.assert_allclose(G, R.T @ (weights[:, None] * R), atol=1e-9)
    np.testing.assert_allclose(h, R.T @ (weights * b), atol=1e-9)


# Counts


def test_counting_products_one_by_one():
    M = Counting(generator().standard_normal((5, 4)))
    M.apply(np.ones(4))
    assert M.products == 1
    M.adjoint(np.ones(5))
    assert M.products == 2
    M.apply_block(np.ones((4, 3)))
    assert M.products == 5
    M.columns(np.array([0, 3]))
    assert M.products == 7
    M.column_norms()  # a matrix at hand has nothing to multiply
    assert M.products == 7


def test_counting_columns_of_a_face():
    M = Counting(generator().standard_normal((5, 4)))
    reduced = M.restrict(SignedOneHot(4).expose(np.arange(4.0), 3))
    assert M.products == 3
    reduced.apply(np.ones(3))
    reduced.adjoint(np.ones(5))
    reduced.normal_equations(np.ones(5))
    assert M.products == 3  # the columns are at hand
    M.restrict(Groups([0, 0, 1, 1]).expose(np.arange(4.0), 2))
    assert M.products == 7


def test_counting_a_black_box():
    calls = []
    A = generator().standard_normal((5, 4))
    op = LinearOperator(
        (5, 4),
        matvec=lambda x: calls.append("forward") or A @ x,
        rmatvec=lambda y: calls.append("backward") or A.T @ y,
        dtype=float,
    )
    M = Counting(op)
    face = SignedOneHot(4).expose(np.arange(4.0), 3)
    reduced = M.restrict(face)
    assert M.products == len(calls) == 0
    reduced.apply(np.ones(3))
    reduced.adjoint(np.ones(5))
    assert M.products == len(calls) == 2
    reduced.formed()
    assert M.products == len(calls) == 5
    reduced.normal_equations(np.ones(5))
    assert M.products == len(calls) == 5 + 2 * 3 + 1
    M.column_norms()
    assert M.products == len(calls) == 12 + 4
    M.block_norms([np.array([0, 1]), np.array([2, 3])])
    assert M.products == len(calls) == 16 + 4
    (Mapped(np.eye(4), SignedOneHot(4))).operator_norm(M)
    assert M.products == len(calls) == 20 + 4


def test_counting_sampled_factors():
    M = Counting(Sampling(*places(5, 6, 0.7, 2), (5, 6)))
    rng = generator(1)
    face = RankOne(5, 6).expose(rng.standard_normal((5, 6)), 2)
    b = rng.standard_normal(M.shape[0])
    reduced = M.restrict(face)
    assert M.products == 0
    reduced.apply(np.ones(4))
    assert M.products == 2  # a matrix of rank two is two of rank one
    reduced.adjoint(b)
    assert M.products == 3
    reduced.normal_equations(b)
    assert M.products == 3 + reduced.costs["normal_equations"] == 3 + 4 + 1  # four images of rank one, one M*y
    face.measure(M, np.ones(4))
    assert M.products == 10
    M.adjoint(b)
    assert M.products == 11


def test_counting_quadratic_factors():
    M = Counting(Quadratic(generator().standard_normal((7, 4))))
    face = PSDRankOne(4).expose(np.diag([3.0, 2, 1, 0]), 2)
    reduced = M.restrict(face)
    assert M.products == 2  # A v for each of the vectors
    reduced.apply(np.ones(3))
    reduced.adjoint(np.ones(7))
    reduced.normal_equations(np.ones(7))
    assert M.products == 2


def test_counting_a_sum_of_faces():
    p, q = 4, 5
    M = Counting(Sampling(*places(p, q, 0.8, 3), (p, q)))
    atoms = RankOne(p, q) + SignedOneHot((p, q))
    face = atoms.expose(generator(2).standard_normal((p, q)), (2, 3))
    reduced = M.restrict(face)
    assert M.products == 3  # three columns
    reduced.apply(np.ones(face.dim))
    assert M.products == 5
    reduced.adjoint(np.ones(M.shape[0]))
    assert M.products == 6
    box = Counting(black_box(generator(3).standard_normal((7, p * q))))
    whole = box.restrict(face)
    whole.apply(np.ones(face.dim))
    whole.adjoint(np.ones(7))
    assert box.products == 2  # one product for the sum, not one for each part


def test_counting_scaled_and_mapped_faces():
    A = generator(4).standard_normal((6, 5))
    M = Counting(A)
    M.restrict((2.0 * SignedOneHot(5)).expose(np.arange(5.0), 2))
    assert M.products == 2
    mapped = Mapped(generator(5).standard_normal((5, 8)), SignedOneHot(8))
    reduced = M.restrict(mapped.expose(np.arange(5.0), 3))
    assert M.products == 5
    reduced.apply(np.ones(3))
    assert M.products == 5
    M.restrict(Mapped(black_box(np.eye(5)), SignedOneHot(5)).expose(np.arange(5.0), 3)).apply(np.ones(3))
    assert M.products == 6  # nothing is formed where the map is a black box


# Norms: proven bounds, and exact where they can be


@pytest.mark.parametrize(("name", "M"), **over(VECTOR | MATRIX | SQUARE))
def test_column_and_block_norms(name, M):
    A = naive.dense_operator(M)
    tol = 1e-6 if name in ("single", "single, sparse") else 1e-12
    blocks = [np.array([0, 2]), np.array([1]), np.arange(3, M.shape[1])]
    columns, spectral = M.column_norms(), M.block_norms(blocks)
    if isinstance(M, Quadratic) or "quadratic" in name or name == "composed of black boxes":
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
    np.testing.assert_allclose(M.column_norms(), np.linalg.norm(exact, axis=0), rtol=1e-14)
    top = np.linalg.norm(exact, 2)
    assert top <= M.rank_one_norm() <= top * (1 + 1e-11)
    W = A[:, :20]
    bound = np.linalg.norm(W.astype(np.float64), axis=1).max() * np.linalg.norm(W.astype(np.float64), 2)
    psd = Quadratic(W if kind == "dense" else sp.csr_array(W)).psd_norm()
    assert bound <= psd <= bound * (1 + 1e-11)


def random_atoms(shape, rng, count=400):
    for i in range(count):
        u, v = (rng.standard_normal(n) for n in shape)
        if i % 4 == 0:  # and the sparse ones, where sampling is largest
            u, v = (np.eye(n)[rng.integers(n)] for n in shape)
        yield u / np.linalg.norm(u), v / np.linalg.norm(v)


@pytest.mark.parametrize(("name", "M"), **over(MATRIX | TALL | SQUARE))
def test_rank_one_norm_is_a_bound(name, M):
    bound = M.rank_one_norm()
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
    bound = M.psd_norm()
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
        assert top <= M.rank_one_norm() <= top * (1 + 1e-6)
    assert MatrixOperator(np.zeros(shape)).rank_one_norm() == 0.0


def test_spectral_bound_of_a_large_matrix_is_cheap_and_safe(monkeypatch):
    monkeypatch.setattr("fewatoms.operators.matrix.EXACT_NORM_SIDE", 10)
    for A in (sp.random_array((80, 90), density=0.05, rng=generator(12), format="csr"), np.eye(11), np.ones((11, 12))):
        bound = MatrixOperator(A).rank_one_norm()
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


# Quadratic measurements


@pytest.mark.parametrize("complex_", [False, True])
def test_quadratic_measures_intensities(complex_):
    rng = generator(15)
    A, x = rng.standard_normal((6, 4)), rng.standard_normal(4)
    if complex_:
        A, x = A + 1j * rng.standard_normal((6, 4)), x + 1j * rng.standard_normal(4)
    for given in (A, sp.csr_array(A), aslinearoperator(A)):
        image = Quadratic(given).apply(np.outer(x, x.conj()))
        np.testing.assert_allclose(image, np.abs(A @ x) ** 2, atol=1e-12)


def test_quadratic_squared_distances():
    rng = generator(16)
    points = rng.standard_normal((4, 2))
    i, j = np.triu_indices(4, 1)
    rows = np.eye(4)[i] - np.eye(4)[j]
    expected = np.sum((points[i] - points[j]) ** 2, axis=1)
    np.testing.assert_allclose(Quadratic(rows).apply(points @ points.T), expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_quadratic_duals_are_double_whatever_the_measurements(dtype, monkeypatch):
    """Formed or implicit, M*y is the same matrix, in double precision."""
    rng = generator(17)
    A = rng.standard_normal((9, 5))
    if np.dtype(dtype).kind == "c":
        A = A + 1j * rng.standard_normal((9, 5))
    A = A.astype(dtype)
    y = rng.standard_normal(9)
    formed = Quadratic(A).adjoint(y)
    assert isinstance(formed, np.ndarray)
    monkeypatch.setattr("fewatoms.operators.quadratic.FORM_SIDE", 0)
    implicit = Quadratic(A).adjoint(y)
    assert isinstance(implicit, LinearOperator)
    assert implicit.dtype == (np.complex128 if np.dtype(dtype).kind == "c" else np.float64)
    wide = A.astype(np.complex128)
    np.testing.assert_allclose(implicit @ np.eye(5), wide.conj().T @ np.diag(y) @ wide, atol=1e-5)
    np.testing.assert_allclose(implicit @ np.eye(5), formed, atol=1e-5)
    y *= 2  # the operator keeps its own copy
    np.testing.assert_allclose(implicit @ np.eye(5), formed, atol=1e-5)


# Sampling


def test_sampling_keeps_the_order_given():
    rows, cols = np.array([2, 0, 1, 0]), np.array([1, 2, 0, 0])
    X = np.arange(9.0).reshape(3, 3)
    M = Sampling(rows, cols, (3, 3))
    np.testing.assert_array_equal(M.rows, rows)
    np.testing.assert_array_equal(M.cols, cols)
    np.testing.assert_array_equal(M.apply(X), X[rows, cols])
    np.testing.assert_array_equal(M.adjoint(np.arange(1.0, 5)).toarray(), [[4, 0, 2], [3, 0, 0], [0, 1, 0]])
    left, right = X[:, :2], X[:, 1:]
    np.testing.assert_allclose(M.apply_factors(left, right), naive.sampled_products(left, right, rows, cols))


def test_sampling_a_piece_at_a_time(monkeypatch):
    """However few numbers are gathered at once."""
    monkeypatch.setattr("fewatoms.kernels.GATHER", 3)
    rng = generator(18)
    rows, cols = places(6, 5, 0.9, 4)
    left, right = rng.standard_normal((6, 2)), rng.standard_normal((5, 2))
    found = Sampling(rows, cols, (6, 5)).apply_factors(left, right)
    np.testing.assert_allclose(found, naive.sampled_products(left, right, rows, cols), atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_sampling_row_grams(weighted):
    rng = generator(19)
    rows, cols = places(7, 5, 0.4, 5)
    keep = rows != 3  # a row without entries
    rows, cols = rows[keep], cols[keep]
    V = rng.standard_normal((5, 3))
    weights = rng.uniform(0.1, 2, rows.size)
    M = Sampling(rows, cols, (7, 5))
    blocks = [grams.copy() for _, grams in M.row_grams(V, weights if weighted else None)]
    expected = naive.row_grams(V, rows, cols, weights if weighted else np.ones(rows.size), 7)
    np.testing.assert_allclose(np.concatenate(blocks), expected, atol=1e-13)


@pytest.mark.parametrize("duplicates", ["mean", "last"])
def test_sampling_from_triplets(duplicates):
    rows, cols, values = [2, 0, 2, 1, 2], [1, 0, 1, 2, 1], [1.0, 5.0, 2.0, 7.0, 6.0]
    M, b = Sampling.from_triplets(rows, cols, values, duplicates=duplicates)
    assert M.matrix_shape == (3, 3)
    seen = dict(zip(zip(M.rows.tolist(), M.cols.tolist(), strict=True), b, strict=True))
    assert seen == {(2, 1): 3.0 if duplicates == "mean" else 6.0, (0, 0): 5.0, (1, 2): 7.0}
    with pytest.raises(ValueError, match="each entry once"):
        Sampling.from_triplets(rows, cols, values)


def test_sampling_from_an_array_with_holes():
    X = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, 6.0]])
    for given in (X, np.ma.masked_invalid(X)):
        M, b = Sampling.from_array(given)
        assert M.matrix_shape == (2, 3)
        np.testing.assert_array_equal(b, [1, 3, 5, 6])
        np.testing.assert_array_equal(M.apply(np.nan_to_num(X)), b)


# Black boxes


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
    np.testing.assert_allclose(as_operator(Bare(A)).column_norms(), np.linalg.norm(A, axis=0))
    check_operator(A.tolist())


def test_columns_of_a_black_box_come_in_blocks(monkeypatch):
    A = generator(21).standard_normal((5, 600))
    M = as_operator(black_box(A))
    np.testing.assert_allclose(M.column_norms(), np.linalg.norm(A, axis=0))
    indices = np.arange(0, 600, 7)
    np.testing.assert_allclose(M.columns(indices), A[:, indices])
    assert M.columns(indices[:0]).shape == (5, 0)


def test_large_black_boxes_are_not_asked_for_all_columns(monkeypatch):
    monkeypatch.setattr("fewatoms.operators.matrix.PROBE_LIMIT", 3)
    monkeypatch.setattr("fewatoms.operators.base.PROBE_LIMIT", 3)
    M = Counting(black_box(np.ones((2, 4))))
    assert M.column_norms() is None
    assert M.block_norms([np.arange(4)]) is None
    assert SignedOneHot(4).operator_norm(M) is None
    assert Groups([0, 0, 1, 1]).operator_norm(M) is None
    assert Mapped(np.eye(4), SignedOneHot(4)).operator_norm(M) is None
    assert M.products == 0


# Your own, and what a failure says


class Blur(Operator):
    """An operator with the three required members only."""

    shape = (4, 6)

    def apply(self, x):
        return x.ravel()[:4] + x.ravel()[2:]

    def adjoint(self, y):
        return np.concatenate([y, [0, 0]]) + np.concatenate([[0, 0], y])


def test_an_operator_needs_three_members():
    check_operator(Blur())
    check_operator(Counting(Blur()))
    assert Blur().column_norms() is None


def test_a_wrong_adjoint_is_named():
    class Wrong(Blur):
        def adjoint(self, y):
            return 1.001 * super().adjoint(y)

    with pytest.raises(AssertionError, match=r"adjoint identity <Mx, y> = <x, M\*y> does not hold: .* against .*"):
        check_operator(Wrong())


def test_a_map_that_is_not_linear_is_named():
    class Wrong(Blur):
        def apply(self, x):
            return super().apply(x) + 1e-3

    with pytest.raises(AssertionError, match=r"adjoint identity|linearity"):
        check_operator(Wrong())


def test_a_norm_that_is_no_bound_is_named():
    class Wrong(Identity):
        def rank_one_norm(self):
            return 0.5

    with pytest.raises(AssertionError, match=r"rank_one_norm\(\) does not hold"):
        check_operator(Wrong((2, 3)))


def test_a_wrong_restriction_is_named():
    class Wrong(Blur):
        def restrict_columns(self, face, indices, signs):
            return super().restrict_columns(face, indices, signs).scaled(2.0)

    with pytest.raises(AssertionError, match=r"restrict\(Coordinates\).apply"):
        check_operator(Wrong())


def test_an_operator_that_writes_into_its_argument_is_named():
    class Wrong(Blur):
        def apply(self, x):
            image = super().apply(x)
            x *= 0
            return image

    with pytest.raises(AssertionError, match="leaves x as it is"):
        check_operator(Wrong())
