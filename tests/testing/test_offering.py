"""A capability that is asked for must be offered, and be one of its kind."""

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import SignedOneHot
from fewatoms.capabilities import ColumnBlocks, Gauge, SampledEntries, SeenAsIs, Spectrum
from fewatoms.testing import check_capability, check_operator

A = generator(3).standard_normal((4, 9))


def test_a_capability_of_sets_that_is_not_offered_is_named():
    with pytest.raises(AssertionError, match="Spectrum is offered does not hold"):
        check_capability(SignedOneHot(3), Spectrum)
    with pytest.raises(AssertionError, match="ColumnBlocks is a capability of sets does not hold: they are Prox"):
        check_capability(SignedOneHot(3), ColumnBlocks)


def test_a_capability_of_operators_that_is_not_offered_is_named():
    with pytest.raises(AssertionError, match="SampledEntries is offered does not hold"):
        check_capability(A, SampledEntries)
    with pytest.raises(AssertionError, match="Gauge is a capability of operators does not hold: they are ColumnBlocks"):
        check_capability(A, Gauge)


def test_an_attribute_of_the_name_of_a_method_is_no_capability():
    """A box that keeps an array called `places` does not say by that what its data are."""

    class Box:
        shape = (3, 4)
        places = np.array([0, 1, 2])

        def __init__(self):
            self.column_lengths = np.ones(4)

        def apply(self, x):
            return 2.0 * x[:3]

        def adjoint(self, y):
            return np.append(2.0 * y, 0.0)

    check_operator(Box())
    with pytest.raises(AssertionError, match="SeenAsIs is offered"):
        check_capability(Box(), SeenAsIs)
