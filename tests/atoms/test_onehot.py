"""One-hot atoms: signed, nonnegative, rays."""

import math

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import NonnegativeCone, NonnegativeOneHot, SignedOneHot
from fewatoms.operators import as_operator


def test_gauges_written_out():
    x = np.array([[3.0, 0.0], [-4.0, 0.0]])
    assert SignedOneHot((2, 2)).gauge(x) == 7.0
    assert NonnegativeOneHot((2, 2)).gauge(x) == math.inf
    assert NonnegativeCone(2).gauge(np.array([5.0, 0.0])) == 0.0
    assert NonnegativeCone(2).gauge(np.array([5.0, -1e-9])) == math.inf


def test_ties_go_to_the_lower_index():
    z = np.array([1.0, -2.0, 2.0, 2.0])
    face = SignedOneHot(4).expose(z, 2)
    np.testing.assert_array_equal(face.indices, [1, 2])
    np.testing.assert_array_equal(face.signs, [-1, 1])
    assert list(SignedOneHot(4).exposed(z, 0.0).indices) == [1, 2, 3]
    assert SignedOneHot(4).exposed(z, 0.0, 1).indices == [1]


def test_supports_written_out():
    z = np.array([3.0, -5.0, 0.0])
    assert SignedOneHot(3).support(z) == 5.0
    assert NonnegativeOneHot(3).support(z) == 3.0
    assert NonnegativeOneHot(3).support(-np.abs(z)) == 0.0
    assert NonnegativeCone(3).support(z) == math.inf
    assert NonnegativeCone(3).support(-np.abs(z)) == 0.0


def test_norms_are_those_of_the_columns():
    A = generator(42).standard_normal((4, 6))
    lengths = np.linalg.norm(A, axis=0)
    for atoms in (SignedOneHot(6), NonnegativeOneHot(6), SignedOneHot((2, 3))):
        np.testing.assert_allclose(atoms.atom_norms(as_operator(A)), lengths)
        assert atoms.operator_norm(as_operator(A)) == pytest.approx(lengths.max())
    assert NonnegativeCone(6).operator_norm(as_operator(A)) == math.inf


def test_rays_that_point_away_by_little_are_exposed():
    """Alignments of rays are compared with 0: whether a ray is long is not asked."""
    atoms, z = NonnegativeCone(4), np.array([2.0, -0.1, -1.0, 0.5])
    assert list(atoms.exposed(z, 0.0).indices) == [0, 3]
    assert list(atoms.exposed(z, 0.2).indices) == [0, 3, 1]
    assert list(atoms.exposed(z, 0.2, 1).indices) == [0]
    assert atoms.exposed(z, 5.0).gauge(np.ones(4)) == 0.0
    face, c = atoms.shrink([], z, 2.0).at(0.7)
    np.testing.assert_array_equal(face.point(c), [4.0, 0.0, 0.0, 1.0])  # no threshold: the nearest nonnegative point


def test_rows_and_shapes():
    rows = SignedOneHot(3).as_rows(2)
    X = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -1.0]])
    assert rows.gauge(X) == 6.0
    assert SignedOneHot(6).reshaped((2, 3)).gauge(np.ones((2, 3))) == 6.0
    assert repr(rows) == "SignedOneHot(3) with 2 coefficients each"
    assert NonnegativeOneHot(3).as_rows(2) is None
    with pytest.raises(ValueError, match=r"^x must have shape \(3,\); got \(2,\)$"):
        SignedOneHot(3).gauge(np.ones(2))
    assert not SignedOneHot(3).same_as(NonnegativeOneHot(3))
    assert SignedOneHot(3).same_as(SignedOneHot(3))
    assert not SignedOneHot(6).same_as(SignedOneHot((2, 3)))
