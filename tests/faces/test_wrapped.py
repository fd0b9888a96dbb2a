"""Multiples and images of faces: the coefficients are the inner face's, points and duals go through the map."""

import numpy as np
import pytest

import naive
from contracts.families import generator
from faces.small import coordinates, factors, mapped, symmetric, total
from fewatoms.faces import ScaledFace
from fewatoms.operators import as_operator


@pytest.mark.parametrize("scale", [2.0, -0.5])
def test_contributions_are_in_the_units_of_the_multiple(scale):
    inner = coordinates(generator(1))
    face, c, norms = ScaledFace(scale, inner), np.array([1.0, -2.0, 0.5, 3.0]), np.array([4.0, 1.0, 1.0, 0.1])
    np.testing.assert_allclose(face.contributions(c), abs(scale) * np.abs(c))
    np.testing.assert_allclose(face.contributions(c, norms), norms * np.abs(c))  # norms know the scale
    np.testing.assert_array_equal(face.labels(), inner.labels())
    assert face.key() == inner.key()
    assert face.gauge(c) == inner.gauge(c)
    assert face.inner(c, face, c) == pytest.approx(inner.inner(c, inner, c))  # of the preimages


@pytest.mark.parametrize("scale", [2.0, -0.5])
@pytest.mark.parametrize("complex_", [False, True])
def test_factors_of_multiples(scale, complex_):
    rng = generator(2)
    for inner in (factors(rng), symmetric(rng, complex_=complex_)):
        face = ScaledFace(scale, inner)
        c = inner.mean_atom()
        left, right = face.factors(c)
        np.testing.assert_allclose(left @ right.T, face.point(c), atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(left, axis=0), np.linalg.norm(right, axis=0))


def test_the_image_of_a_sum_is_the_sum_of_the_images():
    rng = generator(3)
    inner = total(coordinates(rng), factors(rng))
    c = rng.standard_normal(inner.dim)
    for face in (ScaledFace(-3.0, inner), mapped(rng, inner)):
        assert [type(part) for part in face.parts] == [type(face)] * 2
        points = [part.point(p) for part, p in zip(face.parts, face.split(c), strict=True)]
        np.testing.assert_allclose(sum(points), face.point(c), atol=1e-12)


def test_images_are_measured_through_the_map():
    rng = generator(4)
    face = mapped(rng, factors(rng, 2, 2, p=3, q=3))
    M = as_operator(rng.standard_normal((6, 20)))
    R, c = naive.reduced_matrix(M, face), rng.standard_normal(face.dim)
    np.testing.assert_allclose(face.restrict(M).apply(c), R @ c, atol=1e-12)
    z = rng.standard_normal((4, 5))
    np.testing.assert_allclose(face.adjoint(z), naive.basis(face).T @ z.ravel(), atol=1e-12)
    with pytest.raises(AttributeError, match="atoms of MappedFace are no factor pairs"):
        face.factors(c)
