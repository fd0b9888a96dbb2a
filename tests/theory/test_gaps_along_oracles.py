"""Along an oracle's stream: points are what they say they are, gaps are never negative, and the best one falls."""

from itertools import islice

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.candidates import Iterate
from fewatoms.evidence import Evidence
from fewatoms.oracles import (
    Bisection,
    Bundle,
    ConditionalGradient,
    Continuation,
    FromIterates,
    LevelSet,
    Newton,
    ProximalGradient,
)
from theory.pairs import aligned, flat, gentle

ORACLES = {
    "conditional gradient": lambda pair: ConditionalGradient(pair.tau),
    "bundle": lambda pair: Bundle(pair.tau),
    "proximal gradient": lambda pair: ProximalGradient(pair.lam),
    "level set, Newton": lambda pair: LevelSet(Newton()),
    "level set, bisection": lambda pair: LevelSet(Bisection()),
    "level set, bisection, bundle": lambda pair: LevelSet(Bisection(), Bundle()),
    "continuation": lambda pair: Continuation(),
}
DEAR = ("bundle", "level set, bisection, bundle", "continuation")
KINDS = (
    "signed",
    "nonnegative",
    "scaled",
    "dictionary",
    "weighted groups",
    "mapped groups",
    "rank one",
    "psd",
    "union",
    "sum",
)
LOSSES = ("least squares", "weighted huber", "logistic")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("kind", KINDS)
def test_gaps(kind, oracle):
    rng = np.random.default_rng([1, *map(ord, kind)])
    for loss in LOSSES:
        pair = gentle(rng, kind, loss)
        problem = pair.problem()
        optimum = {"P1": pair.alpha + pair.lam * pair.tau, "P2": pair.alpha, "P3": pair.tau}
        evidence, gaps, count = Evidence(problem), [], 10 if oracle in DEAR else 30
        for dual in islice(ORACLES[oracle](pair).iterates(problem), count):
            # the point is what it says it is
            np.testing.assert_allclose(flat(dual.z), pair.M.T @ dual.y, atol=1e-12 * np.abs(dual.y).sum())
            assert dual.support == pytest.approx(problem.atoms.support(dual.z), rel=1e-10)
            assert np.isfinite(pair.loss.conjugate(dual.y))
            assert dual.gauge >= 0
            # its gap is none below zero, and encloses the optimum of its relaxation
            relaxation = dual.relaxation
            y, value = relaxation.feasible(dual.y, dual.z, dual.support)
            primal = relaxation.primal_value(dual.loss, dual.gauge)
            best = optimum[relaxation.name]
            slack = 1e-10 * (best + np.abs(pair.b) @ np.abs(y))
            assert -value <= best + slack
            assert primal >= best - slack
            evidence.see(Iterate(dual))
            gaps.append(evidence.gap)
        assert np.all(np.array(gaps) >= 0)
        assert gaps == sorted(gaps, key=np.isfinite)  # once known, known for good
        known = np.array(gaps)[np.isfinite(gaps)]
        assert np.all(known[1:] <= known[:-1] * (1 + 1e-9) + 1e-13 * best)
        if oracle == "level set, Newton":
            assert np.all(known <= 1e-9 * best)  # from the left no point is feasible for (P3), short of the root itself
        elif relaxation.name != "P3":
            assert known[-1] < 0.5 * known[0]


def test_over_the_cone_the_gap_of_proximal_gradients_closes():
    rng = np.random.default_rng(2)
    M = rng.random((20, 8))
    b = M @ np.array([1.0, 2.0, 0, 0, 0, 0, 0, 0]) + 0.1 * rng.standard_normal(20)
    for loss in (fa.LeastSquares(), fa.Huber(0.05)):
        problem = fa.Problem.of(M, b, atoms=fa.NonnegativeCone(8), loss=loss)
        evidence, gaps = Evidence(problem), []
        for dual in islice(ProximalGradient().iterates(problem), 400):
            evidence.see(Iterate(dual))
            gaps.append(evidence.gap)
        assert np.all(np.diff(gaps) <= 1e-12)
        assert gaps[-1] < 1e-4 * evidence.primal


def test_vectors_from_elsewhere_bound_the_optimum_too():
    # With a bound they are (P3)'s: any y gives tau* >= -d3(y).
    rng = np.random.default_rng(3)
    for loss in LOSSES:
        pair = gentle(rng, "signed", loss)
        problem = pair.problem()
        outside = [pair.y + 0.3 * np.linalg.norm(pair.y) * rng.standard_normal(pair.y.size) for _ in range(20)]
        for dual in FromIterates(outside).iterates(problem):
            assert np.isfinite(pair.loss.conjugate(dual.y))  # clipped into dom f*
            assert -dual.relaxation.feasible(dual.y, dual.z, dual.support)[1] <= pair.tau * (1 + 1e-10)


def test_the_gap_that_a_callback_sees_falls():
    rng = np.random.default_rng(4)
    for oracle in ("conditional gradient", "proximal gradient", "bundle"):
        pair = gentle(rng, "signed")
        seen = []
        fa.fit(
            pair.M,
            pair.b,
            atoms=pair.atoms,
            k=len(pair.plan.points),
            method=fa.General(oracle=ORACLES[oracle](pair)),
            callback=lambda progress, seen=seen: seen.append((progress.gap, progress.loss)),
            max_iterations=25,
        )
        gaps, losses = np.array(seen).T
        assert np.all(gaps >= 0)
        assert np.all(np.diff(gaps) <= 1e-12)
        assert np.all(np.diff(losses) <= 0)


def test_single_gaps_do_rise():
    # "Falling" is said of the best gap, not of each iterate's: some stream rises somewhere.
    rng = np.random.default_rng(5)
    rises = 0
    for _ in range(5):
        pair = gentle(rng, "signed")
        problem = pair.problem()
        gaps = []
        for dual in islice(ConditionalGradient(pair.tau, tie=0.0).iterates(problem), 40):
            _, value = dual.relaxation.feasible(dual.y, dual.z, dual.support)
            gaps.append(dual.relaxation.primal_value(dual.loss, dual.gauge) + value)
        rises += int((np.diff(gaps) > 0).sum())
    assert rises > 0


def test_strong_convexity_bounds_the_distance_to_the_dual_solution():
    # |y - y*|^2 <= 2 L (d(y) - d(y*)) along streams for (P1) and (P2): the heart of Theorem 2.
    rng = np.random.default_rng(6)
    for oracle in ("conditional gradient", "proximal gradient"):
        for loss in LOSSES:
            pair = gentle(rng, "groups", loss)
            problem = pair.problem()
            best = {"P1": -pair.alpha - pair.lam * pair.tau, "P2": -pair.alpha}
            for dual in islice(ORACLES[oracle](pair).iterates(problem), 20):
                y, value = dual.relaxation.feasible(dual.y, dual.z, dual.support)
                excess = value - best[dual.relaxation.name] + 1e-12 * (np.abs(pair.b) @ np.abs(y))
                assert np.sum((y - pair.y) ** 2) <= 2 * pair.loss.smoothness * excess
                assert aligned(pair.plan.points, pair.M.T @ pair.y).min() == pytest.approx(pair.lam, rel=1e-9)
