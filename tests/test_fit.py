"""The contract of fit: what it returns first, what it keeps, what it counts, and what it leaves alone."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import oracles
from fewatoms.candidates import DualPoint
from journeys.planting import as_operator, cosines, huber, logistic, low_rank, plant, spikes, squares


def regression(seed, m=30, n=60, k=6, noise=0.1):
    """A noisy instance on which the first candidate is not the best one; deliberately correlated columns."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((m, n)) + 2.0 * rng.standard_normal((m, 1))
    x = spikes(rng, n, k)
    return D, D @ x + noise * rng.standard_normal(m), x


def by(oracle):
    """The method that an oracle drives; the default where there is none."""
    return None if oracle is None else fa.General(oracle)


def trace(**arguments):
    """Run fit and record what the callback saw."""
    seen = []
    s = fa.fit(**arguments, callback=seen.append)
    return s, seen


# First answer, best answer -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_with_a_bound_the_first_answer_that_meets_it(seed):
    D, b, _ = regression(seed)
    common = {
        "M": D,
        "b": b,
        "atoms": fa.SignedOneHot(60),
        "k": 6,
        "method": fa.General(fa.LevelSet(), fa.paper_rule()),
    }
    _, seen = trace(**common, alpha=1e-3 * squares(b), max_iterations=60)
    alpha = sorted(p.candidate_loss for p in seen)[2]  # a loss that some iterate reaches, not the best one
    s, again = trace(**common, alpha=alpha, max_iterations=60)
    losses = [p.candidate_loss for p in again]
    assert s.status is fa.Status.BOUND_MET
    assert s.iterations == len(again) == next(t for t, loss in enumerate(losses, 1) if loss <= alpha * (1 + 1e-12))
    if s.iterations > 1:
        short = fa.fit(**common, alpha=alpha, max_iterations=s.iterations - 1)
        assert short.status is fa.Status.ITERATION_LIMIT
        assert not short.success
        assert short.loss > alpha


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_candidate_is_kept(seed, bound):
    D, b, _ = regression(seed)
    s, seen = trace(
        M=D,
        b=b,
        atoms=fa.SignedOneHot(60),
        k=6,
        alpha=0.0 if bound else None,
        method=fa.General(oracle=fa.LevelSet() if bound else oracles.ProximalGradient(1.0), retrieval=fa.paper_rule()),
        max_iterations=40,
    )
    candidates = [p.candidate_loss for p in seen]
    assert [p.loss for p in seen] == np.minimum.accumulate(candidates).tolist()
    assert min(candidates) < candidates[-1]  # otherwise nothing had to be kept
    assert s.loss == pytest.approx(min(candidates), rel=1e-9)
    assert s.loss == pytest.approx(squares(b - D @ s.x), rel=1e-9)
    assert np.count_nonzero(s.x) <= 6


@pytest.mark.parametrize("seed", range(5))
def test_k_alone_against_all_subsets(seed):
    """Small enough to look at all pairs: the answer is the best pair in easy cases, and never better than the best."""
    from itertools import combinations

    rng = np.random.default_rng(seed)
    D = rng.standard_normal((12, 10))
    b = D @ spikes(rng, 10, 2) + 0.3 * rng.standard_normal(12)

    def loss_of(pair):
        return squares(b - D[:, pair] @ np.linalg.lstsq(D[:, pair], b, rcond=None)[0])

    best = min(loss_of(list(pair)) for pair in combinations(range(10), 2))
    s = fa.fit(D, b, atoms=fa.SignedOneHot(10), k=2)
    assert s.status is fa.Status.SMALLEST_LOSS
    assert s.success
    assert s.loss == pytest.approx(best, rel=1e-9)


def test_more_atoms_than_needed_are_not_used():
    D, b, _ = regression(0, noise=0.0)
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=20, misfit=1e-9)
    assert s.success
    assert np.count_nonzero(s.x) <= 20
    matrix = low_rank(np.random.default_rng(0), 8, 7, 2)
    s = fa.fit(fa.Identity((8, 7)), matrix, atoms=fa.RankOne(8, 7), k=5, misfit=1e-10)
    assert s.cardinality == 2
    assert s.left.shape == (8, 2)


@pytest.mark.parametrize("k", [1, 60])
def test_the_ends_of_the_range_of_k(k):
    rng = np.random.default_rng(1)
    D = rng.standard_normal((80, 60))
    b = D @ rng.standard_normal(60)
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=k, misfit=1e-8)
    assert s.success is (k == 60)
    assert 1 <= np.count_nonzero(s.x) <= k
    if k == 1:
        best = min(squares(b - d * (d @ b) / (d @ d)) for d in D.T)
        assert s.loss == pytest.approx(best)


# Products are counted, all of them -----------------------------------------------------------------------------------


class Counted(LinearOperator):
    """A matrix that counts each column it is multiplied with, from either side."""

    def __init__(self, D, block=True):
        super().__init__(float, D.shape)
        self.D, self.count = D, 0
        if block:
            self._matmat = self._block

    def _matvec(self, x):
        self.count += 1
        return self.D @ x.ravel()

    def _rmatvec(self, y):
        self.count += 1
        return self.D.T @ y.ravel()

    def _block(self, X):
        self.count += X.shape[1]
        return self.D @ X


class CountedOperator(fa.Operator):
    """The same as an operator of the user's own."""

    def __init__(self, D):
        self.D, self.shape, self.count = D, D.shape, 0

    def apply(self, x):
        self.count += 1
        return self.D @ np.ravel(x)

    def adjoint(self, y):
        self.count += 1
        return self.D.T @ y


COUNTED_SETS = {
    "signed": (fa.SignedOneHot(24), 3),
    "nonnegative": (fa.NonnegativeOneHot(24), 3),
    "cone": (fa.NonnegativeCone(24), 3),
    "groups": (fa.Groups(np.arange(24) // 4), 2),
    "scaled": (2.0 * fa.SignedOneHot(24), 3),
    "dictionary": (fa.Dictionary(cosines(24), symmetric=True), 3),
    "nonnegative-dictionary": (fa.Dictionary(cosines(24), symmetric=False), 3),
    "mapped-groups": (fa.Mapped(as_operator(cosines(24)), fa.Groups(np.arange(24) // 4)), 2),
    "rank-one": (fa.RankOne(6, 4), 2),
    "sum": (fa.RankOne(6, 4) + fa.SignedOneHot((6, 4)), (1, 2)),
    "union": (fa.SignedOneHot(24) | fa.Dictionary(cosines(24), symmetric=True), (2, 2)),
    "psd": (fa.PSDRankOne(5), 2),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bound", [True, False], ids=["bound", "k-alone"])
@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.Huber(0.5)], ids=repr)
@pytest.mark.parametrize("wrap", [Counted, lambda D: Counted(D, block=False), CountedOperator], ids=["a", "b", "c"])
@pytest.mark.parametrize("name", COUNTED_SETS)
def test_products_are_honest(name, wrap, loss, bound):
    atoms, k = COUNTED_SETS[name]
    rng = np.random.default_rng(5)
    D = rng.standard_normal((20, atoms.n))
    b = D @ rng.random(atoms.n)
    M = wrap(D)
    s, seen = trace(
        M=M, b=b, atoms=atoms, k=k, loss=loss, alpha=0.3 * loss.value(b) if bound else None, max_iterations=4
    )
    assert s.products == M.count > 0
    told = [p.products for p in seen]
    assert told == sorted(told)
    assert told[-1] <= s.products
    assert s.certificate.products == 0
    _ = s.certificate.epsilon, s.certificate.safe_set, s.certificate.hausdorff, str(s.certificate), s.x
    assert M.count - s.products == s.certificate.products


@pytest.mark.parametrize(
    "oracle",
    [
        fa.LevelSet(),
        fa.LevelSet(oracles.Bisection()),
        fa.LevelSet(inner=oracles.Bundle()),
        oracles.ConditionalGradient(3.0),
        oracles.Bundle(3.0),
        oracles.ProximalGradient(0.5),
        oracles.Continuation(),
        fa.FromIterates([np.ones(20), np.arange(20.0)]),
    ],
    ids=lambda o: type(o).__name__,
)
def test_products_are_honest_for_every_oracle(oracle):
    rng = np.random.default_rng(6)
    D = rng.standard_normal((20, 30))
    M = Counted(D)
    s = fa.fit(M, D @ rng.random(30), atoms=fa.SignedOneHot(30), k=3, misfit=0.05, method=by(oracle), max_iterations=6)
    assert s.products == M.count > 0
    assert s.certificate.products == 0


def test_the_certificate_pays_for_itself_on_first_access_only():
    rng = np.random.default_rng(7)
    D = rng.standard_normal((20, 30))
    M = Counted(D)
    s = fa.fit(
        M, D @ spikes(rng, 30, 2), atoms=fa.SignedOneHot(30), k=2, misfit=1e-3, method=fa.General(oracle=fa.LevelSet())
    )
    before = M.count
    _ = s.certificate.gap, s.certificate.loss, s.certificate.y, s.certificate.tau_lower, str(s.certificate)
    assert s.certificate.products == 0
    assert M.count == before
    assert s.certificate.norm == pytest.approx(np.linalg.norm(D, axis=0).max())
    paid = s.certificate.products
    assert paid == M.count - before == 30  # one for each column
    _ = s.certificate.norm
    assert s.certificate.products == paid
    assert s.products == before


def test_nothing_is_multiplied_when_zero_suffices():
    class Untouchable(LinearOperator):
        def __init__(self):
            super().__init__(float, (4, 9))

        def _matvec(self, x):
            raise AssertionError("a product was made")

        _rmatvec = _matvec

    class Silent:
        def iterates(self, problem):
            raise AssertionError("the oracle was asked")

    b = np.array([1.0, -2.0, 0.5, 0.0])
    for atoms, k in [(fa.SignedOneHot(9), 2), (fa.RankOne(3, 3), 1), (fa.SignedOneHot(9) + fa.RankOne(3, 3), (1, 1))]:
        for bound in ({"alpha": squares(b)}, {"alpha": 1e9}, {"misfit": 1.0}, {"misfit": 7.0}):
            s = fa.fit(Untouchable(), b, atoms=atoms, k=k, method=fa.General(oracle=Silent()), **bound)
            assert (s.status, s.success, s.products, s.iterations, s.cardinality) == (fa.Status.ZERO, True, 0, 0, 0)
            assert s.loss == pytest.approx(squares(b))
            assert s.misfit == pytest.approx(1.0)
            assert not s.x.any()
            assert s.x.size == 9
            assert "0 atoms" in s.message
        for bound in ({}, {"alpha": 0.0}, {"misfit": 0.0}, {"alpha": 5.0}):
            s = fa.fit(Untouchable(), np.zeros(4), atoms=atoms, k=k, **bound)
            assert (s.status, s.success, s.products, s.loss, s.misfit) == (fa.Status.ZERO, True, 0, 0.0, 0.0)
    s = fa.fit(Untouchable(), b, atoms=fa.SignedOneHot(9), k=2, loss=fa.Huber(0.5), alpha=huber(b, 0.5))
    assert s.status is fa.Status.ZERO
    s = fa.fit(Untouchable(), b, atoms=fa.SignedOneHot(9), k=2, loss=fa.Logistic(), alpha=logistic(b))
    assert s.status is fa.Status.ZERO


@pytest.mark.parametrize("loss", [fa.LeastSquares(), fa.Huber(2.0)], ids=repr)
def test_zero_data_need_no_atoms(loss):
    s = fa.fit(np.eye(3), np.zeros(3), atoms=fa.SignedOneHot(3), k=1, loss=loss)
    assert s.cardinality == 0
    assert s.indices.size == s.coefficients.size == 0
    assert str(s.certificate)


def test_zero_data_are_not_the_zero_problem_of_the_logistic_loss():
    rng = np.random.default_rng(8)
    D = rng.standard_normal((40, 6))
    D[20:] = -D[:20] + 0.3 * rng.standard_normal((20, 6)) + np.array([1.0, 0, 0, 0, 0, 0])
    s = fa.fit(D, np.zeros(40), atoms=fa.SignedOneHot(6), k=1, loss=fa.Logistic())
    assert s.cardinality == 1
    assert s.loss < 40 * math.log(2) * 0.9
    assert s.loss == pytest.approx(logistic(-D @ s.x))


# The callback --------------------------------------------------------------------------------------------------------


def test_the_callback_sees_each_iterate():
    D, b, _ = regression(3)
    s, seen = trace(M=D, b=b, atoms=fa.SignedOneHot(60), k=6, max_iterations=5)
    assert [p.iteration for p in seen] == list(range(1, s.iterations + 1))
    for p in seen:
        assert isinstance(p, fa.Progress)
        assert p.loss <= p.candidate_loss
        assert p.misfit == pytest.approx(math.sqrt(p.loss / squares(b)))
        assert p.cardinality <= 6
        assert p.gap >= 0
        assert p.problem.k == 6
        assert squares(b - D @ p.candidate.face.point(p.candidate.c)) == pytest.approx(p.loss)
        np.testing.assert_allclose(p.dual.z, D.T @ p.dual.y)


@pytest.mark.parametrize("last", [1, 3])
def test_stop_iteration_stops(last):
    D, b, _ = regression(3)
    losses = []

    def stop(progress):
        losses.append(progress.loss)
        if progress.iteration == last:
            raise StopIteration

    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=4, callback=stop)  # fewer than were planted: no answer stands out
    assert s.status is fa.Status.STOPPED
    assert s.iterations == last == len(losses)
    assert s.loss == pytest.approx(losses[-1])
    assert "callback" in s.message
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, alpha=1e-9, callback=stop)
    assert not s.success  # it was asked for a bound and stopped short of it


def test_other_exceptions_pass_unchanged():
    class Own(Exception):
        pass

    for error in (Own("mine"), KeyboardInterrupt(), ValueError("k must ..."), GeneratorExit()):

        def fail(progress, error=error):
            raise error

        with pytest.raises(type(error)) as caught:
            fa.fit(np.eye(3), np.ones(3), atoms=fa.SignedOneHot(3), k=1, callback=fail)
        assert caught.value is error


def test_errors_of_the_operator_pass_unchanged():
    error = OSError("the disk is full")

    def fail(_):
        raise error

    M = LinearOperator((3, 3), matvec=lambda x: x, rmatvec=fail, dtype=float)
    with pytest.raises(OSError, match="disk") as caught:
        fa.fit(M, np.ones(3), atoms=fa.SignedOneHot(3), k=1)
    assert caught.value is error


# The same input gives the same answer --------------------------------------------------------------------------------


def assert_same(s, t):
    assert (s.status, s.iterations, s.products, s.svd_products) == (t.status, t.iterations, t.products, t.svd_products)
    assert s.loss == t.loss
    np.testing.assert_array_equal(s.x, t.x)


def large_completion(seed=0):
    """Large enough for partial decompositions, which start from random vectors."""
    rng = np.random.default_rng(seed)
    p, q = 330, 310
    left, right = rng.standard_normal((p, 2)), rng.standard_normal((q, 2))
    seen = rng.choice(p * q, 9000, replace=False)
    rows, cols = np.divmod(seen, q)
    return fa.Sampling(rows, cols, (p, q)), np.einsum("ij,ij->i", left[rows], right[cols]), left @ right.T


def test_seeds_fix_the_answer():
    M, b, X = large_completion()
    common = {"atoms": fa.RankOne(330, 310), "k": 2, "misfit": 1e-3, "max_iterations": 3}
    common["method"] = fa.General(retrieval=fa.paper_rule())
    default = fa.fit(M, b, **common)
    assert default.svd_products > 0
    np.random.default_rng().random()
    np.random.seed(5)  # noqa: NPY002 - the global state must play no part
    assert_same(default, fa.fit(M, b, **common))
    assert_same(fa.fit(M, b, rng=7, **common), fa.fit(M, b, rng=np.random.default_rng(7), **common))
    other = fa.fit(M, b, rng=8, **common)
    assert other.loss == pytest.approx(default.loss, rel=1e-3)
    assert not np.array_equal(other.x, default.x)  # another start vector, other roundings
    found = fa.fit(M, b, atoms=fa.RankOne(330, 310), k=2, misfit=1e-6)
    assert found.success
    assert np.linalg.norm(found.x - X) <= 1e-4 * np.linalg.norm(X)


@pytest.mark.parametrize("set_name", ["signed", "groups", "psd", "low-rank|sparse"])
def test_runs_repeat_themselves(set_name):
    planted = plant(set_name, "dense", "squares", seed=1)
    assert_same(planted.fit(alpha=planted.alpha), planted.fit(alpha=planted.alpha))


def test_a_problem_of_one_run_does_not_leak_into_the_next():
    D, b, _ = regression(4)
    first = fa.fit(
        D, b, atoms=fa.SignedOneHot(60), k=6, method=fa.General(oracle=oracles.Continuation()), max_iterations=3
    )
    fa.fit(D[:20], b[:20], atoms=fa.SignedOneHot(60), k=3, loss=fa.Huber(0.1), max_iterations=2)
    oracle = oracles.Continuation()
    fa.fit(2 * D, b, atoms=fa.SignedOneHot(60), k=6, method=by(oracle), max_iterations=2)
    assert_same(first, fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, method=by(oracle), max_iterations=3))


# Inputs are left alone -----------------------------------------------------------------------------------------------


def locked(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("kind", "oracle"),
    [(kind, None) for kind in ("dense", "fortran", "sparse", "sampling", "quadratic", "identity", "integers")]
    + [("dense", fa.LevelSet()), ("sampling", oracles.ProximalGradient(0.1)), ("identity", oracles.Bundle(1.0))],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_inputs_are_not_modified(kind, oracle):
    rng = np.random.default_rng(9)
    n = 4
    arrays = {
        "D": locked(rng.standard_normal((20, n * n))),
        "A": locked(rng.standard_normal((20, n))),
        "rows": locked(rng.permutation(n * n)[:14] // n),
        "integers": locked(rng.integers(-3, 4, (20, n * n))),
    }
    seen = rng.permutation(n * n)[:14]
    arrays["rows"], arrays["cols"] = locked(seen // n), locked(seen % n)
    sparse = sp.csr_array(arrays["D"] * (rng.random((20, n * n)) < 0.4))
    sparse.data.flags.writeable = False
    arrays["data"], arrays["inner"] = sparse.data, sparse.indices
    M = {
        "dense": lambda: arrays["D"],
        "fortran": lambda: locked(np.asfortranarray(arrays["D"])),
        "sparse": lambda: sparse,
        "sampling": lambda: fa.Sampling(arrays["rows"], arrays["cols"], (n, n)),
        "quadratic": lambda: fa.Quadratic(arrays["A"]),
        "identity": lambda: fa.Identity((n, n)),
        "integers": lambda: arrays["integers"],
    }[kind]()
    m = M.shape[0]
    arrays["b"], arrays["weights"] = locked(rng.standard_normal(m)), locked(0.5 + rng.random(m))
    arrays["labels"], arrays["C"] = locked(np.arange(n * n) // n), locked(cosines(n * n))
    before = {name: a.copy() for name, a in arrays.items()}
    sets = [
        (fa.SignedOneHot(n * n), 2),
        (fa.Groups(arrays["labels"]), 2),
        (fa.Dictionary(arrays["C"], symmetric=False), 2),
        (fa.RankOne(n, n), 1),
        (fa.PSDRankOne(n), 1),
        (fa.RankOne(n, n) | fa.SignedOneHot((n, n)), (1, 1)),
    ]
    for atoms, k in sets:
        for loss in (fa.LeastSquares(arrays["weights"]), fa.Huber(0.5)):
            s = fa.fit(M, arrays["b"], atoms=atoms, k=k, loss=loss, alpha=1e-12, method=by(oracle), max_iterations=2)
            _ = s.x, s.certificate.epsilon
            assert s.cardinality <= sum(np.atleast_1d(k))
    for name, a in arrays.items():
        np.testing.assert_array_equal(a, before[name], err_msg=name)


def test_answers_do_not_share_memory_with_inputs():
    D, b = np.eye(4), np.array([1.0, 0.0, -3.0, 0.0])
    s = fa.fit(D, b, atoms=fa.SignedOneHot(4), k=2, misfit=1e-9)
    x = s.x.copy()
    b[:] = 7.0
    D[:] = 7.0
    np.testing.assert_array_equal(s.x, x)
    s.x[:] = 0.0
    np.testing.assert_array_equal(s.coefficients, [-3.0, 1.0])


# Bounds that cannot be met -------------------------------------------------------------------------------------------


def overdetermined(seed, noise=0.5):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((40, 8))
    b = D @ np.array([3.0, -2, 0, 0, 0, 0, 0, 0]) + noise * rng.standard_normal(40)
    return D, b, squares(b - D @ np.linalg.lstsq(D, b, rcond=None)[0])


@pytest.mark.parametrize("oracle", [None, fa.LevelSet(), fa.LevelSet(oracles.Bisection())], ids=["a", "b", "c"])
@pytest.mark.parametrize("seed", range(3))
def test_a_bound_below_all_losses_is_a_status_with_the_best_answer(seed, oracle):
    D, b, least = overdetermined(seed)
    s = fa.fit(D, b, atoms=fa.SignedOneHot(8), k=8, alpha=0.5 * least, method=by(oracle))
    assert s.status in (fa.Status.NOT_REACHED, fa.Status.UNREACHABLE, fa.Status.ITERATION_LIMIT)
    assert not s.success
    assert s.certificate.meets_bound is False
    assert s.loss == pytest.approx(least, rel=1e-9)  # the best answer there is
    assert f"{0.5 * least:.6g}" in s.message


@pytest.mark.parametrize("seed", range(3))
def test_unreachable_is_proved(seed):
    D, b, least = overdetermined(seed)
    s = fa.fit(
        D,
        b,
        atoms=fa.SignedOneHot(8),
        k=3,
        alpha=0.9 * least,
        method=fa.General(oracle=fa.LevelSet(inner=oracles.Bundle())),
    )
    assert s.status is fa.Status.UNREACHABLE
    assert not s.success
    assert "Proved" in s.message
    # the size that is proved to be needed exceeds that of the least-squares solution by far
    assert s.certificate.tau_lower > 1e4 * np.abs(np.linalg.lstsq(D, b, rcond=None)[0]).sum()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_proved_about_the_size_is_true(seed):
    """tau_lower never exceeds the gauge of a point that meets the bound."""
    D, b, least = overdetermined(seed)
    x = np.linalg.lstsq(D, b, rcond=None)[0]
    for oracle in (None, fa.LevelSet(), fa.LevelSet(inner=oracles.Bundle())):
        s = fa.fit(D, b, atoms=fa.SignedOneHot(8), k=1, alpha=least * (1 + 1e-6), method=by(oracle), max_iterations=200)
        assert s.status is not fa.Status.UNREACHABLE
        assert not s.success
        assert 0 < s.certificate.tau_lower <= np.abs(x).sum() * (1 + 1e-9)


@pytest.mark.parametrize("atoms", [fa.SignedOneHot(4), fa.NonnegativeCone(4), fa.RankOne(2, 2)], ids=repr)
def test_data_that_no_column_sees(atoms):
    D = np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    s = fa.fit(D, [0.0, 1.0], atoms=atoms, k=1, misfit=0.5)
    assert s.status in (fa.Status.NOT_REACHED, fa.Status.UNREACHABLE)
    assert s.loss == 0.5
    s = fa.fit(np.zeros((2, 4)), [3.0, 1.0], atoms=atoms, k=1)
    assert s.status is fa.Status.SMALLEST_LOSS
    assert s.loss == 5.0


def test_the_iteration_limit_is_a_status():
    D, b, _ = regression(0)
    for limit in (1, 2):
        s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=2, alpha=1e-6, max_iterations=limit)
        assert s.status is fa.Status.ITERATION_LIMIT
        assert s.iterations == limit
        assert not s.success
        assert "max_iterations" in s.message
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=2, max_iterations=1)
    assert s.status is fa.Status.ITERATION_LIMIT
    assert s.success  # with k alone any answer with at most k atoms is one


# Streams of all sorts ------------------------------------------------------------------------------------------------


def test_a_stream_that_ends():
    D, b, _ = regression(1)
    vectors = [b, 2 * b, np.ones(30), np.zeros(30), -b]
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, alpha=1e-9, method=fa.General(oracle=fa.FromIterates(vectors)))
    assert s.status is fa.Status.STREAM_ENDED
    assert s.iterations == 5
    assert not s.success
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, method=fa.General(oracle=fa.FromIterates(vectors)))
    assert s.success
    assert np.count_nonzero(s.x) <= 6


def test_an_empty_stream_gives_no_atoms_and_no_success():
    for bound in ({}, {"misfit": 0.5}):
        s = fa.fit(
            np.eye(3), np.ones(3), atoms=fa.SignedOneHot(3), k=1, method=fa.General(oracle=fa.FromIterates([])), **bound
        )
        assert (s.status, s.success, s.cardinality) == (fa.Status.STREAM_ENDED, False, 0)
        assert s.loss == 1.5
        assert str(s.certificate)


def test_an_endless_stream_without_progress_comes_to_an_end():
    class Stuck:
        def iterates(self, problem):
            y = problem.b
            z = problem.M.adjoint(y)
            while True:
                yield DualPoint(y, z, problem.atoms.support(z), fa.P1(problem, problem.atoms.support(z)))

    class Hasty(Stuck):
        patience = 3

    D, b, _ = regression(1)
    slow = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, method=fa.General(oracle=Stuck(), retrieval=fa.paper_rule()))
    hasty = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, method=fa.General(oracle=Hasty(), retrieval=fa.paper_rule()))
    assert slow.status is hasty.status is fa.Status.SMALLEST_LOSS
    assert slow.loss == hasty.loss
    assert hasty.iterations == 4 < slow.iterations < 1000
    s = fa.fit(
        D, b, atoms=fa.SignedOneHot(60), k=2, misfit=1e-9, method=fa.General(oracle=Hasty(), retrieval=fa.paper_rule())
    )
    assert s.status is fa.Status.NOT_REACHED


def test_nonsense_vectors_cannot_spoil_a_good_answer():
    rng = np.random.default_rng(11)
    D = rng.standard_normal((20, 30))
    b = D @ spikes(rng, 30, 2)

    def stream():
        yield b
        for _ in range(20):
            yield 1e6 * rng.standard_normal(20)

    s, seen = trace(
        M=D,
        b=b,
        atoms=fa.SignedOneHot(30),
        k=2,
        method=fa.General(oracle=fa.FromIterates(stream()), retrieval=fa.paper_rule()),
    )
    assert s.loss == pytest.approx(min(p.candidate_loss for p in seen), rel=1e-9, abs=1e-25)
    assert all(p.gap >= 0 for p in seen)


# Equivariance --------------------------------------------------------------------------------------------------------

EQUIVARIANT = {
    "signed": (fa.SignedOneHot(24), 3),
    "nonnegative": (fa.NonnegativeOneHot(24), 3),
    "groups": (fa.Groups(np.arange(24) // 4), 2),
    "rank-one": (fa.RankOne(6, 4), 2),
    "psd": (fa.PSDRankOne(5), 2),
    "union": (fa.SignedOneHot(24) | fa.Dictionary(cosines(24), symmetric=True), (2, 2)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("factor", [2.0**9, 2.0**-7, 1e-3, 1e6, 1e-30, 1e30])
@pytest.mark.parametrize("what", ["b", "M", "both"])
@pytest.mark.parametrize("name", EQUIVARIANT)
def test_units_do_not_matter(name, what, factor):
    """With b -> s b the answer is s x; with M -> s M it is x / s. For powers of two not even rounding differs."""
    atoms, k = EQUIVARIANT[name]
    rng = np.random.default_rng(12)
    D = rng.standard_normal((20, atoms.n))
    b = D @ rng.random(atoms.n)
    on_b, on_M = {"b": (factor, 1.0), "M": (1.0, factor), "both": (factor, factor)}[what]
    plain = fa.fit(D, b, atoms=atoms, k=k, misfit=0.4, max_iterations=5)
    s = fa.fit(on_M * D, on_b * b, atoms=atoms, k=k, misfit=0.4, max_iterations=5)
    expected = plain.x * (on_b / on_M)
    assert (s.status, s.iterations) == (plain.status, plain.iterations)
    assert s.misfit == pytest.approx(plain.misfit, rel=1e-6)
    if math.frexp(factor)[0] == 0.5 and atoms.finite:
        np.testing.assert_array_equal(s.x, expected)
        assert s.products == plain.products
    else:
        np.testing.assert_allclose(s.x, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("factor", [8.0, 1e-2])
def test_units_do_not_matter_to_huber_either(factor):
    D, b, _ = regression(2)
    b[3] += 50.0
    plain = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, loss=fa.Huber(0.5), max_iterations=5)
    s = fa.fit(D, factor * b, atoms=fa.SignedOneHot(60), k=6, loss=fa.Huber(0.5 * factor), max_iterations=5)
    np.testing.assert_allclose(s.x, factor * plain.x, rtol=1e-6)
    assert s.loss == pytest.approx(factor**2 * plain.loss)


@pytest.mark.parametrize("seed", range(4))
def test_permuted_and_flipped_columns_permute_and_flip_the_answer(seed):
    D, b, _ = regression(seed)
    rng = np.random.default_rng(seed)
    order, flips = rng.permutation(60), rng.choice([-1.0, 1.0], 60)
    plain = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, max_iterations=6)
    s = fa.fit((D * flips)[:, order], b, atoms=fa.SignedOneHot(60), k=6, max_iterations=6)
    np.testing.assert_allclose(s.x, (plain.x * flips)[order], atol=1e-9)
    np.testing.assert_array_equal(order[s.indices], plain.indices)
    rows = rng.permutation(30)
    s = fa.fit(D[rows], b[rows], atoms=fa.SignedOneHot(60), k=6, max_iterations=6)
    np.testing.assert_allclose(s.x, plain.x, atol=1e-9)


def test_transposed_matrices_have_transposed_answers():
    planted = plant("rank-one", "sampling", "squares", seed=2)
    M = planted.M
    p, q = planted.x.shape
    turned = fa.Sampling(M.cols, M.rows, (q, p))
    s = planted.fit(alpha=planted.alpha)
    t = fa.fit(turned, planted.b, atoms=fa.RankOne(q, p), k=2, alpha=planted.alpha)
    np.testing.assert_allclose(s.x, t.x.T, atol=1e-3)
    assert s.loss <= planted.alpha
    assert t.loss <= planted.alpha


def test_rotated_data_of_a_full_observation():
    rng = np.random.default_rng(13)
    X = low_rank(rng, 7, 5, 2) + 0.1 * rng.standard_normal((7, 5))
    R = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    s = fa.fit(fa.Identity((7, 5)), X, atoms=fa.RankOne(7, 5), k=2)
    t = fa.fit(fa.Identity((7, 5)), R @ X, atoms=fa.RankOne(7, 5), k=2)
    np.testing.assert_allclose(R @ s.x, t.x, atol=1e-8)
    u, values, vh = np.linalg.svd(X)
    np.testing.assert_allclose(s.x, (u[:, :2] * values[:2]) @ vh[:2], atol=1e-8)  # Eckart and Young
    assert s.loss == pytest.approx(0.5 * np.sum(values[2:] ** 2))


# Bounds and weights --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("misfit", [0.5, 0.1, 1e-3])
def test_misfit_is_a_bound_on_the_relative_residual(misfit):
    D, b, _ = regression(5, noise=1e-5)
    by_misfit = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, misfit=misfit)
    by_alpha = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, alpha=(misfit * np.linalg.norm(b)) ** 2 / 2)
    assert by_misfit.success
    np.testing.assert_allclose(by_misfit.x, by_alpha.x, rtol=1e-9, atol=1e-12)
    assert np.linalg.norm(b - D @ by_misfit.x) <= misfit * np.linalg.norm(b) * (1 + 1e-9)
    assert by_misfit.misfit == pytest.approx(np.linalg.norm(b - D @ by_misfit.x) / np.linalg.norm(b), rel=1e-6)


@pytest.mark.parametrize("oracle", [None, fa.LevelSet()], ids=["default", "level-set"])
def test_weights_are_scaled_rows(oracle):
    D, b, _ = regression(6)
    w = np.random.default_rng(0).random(30) + 0.1
    root = np.sqrt(w)
    s = fa.fit(D, b, atoms=fa.SignedOneHot(60), k=6, loss=fa.LeastSquares(w), misfit=0.2, method=by(oracle))
    t = fa.fit(root[:, None] * D, root * b, atoms=fa.SignedOneHot(60), k=6, misfit=0.2, method=by(oracle))
    np.testing.assert_allclose(s.x, t.x, atol=1e-8)
    assert s.loss == pytest.approx(t.loss) == pytest.approx(0.5 * np.sum(w * (b - D @ s.x) ** 2))
    assert s.misfit == pytest.approx(t.misfit)


@pytest.mark.parametrize("loss", [fa.LeastSquares, lambda w: fa.Huber(0.5, w), fa.Logistic], ids=["ls", "h", "l"])
def test_integer_weights_are_repeated_rows(loss):
    rng = np.random.default_rng(14)
    D = rng.standard_normal((30, 10))
    D[15:] = -D[:15] + 0.5 * rng.standard_normal((15, 10)) + 0.5 * D[15:]
    b = rng.standard_normal(30)
    w = rng.integers(1, 4, 30)
    s = fa.fit(D, b, atoms=fa.SignedOneHot(10), k=2, loss=loss(w))
    t = fa.fit(np.repeat(D, w, axis=0), np.repeat(b, w), atoms=fa.SignedOneHot(10), k=2, loss=loss(None))
    assert s.loss == pytest.approx(t.loss, rel=1e-8)
    np.testing.assert_allclose(s.x, t.x, atol=1e-5)


def test_weights_reach_the_matrix_sets():
    rng = np.random.default_rng(15)
    X = low_rank(rng, 6, 5, 1)
    noisy = X.copy()
    noisy[2, 3] += 40.0
    w = np.ones((6, 5))
    w[2, 3] = 1e-9
    for M, b in ((fa.Identity((6, 5)), noisy), (fa.Sampling(*np.divmod(np.arange(30), 5), (6, 5)), noisy.ravel())):
        s = fa.fit(M, b, atoms=fa.RankOne(6, 5), k=1, loss=fa.LeastSquares(w.ravel()))
        np.testing.assert_allclose(s.x, X, atol=1e-3)


def test_huber_ignores_what_least_squares_follows():
    rng = np.random.default_rng(16)
    D = rng.standard_normal((40, 20))
    x = np.zeros(20)
    x[[3, 8]] = [2.0, -3.0]
    b = D @ x
    b[[5, 20]] += [60.0, -80.0]
    robust = fa.fit(D, b, atoms=fa.SignedOneHot(20), k=2, loss=fa.Huber(1e-3))
    np.testing.assert_allclose(robust.x, x, atol=1e-3)
    plain = fa.fit(D, b, atoms=fa.SignedOneHot(20), k=2)
    assert np.abs(plain.x - x).max() > 0.1


# Memory --------------------------------------------------------------------------------------------------------------


def peak_memory(M):
    """Bytes that a fit to the sum of three columns takes at most, the matrix itself apart."""
    b = np.asarray(M[:, :3], dtype=float).sum(axis=1)
    tracemalloc.start()
    try:
        s = fa.fit(M, b, atoms=fa.SignedOneHot(M.shape[1]), k=3, misfit=1e-3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert s.success
    assert set(s.indices) == {0, 1, 2}
    return peak


def test_no_copy_of_the_matrix_is_made():
    D = np.random.default_rng(1).standard_normal((400, 3000))
    for M in (D, np.asfortranarray(D)):
        assert peak_memory(M) < 0.5 * M.nbytes
    single = np.random.default_rng(2).standard_normal((800, 15000), dtype=np.float32)
    assert peak_memory(single) < single.nbytes  # half of what a copy in double precision would take
