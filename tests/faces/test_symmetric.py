"""Faces of positive semidefinite rank-one matrices, and coordinates of small Hermitian matrices."""

import numpy as np
import pytest

from contracts.families import generator, hermitian_dual
from fewatoms import PSDRankOne
from fewatoms.faces import (
    hermitian,
    hermitian_coordinates,
)


def inner(x, z):
    return float(np.vdot(x, z).real)


@pytest.mark.parametrize("complex_", [False, True])
def test_pruned_factors_are_the_truncated_decomposition(complex_):
    rng = generator(11)
    face = PSDRankOne(5).expose(hermitian_dual(5)(rng) if complex_ else rng.standard_normal((5, 5)), 4)
    L = rng.standard_normal((4, 4))
    c = hermitian_coordinates((L @ L.T).astype(face.V.dtype))
    smaller, d = face.prune(c, 2)
    u, s, vh = np.linalg.svd(face.point(c))
    np.testing.assert_allclose(smaller.point(d), (u[:, :2] * s[:2]) @ vh[:2], atol=1e-12)
    np.testing.assert_allclose(smaller.values(d), s[:2], atol=1e-12)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("r", [0, 1, 2, 5])
def test_hermitian_coordinates_are_an_isometry(r, complex_):
    rng = generator(31)

    def draw():
        C = rng.standard_normal((r, r)) + (1j * rng.standard_normal((r, r)) if complex_ else 0)
        return C + C.conj().T

    C, D = draw(), draw()
    c, d = hermitian_coordinates(C), hermitian_coordinates(D)
    assert c.size == (r * r if complex_ else r * (r + 1) // 2)
    np.testing.assert_allclose(hermitian(c, r, complex_), C, atol=1e-14)
    assert c @ d == pytest.approx(inner(C, D), abs=1e-12)
    skew = C + (rng.standard_normal((r, r)) if r else 0)
    np.testing.assert_allclose(
        hermitian(hermitian_coordinates(skew), r, complex_), 0.5 * (skew + skew.conj().T), atol=1e-14
    )


def test_a_real_face_sees_the_real_part_of_a_complex_dual():
    rng = generator(32)
    face, Z = PSDRankOne(5).expose(rng.standard_normal((5, 5)), 3), hermitian_dual(5)(rng)
    np.testing.assert_allclose(face.adjoint(Z), face.adjoint(Z.real), atol=1e-12)
    turning = face.turning()
    v = turning.unfold(face.mean_atom())
    np.testing.assert_allclose(turning.pull(v, Z), turning.pull(v, Z.real), atol=1e-12)
