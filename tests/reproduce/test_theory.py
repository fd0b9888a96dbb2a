"""Statements that are theorems hold on problems whose solutions are known, whatever the seed; pairs are solutions."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import fewatoms as fa
from fewatoms.oracles import ProximalGradient
from fewatoms.reproduce.contract import Settings, nobody
from fewatoms.reproduce.theory import (
    EXPERIMENTS,
    cone_and_span,
    finite,
    identification,
    memory,
    partial_svd,
    planted,
    screening,
    semidefinite,
    spectral,
    spectral_rate,
)

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


def test_the_dual_value_of_proximal_gradients_is_of_first_order_in_the_distance():
    """Scaled residuals: the excess is no higher power of |y - y*|, so a rate of t^-1 in y is one of t^-1 in d."""
    pair = planted.sparse(np.random.default_rng(0), 30, 60, 5, 0.5, rivals=0.3)
    seen = [one for one in planted.along(pair, ProximalGradient(pair.lam), 80) if one.excess > 100 * one.rounding]
    power = finite.slope([float(np.linalg.norm(one.y - pair.y)) for one in seen], [one.excess for one in seen])
    assert power == pytest.approx(1.0, abs=0.2)
    assert {name: a for name, (_, a) in finite.METHODS.items()} == dict.fromkeys(finite.METHODS, 1.0)
    assert {name: a for name, (_, a) in spectral_rate.METHODS.items()} == dict.fromkeys(finite.METHODS, 1.0)


def lines(figure):
    sheet = Figure()
    figure.draw(sheet)
    return [drawn for panel in sheet.axes for drawn in panel.lines]


@pytest.mark.parametrize("module", [finite, spectral_rate])
def test_guides_are_told_apart(module):
    (figure,) = module.experiment.run(Settings(quick=True), nobody()).figures
    guides = [line for line in lines(figure) if "slope" in str(line.get_label())]
    assert len({(line.get_color(), str(line.get_linestyle()), str(line._dash_pattern)) for line in guides}) == 2


def test_a_rate_is_seen_for_spectral_sets():
    found = spectral_rate.experiment.run(Settings(quick=True), nobody())
    rows = found.figures[0].points.rows
    counts = [row[2] for row in rows if row[0] == "conditional gradient"]
    assert None not in counts
    assert counts == sorted(set(counts))  # more for each tolerance that is smaller
    assert -4 < found.tables[0].rows[0][3] < -0.3


def test_settling_within_a_tolerance_is_seen_from_behind():
    times, shares = np.arange(1.0, 9.0), np.array([1, 0.1, 0.5, 0.1, 0.01, 0.01, 0.01, 0.01])
    assert spectral_rate.reached(times, shares, 2.0) == 1
    assert spectral_rate.reached(times, shares, 0.2) == 4
    assert spectral_rate.reached(times, shares, 0.05) == 5
    assert spectral_rate.reached(times, shares, 0.001) is None


def test_the_spectral_error_is_measured_all_along():
    pair = planted.low_rank(np.random.default_rng(3), 100, spectral.ROWS, spectral.COLS, 2, 0.3)
    bound, change = spectral.measured(pair, 40)[:, 5:7].T
    assert np.all(change <= bound)
    assert np.mean(change > 0) > 0.9


@pytest.mark.parametrize("module", [cone_and_span, semidefinite])
def test_ratios_are_drawn(module):
    (figure,) = module.experiment.run(Settings(quick=True), nobody()).figures
    drawn = np.asarray(lines(figure)[0].get_ydata())
    assert drawn.min() >= 1 - 1e-6
    assert 1.001 < drawn.max() < 3


def test_quick_screening_screens():
    table = screening.experiment.run(Settings(quick=True), nobody()).tables[0]
    assert max(table.column("atoms left")) < 150


def test_memory_is_what_the_run_holds():
    held = memory.peak(400, np.random.default_rng(0), nobody())
    assert 8 * 4000 < held < 16 * 400**2
