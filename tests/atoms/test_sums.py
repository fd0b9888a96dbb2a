"""Sums and unions of sets."""

import numpy as np
import pytest

import naive
from contracts.families import generator, matrix_sets, over, square_sets, vector_sets
from fewatoms import NonnegativeCone, NonnegativeOneHot, PSDRankOne, RankOne, SignedOneHot
from fewatoms.atoms import Scaled, Sum, Union

PARTS = {
    name: atoms
    for name, atoms in (vector_sets(6) | matrix_sets(2, 3) | square_sets(2)).items()
    if isinstance(atoms, (Sum, Union)) and name not in ("union of images", "sum with a union")
}


@pytest.mark.parametrize(("name", "atoms"), **over(PARTS))
def test_proximal_map_of_sums_against_a_conic_program(name, atoms):
    rng = generator(8)
    z = rng.standard_normal(atoms.shape)
    shrinkage = atoms.shrink([], z, 1.0)
    # each part works in its own coordinates: z times its scale
    pieces = [getattr(p, "scale", 1.0) * z.ravel() for p in atoms.parts]
    inner = [p.inner if isinstance(p, Scaled) else p for p in atoms.parts]
    symmetric = [
        0.5 * (w.reshape(p.shape) + w.reshape(p.shape).T).ravel() if isinstance(p, PSDRankOne) else w
        for p, w in zip(inner, pieces, strict=True)
    ]
    for t in (0.2, 1.0):
        face, c = shrinkage.at(t)
        expected = naive.proximal_pieces(type(atoms)(*inner), symmetric, t)
        for part, p, x in zip(face.parts, face.split(c), expected, strict=True):
            base = part.inner_face if hasattr(part, "inner_face") else part
            np.testing.assert_allclose(base.point(p).ravel(), x, atol=2e-5)


def test_eps_exposed_atoms_of_a_union_share_one_threshold():
    z = np.array([1.0, 0.8, -0.5])
    union = SignedOneHot(3) | 0.9 * NonnegativeOneHot(3)
    for eps in (0.0, 0.1, 0.2, 0.3, 0.6):
        face = union.exposed(z, eps)
        signed, positive = face.faces
        assert signed.size == np.count_nonzero(np.abs(z) >= 1 - eps - 1e-15)
        assert positive.size == np.count_nonzero(0.9 * z >= 1 - eps - 1e-15)


def test_rays_in_a_union_are_exposed_alone():
    face = (SignedOneHot(3) | NonnegativeCone(3)).exposed(np.array([1.0, 2.0, -1.0]), 0.0)
    assert face.faces[0].size == 0
    assert list(face.faces[1].indices) == [1, 0]


def test_sums_take_the_shape_of_their_matrix_part():
    atoms = RankOne(2, 3) + SignedOneHot(6)
    assert atoms.shape == (2, 3)
    assert all(p.shape == (2, 3) for p in atoms.parts)
