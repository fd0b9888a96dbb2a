"""Conditional gradients: against a twin that forms x, the rate, and what the walk proves."""

from itertools import islice

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.oracles import ConditionalGradient
from oracles.small import ball, denoising, planted, regression, soft

LOSSES = {"least squares": None, "huber": fa.Huber(0.4), "logistic": fa.Logistic()}


def twin(M, b, tau, steps):
    """The losses, dual vectors and gauges of the method with x in full, for least squares over signed one-hot vectors:
    the line from x to the best corner of the ball, as far as the parabola along it falls."""
    x, gauge = np.zeros(M.shape[1]), 0.0
    for _ in range(steps):
        y = b - M @ x
        yield 0.5 * y @ y, y, gauge
        z = M.T @ y
        corner = np.zeros_like(x)
        corner[np.argmax(np.abs(z))] = tau * np.sign(z[np.argmax(np.abs(z))])
        d = M @ (corner - x)
        theta = min(1.0, max(0.0, float(y @ d) / float(d @ d)))
        x, gauge = x + theta * (corner - x), (1 - theta) * gauge + theta * tau


def test_the_state_without_x_is_that_of_the_method_with_x():
    M, b = planted(1)
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(20), k=3)
    points = islice(ConditionalGradient(2.5, tie=0.0).iterates(problem), 40)
    for point, (loss, y, gauge) in zip(points, twin(M, b, 2.5, 40), strict=True):
        assert point.loss == pytest.approx(loss, rel=1e-11)
        assert point.gauge == pytest.approx(gauge, rel=1e-11, abs=1e-14)
        np.testing.assert_allclose(point.y, y, atol=1e-10)
        np.testing.assert_allclose(point.z, M.T @ point.y, atol=1e-10)
        assert point.support == pytest.approx(np.abs(point.z).max(), rel=1e-14)
        assert point.relaxation == fa.P2(problem, 2.5)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("tie", [0.0, 0.01, 0.3])
def test_the_loss_never_rises_and_the_gauge_stays_within_tau(name, tie):
    for seed in range(2):
        problem, tau = regression(seed, loss=LOSSES[name]), 3.0
        seen = [(p.loss, p.gauge) for p in islice(ConditionalGradient(tau, tie=tie).iterates(problem), 60)]
        losses = np.array([loss for loss, _ in seen])
        assert (np.diff(losses) <= 1e-13 * losses[0]).all()
        assert losses[-1] < losses[0]
        assert max(gauge for _, gauge in seen) <= tau * (1 + 1e-14)


@pytest.mark.parametrize("seed", range(2))
def test_the_excess_falls_as_one_over_t(seed):
    """Its classical bound with exact steps, 2 C / (t + 2), C = L (the diameter of the image of the ball)^2."""
    problem, tau = denoising(seed), 2.0
    least = 0.5 * np.sum((problem.b - ball(problem.b, tau)) ** 2)
    diameter = 2 * tau
    for t, point in enumerate(islice(ConditionalGradient(tau, tie=0.0).iterates(problem), 100)):
        if t:
            assert -1e-12 <= point.loss - least <= 2 * diameter**2 / (t + 2)
    assert point.loss - least <= 0.03 * least


@pytest.mark.parametrize("tie", [0.0, 0.01])
def test_the_lower_bound_is_one_at_every_tau(tie):
    problem = denoising(3)
    walk = ConditionalGradient(tie=tie).start(problem)
    least = {tau: 0.5 * np.sum((problem.b - ball(problem.b, tau)) ** 2) for tau in (0.3, 1.0, 2.0, 5.0)}
    best = -np.inf
    for _ in range(80):
        walk.look()
        for tau, value in least.items():
            assert walk.lower_bound(tau) <= value + 1e-12
        best = max(best, walk.lower_bound(2.0))
        walk.step(2.0)
    assert best >= 0.95 * least[2.0]


def test_atoms_that_tie_are_averaged():
    """Of equal data, the average of all atoms is the answer at once; one atom at a time takes as many steps."""
    problem = fa.Problem.of(np.eye(6), np.ones(6), atoms=fa.SignedOneHot(6), k=6)
    losses = {tie: [p.loss for p in islice(ConditionalGradient(6.0, tie=tie).iterates(problem), 6)] for tie in (0, 0.1)}
    assert losses[0.1][1] == pytest.approx(0.0, abs=1e-28)
    assert losses[0][1] > 1.0


def test_an_average_that_leads_nowhere_gives_way_to_the_best_atom():
    """The tied atoms' average is where the walk stands already: only the best atom alone goes on."""
    b = np.array([1.0, 0.9, 0.0])
    problem = fa.Problem.of(np.eye(3), b, atoms=fa.SignedOneHot(3), k=2)
    tau = 1.5
    least = 0.5 * np.sum((b - ball(b, tau)) ** 2)
    last = list(islice(ConditionalGradient(tau, tie=0.3).iterates(problem), 400))[-1]
    assert last.loss - least <= 1e-4 * least


def test_atoms_that_all_point_away_leave_the_walk_at_zero():
    problem = fa.Problem.of(np.eye(3), -np.ones(3), atoms=fa.NonnegativeOneHot(3), k=1)
    for point in islice(ConditionalGradient(2.0).iterates(problem), 3):
        assert (point.loss, point.gauge, point.support) == (1.5, 0.0, 0.0)


def test_shrinking_scales_the_point_back():
    problem = regression()
    walk = ConditionalGradient().start(problem)
    for _ in range(5):
        walk.look()
        walk.step(4.0)
    image, gauge = walk.image.copy(), walk.gauge
    walk.shrink(gauge + 1.0)
    np.testing.assert_array_equal(walk.image, image)
    walk.shrink(0.25 * gauge)
    np.testing.assert_allclose(walk.image, 0.25 * image, rtol=1e-14)
    assert walk.gauge == 0.25 * gauge


def test_matrices_come_down_to_singular_values():
    """Over rank-one matrices with everything seen: the ball of the singular values."""
    X = np.diag([3.0, 2.0, 1.0])[:, [1, 2, 0]]
    problem = fa.Problem.of(fa.Identity((3, 3)), X, atoms=fa.RankOne(3, 3), k=2)
    least = 0.5 * np.sum((np.array([3.0, 2.0, 1.0]) - soft(np.array([3.0, 2.0, 1.0]), 1.5)) ** 2)  # sizes 1.5 and 0.5
    last = list(islice(ConditionalGradient(2.0).iterates(problem), 120))[-1]
    assert least - 1e-12 <= last.loss <= least * 1.01


@pytest.mark.parametrize("tau", [0, -1, np.nan, np.inf])
def test_tau_must_be_positive(tau):
    with pytest.raises(ValueError, match=r"^tau must be a positive finite number; got "):
        ConditionalGradient(tau)


def test_tau_must_be_given_and_a_number():
    with pytest.raises(ValueError, match=r"^tau must be given to use ConditionalGradient as an oracle of its own; got"):
        next(ConditionalGradient().iterates(regression()))
    with pytest.raises(TypeError, match=r"^tau must be a positive finite number; got 'a'$"):
        ConditionalGradient("a")
    with pytest.raises(ValueError, match=r"^tie must be a nonnegative finite number; got -1$"):
        ConditionalGradient(1.0, tie=-1)
