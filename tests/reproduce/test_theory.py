"""Statements that are theorems hold on problems whose solutions are known, whatever the seed; pairs are solutions."""

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.oracles import ProximalGradient
from fewatoms.reproduce.contract import Settings, nobody
from fewatoms.reproduce.theory import EXPERIMENTS, finite, identification, memory, partial_svd, planted, screening

PAIRS = {
    "sparse": lambda rng: planted.sparse(rng, 30, 60, 5, 0.2, spread=0.5, rivals=0.3),
    "low rank": lambda rng: planted.low_rank(rng, 50, 6, 8, 2, 0.3),
    "semidefinite": lambda rng: planted.semidefinite(rng, 30, 6, 2, 0.3),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_pairs_are_solutions_of_all_three_relaxations(kind):
    for seed in range(5):
        pair = PAIRS[kind](np.random.default_rng(seed))
        problem = pair.problem()
        z = problem.M.adjoint(pair.y)
        assert problem.atoms.support(z) == pytest.approx(pair.lam, rel=1e-9)
        assert problem.loss.value(pair.b - pair.M @ pair.x) == pytest.approx(pair.alpha, rel=1e-9)
        for relaxation in (fa.P1(problem, pair.lam * (1 + 1e-12)), fa.P2(problem, pair.tau)):
            primal = relaxation.primal_value(pair.alpha, pair.tau)
            assert primal + pair.optimum(relaxation) == pytest.approx(0, abs=1e-9 * primal)
        p3 = fa.P3(problem)
        assert p3.dual_at(pair.y / pair.lam, 1 / pair.lam) == pytest.approx(-pair.tau, rel=1e-8)


@pytest.mark.parametrize("seed", [0, 7, 2024])
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.name)
def test_every_statement_holds(experiment, seed):
    found = experiment.run(Settings(seed, None, True), nobody())
    assert found.claims
    assert [claim.text for claim in found.claims if not claim.holds] == []
    assert found.figures


def test_epsilon_is_above_the_distance_and_would_not_be_without_its_factor():
    """The check can fail: a hundredth of epsilon is below the true distance somewhere."""
    pair = planted.sparse(np.random.default_rng(1), 60, 150, 6, 0.3)
    rows = identification.measured(pair, 60)
    assert len(rows) >= 20
    assert np.all(rows[:, 2] >= rows[:, 3])
    assert np.any(0.01 * rows[:, 2] < rows[:, 3])


def test_the_gap_safe_rule_is_that_of_the_certificate():
    pair = planted.sparse(np.random.default_rng(2), 40, 80, 4, 0.3, spread=0.5)
    compared = 0
    for seen in planted.along(pair, ProximalGradient(pair.lam), 60):
        safe = seen.certificate.safe_set
        if safe is not None and safe.size < 80:
            np.testing.assert_array_equal(np.sort(safe), screening.gap_safe(seen))
            compared += 1
    assert compared >= 10


def test_the_example_is_as_printed():
    solution, Y, u = partial_svd.example(0.04)
    X = np.outer(u, u)
    values = np.linalg.eigvalsh(solution)[::-1]
    np.testing.assert_allclose(values, np.linalg.eigvalsh(Y)[::-1], atol=1e-12)
    assert values[0] == pytest.approx(1.0)
    assert np.linalg.norm(solution @ u - u) < 1e-12  # u_1 is what Y* exposes
    distance, off = partial_svd.missed(Y, u, 3)
    assert off == pytest.approx(np.sqrt(0.04))
    assert distance == pytest.approx(np.linalg.norm(X - 0.96 * np.diag([1.0, *[0] * 7])), rel=1e-9)


def test_settling_is_seen_from_behind():
    pair = planted.sparse(np.random.default_rng(0), 30, 60, 5, 0.5, rivals=0.3)
    t = finite.settled(pair, ProximalGradient(pair.lam))
    tops = [
        frozenset(np.argsort(-np.abs(planted.flat(dual.z)), kind="stable")[:5].tolist())
        for dual, _ in zip(ProximalGradient(pair.lam).iterates(pair.problem(5)), range(60), strict=False)
    ]
    assert all(top == pair.support for top in tops[t - 1 :])
    assert t == 1 or tops[t - 2] != pair.support


def test_memory_is_what_the_run_holds():
    held = memory.peak(400, np.random.default_rng(0), nobody())
    assert 8 * 4000 < held < 16 * 400**2
