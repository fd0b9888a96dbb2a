"""Largest entries and decompositions: against sorting and full decompositions, on both paths, with counts and seeds."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import naive
from fewatoms import ledger, linalg

FORMS = [np.asarray, sp.csr_array, sp.csc_array, aslinearoperator]


@pytest.fixture(params=["full", "partial"])
def path(request, monkeypatch):
    """Both ways to decompose: everything at once, or ARPACK for a few values."""
    if request.param == "partial":
        monkeypatch.setattr(linalg, "DENSE_SIDE", 4)
    return request.param


def with_spectrum(p, q, values, seed=0, dtype=float):
    """A matrix with these singular values."""
    rng = np.random.default_rng(seed)
    r = len(values)

    def turned(n):
        G = rng.standard_normal((n, r)).astype(dtype)
        return np.linalg.qr(G + 1j * rng.standard_normal((n, r)) if dtype is complex else G)[0]

    return (turned(p) * values) @ turned(q).conj().T


def hermitian_with(values, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    n = len(values)
    G = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype is complex else 0)
    Q = np.linalg.qr(G)[0]
    return (Q * values) @ Q.conj().T


# The largest entries


@given(
    st.lists(st.integers(-3, 3), min_size=0, max_size=40),
    st.integers(0, 45),
)
@settings(max_examples=60, deadline=None)
def test_top_k_with_ties(values, k):
    values = np.array(values, dtype=float)
    np.testing.assert_array_equal(linalg.top_k(values, k), naive.top_k(values, k))


@pytest.mark.parametrize("n", [65_536, 65_537, 2 * 65_536 + 5, 200_000])
@pytest.mark.parametrize("k", [1, 7, 300])
@pytest.mark.parametrize("kind", ["random", "ties", "rising", "falling", "constant"])
def test_top_k_of_long_arrays(n, k, kind):
    rng = np.random.default_rng(n + k)
    values = {
        "random": lambda: rng.standard_normal(n),
        "ties": lambda: np.round(3 * rng.standard_normal(n)),
        "rising": lambda: np.arange(n, dtype=float),
        "falling": lambda: -np.arange(n, dtype=float),
        "constant": lambda: np.zeros(n),
    }[kind]()
    before = values.copy()
    found = linalg.top_k(values, k)
    expected = np.lexsort((np.arange(n), -values))[:k]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(values, before)


def test_top_k_with_more_than_a_chunk_wanted():
    values = np.random.default_rng(1).standard_normal(150_000)
    for k in (20_000, 100_000, 150_000, 10**6):
        np.testing.assert_array_equal(linalg.top_k(values, k), np.argsort(-values, kind="stable")[:k])


def test_top_k_of_nothing_and_with_infinities():
    assert linalg.top_k(np.zeros(0), 3).size == 0
    assert linalg.top_k(np.ones(3), 0).size == 0
    np.testing.assert_array_equal(linalg.top_k(np.array([-np.inf, 1.0, np.inf]), 3), [2, 1, 0])
    assert linalg.top_k(np.ones(3), 2).dtype == np.intp


# Reading z


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (1, 4), (4, 1)])
def test_reading_a_dual_in_any_form(form, shape):
    z = np.random.default_rng(2).standard_normal(shape)
    np.testing.assert_allclose(linalg.as_flat(form(z)), z.ravel())
    np.testing.assert_allclose(linalg.as_matrix(form(z), shape) @ np.eye(shape[1]), z)
    np.testing.assert_allclose(linalg.as_matrix(z.ravel(), shape), z)


def test_reading_a_complex_dual():
    rng = np.random.default_rng(3)
    z = rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))
    for given_z in (z, aslinearoperator(z), aslinearoperator(z.T)):
        expected = z if given_z.shape == (3, 4) else z.T
        np.testing.assert_allclose(linalg.as_flat(given_z), expected.ravel())


def test_forming_an_implicit_matrix_costs_its_shorter_side():
    """A long matrix must not be met with an identity as long as itself, squared."""
    for shape in ((3, 50_000), (50_000, 3)):
        z = sp.random_array(shape, density=1e-3, rng=np.random.default_rng(4), format="csr")
        with ledger.opened() as tally:
            np.testing.assert_array_equal(linalg.as_flat(aslinearoperator(z)), z.toarray().ravel())
        assert tally.svd_products == 3


def test_hermitian_part():
    rng = np.random.default_rng(5)
    z = rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4))
    expected = 0.5 * (z + z.conj().T)
    np.testing.assert_allclose(linalg.hermitian_part(z, 4), expected)
    np.testing.assert_allclose(linalg.hermitian_part(z.ravel(), 4), expected)
    np.testing.assert_allclose(linalg.hermitian_part(sp.csr_array(z), 4).toarray(), expected)
    implicit = aslinearoperator(expected)
    assert linalg.hermitian_part(implicit, 4) is implicit


# Singular values


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(20, 30), (30, 20), (15, 15)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_top_svd_against_the_full_one(path, form, shape, dtype):
    rng = np.random.default_rng(6)
    Z = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype is complex else 0)
    u, s, v = linalg.top_svd(form(Z), 3)
    U, S, Vh = np.linalg.svd(Z, full_matrices=False)
    np.testing.assert_allclose(s, S[:3], rtol=1e-12)
    np.testing.assert_allclose((u * s) @ v.conj().T, (U[:, :3] * S[:3]) @ Vh[:3], atol=1e-9)
    np.testing.assert_allclose(Z @ v, u * s, atol=1e-10)
    np.testing.assert_allclose(u.conj().T @ u, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(v.conj().T @ v, np.eye(3), atol=1e-12)
    lead = u[np.abs(u).argmax(axis=0), np.arange(3)]
    assert (lead.real > 0).all()  # signs are fixed
    np.testing.assert_allclose(lead.imag, 0, atol=1e-14)


@pytest.mark.parametrize("form", FORMS)
def test_top_svd_of_zero(path, form):
    for shape in ((12, 17), (17, 12), (12, 12)):
        u, s, v = linalg.top_svd(form(np.zeros(shape)), 2)
        np.testing.assert_array_equal(s, [0, 0])
        np.testing.assert_allclose(u.T @ u, np.eye(2), atol=1e-14)
        np.testing.assert_allclose(v.T @ v, np.eye(2), atol=1e-14)


def test_nothing_is_written_out_of_a_large_zero():
    z = sp.csr_array((40_000, 30_000))
    u, s, v = linalg.top_svd(z, 2)
    assert (u.shape, v.shape) == ((40_000, 2), (30_000, 2))
    np.testing.assert_array_equal(s, [0, 0])
    np.testing.assert_array_equal(u.T @ u, np.eye(2))
    values, vectors = linalg.top_eigh(sp.csr_array((30_000, 30_000)), 2)
    np.testing.assert_array_equal(values, [0, 0])
    np.testing.assert_array_equal(vectors.T @ vectors, np.eye(2))


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_decompositions_are_double_whatever_the_matrix(path, dtype):
    Z = (10 * np.random.default_rng(19).standard_normal((20, 30))).astype(dtype)
    _, s, _ = linalg.top_svd(aslinearoperator(Z), 2)
    np.testing.assert_allclose(s, np.linalg.svd(Z.astype(np.float64), compute_uv=False)[:2], rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, aslinearoperator])
def test_top_svd_of_repeated_values(path, form):
    values = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 0.5])
    Z = with_spectrum(20, 25, values, seed=7)
    for k in (1, 2, 3, 5):
        u, s, v = linalg.top_svd(form(Z), k)
        np.testing.assert_allclose(s, values[:k], rtol=1e-11)
        np.testing.assert_allclose(u.T @ u, np.eye(k), atol=1e-10)
        np.testing.assert_allclose(np.diag(u.T @ Z @ v), s, rtol=1e-10)


def test_top_svd_of_low_rank_and_steep_spectra(path):
    Z = with_spectrum(30, 24, np.array([1.0, 1e-5]), seed=8)
    u, s, v = linalg.top_svd(Z, 4)
    np.testing.assert_allclose(s[:2], [1.0, 1e-5], rtol=1e-6)
    np.testing.assert_allclose(s[2:], 0, atol=1e-8)
    np.testing.assert_allclose((u * s) @ v.T, Z, atol=1e-8)
    np.testing.assert_allclose(u.T @ u, np.eye(4), atol=1e-8)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1), (2, 9)])
def test_top_svd_of_thin_matrices(path, shape):
    Z = np.random.default_rng(9).standard_normal(shape)
    for k in (1, 5):
        u, s, v = linalg.top_svd(Z, k)
        assert s.size == min(k, *shape)
        np.testing.assert_allclose(s, np.linalg.svd(Z, compute_uv=False)[: s.size])
        np.testing.assert_allclose(Z @ v, u * s, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_svd_above_a_threshold(path, form):
    values = np.linspace(5, 0.5, 14)
    Z = with_spectrum(18, 22, values, seed=10)
    for t in (6.0, 4.9, 2.0, 0.0):
        for guess in (1, 6, 100):
            u, s, v = linalg.svd_above(form(Z), t, guess)
            expected = values[values > t]
            assert s.size == expected.size or (t == 0.0 and (s[expected.size :] < 1e-6).all())
            np.testing.assert_allclose(s[: expected.size], expected, rtol=1e-8)
            assert u.shape[1] == v.shape[1] == s.size


# Eigenvalues


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [float, complex])
def test_top_eigh_against_the_full_one(path, form, dtype):
    values = np.linspace(-9, 4, 20)
    H = hermitian_with(values, seed=11, dtype=dtype)
    found, vectors = linalg.top_eigh(form(H), 3)
    np.testing.assert_allclose(found, values[::-1][:3], rtol=1e-11)
    np.testing.assert_allclose(H @ vectors, vectors * found, atol=1e-9)
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(3), atol=1e-11)
    lead = vectors[np.abs(vectors).argmax(axis=0), np.arange(3)]
    assert (lead.real > 0).all()


@pytest.mark.parametrize("form", FORMS)
def test_top_eigh_of_zero_and_of_the_negative(path, form):
    values, vectors = linalg.top_eigh(form(np.zeros((13, 13))), 2)
    np.testing.assert_array_equal(values, [0, 0])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(2), atol=1e-14)
    values, _ = linalg.top_eigh(form(-np.diag(np.arange(1.0, 15.0))), 2)
    np.testing.assert_allclose(values, [-1, -2])


def test_top_eigh_of_repeated_values(path):
    H = hermitian_with(np.array([3.0, 3.0, 3.0, 1.0] + [0.0] * 16), seed=12)
    for k in (1, 3, 4):
        values, vectors = linalg.top_eigh(H, k)
        np.testing.assert_allclose(values, [3, 3, 3, 1][:k], rtol=1e-10)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)
        np.testing.assert_allclose(H @ vectors, vectors * values, atol=1e-9)


def test_eigh_above_a_threshold(path):
    values = np.linspace(-3, 5, 17)
    H = hermitian_with(values, seed=13)
    for t in (6.0, 2.2, 0.1, -2.6, -10.0):
        for guess in (1, 8):
            found, vectors = linalg.eigh_above(H, t, guess)
            np.testing.assert_allclose(found, values[::-1][: np.count_nonzero(values > t)], rtol=1e-9, atol=1e-9)
            assert vectors.shape == (17, found.size)


def test_one_by_one(path):
    values, vectors = linalg.top_eigh(np.array([[-2.0]]), 3)
    np.testing.assert_array_equal(values, [-2])
    np.testing.assert_array_equal(vectors, [[1]])


# Sessions: seeds and counts


@pytest.mark.parametrize("Z", [with_spectrum(40, 40, np.ones(40)), np.eye(30), np.eye(30, 35), np.eye(35, 30)])
def test_the_same_seed_gives_the_same_vectors(Z, monkeypatch):
    """Every vector is singular here: which is found is chance, and chance is seeded, restarts of ARPACK included."""
    monkeypatch.setattr(linalg, "DENSE_SIDE", 4)

    def first(seed):
        with ledger.opened(seed):
            return linalg.top_svd(Z, 2)[0]

    np.testing.assert_array_equal(first(3), first(3))
    assert np.abs(first(3) - first(4)).max() > 1e-3
    np.testing.assert_array_equal(linalg.top_svd(Z, 2)[0], linalg.top_svd(Z, 2)[0])  # outside of a ledger too
    np.testing.assert_array_equal(first(None), linalg.top_svd(Z, 2)[0])


def test_a_ledger_goes_on_from_call_to_call(monkeypatch):
    monkeypatch.setattr(linalg, "DENSE_SIDE", 4)
    H = np.eye(30)
    with ledger.opened(0):
        a, b = linalg.top_eigh(H, 1)[1], linalg.top_eigh(H, 1)[1]
    with ledger.opened(np.random.default_rng(0)):
        c, d = linalg.top_eigh(H, 1)[1], linalg.top_eigh(H, 1)[1]
    np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(b, d)
    assert np.abs(a - b).max() > 1e-3


class Watched(LinearOperator):
    """A matrix that counts its own products, and those of its adjoint."""

    def __init__(self, A, owner=None):
        super().__init__(A.dtype, A.shape)
        self.A, self.count, self.owner = A, 0, owner or self

    def _matmat(self, X):
        self.owner.count += X.shape[1]
        return self.A @ X

    def _matvec(self, x):
        self.owner.count += 1
        return self.A @ x

    def _adjoint(self):
        return Watched(self.A.conj().T, self.owner)


def test_products_are_counted_in_the_ledger(path):
    Z = Watched(np.random.default_rng(15).standard_normal((30, 20)))
    with ledger.opened() as tally:
        linalg.top_svd(Z, 2)
    assert tally.svd_products == Z.count > 0
    if path == "full":
        assert tally.svd_products == 20
    H = Watched(hermitian_with(np.linspace(1, 2, 25), seed=16))
    with ledger.opened() as tally:
        linalg.top_eigh(H, 2)
        linalg.eigh_above(H, 1.9, 1)
    assert tally.svd_products == H.count > 0


def test_ledgers_nest_and_close():
    with ledger.opened() as outer:
        with ledger.opened() as inner:
            linalg.as_flat(aslinearoperator(np.eye(3)))
        linalg.as_flat(aslinearoperator(np.eye(2)))
    linalg.as_flat(aslinearoperator(np.eye(5)))
    assert (outer.svd_products, inner.svd_products) == (2, 3)


def test_arrays_cost_no_products_when_decomposed_in_full():
    with ledger.opened() as tally:
        linalg.top_svd(np.eye(5), 2)
        linalg.top_eigh(np.eye(5), 2)
    assert tally.svd_products == 0


# Bases, and sums with a low-rank part


def test_orthonormal_basis():
    rng = np.random.default_rng(17)
    A = rng.standard_normal((8, 3))
    Q = linalg.orthonormal(A, A @ rng.standard_normal((3, 4)), np.zeros((8, 2)))
    assert Q.shape == (8, 3)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(Q @ (Q.T @ A), A, atol=1e-12)
    assert linalg.orthonormal(np.zeros((4, 0))).shape == (4, 0)
    assert linalg.orthonormal(np.zeros((4, 2))).shape == (4, 0)
    assert linalg.orthonormal(rng.standard_normal((3, 2)), rng.standard_normal((3, 2))).shape == (3, 3)
    C = A + 1j * rng.standard_normal((8, 3))
    Q = linalg.orthonormal(C, 1j * C)
    assert Q.shape == (8, 3)
    np.testing.assert_allclose(Q.conj().T @ Q, np.eye(3), atol=1e-13)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [float, complex])
def test_low_rank_plus(form, dtype):
    rng = np.random.default_rng(18)

    def draw(*shape):
        return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype is complex else 0)

    pairs = [(0.5, draw(5, 2), draw(2, 3), draw(6, 3)), (-2.0, draw(5, 1), draw(1, 1), draw(6, 1))]
    z = draw(5, 6)
    total = linalg.low_rank_plus(pairs, 0.3, form(z))
    expected = 0.3 * z + sum(a * u @ c @ v.conj().T for a, u, c, v in pairs)
    np.testing.assert_allclose(total @ np.eye(6), expected, atol=1e-12)
    np.testing.assert_allclose(linalg.as_flat(total), expected.ravel(), atol=1e-12)
    if isinstance(total, LinearOperator):
        np.testing.assert_allclose(total.H @ np.eye(5), expected.conj().T, atol=1e-12)
        np.testing.assert_allclose(total.rmatvec(np.ones(5)), expected.conj().T @ np.ones(5), atol=1e-12)
        assert total.dtype == z.dtype
    nothing = linalg.low_rank_plus([], 0.3, form(z))
    np.testing.assert_allclose(nothing @ np.eye(6), 0.3 * z, atol=1e-14)


def test_single_thread_is_a_context():
    with linalg.single_thread():
        assert np.eye(2).sum() == 2
