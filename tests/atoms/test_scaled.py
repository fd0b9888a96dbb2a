"""Multiples of sets: gauges, supports and faces scale."""

import numpy as np
import pytest

from fewatoms import Groups, NonnegativeOneHot, PSDRankOne, SignedOneHot
from fewatoms.atoms import Sum


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
