"""Blocks in coordinates of their own are the same problem."""

import numpy as np
import pytest

from fewatoms.gram.whiten import whiten
from gram.grouped import CASES, grouped, instance

every_case = pytest.mark.parametrize(("name", "ridge"), CASES)


@every_case
def test_the_objective_is_the_same(name, ridge):
    """|b|^2 - 2 h'u + u'Gu is that of the ridge on unit columns, at any u."""
    p, rng = instance(name, ridge), np.random.default_rng(1)
    w = p.whitened
    for _ in range(5):
        u = rng.standard_normal(w.h.size)
        x = w.back(np.arange(p.count), u)
        r = p.b - p.M @ x
        scale = 1 + p.bb + x @ x
        assert r @ r + ridge * (x @ x) == pytest.approx(p.bb - 2 * w.h @ u + u @ w.G @ u, abs=1e-6 * scale)


@every_case
def test_blocks_are_orthonormal_and_nothing_is_lost(name, ridge):
    p = instance(name, ridge)
    w = p.whitened
    np.testing.assert_allclose(w.G, w.G.T, atol=1e-7)
    for g in range(p.count):
        on = slice(w.starts[g], w.starts[g + 1])
        np.testing.assert_array_equal(w.G[on, on], np.eye(on.stop - on.start))
        assert p.bb - w.h[on] @ w.h[on] == pytest.approx(p.loss([g]), abs=1e-6 * p.bb)


def test_directions_that_are_not_there_are_let_go():
    assert np.diff(instance("duplicated_within").whitened.starts).tolist() == [2, 1, 3, 2, 3, 1, 2]
    assert np.diff(instance("with_zeros").whitened.starts).tolist() == [2, 0, 4, 0, 3, 1, 2]
    assert np.diff(instance("nearly_parallel").whitened.starts).tolist() == [3, 1, 4, 2, 3, 1, 1]
    assert np.diff(instance("nearly_parallel", 0.1).whitened.starts).tolist() == [3, 1, 4, 2, 3, 1, 2]


def test_the_ridge_is_on_columns_and_not_on_the_basis():
    """Two columns that are nearly the same share what they explain, and do not outbid each other."""
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 2))
    M[:, 1] = M[:, 0] + 0.05 * M[:, 1]
    b = M[:, 0] + rng.standard_normal(30)
    p = grouped(M, b, (2,), 0.5)
    u = p.whitened.h  # the fit, in an orthonormal basis
    c = p.whitened.back(np.arange(1), u)
    np.testing.assert_allclose(c, p.fit([0])[0], rtol=1e-9)
    assert abs(c[0] - c[1]) < 0.2 * abs(c).max()


def test_back_takes_any_blocks_in_any_order():
    p = instance("duplicated_within")
    w = p.whitened
    assert w.back(np.arange(0), np.zeros(0)).shape == (0,)
    u = np.arange(1.0, w.h.size + 1)
    whole = w.back(np.arange(p.count), u)
    some = np.array([4, 0])
    part = w.back(some, np.concatenate([u[w.starts[g] : w.starts[g + 1]] for g in some]))
    np.testing.assert_allclose(part, whole[p.columns(some)])
    # columns that are dependent share: the shortest coefficients
    twin = whole[6:8]
    assert twin[0] == pytest.approx(twin[1])


def test_what_is_given_stays_as_it_is():
    M, b = np.random.default_rng(0).standard_normal((9, 5)), np.arange(9.0)
    M /= np.linalg.norm(M, axis=0)
    given = M.T @ M, M.T @ b, np.array([0, 2, 5])
    before = [array.copy() for array in given]
    w = whiten(*given, 0.1)
    for array, was in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, was)
    assert w.G.flags.c_contiguous  # as kernels want it
    assert w.starts.dtype == np.int64
