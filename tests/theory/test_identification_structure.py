"""Theorem 2 on operators and sets with structure: samples, intensities, unions that hold sums, the nonnegative cone."""

import numpy as np
import pytest

import fewatoms as fa
from theory.evidence import SEEN, alignments, certificate, dual_point, excluded
from theory.pairs import (
    Plan,
    pair_with,
    plan_dictionary_at,
    plan_one_hot,
    plan_sum,
    plant_under,
)


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
        problem = fa.Problem.of(M, M @ x + r, atoms=fa.NonnegativeCone(n), loss=loss)
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
