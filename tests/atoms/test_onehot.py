"""One-hot atoms: signed, nonnegative, rays."""

import math

import numpy as np

from fewatoms import NonnegativeCone, NonnegativeOneHot, SignedOneHot


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
