"""Nonnegative factors of a known matrix, and completions that begin there."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods.lowrank.entries import Triple, balanced
from fewatoms.methods.lowrank.unsigned import Unsigned
from fewatoms.sides import NONE


def signed(X, rank):
    u, s, vh = np.linalg.svd(X, full_matrices=False)
    return Triple(u[:, :rank], s[:rank], vh[:rank].T, NONE, NONE)


@pytest.mark.parametrize("seed", range(3))
def test_a_matrix_with_nonnegative_factors_is_found(seed):
    rng = np.random.default_rng(seed)
    shown = rng.random((30, 3)) > 0.5, rng.random((20, 3)) > 0.5
    A, B = rng.gamma(1.0, 1.0, (30, 3)) * shown[0], rng.gamma(1.0, 1.0, (20, 3)) * shown[1]
    at = Unsigned(passes=2000, tol=1e-8).start(signed(A @ B.T, 3))
    assert min(at.P.min(), at.Q.min(), at.s.min()) >= 0
    assert not at.signed
    np.testing.assert_allclose(np.linalg.norm(at.P, axis=0), 1.0)
    assert np.linalg.norm((at.P * at.s) @ at.Q.T - A @ B.T) <= 0.02 * np.linalg.norm(A @ B.T)


def test_no_pass_raises_the_distance():
    rng = np.random.default_rng(0)
    goal, last = signed(rng.standard_normal((12, 9)), 4), np.inf
    X = (goal.P * goal.s) @ goal.Q.T
    for passes in (1, 2, 5, 20, 100):
        at = Unsigned(passes=passes, tol=0.0).start(goal)
        off = np.linalg.norm((at.P * at.s) @ at.Q.T - X)
        assert off <= last * (1 + 1e-12)
        last = off


def test_nothing_stays_nothing():
    none = Triple(np.zeros((4, 0)), np.zeros(0), np.zeros((3, 0)), NONE, NONE)
    assert Unsigned().start(none).rank == 0
    negative = Triple(*balanced(-np.ones((4, 1)), np.ones((3, 1))), NONE, NONE)
    at = Unsigned().start(negative)
    assert np.isfinite(at.P).all()
    assert at.gauge <= 1e-9


@pytest.mark.parametrize("words", [{}, {"ridge": 1.0}, {"free": "biases", "ridge": 0.5}], ids=str)
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_completions_are_as_good_as_those_of_descents_alone(words, noise, monkeypatch):
    """Where entries abound: against the same sweeps from the leading singular vectors without their signs."""
    from fewatoms.methods.lowrank.ladder import Ladder

    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 1.0, (60, 2)) @ rng.gamma(1.0, 1.0, (2, 50)) + noise * rng.standard_normal((60, 50))
    X[rng.random(X.shape) < 0.3] = np.nan
    M, b = fa.Sampling.from_array(X)
    asked = {"atoms": fa.RankOne(*X.shape, nonnegative=True), "k": 2, **words}
    s = fa.fit(M, b, **asked)
    assert min(s.left.min(), s.right.min()) >= 0
    monkeypatch.setattr(Ladder, "_unsigned", lambda self, run, ample: run.F.leading(run.asked.k, run.shrink))
    twin = fa.fit(M, b, **asked)
    assert s.objective <= twin.objective * 1.002 + 1e-6 * np.dot(b, b)


def test_more_atoms_than_there_are():
    rng = np.random.default_rng(1)
    X = rng.gamma(1.0, 1.0, (80, 2)) @ rng.gamma(1.0, 1.0, (2, 70))
    rows, cols = np.nonzero(rng.random(X.shape) < 0.9)
    s = fa.fit(fa.Sampling(rows, cols, X.shape), X[rows, cols], atoms=fa.RankOne(*X.shape, nonnegative=True), k=3)
    assert s.misfit < 1e-3
    assert min(s.left.min(), s.right.min()) >= 0


@pytest.mark.parametrize("seed", range(3))
def test_each_rank_of_a_path_is_as_good_as_by_itself(seed):
    """Descents over nonnegative factors end in several places: a path looks where each rank alone would, too."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(5 * rng.gamma(1, 1, (100, 3)) @ rng.gamma(1, 1, (3, 80))).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    M, b = fa.Sampling.from_array(X)
    words = {"atoms": fa.RankOne(100, 80, nonnegative=True)}
    path = fa.fit_path(M, b, k=range(1, 5), **words)
    for k in path:
        assert path[k].loss <= fa.fit(M, b, k=k, **words).loss * (1 + 1e-4)


def test_weights_over_orders_of_magnitude_take_few_sweeps():
    """More atoms than the data have: descents crept, thousands of sweeps, and were begun three times."""
    rng = np.random.default_rng(7)
    X = rng.random((14, 2)) @ rng.random((2, 10))
    rows, cols = np.divmod(np.arange(140), 10)
    weights = 10.0 ** rng.uniform(-3, 3, 140)
    s = fa.fit(
        fa.Sampling(rows, cols, (14, 10)),
        X.ravel(),
        atoms=fa.RankOne(14, 10, nonnegative=True),
        k=10,
        loss=fa.LeastSquares(weights),
    )
    assert s.misfit < 1e-6
    assert s.iterations < 500
