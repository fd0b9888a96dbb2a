"""Proximal gradients: fixed points are solutions of (P1), momentum never costs, and the ladder is the one promised."""

import math
from itertools import islice

import numpy as np
import pytest
from scipy.optimize import nnls

import fewatoms as fa
from fewatoms.oracles import Continuation, ProximalGradient
from fewatoms.oracles.proximal_gradient import Descent
from oracles.small import lasso, planted, regression, soft
from oracles.test_base import Unknown


def descended(problem, lam, steps):
    descent = Descent(problem)
    for _ in range(steps):
        descent.look()
        descent.step(lam)
    descent.look()
    return descent


def whole(descent):
    face, c = descent.here
    return np.asarray(face.point(c))


def stiff(n=8):
    """Columns of very different lengths that lean on each other: momentum overshoots here."""
    rng = np.random.default_rng(0)
    M = (rng.standard_normal((n, n)) + 2.0) * np.geomspace(0.05, 3.0, n)
    return fa.Problem.of(M, M @ rng.standard_normal(n), atoms=fa.SignedOneHot(n), k=2)


def test_with_the_identity_the_first_step_is_the_answer():
    b = np.array([3.0, -1.0, 0.2, 0.9])
    problem = fa.Problem.of(np.eye(4), b, atoms=fa.SignedOneHot(4), k=2)
    np.testing.assert_allclose(whole(descended(problem, 0.5, 1)), soft(b, 0.5), atol=1e-15)


def test_with_everything_seen_singular_values_are_shrunk():
    X = np.random.default_rng(1).standard_normal((5, 4))
    problem = fa.Problem.of(fa.Identity((5, 4)), X, atoms=fa.RankOne(5, 4), k=2)
    u, s, vt = np.linalg.svd(X, full_matrices=False)
    descent = descended(problem, 0.8, 3)
    np.testing.assert_allclose(whole(descent), (u * soft(s, 0.8)) @ vt, atol=1e-10)
    assert descent.gauge == pytest.approx(soft(s, 0.8).sum())


def test_the_limit_against_coordinate_descent():
    M, b = planted(7)
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(20), k=3)
    for lam in (0.3, 3.0):
        np.testing.assert_allclose(whole(descended(problem, lam, 400)), lasso(M, b, lam), atol=1e-6)


def test_over_the_cone_the_penalty_plays_no_part():
    M, b = np.abs(planted(3, 12, 6)[0]), np.abs(planted(3)[1])
    problem = fa.Problem.of(M, b, atoms=fa.NonnegativeCone(6), k=2)
    streams = [[p.loss for p in islice(ProximalGradient(lam).iterates(problem), 30)] for lam in (0.1, 10.0)]
    assert streams[0] == streams[1]
    assert next(ProximalGradient(5.0).iterates(problem)).relaxation == fa.P1(problem, 0.0)
    np.testing.assert_allclose(whole(descended(problem, 0.0, 600)), nnls(M, b)[0], atol=1e-6)


@pytest.mark.parametrize(
    ("atoms", "loss"),
    [
        (fa.SignedOneHot(20), None),
        (fa.SignedOneHot(20), fa.Huber(0.4)),
        (fa.NonnegativeOneHot(20), fa.Logistic()),
        (fa.Groups(np.arange(20) // 4), None),
        (fa.RankOne(5, 4), None),
        (fa.SignedOneHot(20) + fa.Groups(np.arange(20) // 4), None),
    ],
    ids=["signed", "huber", "logistic", "groups", "rank one", "sum"],
)
def test_a_fixed_point_is_a_solution(atoms, loss):
    """Where steps lead nowhere any more: support(M*y) <= lam, <x, M*y> = lam gauge(x), and the gap is closed."""
    M, b = planted(8)
    problem = fa.Problem.of(M, b, atoms=atoms, loss=loss)
    lam = 0.2 * atoms.support(M.T @ problem.loss.gradient(b))
    descent = descended(problem, lam, 400)
    y = problem.loss.gradient(problem.b - descent.image)
    z = problem.M.adjoint(y)
    assert descent.gauge > 0
    assert problem.atoms.support(z) <= lam * (1 + 1e-4)
    assert float(np.vdot(whole(descent), z)) == pytest.approx(lam * descent.gauge, rel=1e-4)
    relaxation = fa.P1(problem, lam)
    _, dual = relaxation.feasible(y, z, problem.atoms.support(z))
    primal = relaxation.primal_value(descent.loss, descent.gauge)
    assert -1e-12 * primal <= primal + dual <= 1e-4 * primal


def test_the_objective_never_rises_and_the_momentum_restarts():
    problem, lam = stiff(), 0.05
    descent, restarts, before = Descent(problem), 0, problem.at_zero
    for _ in range(300):
        descent.look()
        had, point = descent.beta, descent.here
        descent.step(lam)
        value = descent.loss + lam * descent.gauge
        assert value <= before * (1 + 1e-12)
        if had > 0 and descent.beta == 0:  # overshot: it stays where it was, and goes on from there
            restarts += 1
            assert descent.here is point is descent.before
            assert descent.momentum == 1.0
            assert value == before
        before = value
    assert restarts >= 1


def test_momentum_is_worth_it():
    problem, lam = stiff(), 0.05
    with_momentum = descended(problem, lam, 300)
    plain = Descent(problem)
    for _ in range(300):
        plain.look()
        plain.step(lam)
        plain.momentum, plain.beta = 1.0, 0.0
    assert with_momentum.loss + lam * with_momentum.gauge < plain.loss + lam * plain.gauge


def test_step_lengths_come_from_the_exposed_atom_and_are_found_by_doubling():
    for problem in (stiff(), regression(), regression(loss=fa.Huber(0.4))):
        true = problem.loss.smoothness * np.linalg.norm(problem.M.columns(np.arange(problem.atoms.n)), 2) ** 2
        descent = Descent(problem)
        descent.look()
        assert 0 < descent._first_guess() <= true * (1 + 1e-12)
        for _ in range(50):
            descent.step(0.1)
            assert descent.lipschitz <= 2 * true
            descent.look()


def test_the_dual_vector_is_that_of_the_extrapolated_point():
    problem = regression()
    descent = Descent(problem)
    for _ in range(6):
        descent.look()
        there = descent.image + descent.beta * (descent.image - descent.image_before)
        np.testing.assert_array_equal(descent.y, problem.b - there)
        descent.step(0.5)
        np.testing.assert_allclose(descent.image, problem.M.apply(whole(descent)), atol=1e-12)
        assert descent.loss == pytest.approx(problem.loss.value(problem.b - descent.image))
    assert descent.beta > 0


def test_distances_of_compact_points():
    problem = regression()
    descent = descended(problem, 0.5, 6)
    there = (1 + descent.beta) * whole(descent) - descent.beta * np.asarray(descent.before[0].point(descent.before[1]))
    new = (problem.atoms.expose(np.arange(20.0), 3), np.array([1.0, -2.0, 0.5]))
    exact = np.sum((new[0].point(new[1]) - there) ** 2)
    assert descent._distance(new, descent._terms()) == pytest.approx(exact, rel=1e-12)


def test_the_stream_is_about_the_first_relaxation():
    problem = regression()
    points = list(islice(ProximalGradient(0.7).iterates(problem), 10))
    assert all(p.relaxation == fa.P1(problem, 0.7) for p in points)
    assert (points[0].loss, points[0].gauge) == (problem.at_zero, 0.0)
    assert points[-1].loss + 0.7 * points[-1].gauge < problem.at_zero


# Down the ladder -----------------------------------------------------------------------------------------------------


def test_rungs_are_multiples_of_the_penalty_whose_answer_is_zero():
    M, b = planted(9)
    problem = fa.Problem.of(M, b, atoms=fa.SignedOneHot(20), k=3)
    first, *rungs = islice(Continuation(0.5, steps=2000, floor=0.1, tol=1e-6).iterates(problem), 6)
    start = np.abs(M.T @ b).max()
    assert first.relaxation.lam == pytest.approx(start, rel=1e-14)
    assert (first.loss, first.gauge) == (problem.at_zero, 0.0)
    shares = [p.relaxation.lam / start for p in rungs]
    assert shares == pytest.approx([0.5, 0.25, 0.125, 0.1, 0.1])  # the last one again and again
    for point in rungs:
        lam = point.relaxation.lam
        x = lasso(M, b, lam)
        best = 0.5 * np.sum((b - M @ x) ** 2) + lam * np.abs(x).sum()
        assert best * (1 - 1e-12) <= point.loss + lam * point.gauge <= best * (1 + 2e-6)


def test_few_steps_end_a_rung_too():
    M, b = planted(9)
    counting = fa.Counting(M)
    problem = fa.Problem.of(counting, b, atoms=fa.SignedOneHot(20), k=3)
    list(islice(Continuation(steps=1, tol=0.0).iterates(problem), 4))
    few = counting.products
    list(islice(Continuation(steps=20, tol=0.0).iterates(problem), 4))
    assert few < 25
    assert counting.products - few >= 3 * 20


def test_with_a_bound_the_ladder_certifies_the_third():
    problem = regression(misfit=0.2)
    assert all(p.relaxation == fa.P3(problem) for p in islice(Continuation().iterates(problem), 4))
    cone = fa.Problem.of(np.eye(3), np.ones(3), atoms=fa.NonnegativeCone(3), k=1, misfit=0.1)
    assert all(p.relaxation == fa.P1(cone, 0.0) for p in islice(Continuation().iterates(cone), 3))


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", [ProximalGradient(), Continuation()], ids=["gradient", "continuation"])
def test_a_set_without_a_proximal_map_is_refused(oracle):
    problem = fa.Problem.of(np.eye(4), np.ones(4), atoms=Unknown(np.eye(4)), k=1)
    with pytest.raises(ValueError, match=r"needs a proximal map; Unknown\(\) has none: use LevelSet, Conditional"):
        next(oracle.iterates(problem))


@pytest.mark.parametrize(("unit", "word"), [(1e180, "large"), (1e-180, "small")])
def test_units_beyond_squares_are_refused(unit, word):
    problem = fa.Problem.of(unit * np.eye(3), np.ones(3), atoms=fa.SignedOneHot(3), k=1)
    with pytest.raises(ValueError, match=rf"^M must be in units in which .* too {word} here: rescale it$"):
        list(islice(ProximalGradient().iterates(problem), 2))


@pytest.mark.parametrize("lam", [0, -1, math.nan])
def test_lam_must_be_positive(lam):
    with pytest.raises(ValueError, match=r"^lam must be a positive finite number; got "):
        ProximalGradient(lam)


def test_settings_are_checked():
    with pytest.raises(TypeError, match=r"^lam must be a positive finite number; got None$"):
        ProximalGradient(None)
    with pytest.raises(ValueError, match=r"^shrink must lie between 0 and 1; got 1.5$"):
        Continuation(1.5)
    with pytest.raises(TypeError, match=r"^shrink must be a .*number; got 'a'$"):
        Continuation("a")
    with pytest.raises(ValueError, match=r"^steps must be an integer of at least 1; got 0$"):
        Continuation(steps=0)
    with pytest.raises(ValueError, match=r"^floor must be a positive finite number; got 0$"):
        Continuation(floor=0)
