"""What every set has from the contract alone: extreme atoms, listings, algebra."""

import numpy as np

from fewatoms import Mapped, SignedOneHot


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
