"""What every set has from the contract alone: extreme atoms, listings, algebra."""

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import AtomicSet, Mapped, SignedOneHot
from fewatoms.faces import Cone, Explicit


def test_extreme_with_a_tie_averages_finite_sets():
    z = np.array([1.0, -0.99, 0.5])
    assert SignedOneHot(3).extreme(z)[1].size == 1
    sigma, face = SignedOneHot(3).extreme(z, tie=0.05)
    assert (sigma, face.size) == (1.0, 2)
    np.testing.assert_allclose(face.point(face.mean_atom()), [0.5, -0.5, 0.0])
    assert (2.0 * SignedOneHot(3)).extreme(z, tie=0.05)[1].size == 2
    assert Mapped(np.eye(3), SignedOneHot(3)).extreme(z, tie=0.05)[1].size == 2
    union = SignedOneHot(3) | 0.97 * SignedOneHot(3)
    assert union.extreme(z, tie=0.05)[1].size == 4
    assert union.extreme(z)[1].size == 1
    assert (SignedOneHot(3) + SignedOneHot(3)).extreme(z, tie=0.05)[1].size == 4


class Columns(AtomicSet):
    """The columns of a matrix, with nothing but what the contract asks for; its support is a bound."""

    def __init__(self, A, support=None):
        self.A, self.shape, self.known = A, (len(A),), support

    @property
    def count(self):
        return self.A.shape[1]

    def support(self, z):
        return self.known

    def expose(self, z, k):
        return Explicit.of(self.A.T[np.argsort(-self.A.T @ z)[:k]], self.shape, cone=Cone.NONNEGATIVE)


def test_what_follows_from_the_contract():
    A, rng = generator(51).standard_normal((4, 6)), generator(52)
    z = rng.standard_normal(4)
    best = float((A.T @ z).max())
    atoms = Columns(A, 100.0)
    assert (atoms.ceiling(z), Columns(A).ceiling(z)) == (100.0, np.inf)
    assert atoms.reached(z) == pytest.approx(best)
    sigma, face = atoms.extreme(z)
    assert sigma == 100.0
    assert float(face.adjoint(z)[0]) == pytest.approx(best)
    assert [atoms.exposed(z, 0.0, limit, least).size for limit, least in ((None, 0), (0, 0), (3, 2), (1, 2))] == [
        1,
        0,
        2,
        2,
    ]
    away = Columns(np.abs(A))
    assert away.exposed(-np.ones(4), 0.0).size == 0
    assert away.exposed(-np.ones(4), 0.0, None, 2).size == 2
    assert away.reached(-np.ones(4)) == 0.0
    for nothing in (
        atoms.listing(),
        atoms.alignments(z),
        atoms.operator_norm(None),
        atoms.kept(),
        atoms.over_columns(2),
    ):
        assert nothing is None
    assert atoms.n == 4
    assert atoms.unwrapped().inner is atoms.unrestricted is atoms
    assert atoms.summands == (atoms,)
    for asked, told in (
        (lambda: atoms.joined([]), "has no parts"),
        (lambda: atoms.like([]), "has no parts"),
    ):
        with pytest.raises(TypeError, match=told):
            asked()
    with pytest.raises(ValueError, match="which does not fit"):
        atoms.reshaped((2, 2))


def test_sets_are_the_same_if_all_that_they_hold_is():
    A = generator(53).standard_normal((4, 6))
    assert Columns(A).same_as(Columns(A.copy()))
    assert not Columns(A).same_as(Columns(A, 3.0))
    assert not Columns(A).same_as(Columns(2.0 * A))
    assert (2.0 * Columns(A)).same_as(2.0 * Columns(A.copy()))
    assert not (2.0 * Columns(A)).same_as(3.0 * Columns(A))


def test_listings_lead_to_the_space_of_coefficients_and_back():
    """z pulled there has the alignments of the user's atoms, up to the factor; faces go there and come back."""
    B, z = generator(54).standard_normal((5, 4)), generator(55).standard_normal(5)
    atoms = -2.0 * Mapped(B, 3.0 * SignedOneHot(4))
    listing = atoms.listing()
    assert listing.factor == -6.0
    np.testing.assert_allclose(listing.pulled(z), B.T @ z)
    np.testing.assert_allclose(atoms.alignments(z), np.abs(listing.factor * listing.pulled(z)))
    face = listing.face(np.array([3, 1]))
    np.testing.assert_allclose(face.point(np.array([1.0, 0.5])), -6.0 * (B[:, 3] + 0.5 * B[:, 1]))
    np.testing.assert_array_equal(listing.classes_of(face), [3, 1])
    np.testing.assert_array_equal(listing.inside(face).indices, [3, 1])
    again = listing.rewrapped(SignedOneHot(4))
    assert again.support(z) == pytest.approx(atoms.support(z))
