"""Faces of sums and unions: cones, and budgets by part or for all parts together."""

import numpy as np

from contracts.families import generator
from faces.small import coordinates, factors, groups, leaves, nested, total
from fewatoms import NonnegativeOneHot, PSDRankOne, RankOne, SignedOneHot
from fewatoms.faces import (
    Cone,
    Coordinates,
    ScaledFace,
    within,
)


def test_cone_of_a_sum():
    z = generator(4).standard_normal((3, 3))
    signed, positive, psd = SignedOneHot((3, 3)), NonnegativeOneHot((3, 3)), PSDRankOne(3)
    assert (signed | RankOne(3, 3)).expose(z, (1, 1)).cone is Cone.FREE
    assert (positive | positive).expose(z, (1, 1)).cone is Cone.NONNEGATIVE
    assert (signed | positive).expose(z, (1, 1)).cone is Cone.MIXED
    assert (psd | signed).expose(z, (1, 1)).cone is Cone.MIXED
    assert (psd | psd).expose(z, (1, 1)).cone is Cone.MIXED
    assert (psd | signed).expose(z, (0, 0)).cone is Cone.FREE  # nothing to constrain
    empty = (psd | signed).joined([psd.expose(z, 0), signed.expose(z, 2)])
    assert empty.cone is Cone.FREE


def test_the_largest_contributions_stay_wherever_they_are():
    rng = generator(9)
    atoms = factors(rng, 2, 2)
    spread, entries = groups(rng), coordinates(rng, count=3)
    face = total(atoms, total(spread, ScaledFace(10.0, entries)))
    C = np.diag([7.0, 2.0])
    lengths = dict(zip(spread.names, [5.0, 0.5, 6.0], strict=True))
    inside = [lengths[n] * np.eye(1, size)[0] for n, size in zip(spread.names, np.diff(spread.starts), strict=True)]
    c = np.concatenate([C.ravel(), *inside, [0.1, -0.8, 0.55]])  # of lengths 1, 8 and 5.5
    smaller, d = face.prune(c, 5)
    assert [f.size for f in smaller.faces] == [1, 4]
    assert [f.size for f in smaller.faces[1].faces] == [2, 2]
    np.testing.assert_allclose(d[0], 7.0)
    np.testing.assert_allclose(d[-2:], [-0.8, 0.55])
    assert set(smaller.faces[1].faces[0].names) == {n for n, size in lengths.items() if size >= 5.0}
    by_part, _ = face.prune(c, (2, (1, None)))
    assert [f.size for f in leaves(by_part)] == [2, 1, 3]
    shared, _ = face.prune(c, (None, 2))
    assert [f.size for f in leaves(shared)] == [2, 1, 1]


def test_norms_decide_where_they_are_known():
    one, two = (Coordinates(np.array(some), np.ones(2), (6,)) for some in ([0, 1], [2, 3]))
    face = total(one, ScaledFace(-100.0, two))
    c, norms = np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 1.0, 1.0, 3.0])  # 10, 2, 3, 12 in the data
    smaller, d = face.prune(c, 2, norms)
    np.testing.assert_array_equal(d, [1.0, 4.0])
    np.testing.assert_allclose(face.contributions(c, norms), c * norms)
    np.testing.assert_allclose(face.contributions(c), [1.0, 2.0, 300.0, 400.0])
    unmeasured, d = face.prune(c, 2)
    assert [f.size for f in unmeasured.faces] == [0, 2]
    assert [f.size for f in smaller.faces] == [1, 1]


def test_budgets_of_sums():
    face = total(coordinates(generator(10), count=3), nested(generator(11)))
    assert face.size == 12
    assert within(face, 12)
    assert not within(face, 11)
    assert within(face, (3, 9))
    assert within(face, (3, (2, (4, 3))))
    assert within(face, (None, (2, 7)))
    assert not within(face, (3, (2, 6)))
    wrapped = ScaledFace(2.0, total(coordinates(generator(10), count=3), factors(generator(11))))
    assert within(wrapped, (3, 2))
    assert not within(wrapped, (2, 2))


def test_within_a_budget():
    face = (SignedOneHot(4) | NonnegativeOneHot(4)).expose(np.arange(4.0), (2, 1))
    assert within(face, (2, 1))
    assert within(face, None)
    assert not within(face, (1, 1))
    assert within(face, 3)  # one number for all parts together
    assert not within(face, 2)
    assert within(face.faces[0], 2)
    assert not within(face.faces[0], 1)
