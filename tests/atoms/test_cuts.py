"""Gauges by cutting planes, against closed forms; what they cannot do."""

import math

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import Dictionary, Groups, NonnegativeCone, NonnegativeOneHot, PSDRankOne, RankOne, SignedOneHot
from fewatoms.atoms.cuts import gauge_by_cuts


@pytest.mark.parametrize(
    "atoms", [SignedOneHot(5), NonnegativeOneHot(5), Groups([0, 0, 1, 1, 2]), RankOne(2, 3), PSDRankOne(2)], ids=repr
)
def test_gauge_by_cuts_against_closed_forms(atoms):
    rng = generator(4)
    for scale, size in ((1e-6, 1.0), (1.0, 1e-4), (1e6, 1e3)):
        face = atoms.expose(rng.standard_normal(atoms.shape), 2)
        x = scale * face.point(face.project(rng.standard_normal(face.dim)))
        assert gauge_by_cuts(size * atoms, x) == pytest.approx(atoms.gauge(x) / size, rel=1e-8)
    assert gauge_by_cuts(atoms, np.zeros(atoms.shape)) == 0.0


def test_gauge_by_cuts_forgets_and_finds_again():
    """More cuts than are kept."""
    x = generator(17).standard_normal((3, 3))
    assert gauge_by_cuts(RankOne(3, 3), x) == pytest.approx(RankOne(3, 3).gauge(x), rel=1e-8)
    short = gauge_by_cuts(RankOne(3, 3), x, rounds=5)
    assert 0 < short <= RankOne(3, 3).gauge(x)  # out of rounds: a lower bound


def test_gauge_by_cuts_outside_of_the_cone():
    assert gauge_by_cuts(NonnegativeOneHot(3), np.array([1.0, -0.01, 2.0])) == math.inf
    assert gauge_by_cuts(NonnegativeOneHot(3), np.array([-1.0, -1.0, -2.0])) == math.inf
    assert gauge_by_cuts(PSDRankOne(2), np.diag([1.0, -0.01])) == math.inf
    narrow = Dictionary(np.eye(4)[:, :2], symmetric=True)
    assert narrow.gauge(np.array([1.0, -2.0, 0.0, 0.0])) == pytest.approx(3.0)
    assert narrow.gauge(np.array([1.0, -2.0, 0.0, 0.1])) == math.inf
    assert narrow.gauge(np.array([0.0, 0.0, 0.0, 0.1])) == math.inf
    turned = np.linalg.qr(generator(5).standard_normal((5, 5)))[0]
    assert Dictionary(turned[:, :3], symmetric=True).gauge(turned[:, 4]) == math.inf
    assert Dictionary(turned[:, :3], symmetric=True).gauge(turned[:, :3].sum(axis=1)) == pytest.approx(3.0)


def test_gauge_by_cuts_says_what_it_cannot_do():
    with pytest.raises(ValueError, match="cone"):
        (NonnegativeCone(2) + SignedOneHot(2)).gauge(np.ones(2))
    with pytest.raises(TypeError, match="real"):
        (PSDRankOne(2) | PSDRankOne(2)).gauge(1j * np.ones((2, 2)))
