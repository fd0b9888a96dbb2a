"""The bundle: its model lies below the function, its small problem is solved, its images stay few."""

from itertools import islice

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.oracles import Bundle, ConditionalGradient
from fewatoms.oracles.bundle import project_to_simplex
from oracles.small import ball, denoising, regression

LOSSES = {"least squares": None, "huber": fa.Huber(0.4), "logistic": fa.Logistic()}


def walked(problem, tau, steps, **settings):
    """The state after some steps, looked at."""
    walk = Bundle(**settings).start(problem)
    for _ in range(steps):
        walk.look()
        walk.step(tau)
    walk.look()
    return walk


def test_the_projection_against_bisection_of_its_shift():
    rng = np.random.default_rng(0)
    for _ in range(60):
        c, tau = 2 * rng.standard_normal(rng.integers(1, 8)), 10.0 ** rng.uniform(-2, 1)
        low, high = 0.0, float(np.abs(c).max()) + 1.0
        if np.maximum(c, 0).sum() > tau:
            for _ in range(60):
                shift = 0.5 * (low + high)
                low, high = (shift, high) if np.maximum(c - shift, 0).sum() > tau else (low, shift)
            low = high
        np.testing.assert_allclose(project_to_simplex(c, tau), np.maximum(c - low, 0.0), atol=1e-12)


def test_no_other_point_of_the_simplex_is_nearer():
    rng = np.random.default_rng(1)
    for _ in range(50):
        c = rng.standard_normal(4)
        found = project_to_simplex(c, 1.0)
        assert found.min() >= 0
        assert found.sum() <= 1 + 1e-14
        others = rng.dirichlet(np.ones(5), 200)[:, :4]
        assert np.linalg.norm(c - found) <= np.linalg.norm(c - others, axis=1).min() + 1e-14


@pytest.mark.parametrize("size", [3, 50])
@pytest.mark.parametrize("name", LOSSES)
def test_the_model_is_never_above_the_function(name, size):
    """f*(y) - <b, y> + tau max(0, <image, y>) over the images kept, merged ones too: a lower bound of (D2)'s value."""
    problem, tau = regression(loss=LOSSES[name]), 3.0
    walk = walked(problem, tau, 15, size=size)
    assert walk.weights.size
    relaxation, rng = fa.P2(problem, tau), np.random.default_rng(2)
    for _ in range(50):
        y = problem.loss.gradient(problem.b - 3 * rng.standard_normal(problem.m))
        model = max(0.0, float((walk.images.T @ y).max()))
        value = problem.loss.conjugate(y) - float(problem.b @ y) + tau * model
        assert value <= relaxation.dual(y) + 1e-10 * abs(value)


@pytest.mark.parametrize("name", LOSSES)
def test_the_small_problem_is_solved(name):
    """At the best weights no corner of the simplex promises a descent: the slopes say so."""
    problem, tau = regression(loss=LOSSES[name]), 3.0
    walk = walked(problem, tau, 8)
    slope = -(walk.images.T @ problem.loss.gradient(problem.b - walk.images @ walk.weights))
    excess = float(walk.weights @ slope) - tau * min(0.0, float(slope.min()))
    assert 0 <= excess + 1e-12 <= 1e-5 * problem.at_zero
    assert walk.weights.min() > 0


@pytest.mark.parametrize("size", [2, 4, 50])
@pytest.mark.parametrize("name", LOSSES)
def test_few_images_that_make_the_point(name, size):
    problem, tau = regression(1, loss=LOSSES[name]), 3.0
    walk, before = Bundle(size=size).start(problem), np.inf
    for _ in range(40):
        walk.look()
        assert walk.loss <= before + 1e-9 * problem.at_zero
        assert walk.weights.size <= size - 1  # and one for the next
        np.testing.assert_allclose(walk.image, walk.images @ walk.weights, atol=1e-12)
        assert walk.gauge == pytest.approx(walk.weights.sum())
        assert walk.gauge <= tau * (1 + 1e-12)
        before = walk.loss
        walk.step(tau)
    assert before < 0.7 * problem.at_zero


def test_merging_two_images_leaves_the_point_alone():
    walk = walked(regression(), 3.0, 10)
    image, gauge, count = walk.images @ walk.weights, walk.weights.sum(), walk.weights.size
    least = np.sort(walk.weights)[:2].sum()
    walk._merge_two()
    assert walk.weights.size == count - 1
    np.testing.assert_allclose(walk.images @ walk.weights, image, atol=1e-13)
    assert walk.weights.sum() == pytest.approx(gauge)
    assert np.abs(walk.weights - least).min() <= 1e-14  # it was the least used two


def test_it_finds_the_least_loss_and_sooner_than_single_steps():
    problem, tau = denoising(2), 3.0
    least = 0.5 * np.sum((problem.b - ball(problem.b, tau)) ** 2)
    ends = {
        name: list(islice(oracle.iterates(problem), 25))[-1]
        for name, oracle in (("bundle", Bundle(tau)), ("single", ConditionalGradient(tau, tie=0.0)))
    }
    assert ends["bundle"].loss == pytest.approx(least, rel=1e-7)
    assert ends["single"].loss > least * (1 + 1e-4)
    assert ends["bundle"].relaxation == fa.P2(problem, tau)
    gap = ends["bundle"].loss + fa.P2(problem, tau).dual(ends["bundle"].y)
    assert abs(gap) <= 1e-5 * least


def test_shrinking_scales_the_weights_too():
    walk = walked(regression(), 3.0, 6)
    gauge = walk.gauge
    walk.shrink(0.5 * gauge)
    assert walk.weights.sum() == pytest.approx(0.5 * gauge)
    np.testing.assert_allclose(walk.image, walk.images @ walk.weights, atol=1e-13)


def test_atoms_that_all_point_away_and_columns_of_zeros_leave_it_at_zero():
    away = fa.Problem.of(np.eye(3), -np.ones(3), atoms=fa.NonnegativeOneHot(3), k=1)
    blind = fa.Problem.of(np.zeros((3, 3)), np.ones(3), atoms=fa.SignedOneHot(3), k=1)
    for problem in (away, blind):
        for point in islice(Bundle(2.0).iterates(problem), 3):
            assert (point.loss, point.gauge) == (1.5, 0.0)


@pytest.mark.parametrize("tau", [0, -1, np.nan, np.inf])
def test_tau_must_be_positive(tau):
    with pytest.raises(ValueError, match=r"^tau must be a positive finite number; got "):
        Bundle(tau)


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"^tau must be given to use Bundle as an oracle of its own; got None$"):
        next(Bundle().iterates(regression()))
    with pytest.raises(TypeError, match=r"^tau must be a positive finite number; got 'a'$"):
        Bundle("a")
    with pytest.raises(ValueError, match=r"^size must be an integer of at least 2; got 1$"):
        Bundle(1.0, size=1)
