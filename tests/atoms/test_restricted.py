"""Sets with atoms forced in or left out."""

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import Groups, Mapped, NonnegativeOneHot, SignedOneHot
from fewatoms.atoms import Listing
from fewatoms.capabilities import Gauge, Prox, RankOnePairs, Semidefinite, Spectrum
from fewatoms.testing import check_capability

LABELS = np.array([0, 2, 1, 0, 2, 1])


MAP = generator(6).standard_normal((6, 6))


VECTORS = {
    "signed": SignedOneHot(6),
    "nonnegative": NonnegativeOneHot(6),
    "groups": Groups(LABELS, weights=[1.0, 2.0, 0.5]),
}


OF_SETS = (Prox, Gauge, Listing, RankOnePairs, Semidefinite, Spectrum)


@pytest.mark.parametrize(
    "around", ["restricted", "left out", "restricted twice", "restricted mapped", "mapped restricted"]
)
@pytest.mark.parametrize("name", ["signed", "nonnegative", "groups"])
def test_restricted_sets_are_listed_and_have_a_gauge(name, around):
    atoms = VECTORS[name]
    outer = {
        "restricted": lambda: atoms.restricted(include=[1], exclude=[0]),
        "left out": lambda: atoms.restricted(exclude=[0, 2]),
        "restricted twice": lambda: atoms.restricted(exclude=[0]).restricted(include=[1]),
        "restricted mapped": lambda: Mapped(MAP, atoms).restricted(exclude=[2]),
        "mapped restricted": lambda: Mapped(MAP, atoms.restricted(exclude=[2])),
    }[around]()
    assert {capability for capability in OF_SETS if outer.offers(capability) is not None} == {Gauge, Listing}
    check_capability(outer, Listing)
    check_capability(outer, Gauge)
