"""Positive semidefinite rank-one matrices, real and complex."""

import math

import numpy as np
import pytest

from contracts.families import hermitian_dual
from fewatoms import PSDRankOne
from fewatoms.testing import check_atoms


def test_gauges_written_out():
    assert PSDRankOne(2).gauge(np.array([[2.0, 1.0], [1.0, 2.0]])) == 4.0
    assert PSDRankOne(2).gauge(np.array([[2.0, 1.0], [0.0, 2.0]])) == math.inf
    assert PSDRankOne(2).gauge(np.zeros((2, 2))) == 0.0
    assert PSDRankOne(2).gauge(np.array([[1.0, 1j], [-1j, 1.0]])) == 2.0


def test_exposed_atoms_of_a_matrix():
    Z = np.diag([5.0, 4.9, 3.0, -6.0])
    assert PSDRankOne(4).exposed(Z, 0.2).size == 2
    assert PSDRankOne(4).exposed(Z, 11.0).size == 4
    assert PSDRankOne(4).exposed(Z, 11.0, 3).size == 3
    assert PSDRankOne(4).exposed(Z, 11.0, 0).size == 0
    np.testing.assert_allclose(PSDRankOne(4).spectrum(Z, 3), [5.0, 4.9, 3.0])


def test_exposed_atoms_of_wide_ties():
    """More tied atoms than are fetched at first."""
    Z = np.zeros((20, 20))
    Z[:13, :13] = np.eye(13)
    assert PSDRankOne(20).exposed(Z, 0.5).size == 13
    assert PSDRankOne(20).exposed(Z, 1.0).size == 20


@pytest.mark.parametrize("scale", [1.0, 2.0, -1.5])
def test_identities_for_complex_duals(scale):
    check_atoms(scale * PSDRankOne(3), rng=0, duals=hermitian_dual(3), trials=1)
    check_atoms(PSDRankOne(3) | scale * PSDRankOne(3), rng=0, duals=hermitian_dual(3), exact=False, trials=1)
