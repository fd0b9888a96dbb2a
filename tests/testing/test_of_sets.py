"""The checkers of sets' capabilities fail on members that are broken on purpose, and say which identity it is."""

from dataclasses import replace

import numpy as np
import pytest

from fewatoms import Groups, PSDRankOne, RankOne, SignedOneHot
from fewatoms.atoms import Listing
from fewatoms.capabilities import Gauge, Prox, RankOnePairs, Semidefinite, Spectrum
from fewatoms.testing import check_atoms, check_capability


def listed(**changes):
    """Groups whose listing says something else."""

    class Wrong(Groups):
        def listing(self):
            return replace(super().listing(), **changes)

    return Wrong([0, 1, 1, 2, 0, 2])


class Shrinking(SignedOneHot):
    def shrink(self, points, z, step):
        return super().shrink(points, z, 1.1 * step)


class Halved(SignedOneHot):
    def gauge(self, x):
        return 0.5 * super().gauge(x)


class Counting(SignedOneHot):
    """The number of entries instead of their sum."""

    def gauge(self, x):
        return float(np.count_nonzero(x))


class Rising(RankOne):
    def spectrum(self, z, k):
        return super().spectrum(z, k)[::-1]


class Doubled(RankOne):
    def spectrum(self, z, k):
        return 2.0 * super().spectrum(z, k)


class Unpaired(RankOne):
    def paired(self, P, s, Q):
        return super().paired(P, s[::-1], Q)


class Spanning(PSDRankOne):
    def spanned(self, L):
        return super().spanned(L[:, :1])


BROKEN = {
    "proximal map": (Shrinking(4), Prox, "proximal map"),
    "gauge": (Halved(4), Gauge, r"gauge\(a\) = 1"),
    "no gauge": (Counting(4), Gauge, r"gauge"),
    "classes": (listed(classes=lambda face: face.group[::-1]), Listing, "classes_of"),
    "blocks": (listed(blocks=[np.array([0]), np.array([1, 2]), np.array([3, 5])]), Listing, r"blocks\[g\]"),
    "too few blocks": (listed(blocks=[np.array([0, 4])]), Listing, "blocks has one for each class"),
    "names": (listed(names=np.array([2, 1, 0])), Listing, "names are sorted"),
    "factor": (listed(factor=2.0), Listing, "factor"),
    "pulled": (listed(pulled=lambda z: 2.0 * z), Listing, r"pulled\(z\)"),
    "forced and barred": (listed(forced=np.array([1]), barred=np.array([1])), Listing, "forced in and left out"),
    "barred": (listed(barred=np.array([1])), Listing, "align with nothing"),
    "rewrapped": (listed(rewrapped=lambda atoms: 3.0 * atoms), Listing, "rewrapped"),
    "rising spectrum": (Rising(3, 4), Spectrum, "largest first"),
    "doubled spectrum": (Doubled(3, 4), Spectrum, "its top is support"),
    "pairs": (Unpaired(3, 4), RankOnePairs, "paired"),
    "span": (Spanning(3), Semidefinite, "holds L L"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_capabilities_are_named(name):
    atoms, capability, told = BROKEN[name]
    for check in (lambda: check_capability(atoms, capability), lambda: check_atoms(atoms)):
        with pytest.raises(AssertionError, match=rf"{capability.__name__}: .*{told}.* does not hold: "):
            check()
