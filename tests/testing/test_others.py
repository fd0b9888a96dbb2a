"""Broken variants of the examples' losses, operators and faces are named by their checkers."""

import numpy as np
import pytest

from fewatoms.faces import Explicit
from fewatoms.testing import check_face, check_loss, check_operator
from test_examples import module

own_loss, own_operator = module("own_loss"), module("own_operator")


class Steeper(own_loss.PseudoHuber):
    def gradient(self, r):
        return 1.01 * super().gradient(r)


class Flat(own_loss.PseudoHuber):
    def curvature(self, r):
        return 0.5 * super().curvature(r)


class Narrow(own_loss.PseudoHuber):
    def conjugate(self, y):
        return 0.5 * super().conjugate(y)


class Smooth(own_loss.PseudoHuber):
    smoothness = 0.5


@pytest.mark.parametrize(
    ("kind", "told"),
    [(Steeper, "gradient"), (Flat, "curvature"), (Narrow, "Fenchel-Young"), (Smooth, "curvature|smoothness")],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_broken_losses_are_named(kind, told):
    check_loss(own_loss.PseudoHuber(0.7), 6)
    with pytest.raises(AssertionError, match=rf"({told}).* does not hold: "):
        check_loss(kind(0.7), 6)


def blur(kind):
    return kind(np.array([1.0, 0.5, 0.2]), 16, np.arange(0, 16, 2))


class Mirrored(own_operator.Blur):
    def adjoint(self, y):
        return super().adjoint(y)[::-1]


class Shifted(own_operator.KnownBlur):
    def read(self, indices):
        return super().read(np.asarray(indices) + 1)


class Unweighted(own_operator.KnownBlur):
    def column_lengths(self, weights=None):
        return super().column_lengths()


@pytest.mark.parametrize(
    ("kind", "told"),
    [(Mirrored, "adjoint identity"), (Shifted, "read"), (Unweighted, "column_lengths.* with weights")],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_broken_operators_are_named(kind, told):
    check_operator(blur(own_operator.KnownBlur))
    with pytest.raises(AssertionError, match=rf"{told}.* does not hold: "):
        check_operator(blur(kind))


class Keeping(Explicit):
    """Prunes nothing."""

    def prune(self, c, k, norms=None):
        return self, c


class Losing(Explicit):
    def merge(self, other):
        return self


class Turned(Explicit):
    def adjoint(self, z):
        return -super().adjoint(z)


@pytest.mark.parametrize(
    ("kind", "told"),
    [(Keeping, "at most k atoms"), (Losing, "holds the points of both"), (Turned, "adjoint")],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_broken_faces_are_named(kind, told):
    atoms = np.random.default_rng(0).standard_normal((3, 2, 4))
    check_face(Explicit(atoms))
    with pytest.raises(AssertionError, match=rf"{told}.* does not hold: "):
        check_face(kind(atoms), other=kind(np.random.default_rng(1).standard_normal((2, 2, 4))))
