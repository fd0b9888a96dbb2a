"""Losses that break the contract are named."""

import pytest

from fewatoms import Huber, LeastSquares, Logistic
from fewatoms.testing import check_loss
from test_examples import module

own_loss = module("own_loss")


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


def test_a_wrong_gradient_is_named():
    class Wrong(LeastSquares):
        def gradient(self, r):
            return 1.01 * r

    with pytest.raises(AssertionError, match=r"gradient: .* does not hold: .* against .* allowed"):
        check_loss(Wrong(), 5)


def test_a_wrong_conjugate_is_named():
    class Wrong(LeastSquares):
        def conjugate(self, y):
            return 0.5 * super().conjugate(y)

    with pytest.raises(AssertionError, match="Fenchel-Young"):
        check_loss(Wrong(), 5)


def test_a_wrong_smoothness_is_named():
    class Wrong(Logistic):
        smoothness = 0.2

    with pytest.raises(AssertionError, match="smoothness"):
        check_loss(Wrong(), 5)


def test_a_wrong_domain_is_named():
    class Wrong(Huber):
        def clip(self, y):
            return y

    with pytest.raises(AssertionError, match="dom f"):
        check_loss(Wrong(), 5)


def test_a_wrong_beta_is_named():
    class Wrong(Logistic):
        def best_beta(self, y, alpha):
            return 1.5 * super().best_beta(y, alpha)

    with pytest.raises(AssertionError, match="perspective"):
        check_loss(Wrong(), 5)
