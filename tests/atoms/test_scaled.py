"""Multiples of sets: gauges, supports and faces scale."""

import numpy as np
import pytest

import naive
from contracts.families import generator
from fewatoms import Groups, NonnegativeOneHot, PSDRankOne, RankOne, SignedOneHot
from fewatoms.atoms import Sum
from fewatoms.operators import as_operator


def test_gauges_and_spectra_written_out():
    x = np.array([[3.0, 0.0], [-4.0, 0.0]])
    assert (2.0 * SignedOneHot((2, 2))).gauge(x) == 3.5
    assert (-1.5 * NonnegativeOneHot(2)).gauge(np.array([-3.0, 0.0])) == 2.0
    Z = np.diag([5.0, 4.9, 3.0, -6.0])
    np.testing.assert_allclose((-2.0 * PSDRankOne(4)).spectrum(Z, 2), [12.0, -6.0])


def test_multiples_of_multiples_and_sums():
    A, B = SignedOneHot(3), Groups([0, 0, 1])
    assert isinstance(1.0 * A, SignedOneHot)
    twice = 2.0 * (-3.0 * A)
    assert twice.scale == -6.0
    assert twice.inner is A
    total = 2.0 * (A + B)
    assert isinstance(total, Sum)
    assert [p.scale for p in total.parts] == [2.0, 2.0]
    z = np.array([1.0, 2.0, -4.0])
    assert total.support(z) == pytest.approx(2 * (A + B).support(z))
    assert (A * 2.0).support(z) == (2.0 * A).support(z) == 8.0
    three = A + B + 0.5 * A
    assert len(three.parts) == 3
    assert len((A | B | A).parts) == 3
    assert len((A + (A | B)).parts) == 2


INSIDE = {
    "signed": SignedOneHot(6),
    "nonnegative": NonnegativeOneHot(6),
    "groups": Groups([0, 1, 1, 2, 0, 2], weights=[1.0, 2.0, 0.5]),
    "rank one": RankOne(2, 3),
    "psd": PSDRankOne(3),
}


@pytest.mark.parametrize("scale", [3.0, -0.5])
@pytest.mark.parametrize("name", INSIDE)
def test_gauge_support_and_norms_scale(name, scale):
    """gauge(x) = gauge_A(x / scale), support(z) = support_A(scale z), |M|_A times |scale|."""
    inner, rng = INSIDE[name], generator(20)
    outer, z = scale * inner, rng.standard_normal(inner.shape)
    face = outer.expose(z, 2)
    x = face.point(face.project(rng.standard_normal(face.dim)))
    assert outer.gauge(x) == pytest.approx(inner.gauge(x / scale))
    assert outer.support(z) == outer.reached(z) == pytest.approx(inner.support(scale * z))
    assert outer.extreme(z)[0] == outer.support(z)
    atom = outer.extreme(z)[1]
    assert float(atom.adjoint(z) @ atom.mean_atom()) == pytest.approx(outer.support(z))
    M = as_operator(rng.standard_normal((4, inner.n)))
    assert outer.operator_norm(M) == pytest.approx(abs(scale) * inner.operator_norm(M))
    if inner.finite:
        np.testing.assert_allclose(outer.alignments(z), inner.alignments(scale * z))
        np.testing.assert_allclose(outer.atom_norms(M), abs(scale) * inner.atom_norms(M))
    assert outer.count == inner.count
    assert outer.unwrapped().inner is inner
    assert outer.unwrapped().scale == scale


@pytest.mark.parametrize("scale", [3.0, -0.5])
@pytest.mark.parametrize("name", INSIDE)
def test_the_proximal_map_works_where_the_inner_set_lives(name, scale):
    """x = scale w: the step is made in w, where z is scale z."""
    inner, rng = INSIDE[name], generator(21)
    outer, z = scale * inner, rng.standard_normal(inner.shape)
    found = outer.shrink([], z, 0.7)
    expected = naive.proximal(inner, 0.7 * scale * z.ravel(), 0.2)
    face, c = found.at(0.2)
    np.testing.assert_allclose(face.point(c).ravel(), scale * expected, atol=1e-12)
    assert found.gauge(0.2) == pytest.approx(face.gauge(c)) == pytest.approx(outer.gauge(face.point(c)))


def test_listings_of_multiples():
    for scale in (3.0, -0.5):
        listing = (scale * NonnegativeOneHot(4)).listing()
        assert listing.factor == scale
        assert listing.nonnegative
        face = listing.face(np.array([2, 0]))
        np.testing.assert_array_equal(face.point(np.array([1.0, 2.0])), [2.0 * scale, 0.0, scale, 0.0])
        np.testing.assert_array_equal(listing.classes_of(face), [2, 0])
        assert listing.rewrapped(SignedOneHot(4)).same_as(scale * SignedOneHot(4))
    assert (2.0 * RankOne(2, 2)).listing() is None
