"""Sums and unions of sets."""

import numpy as np
import pytest

import naive
from contracts.families import generator, matrix_sets, over, square_sets, vector_sets
from fewatoms import Groups, Mapped, NonnegativeCone, NonnegativeOneHot, PSDRankOne, RankOne, SignedOneHot
from fewatoms.atoms import Scaled, Sum, Union
from fewatoms.operators import as_operator

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


def test_supports_add_in_sums_and_compete_in_unions():
    A, B, z = SignedOneHot(4), 0.5 * Groups([0, 0, 1, 1]), generator(47).standard_normal(4)
    a, b = A.support(z), B.support(z)
    total, union = A + B, A | B
    assert total.support(z) == total.reached(z) == pytest.approx(a + b)
    assert union.support(z) == union.reached(z) == max(a, b)
    np.testing.assert_allclose(total.others_support(z), [b, a])
    assert union.others_support(z) is None
    assert total.summands == total.parts
    assert union.summands == (union,)
    M = as_operator(generator(48).standard_normal((3, 4)))
    norms = [A.operator_norm(M), B.operator_norm(M)]
    assert total.operator_norm(M) == pytest.approx(sum(norms))
    assert union.operator_norm(M) == max(norms)


def test_budgets_are_nested_as_parts_are():
    atoms = SignedOneHot(6) + (NonnegativeOneHot(6) | 2.0 * Groups([0, 0, 1, 1, 2, 2]))
    face = atoms.expose(generator(49).standard_normal(6), (3, (2, 1)))
    assert [f.size for f in face.faces] == [3, 3]
    assert [f.size for f in face.faces[1].faces] == [2, 1]
    assert not face.joined
    assert face.faces[1].joined
    assert atoms.expose(np.ones(6), 2).size == 6  # one number for each
    with pytest.raises(ValueError, match=r"shorter|longer"):
        atoms.expose(np.ones(6), (1, 1, 1))


def test_sums_of_sums_are_flat_and_unions_of_sums_are_not():
    A, B = SignedOneHot(4), NonnegativeOneHot(4)
    assert len((A + (B + A)).parts) == 3
    assert len(((A | B) | (B | A)).parts) == 4
    assert len(((A + B) | A).parts) == 2
    assert repr((A + B) | A) == "((SignedOneHot(4) + NonnegativeOneHot(4)) | SignedOneHot(4))"
    assert (A + B).same_as(A + B)
    assert not (A + B).same_as(B + A)
    assert not (A + B).same_as(A | B)
    assert (A | B).like([B, B]).same_as(B | B)


@pytest.mark.parametrize(
    "part",
    [
        lambda A: A.restricted(include=[0]),
        lambda A: 2.0 * A.restricted(include=[0]),
        lambda A: Mapped(np.eye(4), A.restricted(include=[0])),
        lambda A: Mapped(np.eye(4), -1.0 * A.restricted(include=[0])),
    ],
    ids=["alone", "double", "mapped", "mapped, turned over"],
)
def test_atoms_cannot_be_forced_into_a_part(part):
    A = SignedOneHot(4)
    for join in (lambda B: A + B, lambda B: B | A):
        with pytest.raises(ValueError, match=r"^include is for a set by itself, not for a part of a sum or union"):
            join(part(A))
    left = A.restricted(exclude=[0]) | A.restricted(exclude=[1])  # to leave some out is allowed
    assert left.support(np.array([9.0, 1.0, 0.0, 0.0])) == 9.0
    assert (A.restricted(exclude=[0]) + A).support(np.array([9.0, 1.0, 0.0, 0.0])) == 10.0


def test_parts_must_live_in_one_space():
    with pytest.raises(ValueError, match=r"same number of entries; SignedOneHot\(4\) has 4, SignedOneHot\(5\) has 5"):
        SignedOneHot(4) + SignedOneHot(5)
    with pytest.raises(ValueError, match=r"must have the same shape; got \[\(2, 3\), \(3, 2\)\]"):
        RankOne(2, 3) | RankOne(3, 2)
    with pytest.raises(TypeError, match="unsupported operand"):
        SignedOneHot(4) + 1.0


def test_thresholds_of_a_sum_level_the_gauges_of_its_parts():
    """Parts that are shrunk end at the same gauge, lower ones are left alone; the shares add up to t."""
    atoms, z = SignedOneHot(5) + NonnegativeOneHot(5) + 0.1 * SignedOneHot(5), generator(50).standard_normal(5)
    before = [part.shrink([], z, 1.0).gauge(0.0) for part in atoms.parts]
    found = atoms.shrink([], z, 1.0)
    for t in (0.1, 1.0):
        face, c = found.at(t)
        after = [f.gauge(p) for f, p in zip(face.faces, face.split(c), strict=True)]
        level = max(after)
        assert found.gauge(t) == pytest.approx(level)
        assert level < max(before)
        for a, b in zip(after, before, strict=True):
            assert a == pytest.approx(min(b, level), rel=1e-9)
