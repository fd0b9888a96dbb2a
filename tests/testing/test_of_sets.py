"""The checkers of sets' capabilities fail on members that are broken on purpose, and say which identity it is."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import AtomicSet, Groups, PSDRankOne, RankOne, SignedOneHot
from fewatoms.atoms import Listing
from fewatoms.capabilities import ColumnBlocks, Gauge, Prox, RankOnePairs, Semidefinite, Spectrum
from fewatoms.faces import Coordinates, Explicit
from fewatoms.testing import check_atoms, check_capability
from test_examples import module


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


def test_a_capability_that_is_not_offered_is_named():
    with pytest.raises(AssertionError, match="Spectrum is offered does not hold"):
        check_capability(SignedOneHot(3), Spectrum)
    with pytest.raises(AssertionError, match="ColumnBlocks is a capability of sets does not hold: they are Prox"):
        check_capability(SignedOneHot(3), ColumnBlocks)


# The contract itself: sets of one's own with the four required members


class Bare(AtomicSet):
    """The columns of a matrix, known by a linear oracle alone."""

    def __init__(self, A):
        self.A, self.shape = A, (len(A),)

    @property
    def count(self):
        return self.A.shape[1]

    def support(self, z):
        return max(0.0, float((self.A.T @ z).max()))

    def expose(self, z, k):
        return Explicit.of(self.A.T[[int(np.argmax(self.A.T @ z))]][: min(k, 1)], self.shape)


A = generator(3).standard_normal((4, 9))


def test_four_members_are_a_set():
    check_atoms(Bare(A))


def test_a_support_may_be_a_bound_or_unknown():
    class Bound(Bare):
        def support(self, z):
            return float(np.linalg.norm(self.A, axis=0).max() * np.linalg.norm(z))

    class Unknown(Bare):
        def support(self, z):
            return None

    check_atoms(Bound(A))
    check_atoms(Unknown(A))


class NoBound(Bare):
    def support(self, z):
        return 0.5 * super().support(z)


class Greedy(Bare):
    """More atoms than asked for."""

    def expose(self, z, k):
        return Explicit.of(self.A.T[np.argsort(-self.A.T @ z)[: k + 1]], self.shape) if k else super().expose(z, k)


class Miserly(Bare):
    def expose(self, z, k):
        return super().expose(z, 0)


class Forgetful(Bare):
    """Another atom each time."""

    calls = 0

    def expose(self, z, k):
        self.calls += 1
        return Explicit.of(self.A.T[[self.calls % 9]][: min(k, 1)], self.shape)

    def support(self, z):
        return None


class Writing(Bare):
    def support(self, z):
        found = super().support(z)
        z[0] += 1.0
        return found


class Misshapen(Bare):
    def expose(self, z, k):
        return Explicit.of(self.A[:2].T[[0]][: min(k, 1)], (2,))


class Attaining(Bare):
    """Claims that its bound is attained."""

    attained = True

    def support(self, z):
        return 2.0 * super().support(z)


WRONG = {
    NoBound: r"<a, z> <= support\(z\)",
    Greedy: "at most k atoms",
    Miserly: "one atom at least",
    Forgetful: "the same when asked again",
    Writing: "leaves z as it is",
    Misshapen: "shape",
    Attaining: "attains the support",
}


@pytest.mark.parametrize("kind", WRONG, ids=lambda kind: kind.__name__)
def test_broken_sets_are_named(kind):
    with pytest.raises(AssertionError, match=rf"{WRONG[kind]}.* does not hold: "):
        check_atoms(kind(A))


def test_broken_examples_are_named():
    class Permutations(module("own_set").Permutations):
        def support(self, z):
            return 0.9 * super().support(z)

    class Tensors(module("own_tensors").RankOneTensors):
        def support(self, z):
            return 0.1 * super().support(z)

    class Tree(module("own_finite_set").TreeGroups):
        def face(self, which, z):
            face = super().face(which, z)
            return replace(face, directions=-face.directions)

    with pytest.raises(AssertionError, match=r"<= support\(z\)"):
        check_atoms(Permutations(4))
    with pytest.raises(AssertionError, match=r"<= support\(z\)"):
        check_atoms(Tensors(3, 3, 2))
    with pytest.raises(AssertionError, match="does not hold"):
        check_atoms(Tree([-1, 0, 0, 1]))


def test_a_face_that_does_not_add_up_is_named():
    """Coordinates that occur twice, once overwritten."""

    class Overwriting(Coordinates):
        def point(self, c):
            x = np.zeros(self.shape)
            x[self.indices] = self.signs * c
            return x

    class Wrong(SignedOneHot):
        def expose(self, z, k):
            face = super().expose(z, k)
            return Overwriting(np.zeros_like(face.indices), face.signs, face.shape)

    with pytest.raises(AssertionError, match=r"<point\(c\), z> = <c, adjoint\(z\)> does not hold"):
        check_atoms(Wrong(4))
