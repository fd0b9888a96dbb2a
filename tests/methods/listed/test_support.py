"""The best coefficients on a support, against lstsq, nnls, boxes and slow descents; what each class is worth."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import lsq_linear, minimize

import fewatoms as fa
from contracts.families import black_box
from fewatoms.budget import Budget
from journeys.planting import spikes, squares
from methods.listed.small import (
    FREE,
    KINDS,
    LABELS,
    SETS,
    N,
    best_of_all,
    blocks_of,
    case,
    fits_of,
    image_of,
    refit,
    smooth_refit,
    with_offset,
)
from theory.pairs import LOSSES as EVERY_LOSS
from theory.ridges import BARRED, FAMILIES, random_case

FORMS = {"array": np.asarray, "sparse": sp.csc_array, "box": black_box}


def supports(rng, count, sizes=(1, 3, 5)):
    return [rng.permutation(count)[:size] for size in sizes]


def joined(blocks, classes):
    return np.concatenate([blocks[g] for g in classes], axis=1)


def assert_is_what_it_says(fits, candidate):
    residual = fits.problem.b - image_of(fits, candidate)
    np.testing.assert_allclose(candidate.residual, residual, atol=1e-9 * np.linalg.norm(fits.problem.b))
    assert candidate.loss == pytest.approx(fits.problem.loss.value(residual), rel=1e-8)


# Least squares --------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SETS)
def test_the_best_coefficients_on_a_support(name, form):
    """Whether columns depend on each other or not, whatever their units."""
    atoms, _, _, nonnegative = SETS[name]
    for seed, kind in enumerate(KINDS):
        A, b, weights, _, blocks, target = case(name, kind, seed)
        fits = fits_of(fa.Problem.of(FORMS[form](A), b, atoms=atoms, k=3, loss=fa.LeastSquares(weights)))
        for classes in supports(np.random.default_rng(seed), len(blocks)):
            support = fits.fit(classes)
            best = refit(joined(blocks, classes), target, nonnegative)[0]
            assert support.loss == pytest.approx(best, rel=1e-8), (kind, classes)
            assert set(support.classes.tolist()) <= set(classes.tolist())
            assert fits.asked[classes].all()
            assert not nonnegative or (support.c > 0).all()
            assert_is_what_it_says(fits, fits.candidate(support))


@pytest.mark.parametrize("nonnegative", [False, True], ids=["signed", "nonnegative"])
def test_of_dependent_columns_as_many_are_kept_as_are_independent(nonnegative):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((10, 3))
    A = np.column_stack([A, -A[:, 0], 2 * A[:, 1], A[:, 0] + A[:, 1], np.zeros(10)])
    b = -A[:, 0] + A[:, 1] + 0.3 * A[:, 2] + 0.1 * rng.standard_normal(10)
    atoms = fa.NonnegativeOneHot(7) if nonnegative else fa.SignedOneHot(7)
    fits = fits_of(fa.Problem.of(A, b, atoms=atoms, k=7))
    for classes in (np.arange(7), np.arange(7)[::-1], np.array([0, 3, 2]), np.array([3, 0]), np.array([6, 5, 0, 1])):
        support = fits.fit(classes)
        assert support.loss == pytest.approx(refit(A[:, classes], b, nonnegative)[0], rel=1e-9)
        assert np.linalg.matrix_rank(A[:, support.classes]) == support.classes.size
    assert fits.fit(np.array([6])).classes.size == 0


def test_no_classes_leave_the_data():
    A, b, weights, *_, target = case("signed", "plain", 1)
    fits = fits_of(fa.Problem.of(A, b, atoms=fa.SignedOneHot(N), k=3, loss=fa.LeastSquares(weights)))
    support = fits.fit(np.empty(0, dtype=np.intp))
    assert support.loss == pytest.approx(0.5 * target @ target)
    np.testing.assert_allclose(support.residual, target)
    assert support.by_class() == {}


@pytest.mark.parametrize("name", SETS)
def test_costs_are_what_the_loss_rises_by_without_each_class(name):
    atoms, _, _, nonnegative = SETS[name]
    A, b, weights, _, blocks, target = case(name, "autoregressive", 3)
    fits = fits_of(fa.Problem.of(A, b, atoms=atoms, k=3, loss=fa.LeastSquares(weights)))
    support = fits.fit(np.random.default_rng(2).permutation(len(blocks))[:9])
    assert support.classes.size >= 2
    for i, cost in enumerate(support.costs):
        others = joined(blocks, np.delete(support.classes, i))
        assert cost == pytest.approx(refit(others, target)[0] - support.loss, rel=1e-6)
        # signs can only make it dearer
        assert refit(others, target, nonnegative)[0] - support.loss >= cost * (1 - 1e-6)
    np.testing.assert_allclose(np.concatenate(list(support.by_class().values())), support.c)
    assert list(support.by_class()) == support.classes.tolist()


# Boxes ----------------------------------------------------------------------------------------------------------------

CAPPED = {
    "signed": (fa.SignedOneHot(N), -1.0),
    "nonnegative": (fa.NonnegativeOneHot(N), 0.0),
    "turned over": (-2.0 * fa.NonnegativeCone(N), 0.0),
    "groups": (fa.Groups(LABELS), -1.0),
    "dictionary": (SETS["dictionary"][0], -1.0),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cap", [0.02, 0.3, 1e6])
@pytest.mark.parametrize("name", CAPPED)
def test_a_cap_is_a_box_of_the_users_coefficients(name, cap):
    atoms, lower = CAPPED[name]
    for kind in ("plain", "units", "duplicated", "low rank"):
        A, b, *_ = case(name, kind, 2)
        fits = fits_of(fa.Problem.of(A, b, atoms=atoms, k=3, cap=cap))
        blocks = blocks_of(fits)
        for classes in supports(np.random.default_rng(5), len(blocks), (1, 4)):
            candidate = fits.candidate(fits.fit(classes))
            columns = joined(blocks, classes)
            best = lsq_linear(columns, b, (lower * cap, cap), method="bvls", tol=1e-14).cost
            assert candidate.loss == pytest.approx(best, rel=1e-8)
            assert np.abs(candidate.c).max(initial=0.0) <= cap * (1 + 1e-12)
            assert_is_what_it_says(fits, candidate)


# Other losses ---------------------------------------------------------------------------------------------------------

LOSSES = {"huber": fa.Huber(0.3), "logistic": fa.Logistic()}


LABELLED = np.random.default_rng(3).choice([-1.0, 1.0], (18, 1))


def offset(name, free=None, atoms=None, cap=None):
    """Data with a line below them for Huber's loss, labels that no plane separates for the logistic one."""
    A, b, _ = with_offset(2)
    if name == "logistic":
        A, b = LABELLED * A, np.zeros(len(A))
    return A, b, fa.Problem.of(A, b, atoms=atoms or fa.SignedOneHot(9), k=3, loss=LOSSES[name], free=free, cap=cap)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("free", [None, *FREE])
@pytest.mark.parametrize("name", LOSSES)
def test_smooth_losses_end_at_their_minimum(name, free):
    given, columns = (None, np.zeros((18, 0))) if free is None else FREE[free]
    if name == "logistic" and free is not None:
        given = columns = LABELLED * columns
    A, b, problem = offset(name, given)
    fits = fits_of(problem)
    for classes in (np.array([3]), np.array([5, 0, 3])):
        exact = fits.fit(classes, trial=False)
        best = smooth_refit(LOSSES[name], np.column_stack([A[:, classes], columns]), b)
        assert exact.loss == pytest.approx(best.fun, rel=1e-7)
        rough = fits.fit(classes)
        assert rough.loss >= exact.loss * (1 - 1e-9)
        settled = fits.settled(fits.candidate(rough))
        assert settled.loss == pytest.approx(exact.loss, rel=1e-9)
        start = fits.fit(np.array([3, 7]), trial=False)
        assert fits.fit(classes, start, trial=False).loss == pytest.approx(exact.loss, rel=1e-9)
        assert exact.note == ""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("atoms", [fa.SignedOneHot(9), fa.NonnegativeOneHot(9), fa.Groups(np.arange(9) // 3)], ids=repr)
@pytest.mark.parametrize("cap", [None, 0.4])
@pytest.mark.parametrize("name", LOSSES)
def test_smooth_losses_keep_signs_and_boxes(name, cap, atoms):
    A, b, problem = offset(name, atoms=atoms, cap=cap)
    fits = fits_of(problem)
    candidate = fits.candidate(fits.fit(np.array([2, 0]), trial=False))
    columns = A[:, [6, 7, 8, 0, 1, 2]] if isinstance(atoms, fa.Groups) else A[:, [2, 0]]
    lower = 0.0 if isinstance(atoms, fa.NonnegativeOneHot) else None if cap is None else -cap
    best = smooth_refit(LOSSES[name], columns, b, [(lower, cap)] * columns.shape[1])
    assert candidate.loss == pytest.approx(best.fun, rel=1e-7)
    assert np.abs(candidate.c).max() <= (np.inf if cap is None else cap * (1 + 1e-12))
    assert_is_what_it_says(fits, candidate)


@pytest.mark.parametrize("free", [None, "intercept"])
def test_costs_of_smooth_losses_are_right_to_second_order(free):
    """On a loss that is nearly a parabola: exact up to the share by which it is not one."""
    A, b, _ = with_offset(4)
    loss, columns = fa.Huber(100.0), np.zeros((18, 0)) if free is None else np.ones((18, 1))
    fits = fits_of(fa.Problem.of(A, b, atoms=fa.SignedOneHot(9), k=3, loss=loss, free=free))
    support = fits.fit(np.array([0, 3, 5]), trial=False)
    for i, cost in enumerate(support.costs):
        others = np.column_stack([A[:, np.delete(support.classes, i)], columns])
        assert cost == pytest.approx(refit(others, b)[0] - support.loss, rel=1e-5)


@pytest.mark.parametrize("cap", [None, 5.0])
def test_separable_classes_end_with_finite_numbers(cap):
    """Coefficients would grow for ever; a cap ends that."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((20, 4))
    signed = np.sign(X[:, 1])[:, None] * X
    fits = fits_of(fa.Problem.of(signed, np.zeros(20), atoms=fa.SignedOneHot(4), k=2, loss=fa.Logistic(), cap=cap))
    support = fits.fit(np.array([1]), trial=False)
    assert np.isfinite(support.c).all()
    coefficient = abs(float(fits.candidate(support).c[0]))
    assert coefficient == pytest.approx(cap) if cap else coefficient > 50.0


# Going to and fro -----------------------------------------------------------------------------------------------------


def test_candidates_lead_back_to_their_supports():
    A, b, *_ = case("groups", "units", 2)
    fits = fits_of(fa.Problem.of(A, b, atoms=fa.Groups(LABELS), k=2))
    support = fits.fit(np.array([4, 1]))
    candidate = fits.candidate(support)
    assert fits.support_of(candidate) is support
    stranger = fa.candidates.Candidate.of(candidate.face, 0 * candidate.c, b, 1.0)
    again = fits.support_of(stranger)
    assert set(again.classes.tolist()) == {4, 1}
    assert again.loss == pytest.approx(support.loss, rel=1e-12)
    assert fits.settled(candidate) is candidate  # least squares has nothing to settle
    assert fits.near(candidate) is None
    other = fits.within(1)
    assert other.problem.budget == Budget(1)
    assert other.asked is fits.asked


def test_the_oracles_own_point_is_where_iterative_fits_begin():
    _, _, problem = offset("huber")
    fits = fits_of(problem)
    support = fits.fit(np.array([0, 3]), trial=False)
    near = fits.near(fits.candidate(support))
    np.testing.assert_allclose(near.c, support.c, rtol=1e-12)
    assert fits.fit(np.array([0, 3]), near, trial=False).loss == pytest.approx(support.loss, rel=1e-12)


# Whole runs over columns that depend on each other --------------------------------------------------------------------


DEPENDENT = {
    "equal columns": lambda A: A[:, [0, 0, 2, 2, 4, 4, 6, 7, 8, 9, 10, 11]],
    "zero columns": lambda A: A * (np.arange(N) % 2),
    "a column twice another": lambda A: A[:, [0, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]] * [1, 2, *[1] * 10],
    "zero groups": lambda A: A * (LABELS % 2),
}


@pytest.mark.parametrize("kind", DEPENDENT)
def test_groups_with_dependent_columns_inside(kind):
    rng = np.random.default_rng(12)
    A = DEPENDENT[kind](rng.standard_normal((14, N)))
    b = A @ (rng.standard_normal(N) * (LABELS < 2)) + 0.2 * rng.standard_normal(14)
    blocks = [A[:, g == LABELS] for g in range(N // 2)]
    for k in (1, 2, 3):
        s = fa.fit(A, b, atoms=fa.Groups(LABELS), k=k)
        assert s.loss == pytest.approx(best_of_all(blocks, b, k), rel=1e-9)


def test_categories_beside_an_intercept():
    """Indicators of all values of a category sum to the intercept."""
    rng = np.random.default_rng(13)
    value = rng.integers(0, 3, 30)
    A = np.concatenate([np.eye(3)[value], rng.standard_normal((30, 6))], axis=1)
    b = np.array([0.0, 2.0, -1.0])[value] + 5.0 + 0.1 * rng.standard_normal(30)
    s = fa.fit(A, b, atoms=fa.Groups(np.arange(9) // 3), k=1, free="intercept")
    assert s.indices.tolist() == [0]
    assert s.loss == pytest.approx(refit(A[:, :3], b)[0], rel=1e-9)


@pytest.mark.parametrize("k", [3, 6, 12])
def test_k_beyond_the_rank_is_as_good_as_all_columns(k):
    rng = np.random.default_rng(6)
    A = rng.standard_normal((10, 3)) @ rng.standard_normal((3, N))
    b = rng.standard_normal(10)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(N), k=k)
    assert s.loss == pytest.approx(refit(A, b)[0], rel=1e-9)
    assert s.cardinality <= k


def test_of_equal_columns_one_is_taken():
    rng = np.random.default_rng(8)
    A = np.repeat(rng.standard_normal((10, 4)), 3, axis=1)
    b = 2.0 * A[:, 0] - A[:, 3] + 0.1 * rng.standard_normal(10)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(12), k=2)
    assert sorted(i // 3 for i in s.indices.tolist()) == [0, 1]
    assert s.loss == pytest.approx(refit(A[:, [0, 3]], b)[0], rel=1e-9)


@pytest.mark.parametrize("cap", [0.05, 0.3, 2.0, 1e6])
@pytest.mark.parametrize("nonnegative", [False, True], ids=["signed", "nonnegative"])
def test_a_cap_is_a_box_against_all_subsets(nonnegative, cap):
    rng = np.random.default_rng(7)
    A = rng.standard_normal((20, 8)) * 10.0 ** rng.uniform(-1, 1, 8)
    b = A @ spikes(rng, 8, 3, nonnegative) + 0.3 * rng.standard_normal(20)
    atoms = fa.NonnegativeOneHot(8) if nonnegative else fa.SignedOneHot(8)
    s = fa.fit(A, b, atoms=atoms, k=2, cap=cap)
    assert np.abs(s.x).max() <= cap * (1 + 1e-12)
    assert s.loss == pytest.approx(squares(b - A @ s.x), rel=1e-9)
    bounds = [(0.0 if nonnegative else -cap, cap)] * 2
    loss = fa.LeastSquares()
    best = min(smooth_refit(loss, A[:, some], b, bounds).fun for some in combinations(range(8), 2))
    assert s.loss == pytest.approx(best, rel=1e-6)


# A ridge --------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("free", [False, True], ids=["", "beside free columns"])
@pytest.mark.parametrize("loss", EVERY_LOSS)
@pytest.mark.parametrize("name", FAMILIES)
def test_fits_with_a_ridge_minimise_what_is_asked(name, loss, free):
    """Over some classes, against L-BFGS-B on what a ridge means, written out; and the squares are those of the
    answer."""
    rng = np.random.default_rng([3, *map(ord, name + loss), free])
    case = random_case(rng, name, loss, free=free)
    problem = case.problem(k=2)
    fits = fits_of(problem)
    assert_best_with_ridge(fits, case, rng)


def assert_best_with_ridge(fits, case, rng):
    _, _, classes, _, nonnegative = case.family
    barred = BARRED.get(case.name, [])
    some = rng.permutation([g for g in range(len(classes)) if g not in barred])[:2]
    places = np.concatenate([classes[g] for g in some])
    F = np.zeros((case.b.size, 0)) if case.F is None else case.F
    R = np.column_stack([case.columns[:, places], F])
    pays = case.ridge * np.append(case.lengths[places] ** 2, np.zeros(F.shape[1]))
    unit = np.linalg.norm(R, axis=0)
    best = minimize(
        lambda u: case.loss.value(case.b - R @ (u / unit)) + 0.5 * pays @ (u / unit) ** 2,
        np.zeros(unit.size),
        jac=lambda u: (pays * u / unit - R.T @ case.loss.gradient(case.b - R @ (u / unit))) / unit,
        method="L-BFGS-B",
        bounds=[(0.0 if nonnegative else None, None)] * places.size + [(None, None)] * F.shape[1],
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 3000},
    )
    found = fits.fit(some, trial=False)
    assert found.objective == pytest.approx(best.fun, rel=1e-7)
    assert found.objective <= best.fun * (1 + 1e-9)
    candidate = fits.candidate(found)
    told = case.problem(k=2).objective(replace(candidate, squares=None))  # from the columns of its atoms
    assert fits.problem.objective(candidate) == pytest.approx(found.objective, rel=1e-12)
    assert told == pytest.approx(found.objective, rel=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["signed", "one-sided dictionary", "weighted groups"])
@pytest.mark.parametrize("loss", ["least squares", "weighted huber", "logistic"])
def test_fits_with_a_ridge_where_columns_are_not_at_hand_or_capped(name, loss):
    """Lengths are those of the images at hand."""
    rng = np.random.default_rng([4, *map(ord, name + loss)])
    case = random_case(rng, name, loss, free=True)
    told = fa.Problem.of(black_box(case.M), case.b, atoms=case.family[0], loss=case.loss, free=case.F, k=2)
    assert_best_with_ridge(fits_of(told.paying(case.problem().price)), case, rng)
    assert_best_with_ridge(fits_of(case.problem(k=2, cap=1e6)), case, rng)


@pytest.mark.parametrize("free", [None, "intercept"])
def test_rows_of_classes_pay_their_squares(free):
    """Multinomial: stationary in every coefficient, and the sum over classes is at 0."""
    rng = np.random.default_rng(9)
    X, labels = rng.standard_normal((30, 5)) + 1.0, rng.integers(0, 3, 30)
    problem = fa.Problem.of(X, labels, atoms=fa.SignedOneHot(5), k=2, loss=fa.Multinomial(), ridge=0.3, free=free)
    fits = fits_of(problem)
    found = fits.fit(np.array([3, 1]), trial=False)
    candidate = fits.candidate(found)
    past = X - X.mean(axis=0) if free else X
    lengths = np.linalg.norm(past, axis=0)
    C = candidate.face.point(candidate.c).reshape(5, 3)
    y = problem.base_loss.gradient(found.residual)
    slope = X.T @ y.reshape(30, 3) - 0.3 * lengths[:, None] ** 2 * C
    np.testing.assert_allclose(slope[[3, 1]], 0.0, atol=1e-6)
    np.testing.assert_allclose(C.sum(axis=1), 0.0, atol=1e-6)
    assert candidate.squares == pytest.approx(np.sum((lengths[:, None] * C) ** 2), rel=1e-9)
