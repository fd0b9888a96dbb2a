"""Bounds on beta* and tau* of (P3) from inexact subproblems.

beta* is the reciprocal of what the paper's Appendix prints: 1/beta* = support(M* grad f(b - Mx*)), and (P3) is (P1) at
lambda = 1/beta*. The Appendix' own bounds assume subproblems solved exactly; the safe ones do not.
"""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.evidence import LevelBounds
from fewatoms.oracles import Bisection, Bundle, ConditionalGradient, LevelSet, Newton
from theory.evidence import dual_point, mixture, near, some_atom
from theory.pairs import LOSSES, PLANS, gentle, plant

INEXACT = ("least squares", "huber", "weighted least squares", "weighted huber", "logistic")


@pytest.mark.parametrize("kind", PLANS)
def test_the_third_problem_is_the_first_at_the_reciprocal_of_beta(kind):
    rng = np.random.default_rng([1, *map(ord, kind)])
    for trial in range(10):
        pair = plant(rng, kind, LOSSES[trial % len(LOSSES)])
        problem = pair.problem()
        z = problem.M.adjoint(pair.y)
        sigma = problem.atoms.support(z)
        assert 1 / pair.beta == pytest.approx(sigma, rel=1e-10)
        p1, p3 = fa.P1(problem, sigma), fa.P3(problem)
        terms = np.abs(pair.b) @ np.abs(pair.y)
        _, dual = p1.feasible(pair.y, z, sigma)
        assert p1.primal_value(pair.alpha, pair.tau) + dual == pytest.approx(0.0, abs=1e-10 * (terms + pair.alpha))
        _, dual = p3.feasible(pair.y, z, sigma)
        assert pair.tau + dual == pytest.approx(0.0, abs=1e-10 * terms / sigma)
        # and beta* is the best beta for y* / sigma, not sigma
        assert pair.loss.best_beta(pair.y / sigma, pair.alpha) == pytest.approx(1 / sigma, rel=1e-6)


@pytest.mark.parametrize("loss", INEXACT)
def test_inexact_points_bracket_beta_and_bound_tau(loss):
    rng = np.random.default_rng([2, *map(ord, loss)])
    kinds = tuple(PLANS)
    brackets, tight = 0, 0
    for trial in range(160):
        pair = plant(rng, kinds[trial % len(kinds)], loss)
        problem = pair.problem()
        bounds, relaxation = LevelBounds(problem), fa.P3(problem)
        for _ in range(4):
            stretch, size = 1 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-4, 0), 10.0 ** rng.uniform(-7, 0)
            value, gauge, residual = mixture(pair, rng, stretch, size * abs(stretch - 1))
            y = pair.loss.gradient(residual) if rng.random() < 0.5 else near(pair, rng, size)
            bounds.see_dual(dual_point(problem, relaxation, y, value, gauge))
            low, high = bounds.beta
            assert low <= pair.beta <= high
            assert 0 <= bounds.tau_low <= pair.tau
        brackets += low > 0 and np.isfinite(high)
        tight += low > 0.9 * pair.beta and high < 1.1 * pair.beta
    assert brackets >= 60
    assert tight >= 1


@pytest.mark.parametrize("loss", INEXACT)
def test_bounds_hold_where_their_quotients_are_rounding(loss):
    # Points so near the root that losses and dual bounds differ from alpha in their last digits only.
    rng = np.random.default_rng([8, *map(ord, loss)])
    kinds = tuple(PLANS)
    for trial in range(120):
        pair = plant(rng, kinds[trial % len(kinds)], loss)
        problem = pair.problem()
        bounds, relaxation = LevelBounds(problem), fa.P3(problem)
        for side in (-1, 1):
            value, gauge, residual = mixture(pair, rng, 1 + side * 10.0 ** rng.uniform(-13, -7), 0.0)
            y = pair.y if rng.random() < 0.5 else pair.loss.gradient(residual)
            bounds.see_dual(dual_point(problem, relaxation, y, value, gauge))
            low, high = bounds.beta
            assert low <= pair.beta <= high
            assert bounds.tau_low <= pair.tau


def test_the_appendix_bounds_fail_on_inexact_subproblems():
    # It puts support(M* grad f(b - Mx_i)), at tau_1 <= tau* <= tau_2, around 1/beta*: not so if the x_i are off.
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(100):
        pair = plant(rng, "signed", noise=1.0)
        for side in (-1, 1):
            tau = pair.tau * (1 + side * 0.05)
            x = tau / pair.tau * 0.9 * pair.x + 0.1 * tau * some_atom(pair, rng)  # gauge tau at most, far from optimal
            value = np.abs(pair.M.T @ pair.loss.gradient(pair.b - pair.M @ x)).max()
            wrong += value < pair.lam if side < 0 else value > pair.lam
    assert wrong > 10


@pytest.mark.parametrize(
    "oracle",
    [
        LevelSet(Bisection(), ConditionalGradient()),
        LevelSet(Bisection(), Bundle()),
        LevelSet(Newton(), Bundle()),
        LevelSet(Newton(), ConditionalGradient(tie=0.0)),
    ],
    ids=["bisection", "bisection with bundle", "newton with bundle", "newton"],
)
@pytest.mark.parametrize("loss", ["least squares", "huber"])
def test_bounds_tighten_along_the_level_set_method(loss, oracle):
    rng = np.random.default_rng(4)
    for _ in range(4):
        pair = gentle(rng, "signed", loss)
        problem = pair.problem()
        bounds = LevelBounds(problem)
        history = []
        for t, dual in enumerate(oracle.iterates(problem)):
            bounds.see_dual(dual)
            history.append((*bounds.beta, bounds.tau_low))
            if t == 150:
                break
        low, high, tau = np.array(history).T
        assert np.all(np.diff(low) >= 0)
        assert np.all(np.diff(high[np.isfinite(high)]) <= 0)
        assert np.all(np.diff(tau) >= 0)
        assert np.all(low <= pair.beta)
        assert np.all(high >= pair.beta)
        assert np.all(tau <= pair.tau)
        fast = isinstance(oracle.inner, Bundle)  # conditional gradients need thousands of steps to get there
        assert tau[-1] > (0.99999 if fast else 0.85) * pair.tau
        assert low[-1] > (0.97 if fast else 0.08) * pair.beta
        assert low[-1] > 1.5 * low[0]
        if isinstance(oracle.root, Newton):
            assert np.isinf(high).all()  # never a point right of the root
        else:
            assert high[-1] < (1.03 if fast else 100.0) * pair.beta
            assert high[-1] < high[np.isfinite(high)][0]


def test_the_sharpest_points_are_kept_when_many_come():
    # Hundreds of points right of the root, the sharp ones among them near it: forgetting those would widen the bounds.
    rng = np.random.default_rng(5)
    pair = plant(rng, "signed", noise=1.0, delta=0.3)
    problem = pair.problem()
    bounds, relaxation = LevelBounds(problem), fa.P3(problem)
    value, gauge, _ = mixture(pair, rng, 0.99, 0.0)
    bounds.see_dual(dual_point(problem, relaxation, pair.y, value, gauge))
    high = np.inf
    for t in np.geomspace(1e-5, 0.05, 400):
        value, gauge, _ = mixture(pair, rng, 1 + t, 0.0)
        bounds.see_point(value, gauge)
        assert pair.beta <= bounds.beta[1] <= high
        high = bounds.beta[1]
    assert high < 1.01 * pair.beta


def test_without_a_bound_or_a_root_nothing_is_claimed():
    rng = np.random.default_rng(6)
    pair = plant(rng, "signed", noise=1.0)
    free = fa.Problem.of(pair.M, pair.b, atoms=pair.atoms)
    bounds = LevelBounds(free)
    bounds.see_dual(dual_point(free, fa.P1(free, 1.0), pair.y, pair.alpha, pair.tau))
    assert bounds.beta == (0.0, np.inf)
    assert bounds.tau_low == 0.0
    loose = fa.Problem.of(pair.M, pair.b, atoms=pair.atoms, alpha=2 * free.at_zero)  # x = 0 meets it
    bounds = LevelBounds(loose)
    bounds.see_dual(dual_point(loose, fa.P3(loose), pair.y, pair.alpha, pair.tau))
    assert bounds.tau_low == 0.0
    assert bounds.beta[0] == 0.0


def test_a_bound_below_the_least_loss_sends_tau_to_infinity():
    rng = np.random.default_rng(7)
    M = rng.standard_normal((8, 3))
    b = rng.standard_normal(8)
    least = 0.5 * np.linalg.norm(b - M @ np.linalg.lstsq(M, b)[0]) ** 2
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(3), alpha=0.5 * least)
    bounds, relaxation = LevelBounds(problem), fa.P3(problem)
    r = b - M @ np.linalg.lstsq(M, b)[0]
    towers = []
    for t in (1e-1, 1e-3, 1e-5):
        bounds.see_dual(dual_point(problem, relaxation, r + t * b))
        towers.append(bounds.tau_low)
    assert towers[0] < towers[1] < towers[2]
    assert towers[2] > 1e3 * towers[0]
