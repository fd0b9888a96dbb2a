"""Which part is which, in any order and any units; faces of both parts."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.atoms import Sum, Union
from fewatoms.methods.separation.roles import Roles
from fewatoms.points import Point

# Roles ----------------------------------------------------------------------------------------------------------------

PARTS = [(low, sparse) for low in (1.0, -2.0, 0.5) for sparse in (1.0, 3.0, -0.25)]


def made(kind, low, sparse, *, turned, flat=False, shape=(4, 3)):
    parts = [low * fa.RankOne(*shape), sparse * fa.SignedOneHot(12 if flat else shape)]
    return kind(*(parts[::-1] if turned else parts))


@pytest.mark.parametrize("kind", [Sum, Union])
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("scales", PARTS, ids=str)
def test_roles_are_seen_in_either_order_and_in_any_units(kind, turned, scales):
    atoms = made(kind, *scales, turned=turned, flat=scales[0] < 0)
    roles = Roles.of(atoms)
    assert (roles.low, roles.sparse) == ((1, 0) if turned else (0, 1))
    assert (roles.low_scale, roles.sparse_scale) == scales
    assert roles.price == pytest.approx(abs(scales[0] / scales[1]))


@pytest.mark.parametrize("kind", [Sum, Union])
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("scales", PARTS, ids=str)
def test_faces_hold_the_point_and_its_gauge(kind, turned, scales):
    rng = np.random.default_rng(0)
    roles = Roles.of(made(kind, *scales, turned=turned))
    P, Q = np.linalg.qr(rng.standard_normal((4, 2)))[0], np.linalg.qr(rng.standard_normal((3, 2)))[0]
    s, where, values = np.array([3.0, 0.5]), np.array([7, 0, 5]), np.array([-2.0, 1.0, 0.25])
    L, S = (P * s) @ Q.T, np.zeros(12)
    S[where] = values
    face, c = roles.face((P, s, Q), (where, values))
    point = Point(face, c)
    np.testing.assert_allclose(point.x, L + S.reshape(4, 3), atol=1e-14)
    np.testing.assert_allclose(point.parts[roles.low].x, L, atol=1e-14)
    np.testing.assert_allclose(point.parts[roles.sparse].x, S.reshape(4, 3), atol=1e-14)
    assert [point.parts[i].cardinality for i in (roles.low, roles.sparse)] == [2, 3]
    gauges = [np.linalg.norm(L, "nuc") / abs(scales[0]), np.abs(S).sum() / abs(scales[1])]
    right = sum(gauges) if kind is Union else max(gauges)
    assert roles.gauge(s.sum(), np.abs(values).sum()) == pytest.approx(right)
    assert point.gauge == pytest.approx(right)


@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_faces_of_nothing(turned):
    roles = Roles.of(made(Union, 1.0, 2.0, turned=turned))
    nothing = np.zeros((4, 0)), np.zeros(0), np.zeros((3, 0))
    face, c = roles.face(nothing, (np.zeros(0, dtype=int), np.zeros(0)))
    assert face.size == c.size == 0
    assert not face.point(c).any()


def test_other_sets_have_no_roles():
    low, sparse = fa.RankOne(3, 3), fa.SignedOneHot((3, 3))
    others = [
        low,
        sparse,
        low + low,
        sparse | sparse,
        low + sparse + sparse,
        low | fa.NonnegativeOneHot((3, 3)),
        fa.PSDRankOne(3) + sparse,
        low + fa.Groups(np.arange(9).reshape(3, 3) // 3),
        low + fa.Mapped(np.eye(9), fa.SignedOneHot(9)),
        fa.SignedOneHot(9) + fa.Mapped(np.eye(9), low),
    ]
    assert [Roles.of(atoms) for atoms in others] == [None] * len(others)
