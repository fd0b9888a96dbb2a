"""A set with only `shape`, `count`, `support` and `expose`, in fit and fit_path: the planted atoms are found."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from fewatoms.faces import Cone, Explicit
from test_examples import module

Permutations = module("own_set").Permutations


class Spikes(fa.AtomicSet):
    """SignedOneHot(n), as somebody writes it who knows the four members alone."""

    def __init__(self, n):
        self.shape = (n,)

    @property
    def count(self):
        return self.shape[0]

    def support(self, z):
        return float(np.abs(z).max())

    def expose(self, z, k):
        best = np.argsort(-np.abs(np.ravel(z)), kind="stable")[:k]
        atoms = [np.sign(np.ravel(z)[i]) * np.eye(self.shape[0])[i] for i in best]
        return Explicit.of(atoms, self.shape, cone=Cone.NONNEGATIVE)


def spiky(seed, m=40, n=30, k=3, noise=0.01):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    x = np.zeros(n)
    x[rng.choice(n, k, replace=False)] = rng.choice([-1.0, 1.0], k) * (1.0 + rng.random(k))
    return A, x, A @ x + noise * rng.standard_normal(m)


def mixture(seed, n=6):
    """Three permutations, seen through fewer sums than there are entries."""
    rng = np.random.default_rng(seed)
    X = sum(share * np.eye(n)[rng.permutation(n)] for share in (0.5, 0.3, 0.2))
    M = rng.standard_normal((30, n * n))
    return M, X, M @ X.ravel()


@pytest.mark.parametrize(("seed", "form"), [(0, np.asarray), (1, aslinearoperator)], ids=["array", "operator"])
def test_the_planted_spikes_are_found_as_by_the_built_in_set(seed, form):
    A, x, b = spiky(seed)
    s = fa.fit(form(A), b, atoms=Spikes(30), k=3)
    twin = fa.fit(A, b, atoms=fa.SignedOneHot(30), k=3)
    assert set(np.flatnonzero(s.x)) == set(np.flatnonzero(x)) == set(twin.indices.tolist())
    assert s.loss == pytest.approx(twin.loss, rel=1e-6)


@pytest.mark.parametrize("loss", [fa.LeastSquares(), pytest.param(fa.Huber(0.5), marks=pytest.mark.soak)], ids=repr)
def test_a_path_over_spikes(loss):
    A, x, b = spiky(7)
    path = fa.fit_path(A, b, atoms=Spikes(30), k=(3, 1), loss=loss)
    for k in (1, 3):
        alone = fa.fit(A, b, atoms=Spikes(30), k=k, loss=loss)
        assert path[k].loss <= alone.loss * (1 + 1e-6)
        assert path[k].cardinality <= k
        twin = fa.fit(A, b, atoms=fa.SignedOneHot(30), k=k, loss=loss)
        assert path[k].loss <= 1.01 * twin.loss
    assert set(np.flatnonzero(path[3].x)) == set(np.flatnonzero(x))


@pytest.mark.parametrize("seed", [1])
def test_the_planted_permutations_are_found(seed):
    M, X, b = mixture(seed)
    s = fa.fit(M, b, atoms=Permutations(6), k=3, misfit=1e-6)
    assert s.status is fa.Status.BOUND_MET
    np.testing.assert_allclose(s.x, X, atol=1e-5)
    assert sorted(s.coefficients) == pytest.approx([0.2, 0.3, 0.5], abs=1e-5)


def test_it_opens_no_set_of_which_more_is_known():
    A, _, b = spiky(0)
    method = fa.methods.Exposed()
    for atoms, opened in ((Spikes(30), True), (fa.SignedOneHot(30), False), (fa.Groups(np.arange(30) // 2), False)):
        problem = fa.Problem.of(A, b, atoms=atoms, k=2)
        assert (method.open(problem, [problem.budget]) is not None) == opened


def test_an_earlier_answer_is_taken_up():
    A, _, b = spiky(1)
    start = fa.fit(A, b, atoms=Spikes(30), k=4)
    again = fa.fit(A, b, atoms=Spikes(30), k=2, start=start)
    assert again.cardinality <= 2
    met = fa.fit(A, b, atoms=Spikes(30), k=4, misfit=1.01 * start.misfit, start=start)
    assert (met.status, met.iterations) == (fa.Status.BOUND_MET, 0)
