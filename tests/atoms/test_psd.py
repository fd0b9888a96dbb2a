"""Positive semidefinite rank-one matrices, real and complex."""

import math

import numpy as np
import pytest

import naive
from contracts.families import generator, hermitian_dual
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


@pytest.mark.parametrize("complex_", [False, True])
def test_gauge_and_support_by_eigenvalues(complex_):
    rng, atoms = generator(45), PSDRankOne(4)
    Z = hermitian_dual(4)(rng) if complex_ else rng.standard_normal((4, 4))
    H = 0.5 * (Z + Z.conj().T)  # only the Hermitian part counts
    values, vectors = np.linalg.eigh(H)
    assert atoms.support(Z) == pytest.approx(values[-1])
    assert atoms.support(-H) == pytest.approx(-values[0])
    assert atoms.support(H - 10.0 * np.eye(4)) == 0.0
    np.testing.assert_allclose(atoms.spectrum(Z, 3), values[:0:-1])
    face = atoms.expose(Z, 2)
    assert face.complex == complex_
    lead = (vectors[:, 2:] * values[2:]) @ vectors[:, 2:].conj().T
    np.testing.assert_allclose(face.point(face.adjoint(Z)), lead, atol=1e-12)
    X = H @ H
    assert atoms.gauge(X) == pytest.approx(np.trace(X).real)
    assert atoms.gauge(H) == math.inf  # one eigenvalue at least is negative
    assert values[0] < 0
    found = atoms.shrink([], Z, 0.5)
    face, c = found.at(0.3)
    np.testing.assert_allclose(face.point(c), naive.eigen_threshold(0.5 * Z, 0.3), atol=1e-12)
    assert found.gauge(0.3) == pytest.approx(np.maximum(0.5 * values - 0.3, 0.0).sum())


@pytest.mark.parametrize("complex_", [False, True])
def test_the_face_that_factors_span(complex_):
    rng = generator(46)
    L = rng.standard_normal((4, 2)) + (1j * rng.standard_normal((4, 2)) if complex_ else 0)
    X = L @ L.conj().T
    face = PSDRankOne(4).spanned(L)
    np.testing.assert_allclose(face.point(face.adjoint(X)), X, atol=1e-12)
    assert face.gauge(face.adjoint(X)) == pytest.approx(np.trace(X).real)
