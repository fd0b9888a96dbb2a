"""Theorem 2: atoms of a solution are epsilon_i-exposed by M*y, for any feasible y, and never outside the safe set.

Pairs are planted, then looked at from points near and far. No tolerance is granted: an atom of the true support that a
certificate rules out is a failure, whatever the rounding.
"""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.oracles import Bisection, Bundle, ConditionalGradient, Continuation, LevelSet, ProximalGradient
from theory.evidence import SEEN, alignments, certificate, dual_point, excluded, mixture, near, screened
from theory.pairs import (
    LOSSES,
    PLANS,
    Pair,
    Plan,
    gentle,
    pair_with,
    plan_dictionary_at,
    plan_one_hot,
    plan_sum,
    plant,
    plant_under,
    reweighted,
)

PER_CASE = 60  # times 13 kinds of sets and 3 relaxations: 2340 instances


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("kind", PLANS)
def test_no_true_atom_is_ever_excluded(kind, name):
    rng = np.random.default_rng([2, *map(ord, kind + name)])
    proven = ruled_out = 0
    for trial in range(PER_CASE):
        pair = plant(rng, kind, LOSSES[trial % len(LOSSES)])
        problem = pair.problem()
        cert = certificate(problem, *SEEN[name](pair, problem, rng, 10.0 ** rng.uniform(-9, 0.5)))
        assert excluded(pair, cert) == 0
        proven += cert.epsilon is not None
        ruled_out += 0 if cert.safe_set is None else screened(pair, cert)
    assert proven >= (0.95 if name == "P3" else 1.0) * PER_CASE  # a bracket around beta* may be missing
    assert ruled_out > 0 or "rank one" in kind or kind == "psd"


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("kind", ["signed", "nonnegative", "dictionary", "groups", "rank one", "psd", "union"])
def test_nor_when_rounding_is_all_there_is(kind, name):
    # Residuals far smaller than the data, dual vectors almost exact, and atoms of the support with next to no weight:
    # <b, y> dwarfs the dual value, and the gap is its rounding error.
    rng = np.random.default_rng([3, *map(ord, kind + name)])
    for trial in range(30):
        pair = with_faint_atoms(plant(rng, kind, LOSSES[trial % 4], noise=10.0 ** rng.uniform(-7, -2)), rng)
        problem = pair.problem()
        cert = certificate(problem, *SEEN[name](pair, problem, rng, 10.0 ** rng.uniform(-10, -5)))
        assert excluded(pair, cert) == 0


def test_nor_when_the_computed_gap_is_noise():
    # (P2) with data of size 1 and a residual of size 1e-6: the values are 1e-12, the terms that cancel in them 1e-6. A
    # faint atom of the support is turned away from y by a step whose true gap is below the rounding of those terms.
    rng = np.random.default_rng(15)
    for _ in range(60):
        pair = plant(rng, "signed", noise=1e-6, delta=0.5)
        while len(pair.plan.points) < 2:
            pair = plant(rng, "signed", noise=1e-6, delta=0.5)
        pair = with_faint_atoms(pair, rng, faintest=-14, faint=-13)
        away = against_the_last(pair)
        y = pair.y - 1e-11 * away
        problem = pair.problem()
        relaxation = fa.P2(problem, pair.tau)
        cert = certificate(problem, dual_point(problem, relaxation, y, pair.alpha, pair.tau))
        assert excluded(pair, cert) == 0


def against_the_last(pair):
    """A unit vector along the image of the last atom of the support, orthogonal to the images of the others."""
    images = pair.M @ pair.plan.points.T
    others, last = images[:, :-1], images[:, -1]
    away = last - others @ np.linalg.lstsq(others, last)[0]
    return away / np.linalg.norm(away)


def with_faint_atoms(pair, rng, faintest=-11, faint=-6):
    """The same pair with all atoms of the support but the first made faint."""
    c = 10.0 ** rng.uniform(faintest, faint, len(pair.plan.points))
    c[0] = 10.0
    plan = reweighted(pair.plan, c)
    return Pair(pair.M, pair.M @ plan.x + pair.residual, pair.loss, plan, pair.y, pair.residual)


@pytest.mark.parametrize("kind", ["signed", "nonnegative", "dictionary", "groups"])
def test_nor_when_the_primal_point_lives_off_the_tolerance(kind):
    # A gauge of tau (1 + 9e-11) counts as tau, a loss of alpha (1 + 9e-13) as alpha; what they gain must be paid for.
    rng = np.random.default_rng([4, *map(ord, kind)])
    for trial in range(60):
        pair = with_faint_atoms(plant(rng, kind, LOSSES[trial % 4], noise=10.0 ** rng.uniform(-2, 1)), rng)
        problem = pair.problem()
        y = near(pair, rng, 10.0 ** rng.uniform(-8, -4))
        loss, gauge, _ = mixture(pair, rng, 1 + 9e-11, 0.0)
        cert = certificate(problem, dual_point(problem, fa.P2(problem, pair.tau), y, loss, gauge))
        assert np.isfinite(cert.gap)
        assert excluded(pair, cert) == 0


def test_nor_when_the_loss_is_above_alpha_by_what_counts_as_alpha():
    # (P3) with beta* known to seven digits, and y turned away from a faint atom by less than the tolerance hides.
    rng = np.random.default_rng(16)
    for _ in range(40):
        pair = plant(rng, "signed", noise=1.0, delta=0.5)
        while len(pair.plan.points) < 2:
            pair = plant(rng, "signed", noise=1.0, delta=0.5)
        pair = with_faint_atoms(pair, rng, faintest=-14, faint=-13)
        problem = pair.problem()
        relaxation, around = fa.P3(problem), []
        for t in (-1e-7, 1e-7):
            loss, gauge, _ = mixture(pair, rng, 1 + t, 0.0)
            around.append(dual_point(problem, relaxation, pair.y, loss, gauge))
        away = against_the_last(pair)
        y = pair.y - 1e-6 * np.sqrt(pair.alpha) * away
        loss, gauge, _ = mixture(pair, rng, 1 - 0.9e-12 * pair.alpha / (pair.lam * pair.tau), 0.0)
        assert pair.alpha < loss <= problem.tolerance
        cert = certificate(problem, dual_point(problem, relaxation, y, loss, gauge), around=around)
        assert cert.beta_bounds[1] < (1 + 1e-3) * cert.beta_bounds[0]
        assert excluded(pair, cert) == 0


# The theorem with the true excess d(y) - d(y*), which only a planted pair knows ---------------------------------------


@pytest.mark.parametrize("kind", PLANS)
def test_the_theorem_as_it_stands(kind):
    rng = np.random.default_rng([5, *map(ord, kind)])
    for trial in range(12):
        pair = plant(rng, kind, LOSSES[trial % len(LOSSES)])
        problem, L = pair.problem(), pair.loss.smoothness
        norm = problem.atoms.operator_norm(problem.M)
        assert np.linalg.norm(pair.M @ pair.plan.points.T, axis=0).max() <= norm * (1 + 1e-12)
        p1, p2, p3 = fa.P1(problem, pair.lam * (1 + 1e-13)), fa.P2(problem, pair.tau), fa.P3(problem)
        best = {
            "P1": pair.loss.conjugate(pair.y) - pair.b @ pair.y,
            "P2": pair.loss.conjugate(pair.y) - pair.b @ pair.y + pair.tau * pair.lam,
            "P3": p3.dual_at(pair.beta * pair.y, pair.beta),
        }
        assert best["P2"] == pytest.approx(-pair.alpha, rel=1e-9, abs=1e-9 * abs(pair.b @ pair.y))
        assert best["P3"] == pytest.approx(-pair.tau, rel=1e-9, abs=1e-9 * pair.beta * abs(pair.b @ pair.y))
        for size in 10.0 ** rng.uniform(-6, 0.5, 12):
            point = dual_point(problem, p1, near(pair, rng, size))
            rounding = 1e-13 * (np.abs(pair.b) @ np.abs(point.y) + pair.alpha + pair.tau * point.support)
            y, value = p1.feasible(point.y, point.z, point.support)
            eps = norm * np.sqrt(2 * L * (value - best["P1"] + rounding))
            assert alignments(pair, y).min() >= pair.lam - eps
            y, value = p2.feasible(point.y, point.z, point.support)
            eps = 2 * norm * np.sqrt(2 * L * (value - best["P2"] + rounding))
            assert alignments(pair, y).min() >= point.support - eps
            y, _ = p3.feasible(point.y, point.z, point.support)
            excess = p3.dual_at(y, pair.beta) - best["P3"] + rounding / point.support
            if np.isfinite(excess):  # y / beta* may leave dom f*
                assert alignments(pair, y).min() >= 1 - norm * np.sqrt(2 * pair.beta * L * excess)


@pytest.mark.parametrize("name", SEEN)
def test_epsilon_is_the_theorems_formula(name):
    rng = np.random.default_rng(6)
    told = shrunk = 0
    for trial in range(30):
        pair = plant(rng, "signed", LOSSES[trial % len(LOSSES)])
        problem, L = pair.problem(), pair.loss.smoothness
        cert = certificate(problem, *SEEN[name](pair, problem, rng, 10.0 ** rng.uniform(-2, 0)))
        if cert.epsilon is None:
            continue
        norm = np.linalg.norm(pair.M, axis=0).max()
        assert cert.norm == pytest.approx(norm, rel=1e-12)
        if name == "P3":
            low, high = cert.beta_bounds
            t = share_at(pair.loss, cert.y / low)  # of y, so that t y / beta is in dom f* at all beta within the bounds
            worst = max(cert.relaxation.dual_at(t * cert.y, beta) for beta in (low, high))
            eps = 1 - 1 / t + norm * np.sqrt(2 * high * L * (cert.primal + worst)) / t
            shrunk += t < 1
        else:
            eps = (2 if name == "P2" else 1) * norm * np.sqrt(2 * L * (cert.primal + cert.dual))
        assert cert.epsilon == pytest.approx(eps, rel=1e-5)
        level = {"P1": pair.lam, "P2": np.abs(pair.M.T @ cert.y).max(), "P3": 1.0}[name]
        assert cert.threshold == pytest.approx(level - cert.epsilon, rel=1e-12, abs=1e-12)
        told += 1
    assert told >= 10
    assert shrunk >= 3 or name != "P3"


def share_at(loss, y):
    """The largest t <= 1 with t y in dom f*, a hair less at the border."""
    t = 1.0
    if isinstance(loss, fa.Huber):
        t = loss.delta / np.abs(y / (1.0 if loss.weights is None else loss.weights)).max()
    elif isinstance(loss, fa.Logistic):
        t = 1.0 / (y / (1.0 if loss.weights is None else loss.weights)).max()
    return min(1.0, t * (1 - 1e-11))


# The constants are sharp: with any smaller ones a true atom would be excluded -----------------------------------------


@pytest.mark.parametrize("name", ["P1", "P3"])
@pytest.mark.parametrize("kind", ["signed", "nonnegative", "dictionary", "weighted groups", "rank one", "psd"])
def test_the_radius_cannot_be_smaller(kind, name):
    # A faint atom a alone in the support, and y moved straight against it: <a, M*y> is short by |Ma| |y - y*| exactly,
    # and the excess of the dual value is |y - y*|^2 / 2L and next to nothing else.
    rng = np.random.default_rng([14, *map(ord, kind + name)])
    for _ in range(10):
        pair = plant(rng, kind, noise=1.0, delta=0.5)
        while len(pair.plan.points) > 1:
            pair = plant(rng, kind, noise=1.0, delta=0.5)
        pair = lightened(pair, 1e-9)
        problem = pair.problem()
        image = pair.M @ pair.plan.points[0]
        size = 1e-3 * pair.lam / np.linalg.norm(image)
        y = pair.y - size * image / np.linalg.norm(image)
        if name == "P1":
            relaxation = fa.P1(problem, pair.lam)
            excess = relaxation.dual(y) - (pair.loss.conjugate(pair.y) - pair.b @ pair.y)
            radius, level = np.sqrt(2 * excess), pair.lam
        else:
            relaxation, y = fa.P3(problem), pair.beta * y
            excess = relaxation.dual_at(y, pair.beta) - relaxation.dual_at(pair.beta * pair.y, pair.beta)
            radius, level = np.sqrt(2 * pair.beta * excess), 1.0
        short = level - alignments(pair, y)[0]
        assert 0.999 * short <= np.linalg.norm(image) * radius <= 1.01 * short
        if name == "P1":
            cert = certificate(problem, dual_point(problem, relaxation, y, pair.alpha, pair.tau))
            assert excluded(pair, cert) == 0
            assert cert.radius <= 1.01 * radius


def lightened(pair, c):
    """The same pair with all coefficients scaled to a sum of c."""
    plan = reweighted(pair.plan, np.full(len(pair.plan.points), c / len(pair.plan.points)))
    return Pair(pair.M, pair.M @ plan.x + pair.residual, pair.loss, plan, pair.y, pair.residual)


def test_the_second_part_needs_its_factor_two():
    # Two atoms with images (1, h) and (-1, h) tie at y*; moving y along (1, 0) lifts one and lowers the other.
    h, c = 1e-3, 1e-12
    M, y = np.array([[1.0, -1.0], [h, h]]), np.array([0.0, 1.0])
    x = np.array([0.0, c])
    problem = fa.Problem(M, M @ x + y, atoms=fa.NonnegativeOneHot(2))
    for size in (1e-2, 1e-3, 1e-5):
        moved = y + np.array([size, 0.0])
        cert = certificate(problem, dual_point(problem, fa.P2(problem, c), moved, problem.loss.value(y), c))
        short = cert._level - moved @ M[:, 1]
        assert cert.threshold <= moved @ M[:, 1]
        assert 1 in cert.safe_set
        assert short == pytest.approx(2 * size, rel=1e-9)
        assert cert.epsilon < 1.01 * short


# Whole runs ----------------------------------------------------------------------------------------------------------

RUNS = {
    "proximal gradient": lambda pair: ProximalGradient(pair.lam),
    "conditional gradient": lambda pair: ConditionalGradient(pair.tau),
    "bundle": lambda pair: Bundle(pair.tau),
    "level set": lambda pair: LevelSet(Bisection(), Bundle()),
    "continuation": lambda pair: Continuation(),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("kind", ["signed", "nonnegative", "groups", "dictionary", "rank one", "psd", "union", "sum"])
def test_certificates_of_whole_runs(kind, run):
    rng = np.random.default_rng([13, *map(ord, kind + run)])
    for trial in range(4):
        pair = gentle(rng, kind, ("least squares", "huber", "weighted least squares", "logistic")[trial])
        sizes = tuple(1 if part is None else max(1, part.size) for part in pair.plan.parts)
        bounded = run in ("level set", "continuation")  # these are about (P3), the others about lambda and tau
        answer = fa.fit(
            pair.M,
            pair.b,
            atoms=pair.atoms,
            k=sizes if len(sizes) > 1 else sizes[0],
            alpha=pair.alpha if bounded else None,
            loss=pair.loss,
            oracle=RUNS[run](pair),
            max_iterations=10,
        )
        cert = answer.certificate
        assert excluded(pair, cert) == 0
        assert bounded or cert.epsilon is not None


# Sets and operators of their own structure ---------------------------------------------------------------------------


def structured(which, rng):
    if which == "sampling":
        rows, cols = np.nonzero(rng.random((7, 6)) < 0.6)
        return fa.Sampling(rows, cols, (7, 6)), fa.RankOne(7, 6)
    if which == "identity":
        return fa.Identity((6, 5)), fa.RankOne(6, 5)
    A = rng.standard_normal((20, 4))
    if which == "complex quadratic":
        A = A + 1j * rng.standard_normal((20, 4))
    return fa.Quadratic(A), fa.PSDRankOne(4)


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("which", ["sampling", "identity", "quadratic", "complex quadratic"])
def test_under_operators_with_structure(which, name):
    rng = np.random.default_rng([7, *map(ord, which + name)])
    proven = 0
    for trial in range(24):
        M, atoms = structured(which, rng)
        loss = (fa.LeastSquares(), fa.Huber(0.8), fa.Logistic())[trial % 3]
        pair = plant_under(rng, M, atoms, loss)
        problem = pair.problem()
        cert = certificate(problem, *SEEN[name](pair, problem, rng, 10.0 ** rng.uniform(-8, 0)))
        assert excluded(pair, cert) == 0
        assert cert.safe_set is None
        proven += cert.threshold is not None
    assert proven >= 10


def test_in_a_union_that_holds_a_sum_each_part_answers_for_its_own_share():
    rng = np.random.default_rng(8)
    ruled_out = 0
    for trial in range(60):
        added = plan_sum(rng, 10, 14, 2, 1.0, 0.3)
        other = plan_dictionary_at(rng, added.z, 12, 2, 1.0, 0.3)
        points = np.concatenate([other.points, added.points])
        whole = other.atoms | added.atoms
        plan = Plan(whole, added.z, other.x + added.x, other.gauge + added.gauge, points, ())
        pair = pair_with(rng.standard_normal((14, 10)), plan, fa.LeastSquares(), rng.standard_normal(14))
        problem = pair.problem()
        name = ("P1", "P2", "P3")[trial % 3]
        cert = certificate(problem, *SEEN[name](pair, problem, rng, 10.0 ** rng.uniform(-6, -1)))
        if cert.safe_set is None:
            continue
        alone, (first, second) = cert.safe_set
        for true, safe in zip((*other.parts, *added.parts), (alone, first, second), strict=True):
            assert np.isin(true, safe).all()
        assert alignments(pair, cert.y).min() >= cert.threshold
        ruled_out += 12 - alone.size + 10 - first.size + 14 - second.size
    assert ruled_out > 0


def test_in_a_sum_that_holds_a_union_each_part_answers_for_its_own_share():
    rng = np.random.default_rng(12)
    ruled_out = 0
    for trial in range(60):
        first = plan_one_hot(rng, 10, 2, 0.4, 0.2, signed=True)
        left, right = (plan_dictionary_at(rng, first.z, count, 2, 0.6, 0.3) for count in (12, 14))
        inner = np.concatenate([left.points, right.points])
        points = (first.points[:, None, :] + inner[None, :, :]).reshape(-1, 10)
        x = first.x + (left.x + right.x) * first.gauge / (left.gauge + right.gauge)
        plan = Plan(first.atoms + (left.atoms | right.atoms), first.z, x, first.gauge, points, ())
        pair = pair_with(rng.standard_normal((14, 10)), plan, fa.LeastSquares(), rng.standard_normal(14))
        problem = pair.problem()
        name = ("P1", "P2", "P3")[trial % 3]
        cert = certificate(problem, *SEEN[name](pair, problem, rng, 10.0 ** rng.uniform(-8, -2)))
        safe, (one, two) = cert.safe_set
        for true, found in zip((*first.parts, *left.parts, *right.parts), (safe, one, two), strict=True):
            assert np.isin(true, found).all()
        assert alignments(pair, cert.y).min() >= cert.threshold
        ruled_out += 10 - safe.size + 12 - one.size + 14 - two.size
    assert ruled_out > 0


def test_in_a_union_with_matrices_the_listed_part_has_its_safe_set():
    rng = np.random.default_rng(9)
    p, q, ruled_out = 4, 5, 0
    for _ in range(40):
        # Z with leading singular value 1; the scale of the spikes makes its largest entry tie with it.
        U, V = np.linalg.qr(rng.standard_normal((p, p)))[0], np.linalg.qr(rng.standard_normal((q, p)))[0]
        Z = (U * np.array([1.0, 0.6, 0.4, 0.1])) @ V.T
        spot = int(np.abs(Z).argmax())
        scale = 1.0 / np.abs(Z).max()
        spike = np.zeros(p * q)
        spike[spot] = scale * np.sign(Z.ravel()[spot])
        atom = np.outer(U[:, 0], V[:, 0]).ravel()
        c = rng.uniform(0.1, 3, 2)
        atoms = fa.RankOne(p, q) | scale * fa.SignedOneHot((p, q))
        plan = Plan(atoms, Z.ravel(), c @ np.stack([atom, spike]), float(c.sum()), np.stack([atom, spike]), ())
        pair = pair_with(rng.standard_normal((16, p * q)), plan, fa.LeastSquares(), rng.standard_normal(16))
        problem = pair.problem()
        cert = certificate(problem, *SEEN["P1"](pair, problem, rng, 10.0 ** rng.uniform(-6, -1)))
        assert alignments(pair, cert.y).min() >= cert.threshold
        matrices, spikes = cert.safe_set
        assert matrices is None
        assert spot in spikes
        ruled_out += p * q - spikes.size
    assert ruled_out > 0


def test_over_the_cone_the_rule_is_per_ray():
    # M*y* <= 0 with equality on the support; y is made feasible by a shift, and the gap is that of the loss alone.
    rng = np.random.default_rng(10)
    m, n, ruled_out = 12, 10, 0
    for trial in range(150):
        loss = (fa.LeastSquares(), fa.Huber(0.7), fa.LeastSquares(10.0 ** rng.uniform(-1, 1, m)))[trial % 3]
        r = rng.standard_normal(m)
        y = loss.gradient(r)
        support = np.sort(rng.choice(n, int(rng.integers(1, 4)), replace=False))
        z = -(10.0 ** rng.uniform(-3, 0, n))
        z[support] = 0.0
        rows = np.stack([np.ones(m), y])
        M = rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-1, 1, n)
        M += np.linalg.pinv(rows) @ (np.stack([np.abs(M).sum(axis=0) / m, z]) - rows @ M)
        x = np.zeros(n)
        x[support] = 10.0 ** rng.uniform(-3, 1, support.size)
        problem = fa.Problem(M, M @ x + r, atoms=fa.NonnegativeCone(n), loss=loss)
        size = 10.0 ** rng.uniform(-8, 0)
        away = np.maximum(x + size * np.abs(rng.standard_normal(n)), 0.0)
        near_y = loss.clip(y + size * rng.standard_normal(m))
        point = dual_point(problem, fa.P1(problem, 0.0), near_y, loss.value(problem.b - M @ away), 0.0)
        cert = certificate(problem, point)
        assert cert.norm is None
        assert cert.epsilon is None
        if cert.safe_set is not None:
            assert np.isin(support, cert.safe_set).all()
            ruled_out += n - cert.safe_set.size
    assert ruled_out > 100


# What the theorem does not say ---------------------------------------------------------------------------------------


def test_norms_per_atom_screen_more_than_their_maximum():
    rng = np.random.default_rng(11)
    gained = 0
    for trial in range(40):
        pair = plant(rng, ("signed", "weighted groups", "dictionary")[trial % 3])
        problem = pair.problem()
        cert = certificate(problem, *SEEN["P1"](pair, problem, rng, 10.0 ** rng.uniform(-3, -1)))
        by_maximum = np.flatnonzero(pair.atoms.alignments(pair.M.T @ cert.y) >= cert.threshold)
        assert np.isin(cert.safe_set, by_maximum).all()
        gained += by_maximum.size - cert.safe_set.size
    assert gained > 0


def test_the_safe_set_is_about_this_penalty_only():
    # Orthonormal columns: at lambda the solution is soft thresholding, so smaller penalties use more atoms.
    b = np.array([3.0, 2.0, 1.0, 0.5])
    problem = fa.Problem(np.eye(4), b, atoms=fa.SignedOneHot(4))
    safe = {}
    for lam in (2.5, 0.1):
        x = np.maximum(b - lam, 0.0)
        relaxation = fa.P1(problem, lam)
        point = dual_point(problem, relaxation, b - x, problem.loss.value(b - x), x.sum())
        safe[lam] = certificate(problem, point).safe_set.tolist()
    assert safe == {2.5: [0], 0.1: [0, 1, 2, 3]}
