"""Phase retrieval, and its relatives with semidefinite unknowns: recovery, noise, comparison with cvxpy, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import phase
from fewatoms.losses import LeastSquares
from fewatoms.operators import CodedDiffraction


def draw(rng, shape, complex_):
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape)) / np.sqrt(2) if complex_ else real


def planted(n, m, complex_, seed, k=1):
    """A, L and the intensities of L L^H."""
    rng = np.random.default_rng(seed)
    A, L = draw(rng, (m, n), complex_), draw(rng, (n, k), complex_)
    return A, L, np.sum(np.abs(A @ L) ** 2, axis=1)


def solved(A, b, k=1, **wishes):
    return fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(A.shape[1]), k=k, **wishes)


def with_noise(b, level, seed):
    e = np.random.default_rng(seed).standard_normal(b.size)
    return b + level * np.linalg.norm(b) * e / np.linalg.norm(e)


# Recovery ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize(("n", "ratio"), [(2, 8), (5, 6), (16, 3), (16, 10), (40, 3), (40, 4), (40, 6)])
def test_vectors_are_found_up_to_a_phase(n, ratio, complex_):
    for seed in range(2):
        A, L, b = planted(n, ratio * n, complex_, seed)
        s = solved(A, b)
        assert s.success
        assert s.cardinality == 1
        assert phase.relative_error(s.left, L) < 1e-9


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_factors_are_found_up_to_a_unitary(k, complex_):
    for seed in range(2):
        A, L, b = planted(20, 20 * 4 * k, complex_, seed, k)
        s = solved(A, b, k)
        assert s.cardinality == k
        assert phase.relative_error(s.left, L) < 1e-9
        np.testing.assert_allclose(s.x, L @ L.conj().T, atol=1e-8)


def test_nearly_as_few_data_as_can_be():
    """Real vectors are determined by 2n - 1 generic intensities."""
    found = [
        phase.relative_error(solved(A, b).left, L) < 1e-9 for A, L, b in (planted(30, 66, False, s) for s in range(8))
    ]
    assert np.mean(found) >= 0.85


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize(
    "kind", ["Cauchy rows", "huge row", "zero row", "sparse rows", "sparse signal", "sparse array"]
)
def test_badly_scaled_and_sparse(kind, complex_):
    A, L, _ = planted(30, 180, complex_, 7)
    rng = np.random.default_rng(8)
    if kind == "Cauchy rows":
        A = A * rng.standard_cauchy(180)[:, None]
    elif kind == "huge row":
        A[3] *= 1e6
    elif kind == "zero row":
        A[3] = 0
    elif kind in ("sparse rows", "sparse array"):
        A = A * (rng.random(A.shape) < 0.3)
    elif kind == "sparse signal":
        L = L * (rng.permutation(30) < 2)[:, None]
    b = np.abs(A @ L[:, 0]) ** 2
    s = solved(sp.csr_array(A) if kind == "sparse array" else A, b)
    assert phase.relative_error(s.left, L) < 1e-7


@pytest.mark.parametrize("shape", [64, (8, 9)])
@pytest.mark.parametrize("patterns", [4, 8])
def test_coded_diffraction(shape, patterns):
    A = CodedDiffraction.random(shape, patterns, rng=1)
    x = draw(np.random.default_rng(2), A.shape[1], True)
    s = solved(A, np.abs(A @ x) ** 2)
    assert phase.relative_error(s.left[:, 0], x) < 1e-9


def test_long_signals_form_no_square_matrix(monkeypatch):
    from fewatoms import linalg

    def refuse(z, *rest):
        raise AssertionError("an implicit matrix was written out")

    monkeypatch.setattr(linalg, "_form", refuse)
    A = CodedDiffraction.random((18, 18), 5, rng=0)
    x = np.random.default_rng(0).random(324)
    b = np.abs(A @ x) ** 2
    assert phase.relative_error(solved(A, b).left[:, 0], x) < 1e-9
    assert phase.relative_error(solved(A, with_noise(b, 0.01, 0)).left[:, 0], x) < 0.02


def test_operators_of_others():
    A, L, b = planted(24, 144, True, 3)
    box = LinearOperator(A.shape, matvec=lambda x: A @ x, rmatvec=lambda y: A.conj().T @ y, dtype=complex)
    assert phase.relative_error(solved(box, b).left, L) < 1e-9


def test_same_input_same_answer():
    A, _, b = planted(20, 60, True, 0)
    np.testing.assert_array_equal(solved(A, b).left, solved(A, b).left)


# Noise ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("complex_", [False, True])
def test_noise_gives_the_least_squares_answer(complex_):
    for seed in range(3):
        A, L, b = planted(24, 144, complex_, seed)
        b = with_noise(b, 0.01, seed)
        s = solved(A, b)
        assert s.loss <= LeastSquares().value(b - np.abs(A @ L[:, 0]) ** 2)
        residual = b - np.abs(A @ s.left[:, 0]) ** 2
        slope = A.conj().T @ (residual * (A @ s.left[:, 0]))
        assert np.linalg.norm(slope) < 1e-4 * np.linalg.norm(A.conj().T @ (b * (A @ L[:, 0])))
        assert phase.relative_error(s.left, L) < 0.03


def test_weights_leave_data_out():
    A, L, b = planted(20, 160, False, 1)
    spoiled = np.arange(160) < 12
    b = np.where(spoiled, 50.0 * b.max(), b)
    s = solved(A, b, loss=LeastSquares(weights=np.where(spoiled, 1e-12, 1.0)))
    assert phase.relative_error(s.left, L) < 1e-4


def test_huber_withstands_outliers():
    A, L, b = planted(20, 200, False, 2)
    b = b + np.where(np.arange(200) % 20 == 0, b.max(), 0.0)
    s = solved(A, b, loss=fa.Huber(0.01 * float(np.median(b))))
    assert phase.relative_error(s.left, L) < 0.05


def test_a_bound_is_met():
    A, _, b = planted(20, 120, True, 2)
    s = solved(A, with_noise(b, 0.01, 2), misfit=0.011)
    assert s.status is fa.Status.BOUND_MET
    assert s.misfit <= 0.011 * (1 + 1e-9)


# The convex relaxation ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("complex_", [False, True])
def test_against_phase_lift(complex_):
    cp = pytest.importorskip("cvxpy")
    n, misfit = 8, 0.02
    A, _, b = planted(n, 6 * n, complex_, 4)
    b = with_noise(b, 0.015, 4)
    s = solved(A, b, misfit=misfit)
    X = cp.Variable((n, n), hermitian=True) if complex_ else cp.Variable((n, n), symmetric=True)
    image, trace = cp.sum(cp.multiply(A @ X, A.conj()), axis=1), cp.trace(X)
    image, trace = (cp.real(image), cp.real(trace)) if complex_ else (image, trace)
    lifted = cp.Problem(cp.Minimize(trace), [X >> 0, cp.norm(b - image) <= misfit * np.linalg.norm(b)])
    least = lifted.solve(solver=cp.SCS, eps=1e-6, max_iters=20_000)
    assert s.success
    assert s.coefficients.sum() >= least * (1 - 1e-4)  # one atom cannot do better than any number
    assert s.certificate.primal - s.certificate.gap <= least * (1 + 1e-4)
    assert s.certificate.tau_lower <= least * (1 + 1e-4)
    assert np.linalg.norm(s.x - X.value) < 0.1 * np.linalg.norm(X.value)


# Distances and covariances ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d", "share"), [(25, 2, 0.5), (40, 2, 0.3), (40, 3, 0.4)])
def test_points_from_some_distances(n, d, share):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        P = rng.standard_normal((n, d))
        P -= P.mean(axis=0)
        i, j = np.triu_indices(n, 1)
        known = rng.random(i.size) < share
        i, j = i[known], j[known]
        m = i.size
        rows = np.r_[np.arange(m), np.arange(m)]
        A = sp.csr_array((np.r_[np.ones(m), -np.ones(m)], (rows, np.r_[i, j])), shape=(m, n))
        s = solved(A, np.sum((P[i] - P[j]) ** 2, axis=1), d)
        np.testing.assert_allclose(s.left.mean(axis=0), 0.0, atol=1e-9)
        assert phase.relative_error(s.left, P) < 1e-7


@pytest.mark.parametrize("triangles", ["both", "upper", "lower"])
def test_covariances_from_some_entries(triangles):
    rng = np.random.default_rng(5)
    L = rng.standard_normal((30, 2))
    C = L @ L.T
    i, j = np.triu_indices(30)
    known = rng.random(i.size) < 0.4
    i, j = i[known], j[known]
    if triangles == "lower":
        i, j = j, i
    elif triangles == "both":
        off = i != j
        i, j = np.r_[i, j[off]], np.r_[j, i[off]]
    s = fa.fit(fa.Sampling(i, j, (30, 30)), C[i, j], atoms=fa.PSDRankOne(30), k=2)
    np.testing.assert_allclose(s.x, C, atol=1e-8)
    assert phase.relative_error(s.left, L) < 1e-8
    assert "differ" not in s.message


def test_entries_that_contradict_each_other_are_averaged():
    rng = np.random.default_rng(6)
    L = rng.standard_normal((12, 1))
    skew = 0.01 * np.triu(rng.standard_normal((12, 12)), 1)
    i, j = np.divmod(np.arange(144), 12)
    M, values = fa.Sampling(i, j, (12, 12)), (L @ L.T + skew - skew.T)[i, j]
    s = fa.fit(M, values, atoms=fa.PSDRankOne(12), k=1)
    np.testing.assert_allclose(s.x, L @ L.T, atol=1e-7)
    assert "66 pairs of entries (i, j) and (j, i) differ" in s.message


# Bad input -----------------------------------------------------------------------------------------------------------


def test_complex_data_are_refused():
    A, L, _ = planted(4, 24, True, 0)
    with pytest.raises(TypeError, match=r"b must be real, the intensities \|A x\|\^2; got an array of complex128"):
        solved(A, (A @ L)[:, 0])


def test_negative_intensities_are_flagged():
    A, L, b = planted(10, 100, False, 0)
    b = with_noise(b, 0.2, 0)
    b[:3] = -np.abs(b[:3])
    s = solved(A, b)
    assert f"{np.count_nonzero(b < 0)} of 100 intensities are negative" in s.message
    assert phase.relative_error(s.left, L) < 0.5
    assert "negative" not in solved(A, np.abs(b)).message


def test_some_intensity_must_be_positive():
    A, _, b = planted(4, 24, False, 0)
    with pytest.raises(ValueError, match="b must have a positive entry"):
        solved(A, -b)
    assert solved(A, 0 * b).status is fa.Status.ZERO


@pytest.mark.parametrize(("complex_", "unknowns"), [(False, 20), (True, 39)])
def test_too_few_measurements_are_flagged(complex_, unknowns):
    A, _, b = planted(20, 15, complex_, 0)
    s = solved(A, b)
    assert f"{unknowns} unknowns are more than 15 measurements can determine" in s.message
    A, _, b = planted(20, 120, complex_, 0)
    assert "unknowns" not in solved(A, b).message


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="atoms must live in the space that M takes"):
        fa.fit(fa.Quadratic(np.ones((6, 3))), np.ones(6), atoms=fa.PSDRankOne(4), k=1)
    with pytest.raises(TypeError, match="atoms must be PSDRankOne"):
        fa.fit(fa.Quadratic(1j * np.ones((6, 3))), np.ones(6), atoms=fa.RankOne(3, 3), k=1)
    with pytest.raises(ValueError, match="atoms must"):
        fa.fit(fa.Sampling([0], [1], (3, 4)), [1.0], atoms=fa.PSDRankOne(3), k=1)


@pytest.mark.parametrize("offset", [-1.0, -1e-3])
def test_what_no_semidefinite_matrix_has_is_proven_out_of_reach(offset):
    """Diagonals and intensities below zero: b itself is the dual vector that says so."""
    rng = np.random.default_rng(0)
    L = rng.standard_normal((6, 2))
    i, j = np.triu_indices(6)
    b = (L @ L.T)[i, j]
    b[np.flatnonzero((i == j) & (i == 3))] = offset
    M = fa.Sampling(i, j, (6, 6))
    left = abs(offset) / np.linalg.norm(b)
    for words in ({}, {"k": 3}):
        s = fa.fit(M, b, atoms=fa.PSDRankOne(6), misfit=0.99 * left, **words)
        assert s.status.name == "UNREACHABLE"
        assert s.certificate.unreachable
        assert "negative where no semidefinite matrix is" in s.message
        assert s.misfit >= left * (1 - 1e-9)
    assert fa.fit(M, (L @ L.T)[i, j], atoms=fa.PSDRankOne(6), misfit=1e-3).status.name == "BOUND_MET"
    A = rng.standard_normal((20, 5))
    c = (A @ L[:5, 0]) ** 2
    c[4] = offset
    bound = 0.9 * abs(offset) / np.linalg.norm(c)
    assert fa.fit(fa.Quadratic(A), c, atoms=fa.PSDRankOne(5), k=1, misfit=bound).status.name == "UNREACHABLE"
