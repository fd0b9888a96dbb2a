"""Operators that break the contract are named."""

import numpy as np
import pytest

from contracts.families import generator
from fewatoms import Identity, Quadratic
from fewatoms.testing import check_operator
from operators.small import Blur
from test_examples import module

own_operator = module("own_operator")


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


def test_a_wrong_adjoint_is_named():
    class Wrong(Blur):
        def adjoint(self, y):
            return 1.001 * super().adjoint(y)

    with pytest.raises(AssertionError, match=r"adjoint identity <Mx, y> = <x, M\*y> does not hold: .* against .*"):
        check_operator(Wrong())


def test_a_map_that_is_not_linear_is_named():
    class Wrong(Blur):
        def apply(self, x):
            return super().apply(x) + 1e-3

    with pytest.raises(AssertionError, match=r"adjoint identity|linearity"):
        check_operator(Wrong())


def test_a_norm_that_is_no_bound_is_named():
    class Wrong(Identity):
        def rank_one_norm(self):
            return 0.5

    with pytest.raises(AssertionError, match=r"rank_one_norm\(\) does not hold"):
        check_operator(Wrong((2, 3)))


def test_a_wrong_restriction_is_named():
    class Wrong(Blur):
        def restrict(self, face):
            return super().restrict(face).scaled(2.0)

    with pytest.raises(AssertionError, match=r"restrict\(Coordinates\).apply"):
        check_operator(Wrong())


def test_an_operator_that_writes_into_its_argument_is_named():
    class Wrong(Blur):
        def apply(self, x):
            image = super().apply(x)
            x *= 0
            return image

    with pytest.raises(AssertionError, match="leaves x as it is"):
        check_operator(Wrong())


def test_a_box_that_is_complex_without_saying_so_is_named():
    A = generator(1).standard_normal((6, 12))

    class Turned(Quadratic):
        def __init__(self):
            super().__init__(A[:, :3] + 1j * A[:, 3:6])
            self.complex = False

    with pytest.raises((AssertionError, TypeError), match="real"):
        check_operator(Turned())
