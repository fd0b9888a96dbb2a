"""What is proven about points of rank k: certificates rest on points with more atoms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
from sampled import (
    WAYS,
    assert_encloses,
    best_of_restarts,
    fit_of,
    objective,
    paid,
    plant,
    rank_of,
    relaxation,
    smallest_nuclear_norm,
)

# What is proven -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.1, 0.5, 2.0, 20.0])
@pytest.mark.parametrize(
    ("shape", "weighted"), [((8, 7, 2), False), ((6, 9, 1), True), ((9, 5, 3), False)], ids=["", "weighted", "tall"]
)
def test_a_ridge_is_the_nuclear_norm(shape, weighted, lam):
    """The optimum over all matrices lies where the certificate says; with room for its rank the answer reaches it."""
    e = plant(sum(shape), *shape, noise=0.3)
    w = np.random.default_rng(0).uniform(0.3, 3.0, e.b.size) if weighted else None
    optimum, X = relaxation(e, lam, weights=w)
    for k in sorted({1, 2, max(1, rank_of(X)), min(shape[:2])}):
        s = e.fit(k, ridge=lam, loss=fa.LeastSquares(w))
        assert s.certificate.relaxation.name == "P1"
        assert s.certificate.relaxation.parameter == lam
        assert_encloses(s.certificate, optimum)
        reached = objective(e, s, w)
        assert s.loss == pytest.approx(fit_of(e, s, w), rel=1e-9)
        assert s.gauge == pytest.approx(np.linalg.norm(s.x, "nuc"), rel=1e-9, abs=1e-12)
        assert reached == pytest.approx(s.loss + lam * s.gauge, rel=1e-9)
        assert reached >= s.certificate.primal - s.certificate.gap - 1e-9 * reached
        if k >= rank_of(X):
            assert reached <= optimum * (1 + 1e-5)
            assert s.certificate.gap <= 1e-2 * optimum
            np.testing.assert_allclose(s.x, X, atol=3e-2 * max(1.0, np.abs(X).max()))


def test_the_gap_closes_with_further_sweeps():
    """Where k has room for the relaxation's solution; and then no k atoms do better."""
    for seed in range(2):
        e = plant(seed, 8, 7, 2, noise=0.3)
        X = relaxation(e, 2.0)[1]
        k = max(1, rank_of(X))
        gaps, s = [], None
        for _ in range(5):
            s = e.fit(k, ridge=2.0, start=s)
            gaps.append(s.certificate.gap)
        assert gaps[-1] <= 1e-3 * objective(e, s)
        assert gaps[-1] <= gaps[0] + 1e-9
        best = best_of_restarts(e, k, np.random.default_rng(seed), 2, ridge=2.0, sweeps=30)
        assert best >= s.certificate.primal - s.certificate.gap - 1e-9
        assert objective(e, s) <= best * (1 + 1e-5)


@pytest.mark.parametrize("ridge", [(0.1, 0.5), (1.0, 1.0), (1.0, 1e-2), (20.0, 0.1)], ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_biases_are_part_of_the_convex_problem(ridge, weighted):
    """The nuclear norm on X and a ridge on the biases, all at once."""
    for seed, shape in enumerate([(8, 7, 2), (6, 9, 1)]):
        e = plant(seed, *shape, noise=0.3, offsets=True)
        w = np.random.default_rng(seed).uniform(0.3, 3.0, e.b.size) if weighted else None
        center = float(np.average(e.b, weights=w))
        optimum, _ = relaxation(e, ridge[0], weights=w, shrink=ridge[1], center=center)
        for k in (1, min(shape[:2])) if seed else (min(shape[:2]),):
            s = e.fit(k, **paid(ridge), loss=fa.LeastSquares(w))
            assert s.ridge == ridge
            assert s.biases.center == pytest.approx(center, rel=1e-12)
            assert_encloses(s.certificate, optimum)
            assert objective(e, s, w) >= s.certificate.primal - s.certificate.gap - 1e-8 * optimum
        assert objective(e, s, w) <= optimum * (1 + 1e-5)
        assert s.certificate.gap <= 1e-2 * optimum


@pytest.mark.parametrize("misfit", [0.02, 0.05, 0.2])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_with_a_bound_the_smallest_nuclear_norm_is_bounded_from_below(misfit, weighted):
    for seed, shape in enumerate([(8, 7, 2), (6, 9, 1)]):
        e = plant(seed, *shape, noise=0.3)
        w = np.random.default_rng(seed).uniform(0.3, 3.0, e.b.size) if weighted else np.ones(e.b.size)
        optimum, X = smallest_nuclear_norm(e, misfit**2 * 0.5 * float(w @ e.b**2), weights=w)
        for k in (1, rank_of(X), min(shape[:2])):
            s = e.fit(k, misfit=misfit, loss=fa.LeastSquares(w))
            assert s.certificate.tau_lower <= optimum * (1 + 1e-6)
            assert s.success == (s.status is fa.Status.BOUND_MET) == (s.misfit <= misfit * (1 + 1e-9))
            if s.success:
                assert s.gauge >= optimum * (1 - 1e-6)
                assert_encloses(s.certificate, optimum)
        assert s.success
        assert s.gauge <= 1.3 * optimum
        assert s.certificate.tau_lower >= 0.5 * optimum


@pytest.mark.parametrize("stop", [1, 2, 5])
@pytest.mark.parametrize("name", ["plain", "ridge", "biases", "nonnegative"])
def test_certificates_hold_wherever_the_run_is_stopped(name, stop):
    def callback(progress):
        if progress.iteration == stop:
            raise StopIteration

    e = plant(5, 8, 7, 2, noise=0.3, offsets=name == "biases")
    stopped, limited = e.fit(2, callback=callback, **WAYS[name]), e.fit(2, max_iterations=stop, **WAYS[name])
    assert stopped.status is fa.Status.STOPPED
    assert limited.status is fa.Status.ITERATION_LIMIT
    for s in (stopped, limited):
        assert s.iterations == stop
        lam = s.certificate.relaxation.parameter
        if name == "biases":
            optimum = relaxation(e, lam, shrink=0.7, center=float(e.b.mean()))[0]
        else:
            optimum = relaxation(e, lam)[0]
        assert lam > 0
        assert math.isfinite(s.certificate.gap)
        assert_encloses(s.certificate, optimum)


@pytest.mark.parametrize("stop", [1, 2, 4])
def test_a_bound_not_met_yet_still_bounds_the_nuclear_norm(stop):
    e = plant(6, 8, 7, 2, noise=0.3)
    optimum, _ = smallest_nuclear_norm(e, 1e-4 * 0.5 * float(e.b @ e.b))
    s = e.fit(1, misfit=1e-2, max_iterations=stop)
    assert not s.success
    assert s.certificate.tau_lower <= optimum * (1 + 1e-6)


def test_the_certificate_in_words():
    e = plant(7, 8, 7, 2, noise=0.3)
    s = e.fit(2, ridge=0.5)
    lower = s.certificate.primal - s.certificate.gap
    assert f"below {lower:.6g}; this one has {s.loss + 0.5 * s.gauge:.6g}" in str(s.certificate)
    assert "Not proven: that no other k atoms fit better" in str(s.certificate)
    assert "times the gauge" in s.message


# Evidence that waits --------------------------------------------------------------------------------------------------


def test_threads_that_read_one_certificate_agree():
    from concurrent.futures import ThreadPoolExecutor

    e = plant(1, 12, 10, 2, noise=0.3)
    for options in (WAYS["ridge"], {"misfit": 0.5}, WAYS["biases"]):
        certificate = e.fit(2, **options).certificate
        with ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(lambda _, c=certificate: (c.gap, c.primal, c.dual, c.tau_lower), range(16)))
        assert len(set(seen)) == 1
        assert math.isfinite(seen[0][0])


@pytest.mark.parametrize("name", WAYS)
def test_looking_at_gaps_costs_the_run_nothing_and_is_not_lost(name):
    e = plant(1, 8, 7, 2, noise=0.3)
    gaps = []
    blind, seen = (
        e.fit(2, max_iterations=20, **WAYS[name]),
        e.fit(2, max_iterations=20, callback=lambda progress: gaps.append(progress.gap), **WAYS[name]),
    )
    assert seen.products == blind.products
    assert seen.certificate.products >= blind.certificate.products
    if name in ("ridge", "biases", "bound"):  # one relaxation for the whole run
        assert seen.certificate.gap <= min(gaps) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["plain", "ridge", "biases", "nonnegative"])
def test_gaps_may_be_asked_for_late(name):
    """After the run, in any order; each says how far a point it knows is from the optimum of its relaxation."""
    e = plant(1, 8, 7, 2, noise=0.3)
    seen = []
    s = e.fit(2, max_iterations=30, callback=seen.append, **WAYS[name])
    for progress in seen[:: max(1, len(seen) // 4)][::-1]:
        relaxed = progress.dual.relaxation
        known = [(progress.dual.loss, progress.dual.gauge), (progress.candidate.loss, progress.candidate.gauge)]
        more = {"shrink": s.ridge[1], "center": s.biases.center} if name == "biases" else {}
        optimum, _ = relaxation(e, relaxed.parameter, **more)
        assert math.isfinite(progress.gap)
        assert progress.gap >= 0
        best = min(relaxed.primal_value(*point) for point in known)
        assert optimum - 1e-6 * (1 + optimum) <= best <= optimum + progress.gap + 1e-6 * (1 + optimum)
