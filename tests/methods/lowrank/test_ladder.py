"""Sweeps down a ladder of penalties: what is found, with and without a ridge, weights, signs and a bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fewatoms as fa
from fewatoms.methods.lowrank import Ladder
from sampled import (
    WAYS,
    alternating,
    assert_at_most,
    assert_encloses,
    best_of_restarts,
    fit_of,
    in_units,
    objective,
    paid,
    plant,
    relaxation,
    usual_start,
)

SHAPES = {  # rows, columns, rank, and the share of entries given: about two for each unknown, if there are as many
    "square, rank 1": (10, 10, 1, 0.4),
    "square, rank 3": (12, 12, 3, 0.9),
    "tall": (40, 6, 2, 0.75),
    "wide": (6, 40, 2, 0.75),
    "very tall": (60, 4, 1, 0.6),
    "three rows": (3, 10, 2, 1.0),
    "three columns": (10, 3, 2, 1.0),
    "rank nearly full": (9, 9, 4, 1.0),
    "large": (24, 20, 2, 0.4),
}


# Planted matrices are found -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SHAPES)
def test_exact_entries_give_the_matrix(name, seed):
    p, q, rank, share = SHAPES[name]
    e = plant(seed, p, q, rank, share=share)
    s = e.fit(rank)
    assert s.misfit <= 1e-9
    assert s.cardinality <= rank
    np.testing.assert_allclose(s.x, e.truth, atol=1e-6 * np.abs(e.truth).max())
    np.testing.assert_allclose(s.left @ s.right.T, s.x, atol=1e-12 * np.abs(s.x).max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (1, 1), (2, 5), (6, 6)])
def test_as_many_atoms_as_the_smaller_side_explain_everything(shape, seed):
    e = plant(seed, *shape, min(shape), share=0.8, least=1)
    s = e.fit(min(shape))
    assert s.misfit <= 1e-6
    np.testing.assert_allclose(s.predict(e.rows, e.cols), e.b, atol=1e-5 * np.abs(e.b).max())
    assert s.cardinality <= min(shape)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SHAPES)
def test_noisy_entries_are_explained_no_worse_than_by_what_was_planted(name, seed):
    p, q, rank, share = SHAPES[name]
    e = plant(seed, p, q, rank, share=share, noise=0.1)
    planted = 0.5 * float(np.sum((e.b - e.truth[e.rows, e.cols]) ** 2))
    s = e.fit(rank)
    assert s.cardinality <= rank
    assert s.success
    assert_at_most(s.loss, planted, 1e-6)
    assert s.loss == pytest.approx(fit_of(e, s), rel=1e-9, abs=1e-20)
    assert s.misfit == pytest.approx(math.sqrt(2 * s.loss) / np.linalg.norm(e.b), rel=1e-9)


FAMILIES = {"2 of 2": (12, 10, 2, 2), "1 of 2": (8, 14, 2, 1), "3 of 3": (10, 10, 3, 3), "2 of 1": (13, 8, 1, 2)}


@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("name", FAMILIES)
def test_not_worse_than_plain_alternating_least_squares(name, lam):
    """From the usual start, the singular vectors of the matrix with zeros where nothing is known."""
    p, q, rank, k = FAMILIES[name]
    for seed in range(3):
        e = plant(seed, p, q, rank, share=0.85, noise=0.3)
        plain = alternating(e, usual_start(e, k), ridge=lam, sweeps=30)[0]
        assert_at_most(objective(e, e.fit(k, ridge=lam)), plain, 1e-4)


def test_scarce_entries_are_explained_more_often_than_by_plain_alternating_least_squares():
    """With hardly more of them than unknowns, descents end in many places."""
    found, plain = 0, 0
    for seed in range(6):
        e = plant(seed, 12, 10, 2, share=0.45)
        found += e.fit(2).misfit <= 1e-4
        plain += alternating(e, usual_start(e, 2))[0] <= 1e-8 * (e.b @ e.b)
    assert found > plain
    assert found >= 4


@pytest.mark.parametrize("lam", [0.3, 2.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_with_a_ridge_near_the_best_of_many_restarts(name, lam):
    """These problems have more than one minimum: the best is found nearly always, a bad one never."""
    p, q, rank, k = FAMILIES[name]
    excess = []
    for seed in range(3):
        e = plant(seed, p, q, rank, share=0.7, noise=0.3)
        best = best_of_restarts(e, k, np.random.default_rng(1000 + seed), 3, ridge=lam, sweeps=20)
        excess.append(objective(e, e.fit(k, ridge=lam)) / best - 1)
    assert np.sort(excess)[-2] <= 1e-4
    assert max(excess) <= 0.1


# Ridge ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zero", [0, 0.0, None, np.float64(0)], ids=str)
def test_no_ridge_is_a_ridge_of_zero(zero):
    e = plant(0, 9, 8, 2, noise=0.2)
    plain, s = e.fit(2), e.fit(2, ridge=zero)
    np.testing.assert_array_equal(s.x, plain.x)
    assert s.ridge == plain.ridge == (0.0, 0.0)
    assert s.held_out is plain.held_out is None


@pytest.mark.parametrize("name", ["ridge", "biases", "nonnegative"])
def test_more_ridge_gives_a_smaller_gauge_and_a_larger_misfit(name):
    for seed in range(2):
        e = plant(seed, 10, 9, 2, noise=0.3, offsets=name == "biases", signs=name != "nonnegative")
        answers = [e.fit(2, **{**WAYS[name], "ridge": lam}) for lam in (0.1, 0.5, 2.0, 100.0)]
        gauges, losses = np.array([s.gauge for s in answers]), np.array([s.loss for s in answers])
        assert (np.diff(gauges) <= 1e-3 * gauges[0]).all()
        assert (np.diff(losses) >= -1e-3 * losses[-1]).all()
        assert gauges[-1] <= 1e-3 * gauges[0]
        assert answers[-1].certificate.gap <= 1e-3 * losses[-1]


def test_a_ridge_that_leaves_nothing():
    """From the largest singular value of the data on, X = 0 is optimal."""
    e = plant(3, 9, 8, 2)
    Z = np.zeros(e.shape)
    Z[e.rows, e.cols] = e.b
    for factor in (1.5, 100.0, 1e9):
        s = e.fit(2, ridge=factor * np.linalg.norm(Z, 2))
        assert np.abs(s.x).max() <= 1e-2 * np.abs(e.b).max() / factor
        assert s.loss == pytest.approx(0.5 * e.b @ e.b, rel=1e-3)
        assert s.certificate.gap <= 1e-3 * s.loss


# Weights --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.5, 2.0])
def test_integer_weights_are_repeated_entries(lam):
    """Entries cannot be given twice; the slow twins do not mind."""
    for seed in range(2):
        e = plant(seed, 9, 8, 2, noise=0.3, share=0.85)
        counts = np.random.default_rng(seed).integers(1, 5, e.b.size)
        repeated = e.some(np.repeat(np.arange(e.b.size), counts))
        s = e.fit(2, ridge=lam, loss=fa.LeastSquares(counts))
        assert s.loss == pytest.approx(fit_of(repeated, s), rel=1e-9)
        naive, U, V = alternating(repeated, usual_start(e, 2), ridge=lam, sweeps=50)
        assert_at_most(objective(repeated, s), naive, 1e-5)
        assert_encloses(s.certificate, relaxation(repeated, lam)[0])
        if objective(repeated, s) >= naive * (1 - 1e-6):  # the same minimum
            np.testing.assert_allclose(s.x, U @ V.T, atol=0.03 * np.abs(s.x).max())


@pytest.mark.parametrize("t", [1e-6, 3.0, 1e6])
@pytest.mark.parametrize("options", [{}, {"ridge": 0.5}, {"free": fa.Biases(ridge=0.7), "ridge": 0.5}], ids=str)
def test_units_of_the_weights_change_the_units_of_the_loss(t, options):
    e = plant(4, 9, 8, 2, noise=0.3)
    w = np.random.default_rng(4).uniform(0.3, 3.0, e.b.size)
    scaled = in_units(options, t, on_factors=False)
    s, other = e.fit(2, loss=fa.LeastSquares(w), **options), e.fit(2, loss=fa.LeastSquares(t * w), **scaled)
    assert objective(e, other, t * w) == pytest.approx(t * objective(e, s, w), rel=1e-5)
    assert other.loss == pytest.approx(t * s.loss, rel=1e-2)
    assert other.misfit == pytest.approx(s.misfit, rel=1e-2)
    np.testing.assert_allclose(other.x, s.x, atol=0.03 * np.abs(s.x).max())


def test_a_heavy_entry_is_met():
    e = plant(5, 9, 8, 2, noise=0.3)
    w = np.ones(e.b.size)
    w[7] = 1e8
    s = e.fit(2, ridge=0.5, loss=fa.LeastSquares(w))
    assert s.predict(e.rows[7], e.cols[7]) == pytest.approx(e.b[7], abs=1e-4)


# Weights over orders of magnitude -------------------------------------------------------------------------------------


@pytest.mark.parametrize("noisy", [False, True], ids=["equal noise", "noise as the weights say"])
@pytest.mark.parametrize("seed", range(3))
def test_uneven_weights_reach_what_a_descent_from_the_truth_reaches(seed, noisy):
    rng = np.random.default_rng(seed)
    e = plant(seed, 24, 20, 2, share=0.65)
    weights = 10.0 ** rng.uniform(-3, 3, e.b.size)
    e = e.with_values(e.b + rng.standard_normal(e.b.size) * (weights**-0.5 if noisy else 0.1))
    s = e.fit(2, loss=fa.LeastSquares(weights=weights))
    best, *_ = alternating(e, np.linalg.svd(e.truth)[2][:2].T, weights=weights, sweeps=100)
    assert s.loss <= 1.02 * best


# Nonnegative factors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "noise"), [(1, 0.2), (2, 0.0), (2, 0.2)])
def test_factors_without_negative_entries(k, noise):
    """They fit no better than free ones, and nearly as well as the best of many restarts."""
    found = []
    for seed in range(2):
        e = plant(seed, 9, 8, k, noise=noise, signs=False, share=0.9)
        s = e.fit(k, nonnegative=True, ridge=0.1)
        assert min(s.left.min(), s.right.min()) >= 0
        assert s.cardinality <= k
        free = e.fit(k, ridge=0.1)
        assert objective(e, s) >= min(objective(e, free), free.certificate.primal) * (1 - 1e-5)
        naive = best_of_restarts(e, k, np.random.default_rng(seed), 2, ridge=0.1, sweeps=12, nonnegative=True)
        found.append(objective(e, s) / naive - 1)
    assert min(found) <= 1e-3
    assert max(found) <= 0.1


@pytest.mark.parametrize("k", [1, 2])
def test_planted_nonnegative_factors_are_found(k):
    """Nearly always: there are other minima."""
    errors = []
    for seed in range(4):
        e = plant(seed, 12, 10, k, signs=False, share=0.8)
        s = e.fit(k, nonnegative=True, max_iterations=60)
        assert min(s.left.min(), s.right.min()) >= 0
        assert s.loss >= 0
        errors.append(np.abs(s.x - e.truth).max() / np.abs(e.truth).max())
    assert np.sort(errors)[-2] <= 1e-3


def test_what_no_nonnegative_matrix_explains():
    e = plant(0, 9, 8, 2, signs=False)
    s = e.with_values(-e.b).fit(2, nonnegative=True)
    assert np.abs(s.x).max() == 0.0
    assert s.loss == pytest.approx(0.5 * e.b @ e.b)
    assert s.status is fa.Status.SMALLEST_LOSS


@pytest.mark.parametrize("ridge", [(0.5, 0.5), "auto"], ids=str)
def test_nonnegative_factors_beside_biases_of_any_sign(ridge):
    e = plant(1, 10, 9, 2, noise=0.1, signs=False)
    e = e.with_values(e.b - 20.0)
    s = e.fit(2, nonnegative=True, **paid(ridge))
    assert min(s.left.min(), s.right.min()) >= 0
    assert s.biases.center < 0
    assert s.misfit < 0.1


# Long steps ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [1.0, 0.4])
def test_longer_steps_where_rungs_are_easy_end_in_the_same_place(decay):
    """Some seven entries for each unknown: as good as every rung, in far fewer sweeps where no atom is weak."""
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((120, 3)) * decay ** np.arange(3), rng.standard_normal((100, 3))
    rows, cols = np.nonzero(rng.random((120, 100)) < 7 * 3 * 217 / 12_000)
    b = np.einsum("ij,ij->i", U[rows], V[cols]) + 0.1 * rng.standard_normal(rows.size)
    M, atoms = fa.Sampling(rows, cols, (120, 100)), fa.RankOne(120, 100)
    every, some = (
        fa.fit(M, b, atoms=atoms, k=3, method=fa.methods.Completion(ladder=Ladder(easy=easy))) for easy in (0, 2)
    )
    assert some.loss <= every.loss * (1 + 1e-5)
    assert some.iterations < every.iterations
    if decay == 1.0:
        assert some.iterations <= 20


# Atoms that a ridge makes nothing of ----------------------------------------------------------------------------------


def test_atoms_that_fade_are_not_counted():
    """Between the singular values of the data, a ridge leaves as many atoms as exceed it."""
    rng = np.random.default_rng(0)
    u, v = np.linalg.qr(rng.standard_normal((12, 4)))[0], np.linalg.qr(rng.standard_normal((10, 4)))[0]
    X = (u * [8.0, 4.0, 2.0, 1.0]) @ v.T
    M, b = fa.Sampling.from_array(X)
    for ridge, left in ((9.0, 0), (5.0, 1), (3.0, 2), (1.5, 3), (0.5, 4)):
        s = fa.fit(M, b, atoms=fa.RankOne(12, 10), k=6, ridge=ridge)
        assert s.cardinality == left
        np.testing.assert_allclose(s.coefficients, np.array([8.0, 4.0, 2.0, 1.0])[:left] - ridge, atol=1e-2)


@pytest.mark.parametrize(("missing", "from_any_sign"), [(0.3, True), (0.9, False)])
def test_nonnegative_factors_begin_with_signs_where_entries_suffice(missing, from_any_sign, monkeypatch):
    from fewatoms.methods.lowrank.unsigned import Unsigned

    rng, used, start = np.random.default_rng(1), [], Unsigned.start
    X = rng.gamma(1.0, 1.0, (60, 3)) @ rng.gamma(1.0, 1.0, (3, 50))
    rows, cols = np.nonzero(rng.random(X.shape) >= missing)
    monkeypatch.setattr(Unsigned, "start", lambda self, at: used.append(at) or start(self, at))
    M, atoms = fa.Sampling(rows, cols, X.shape), fa.RankOne(*X.shape, nonnegative=True)
    s = fa.fit(M, X[rows, cols] + 0.1 * rng.standard_normal(rows.size), atoms=atoms, k=3)
    assert bool(used) == from_any_sign
    assert min(s.left.min(), s.right.min()) >= 0
    if from_any_sign:  # as good as what is planted
        assert s.loss <= 0.5 * 0.1**2 * rows.size * 1.05
