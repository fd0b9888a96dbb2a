"""Which problems are phases', what a run of theirs keeps and counts, and how it is stopped in the middle."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import ledger, phase
from fewatoms.budget import Budget
from fewatoms.capabilities import Intensities
from fewatoms.losses import LeastSquares
from fewatoms.methods import METHODS, General, Phases
from fewatoms.methods.phases import AmplitudeFlow
from fewatoms.methods.phases.amplitudes import STAGE
from fewatoms.operators import CodedDiffraction, as_operator
from fewatoms.retrieval import TopK, reduced_fit


def planted(n=12, m=72, complex_=False, k=1, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)

    def draw(shape):
        return rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex_ else 0)

    A, L = draw((m, n)), draw((n, k))
    b = np.sum(np.abs(A @ L) ** 2, axis=1)
    return A, L, b + noise * np.linalg.norm(b) * rng.standard_normal(m) / np.sqrt(m)


def opened(M, b, atoms, k=1, **wishes):
    problem = fa.Problem.of(M, b, atoms=atoms, k=k, **wishes)
    return Phases().open(problem, [problem.budget])


class Squares(LeastSquares):
    """A loss of one's own."""


# Whose a problem is --------------------------------------------------------------------------------------------------


def test_semidefinite_matrices_from_intensities_are_phases():
    A, _, b = planted()
    M, atoms = fa.Quadratic(A), fa.PSDRankOne(12)
    counted, kept = fa.Counting(M), as_operator(M).subset(np.arange(60))
    for mine in [
        opened(M, b, atoms),
        opened(counted, b, atoms),
        opened(kept, b[:60], atoms),
        opened(fa.Counting(kept), b[:60], atoms),
        opened(M, b, 3.0 * atoms),
        opened(M, b, atoms, loss=fa.Huber(0.1)),
        opened(M, b, atoms, loss=Squares(weights=np.arange(1.0, 73.0))),
        opened(M, b, atoms, misfit=0.1),
    ]:
        assert mine is not None
    assert sum(isinstance(method, Phases) for method in METHODS) == 1


def test_other_problems_are_not():
    A, _, b = planted()
    M, atoms = fa.Quadratic(A), fa.PSDRankOne(12)
    i, j = np.triu_indices(12)
    for other in [
        opened(fa.Sampling(i, j, (12, 12)), np.ones(i.size), atoms),
        opened(fa.Identity((12, 12)), np.eye(12), atoms),
        opened(M, b, fa.RankOne(12, 12)),
        opened(M, b, -1.0 * atoms),
        opened(M, b, atoms | fa.SignedOneHot((12, 12)), k=(1, 1)),
        opened(M, b, atoms, free="intercept"),
        opened(M, b, atoms, loss=fa.Logistic()),
        opened(M, b, atoms, ridge=0.1),
        opened(M, b, atoms, k=None),
    ]:
        assert other is None


def test_what_nobody_can_do_is_refused():
    A, _, b = planted()
    M, atoms = fa.Quadratic(A), fa.PSDRankOne(12)
    with pytest.raises(ValueError, match="ridge is for RankOne atoms"):
        fa.fit(M, b, atoms=atoms, k=1, ridge=0.1)
    with pytest.raises(TypeError, match="k must say how many atoms are allowed"):
        fa.fit(M, b, atoms=atoms)
    with pytest.raises(ValueError, match="method must be one for this problem"):
        fa.fit(M, b, atoms=fa.RankOne(12, 12), k=1, method=Phases())


def test_other_semidefinite_problems_are_solved_all_the_same():
    A, L, b = planted()
    M = fa.Quadratic(A)
    s = fa.fit(M, -b, atoms=-1.0 * fa.PSDRankOne(12), k=1)
    np.testing.assert_allclose(s.x, -L @ L.T, atol=1e-6)
    s = fa.fit(M, b + 2.0, atoms=fa.PSDRankOne(12), k=1, free="intercept")
    np.testing.assert_allclose(s.x, L @ L.T, atol=1e-5)
    assert s.free_coefficients == pytest.approx([2.0], abs=1e-4)


@pytest.mark.parametrize("complex_", [False, True])
def test_multiples_have_the_same_points(complex_):
    A, L, b = planted(complex_=complex_, k=2, m=120, noise=0.01)
    plain = fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(12), k=2)
    multiple = fa.fit(fa.Quadratic(A), b, atoms=2.0 * (1.5 * fa.PSDRankOne(12)), k=2)
    np.testing.assert_allclose(multiple.x, plain.x, atol=1e-6)
    np.testing.assert_allclose(multiple.coefficients, plain.coefficients / 3, rtol=1e-6)
    assert multiple.gauge == pytest.approx(plain.gauge / 3)
    assert multiple.iterations == plain.iterations
    assert phase.relative_error(multiple.left, L) < 0.05


def test_an_oracle_of_ones_own_serves_them_too():
    A, L, b = planted(noise=0.01)
    s = fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(12), k=1, method=Phases(oracle=fa.oracles.ProximalGradient(1.0)))
    assert s.certificate.relaxation.parameter == 1.0
    assert phase.relative_error(s.left, L) < 0.02


def test_settings_are_heard():
    A, _, b = planted(noise=0.02)
    thorough = fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(12), k=1)
    short = Phases(flow=AmplitudeFlow(steps=3), agree=np.inf)
    quick = fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(12), k=1, method=short)
    assert quick.products < thorough.products


# Other operators -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("complex_", [False, True])
def test_some_of_the_data(complex_):
    """Rows of an operator see the same way to their answer as an operator with those rows."""
    A, _, b = planted(complex_=complex_, noise=0.01)
    kept = np.random.default_rng(1).permutation(72)[:60]
    rows = as_operator(fa.Quadratic(A)).subset(kept)
    some = fa.fit(rows, b[kept], atoms=fa.PSDRankOne(12), k=1)
    own = fa.fit(fa.Quadratic(A[kept]), b[kept], atoms=fa.PSDRankOne(12), k=1)
    assert some.loss == pytest.approx(own.loss, rel=1e-9)
    assert some.products == own.products
    face = fa.PSDRankOne(12).expose(np.eye(12), 2)
    here, there = rows.offers(Intensities).restrict_symmetric(face), fa.Quadratic(A[kept]).restrict_symmetric(face)
    w, r = np.linspace(1, 2, 60), np.linspace(-1, 1, 60)
    for weights in (None, w):
        for ours, theirs in zip(here.normal_equations(r, weights), there.normal_equations(r, weights), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)
    np.testing.assert_allclose(here.adjoint(r), there.adjoint(r), atol=1e-10)


def test_k_is_chosen_by_data_held_out():
    A, _, b = planted(n=8, m=120, k=2, noise=0.05)
    assert fa.choose_k(fa.Quadratic(A), b, k=[1, 2, 3], atoms=fa.PSDRankOne(8), folds=3) == 2


@pytest.mark.parametrize("kind", ["array", "operator", "box", "rows", "multiple", "huber", "bound"])
def test_all_products_are_counted(kind):
    A, _, b = planted(complex_=True, noise=0.02)
    wishes, atoms, M = {}, fa.PSDRankOne(12), fa.Quadratic(A)
    if kind == "operator":
        M = CodedDiffraction.random(12, 6, rng=0)
        M, b = fa.Quadratic(M), np.abs(M @ np.arange(12.0)) ** 2
    elif kind == "box":
        box = LinearOperator(A.shape, matvec=lambda x: A @ x, rmatvec=lambda y: A.conj().T @ y, dtype=complex)
        M = fa.Quadratic(box)
    elif kind == "rows":
        M, b = as_operator(M).subset(np.arange(60)), b[:60]
    elif kind == "multiple":
        atoms = 2.0 * atoms
    elif kind == "huber":
        wishes = {"loss": fa.Huber(1.0)}
    elif kind == "bound":
        wishes = {"misfit": 1e-3}
    counted = fa.Counting(M)
    s = fa.fit(counted, b, atoms=atoms, k=1, **wishes)
    assert s.products == counted.products > 0


def test_every_product_of_a_box_is_counted():
    """A box that counts by itself: each of its columns is one product, each M*y one more."""
    A, _, b = planted(noise=0.02)
    made = [0]

    class Box:
        shape, dtype = A.shape, A.dtype

        def matvec(self, x):
            return A @ x

        def __matmul__(self, X):
            made[0] += X.shape[1]
            return A @ X

        @property
        def H(self):
            return Box.Back()

        class Back:
            def __matmul__(self, Y):
                made[0] += Y.shape[1]
                return A.T @ Y

    problem = fa.Problem.of(fa.Quadratic(Box()), b, atoms=fa.PSDRankOne(12), k=1)
    job = Phases().open(problem, [Budget(1)])
    with ledger.opened() as spent:
        dual = next(job.iterates([Budget(1)])).dual
        first = reduced_fit(job.inside, TopK()(job.inside, dual))
        made[0] = spent.products = spent.svd_products = 0
        job.turned(job.inside, first)
    assert spent.svd_products == 12  # one M*y, for the spectral start, was written out by products with A and A^H
    assert made[0] - 2 * 12 == spent.products - 1


# One clock -----------------------------------------------------------------------------------------------------------


def test_every_step_of_a_descent_is_heard(monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0)
    A, _, b = planted(noise=0.02)
    seen = []
    s = fa.fit(fa.Quadratic(A), b, atoms=fa.PSDRankOne(12), k=1, callback=seen.append)
    inside = [progress for progress in seen if progress.iteration == 0]
    along = [progress for progress in inside if progress.stage == STAGE]
    assert len(along) > 20
    assert len(inside) > s.products / 4  # two products an evaluation, hardly more evaluations than steps
    assert all(later.products - sooner.products <= 40 for sooner, later in pairwise(inside))


def test_ticks_are_counted_in_the_run():
    A, _, b = planted(noise=0.02)
    problem = fa.Problem.of(fa.Quadratic(A), b, atoms=fa.PSDRankOne(12), k=1)
    job = Phases().open(problem, [problem.budget])
    with ledger.opened() as spent:
        iterate = next(job.iterates([problem.budget]))
        found = job.retrieve(iterate, problem.budget)
        first = spent.ticks
        assert first > spent.products / 4
        again = job.retrieve(iterate, problem.budget)
        assert 0 < spent.ticks - first < first / 2  # all starts are tried once a budget
    assert again.loss == pytest.approx(found.loss, rel=1e-6)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_a_run_that_is_stopped_on_amplitudes_answers(monkeypatch, scale):
    monkeypatch.setattr(ledger, "EVERY", 0)
    A, _, b = planted(noise=0.02)
    stages, losses = [], []
    callback = lambda progress: stages.append(progress.stage)  # noqa: E731
    whole = fa.fit(fa.Quadratic(A), b, atoms=scale * fa.PSDRankOne(12), k=1, callback=callback)
    steps = stages.count(STAGE)
    for patience in (0, steps // 2, steps - 1):
        left = [patience]

        def stop(progress, left=left):
            if progress.stage == STAGE:
                left[0] -= 1
            if left[0] < 0:
                raise StopIteration

        s = fa.fit(fa.Quadratic(A), b, atoms=scale * fa.PSDRankOne(12), k=1, callback=stop)
        assert s.status is fa.Status.STOPPED
        assert s.cardinality == 1
        assert s.products < whole.products
        assert s.loss == pytest.approx(LeastSquares().value(b - np.einsum("ij,jk,ik->i", A, s.x, A)))
        losses.append(s.loss)
    assert losses[0] < LeastSquares().value(b)
    assert losses[0] >= losses[1] >= losses[2]  # the best of what was found before
    assert losses[2] == pytest.approx(whole.loss, rel=1e-3)


def test_several_budgets_keep_their_own_starts():
    A, _, b = planted(n=10, m=35, complex_=True, k=2, noise=0.01)
    M, atoms = fa.Quadratic(A), fa.PSDRankOne(10)
    path = fa.fit_path(M, b, k=[3, 1, 2], atoms=atoms)
    for k in (1, 2, 3):
        alone = fa.fit(M, b, atoms=atoms, k=k)
        assert path[k].loss == pytest.approx(alone.loss, rel=1e-7)
    job = opened(M, b, atoms)
    with ledger.opened():
        job.retrieve(next(job.iterates(job.budgets)), Budget(1))
    assert set(job.amplitudes) == {Budget(1)}
    job.close()
    assert not job.amplitudes


def test_an_earlier_answer_is_taken_up():
    A, _, b = planted(k=2, m=140, noise=0.01)
    M, atoms = fa.Quadratic(A), fa.PSDRankOne(12)
    whole = fa.fit(M, b, atoms=atoms, k=2)
    again = fa.fit(M, b, atoms=atoms, k=2, misfit=whole.misfit * 1.001, start=whole)
    assert again.status is fa.Status.BOUND_MET
    assert again.iterations == 0
    assert fa.fit(M, b, atoms=atoms, k=1, start=whole).cardinality == 1


def test_entries_that_differ_are_told_behind_wrappers_too():
    rng = np.random.default_rng(6)
    skew = np.triu(rng.standard_normal((6, 6)), 1)
    X = np.outer(np.ones(6), np.ones(6)) + 0.01 * skew
    told = "15 pairs of entries (i, j) and (j, i) differ"
    for M in (fa.Identity((6, 6)), fa.Counting(fa.Identity((6, 6)))):
        s = fa.fit(M, X, atoms=fa.PSDRankOne(6), k=1, method=General())
        assert told in s.message
    i, j = np.nonzero(rng.random((6, 6)) < 0.5)
    pairs = sum((b, a) in set(zip(i, j, strict=True)) for a, b in zip(i, j, strict=True) if a < b)
    s = fa.fit(fa.Sampling(i, j, (6, 6)), X[i, j], atoms=fa.PSDRankOne(6), k=1)
    assert f"{pairs} pairs of entries" in s.message
