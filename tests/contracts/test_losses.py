"""Every loss: derivatives, conjugate, domain, perspective, and the exact step built on them."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from contracts.families import generator, losses, losses_of_labels, over
from fewatoms import Huber, LeastSquares, Logistic, Loss, Multinomial
from fewatoms.losses import exact_step
from fewatoms.testing import check_loss

M = 12
every_loss = pytest.mark.parametrize(("name", "loss"), **over(losses(M) | losses_of_labels(M)))


@every_loss
def test_identities(name, loss):
    check_loss(loss, M, rng=0)


@pytest.mark.parametrize("loss", [LeastSquares(), Huber(), Logistic()], ids=repr)
def test_identities_for_a_single_residual(loss):
    check_loss(loss, 1, rng=1)


@every_loss
def test_written_out_term_by_term(name, loss):
    r = 2 * generator().standard_normal(M)
    r[0] = 0.0
    assert loss.value(r) == pytest.approx(_written(loss, r), rel=1e-14)


@every_loss
def test_smoothness_is_attained(name, loss):
    """L is the constant itself, not just a bound: the curvature at 0 of the heaviest entry reaches it, or that along
    the difference of two classes which are equally likely, and the others not at all."""
    r, d = np.zeros((2, M))
    if isinstance(loss, Multinomial):
        heaviest = 0 if loss.weights is None else int(np.argmax(loss.weights))
        r[heaviest + 2], d[heaviest : heaviest + 2] = 800.0, [math.sqrt(0.5), -math.sqrt(0.5)]
        assert d @ loss.bend(r).times(d) == pytest.approx(loss.smoothness, rel=1e-15)
    else:
        assert loss.curvature(r).max() == pytest.approx(loss.smoothness, rel=1e-15)


@every_loss
def test_conjugate_is_the_supremum(name, loss):
    """f*(y) = sup <y, w> - f(w), by brute force over each coordinate of a separable loss, or by a general search."""
    y = loss.gradient(generator(1).standard_normal(M))
    if isinstance(loss, Multinomial):
        found = minimize(lambda w: _written(loss, w) - y @ w, np.zeros(M), tol=1e-12)
        assert loss.conjugate(y) == pytest.approx(-found.fun, rel=1e-6)
        return
    grid = np.linspace(-8, 8, 160_001)
    weights = np.ones(M) if loss.weights is None else loss.weights
    signs = np.ones(M) if loss.labels is None else 2 * loss.labels.codes - 1
    each = zip(y, weights, signs, strict=True)
    total = sum(float((y_i * grid - w * _terms(loss, t * grid)).max()) for y_i, w, t in each)
    assert loss.conjugate(y) == pytest.approx(total, rel=1e-6, abs=1e-6)


def _terms(loss, r):
    """The unweighted terms of a loss, entry by entry."""
    if isinstance(loss, LeastSquares):
        return r**2 / 2
    if isinstance(loss, Huber):
        return np.where(np.abs(r) <= loss.delta, r**2 / 2, loss.delta * np.abs(r) - loss.delta**2 / 2)
    return np.logaddexp(0, r)


def _written(loss, r):
    """A loss, datum by datum."""
    weights = np.ones(M) if loss.weights is None else loss.weights
    if isinstance(loss, Multinomial):
        rows = zip(r.reshape(-1, 3), weights[::3], loss.labels.codes, strict=True)
        return float(sum(w * -math.log(math.exp(-row[label]) / np.exp(-row).sum()) for row, w, label in rows))
    signs = 1.0 if loss.labels is None else 2 * loss.labels.codes - 1
    return float(np.sum(weights * _terms(loss, signs * r)))


@every_loss
def test_outside_the_domain_the_conjugate_is_infinite(name, loss):
    far = np.full(M, 1e3)
    if isinstance(loss, LeastSquares):
        assert loss.clip(far) is far
        assert math.isfinite(loss.conjugate(far))
    else:
        assert loss.conjugate(far) == math.inf
        assert loss.conjugate(-far) == math.inf
        assert np.isfinite(loss.conjugate(loss.clip(far)))


@every_loss
def test_the_border_of_the_domain_belongs_to_it(name, loss):
    r = np.full(M, 800.0)
    for sign in (1.0, -1.0):
        y = loss.gradient(sign * r)
        assert math.isfinite(loss.conjugate(y))
        assert math.isfinite(loss.conjugate(loss.clip(y * (1 + 1e-15))))


@every_loss
def test_large_residuals_overflow_nowhere(name, loss):
    r = np.array([1e8, -1e8] * (M // 2))
    assert math.isfinite(loss.value(r))
    assert np.isfinite(loss.gradient(r)).all()
    assert np.isfinite(loss.curvature(r)).all()


@every_loss
@pytest.mark.parametrize("alpha", [1e-6, 0.3, 50.0])
def test_perspective_infimum_against_a_fine_grid(name, loss, alpha):
    rng = generator(3)
    for y in (loss.gradient(rng.standard_normal(M)), 40 * loss.clip(np.abs(rng.standard_normal(M)))):
        found = loss.support_of_sublevel(y, alpha)
        best = loss.best_beta(y, alpha)
        grid = best * np.geomspace(1e-4, 1e4, 801)
        values = np.array([loss.perspective(y, beta, alpha) for beta in grid])
        assert found <= values.min() + 1e-9 * abs(found)
        near = min(loss.perspective(y, best * t, alpha) for t in np.geomspace(1, 1.001, 11))
        assert near == pytest.approx(found, rel=1e-3, abs=1e-3 * alpha * best)


@every_loss
def test_support_of_the_sublevel_set_is_attained_on_its_border(name, loss):
    """At beta the point r = grad f*(y / beta) has f(r) = alpha (where f* is smooth) and <y, r> is the support."""
    s = 0.3 * generator(4).standard_normal(M)
    alpha = loss.value(s)
    y = 2.5 * loss.gradient(s)  # so that s is the maximiser, and beta = 2.5
    assert loss.support_of_sublevel(y, alpha) == pytest.approx(float(y @ s), rel=1e-9)
    assert loss.best_beta(y, alpha) == pytest.approx(2.5, rel=1e-5)


@every_loss
def test_zero_bound_and_zero_dual(name, loss):
    y, zero = loss.gradient(np.linspace(-1, 1, M)), np.zeros(M)
    assert loss.support_of_sublevel(zero, 1.0) == 0.0
    if loss.labelled:
        assert loss.support_of_sublevel(y, 0.0) == -math.inf  # no r reaches it
    else:
        assert loss.support_of_sublevel(y, 0.0) == 0.0  # only r = 0 does
        assert loss.best_beta(y, 0.0) == math.inf
    assert loss.perspective(zero, 0.0, 1.0) == 0.0
    assert loss.perspective(y, 0.0, 1.0) == math.inf


@every_loss
@pytest.mark.parametrize("longest", [0.05, 2.0, math.inf])
def test_exact_step_against_a_grid(name, loss, longest):
    rng = generator(5)
    for _ in range(3):
        r, d = 3 * rng.standard_normal((2, M))
        if isinstance(loss, Logistic) and loss.labels is None:
            d[0] = -abs(d[0])  # both signs, so that a finite step is best
            d[1] = abs(d[1])
        theta = exact_step(loss, r, d, longest)
        assert 0 <= theta <= longest
        least = min(loss.value(r - t * d) for t in np.linspace(0, min(longest, 20.0), 801))
        assert loss.value(r - theta * d) <= least * (1 + 1e-12)


def test_a_loss_needs_the_abstract_members_and_nothing_else():
    class Cubic(Loss):
        """sum of r^2 / 2 + log cosh r: smooth, with a conjugate found by Newton's method."""

        smoothness = 2.0

        def value(self, r):
            return float(np.sum(r**2 / 2 + np.logaddexp(r, -r) - math.log(2)))

        def gradient(self, r):
            return r + np.tanh(r)

        def curvature(self, r):
            return 2 - np.tanh(r) ** 2

        def _inverse(self, y):
            r = y / 2
            for _ in range(12):
                r = r - (self.gradient(r) - y) / self.curvature(r)
            return r

        def conjugate(self, y):
            r = self._inverse(y)
            return float(y @ r) - self.value(r)

        def clip(self, y):
            return y

        def best_beta(self, y, alpha):
            low, high = 1e-6, 1e6
            for _ in range(80):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if self.value(self._inverse(y / middle)) > alpha else (low, middle)
            return high

    check_loss(Cubic(), 6, tol=1e-7, trials=1)
    assert Cubic().anchored
