"""Free columns beside M, against columns that are appended and refitted."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from fewatoms import ledger
from fewatoms.beside import FittedBiases, RowsAndColumns
from methods.listed.small import (
    FREE,
    RAMP,
    ROWS,
    refit,
    smooth_refit,
    with_offset,
)
from sampled import Entries, biases_by_hand, fit_of, objective, paid, plant

# Free columns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "csc", "operator"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", FREE)
def test_free_columns_are_appended_and_refitted(name, weighted, form):
    free, F = FREE[name]
    for seed in range(2):
        A, b, rng = with_offset(seed)
        weights = rng.uniform(0.3, 2.0, ROWS) if weighted else None
        root = np.ones(ROWS) if weights is None else np.sqrt(weights)
        M = {"dense": A, "csc": sp.csc_array(A), "operator": aslinearoperator(A)}[form]
        s = fa.fit(M, b, atoms=fa.SignedOneHot(9), k=2, loss=fa.LeastSquares(weights), free=free)

        def whole(some, F=F, A=A, b=b, root=root):
            return refit(root[:, None] * np.column_stack([A[:, list(some)], F]), root * b)

        loss, c = whole(s.indices)
        assert s.loss == pytest.approx(loss, rel=1e-9)
        assert s.loss == pytest.approx(min(whole(some)[0] for some in combinations(range(9), 2)), rel=1e-9)
        np.testing.assert_allclose(s.coefficients, c[:2], atol=1e-8)
        given = np.ones((ROWS, 1)) if isinstance(free, str) else np.reshape(free, (ROWS, -1))
        np.testing.assert_allclose(given @ s.free_coefficients, F @ c[2:], atol=1e-8)
        assert s.cardinality == 2
        new = rng.standard_normal((4, 9))
        if isinstance(free, str):
            np.testing.assert_allclose(s.predict(new), new @ s.x + c[2], atol=1e-8)
        else:
            beside = rng.standard_normal((4, given.shape[1]))
            np.testing.assert_allclose(s.predict(new, free=beside), new @ s.x + beside @ s.free_coefficients)


@pytest.mark.parametrize("name", ["intercept", "two columns"])
def test_free_columns_are_a_projection(name):
    """The same answer as without them, on the data and the matrix less what they explain."""
    free, F = FREE[name]
    A, b, _ = with_offset(3)
    P = np.eye(ROWS) - F @ np.linalg.pinv(F)
    for atoms in (fa.SignedOneHot(9), fa.NonnegativeOneHot(9), fa.Groups(np.arange(9) // 3)):
        s, t = fa.fit(A, b, atoms=atoms, k=2, free=free), fa.fit(P @ A, P @ b, atoms=atoms, k=2)
        assert set(s.indices.tolist()) == set(t.indices.tolist())
        assert s.loss == pytest.approx(t.loss, rel=1e-9)
        np.testing.assert_allclose(s.x, t.x, atol=1e-8)


@pytest.mark.parametrize("form", ["dense", "csc"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", ["intercept", "two columns"])
def test_free_columns_with_huber(name, weighted, form):
    free, F = FREE[name]
    A, b, rng = with_offset(4, n=6)
    b[5] += 40.0  # an outlier
    loss = fa.Huber(0.5, rng.uniform(0.3, 2.0, ROWS) if weighted else None)
    s = fa.fit(A if form == "dense" else sp.csc_array(A), b, atoms=fa.SignedOneHot(6), k=2, loss=loss, free=free)
    twin = smooth_refit(loss, np.column_stack([A[:, s.indices], F]), b)
    assert s.loss == pytest.approx(twin.fun, rel=1e-7)
    best = min(smooth_refit(loss, np.column_stack([A[:, some], F]), b).fun for some in combinations(range(6), 2))
    assert s.loss == pytest.approx(best, rel=1e-7)
    left = b - A @ s.x - F @ s.free_coefficients
    assert loss.value(left) == pytest.approx(s.loss, rel=1e-9)
    root = 1.0 if loss.weights is None else np.sqrt(loss.weights)
    assert s.misfit == pytest.approx(np.linalg.norm(root * left) / np.linalg.norm(root * b), rel=1e-6)


@pytest.mark.parametrize("cap", [None, 0.8])
@pytest.mark.parametrize("seed", [4, 5])
def test_free_columns_with_logistic_are_labels(seed, cap):
    A, _, rng = with_offset(seed, n=6)
    t = np.where(A[:, 0] - 2.0 * A[:, 3] + 1.0 + 2.5 * rng.standard_normal(ROWS) > 0, 1.0, -1.0)
    M, loss = t[:, None] * A, fa.Logistic()
    s = fa.fit(M, np.zeros(ROWS), atoms=fa.SignedOneHot(6), k=2, loss=loss, free=t, cap=cap)

    def twin(some):
        bounds = [(None if cap is None else -cap, cap)] * 2 + [(None, None)]
        return smooth_refit(loss, np.column_stack([M[:, list(some)], t]), np.zeros(ROWS), bounds)

    # on separable classes there is no minimum, and both searches end somewhere near 0
    assert s.loss == pytest.approx(min(twin(some).fun for some in combinations(range(6), 2)), rel=1e-6, abs=1e-7)
    assert s.loss == pytest.approx(loss.value(-M @ s.x - t * s.free_coefficients[0]), rel=1e-9)
    np.testing.assert_allclose(t * s.predict(M, free=t), A @ s.x + s.free_coefficients[0], atol=1e-9)
    assert np.isnan(s.misfit)


def test_b_in_the_span_of_the_free_columns_needs_no_atoms():
    A, _, _ = with_offset(0)
    F = FREE["two columns"][0]
    for loss in (fa.LeastSquares(), fa.Huber(0.5)):
        s = fa.fit(A, F @ [2.0, -1.0], atoms=fa.SignedOneHot(9), k=2, free=F, loss=loss)
        assert s.status is fa.Status.ZERO
        assert s.cardinality == 0
        np.testing.assert_allclose(s.free_coefficients, [2.0, -1.0], atol=1e-9)
        np.testing.assert_allclose(s.predict(A, free=F), F @ [2.0, -1.0], atol=1e-9)


def test_columns_in_the_span_of_the_free_ones_are_not_chosen():
    A, b, _ = with_offset(0)
    A[:, 5] = 4.0
    s = fa.fit(A, b, atoms=fa.SignedOneHot(9), k=3, free="intercept")
    assert 5 not in s.indices
    assert s.loss == pytest.approx(refit(np.column_stack([A[:, s.indices], np.ones(ROWS)]), b)[0], rel=1e-9)


def test_predict_says_what_it_misses():
    A, b, _ = with_offset(0)
    s = fa.fit(A, b, atoms=fa.SignedOneHot(9), k=2, free=FREE["two columns"][0])
    with pytest.raises(ValueError, match=r"^free must give the 2 free columns for the new data; got None$"):
        s.predict(A)
    with pytest.raises(
        ValueError, match=r"^free must have shape \(18, 2\), a column per free coefficient; got shape \(18,\)$"
    ):
        s.predict(A, free=RAMP)
    with pytest.raises(
        ValueError, match=r"^M_new must have 9 columns, as the model of shape \(9,\) has entries; got shape \(18, 8\)$"
    ):
        s.predict(A[:, :8], free=FREE["two columns"][0])


# Biases ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("ridge", [(0.5, 0.7), (1e6, 2.0), (0.1, 1e-5)], ids=str)
def test_biases_are_a_regression_on_row_and_column_columns(ridge, weighted):
    """Beside the X of the answer; with a huge ridge on X they are all there is."""
    for seed in range(2):
        e = plant(seed, 9, 8, 2, noise=0.3, offsets=True, share=0.9)
        w = np.random.default_rng(seed).uniform(0.3, 3.0, e.b.size) if weighted else None
        s = e.fit(2, **paid(ridge), loss=fa.LeastSquares(w))
        row, col = biases_by_hand(e, s.x, ridge[1], weights=w, center=s.biases.center)
        size = np.abs(e.b).max()
        np.testing.assert_allclose(s.biases.rows, row, atol=1e-4 * size)
        np.testing.assert_allclose(s.biases.cols, col, atol=1e-4 * size)
        if ridge[0] == 1e6:
            assert np.abs(s.x).max() <= 1e-6 * size


@pytest.mark.parametrize("ridge", ["auto", (0.5, 0.5), (0, 0)], ids=str)
def test_predictions_include_the_biases(ridge):
    e = plant(1, 9, 8, 2, noise=0.3, offsets=True)
    s = e.fit(2, **paid(ridge))
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
    s = e.fit(1, free=fa.Biases(ridge=1e-7), ridge=1.0)
    i, j = np.indices(e.shape)
    np.testing.assert_allclose(s.predict(i, j), additive, atol=1e-4)
    assert np.abs(s.x).max() <= 1e-4


@pytest.mark.parametrize("ridge", ["auto", (0.5, 0.7), (0.5, 0.0)], ids=str)
@pytest.mark.parametrize("shift", [1.0, -250.0])
def test_a_constant_added_to_the_data_is_added_to_the_predictions(shift, ridge):
    e = plant(2, 9, 8, 2, noise=0.3, offsets=True)
    s, moved = e.fit(2, **paid(ridge)), e.with_values(e.b + shift).fit(2, **paid(ridge))
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
    s = e.fit(2, **paid(ridge))
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
@pytest.mark.parametrize("options", [{}, {"ridge": 1.0}, {"ridge": 0.5}], ids=str)
def test_a_bound_on_the_misfit_is_met_if_the_misfit_says_so(misfit, options):
    """Biases are not shrunk then: a bound is about the data alone."""
    e = plant(3, 12, 10, 2, noise=0.3, offsets=True)
    s = e.fit(2, free="biases", misfit=misfit, **options)
    size = math.sqrt(2 * fit_of(e, s)) / np.linalg.norm(e.b)
    assert s.misfit == pytest.approx(size, rel=1e-6)
    assert s.success == (size <= misfit * (1 + 1e-9))
    assert s.ridge[1] == 0.0
    assert s.loss == pytest.approx(fit_of(e, s), rel=1e-4)


def test_predictions_at_other_entries_include_biases():
    e = plant(2, 12, 10, 2, offsets=True)
    s = e.fit(2, free="biases")
    rows, cols = e.unseen()
    there = fa.Sampling(rows, cols, e.shape)
    np.testing.assert_allclose(s.predict(there), s.predict(rows, cols), atol=1e-12)
    with pytest.raises(ValueError, match="free is for predict"):
        s.predict(rows, cols, free=np.ones(rows.size))
    with pytest.raises(ValueError, match="M_new must be a Sampling where there are biases"):
        s.predict(np.ones((2, 120)))


@pytest.mark.parametrize(
    ("options", "shrink"),
    [
        ({"free": "biases", "ridge": 0.5}, 0.5),
        ({"free": fa.Biases(), "ridge": 0.5}, 0.5),
        ({"free": fa.Biases(ridge=0.2), "ridge": 0.5}, 0.2),
        ({"free": fa.Biases(ridge=0.0), "ridge": 0.5}, 0.0),
        ({"free": "biases", "misfit": 0.3}, 0.0),
        ({"free": fa.Biases(ridge=0), "misfit": 0.3}, 0.0),
    ],
    ids=str,
)
def test_what_biases_pay(options, shrink):
    s = plant(2, 9, 8, 2, noise=0.3, offsets=True).fit(2, **options)
    assert s.ridge == (options.get("ridge", 0.0), shrink)
    assert s.held_out is None


@pytest.mark.parametrize(
    "options", [{"free": fa.Biases("auto"), "ridge": 0.5}, {"free": fa.Biases(0.4), "ridge": "auto"}], ids=str
)
def test_one_of_the_two_may_be_chosen_alone(options):
    s = plant(2, 9, 8, 2, noise=0.3, offsets=True).fit(2, **options)
    given = 0 if options["ridge"] == 0.5 else 1
    assert s.ridge[given] == (0.5, 0.4)[given]
    assert s.ridge[1 - given] > 0
    assert s.held_out > 0


def stop(progress):
    raise StopIteration


def test_biases_that_pay_a_trace_say_so(monkeypatch):
    """A run that is stopped before anything is chosen: the loss is what the answer leaves and what its biases pay."""
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    rng = np.random.default_rng(0)
    rows, cols = np.nonzero(rng.random((9, 8)) < 0.4)
    b = (10 * rng.standard_normal(9))[rows] + (10 * rng.standard_normal(8))[cols]
    e = Entries(rows, cols, b, np.zeros((9, 8)))
    s = e.fit(2, free="biases", callback=stop)
    assert s.status is fa.Status.STOPPED
    assert 0 < s.ridge[1] < 1e-7
    assert s.loss == pytest.approx(objective(e, s), rel=1e-6)


@pytest.mark.parametrize(
    ("ridge", "kind"), [(-1, ValueError), (np.nan, ValueError), ("x", TypeError), (True, TypeError)]
)
def test_biases_say_what_they_may_pay(ridge, kind):
    with pytest.raises(kind, match=r"^ridge of the biases must be a nonnegative finite number; got "):
        fa.Biases(ridge=ridge)


def test_biases_by_themselves():
    """What is added to each entry, and to data held out."""
    e = plant(0, 6, 5, 1, offsets=True)
    biases = FittedBiases(2.0, np.arange(6.0), 10.0 * np.arange(5))
    np.testing.assert_array_equal(biases.at(np.array([0, 5]), np.array([1, 4])), [12.0, 47.0])
    stands = RowsAndColumns((6, 5), 0.5).for_data(e.b, fa.LeastSquares())
    assert stands.center == pytest.approx(e.b.mean())
    assert (stands.count, stands.biases, stands.shrunk(2.0).shrink) == (11, stands, 2.0)
    told = stands.told(np.arange(11.0))
    assert told.shrink == 0.5
    np.testing.assert_array_equal(told.biases.cols, np.arange(6.0, 11.0))
    held = np.array([3, 0])
    found = stands.predicted(told, e.M.subset(held), held, np.arange(4))
    np.testing.assert_allclose(found, stands.center + e.rows[held] + 6.0 + e.cols[held])
    assert stands.shrunk(2.0).centred is stands.centred  # as long as the data, and there once


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("misfit", [1e-6, 1e-9])
def test_a_bound_is_asked_of_the_loss_alone(misfit, weighted):
    """Biases that are not shrunk have no share in it, however small the bound is."""
    for seed in range(3):
        e = plant(seed, 24, 20, 2, share=0.7, offsets=True)
        w = np.random.default_rng(seed).uniform(0.5, 2.0, e.b.size) if weighted else np.ones(e.b.size)
        s = e.fit(2, free="biases", misfit=misfit, loss=fa.LeastSquares(w) if weighted else fa.LeastSquares())
        error = s.predict(e.rows, e.cols) - e.b
        assert s.status is fa.Status.BOUND_MET
        assert s.misfit <= misfit * (1 + 1e-9)
        assert math.sqrt(w @ error**2 / (w @ e.b**2)) <= 1.01 * misfit
        assert s.certificate.gap >= 0


@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_biases_beside_an_image(weighted):
    """The same whether the residual is formed or not."""
    e = plant(1, 8, 7, 2, noise=0.3, offsets=True)
    w = np.random.default_rng(0).uniform(0.3, 3.0, e.b.size) if weighted else None
    stands = RowsAndColumns((8, 7), 0.5).for_data(e.b, fa.LeastSquares(w))
    seen = stands.eliminated(e.M, e.b, fa.LeastSquares(w))
    X = np.random.default_rng(1).standard_normal((8, 7))
    v = seen.fitted(X[e.rows, e.cols])
    row, col = biases_by_hand(e, X, 0.5, weights=w, center=stands.center)
    np.testing.assert_allclose(v, np.concatenate([row, col]), atol=1e-8)
