"""(P1) with a ridge over listed atoms: weak and strong duality, Theorem 2, and what a general convex solver says."""

import math

import cvxpy as cp
import numpy as np
import pytest

import fewatoms as fa
from fewatoms.candidates import Candidate, DualPoint, Iterate
from fewatoms.certificates import Certificate
from fewatoms.evidence import Evidence
from fewatoms.relaxations import P1, P2, P3
from fewatoms.units import unit_atoms
from theory.models import loss_expression, solve
from theory.pairs import LOSSES
from theory.ridges import BARRED, FAMILIES, planted, random_case, some_dual

every_family = pytest.mark.parametrize("name", FAMILIES)


def generator(*names):
    return np.random.default_rng([7, *map(ord, "".join(names))])


def in_units(problem):
    """Over atoms in units of their images; a cone has no others."""
    units = unit_atoms(problem)
    return problem if units is None else problem.over(units)


def made(relaxation, y):
    """The best that is made of y."""
    z = relaxation.problem.M.adjoint(y)
    return relaxation.feasible(y, z, relaxation.problem.atoms.ceiling(z))


@pytest.mark.sampled(3)
@every_family
@pytest.mark.parametrize("free", [False, True], ids=["plain", "free columns"])
def test_every_dual_vector_bounds_every_point(name, free):
    rng = generator(name)
    for loss in LOSSES:
        case = random_case(rng, name, loss, free=free)
        problem = case.problem()
        for units in (False, True):
            over = in_units(problem) if units else problem
            lam = rng.choice([0.0, rng.uniform(0, 3)])
            relaxation, y, c = P1(over, lam), some_dual(rng, case), case.some(rng)
            _, primal = case.value(c, lam, units and over is not problem)
            dual, (share, better) = relaxation.dual(y), made(relaxation, y)
            size = abs(primal) + abs(dual)
            assert math.isfinite(dual)
            assert primal + dual >= -1e-10 * size
            assert better <= dual + 1e-10 * size
            assert primal + better >= -1e-10 * size
            assert relaxation.dual(share) == pytest.approx(better, rel=1e-9, abs=1e-10 * size)


@pytest.mark.sampled(3)
@every_family
@pytest.mark.parametrize("free", [False, True], ids=["plain", "free columns"])
def test_planted_pairs_leave_no_gap(name, free):
    rng = generator(name)
    for loss in LOSSES:
        pair = planted(rng, name, loss, free=free)
        problem = pair.case.problem()
        relaxation = P1(in_units(problem), pair.lam)
        value, primal = pair.case.value(pair.c, pair.lam, True)
        squares = 2 * pair.case.pay(pair.c) / pair.case.ridge
        assert relaxation.primal_value(value, pair.case.gauge(pair.c, True), squares) == pytest.approx(primal, rel=1e-9)
        rounding = 1e-9 * (abs(primal) + float(np.abs(problem.b) @ np.abs(pair.y)))
        for dual in (relaxation.dual(pair.y), made(relaxation, pair.y)[1]):
            assert primal + dual == pytest.approx(0.0, abs=rounding)
        y = pair.y + 0.05 * (some_dual(rng, pair.case) - pair.y)  # dom f* is convex
        assert primal + relaxation.dual(y) > 0


@pytest.mark.sampled(8)
@every_family
@pytest.mark.parametrize("loss", ["least squares", "weighted huber", "logistic"])
@pytest.mark.parametrize("units", [False, True], ids=["own units", "units of images"])
def test_a_general_solver_says_the_same(name, loss, units):
    """To 1e-6; groups of images of different lengths too, where the conjugate is no formula."""
    rng = generator(name, loss)
    case = random_case(rng, name, loss, free=True, ridge=0.3)
    problem = case.problem()
    over = in_units(problem) if units else problem
    _, _, classes, weights, nonnegative = case.family
    c, v = cp.Variable(case.columns.shape[1]), cp.Variable(case.F.shape[1])
    u = cp.multiply(case.lengths, c)
    counted = u if units else c
    y = case.loss.gradient(case.b)
    top = max(np.linalg.norm((case.columns.T @ y / (case.lengths if units else 1.0))[at]) for at in classes)
    lam = 0.1 * top
    gauge = sum(w * cp.norm(counted[at]) for w, at in zip(weights, classes, strict=True))
    f = loss_expression(case.loss, case.b - case.columns @ c - case.F @ v)
    outside = [c[classes[g]] == 0 for g in BARRED.get(name, [])]
    solve(f + lam * gauge + 0.5 * case.ridge * cp.sum_squares(u), outside + [c >= 0] * nonnegative)
    found = np.maximum(c.value, 0.0) if nonnegative else c.value
    relaxation = P1(over, lam)
    _, primal = case.value(found, lam, units)
    r = case.b - case.columns @ found
    _, dual = made(relaxation, problem.loss.gradient(problem.seen.image(r) if case.loss.squares else r))
    assert 0 <= primal + dual + 1e-10 * primal <= 1e-6 * primal


# Theorem 2 ------------------------------------------------------------------------------------------------------------


def looked_at(rng, pair, size):
    """The certificate of a run that saw a point about `size` away from the solution, on both sides."""
    case, problem = pair.case, pair.case.problem()
    over = in_units(problem)
    y = pair.y + min(1.0, size) * (some_dual(rng, case) - pair.y)
    c = pair.c * (1 + size * rng.uniform(-0.5, 0.5, pair.c.size))
    loss, _ = case.value(c, pair.lam, True)
    squares = 2 * case.pay(c) / case.ridge
    z = problem.M.adjoint(y)
    evidence = Evidence(problem)
    point = DualPoint(y, z, over.atoms.ceiling(z), P1(over, pair.lam), loss, case.gauge(c, True), squares=squares)
    evidence.see(Iterate(point))
    nothing = Candidate.of(problem.atoms.expose(np.zeros(problem.atoms.shape), 0), np.zeros(0), problem.b, 1.0)
    return Certificate.of(problem, nothing, evidence)


@pytest.mark.sampled(3)
@every_family
def test_no_true_atom_is_ever_excluded(name):
    rng = generator("safe", name)
    ruled_out = 0
    for trial in range(18):
        pair = planted(rng, name, LOSSES[trial % 6], free=bool(trial % 2))
        proven = looked_at(rng, pair, 10.0 ** rng.uniform(-8, 0.3))
        assert math.isfinite(proven.gap)
        assert np.linalg.norm(proven.y - pair.y) <= proven.radius * (1 + 1e-9)
        if proven.safe_set is None:  # blocks of one's own have no norms, rays none in a norm of weights
            assert name in ("overlapping", "cone")
            continue
        assert set(pair.support) <= set(proven.safe_set)
        ruled_out += len(FAMILIES[name][2]) - proven.safe_set.size
    assert ruled_out > 0 or name == "overlapping"


def test_a_smaller_share_is_taken_where_the_ridge_is_small():
    """Without a ridge a vector is shrunk until it is feasible; with a tiny one nearly so, with a large one hardly."""
    rng = generator("share")
    pair = planted(rng, "signed", "least squares", free=False, share=0.5)
    problem = in_units(pair.case.problem())
    shares = []
    for ridge in (1e-9, 1e-2, 1e3):
        over = problem.paying(fa.price.Squares(ridge))
        y, value = made(P1(over, 0.5 * pair.lam), pair.y)
        shares.append(float(y @ pair.y) / float(pair.y @ pair.y))
        for t in np.linspace(0.05, 1.0, 40):
            assert value <= P1(over, 0.5 * pair.lam).dual(t * pair.y) + 1e-4 * abs(value)
    sigma = problem.atoms.ceiling(problem.M.adjoint(pair.y))
    assert shares[0] == pytest.approx(0.5 * pair.lam / sigma, rel=1e-3)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


# The other two --------------------------------------------------------------------------------------------------------


def test_bounds_speak_of_the_loss_and_the_gauge_alone():
    rng = generator("bounds")
    case = random_case(rng, "signed", "least squares", free=False)
    alpha = 0.3 * case.loss.value(case.b)
    ridged, plain = case.problem(alpha=alpha), case.problem(alpha=alpha, ridge=0)
    for make in (P3, lambda problem: P2(problem, 1.5)):
        for _ in range(5):
            y, x = some_dual(rng, case), case.some(rng)
            assert make(ridged).dual(0.01 * y) == make(plain).dual(0.01 * y)
            assert make(ridged).primal(x) == make(plain).primal(x)
