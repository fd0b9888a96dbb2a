"""What the contract of faces asks for, and what follows from it alone."""

import numpy as np
import pytest

from contracts.families import generator
from faces.small import Bare, P, Q, bare, coordinates, explicit, total
from fewatoms.faces import (
    Cone,
    Face,
    ScaledFace,
)
from fewatoms.operators import as_operator
from fewatoms.testing import check_face


@pytest.mark.parametrize("cone", [Cone.FREE, Cone.NONNEGATIVE])
def test_the_contract_is_enough(cone):
    face = bare(cone=cone)
    check_face(face)
    check_face(total(face, coordinates(generator(3), shape=(6,)), bare(cone=Cone.FREE)))
    check_face(ScaledFace(-2.0, face))


def test_what_follows_from_the_contract():
    face, M = bare(cone=Cone.NONNEGATIVE), as_operator(generator(3).standard_normal((4, 6)))
    c, d = np.array([1.0, 2.0, 0.5]), np.array([0.0, 1.0, 3.0])
    assert face.gauge(-c) == 3.5
    assert face.gauge(face.mean_atom()) == pytest.approx(1.0)
    assert face.inner(c, face, d) == pytest.approx(face.point(c) @ face.point(d))
    assert face.freedom == 3
    assert face.key() is None
    assert face.turning() is None
    assert face.as_cone() is face
    assert face.parts == (face,)
    assert face.split(c)[0] is c
    assert face.nonnegative().all()
    np.testing.assert_array_equal(face.labels(), [0, 1, 2])
    np.testing.assert_array_equal(face.values(c), c)
    np.testing.assert_array_equal(face.contributions(-c, 2 * c), 2 * c * c)
    np.testing.assert_allclose(face.image(M, c), M.apply(face.point(c)))
    np.testing.assert_allclose(face.measure(M, c), M.apply(face.point(c)))
    with pytest.raises(AttributeError, match="atoms of Bare are no factor pairs"):
        face.factors(c)


def test_entries_are_read_off_the_point():
    rng = generator(4)
    face, rows, cols = explicit(rng), rng.integers(P, size=6), rng.integers(Q, size=6)
    c = rng.standard_normal(face.dim)
    np.testing.assert_array_equal(face.entries(c, rows, cols), face.point(c)[rows, cols])


@pytest.mark.parametrize("name", ["size", "dim", "point", "adjoint", "project", "prune", "merge", "restrict"])
def test_the_contract_is_demanded(name):
    partial = type("Partial", (Bare,), {name: getattr(Face, name)})
    with pytest.raises(TypeError, match=name):
        bare(partial)
