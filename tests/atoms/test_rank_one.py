"""Rank-one matrices: singular values and vectors."""

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import RankOne


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
