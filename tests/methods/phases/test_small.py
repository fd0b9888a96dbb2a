"""Small semidefinite problems, determined or not: answers are what they say, and as small as can be; what is proven."""

from itertools import pairwise

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import Status
from fewatoms.losses import LeastSquares
from fewatoms.methods import Phases, SmallSemidefinite
from fewatoms.methods.phases.small import sufficient


def draw(rng, shape, complex_):
    return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex_ else 0.0)


def planted(rng, n, m, complex_=False, k=2, noise=0.0):
    """A, L and intensities."""
    A, L = draw(rng, (m, n), complex_), draw(rng, (n, k), complex_)
    b = np.sum(np.abs(A @ L) ** 2, axis=1)
    return A, L, b + noise * np.linalg.norm(b) / np.sqrt(m) * rng.standard_normal(m)


def solved(A, b, k, **words):
    return fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(A.shape[1]), k=k, **words)


def misfit_of(A, b, X):
    return np.linalg.norm(b - np.einsum("ij,jk,ik->i", A, X, A.conj()).real) / np.linalg.norm(b)


def assert_as_told(A, b, s, bound=None):
    """Status, loss and misfit follow from x, and from its factors."""
    for X in (s.x, s.left @ s.left.conj().T):
        misfit = misfit_of(A, b, X)
        assert misfit == pytest.approx(s.misfit, rel=1e-6, abs=1e-9)
        if bound is not None:
            assert s.success == (misfit <= bound * (1 + 1e-9) + 1e-12)


# Fewer data than unknowns ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("method", [None, Phases()])
def test_one_datum_is_met_with_any_number_of_atoms(k, method):
    A, b = np.array([[1.0, 2.0, 3.0]]), np.array([3.0])
    s = solved(A, b, k, misfit=1e-3, **({} if method is None else {"method": method}))
    assert s.status is Status.BOUND_MET
    assert_as_told(A, b, s, 1e-3)
    assert s.gauge == pytest.approx(3 / 14, rel=2e-3)  # the least that meets it


@pytest.mark.parametrize("complex_", [False, True])
def test_matrices_that_data_leave_open_have_the_smallest_gauge(complex_):
    rng = np.random.default_rng(0)
    for n, m in [(4, 1), (8, 5), (20, 15), (12, 12), (30, 8)]:
        A, _, b = planted(rng, n, m, complex_)
        s = solved(A, b, n, misfit=1e-3)
        assert s.success
        assert_as_told(A, b, s, 1e-3)
        assert s.gauge <= 1.02 * s.certificate.tau_lower
        exact = solved(A, b, n)  # without a bound too
        assert exact.misfit < 1e-9
        assert exact.gauge <= 1.03 * solved(A, b, n, misfit=1e-6).certificate.tau_lower


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("bound", [{}, {"misfit": 0.1}])
def test_where_no_atom_is_aligned_with_the_data_there_are_none(complex_, bound):
    """M*b is negative semidefinite, or that up to rounding: nothing is better than x = 0."""
    rng = np.random.default_rng(3)
    for n, m, k in [(1, 1, 1), (2, 1, 1), (2, 1, 2), (6, 3, 2), (12, 3, 5)]:
        A = draw(rng, (m, n), complex_).round(1) + 0.1
        forms = A.conj()[:, :, None] * A[:, None, :]
        b = -np.abs(rng.standard_normal(m))
        with np.errstate(all="raise"):
            s = fa.fit(_Forms(forms, complex_), b, atoms=fa.PSDRankOne(n), k=k, **bound)
        assert s.cardinality == 0
        assert not np.asarray(s.x).any()
        assert s.loss == pytest.approx(0.5 * b @ b)


def test_a_start_that_is_nothing_is_left_alone():
    """Most starts of this problem fade to no atoms at all."""
    A = np.array([[-0.0829, -0.8473], [-0.1733, 1.5366], [2.2694, 0.4246], [0.5762, -0.1486], [-1.1888, -0.507]])
    b = np.array([-1.5575, -3.4929, 19.2454, -0.9962, 0.3482])
    one, two = (fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(2), k=k) for k in (1, 2))
    for s in (one, two):
        left = b - np.einsum("mi,ij,mj->m", A, np.asarray(s.x), A)
        assert s.loss == pytest.approx(0.5 * left @ left)
    assert two.loss <= one.loss * (1 + 1e-9)


class _Forms:
    """Hermitian forms, as an operator of one's own."""

    def __init__(self, Z, complex_):
        self.Z, self.complex, self.model_shape = Z, complex_, Z.shape[1:]
        self.shape = len(Z), Z[0].size

    def apply(self, X):
        return np.einsum("mij,ij->m", self.Z.conj(), X).real

    def adjoint(self, y):
        return np.einsum("m,mij->ij", y, self.Z)


def test_a_larger_problem_whose_data_are_few():
    A, _, b = planted(np.random.default_rng(1), 100, 60, k=3)
    s = solved(A, b, 100, misfit=1e-3)
    assert s.success
    assert_as_told(A, b, s, 1e-3)


@pytest.mark.parametrize("loss", [None, fa.Huber(1.0)])
def test_other_ways_do_not_explode_either(loss):
    A, _, b = planted(np.random.default_rng(2), 20, 15, True)
    words = {"misfit": 1e-3, "method": Phases()} if loss is None else {"alpha": 1e-3, "loss": loss}
    s = solved(A, b, 20, **words)
    assert s.success
    assert_as_told(A, b, s)
    assert s.gauge < 1e3


# By chance ------------------------------------------------------------------------------------------------------------


def test_random_problems_are_answered_as_told_and_with_one_more_atom_too():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 16))
        m, k, noise = int(rng.integers(1, 3 * n + 1)), int(rng.integers(1, n + 1)), (0.0, 1e-3, 0.3)[rng.integers(3)]
        A, _, b = planted(rng, n, m, bool(rng.integers(2)), int(rng.integers(1, n + 1)), noise)
        A, b = A * (units := 10.0 ** rng.uniform(-1, 1, (m, 1))), b * units[:, 0] ** 2
        if b.max() <= 0:
            continue
        bound = (1e-3, 0.1)[rng.integers(2)]
        s = solved(A, b, k, misfit=bound)
        assert_as_told(A, b, s, bound)
        more = solved(A, b, min(k + 1, n), misfit=bound)
        assert_as_told(A, b, more, bound)
        assert more.success >= s.success


def test_many_starts_end_when_products_stop_paying():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A, b = draw(rng, (20, 5), True), rng.random(20)
        s = solved(A, b, 3)
        assert s.products < 5000
        assert_as_told(A, b, s)


def test_more_atoms_than_suffice_are_not_used():
    A, _, b = planted(np.random.default_rng(3), 12, 6)
    problem = fa.Problem.of(fa.Quadratic(A), b, atoms=fa.PSDRankOne(12), k=12)
    assert sufficient(problem) == 4  # 3 * 4 / 2 = 6, and one to spare
    assert solved(A, b, 12).cardinality <= 4


# What is asked in other words -----------------------------------------------------------------------------------------


def test_as_few_atoms_as_meet_a_bound():
    rng = np.random.default_rng(4)
    for rank in (1, 2, 3):
        A, _, b = planted(rng, 10, 90, k=rank, noise=1e-3)
        s = solved(A, b, None, misfit=0.01)
        assert (s.status, s.cardinality) == (Status.BOUND_MET, rank)
        L = rng.standard_normal((12, rank))
        i, j = np.triu_indices(12)
        s = fa.fit(fa.Sampling(i, j, (12, 12)), (L @ L.T)[i, j], atoms=fa.PSDRankOne(12), misfit=1e-3)
        assert (s.status, s.cardinality) == (Status.BOUND_MET, rank)


def test_as_few_atoms_by_way_of_phases():
    A, _, b = planted(np.random.default_rng(5), 40, 400, k=2)
    s = solved(A, b, None, misfit=0.01, method=Phases())
    assert (s.status, s.cardinality) == (Status.BOUND_MET, 2)


def test_weights_and_multiples():
    rng = np.random.default_rng(6)
    A, L, b = planted(rng, 8, 60, k=2)
    b[:5] += 100.0
    weights = np.where(np.arange(60) < 5, 1e-12, 1.0)
    s = fa.fit(fa.Quadratic(A), b, atoms=3.0 * fa.PSDRankOne(8), k=2, loss=LeastSquares(weights=weights))
    np.testing.assert_allclose(s.x, L @ L.T, atol=1e-4)
    assert s.gauge == pytest.approx(np.trace(L @ L.T) / 3, rel=1e-4)
    assert 0 <= s.certificate.gap <= 0.01 * s.certificate.primal


def test_free_columns_beside():
    A, L, b = planted(np.random.default_rng(7), 8, 60, k=2)
    s = fa.fit(fa.Quadratic(A), b + 2.0, atoms=fa.PSDRankOne(8), k=2, free="intercept")
    np.testing.assert_allclose(s.x, L @ L.T, atol=1e-5)


def test_whose_a_problem_is():
    A, _, b = planted(np.random.default_rng(8), 8, 20)

    def opened(M, b, **words):
        problem = fa.Problem.of(M, b, **{"atoms": fa.PSDRankOne(8), "k": 2, **words})
        return SmallSemidefinite().open(problem, [problem.budget])

    M = fa.Quadratic(A)
    assert opened(M, b) is not None
    assert opened(M, b, k=None, misfit=0.1) is not None
    assert opened(fa.Identity((8, 8)), np.eye(8)) is not None
    assert opened(M, b, loss=fa.Huber(1.0)) is not None
    for other in ({"k": None}, {"ridge": 0.1}, {"loss": fa.Huber(1.0), "free": "intercept"}):
        assert opened(M, b, **other) is None
    assert opened(M, b, atoms=fa.RankOne(8, 8)) is None
    assert opened(M, b, atoms=-1.0 * fa.PSDRankOne(8)) is None
    with pytest.raises(ValueError, match="b must have a positive entry"):
        opened(M, -b)


# What is proven -------------------------------------------------------------------------------------------------------


def lifted(Z, b, complex_, delta=None, lam=0.0):
    """(P3) or (P1) by SCS."""
    cp = pytest.importorskip("cvxpy")
    n = Z.shape[1]
    X = cp.Variable((n, n), hermitian=True) if complex_ else cp.Variable((n, n), symmetric=True)
    real = cp.real if complex_ else lambda expression: expression
    image, trace = cp.hstack([real(cp.trace(z @ X)) for z in Z]), real(cp.trace(X))
    if delta is None:
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(b - image) + lam * trace), [X >> 0])
    else:
        problem = cp.Problem(cp.Minimize(trace), [X >> 0, cp.norm(b - image) <= delta])
    return problem.solve(solver=cp.SCS, eps=1e-6, max_iters=20_000)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("kind", ["quadratic", "complex", "sampling", "array"])
def test_bounds_are_those_of_the_relaxation(kind, bounded):
    rng, n, m = np.random.default_rng(9), 5, 12
    A, L = draw(rng, (m, n), kind == "complex"), draw(rng, (n, 2), kind == "complex")
    if kind == "sampling":
        i, j = np.divmod(rng.permutation(n * n)[:m], n)
        M, Z = fa.Sampling(i, j, (n, n)), np.zeros((m, n, n))
        Z[np.arange(m), i, j] = 1.0
    elif kind == "array":
        M = rng.standard_normal((m, n * n))
        Z = M.reshape(m, n, n)
    else:
        M, Z = fa.Quadratic(A), A.conj()[:, :, None] * A[:, None, :]
    Z = 0.5 * (Z + Z.conj().transpose(0, 2, 1))
    b = np.einsum("aij,ji->a", Z, L @ L.conj().T).real
    b += 0.05 * np.linalg.norm(b) / np.sqrt(m) * rng.standard_normal(m)
    s = fa.fit(M, b, atoms=fa.PSDRankOne(n), k=2, misfit=0.1 if bounded else None)
    c = s.certificate
    if bounded:
        least = lifted(Z, b, kind == "complex", 0.1 * np.linalg.norm(b))
        assert c.relaxation.name == "P3"
        assert 0.99 * least <= c.tau_lower <= least * (1 + 1e-4)
        assert c.tau_lower == pytest.approx(-c.dual, rel=1e-9)  # one bound, the best of both
    else:
        least = lifted(Z, b, kind == "complex", lam=c.relaxation.lam)
        assert 0.99 * least <= -c.dual <= least * (1 + 1e-3) + 1e-9
    assert 0 <= c.gap <= 0.01 * c.primal


def test_callbacks_stop_it_with_what_was_found():
    A, _, b = planted(np.random.default_rng(10), 12, 40, noise=0.3)

    def stop(progress):
        raise StopIteration

    s = solved(A, b, 2, callback=stop)
    assert s.status is Status.STOPPED
    assert_as_told(A, b, s)


@pytest.mark.parametrize("seed", range(4))
def test_one_atom_more_leaves_no_more_over(seed):
    """Fewer data than unknowns, with weights over orders of magnitude."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9))
    rows, cols = np.nonzero(rng.random((n, n)) < 0.6)
    L = rng.standard_normal((n, 2))
    b = (L @ L.T)[rows, cols] + 0.5 * rng.standard_normal(rows.size)
    M, loss = fa.Sampling(rows, cols, (n, n)), LeastSquares(10.0 ** rng.uniform(-4, 4, rows.size))
    losses = [fa.fit(M, b, k=k, atoms=fa.PSDRankOne(n), loss=loss).loss for k in range(1, 6)]
    for fewer, more in pairwise(losses):
        assert more <= fewer * (1 + 1e-3)


def test_one_atom_more_leaves_no_more_over_where_there_is_noise():
    """Numbers of atoms up to k are climbed, so that the way to one more begins with that to k."""
    for seed in (1, 6, 17):
        rng = np.random.default_rng(seed)
        A, _, b = planted(rng, 9, 20, noise=0.5)
        A, b = A * (units := 10.0 ** rng.uniform(-2, 2, (20, 1))), np.abs(b) * units[:, 0] ** 2
        losses = [solved(A, b, k).loss for k in range(1, 6)]
        for fewer, more in pairwise(losses):
            assert more <= fewer * (1 + 1e-9) + 1e-20 * (b @ b)


def test_columns_to_spare_do_not_keep_exact_data_from_being_met():
    """A factor with more columns than its matrix has rank nears exact data by shares: it would stop at its last
    step."""
    A, L, b = planted(np.random.default_rng(11), 14, 80, k=2)
    s = solved(A, b, 14)
    assert s.loss <= 1e-28 * b @ b
    assert s.products < 500
    np.testing.assert_allclose(s.x, L @ L.T, atol=1e-9 * np.abs(L @ L.T).max())


# Huber's loss ---------------------------------------------------------------------------------------------------------


def gross(rng, n, m, complex_):
    """Intensities, a few of them far off."""
    A, L, b = planted(rng, n, m, complex_, noise=1e-3)
    far = rng.permutation(m)[: m // 10]
    b[far] = np.abs(b[far] * rng.choice([20.0, 0.1], far.size))
    return A, L, b


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_gross_errors_are_left_to_hubers_loss(complex_, weighted):
    rng = np.random.default_rng(12)
    A, L, b = gross(rng, 8, 90, complex_)
    w = 10.0 ** rng.uniform(-1, 1, 90) if weighted else None
    loss = fa.Huber(0.05 * np.abs(b).mean(), weights=w)
    s = solved(A, b, 2, loss=loss)
    residual = b - np.einsum("ij,jk,ik->i", A, s.x, A.conj()).real
    assert s.loss == pytest.approx(loss.value(residual), rel=1e-9)
    assert s.loss <= loss.value(b - np.sum(np.abs(A @ L) ** 2, axis=1))  # of what was planted
    slope = np.einsum("m,mi,mj->ij", loss.gradient(residual), A.conj(), A) @ s.left
    least = np.einsum("m,mi,mj->ij", loss.gradient(b), A.conj(), A) @ s.left
    assert np.linalg.norm(slope) <= 1e-4 * np.linalg.norm(least)
    assert s.products < 2000


def test_hubers_loss_with_units_far_apart_takes_no_longer():
    """Rows over orders of magnitude took descents by slopes alone hundreds of thousands of products."""
    rng = np.random.default_rng(13)
    A, _, b = gross(rng, 8, 60, False)
    A, b = A * (units := 10.0 ** rng.uniform(-1.5, 1.5, (60, 1))), b * units[:, 0] ** 2
    loss = fa.Huber(0.1 * b.mean())
    s = solved(A, b, 3, loss=loss)
    assert s.products < 5000
    assert s.loss <= solved(A, b, 2, loss=loss).loss * (1 + 1e-9)


@pytest.mark.parametrize("bounded", [True, False])
def test_bounds_of_hubers_loss_are_those_of_the_relaxation(bounded):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(14)
    A, _, b = gross(rng, 4, 20, False)
    w = rng.random(20) + 0.5
    loss = fa.Huber(0.1 * b.mean(), weights=w)
    alpha = 0.8 * loss.value(b) if bounded else None
    s = solved(A, b, 2, loss=loss, **({"alpha": alpha} if bounded else {}))
    c = s.certificate
    X = cp.Variable((4, 4), symmetric=True)
    value = 0.5 * cp.sum(cp.multiply(w, cp.huber(b - cp.hstack([a @ X @ a for a in A]), loss.delta)))
    if bounded:
        least = cp.Problem(cp.Minimize(cp.trace(X)), [X >> 0, value <= alpha]).solve(solver=cp.CLARABEL)
        assert 0.9 * least <= c.tau_lower <= least * (1 + 1e-6)
    else:
        least = cp.Problem(cp.Minimize(value + c.relaxation.lam * cp.trace(X)), [X >> 0]).solve(solver=cp.CLARABEL)
        assert 0.99 * least <= -c.dual <= least * (1 + 1e-6)
