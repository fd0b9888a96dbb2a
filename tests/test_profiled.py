"""Losses after the best coefficients of free columns."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from contracts.families import (
    generator,
    losses,
    over,
    projector,
    vector_operators,
)
from fewatoms import (
    Huber,
)
from fewatoms.profiled import Profiled

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
