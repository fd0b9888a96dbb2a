"""Losses after the best coefficients of free columns, and after the best row and column biases."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

import naive
from contracts.families import (
    generator,
    losses,
    over,
    places,
    projector,
    vector_operators,
)
from fewatoms import Huber, LeastSquares, Sampling, kernels
from fewatoms.operators import Margins, by_lines
from fewatoms.profiled import Biased, Profiled

M_ROWS = 9
WEIGHTS = generator(20).uniform(0.2, 3.0, M_ROWS)
FREE = np.column_stack([np.ones(M_ROWS), np.arange(M_ROWS) ** 2.0])
GROUPS = np.array([0, 2, 1, 0, 2, 3, 1])
NINE_ROWS = {name: M for name, M in vector_operators(7, M_ROWS).items() if M.shape[0] == M_ROWS}
every_matrix = pytest.mark.parametrize(("name", "M"), **over(NINE_ROWS))


def profiled_losses():
    smooth = {name: loss for name, loss in losses(M_ROWS).items() if "squares" not in name}
    return {
        f"{name}, {what}": Profiled(loss, F)
        for name, loss in smooth.items()
        for what, F in {"one column": np.ones((M_ROWS, 1)), "two columns": FREE / [1.0, 30.0]}.items()
    }


PROFILED = profiled_losses()
every_profiled = pytest.mark.parametrize(("name", "loss"), **over(PROFILED))


def residuals(count=4):
    return 1.5 * generator(15).standard_normal((count, M_ROWS))


def least(loss, r):
    """min over v of f(r - Fv), by a method that knows nothing of curvature."""
    F, base = loss.F, loss.base
    found = minimize(
        lambda v: base.value(r - F @ v),
        np.zeros(F.shape[1]),
        jac=lambda v: -F.T @ base.gradient(r - F @ v),
        method="BFGS",
        options={"gtol": 1e-9},
    )
    return found.fun


def balanced(loss):
    """The loss with free columns that change sign, so that no logistic loss runs away along them."""
    return Profiled(loss.base, loss.F * np.where(np.arange(M_ROWS) % 2, 1.0, -1.0)[:, None])


@every_profiled
def test_the_value_is_the_least_over_the_free_coefficients(name, loss):
    loss = balanced(loss)
    for r in residuals():
        assert loss.value(r) == pytest.approx(least(loss, r), rel=1e-8)
        v = loss.best_free(r)
        assert loss.base.value(r - loss.F @ v) == pytest.approx(loss.value(r), rel=1e-12)
        np.testing.assert_allclose(loss.F.T @ loss.gradient(r), 0, atol=1e-6 * np.abs(loss.F).sum())


@every_profiled
def test_the_gradient_against_differences(name, loss):
    loss, h = balanced(loss), 1e-5
    for r in residuals(2):
        numerical = [(loss.value(r + h * e) - loss.value(r - h * e)) / (2 * h) for e in np.eye(M_ROWS)]
        np.testing.assert_allclose(loss.gradient(r), numerical, atol=1e-5)


@every_profiled
def test_the_answer_does_not_depend_on_what_was_asked_before(name, loss):
    loss = balanced(loss)
    rows = residuals()
    first = [loss.value(r) for r in rows]
    for r, value in zip(rows[::-1], first[::-1], strict=True):
        assert loss.value(r) == pytest.approx(value, rel=1e-10)
        assert Profiled(loss.base, loss.F).value(r) == pytest.approx(value, rel=1e-10)


@every_profiled
def test_free_columns_do_not_matter_to_the_value(name, loss):
    loss = balanced(loss)
    for r in residuals(2):
        moved = r + loss.F @ np.linspace(-1, 1, loss.F.shape[1])
        assert loss.value(moved) == pytest.approx(loss.value(r), rel=1e-9)
        assert loss.value(r) <= loss.base.value(r) * (1 + 1e-12)


@every_profiled
def test_fenchel_and_young(name, loss):
    """g(r) + g*(y) >= <r, y> for all, with equality at y = grad g(r)."""
    loss = balanced(loss)
    rows = residuals()
    duals = [loss.gradient(r) for r in rows]
    P = projector(loss.F, None)
    for r in rows:
        for y in duals:
            y = loss.clip(P @ y)
            assert loss.value(r) + loss.conjugate(y) >= float(r @ y) - 1e-7 * (1 + abs(float(r @ y)))
    for r in rows:
        # the Newton method leaves a trace of F'y; it is taken out where that stays inside the domain
        y = P @ loss.gradient(r)
        if np.isfinite(loss.base.conjugate(y)):
            assert loss.value(r) + loss.conjugate(y) == pytest.approx(float(r @ y), rel=1e-6, abs=1e-6)


@every_profiled
def test_gradients_lie_in_the_domain_of_the_conjugate(name, loss):
    """F'y = 0 to more digits than the value shows; where it was not, one in a hundred had no finite conjugate."""
    even, rng = balanced(loss), generator(21)
    for scale in (0.1, 1.0, 10.0, 100.0):
        for r in scale * rng.standard_normal((10, M_ROWS)):
            y = even.gradient(r)
            off = np.abs(even.F.T @ y)
            assert (off <= 1e-11 * (np.abs(even.F).T @ np.abs(y))).all()
            assert np.isfinite(even.conjugate(y))


@every_profiled
def test_the_conjugate_is_infinite_off_the_orthogonal_complement(name, loss):
    y = np.full(M_ROWS, 0.1)
    assert math.isfinite(loss.base.conjugate(y))
    assert loss.conjugate(y) == math.inf
    inside = 1e-3 * (projector(loss.F, None) @ generator(16).standard_normal(M_ROWS)) + 0.0
    if isinstance(loss.base, Huber):
        assert loss.conjugate(inside) == pytest.approx(loss.base.conjugate(inside))


@every_profiled
def test_convexity_and_smoothness_along_segments(name, loss):
    loss = balanced(loss)
    for r, other in zip(residuals(), residuals()[::-1], strict=True):
        middle, d = 0.5 * (r + other), other - r
        mean = 0.5 * (loss.value(r) + loss.value(other))
        assert loss.value(middle) <= mean + 1e-9
        assert mean - loss.value(middle) <= loss.smoothness * float(d @ d) / 8 + 1e-9


# Row and column biases ------------------------------------------------------------------------------------------------


def biased_family():
    """name -> (loss, dense columns of the biases)."""
    found = {}
    shapes = {
        "usual": (*places(6, 5, 0.6, 1), (6, 5)),
        "all entries": (*places(4, 3, 1.0, 2), (4, 3)),
        "empty rows and columns": ([5, 1, 1, 3], [0, 2, 0, 2], (7, 4)),
        "disconnected": ([0, 0, 1, 2, 3, 3], [0, 1, 0, 2, 2, 3], (4, 4)),
        "one entry": ([1], [2], (3, 4)),
        "one row": ([0, 0, 0], [2, 0, 1], (1, 3)),
        "one column": ([2, 0, 1], [0, 0, 0], (3, 1)),
    }
    for name, (rows, cols, shape) in shapes.items():
        M, F = Sampling(rows, cols, shape), naive.margins(rows, cols, shape)
        weights = generator(3).uniform(0.1, 4.0, M.shape[0])
        for told, base in (("", LeastSquares()), (", weights", LeastSquares(weights))):
            for shrink in (0.7, 1e-4, 50.0) if name == "usual" else (0.7, 1e-4):
                found[f"{name}{told}, shrunk by {shrink:g}"] = (Biased(base, Margins(M, by_lines(M)), shrink), F)
    return found


every_biased_loss = pytest.mark.parametrize(("name", "pair"), **over(biased_family()))


def biased_residuals(m, count=3):
    """Of several sizes, with zeros among them."""
    rng = generator(4)
    r = rng.standard_normal((count, m)) * 10.0 ** np.arange(-1, count - 1)[:, None]
    r[0, : m // 3] = 0.0
    return r


@every_biased_loss
def test_biased_the_value_is_that_of_dense_least_squares(name, pair):
    loss, F = pair
    for r in biased_residuals(len(F)):
        before = r.copy()
        expected, v = naive.biased_value(r, F, loss.weights, loss.shrink)
        assert loss.value(r) == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(loss.best_free(r), v, atol=1e-6 * np.abs(v).max())
        np.testing.assert_allclose(loss.left(r), r - F @ v, atol=1e-6 * np.abs(r).max())
        np.testing.assert_array_equal(r, before)
        assert loss.value(r) <= loss.base.value(r) * (1 + 1e-12)  # no biases at all are allowed too
    assert loss.value(np.zeros(len(F))) == 0.0
    assert not loss.best_free(np.zeros(len(F))).any()


@every_biased_loss
def test_biased_rows_and_columns_without_entries_have_no_bias(name, pair):
    loss, F = pair
    empty = ~F.any(axis=0)
    assert not loss.best_free(biased_residuals(len(F))[1])[empty].any()
    assert empty.any() == (name.startswith(("empty", "one entry")))


@every_biased_loss
def test_biased_the_gradient_against_differences(name, pair):
    loss, F = pair
    for r in biased_residuals(len(F), 2):
        h = 1e-3 * np.abs(r).max()  # the loss is quadratic: any step will do
        slopes = [(loss.value(r + h * e) - loss.value(r - h * e)) / (2 * h) for e in np.eye(r.size)]
        np.testing.assert_allclose(loss.gradient(r), slopes, atol=1e-6 * np.abs(r).max())
        np.testing.assert_allclose(
            F.T @ loss.gradient(r), loss.shrink * loss.best_free(r), atol=1e-7 * np.abs(r).max() * loss.smoothness
        )


@every_biased_loss
def test_biased_fenchel_and_young(name, pair):
    """g(r) + g*(y) >= <r, y> for all, with equality at y = grad g(r)."""
    loss, F = pair
    rows = biased_residuals(len(F))
    duals = [*(loss.gradient(r) for r in rows), *biased_residuals(len(F))[::-1]]
    for r in rows:
        for y in duals:
            size = loss.value(r) + loss.conjugate(y)
            assert size >= float(r @ y) - 1e-12 * size
        y = loss.gradient(r)
        assert loss.value(r) + loss.conjugate(y) == pytest.approx(float(r @ y), rel=1e-8)


@every_biased_loss
def test_biased_the_conjugate_is_the_supremum(name, pair):
    """g is a quadratic r'Hr / 2, so g*(y) = y'H^-1 y / 2, with H by columns from dense least squares."""
    loss, F = pair
    root = np.ones(len(F)) if loss.weights is None else np.sqrt(loss.weights)
    W = np.diag(root**2)
    H = W - W @ F @ np.linalg.inv(F.T @ W @ F + loss.shrink * np.eye(F.shape[1])) @ F.T @ W
    for y in biased_residuals(len(F)):
        assert loss.conjugate(y) == pytest.approx(0.5 * float(y @ np.linalg.solve(H, y)), rel=1e-6)
        assert loss.value(y) == pytest.approx(0.5 * float(y @ H @ y), rel=1e-6)
        assert loss.clip(y) is y


@every_biased_loss
def test_biased_support_of_the_sublevel_set(name, pair):
    loss, F = pair
    rng = generator(5)
    for y in biased_residuals(len(F), 2):
        for alpha in (1e-3, 20.0):
            found = loss.support_of_sublevel(y, alpha)
            best = loss.best_beta(y, alpha)
            assert found == pytest.approx(loss.perspective(y, best, alpha), rel=1e-9)
            for beta in best * np.geomspace(1e-2, 1e2, 9):
                assert found <= loss.perspective(y, beta, alpha) * (1 + 1e-9)
            for _ in range(2):  # no point of the set beyond the plane
                r = rng.standard_normal(y.size)
                r *= math.sqrt(alpha / loss.value(r))
                assert float(y @ r) <= found * (1 + 1e-9)
        s = biased_residuals(len(F))[1]
        assert loss.support_of_sublevel(2.5 * loss.gradient(s), loss.value(s)) == pytest.approx(
            2.5 * float(loss.gradient(s) @ s), rel=1e-7
        )  # attained where the gradient points along y
    assert loss.support_of_sublevel(np.zeros(len(F)), 1.0) == 0.0
    assert loss.support_of_sublevel(np.ones(len(F)), 0.0) == 0.0


@every_biased_loss
def test_biased_convexity_and_smoothness(name, pair):
    loss, F = pair
    rows = biased_residuals(len(F), 4)
    for r, other in pairwise(rows):
        step, turn = r - other, loss.gradient(r) - loss.gradient(other)
        assert np.linalg.norm(turn) <= loss.smoothness * np.linalg.norm(step) * (1 + 1e-9)
        assert float(turn @ step) >= 0
        mean = 0.5 * (loss.value(r) + loss.value(other))
        assert loss.value(0.5 * (r + other)) <= mean
    assert loss.curvature(rows[0]).shape == rows[0].shape
    assert (loss.curvature(rows[0]) <= loss.smoothness * (1 + 1e-15)).all()
    assert loss.anchored


@every_biased_loss
def test_biased_more_shrinkage_costs_more(name, pair):
    loss, F = pair
    r = biased_residuals(len(F))[1]
    values = [Biased(loss.base, loss.F, shrink).value(r) for shrink in (1e-6, 1.0, 1e9)]
    assert (np.diff(values) >= -1e-9 * values[-1]).all()
    assert values[-1] == pytest.approx(loss.base.value(r), rel=1e-6)  # shrunk to nothing


@every_biased_loss
def test_biased_asked_again_in_any_order(name, pair):
    loss, F = pair
    rows = biased_residuals(len(F))
    first = [(loss.value(r), loss.gradient(r)) for r in rows]
    for r, (value, gradient) in zip(rows[::-1], first[::-1], strict=True):
        assert loss.value(r) == pytest.approx(value, rel=1e-9, abs=1e-300)
        np.testing.assert_allclose(loss.gradient(r.copy()), gradient, atol=1e-8 * np.abs(r).max(initial=0.0))


def test_a_biased_residual_that_has_changed_is_another_one():
    """Whoever updates a residual in place gets the loss of what it holds now."""
    for loss, F in biased_family().values():
        r = biased_residuals(len(F))[1]
        loss.value(r)
        r *= -3.0
        expected, _ = naive.biased_value(r, F, loss.weights, loss.shrink)
        assert loss.value(r) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["usual, shrunk by 0.7", "usual, weights, shrunk by 0.0001"])
def test_biased_the_loops_give_the_same_loss(name, monkeypatch):
    loss, F = biased_family()[name]
    r = biased_residuals(len(F))[1]
    plain = loss.value(r), loss.gradient(r), loss.conjugate(r)
    monkeypatch.setattr(kernels, "WORTHWHILE", 0)
    again = loss.value(r.copy()), loss.gradient(r.copy()), loss.conjugate(r)
    for found, expected in zip(again, plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_biased_it_says_what_it_is():
    M = Sampling([0, 1], [1, 0], (2, 2))
    loss = Biased(LeastSquares(), Margins(M, by_lines(M)), 0.25)
    assert repr(loss) == "Biased(LeastSquares(), biases shrunk by 0.25)"
