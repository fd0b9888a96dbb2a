"""p* = -d* for (P1, D1), (P2, D2), (P3, D3): every kind of set under every loss, against a general convex solver."""

import math

import numpy as np
import pytest

import fewatoms as fa
from theory.models import MODELS, Solved, solved
from theory.pairs import LOSSES, make_loss

# Sets whose own gauge is computed in no time; for the others the gauge of the solved parts stands in.
EXACT = ("signed", "nonnegative", "groups", "rank one", "psd", "scaled", "dictionary", "one-sided dictionary", "sum")


def pairs_of(s: Solved):
    """Each relaxation with the solver's x, its gauge, and the dual vector grad f(b - Mx)."""
    for relaxation, x, gauge, _ in s.answers:
        residual = s.problem.b - s.problem.M.apply(x)
        yield relaxation, x, gauge, s.problem.loss.value(residual), s.problem.loss.gradient(residual)


def feasible(relaxation, y):
    problem = relaxation.problem
    z = problem.M.adjoint(y)
    return relaxation.feasible(y, z, problem.atoms.support(z))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", MODELS)
def test_the_gap_closes_at_the_solvers_solution(name, loss):
    for relaxation, x, gauge, value, y in pairs_of(solved(name, loss)):
        if name == "cone" and relaxation.name == "P3":
            continue  # its gauge is 0 wherever it is finite: a test of its own
        y, dual = feasible(relaxation, y)
        primal = relaxation.primal_value(value, gauge)
        assert -1e-9 * abs(primal) <= primal + dual <= 5e-6 * abs(primal)
        if name == "cone":  # feasible means no positive entry at all: after the shift, none beyond rounding
            assert relaxation.problem.M.adjoint(y).max() <= 1e-14 * np.abs(y).sum()
        else:
            assert relaxation.dual(y) == pytest.approx(dual, rel=1e-9)
        if name in EXACT:
            assert relaxation.primal(x) == pytest.approx(primal, rel=5e-6)
            assert -1e-7 * abs(primal) <= relaxation.gap(x, y) <= 5e-6 * abs(primal)


@pytest.mark.parametrize("name", ["matrix sum", "union", "mapped", "vector union"])
def test_the_gauge_of_sums_and_images_is_the_least_over_their_parts(name):
    relaxation, x, gauge, _ = solved(name, "weighted least squares").answers[0]
    flat = relaxation.problem.atoms
    if name == "union":  # cutting planes for 3 x 3 matrices take their time: one of 2 x 2 will do
        flat, (x, gauge) = fa.RankOne(2, 2) | 1.5 * fa.SignedOneHot((2, 2)), least_union()
    assert flat.gauge(x) == pytest.approx(gauge, rel=1e-6)


def least_union():
    """A point of known gauge: one z exposes all its atoms, so no other decomposition is cheaper."""
    z = np.array([[2 / 3, math.sqrt(0.8 / 3)], [math.sqrt(0.8 / 3), 0.2]])  # eigenvalues 1 and -2/15; 1.5 z_11 = 1
    v = np.linalg.eigh(z)[1][:, 1]
    return 2.0 * np.outer(v, v) + np.diag([1.5, 0.0]), 2.0 + 1.0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", MODELS)
def test_no_feasible_pair_has_a_negative_gap(name, loss):
    s = solved(name, loss)
    rng = np.random.default_rng(7)
    problem, seen = s.problem, {"P1": 0, "P2": 0, "P3": 0}
    for relaxation, x, gauge, _ in s.answers:
        for _ in range(25):
            face = problem.atoms.exposed(rng.standard_normal(problem.atoms.shape), 0.0, 1)
            atom = np.asarray(face.point(face.mean_atom())).ravel()
            size, stretch = 10.0 ** rng.uniform(-6, 0.3), rng.uniform(0, 1.2)
            if relaxation.name == "P2":
                size, stretch = size * 0.4, 0.3 * stretch
            if relaxation.name == "P3":
                size, stretch = 0.01 * size, 1 + stretch
            grown = stretch * gauge + size * face.gauge(face.mean_atom()) * gauge
            residual = problem.b - problem.M.apply(stretch * x + size * gauge * atom)
            primal = relaxation.primal_value(problem.loss.value(residual), grown)
            start = residual if rng.random() < 0.5 else problem.b + 3 * rng.standard_normal(problem.m)
            _, dual = feasible(relaxation, problem.loss.gradient(start))
            if math.isfinite(primal + dual):
                seen[relaxation.name] += 1
                assert primal + dual >= -1e-10 * (abs(primal) + abs(dual))
    assert seen["P1"] + seen["P2"] >= 10
    assert seen["P3"] >= 3 or name == "cone"


def test_over_the_cone_the_third_pair_is_zero_and_zero():
    for loss in LOSSES:
        s = solved("cone", loss)
        relaxation, x, *_ = s.answers[2]
        assert relaxation.gap(x, np.zeros(s.problem.m)) == 0.0
        for seed in range(20):
            y = s.problem.loss.gradient(np.random.default_rng(seed).standard_normal(s.problem.m))
            assert feasible(relaxation, y)[1] >= -1e-10


def test_over_the_cone_a_dual_vector_at_the_border_of_the_domain_is_shrunk_into_it():
    # Negative outliers put y at -delta; the shift that makes M*y <= 0 would push it out.
    rng = np.random.default_rng(0)
    M = rng.random((12, 5))
    b = M @ np.array([1.0, 0.5, 0, 0, 0]) + 0.01 * rng.standard_normal(12)
    b[:3] -= 5.0
    problem = fa.Problem.of(M, b, atoms=fa.NonnegativeCone(5), loss=fa.Huber(0.1))
    relaxation = fa.P1(problem, 0.0)
    y, dual = feasible(relaxation, problem.loss.gradient(b - M @ np.array([1.0, 0.4, 0, 0, 0])))
    assert math.isfinite(dual)
    assert (M.T @ y).max() <= 0
    assert np.abs(y).max() <= 0.1
    assert dual >= -problem.at_zero


@pytest.mark.parametrize(
    "atoms", [fa.NonnegativeOneHot(4), fa.PSDRankOne(2), fa.Dictionary(np.eye(4), symmetric=False)], ids=repr
)
def test_with_the_plain_supremum_the_second_dual_is_wrong(atoms):
    # All atoms point away from b: x = 0 is optimal, and the plain sup of <a, M*b> is negative.
    b = -np.eye(2).ravel() if isinstance(atoms, fa.PSDRankOne) else -np.ones(4)
    problem = fa.Problem.of(np.eye(4), b, atoms=atoms)
    relaxation = fa.P2(problem, 2.0)
    zero = np.zeros(4)
    assert relaxation.gap(zero, b) == pytest.approx(0.0, abs=1e-14)
    plain = -1.0  # the largest of <e_i, b>, the largest eigenvalue of -I
    assert relaxation.primal(zero) + problem.loss.conjugate(b) - b @ b + 2.0 * plain < -1.0


@pytest.mark.parametrize("loss", LOSSES)
def test_the_best_beta_is_best(loss):
    rng = np.random.default_rng(3)
    for trial in range(40):
        f = make_loss(loss, 5, rng)
        y = f.gradient(rng.standard_normal(5) * 2) * 10.0 ** rng.uniform(-2, 2)
        alpha = 10.0 ** rng.uniform(-2, 1)
        best = f.best_beta(y, alpha)
        value = f.support_of_sublevel(y, alpha)
        assert value == pytest.approx(f.perspective(y, best, alpha), rel=1e-9, abs=1e-12)
        others = [f.perspective(y, best * t, alpha) for t in np.exp(np.linspace(-3, 3, 121))]
        assert value <= min(others) + 1e-9 * abs(value), trial
        # and it is the support function of the sublevel set: no residual within alpha does better
        rows = rng.standard_normal((100, 5)) * 10.0 ** rng.uniform(-3, 1, (100, 1)) - (0 if f.anchored else 6)
        inside = [r for r in rows if f.value(r) <= alpha]
        assert inside
        assert max(r @ y for r in inside) <= value + 1e-9 * abs(value)


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_closed_forms_of_the_third_dual(alpha):
    rng = np.random.default_rng(4)
    for _ in range(30):
        y = rng.standard_normal(6)
        assert fa.LeastSquares().support_of_sublevel(y, alpha) == pytest.approx(
            math.sqrt(2 * alpha) * np.linalg.norm(y), rel=1e-12
        )
        delta = rng.uniform(0.1, 2)
        beta = max(np.abs(y).max() / delta, np.linalg.norm(y) / math.sqrt(2 * alpha))
        assert fa.Huber(delta).best_beta(y, alpha) == pytest.approx(beta, rel=1e-12)
