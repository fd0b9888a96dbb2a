"""Ladders of penalties: what their rungs satisfy, what they ask for outside of a working set, what they suggest."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.gram.drivers import Rules
from fewatoms.methods.listed.blockwise import fitted
from fewatoms.methods.listed.rungs import CAREFULLY, TOLERANCE, ladder, nested, suggested
from fewatoms.methods.listed.small import small
from fewatoms.problem import Problem
from methods.listed.small import design, fits_of


def rules(signed=True, relief=0.0):
    return Rules(signed, 1e-9, 20, 0, 0, relief, 0)


def working(seed, kind="plain", m=60, n=50, first=None, signed=True):
    rng = np.random.default_rng(seed)
    A = design(kind, rng, m, n)
    b = A[:, :5] @ rng.standard_normal(5) + 0.5 * rng.standard_normal(m)
    atoms = fa.SignedOneHot(n) if signed else fa.NonnegativeOneHot(n)
    some = small(fits_of(Problem.of(A, b, atoms=atoms, k=5)).view, 0.0)
    z = np.abs((A / np.linalg.norm(A, axis=0)).T @ b)
    some.take(np.argsort(-z)[: n if first is None else first])
    return some, A / np.linalg.norm(A, axis=0), b


def check_rung(x, z, lam, signed):
    """x solves |b - Ax|^2 / 2 + lam |x|, up to a share of lam; z = A'(b - Ax)."""
    slack = 3 * TOLERANCE * lam
    used = np.flatnonzero(x)
    np.testing.assert_allclose(z[used], lam * np.sign(x[used]), rtol=0, atol=slack)
    assert (np.abs(z) if signed else z).max() <= lam + slack


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("kind", ["plain", "units", "decoy"])
def test_rungs_solve_the_relaxation(kind, signed):
    some, A, b = working(1, kind, signed=signed)
    lams = some.penalties(10, 0.7)
    X = ladder(some, rules(signed), lams, 50, passes=CAREFULLY)
    assert len(X) == 10
    for x, lam in zip(X, lams, strict=True):
        check_rung(x, A[:, some.classes].T @ (b - A[:, some.classes] @ x), lam, signed)
    held = np.count_nonzero(X, axis=1)
    assert held[-1] > held[0] > 0


def test_a_ladder_ends_with_so_many_coefficients():
    some, *_ = working(2)
    lams = some.penalties(40, 0.7)
    full = ladder(some, rules(), lams, 1000)
    short = ladder(some, rules(), lams, 10)
    assert len(full) == 40
    assert len(short) < 40
    np.testing.assert_allclose(short, full[: len(short)], atol=1e-12)
    held = np.count_nonzero(short, axis=1)
    assert held[-1] >= 10 > held[:-1].max()


def test_ladders_ask_for_atoms_that_do_not_stay_at_zero():
    some, A, b = working(3, n=400, first=8)
    lams = some.penalties(8, 0.8)
    X = ladder(some, rules(), lams, 400, looks=True, passes=CAREFULLY)
    assert some.classes.size > 8
    assert X.shape[1] == some.classes.size
    for x, lam in zip(X, lams, strict=True):
        spread = np.zeros(400)
        spread[some.classes] = x
        check_rung(spread, A.T @ (b - A @ spread), lam, True)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_suggestions_are_the_largest_coefficients(k):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((6, 9)) * (rng.random((6, 9)) < 0.5)
    X[5] = X[4]
    stays = np.zeros(9, dtype=bool)
    rows = suggested(X, k, stays)
    expected = []
    for x in X:
        if 2 * np.count_nonzero(x) >= k:
            top = np.sort(np.argsort(-np.abs(x), kind="stable")[: min(k, np.count_nonzero(x))])
            expected.append(tuple(top.tolist()))
    assert [tuple(row.tolist()) for row in rows] == list(dict.fromkeys(expected))
    stays[2] = True
    assert all(2 in row for row in suggested(X, k, stays))


@pytest.mark.parametrize("kind", ["plain", "correlated", "duplicated"])
def test_nested_supports_are_the_best_of_their_rungs(kind):
    some, *_ = working(4, kind)
    X = ladder(some, rules(), some.penalties(12, 0.7), 50)
    table = nested(some, X, 7)
    assert np.all(table[0] == -1)
    for k in range(1, 8):
        row = table[k][table[k] >= 0]
        losses = []
        for x in X:
            order = np.argsort(-np.abs(x), kind="stable")[:k]
            fit = fitted(some, order) if np.count_nonzero(x) >= k else None
            losses.append(np.inf if fit is None else fit.loss)
        if np.isfinite(min(losses)):
            assert fitted(some, row).loss == pytest.approx(min(losses), rel=1e-9)
        else:
            assert row.size == 0
