"""Sets that break the contract are named; four members are a set."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import AtomicSet, General, NonnegativeOneHot, SignedOneHot, fit
from fewatoms.faces import Coordinates, Explicit
from fewatoms.testing import check_atoms
from test_examples import module


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


def test_a_wrong_support_is_named():
    class Wrong(SignedOneHot):
        def support(self, z):
            return 0.9 * super().support(z)

    with pytest.raises(AssertionError, match=r"does not hold: .* allowed"):
        check_atoms(Wrong(4))


def test_a_wrong_gauge_is_named():
    class Wrong(SignedOneHot):
        def gauge(self, x):
            return 0.5 * super().gauge(x)

    with pytest.raises(AssertionError, match=r"gauge\(a\) = 1 does not hold: 0\.5 against 1"):
        check_atoms(Wrong(4))


def test_a_wrong_proximal_map_is_named():
    class Wrong(SignedOneHot):
        def shrink(self, points, z, step):
            return super().shrink(points, z, 1.1 * step)

    with pytest.raises(AssertionError, match="proximal map"):
        check_atoms(Wrong(4))


def test_missing_exposed_atoms_are_named():
    class Wrong(NonnegativeOneHot):
        def exposed(self, z, eps, limit=None):
            return super().exposed(z, eps, 1)

    with pytest.raises(AssertionError, match="holds all eps-exposed atoms"):
        check_atoms(Wrong(6))


class Listed(Bare):
    """Its atoms come as a list."""

    def expose(self, z, k):
        return [np.ones(self.shape)]


def test_atoms_in_a_list_are_no_face():
    with pytest.raises(AssertionError, match=r"expose returns a Face .* list"):
        check_atoms(Listed(A))
    for method in (None, General()):
        with pytest.raises(TypeError, match=r"atoms.expose must return a Face .* got list"):
            fit(np.eye(4), np.ones(4), atoms=Listed(A), k=1, **({} if method is None else {"method": method}))


class TwiceTooLarge(Bare):
    """A bound of the support, or a mistake."""

    def support(self, z):
        return 2.0 * super().support(z)


def test_a_support_that_nothing_attains_is_warned_of():
    with pytest.warns(UserWarning, match=r"exposed atoms reach 0.5 of the support, in every trial.*attained = True"):
        check_atoms(TwiceTooLarge(A))
    said = TwiceTooLarge(A)
    said.attained = True
    with pytest.raises(AssertionError, match="attains the support"):
        check_atoms(said)
