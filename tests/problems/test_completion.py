"""Low rank from sampled entries: what is found, what is proven about it, and what is said when it cannot be."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import fewatoms as fa
from fewatoms import held_out, linalg, oracles
from problems.sampled import (
    alternating,
    best_of_restarts,
    biases_by_hand,
    fit_of,
    objective,
    plant,
    rank_of,
    relaxation,
    smallest_nuclear_norm,
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

WAYS = {  # what may be asked beside k
    "plain": {},
    "ridge": {"ridge": 0.5},
    "biases": {"biases": True, "ridge": (0.5, 0.7)},
    "nonnegative": {"nonnegative": True, "ridge": 0.2},
    "bound": {"misfit": 0.2},
}


def assert_at_most(low, high, rel):
    """low <= high up to a share of their size."""
    assert low <= high + rel * max(abs(low), abs(high)), (low, high)


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


# What is proven -------------------------------------------------------------------------------------------------------


def assert_encloses(certificate, optimum):
    """primal - gap <= optimum <= primal, up to what cvxpy is off."""
    slack = 1e-6 * (1 + abs(optimum))
    assert certificate.gap >= 0
    assert certificate.primal - certificate.gap <= optimum + slack
    assert optimum <= certificate.primal + slack


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
            s = e.fit(k, biases=True, ridge=ridge, loss=fa.LeastSquares(w))
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


# Ridge ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zero", [0, 0.0, (0, 0), np.float64(0)], ids=str)
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
        common = {**WAYS[name], "ridge": None}
        answers = [
            e.fit(2, **{**common, "ridge": (lam, 0.5 if name == "biases" else 0.0)}) for lam in (0.1, 0.5, 2.0, 100.0)
        ]
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


# Biases ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("ridge", [(0.5, 0.7), (1e6, 2.0), (0.1, 1e-5)], ids=str)
def test_biases_are_a_regression_on_row_and_column_columns(ridge, weighted):
    """Beside the X of the answer; with a huge ridge on X they are all there is."""
    for seed in range(2):
        e = plant(seed, 9, 8, 2, noise=0.3, offsets=True, share=0.9)
        w = np.random.default_rng(seed).uniform(0.3, 3.0, e.b.size) if weighted else None
        s = e.fit(2, biases=True, ridge=ridge, loss=fa.LeastSquares(w))
        row, col = biases_by_hand(e, s.x, ridge[1], weights=w, center=s.biases.center)
        size = np.abs(e.b).max()
        np.testing.assert_allclose(s.biases.rows, row, atol=1e-4 * size)
        np.testing.assert_allclose(s.biases.cols, col, atol=1e-4 * size)
        if ridge[0] == 1e6:
            assert np.abs(s.x).max() <= 1e-6 * size


@pytest.mark.parametrize("ridge", ["auto", (0.5, 0.5), 0])
def test_predictions_include_the_biases(ridge):
    e = plant(1, 9, 8, 2, noise=0.3, offsets=True)
    s = e.fit(2, biases=True, ridge=ridge)
    i, j = np.indices(e.shape)
    everything = s.x + s.biases.center + s.biases.rows[:, None] + s.biases.cols
    np.testing.assert_allclose(s.predict(i, j), everything, atol=1e-12 * np.abs(everything).max())
    w_misfit = np.linalg.norm(e.b - everything[e.rows, e.cols]) / np.linalg.norm(e.b)
    assert s.misfit == pytest.approx(w_misfit, rel=1e-9)


def test_what_is_rows_plus_columns_needs_no_atoms():
    """With next to no shrinkage, biases are the least-squares fit of rows plus columns."""
    rng = np.random.default_rng(0)
    e = plant(0, 9, 8, 1, offsets=True)
    additive = 3.0 + rng.standard_normal((9, 1)) + rng.standard_normal(8)
    e = e.with_values(additive[e.rows, e.cols])
    s = e.fit(1, biases=True, ridge=(1.0, 1e-7))
    i, j = np.indices(e.shape)
    np.testing.assert_allclose(s.predict(i, j), additive, atol=1e-4)
    assert np.abs(s.x).max() <= 1e-4


@pytest.mark.parametrize("ridge", ["auto", (0.5, 0.7), (0.5, 0.0)], ids=str)
@pytest.mark.parametrize("shift", [1.0, -250.0])
def test_a_constant_added_to_the_data_is_added_to_the_predictions(shift, ridge):
    e = plant(2, 9, 8, 2, noise=0.3, offsets=True)
    s, moved = e.fit(2, biases=True, ridge=ridge), e.with_values(e.b + shift).fit(2, biases=True, ridge=ridge)
    i, j = np.indices(e.shape)
    np.testing.assert_allclose(moved.predict(i, j), s.predict(i, j) + shift, atol=1e-5 * (abs(shift) + 10))
    assert moved.ridge == pytest.approx(s.ridge, rel=1e-9)


def gappy(seed, noise=0.1):
    """Entries of a matrix with rows 2 and 7 and column 4 empty."""
    e = plant(seed, 10, 9, 2, noise=noise, offsets=True, least=6)
    return e.some((e.rows != 2) & (e.rows != 7) & (e.cols != 4))


@pytest.mark.parametrize("ridge", ["auto", (0.5, 0.5), (0.0, 0.5)], ids=str)
def test_empty_rows_and_columns_are_predicted_by_biases(ridge):
    e = gappy(0)
    s = e.fit(2, biases=True, ridge=ridge)
    np.testing.assert_allclose(s.predict(2, np.arange(9)), s.biases.center + s.biases.cols, atol=1e-9)
    np.testing.assert_allclose(s.predict(np.arange(10), 4), s.biases.center + s.biases.rows, atol=1e-9)
    assert s.predict(2, 4) == pytest.approx(s.biases.center)
    assert "2 rows have no entries (number 2 for one) and are predicted by the biases of the columns" in s.message
    assert "1 column has no entries (number 4 for one) and is predicted by the biases of the rows" in s.message


@pytest.mark.parametrize("options", [{}, {"ridge": 0.5}, {"nonnegative": True, "ridge": 0.1}, {"misfit": 0.5}], ids=str)
def test_without_biases_they_are_predicted_by_zero(options):
    e = gappy(1)
    s = e.fit(2, **options)
    assert np.abs(s.x[[2, 7]]).max() == 0.0
    assert np.abs(s.x[:, 4]).max() == 0.0
    assert "2 rows have no entries (number 2 for one) and are predicted by zero" in s.message
    assert "1 column has no entries (number 4 for one) and is predicted by zero" in s.message


@pytest.mark.parametrize("misfit", [0.5, 0.1, 0.05, 0.01])
@pytest.mark.parametrize("options", [{}, {"ridge": 1.0}, {"ridge": (0.5, 0.0)}], ids=str)
def test_a_bound_on_the_misfit_is_met_if_the_misfit_says_so(misfit, options):
    """Biases are not shrunk then: a bound is about the data alone."""
    e = plant(3, 12, 10, 2, noise=0.3, offsets=True)
    s = e.fit(2, biases=True, misfit=misfit, **options)
    size = math.sqrt(2 * fit_of(e, s)) / np.linalg.norm(e.b)
    assert s.misfit == pytest.approx(size, rel=1e-6)
    assert s.success == (size <= misfit * (1 + 1e-9))
    assert s.ridge[1] == 0.0
    assert s.loss == pytest.approx(fit_of(e, s), rel=1e-4)


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
@pytest.mark.parametrize("options", [{}, {"ridge": (0.5, 0.0)}, {"biases": True, "ridge": (0.5, 0.7)}], ids=str)
def test_units_of_the_weights_change_the_units_of_the_loss(t, options):
    e = plant(4, 9, 8, 2, noise=0.3)
    w = np.random.default_rng(4).uniform(0.3, 3.0, e.b.size)
    scaled = {**options, "ridge": tuple(t * r for r in options["ridge"])} if "ridge" in options else options
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
    s = e.fit(2, nonnegative=True, biases=True, ridge=ridge)
    assert min(s.left.min(), s.right.min()) >= 0
    assert s.biases.center < 0
    assert s.misfit < 0.1


# Entries held out -----------------------------------------------------------------------------------------------------


class Recorder(held_out.Factored):
    """Keeps what the penalties are tried on."""

    seen: list

    def __init__(self, M, b, weights, **options):
        super().__init__(M, b, weights, **options)
        self.seen.append((M.rows, M.cols))


def tried_on(entries, monkeypatch, **options):
    """The answer with a ridge left to fit, and which entries were not held out for that."""
    seen = []
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "seen", seen, raising=False)
        patch.setattr(held_out, "Factored", Recorder)
        patch.setattr(held_out, "MANY", 1)  # one split, as where entries are many
        s = entries.fit(2, ridge="auto", **options)
    (pair,) = seen
    places = np.full(entries.shape, -1)
    places[entries.rows, entries.cols] = np.arange(entries.b.size)
    return s, places[pair]


def choose_on(entries, seed, options, monkeypatch):
    """What is chosen with one split."""
    problem = fa.Problem(entries.M, entries.b, atoms=fa.RankOne(*entries.shape), k=2, ridge="auto", **options)
    with monkeypatch.context() as patch, linalg.session(seed):
        patch.setattr(held_out, "MANY", 1)
        return held_out.choose_ridge(problem, 2)


@pytest.mark.parametrize("options", [{}, {"biases": True}, {"nonnegative": True}], ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_penalties_are_tried_without_a_look_at_what_is_held_out(options, seed, monkeypatch):
    """A touch to the entries held out changes their errors, and nothing of what is tried."""
    e = plant(seed, 12, 10, 2, noise=0.3, signs=not options.get("nonnegative"))
    s, kept = tried_on(e, monkeypatch, rng=seed, **options)
    out = np.setdiff1d(np.arange(e.b.size), kept)
    assert 0 < out.size <= 0.3 * e.b.size
    touched = e.b.copy()
    touched[out] += 1e-5 * np.random.default_rng(9).standard_normal(out.size)
    other, again = tried_on(e.with_values(touched), monkeypatch, rng=seed, **options)
    np.testing.assert_array_equal(np.sort(again), np.sort(kept))
    assert other.held_out != s.held_out
    assert other.held_out == pytest.approx(s.held_out, rel=1e-3)
    assert other.ridge == pytest.approx(s.ridge, rel=1e-2)
    chosen = [choose_on(entries, seed, options, monkeypatch) for entries in (e, e.with_values(touched))]
    # the last steps, for biases, are made at a ridge that the scores had a say in
    tolerance = 1e-4 if "biases" in options else 0.0
    np.testing.assert_allclose(chosen[0].points[0].s, chosen[1].points[0].s, rtol=tolerance)


def test_the_score_is_the_error_on_what_is_held_out(monkeypatch):
    """Of a fit to the other entries at the penalties chosen, about."""
    for seed in range(2):
        e = plant(seed, 20, 18, 2, noise=0.5, offsets=True)
        s, kept = tried_on(e, monkeypatch, biases=True)
        rest, out = e.some(kept), e.some(np.setdiff1d(np.arange(e.b.size), kept))
        error = out.b - rest.fit(2, biases=True, ridge=s.ridge).predict(out.rows, out.cols)
        assert s.held_out == pytest.approx(math.sqrt(np.mean(error**2)), rel=0.15)


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"biases": True}], ids=str)
def test_same_seed_same_answer_other_seeds_other_splits(options):
    e = plant(1, 12, 10, 2, noise=0.3)
    first, again = e.fit(2, rng=7, **options), e.fit(2, rng=7, **options)
    drawn = e.fit(2, rng=np.random.default_rng(7), **options)
    for other in (again, drawn):
        np.testing.assert_array_equal(other.x, first.x)
        assert (other.ridge, other.held_out, other.loss) == (first.ridge, first.held_out, first.loss)
    scores = {e.fit(2, rng=seed, **options).held_out for seed in range(4)}
    assert len(scores) == 4


def test_chosen_penalties_predict_fresh_entries_better_than_none():
    """On noisy entries of low rank and biases; not on each instance, but by far on most."""
    gains = []
    for seed in range(5):
        e = plant(seed, 24, 20, 2, share=0.4, noise=1.0, offsets=True)
        i, j = e.unseen()
        chosen, none = (e.fit(2, biases=True, ridge=ridge, max_iterations=60) for ridge in ("auto", 0))
        errors = [np.linalg.norm(s.predict(i, j) - e.truth[i, j]) for s in (chosen, none)]
        gains.append(errors[0] / errors[1])
        assert chosen.ridge[0] > 0
        assert chosen.held_out >= 0.5
    assert np.median(gains) < 0.9
    assert np.sort(gains)[-2] < 1.0


def test_shrinkage_is_the_default_with_biases_and_no_bound():
    e = plant(2, 12, 10, 2, noise=0.3, offsets=True)
    default, auto = e.fit(2, biases=True), e.fit(2, biases=True, ridge="auto")
    np.testing.assert_array_equal(default.x, auto.x)
    assert default.ridge[0] > 0
    assert default.held_out > 0
    bounded = e.fit(2, biases=True, misfit=0.5)
    assert bounded.ridge == (0.0, 0.0)
    assert bounded.held_out is None


# Paths ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"ridge": 0.5}, {"ridge": "auto"}, {"biases": True}, {"nonnegative": True}, {"misfit": 0.1}],
    ids=str,
)
def test_a_path_holds_what_each_k_gives_alone(options):
    e = plant(3, 10, 9, 2, noise=0.3, share=0.9)
    for rng in (None, np.random.default_rng(5)):
        path = e.path((2, 1), rng=rng, **options)
        assert list(path) == [2, 1]
        for k in path:
            alone = e.fit(k, rng=None if rng is None else 5, **options)
            np.testing.assert_array_equal(path[k].x, alone.x)
            assert (path[k].ridge, path[k].held_out) == (alone.ridge, alone.held_out)
            assert path[k].status is alone.status
            assert path[k].cardinality <= k


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"biases": True}], ids=str)
def test_k_by_the_entries_held_out_for_the_ridge(options):
    e = plant(4, 20, 18, 2, noise=0.3, offsets=True)
    path = e.path((1, 2, 4), **options)
    chosen = path.choose_k("held-out")
    scores = [path[k].held_out for k in path]
    np.testing.assert_array_equal(path.scores["held-out"], scores)
    assert chosen == path.chosen == (1, 2, 4)[int(np.argmin(scores))]
    assert path.best is path[chosen]
    assert fa.choose_k(e.M, e.b, atoms=e.atoms, k=(1, 2, 4), by="held-out", **options) == chosen


def by_hand(entries, budgets, parts, weights, **options):
    """The loss on the entries of each part, of the fit to the others, summed."""
    total = np.zeros(len(budgets))
    for held in parts:
        rest = np.setdiff1d(np.arange(entries.b.size), held)
        loss = fa.LeastSquares(None if weights is None else weights[rest])
        out = entries.some(held)
        for i, k in enumerate(budgets):
            error = out.b - entries.some(rest).fit(k, loss=loss, **options).predict(out.rows, out.cols)
            total[i] += 0.5 * float(np.sum((1.0 if weights is None else weights[held]) * error**2))
    return total


@pytest.mark.parametrize(
    ("options", "weighted"),
    [
        ({"ridge": 1.0}, True),
        ({"biases": True, "ridge": (1.0, 0.5)}, False),
        ({"biases": True, "ridge": (1.0, 0.5)}, True),
        ({"nonnegative": True, "ridge": 1.0}, False),
    ],
    ids=["weighted", "biases", "biases, weighted", "nonnegative"],
)
def test_cross_validation_by_hand(options, weighted):
    e = plant(5, 10, 9, 2, noise=0.3, signs=False, offsets="biases" in options)
    w = np.random.default_rng(5).uniform(0.3, 3.0, e.b.size) if weighted else None
    path = e.path((1, 2), loss=fa.LeastSquares(w), **options)
    assert path.choose_k("cv", folds=2, rng=4) in (1, 2)
    parts = np.array_split(np.random.default_rng(4).permutation(e.b.size), 2)
    np.testing.assert_allclose(path.scores["cv"], by_hand(e, (1, 2), parts, w, **options), rtol=2e-2)
    path.choose_k("held-out", share=0.25, rng=6)
    held = np.random.default_rng(6).permutation(e.b.size)[: round(0.25 * e.b.size)]
    np.testing.assert_allclose(path.scores["held-out"], by_hand(e, (1, 2), [held], w, **options), rtol=2e-2)


@pytest.mark.parametrize("by", ["cv", "held-out", "bic", "ebic", "elbow"])
def test_every_way_to_choose_k_gives_one(by):
    e = plant(6, 14, 12, 2, share=0.8, noise=0.1)
    path = e.path((1, 2, 3), ridge="auto")
    chosen = path.choose_k(by)
    assert chosen in (1, 2, 3)
    assert chosen != 1
    assert np.isfinite(path.scores[by]).all()


# What does not matter -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WAYS)
def test_the_order_of_the_entries(name):
    e = plant(1, 10, 9, 2, noise=0.3)
    s = e.fit(2, **WAYS[name])
    other = e.some(np.random.default_rng(0).permutation(e.b.size)).fit(2, **WAYS[name])
    np.testing.assert_allclose(other.x, s.x, atol=1e-6 * np.abs(s.x).max())
    assert other.loss == pytest.approx(s.loss, rel=1e-6)


@pytest.mark.parametrize("name", WAYS)
def test_names_of_rows_and_columns_and_transposition(name):
    """Up to where descents end: they stop when the objective hardly moves."""
    for seed in range(2):
        e = plant(seed, 10, 9, 2, noise=0.3, share=0.85)
        s = e.fit(2, **WAYS[name])
        rng = np.random.default_rng(seed)
        P, Q = rng.permutation(10), rng.permutation(9)
        renamed = fa.fit(fa.Sampling(P[e.rows], Q[e.cols], (10, 9)), e.b, atoms=e.atoms, k=2, **WAYS[name])
        turned = fa.fit(fa.Sampling(e.cols, e.rows, (9, 10)), e.b, atoms=fa.RankOne(9, 10), k=2, **WAYS[name])
        np.testing.assert_allclose(renamed.x[P][:, Q], s.x, atol=1e-3 * np.abs(s.x).max())
        np.testing.assert_allclose(turned.x.T, s.x, atol=0.03 * np.abs(s.x).max())
        assert turned.loss + s.ridge[0] * turned.gauge == pytest.approx(s.loss + s.ridge[0] * s.gauge, rel=1e-2)
        if name == "biases":
            np.testing.assert_allclose(turned.biases.cols, s.biases.rows, atol=0.03 * np.abs(e.b).max())


@pytest.mark.parametrize("t", [1e-14, 1e-5, -1.0, 7.0, 1e5, 1e14])
@pytest.mark.parametrize("name", WAYS)
def test_units_of_the_values(name, t):
    """X is in the units of b: so is the ridge on its factors; that on the biases has none."""
    if name == "nonnegative" and t < 0:
        t = 1.0
    e = plant(2, 10, 9, 2, noise=0.3)
    options = dict(WAYS[name])
    s = e.fit(2, **options)
    if "ridge" in options:
        options["ridge"] = (abs(t) * s.ridge[0], s.ridge[1])
    other = e.with_values(t * e.b).fit(2, **options)
    np.testing.assert_allclose(other.x, t * s.x, atol=1e-3 * abs(t) * np.abs(s.x).max())
    assert other.loss == pytest.approx(t**2 * s.loss, rel=1e-3)
    assert other.misfit == pytest.approx(s.misfit, rel=1e-3)


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"biases": True}], ids=str)
@pytest.mark.parametrize("t", [1e-14, 1e-4, 1e4, 1e14])
def test_a_chosen_ridge_is_in_the_units_of_the_values(options, t):
    e = plant(3, 10, 9, 2, noise=0.3)
    s, other = e.fit(2, **options), e.with_values(t * e.b).fit(2, **options)
    assert other.ridge == pytest.approx((t * s.ridge[0], s.ridge[1]), rel=1e-3)
    assert other.held_out == pytest.approx(t * s.held_out, rel=1e-3)
    np.testing.assert_allclose(other.x, t * s.x, atol=1e-3 * t * np.abs(s.x).max())


@pytest.mark.parametrize("name", WAYS)
def test_the_kind_of_the_arrays(name):
    e = plant(4, 10, 9, 2, noise=0.3)
    e = e.with_values(np.round(10 * e.b))
    s = e.fit(2, **WAYS[name])
    strided = [np.repeat(v, 2)[::2] for v in (e.rows, e.cols, e.b)]
    lists = [v.tolist() for v in (e.rows, e.cols, e.b)]
    narrow = [e.rows.astype(np.uint8), e.cols.astype(np.int32), e.b.astype(np.int64)]
    grid = np.asfortranarray(np.full(e.shape, np.nan))
    grid[e.rows, e.cols] = e.b
    M, b = fa.Sampling.from_array(grid)
    for rows, cols, values in (strided, lists, narrow, (M.rows, M.cols, b)):
        other = fa.fit(fa.Sampling(rows, cols, e.shape), values, atoms=e.atoms, k=2, **WAYS[name])
        np.testing.assert_array_equal(other.x, s.x)


@pytest.mark.parametrize("name", [*WAYS, "auto"])
def test_what_is_passed_is_left_alone(name):
    e = plant(5, 10, 9, 2, noise=0.3)
    w = np.random.default_rng(0).uniform(0.5, 2.0, e.b.size)
    arrays = [e.rows, e.cols, e.b, w]
    before = [v.copy() for v in arrays]
    for v in arrays:
        v.flags.writeable = False
    s = e.fit(2, loss=fa.LeastSquares(w), **WAYS.get(name, {"ridge": "auto", "biases": True}))
    again = e.fit(2, loss=fa.LeastSquares(w), **WAYS.get(name, {"ridge": "auto", "biases": True}))
    for v, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(v, old)
    np.testing.assert_array_equal(again.x, s.x)
    assert again.loss == s.loss


def test_nothing_of_the_size_of_the_matrix_is_formed():
    rng = np.random.default_rng(0)
    p, q = 20_000, 10_000
    rows, cols = np.divmod(rng.choice(p * q, 300, replace=False), q)
    b = rng.standard_normal(300)
    tracemalloc.start()
    try:
        s = fa.fit(fa.Sampling(rows, cols, (p, q)), b, atoms=fa.RankOne(p, q), k=1, ridge=0.5, max_iterations=5)
        assert s.predict(rows, cols).shape == b.shape
        assert s.top(rows[0], 3)[0].size == 3
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.01 * 8 * p * q


# On the way -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*WAYS, "auto"])
def test_what_the_callback_sees_never_rises(name):
    """The loss where it alone is minimised or bounded, otherwise the loss and the ridge's share."""
    e = plant(0, 12, 10, 2, noise=0.3)
    seen = []
    s = e.fit(2, callback=seen.append, **WAYS.get(name, {"biases": True}))
    assert [p.iteration for p in seen] == list(range(1, s.iterations + 1))
    values = np.array([p.loss + s.ridge[0] * p.candidate.gauge for p in seen])
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert s.loss + s.ridge[0] * s.gauge <= values[-1] * (1 + 1e-9)
    assert all(p.cardinality <= 2 for p in seen)
    assert seen[-1].misfit == pytest.approx(s.misfit, rel=1e-3)
    assert (np.diff([p.products for p in seen]) > 0).all()


@pytest.mark.parametrize("name", ["plain", "ridge", "biases", "nonnegative"])
def test_gaps_may_be_asked_for_late(name):
    """After the run, in any order; each says how far a point it knows is from the optimum of its relaxation."""
    e = plant(1, 8, 7, 2, noise=0.3)
    seen = []
    s = e.fit(2, callback=seen.append, **WAYS[name])
    for progress in seen[:: max(1, len(seen) // 4)][::-1]:
        relaxed = progress.dual.relaxation
        known = [(progress.dual.loss, progress.dual.gauge), (progress.candidate.loss, progress.candidate.gauge)]
        more = {"shrink": s.ridge[1], "center": s.biases.center} if name == "biases" else {}
        optimum, _ = relaxation(e, relaxed.parameter, **more)
        assert math.isfinite(progress.gap)
        assert progress.gap >= 0
        best = min(relaxed.primal_value(*point) for point in known)
        assert optimum - 1e-6 * (1 + optimum) <= best <= optimum + progress.gap + 1e-6 * (1 + optimum)


def test_errors_of_a_callback_pass_through():
    def callback(progress):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        plant(0, 8, 7, 2, noise=0.3).fit(2, callback=callback)


# Where to begin -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("name", WAYS)
def test_from_an_answer_with_fewer_or_more_atoms(name, k):
    """The budget is used, and where one begins matters little."""
    e = plant(2, 10, 9, 2, noise=0.3, share=0.95, signs=name != "nonnegative")
    before, alone = e.fit(k, **WAYS[name]), e.fit(2, **WAYS[name])
    s = e.fit(2, start=before, **WAYS[name])
    assert s.cardinality <= 2
    assert s.success == alone.success
    if name == "nonnegative":
        assert min(s.left.min(), s.right.min()) >= 0
    if name != "bound":
        assert_at_most(objective(e, s), objective(e, alone), 0.05)
        if k <= 2:
            assert_at_most(objective(e, s), objective(e, before), 1e-4)


@pytest.mark.parametrize("options", [{}, {"ridge": 0.5}, {"nonnegative": True, "ridge": 0.2}], ids=str)
def test_from_an_answer_without_atoms(options):
    e = plant(3, 12, 10, 2, noise=0.2, share=0.9, signs=False)
    nothing = e.with_values(0.0 * e.b).fit(2, **options)
    assert nothing.status is fa.Status.ZERO
    assert_at_most(objective(e, e.fit(2, start=nothing, **options)), objective(e, e.fit(2, **options)), 0.05)


def test_from_an_answer_of_other_ways():
    """Biases, signs and ridges of the start are its own."""
    e = plant(4, 9, 8, 2, noise=0.2, share=0.9, signs=False)
    answers = {name: e.fit(2, **options) for name, options in WAYS.items()}
    for name, alone in answers.items():
        for start in answers.values():
            s = e.fit(2, start=start, **WAYS[name])
            assert s.success == alone.success
            if name == "bound":
                assert s.misfit <= 0.2 * (1 + 1e-9)
            else:
                assert_at_most(objective(e, s), objective(e, alone), 1e-2)


@pytest.mark.parametrize(
    ("start", "kind", "message"),
    [
        (3, TypeError, r"^start must be the Solution of an earlier fit; got int$"),
        ((4, 5), ValueError, r"^start must be a model made of RankOne\(8, 7\); got one made of RankOne\(4, 5\)$"),
    ],
    ids=["number", "shape"],
)
def test_starts_that_do_not_fit(start, kind, message):
    other = plant(0, *start, 1).fit(1) if isinstance(start, tuple) else start
    with pytest.raises(kind, match=message):
        plant(0, 8, 7, 2).fit(2, start=other)


# Other operators ------------------------------------------------------------------------------------------------------


def gaussian(seed, p=6, q=5, rank=2, m=28):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((p, rank)) @ rng.standard_normal((q, rank)).T
    return rng.standard_normal((m, p * q)), X


class Measured(fa.Operator):
    """M(X) = G vec(X), which keeps count of how it is asked."""

    def __init__(self, G, shape):
        self.G, self.shape, self._model_shape = G, G.shape, shape
        self.whole = self.in_factors = 0

    @property
    def model_shape(self):
        return self._model_shape

    def apply(self, x):
        self.whole += 1
        return self.G @ np.ravel(x)

    def adjoint(self, y):
        return (self.G.T @ y).reshape(self._model_shape)

    def apply_factors(self, U, V):
        self.in_factors += 1
        assert U.shape[1] == V.shape[1]
        return self.G @ (U @ V.T).ravel()


class MeasuredBox(LinearOperator):
    """The same as SciPy has it, with products for factors beside."""

    def __init__(self, G):
        super().__init__(float, G.shape)
        self.G, self.whole, self.in_factors = G, 0, 0

    def _matvec(self, x):
        self.whole += 1
        return self.G @ x.ravel()

    def _rmatvec(self, y):
        return self.G.T @ y.ravel()

    def apply_factors(self, U, V):
        self.in_factors += 1
        return self.G @ (U @ V.T).ravel()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bound", [{}, {"misfit": 1e-7}], ids=["", "bound"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_gaussian_measurements_of_a_low_rank_matrix(seed, bound, order):
    G, X = gaussian(seed)
    G = np.asarray(G, order=order)
    s = fa.fit(G, G @ X.ravel(), atoms=fa.RankOne(6, 5), k=2, **bound)
    assert s.success
    assert s.cardinality == 2
    np.testing.assert_allclose(s.x, X, atol=1e-5 * np.abs(X).max())


@pytest.mark.parametrize("make", [lambda G: Measured(G, (6, 5)), MeasuredBox], ids=["operator", "linear operator"])
@pytest.mark.parametrize("bound", [{}, {"misfit": 1e-7}], ids=["", "bound"])
def test_operators_that_know_factors_are_not_given_matrices(make, bound):
    for seed in range(2):
        G, X = gaussian(seed)
        M = make(G)
        s = fa.fit(M, G @ X.ravel(), atoms=fa.RankOne(6, 5), k=2, **bound)
        np.testing.assert_allclose(s.x, X, atol=1e-5 * np.abs(X).max())
        assert s.certificate.gap >= 0
        assert M.whole == 0
        assert M.in_factors > 0
        plain = fa.fit(G, G @ X.ravel(), atoms=fa.RankOne(6, 5), k=2, **bound)
        np.testing.assert_allclose(s.x, plain.x, atol=1e-5 * np.abs(X).max())


def test_what_apply_factors_returns_is_checked():
    G, X = gaussian(0)
    for result, message in (
        (np.ones(3), r"^M\.apply_factors must return 28 numbers; got shape \(3,\)$"),
        (np.full(28, np.nan), r"^M\.apply_factors's result must hold finite numbers only; it contains nan$"),
    ):
        M = MeasuredBox(G)
        M.apply_factors = lambda U, V, r=result: r
        with pytest.raises(ValueError, match=message):
            fa.fit(M, G @ X.ravel(), atoms=fa.RankOne(6, 5), k=2)


def test_the_sweeps_agree_with_other_oracles():
    """Which do not know of sweeps: the same minimum, or a worse one."""
    for seed in range(2):
        e = plant(seed, 10, 9, 2, noise=0.2, share=0.9)
        s, other = e.fit(2), e.fit(2, oracle=oracles.Continuation())
        assert_at_most(s.loss, other.loss, 1e-4)


# Nothing to explain, little to explain it with ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*WAYS, "auto", "auto biases"])
def test_zeros_need_no_atoms(name):
    e = plant(0, 9, 8, 2)
    options = {"auto": {"ridge": "auto"}, "auto biases": {"biases": True}, **WAYS}[name]
    s = e.with_values(np.zeros(e.b.size)).fit(2, **options)
    assert s.status is fa.Status.ZERO
    assert s.success
    assert s.cardinality == 0
    assert s.loss == s.misfit == 0.0
    np.testing.assert_array_equal(s.predict(e.rows, e.cols), 0.0)
    assert s.held_out is None or s.held_out == 0.0


@pytest.mark.parametrize("options", [{"ridge": "auto"}, {"biases": True}], ids=str)
@pytest.mark.parametrize("by", ["held-out", "cv"])
def test_a_path_over_zeros_needs_no_atoms_for_any_k(options, by):
    e = plant(0, 9, 8, 2)
    path = e.with_values(np.zeros(e.b.size)).path((2, 1), **options)
    assert path.choose_k(by) in (1, 2)
    assert path.best.cardinality == 0
    np.testing.assert_array_equal(path.scores[by], 0.0)


@pytest.mark.parametrize("value", [3.0, 0.1, -7e5])
@pytest.mark.parametrize("ridge", ["auto", 0, 0.5])
def test_equal_values_are_a_centre(value, ridge):
    e = plant(0, 9, 8, 2)
    s = e.with_values(np.full(e.b.size, value)).fit(2, biases=True, ridge=ridge)
    i, j = np.indices(e.shape)
    np.testing.assert_allclose(s.predict(i, j), value, rtol=1e-9)
    assert s.cardinality == 0
    assert s.misfit <= 1e-9
    assert s.held_out is None or s.held_out <= 1e-9 * abs(value)


@pytest.mark.parametrize("options", [{}, {"misfit": 1e-6}, {"nonnegative": True, "misfit": 1e-4}], ids=str)
def test_equal_values_are_a_rank_one_matrix(options):
    e = plant(1, 9, 8, 2)
    s = e.with_values(np.full(e.b.size, 3.0)).fit(1, **options)
    np.testing.assert_allclose(s.x, 3.0, atol=3e-3)
    assert s.cardinality == 1
    assert s.success


@pytest.mark.parametrize(
    "options", [{}, {"ridge": 0.1}, {"nonnegative": True}, {"biases": True, "ridge": 0.1}], ids=str
)
def test_a_single_entry(options):
    s = fa.fit(fa.Sampling([3], [2], (5, 4)), [2.0], atoms=fa.RankOne(5, 4), k=2, **options)
    assert s.predict(3, 2) == pytest.approx(2.0, abs=0.2)
    assert s.cardinality <= 2
    assert "4 rows have no entries (number 0 for one)" in s.message


@pytest.mark.parametrize("options", [{}, {"ridge": 0.1}, {"biases": True}, {"biases": True, "ridge": 0}], ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_entries_of_a_single_row(options, turned):
    """Of a matrix with more rows, or of one that has no others."""
    b, ones, many = np.array([1.0, 2.0, -1.0, 4.0, 3.0, 1.5]), np.zeros(6, dtype=int), np.arange(6)
    for p in (1, 5):
        shape = (6, p) if turned else (p, 6)
        M = fa.Sampling(many, ones, shape) if turned else fa.Sampling(ones, many, shape)
        s = fa.fit(M, b, atoms=fa.RankOne(*shape), k=1, **options)
        found = s.predict(many, 0) if turned else s.predict(0, many)
        assert np.isfinite(found).all()
        if "biases" not in options:  # a ridge takes off its own length
            np.testing.assert_allclose(found, b * (1 - options.get("ridge", 0.0) / np.linalg.norm(b)), rtol=1e-3)
        assert ("no entries" in s.message) == (p == 5)


def test_too_little_to_choose_a_ridge_from():
    with pytest.raises(ValueError, match=r'^ridge="auto" needs at least 2 entries, some to hold out; got 1$'):
        fa.fit(fa.Sampling([0], [0], (2, 2)), [1.0], atoms=fa.RankOne(2, 2), k=1, ridge="auto")
    s = fa.fit(fa.Sampling([0, 1], [0, 1], (2, 2)), [1.0, 2.0], atoms=fa.RankOne(2, 2), k=1, ridge="auto")
    assert s.held_out > 0


def test_more_unknowns_than_entries_are_said():
    e = plant(0, 12, 10, 2, share=0.3, least=2)
    for k in (1, 3):
        unknowns = k * (22 - k)
        said = f"{unknowns} unknowns are more than {e.b.size} entries can determine: a smaller k or a ridge would help"
        assert (said in e.fit(k).message) == (unknowns > e.b.size)
        assert said not in e.fit(k, ridge=0.5).message
    assert "unknowns" in e.fit(3).message
    assert "no entries" not in e.fit(1).message


# Bad input ------------------------------------------------------------------------------------------------------------

FEW = plant(0, 5, 4, 1, share=0.8)
ONLY = "is for RankOne atoms, Sampling and least squares without free columns; got "


def ask(M=None, b=None, **options):
    return fa.fit(FEW.M if M is None else M, FEW.b if b is None else b, **{"atoms": FEW.atoms, "k": 1, **options})


BAD_POSITIONS = [
    ([0, 1, 0], [1, 1, 1], (2, 2), ValueError, r"^rows and cols must name each entry once; 1 repeat.*\(0, 1\)"),
    ([0, 0, 1], [1, 1, 1], (2, 2), ValueError, r"^rows and cols must name each entry once; .*duplicates='mean'"),
    ([0, 2], [0, 0], (2, 2), ValueError, r"^rows must lie between 0 and 1; got 2$"),
    ([0, 1], [0, 5], (2, 2), ValueError, r"^cols must lie between 0 and 1; got 5$"),
    ([0, -1], [0, 0], (2, 2), ValueError, r"^rows must lie between 0 and 1; got -1$"),
    ([0, 1.0], [0, 0], (2, 2), TypeError, r"^rows must hold integers; got an array of float64$"),
    ([0], ["a"], (2, 2), TypeError, r"^cols must hold integers; got an array of <U1$"),
    ([True], [0], (2, 2), TypeError, r"^rows must hold integers; got an array of bool$"),
    ([0, 1], [0], (2, 2), ValueError, r"^rows and cols must have the same length; got 2 and 1$"),
    ([], [], (2, 2), ValueError, r"^rows and cols must name at least one entry; got none$"),
    ([0], [0], 4, TypeError, r"^shape must be a pair of integers \(rows, columns\); got 4$"),
    ([0], [0], (0, 4), ValueError, r"^shape\[0\] must be an integer of at least 1; got 0$"),
    ([0], [0], (4, 1.5), TypeError, r"^shape\[1\] must be an integer of at least 1; got 1.5$"),
]


@pytest.mark.parametrize(
    ("rows", "cols", "shape", "kind", "message"), BAD_POSITIONS, ids=[str(case[:3]) for case in BAD_POSITIONS]
)
def test_bad_positions(rows, cols, shape, kind, message):
    with pytest.raises(kind, match=message):
        fa.Sampling(rows, cols, shape)


def test_entries_given_twice_are_merged_if_asked():
    rows, cols, values = [2, 0, 2, 1, 2], [1, 0, 1, 1, 1], [1.0, 5.0, 4.0, -1.0, 10.0]
    with pytest.raises(ValueError, match=r"^rows and cols must name each entry once; 2 repeat another, \(2, 1\)"):
        fa.Sampling.from_triplets(rows, cols, values)
    with pytest.raises(ValueError, match=r"^duplicates must be 'error', 'mean' or 'last'; got 'sum'$"):
        fa.Sampling.from_triplets(rows, cols, values, duplicates="sum")
    for how, merged in (("mean", 5.0), ("last", 10.0)):
        M, b = fa.Sampling.from_triplets(rows, cols, values, duplicates=how)
        assert {(2, 1): merged, (0, 0): 5.0, (1, 1): -1.0} == {
            (int(i), int(j)): float(v) for i, j, v in zip(M.rows, M.cols, b, strict=True)
        }
        s = fa.fit(M, b, atoms=fa.RankOne(3, 2), k=2)
        assert s.predict(2, 1) == pytest.approx(merged, rel=1e-2)


@pytest.mark.parametrize(
    ("b", "kind", "message"),
    [
        (np.where(np.arange(FEW.b.size) == 3, np.nan, FEW.b), ValueError, r"^b must hold finite numbers .* nan$"),
        (np.where(np.arange(FEW.b.size) == 3, -np.inf, FEW.b), ValueError, r"^b must hold finite numbers .* -inf$"),
        (FEW.b[:-1], ValueError, rf"^b must have {FEW.b.size} entries .*; got shape \({FEW.b.size - 1},\)$"),
        (FEW.truth, ValueError, rf"^b must be a vector of length m = {FEW.b.size}; got shape \(5, 4\)"),
        (1j * FEW.b, TypeError, r"^b must be real; got an array of complex128$"),
        (FEW.b.astype(str), TypeError, r"^b must hold real numbers; got an array of <U"),
        (np.ma.array(FEW.b, mask=FEW.b > 0), ValueError, r"^b must not have masked entries"),
    ],
    ids=["nan", "inf", "short", "matrix", "complex", "text", "masked"],
)
@pytest.mark.parametrize("options", [{}, {"biases": True}], ids=["", "biases"])
def test_bad_values(b, kind, message, options):
    with pytest.raises(kind, match=message):
        ask(b=b, **options)


RIDGE = r"^ridge must be a .*pair.*; got "


BAD_DEMANDS = [
    (
        {"k": 5},
        ValueError,
        r"^k must be an integer between 1 and 4, the number of atoms of RankOne\(5, 4\); got 5$",
    ),
    ({"k": 0}, ValueError, r"^k must be an integer between 1 and 4, .*; got 0$"),
    ({"k": 1.5}, TypeError, r"^k must be an integer between 1 and 4, .*; got 1.5$"),
    ({"k": None}, TypeError, r"^k must say how many atoms are allowed.*; got None$"),
    ({"k": None, "misfit": 0.1}, TypeError, r"^k must be given for RankOne\(5, 4\), .*; got None$"),
    ({"ridge": -1}, ValueError, r"^ridge must be a nonnegative .*; got -1$"),
    ({"ridge": np.nan}, ValueError, r"^ridge must be a nonnegative .*; got nan$"),
    ({"ridge": np.inf}, ValueError, r"^ridge must be a nonnegative .*; got inf$"),
    ({"ridge": (1, -2)}, ValueError, r"^ridge\[1\] must be a nonnegative finite number; got -2$"),
    ({"ridge": (1, "auto")}, TypeError, r"^ridge\[1\] must be a nonnegative finite number; got 'auto'$"),
    (
        {"ridge": (0.0, 1.0), "biases": True, "misfit": 0.1},
        ValueError,
        r"^ridge\[1\] must be 0 where there is a bound.*; got 1.0$",
    ),
    ({"ridge": "auto", "misfit": 0.1}, ValueError, r'^ridge must be a number where there is a bound; got "auto"$'),
    ({"ridge": "x"}, ValueError, RIDGE + "'x'$"),
    ({"ridge": (1, 2, 3)}, (TypeError, ValueError), RIDGE + r"\(1, 2, 3\)$"),
    ({"ridge": [1]}, (TypeError, ValueError), RIDGE + r"\[1\]$"),
    ({"ridge": True}, TypeError, r"^ridge must be .*; got True$"),
    ({"biases": "yes"}, TypeError, r"^biases must be True or False; got 'yes'$"),
    ({"biases": 1}, TypeError, r"^biases must be True or False; got 1$"),
    ({"nonnegative": None}, TypeError, r"^nonnegative must be True or False; got None$"),
    ({"misfit": -0.1}, ValueError, r"^misfit must be a nonnegative finite number; got -0.1$"),
    ({"misfit": 0.1, "alpha": 1.0}, ValueError, r"^alpha and misfit bound the same thing, give one; got"),
    ({"include": [0]}, ValueError, r"^include is for sets whose atoms can be listed; got RankOne\(5, 4\)$"),
    ({"rng": "x", "ridge": "auto"}, (TypeError, ValueError), r"^rng must be None, a seed or a generator"),
    ({"max_iterations": 0, "ridge": "auto"}, ValueError, r"^max_iterations must be an integer of at least 1"),
    ({"loss": fa.LeastSquares(np.ones(3))}, ValueError, r"^weights of the loss must have \d+ entries.*; got 3$"),
    (
        {"loss": fa.LeastSquares(np.ones(3)), "biases": True},
        ValueError,
        r"^weights of the loss must have \d+ entries.*; got 3$",
    ),
    (
        {"atoms": fa.RankOne(4, 5)},
        ValueError,
        r"^atoms must have the shape that M takes, \(5, 4\); RankOne\(4, 5\)",
    ),
    ({"atoms": fa.RankOne(3, 3)}, ValueError, r"^atoms must live in the space that M takes, 20 entries"),
]


@pytest.mark.parametrize(("options", "kind", "message"), BAD_DEMANDS, ids=[str(case[0]) for case in BAD_DEMANDS])
def test_bad_demands(options, kind, message):
    with pytest.raises(kind, match=message):
        ask(**options)
    if "k" not in options:
        with pytest.raises(kind, match=message):
            fa.fit_path(FEW.M, FEW.b, **{"atoms": FEW.atoms, "k": (1, 2), **options})


DENSE = np.random.default_rng(0).standard_normal((8, 20))


@pytest.mark.parametrize("name", ["biases", "ridge", "auto", "nonnegative"])
@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"M": np.eye(3), "b": np.ones(3), "atoms": fa.SignedOneHot(3)}, r"SignedOneHot\(3\)"),
        ({"M": DENSE, "b": np.ones(8)}, r"RankOne\(5, 4\)"),
        ({"atoms": fa.SignedOneHot((5, 4))}, r"SignedOneHot\(\(5, 4\)\)"),
        ({"atoms": 2.0 * FEW.atoms}, r"2 \* RankOne\(5, 4\)"),
        ({"M": fa.Sampling([0, 1], [0, 1], (4, 4)), "b": np.ones(2), "atoms": fa.PSDRankOne(4)}, r"PSDRankOne\(4\)"),
        ({"M": fa.Identity((5, 4)), "b": np.ones((5, 4))}, r".*Identity"),
        ({"loss": fa.Huber(1.0)}, r".*Huber\(delta=1\)"),
        ({"free": "intercept"}, r".*free columns"),
        ({"free": np.arange(1.0, FEW.b.size + 1)}, r".*free columns"),
        ({"atoms": FEW.atoms + fa.SignedOneHot((5, 4)), "k": (1, 1)}, r"\(RankOne"),
    ],
    ids=["one-hot", "dense", "one-hot entries", "scaled", "psd", "identity", "huber", "intercept", "free", "sum"],
)
def test_what_is_for_sampled_low_rank_matrices_only(name, options, shown):
    asked = {"ridge": {"ridge": 1.0}, "auto": {"ridge": "auto"}}.get(name, {name: True})
    named = "ridge" if name == "auto" else name
    with pytest.raises(ValueError, match=f"^{named} {ONLY}{shown}") as caught:
        ask(**options, **asked)
    assert "object at 0x" not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"ridge": 1.0}, {"ridge": "auto"}, {"biases": True}, {"nonnegative": True}], ids=str
)
@pytest.mark.parametrize("expert", [{"oracle": fa.LevelSet()}, {"retrieval": fa.paper_rule()}], ids=["oracle", "rule"])
def test_demands_on_factors_are_for_the_default_way(options, expert):
    (given,) = expert
    message = f"^{given} must be left out with biases, ridge or nonnegative, which need the default; got [A-Z]"
    with pytest.raises(ValueError, match=message):
        ask(**options, **expert)
    with pytest.raises(ValueError, match=message):
        fa.fit_path(FEW.M, FEW.b, atoms=FEW.atoms, k=(1, 2), **options, **expert)


# Weights over orders of magnitude ------------------------------------------------------------------------------------


@pytest.mark.parametrize("noisy", [False, True], ids=["equal noise", "noise as the weights say"])
@pytest.mark.parametrize("seed", range(6))
def test_uneven_weights_reach_what_a_descent_from_the_truth_reaches(seed, noisy):
    rng = np.random.default_rng(seed)
    e = plant(seed, 24, 20, 2, share=0.65)
    weights = 10.0 ** rng.uniform(-3, 3, e.b.size)
    e = e.with_values(e.b + rng.standard_normal(e.b.size) * (weights**-0.5 if noisy else 0.1))
    s = e.fit(2, loss=fa.LeastSquares(weights=weights))
    best, *_ = alternating(e, np.linalg.svd(e.truth)[2][:2].T, weights=weights, sweeps=100)
    assert s.loss <= 1.02 * best


# Atoms that a ridge makes nothing of ---------------------------------------------------------------------------------


@pytest.mark.parametrize("offsets", [False, True])
def test_noise_seldom_gets_atoms_from_a_chosen_ridge(offsets):
    sizes = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows, cols = np.nonzero(rng.random((50, 40)) < 0.6)
        b = rng.standard_normal(rows.size)
        if offsets:
            b += 3 + 2 * rng.standard_normal(50)[rows] + rng.standard_normal(40)[cols]
        s = fa.fit(fa.Sampling(rows, cols, (50, 40)), b, atoms=fa.RankOne(50, 40), k=3, biases=offsets, ridge="auto")
        assert s.success
        assert np.linalg.norm((s.left @ s.right.T)[rows, cols]) <= 0.5 * np.sqrt(rows.size)
        sizes.append(s.cardinality)
    assert np.median(sizes) == 0


@pytest.mark.parametrize("seed", range(3))
def test_without_noise_a_chosen_ridge_is_next_to_none(seed):
    e = plant(seed, 30, 25, 2, share=0.8, offsets=True)
    s = e.fit(2, biases=True)
    rows, cols = e.unseen()
    error = s.predict(rows, cols) - e.truth[rows, cols]
    assert np.linalg.norm(error) <= 1e-4 * np.linalg.norm(e.truth[rows, cols])


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


# Messages with a ridge -----------------------------------------------------------------------------------------------


def test_messages_with_a_ridge_speak_of_it():
    e = plant(0, 12, 10, 2, noise=0.3)
    assert "smallest loss + ridge times gauge" in e.fit(2, ridge=0.5).message
    missed = e.fit(2, ridge=50.0, misfit=1e-3)
    assert missed.status is fa.Status.NOT_REACHED
    assert "smaller ridge" in missed.message


def test_few_entries_for_the_unknowns_are_said():
    e = plant(0, 12, 10, 3, share=0.65)
    unknowns = 3 * (12 + 10 - 3)
    assert unknowns <= e.b.size < 2 * unknowns
    assert f"{e.b.size} entries are few for {unknowns} unknowns" in e.fit(3).message
    assert "few for" not in e.fit(3, ridge=0.1).message
    assert "few for" not in e.fit(1).message


# Evidence that waits -------------------------------------------------------------------------------------------------


def test_threads_that_read_one_certificate_agree():
    from concurrent.futures import ThreadPoolExecutor

    e = plant(1, 40, 30, 2, noise=0.3)
    for options in (WAYS["ridge"], {"misfit": 0.5}, WAYS["biases"]):
        certificate = e.fit(2, **options).certificate
        with ThreadPoolExecutor(8) as pool:
            seen = list(pool.map(lambda _, c=certificate: (c.gap, c.primal, c.dual, c.tau_lower), range(16)))
        assert len(set(seen)) == 1
        assert math.isfinite(seen[0][0])


@pytest.mark.parametrize("name", WAYS)
def test_answers_may_be_pickled_before_anybody_reads_their_certificate(name):
    import pickle

    s = plant(1, 12, 10, 2, noise=0.3).fit(2, **WAYS[name])
    other = pickle.loads(pickle.dumps(s))
    assert other.certificate.gap == pytest.approx(s.certificate.gap, rel=1e-9)
    assert str(other.certificate) == str(s.certificate)


@pytest.mark.parametrize("name", WAYS)
def test_looking_at_gaps_costs_the_run_nothing_and_is_not_lost(name):
    e = plant(1, 12, 10, 2, noise=0.3)
    gaps = []
    blind, seen = e.fit(2, **WAYS[name]), e.fit(2, callback=lambda progress: gaps.append(progress.gap), **WAYS[name])
    assert seen.products == blind.products
    assert seen.certificate.products >= blind.certificate.products
    if name in ("ridge", "biases", "bound"):  # one relaxation for the whole run
        assert seen.certificate.gap <= min(gaps) * (1 + 1e-9)


# Input ---------------------------------------------------------------------------------------------------------------


def test_labels_are_not_taken_for_indices():
    with pytest.raises(ValueError, match=r"indices up to 1000000000000 look like labels.*numpy.unique"):
        fa.Sampling.from_triplets([0, 10**12], [0, 1], [1.0, 2.0])


def test_sparse_matrices_do_not_say_what_is_missing():
    from scipy.sparse import csr_array

    with pytest.raises(TypeError, match=r"X must be a dense array with NaN.*from_triplets"):
        fa.Sampling.from_array(csr_array(np.eye(3)))


def test_predictions_at_other_entries_include_biases():
    e = plant(2, 12, 10, 2, offsets=True)
    s = e.fit(2, biases=True)
    rows, cols = e.unseen()
    there = fa.Sampling(rows, cols, e.shape)
    np.testing.assert_allclose(s.predict(there), s.predict(rows, cols), atol=1e-12)
    with pytest.raises(ValueError, match="free is for predict"):
        s.predict(rows, cols, free=np.ones(rows.size))
    with pytest.raises(ValueError, match="M_new must be a Sampling where there are biases"):
        s.predict(np.ones((2, 120)))


@pytest.mark.parametrize("by", ["bic", "ebic"])
def test_criteria_leave_out_what_interpolates(by):
    e = plant(0, 8, 7, 2, share=0.7, noise=0.1)
    path = e.path(range(1, 6))
    path.choose_k(by)
    interpolates = np.array([k * (8 + 7 - k) >= e.b.size for k in range(1, 6)])
    assert interpolates.any()
    assert np.isinf(path.scores[by][interpolates]).all()
    assert not np.isinf(path.scores[by][~interpolates]).any()
    assert not interpolates[path.chosen - 1]
