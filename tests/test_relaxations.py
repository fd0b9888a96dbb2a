"""(P1), (P2), (P3) and their duals: closed forms where M is the identity, weak duality on random pairs elsewhere."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import fewatoms as fa
from fewatoms import P1, P2, P3
from oracles.small import ball, least_size, soft
from oracles.test_base import Unknown

B = np.array([3.0, -2.0, 0.5, 0.1])
PLAIN = fa.Problem.of(np.eye(4), B, atoms=fa.SignedOneHot(4), k=2, alpha=0.5)


def half(r):
    return 0.5 * float(r @ r)


# Closed forms --------------------------------------------------------------------------------------------------------


def test_the_three_primal_values_by_hand():
    x = np.array([2.0, -1.0, 0.0, 0.0])
    loss, gauge = half(B - x), 3.0
    assert P1(PLAIN, 0.7).primal(x) == pytest.approx(loss + 0.7 * gauge)
    assert P2(PLAIN, 3.0).primal(x) == pytest.approx(loss)
    assert P2(PLAIN, 2.9).primal(x) == math.inf
    assert P3(PLAIN.bounded(loss)).primal(x) == gauge
    assert P3(PLAIN.bounded(0.99 * loss)).primal(x) == math.inf


def test_the_three_dual_values_by_hand():
    y = np.array([0.5, -0.4, 0.1, 0.0])
    plain, sigma = half(y) - B @ y, 0.5
    assert P1(PLAIN, 0.5).dual(y) == pytest.approx(plain)
    assert P1(PLAIN, 0.49).dual(y) == math.inf
    assert P2(PLAIN, 3.0).dual(y) == pytest.approx(plain + 3.0 * sigma)
    assert P3(PLAIN).dual(y) == pytest.approx(math.sqrt(2 * 0.5) * np.linalg.norm(y) - B @ y)
    assert P3(PLAIN).dual(3 * y) == math.inf


def test_the_gap_closes_at_the_closed_form_and_nowhere_else():
    level = 0.8
    x = soft(B, level)
    tau, alpha = np.abs(x).sum(), half(B - x)
    y = B - x
    pairs = [(P1(PLAIN, level), y), (P2(PLAIN, tau), y), (P3(PLAIN.bounded(alpha)), y / level)]
    assert tau == pytest.approx(least_size(B, alpha))
    np.testing.assert_allclose(x, ball(B, tau), atol=1e-12)
    for relaxation, dual in pairs:
        assert relaxation.gap(x, dual) == pytest.approx(0.0, abs=1e-12)
        assert relaxation.gap(x, 0.9 * dual) > 1e-3


@pytest.mark.parametrize("loss", [None, fa.Huber(0.6), fa.Logistic()], ids=["squares", "huber", "logistic"])
@pytest.mark.parametrize(
    "atoms",
    [fa.SignedOneHot(6), fa.NonnegativeOneHot(6), fa.Groups([0, 0, 1, 1, 2, 2]), fa.RankOne(3, 2)],
    ids=["signed", "nonnegative", "groups", "rank one"],
)
def test_no_feasible_pair_has_a_negative_gap(atoms, loss):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((8, 6))
    problem = fa.Problem.of(M, rng.standard_normal(8), atoms=atoms, k=1, loss=loss)
    seen = 0
    for _ in range(25):
        x = rng.uniform(0, 1, 6) * (1 if atoms.centrosymmetric is False else rng.choice([-1, 1], 6))
        gauge, value = problem.atoms.gauge(x.reshape(atoms.shape)), problem.loss.value(problem.b - M @ x)
        y = problem.loss.gradient(3 * rng.standard_normal(8))
        z = problem.M.adjoint(y)
        sigma = problem.atoms.support(z)
        assert math.isfinite(gauge)
        for relaxation in (
            P1(problem, rng.uniform(0.1, 2)),
            P2(problem, 1.1 * gauge),
            P3(problem.bounded(1.1 * value)),
        ):
            made, dual = relaxation.feasible(y, z, sigma)
            assert dual == pytest.approx(relaxation.dual(made), rel=1e-9, abs=1e-12)
            if math.isfinite(dual):
                seen += 1
                assert relaxation.primal(x) + dual >= -1e-10 * (1 + abs(dual))
                assert relaxation.gap(x, made) >= -1e-10 * (1 + abs(dual))
    assert seen >= 60


def test_the_third_dual_is_the_best_over_beta():
    rng = np.random.default_rng(1)
    for loss in (None, fa.Huber(0.6)):
        relaxation = P3(fa.Problem.of(np.eye(4), B, atoms=fa.SignedOneHot(4), loss=loss, alpha=0.5))
        for _ in range(5):
            y = rng.uniform(-1, 1, 4)
            best = minimize_scalar(lambda t, y=y, r=relaxation: min(r.dual_at(y, math.exp(t)), 1e9), (-1, 3)).fun
            assert relaxation.dual(y) <= best + 1e-9
            assert relaxation.dual(y) == pytest.approx(best, rel=1e-3)


# What counts as feasible ---------------------------------------------------------------------------------------------


def test_constraints_are_met_up_to_rounding():
    y = np.array([0.5, 0.0, 0.0, 0.0])
    assert math.isfinite(P1(PLAIN, 0.5 * (1 - 1e-11)).dual(y))
    assert P1(PLAIN, 0.5 * (1 - 1e-9)).dual(y) == math.inf
    relaxation = P2(PLAIN, 2.0)
    assert relaxation.primal_value(1.0, 2.0 * (1 + 1e-9)) == math.inf
    # a gauge above tau by rounding: the value of the point scaled back, or more
    x = np.array([2.0 * (1 + 1e-11), 0.0, 0.0, 0.0])
    given = relaxation.primal_value(half(B - x), np.abs(x).sum())
    assert half(B - x * (2.0 / np.abs(x).sum())) <= given < half(B - x) * (1 + 1e-9)


def test_dual_vectors_are_scaled_into_the_constraint():
    y = np.array([2.0, 1.0, 0.0, 0.0])
    made, value = P1(PLAIN, 0.5).feasible(y, y, 2.0)
    np.testing.assert_allclose(made, 0.25 * y)
    assert value == pytest.approx(half(made) - B @ made)
    made, _ = P1(PLAIN, 5.0).feasible(y, y, 2.0)
    np.testing.assert_array_equal(made, y)  # it was feasible
    made, _ = P2(PLAIN, 0.5).feasible(y, y, 2.0)
    np.testing.assert_array_equal(made, y)  # everything is
    for size in (0.1, 1.0, 30.0):  # of (P3) all of the room is used
        made, value = P3(PLAIN).feasible(size * y, size * y, size * 2.0)
        np.testing.assert_allclose(made, 0.5 * y)
    assert value == pytest.approx(P3(PLAIN).dual(0.5 * y))


def test_without_a_support_there_is_no_gap():
    problem = fa.Problem.of(np.eye(4), B, atoms=Unknown(np.eye(4)), k=1)
    y, value = P1(problem, 1.0).feasible(B, B, math.inf)
    assert y is B
    assert value == math.inf
    with pytest.raises(TypeError, match=r"^the gauge of Unknown\(\) is not known at .*: there is no p\(x\)$"):
        P1(problem, 1.0).primal(B)


def test_over_the_cone_vectors_are_shifted_along_ones():
    rng = np.random.default_rng(2)
    M = rng.random((6, 3))
    problem = fa.Problem.of(M, M @ [1.0, 0.0, 2.0] - 0.1, atoms=fa.NonnegativeCone(3), k=1)
    for _ in range(10):
        y = rng.standard_normal(6)
        z = M.T @ y
        made, value = P1(problem, 0.0).feasible(y, z, problem.atoms.ceiling(z))
        assert (M.T @ made).max() <= 1e-10
        assert np.ptp(y - made) <= 1e-10  # by one number
        assert value >= -problem.at_zero  # the loss of x = 0 is no less than the optimum
    blind = fa.Problem.of(np.diag([1.0, -1.0]), np.ones(2), atoms=fa.NonnegativeCone(2), k=1)
    assert P1(blind, 0.0).feasible(np.ones(2), np.array([1.0, -1.0]), math.inf)[1] == math.inf  # M*1 is not positive


def test_the_share_of_a_vector_that_lies_in_the_domain():
    for loss, y, share in (
        (fa.Huber(0.6), np.array([3.0, -1.0, 0.0, 0.0]), 0.2),
        (fa.Logistic(), np.array([4.0, 0.1, 0.0, 0.0]), 0.25),
        (fa.Logistic(), np.array([1.0, -0.1, 0.0, 0.0]), 0.0),
        (fa.Huber(0.6), np.array([0.6, 0.1, 0.0, 0.0]), 1.0),
        (fa.LeastSquares(), 1e6 * np.ones(4), 1.0),
    ):
        relaxation = P1(fa.Problem.of(np.eye(4), B, atoms=fa.SignedOneHot(4), loss=loss), 1.0)
        found = relaxation.share_in_domain(y)
        assert found == pytest.approx(share, rel=1e-9, abs=1e-10)
        assert math.isfinite(loss.conjugate(found * y))


def test_the_radius_holds_the_dual_solution():
    """|y - y*| <= sqrt(2 L gap) for (P1) and (P2), whose dual solution is known here."""
    rng = np.random.default_rng(3)
    x = soft(B, 0.8)
    star = B - x
    for relaxation in (P1(PLAIN, 0.8), P2(PLAIN, float(np.abs(x).sum()))):
        primal = relaxation.primal(x)
        for _ in range(20):
            z = star + 0.3 * rng.standard_normal(4)  # M is the identity
            y, value = relaxation.feasible(z, z, float(np.abs(z).max()))
            radius = relaxation.radius(y, value, lambda dual, p=primal: p + dual, None)
            assert np.linalg.norm(y - star) <= radius * (1 + 1e-9)
        assert relaxation.radius(y, value, lambda dual: math.inf, None) is None


# Values --------------------------------------------------------------------------------------------------------------


def test_relaxations_of_one_problem_and_parameter_are_equal():
    other = fa.Problem.of(np.eye(4), B, atoms=fa.SignedOneHot(4), k=2, alpha=0.5)
    assert P1(PLAIN, 1.0) == P1(PLAIN, 1)
    assert hash(P1(PLAIN, 1.0)) == hash(P1(PLAIN, 1))
    assert len({P1(PLAIN, 1.0), P2(PLAIN, 1.0), P1(PLAIN, 2.0), P1(other, 1.0), P1(PLAIN, 1.0)}) == 4
    assert P1(PLAIN, 1.0) != "P1"
    assert [r.parameter for r in (P1(PLAIN, 1), P2(PLAIN, 2), P3(PLAIN))] == [1.0, 2.0, 0.5]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: P1(B, 1.0), TypeError, r"^problem must be a fewatoms\.Problem; got ndarray$"),
        (lambda: P1(PLAIN, -1), ValueError, r"^lam must be a nonnegative finite number; got -1$"),
        (lambda: P2(PLAIN, "a"), TypeError, r"^tau must be a nonnegative finite number; got 'a'$"),
        (
            lambda: P3(PLAIN.bounded()),
            ValueError,
            r"^problem must have a bound, .*, for \(P3\); it has none$",
        ),
        (lambda: P1(PLAIN, 1.0).dual([1.0]), ValueError, r"^y must have 4 entries; got shape \(1,\)$"),
        (lambda: P1(PLAIN, 1.0).primal(np.ones(5)), ValueError, r"^x must have shape \(4,\); got \(5,\)$"),
    ],
)
def test_messages(make, kind, message):
    with pytest.raises(kind, match=message):
        make()
