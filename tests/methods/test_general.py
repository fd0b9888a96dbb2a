"""Low rank from other measurements: products for factors, dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from sampled import (
    assert_at_most,
    plant,
)

# Other operators ------------------------------------------------------------------------------------------------------


def gaussian(seed, p=6, q=5, rank=2, m=28):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((p, rank)) @ rng.standard_normal((q, rank)).T
    return rng.standard_normal((m, p * q)), X


class Measured(fa.Operator):
    """M(X) = G vec(X), which keeps count of how it is asked."""

    def __init__(self, G, shape):
        self.G, self.shape, self._model_shape = G, G.shape, shape
        self.whole = self.in_factors = 0

    @property
    def model_shape(self):
        return self._model_shape

    def apply(self, x):
        self.whole += 1
        return self.G @ np.ravel(x)

    def adjoint(self, y):
        return (self.G.T @ y).reshape(self._model_shape)

    def apply_factors(self, U, V):
        self.in_factors += 1
        assert U.shape[1] == V.shape[1]
        return self.G @ (U @ V.T).ravel()


class MeasuredBox(LinearOperator):
    """The same as SciPy has it, with products for factors beside."""

    def __init__(self, G):
        super().__init__(float, G.shape)
        self.G, self.whole, self.in_factors = G, 0, 0

    def _matvec(self, x):
        self.whole += 1
        return self.G @ x.ravel()

    def _rmatvec(self, y):
        return self.G.T @ y.ravel()

    def apply_factors(self, U, V):
        self.in_factors += 1
        return self.G @ (U @ V.T).ravel()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("bound", [{}, {"misfit": 1e-7}], ids=["", "bound"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_gaussian_measurements_of_a_low_rank_matrix(seed, bound, order):
    G, X = gaussian(seed)
    G = np.asarray(G, order=order)
    s = fa.fit(G, G @ X.ravel(), atoms=fa.RankOne(6, 5), k=2, **bound)
    assert s.success
    assert s.cardinality == 2
    np.testing.assert_allclose(s.x, X, atol=1e-5 * np.abs(X).max())


@pytest.mark.parametrize("make", [lambda G: Measured(G, (6, 5)), MeasuredBox], ids=["operator", "linear operator"])
@pytest.mark.parametrize("bound", [{}, {"misfit": 1e-7}], ids=["", "bound"])
def test_operators_that_know_factors_are_not_given_matrices(make, bound):
    for seed in range(2):
        G, X = gaussian(seed)
        M = make(G)
        s = fa.fit(M, G @ X.ravel(), atoms=fa.RankOne(6, 5), k=2, **bound)
        np.testing.assert_allclose(s.x, X, atol=1e-5 * np.abs(X).max())
        assert s.certificate.gap >= 0
        assert M.whole == 0
        assert M.in_factors > 0
        plain = fa.fit(G, G @ X.ravel(), atoms=fa.RankOne(6, 5), k=2, **bound)
        np.testing.assert_allclose(s.x, plain.x, atol=1e-5 * np.abs(X).max())


def test_what_apply_factors_returns_is_checked():
    G, X = gaussian(0)
    for result, message in (
        (np.ones(3), r"^M\.apply_factors must return 28 numbers; got shape \(3,\)$"),
        (np.full(28, np.nan), r"^M\.apply_factors's result must hold finite numbers only; it contains nan$"),
    ):
        M = MeasuredBox(G)
        M.apply_factors = lambda U, V, r=result: r
        with pytest.raises(ValueError, match=message):
            fa.fit(M, G @ X.ravel(), atoms=fa.RankOne(6, 5), k=2)


def test_the_sweeps_agree_with_other_oracles():
    """Which do not know of sweeps: the same minimum, or a worse one."""
    for seed in range(2):
        e = plant(seed, 10, 9, 2, noise=0.2, share=0.9)
        s, other = e.fit(2), e.fit(2, method=fa.General(fa.oracles.Continuation()))
        assert_at_most(s.loss, other.loss, 1e-4)


# A bound alone --------------------------------------------------------------------------------------------------------


def six_atoms():
    rng = np.random.default_rng(0)
    M, x = rng.standard_normal((80, 250)), np.zeros(250)
    x[:6] = [3.0, -2.0, 1.5, 2.0, -1.0, 1.0]
    b = M @ x
    return M, b + 0.05 * np.linalg.norm(b) / np.sqrt(80) * rng.standard_normal(80)


def residuals(M, b, steps):
    """Those of a solver that knows nothing of us."""
    x, smooth, lam = np.zeros(M.shape[1]), np.linalg.norm(M, 2) ** 2, 0.05 * np.abs(M.T @ b).max()
    for _ in range(steps):
        r = b - M @ x
        yield r
        v = x + M.T @ r / smooth
        x = np.sign(v) * np.maximum(np.abs(v) - lam / smooth, 0.0)


@pytest.mark.parametrize("own", [False, True], ids=["our oracle", "their vectors"])
@pytest.mark.parametrize("retrieval", [None, fa.paper_rule()], ids=["default", "rule"])
def test_few_atoms_that_meet_a_bound(own, retrieval):
    M, b = six_atoms()
    oracle = fa.FromIterates(residuals(M, b, 60)) if own else None
    s = fa.fit(M, b, atoms=fa.SignedOneHot(250), misfit=0.06, method=fa.General(oracle, retrieval))
    assert s.success
    assert s.misfit <= 0.06
    assert sorted(s.indices) == [0, 1, 2, 3, 4, 5]


def test_a_bound_alone_over_other_atoms_and_none_that_is_met():
    M, b = six_atoms()
    groups = fa.fit(M, b, atoms=fa.Groups(np.arange(250) // 2), misfit=0.06, method=fa.General())
    assert groups.success
    assert sorted(groups.indices) == [0, 1, 2]
    short = fa.fit(M[:, 100:130], b, atoms=fa.SignedOneHot(30), misfit=0.06, method=fa.General(), max_iterations=3)
    assert not short.success
    rng = np.random.default_rng(0)
    low = rng.standard_normal((25, 2)) @ rng.standard_normal((2, 10))
    pairs = fa.fit(M, M @ low.ravel(), atoms=fa.RankOne(25, 10), misfit=0.06, method=fa.General())
    assert pairs.success
    assert pairs.cardinality == 2
    with pytest.raises(TypeError, match="k must say how many atoms are allowed"):
        fa.fit(M, b, atoms=fa.SignedOneHot(250), method=fa.General())
