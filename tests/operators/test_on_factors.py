"""Reduced operators of particular measurements, against their columns."""

import numpy as np
import pytest

import naive
from contracts.families import generator, places
from fewatoms import Identity, Quadratic, Sampling
from fewatoms.faces import Factors, SymmetricFactors
from fewatoms.operators.on_factors import IdentityFactors, QuadraticFactors, SampledFactors


def orthonormal(n, r, complex_=False, seed=1):
    rng = generator(seed)
    return np.linalg.qr(rng.standard_normal((n, r)) + (1j * rng.standard_normal((n, r)) if complex_ else 0))[0]


def assert_is(reduced, R):
    """Against the matrix of the reduced operator."""
    rng = generator(2)
    c, b, weights = rng.standard_normal(R.shape[1]), rng.standard_normal(len(R)), rng.uniform(0.0, 2.0, len(R))
    weights[::3] = 0.0
    np.testing.assert_allclose(reduced.apply(c), R @ c, atol=1e-12)
    np.testing.assert_allclose(reduced.adjoint(b), R.T @ b, atol=1e-12)
    for w in (None, weights):
        for found, expected in zip(reduced.normal_equations(b, w), naive.normal_equations(R, b, w), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize(("r", "s"), [(1, 1), (2, 3), (3, 2), (0, 0)])
def test_sampled_and_full_matrices_in_factors(r, s):
    face = Factors(orthonormal(5, r), orthonormal(6, s, seed=3))
    M = Sampling(*places(5, 6, 0.6, 4), (5, 6))
    assert isinstance(M.restrict(face), SampledFactors)
    assert_is(SampledFactors(face, M), naive.reduced_matrix(M, face))
    assert_is(IdentityFactors(face), naive.reduced_matrix(Identity((5, 6)), face))


@pytest.mark.parametrize("complex_face", [False, True])
@pytest.mark.parametrize("complex_rows", [False, True])
@pytest.mark.parametrize("r", [1, 3])
def test_intensities_of_factors(r, complex_rows, complex_face):
    A, face = generator(5).standard_normal((9, 4)), SymmetricFactors(orthonormal(4, r, complex_face))
    A = A + 1j * generator(6).standard_normal((9, 4)) if complex_rows else A
    points = [face.point(e) for e in np.eye(face.dim)]
    R = np.stack([np.einsum("ia,ab,ib->i", A, X, A.conj()).real for X in points], axis=1)
    reduced = QuadraticFactors(face, A @ face.V)
    assert reduced.formed_by == r
    assert_is(reduced, R)
    if complex_rows or not complex_face:
        assert_is(Quadratic(A).restrict(face), R)
