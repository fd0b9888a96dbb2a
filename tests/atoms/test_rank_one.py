"""Rank-one matrices: singular values and vectors."""

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import RankOne
from fewatoms.operators import as_operator


def test_gauges_written_out():
    assert RankOne(2, 2).gauge(np.array([[3.0, 0.0], [-4.0, 0.0]])) == pytest.approx(5.0)


def test_exposed_atoms_of_a_matrix():
    Z = np.diag([5.0, 4.9, 3.0, -6.0])
    assert RankOne(4, 4).exposed(Z, 0.0).size == 1
    assert RankOne(4, 4).exposed(Z, 1.05).size == 2
    assert RankOne(4, 4).exposed(Z, 3.0).size == 4
    assert RankOne(4, 4).exposed(Z, 3.0, 2).size == 2
    assert RankOne(4, 4).exposed(Z, 3.0, 0).size == 0
    np.testing.assert_allclose(RankOne(4, 4).spectrum(Z, 3), [6.0, 5.0, 4.9])


def test_exposed_atoms_of_wide_ties():
    """More tied atoms than are fetched at first."""
    Z = np.zeros((20, 25))
    Z[:13, :13] = np.eye(13)
    assert RankOne(20, 25).exposed(Z, 0.5).size == 13


def test_thresholds_may_come_in_any_order():
    z = generator(10).standard_normal((4, 5))
    shrinkage = RankOne(4, 5).shrink([], z, 1.0)
    gauges = {t: shrinkage.gauge(t) for t in (3.0, 0.1, 1.0, 0.0, 0.5)}
    s = np.linalg.svd(z, compute_uv=False)
    for t, found in gauges.items():
        assert found == pytest.approx(np.maximum(s - t, 0).sum())


def test_gauge_and_support_are_sums_and_maxima_of_singular_values():
    atoms, rng = RankOne(3, 5), generator(43)
    X, Z = rng.standard_normal((2, 3, 5))
    assert atoms.gauge(X) == pytest.approx(np.linalg.norm(X, "nuc"))
    assert atoms.support(Z) == pytest.approx(np.linalg.norm(Z, 2))
    u, s, vh = np.linalg.svd(Z)
    for k in (1, 2, 3):
        face = atoms.expose(Z, k)
        np.testing.assert_allclose(face.point(face.adjoint(Z)), (u[:, :k] * s[:k]) @ vh[:k], atol=1e-12)
    M = as_operator(rng.standard_normal((4, 15)))
    for _ in range(50):
        a, b = rng.standard_normal(3), rng.standard_normal(5)
        size = np.linalg.norm(a) * np.linalg.norm(b)
        assert np.linalg.norm(M.apply(np.outer(a, b))) <= atoms.operator_norm(M) * size


def test_pairs_become_faces():
    rng = generator(44)
    P, Q = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (3, 4))
    face, c = RankOne(3, 4).paired(P, np.array([2.0, 1.0]), Q)
    np.testing.assert_allclose(face.point(c), (P * [2.0, 1.0]) @ Q.T, atol=1e-12)
    nonnegative = RankOne(3, 4, nonnegative=True)
    face, c = nonnegative.paired(np.abs(P), np.array([2.0, 1.0]), np.abs(Q))
    np.testing.assert_allclose(face.point(c), (np.abs(P) * [2.0, 1.0]) @ np.abs(Q).T, atol=1e-12)
    assert (face.project(-c) == 0.0).all()
    assert not nonnegative.orthonormal  # such factors overlap
    assert nonnegative.same_as(RankOne(3, 4))  # the same matrices are measured
    assert not RankOne(3, 4).same_as(RankOne(4, 3))
    Z = rng.standard_normal((3, 4))
    assert nonnegative.support(Z) == RankOne(3, 4).support(Z)  # proven over all rank-one matrices
