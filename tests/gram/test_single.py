"""What searches ask of single atoms: nonnegative coefficients, rungs, pairs, against solvers and brute force."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

from fewatoms.gram import single
from fewatoms.gram.drivers import build
from fewatoms.gram.state import PIVOT
from gram.instances import CASES, FAMILIES, best_nonnegative, check_state, inside, instance, rules, small

every_case = pytest.mark.parametrize(("name", "ridge"), CASES)


def built(p, atoms, **words):
    s = p.state(**words)
    build(p.G, p.h, p.bb, s, np.asarray(atoms, dtype=np.int64))
    return s


# Nonnegative coefficients ---------------------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("seed", range(4))
def test_nonnegative_against_all_subsets(name, ridge, seed):
    p, rng = instance(name, ridge, seed), np.random.default_rng(seed)
    atoms = rng.permutation(p.n)[: min(p.n, 5)]
    c = np.full(atoms.size, np.nan)
    gain = single.nonnegative(p.G, p.h, atoms, c)
    assert (c >= 0).all()
    assert gain == pytest.approx(p.h[atoms] @ c)
    loss = p.bb - 2 * p.h[atoms] @ c + c @ p.G[np.ix_(atoms, atoms)] @ c
    assert loss == pytest.approx(p.bb - gain, abs=1e-9 * p.bb)
    assert p.bb - gain <= best_nonnegative(p, atoms) + 1e-7 * p.bb


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_nonnegative_against_scipy(name, seed):
    M, b = FAMILIES[name](np.random.default_rng(seed))
    p = small(M, b)
    lengths = np.linalg.norm(M, axis=0)
    _, left = nnls(M / np.where(lengths > 0, lengths, 1.0), b)
    c = np.zeros(p.n)
    gain = single.nonnegative(p.G, p.h, np.arange(p.n), c)
    assert p.bb - gain == pytest.approx(left**2, abs=1e-6 * p.bb)


@every_case
def test_only_those_that_are_used_stay(name, ridge):
    p = instance(name, ridge)
    for count in range(1, min(p.n, 6) + 1):
        s = built(p, np.arange(count))
        atoms = inside(s)
        single.only_used(p.G, p.h, s)
        check_state(p, s, 1e-8)
        assert (s.c[: s.count[0]] >= -1e-9).all()
        assert s.loss[0] <= best_nonnegative(p, atoms) + 1e-7 * p.bb
        before = inside(s)
        single.settle(p.G, p.h, s, False)
        assert inside(s).tolist() == before.tolist()


def test_signed_supports_are_settled():
    p = instance("gaussian")
    s = built(p, range(6))
    assert s.c.min() < 0
    single.settle(p.G, p.h, s, True)
    assert s.count[0] == 6


@every_case
def test_exchanges_of_nonnegative_supports_never_raise_the_loss(name, ridge):
    p = instance(name, ridge, 1)
    s = built(p, range(min(3, p.n)))
    single.only_used(p.G, p.h, s)
    U = np.empty((s.S.size, p.n))
    for _ in range(10):
        before, size = s.loss[0], s.count[0]
        if not single.swap(p.G, p.h, s, U, 1e-9 * s.loss[0], rules(False)):
            break
        assert s.loss[0] < before
        assert s.count[0] <= size
        assert (s.c[: s.count[0]] >= -1e-9).all()
        check_state(p, s, 1e-8)
    # no exchange is left that would gain
    atoms = inside(s)
    for i in range(atoms.size):
        for j in np.flatnonzero(s.place < 0):
            other = np.r_[np.delete(atoms, i), j]
            assert best_nonnegative(p, other) >= s.loss[0] * (1 - 1e-6) - 1e-8 * p.bb


# Clearing, worths -----------------------------------------------------------------------------------------------------


def test_clear():
    p = instance("gaussian")
    s = built(p, [1, 4, 2], stays=np.arange(p.n) < 2)
    single.clear(p.G, p.h, p.bb, s)
    assert s.count.tolist() == [0, 0, 2]
    check_state(p, s)


@every_case
@pytest.mark.parametrize("signed", [True, False])
def test_worths_are_what_entries_gain(name, ridge, signed):
    p = instance(name, ridge)
    s = built(p, range(min(3, p.n - 1)))
    s.may[p.n - 1] = False
    worth = single.worths(s, signed)
    for j in range(p.n):
        if s.place[j] >= 0 or not s.may[j] or not single.fits(s, j, signed):
            assert worth[j] == 0
        else:
            assert worth[j] == pytest.approx(s.loss[0] - p.loss([*inside(s), j]), rel=1e-4, abs=1e-8 * p.bb)


def test_fits():
    p = instance("duplicated")
    s = built(p, [0])
    assert not single.fits(s, 3, True)  # the same column
    for j in (1, 2, 5):
        assert single.fits(s, j, True)
        assert single.fits(s, j, False) == (s.z[j] > 0)


# Pairs ----------------------------------------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("held", [0, 2])
def test_the_best_pair_against_all_pairs(name, ridge, signed, held):
    p = instance(name, ridge, 2)
    s = built(p, range(min(held, p.n)))
    single.settle(p.G, p.h, s, signed)
    s.may[p.n - 1] = p.n < 4
    best = 0.0
    for pair in combinations(np.flatnonzero(s.may & (s.place < 0)), 2):
        atoms = [*inside(s), *pair]
        if p.independent(atoms) and (signed or (p.coefficients(atoms) >= 0).all()):
            best = max(best, s.loss[0] - p.loss(atoms))
    a, b, gain = single.best_pair(p.G, s, p.n, signed)
    assert gain == pytest.approx(best, rel=1e-5, abs=1e-7 * p.bb)
    if a >= 0:
        atoms = [*inside(s), a, b]
        assert s.loss[0] - p.loss(atoms) == pytest.approx(gain, rel=1e-5, abs=1e-7 * p.bb)
        assert s.may[[a, b]].all()
        assert (s.place[[a, b]] < 0).all()


# Rungs ----------------------------------------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("relief", [0.0, 3.0])
def test_a_rung_is_stationary(name, ridge, signed, relief):
    """q = h - Gx: lam times a subgradient of |x|, less what the relief takes off."""
    p = instance(name, ridge)
    may = np.arange(p.n) != 2
    top = np.abs(p.h).max() if signed else p.h.max()
    x, q = np.zeros(p.n), p.h.copy()
    for lam in top * np.array([0.8, 0.4, 0.1]):
        single.rung(p.G, x, q, lam, rules(signed, relief=relief), may, 1000, 1e-10)
        np.testing.assert_allclose(q, p.h - p.G @ x, atol=1e-9 * top)
        assert not x[~may].any()
        assert signed or (x >= 0).all()
        slope = np.maximum(lam - np.abs(x) / relief, 0.0) if relief else np.full(p.n, lam)
        used = x != 0
        if p.independent(np.flatnonzero(used)) and np.linalg.cond(p.G[np.ix_(used, used)]) < 1e5:
            np.testing.assert_allclose(q[used], (slope * np.sign(x))[used], atol=1e-6 * top)
        assert ((np.abs(q) if signed else q)[~used & may] <= lam * (1 + 1e-6)).all()


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_a_rung_against_a_general_solver(signed, ridge):
    import cvxpy as cp

    M, b = FAMILIES["correlated"](np.random.default_rng(3))
    M = M / np.linalg.norm(M, axis=0)
    p = small(M, b, ridge)
    lam = 0.2 * np.abs(p.h).max()
    x = cp.Variable(p.n, nonneg=not signed)
    value = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(b - M @ x) + 0.5 * ridge * cp.sum_squares(x) + lam * cp.norm1(x))
    ).solve(solver="CLARABEL")
    found, q = np.zeros(p.n), p.h.copy()
    single.rung(p.G, found, q, lam, rules(signed), np.ones(p.n, dtype=bool), 1000, 1e-10)
    mine = 0.5 * (p.bb - 2 * p.h @ found + found @ p.G @ found) + lam * np.abs(found).sum()
    assert mine == pytest.approx(value, rel=1e-6)


def test_relaxing_leaves_out_what_may_not_enter():
    p = instance("planted")
    s = p.state(may=np.arange(p.n) > 4)
    x, q = np.zeros(p.n), p.h.copy()
    single.relax(p.G, s, x, q, 0.1 * np.abs(p.h).max(), rules(), 50, 1e-6)
    assert not x[:5].any()
    assert x[5:].any()
    np.testing.assert_array_equal(single.sizes(s, x), np.abs(x))


def test_what_cannot_be_seen_does_not_come_in():
    p = instance("nearly_parallel")
    s = built(p, range(p.n))
    assert s.count[0] == p.n - 1  # of the pair that leaves 1e-12
    assert p.G.diagonal().min() > PIVOT
