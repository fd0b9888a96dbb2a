"""How faces turn: the unknowns, and what stays put beside them."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.families import generator
from faces.small import P, Q, coordinates, explicit, factors, groups, mapped, nonnegative_factors, symmetric, total
from fewatoms.faces import (
    Cone,
    FactorTurning,
    ScaledFace,
    Still,
    SymmetricTurning,
)


def test_who_turns():
    rng = generator(12)
    assert isinstance(factors(rng).turning(), FactorTurning)
    assert isinstance(symmetric(rng).turning(), SymmetricTurning)
    for still in (coordinates(rng), groups(rng), explicit(rng), nonnegative_factors(rng)):
        assert still.turning() is None
        assert ScaledFace(2.0, still).turning() is None
        assert total(still, still).turning() is None
        assert total(still, factors(rng)).turning() is not None
    assert mapped(rng, factors(rng)).turning() is not None


@pytest.mark.parametrize("complex_", [False, True])
def test_points_of_fewer_atoms_than_the_face_unfold(complex_):
    rng = generator(13)
    for face in (factors(rng, 3, 3), symmetric(rng, r=3, complex_=complex_)):
        one, d = face.prune(face.project(rng.standard_normal(face.dim)), 1)
        c = face.adjoint(one.point(d))  # the same point, on more atoms than it needs
        turning = face.turning()
        v = turning.unfold(c)
        assert v.shape == turning.lower().shape
        np.testing.assert_allclose(turning.fold(v)[0].point(turning.fold(v)[1]), one.point(d), atol=1e-12)


@pytest.mark.parametrize("complex_", [False, True])
def test_the_unknowns_are_factors(complex_):
    rng = generator(14)
    face = symmetric(rng, complex_=complex_)
    c = face.project(rng.standard_normal(face.dim))
    turning = face.turning()
    L = turning.left(turning.unfold(c))
    np.testing.assert_allclose(L @ L.conj().T, face.point(c), atol=1e-12)
    face = factors(rng)
    c = rng.standard_normal(face.dim)
    L, R = face.turning().pair(face.turning().unfold(c))
    np.testing.assert_allclose(L @ R.T, face.point(c), atol=1e-12)


def test_what_stays_put_takes_part_with_its_coefficients():
    rng = generator(15)
    mixed = total(coordinates(rng), explicit(rng, cone=Cone.NONNEGATIVE))
    face = total(mixed, factors(rng, 1, 1))
    turning = face.turning()
    assert isinstance(turning.parts[0], Still)
    np.testing.assert_array_equal(turning.lower(), [-np.inf] * 4 + [0.0] * 3 + [-np.inf] * (P + Q))
    c = face.project(rng.standard_normal(face.dim))
    np.testing.assert_array_equal(turning.unfold(c)[: mixed.dim], c[: mixed.dim])
    turned, d = turning.fold(turning.unfold(c) + 1.0)
    assert turned.faces[0] is mixed
    np.testing.assert_allclose(d[: mixed.dim], c[: mixed.dim] + 1.0)
    wrapped = replace(face, faces=(ScaledFace(3.0, mixed), face.faces[1]))
    np.testing.assert_array_equal(wrapped.turning().lower(), turning.lower())


@pytest.mark.parametrize("kind", ["factors", "symmetric", "complex", "scaled", "mapped", "sum"])
def test_pull_is_the_gradient(kind):
    """By central differences along every unknown: <z, point> has degree two in them, so that they are exact."""
    rng = generator(16)
    face = {
        "factors": lambda: factors(rng),
        "symmetric": lambda: symmetric(rng),
        "complex": lambda: symmetric(rng, complex_=True),
        "scaled": lambda: ScaledFace(-1.5, factors(rng)),
        "mapped": lambda: mapped(rng, factors(rng, 2, 2, p=3, q=3)),
        "sum": lambda: total(coordinates(rng), factors(rng)),
    }[kind]()
    turning = face.turning()
    v = turning.unfold(face.mean_atom()) + 0.3 * rng.standard_normal(turning.lower().size)
    z = rng.standard_normal(face.shape) + (1j * rng.standard_normal(face.shape) if kind == "complex" else 0)

    def value(unknowns):
        turned, c = turning.fold(unknowns)
        return np.vdot(z, turned.point(c)).real

    slopes = [value(v + 0.5 * e) - value(v - 0.5 * e) for e in np.eye(v.size)]
    np.testing.assert_allclose(turning.pull(v, z), slopes, atol=1e-10)
