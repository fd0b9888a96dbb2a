"""Pursuit: few products where that is possible, and never a wrong word where it is not."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import fewatoms as fa
from fewatoms import datasets
from fewatoms.methods.listed import Listed, Pursuit
from fewatoms.methods.listed.view import View
from fewatoms.oracles import Continuation

# k of the paper (cosspike: the true support) and the products allowed, all counted
BARS = {"blocksig": (71, 4), "cosspike": (122, 40), "gcosspike": (113, 100), "sgnspike": (20, 20), "spiketrn": (35, 90)}


def seen(problem):
    return View(problem, problem.M, 16_000_000)


def chased(problem):
    """The candidate that a pursuit ends with, from the dual vector of x = 0."""
    dual = next(Continuation().iterates(problem))
    return Pursuit().chase(problem, seen(problem), dual.z)[0]


def orthonormal_rows(m, n, rng):
    return np.linalg.qr(rng.standard_normal((n, m)))[0].T


@pytest.mark.parametrize("name", BARS)
def test_products_on_sparco(name):
    k, bar = BARS[name]
    good, seeds = 0, 2 if name == "sgnspike" else 5  # its matrix takes a second to make
    for seed in range(seeds):
        data = datasets.SPARCO[name](rng=1000 + seed)
        s = fa.fit(data.M, data.b, atoms=fa.SignedOneHot(data.M.shape[1]), k=k, misfit=1e-3)
        assert s.success, s.message
        assert np.linalg.norm(data.b - data.M @ s.x) <= 1e-3 * np.linalg.norm(data.b)
        good += s.products <= bar
    assert good >= 0.8 * seeds


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["array", "operator", "groups", "mapped"])
def test_candidates_are_what_they_say(kind, weighted):
    rng = np.random.default_rng(3)
    m, n, k = 60, 160, 6
    A = orthonormal_rows(m, n, rng)
    atoms, M, shape = fa.SignedOneHot(n), A, n
    if kind == "operator":
        M = aslinearoperator(A)
    elif kind == "groups":
        atoms, k = fa.Groups(np.repeat(np.arange(40), 4)), 3
    elif kind == "mapped":
        B = np.linalg.qr(rng.standard_normal((n, n)))[0]
        atoms = fa.Mapped(aslinearoperator(B), fa.SignedOneHot(n))
    x = np.zeros(shape)
    x[: 4 * k] = rng.standard_normal(4 * k)
    b = A @ x + 0.1 * rng.standard_normal(m)
    loss = fa.LeastSquares(rng.uniform(0.5, 2.0, m) if weighted else None)
    problem = fa.Problem.of(M, b, atoms=atoms, k=k, loss=loss)
    candidate = chased(problem)
    dense = candidate.face.point(candidate.c).ravel()
    residual = b - A @ dense
    np.testing.assert_allclose(candidate.residual, residual, atol=1e-9)
    assert candidate.loss == pytest.approx(loss.value(residual))
    assert candidate.face.size <= k
    assert candidate.loss < problem.at_zero


def test_easy_problems_take_a_few_steps_and_find_the_truth():
    rng = np.random.default_rng(5)
    A = orthonormal_rows(300, 1200, rng)
    x = np.zeros(1200)
    x[rng.choice(1200, 10, replace=False)] = rng.choice([-1.0, 1.0], 10)
    s = fa.fit(aslinearoperator(A), A @ x, atoms=fa.SignedOneHot(1200), k=10, misfit=1e-6)
    assert s.success
    assert set(s.indices) == set(np.flatnonzero(x))
    assert s.products <= 40
    assert s.iterations == 1


def test_atoms_that_overlap_are_taken_one_at_a_time():
    """Neighbouring columns are almost equal; offered together they would explain the same thing twice."""
    t = np.linspace(0, 1, 120)
    A = np.exp(-(((t[:, None] - np.linspace(0, 1, 200)) / 0.03) ** 2))
    x = np.zeros(200)
    x[[20, 90, 160]] = [1.0, -1.5, 2.0]
    s = fa.fit(aslinearoperator(A), A @ x, atoms=fa.SignedOneHot(200), k=6, misfit=1e-2)
    assert s.success
    assert s.products <= 30


def test_growing_stops_when_images_would_take_too_much_memory():
    data = datasets.gcosspike(rng=0)
    asked = {"atoms": fa.SignedOneHot(2048), "k": 113, "misfit": 1e-3, "max_iterations": 1}
    assert not fa.fit(data.M, data.b, method=Listed(room=300 * 60), **asked).success
    assert fa.fit(data.M, data.b, **asked).success


def test_where_it_does_not_apply():
    A = np.eye(4)
    free = fa.Problem.of(A, np.ones(4), atoms=fa.SignedOneHot(4), k=2)
    bound = fa.Problem.of(A, np.ones(4), atoms=fa.NonnegativeOneHot(4), k=2)
    robust = fa.Problem.of(A, np.ones(4), atoms=fa.SignedOneHot(4), k=2, loss=fa.Huber(1.0))
    implicit = fa.Problem.of(aslinearoperator(A), np.ones(4), atoms=fa.SignedOneHot(4), k=2)
    bounded = fa.Problem.of(A, np.ones(4), atoms=fa.SignedOneHot(4), k=2, misfit=0.1)
    assert Pursuit().applies(implicit, seen(implicit))
    assert Pursuit().applies(bounded, seen(bounded))
    assert not Pursuit().applies(free, seen(free))  # a matrix at hand has better ways than to save products
    assert not Pursuit().applies(bound, seen(bound))
    assert not Pursuit().applies(robust, seen(robust))


def test_an_operator_that_kills_the_best_atoms_is_no_trap():
    """M maps everything to zero: there is nothing to gain, and nothing to divide by."""
    zero = LinearOperator((3, 5), matvec=lambda x: np.zeros(3), rmatvec=lambda y: np.zeros(5), dtype=float)
    s = fa.fit(zero, np.ones(3), atoms=fa.SignedOneHot(5), k=2, misfit=0.5)
    assert not s.success
    assert s.loss == pytest.approx(1.5)
