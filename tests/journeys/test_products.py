"""Products are counted, all of them, and none are made where nothing is to be found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import oracles
from journeys.asking import by, trace
from journeys.planting import as_operator, cosines, huber, logistic, spikes, squares

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
