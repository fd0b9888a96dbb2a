"""Newton's method in a box."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from contracts.families import (
    generator,
    losses,
    over,
)
from fewatoms import (
    Huber,
    LeastSquares,
    Logistic,
)
from fewatoms.reduced import Bordered, Columns
from fewatoms.retrieval.newton import _paid, newton

BOXES = {
    "free": (-np.inf, np.inf),
    "nonnegative": (0.0, np.inf),
    "capped": (-0.3, 0.3),
    "one-sided and capped": (0.0, 0.4),
    "tight": (-1e-3, 1e-3),
}


@pytest.mark.parametrize("kind", ["columns", "bordered", "sparse"])
@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize(("name", "loss"), **over(losses(40)))
def test_newton_in_a_box_against_lbfgsb(name, loss, box, kind):
    draw = generator(17)
    A = draw.standard_normal((40, 5)) + 0.5
    b = A @ [1.0, -2.0, 0.1, 0.0, 0.5] + draw.standard_normal(40)
    b = 0.3 * draw.standard_normal(40) if isinstance(loss, Logistic) else b
    if isinstance(loss, Logistic):
        A = A * draw.choice([-1.0, 1.0], 40)[:, None]
    reduced = {"columns": Columns(A), "bordered": Bordered(A[:, :3], A[:, 3:]), "sparse": Columns(sp.csc_array(A))}[
        kind
    ]
    lower, upper = np.full(5, BOXES[box][0]), np.full(5, BOXES[box][1])
    c, residual, H = newton(reduced, b, loss, lower, upper)
    twin = minimize(
        lambda v: loss.value(b - A @ v),
        np.clip(np.zeros(5), lower, upper),
        jac=lambda v: -A.T @ loss.gradient(b - A @ v),
        method="L-BFGS-B",
        bounds=list(zip(lower, upper, strict=True)),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000},
    )
    assert (c >= lower).all()
    assert (c <= upper).all()
    np.testing.assert_allclose(residual, b - A @ c, atol=1e-12)
    value = loss.value(residual)
    assert value <= twin.fun * (1 + 1e-10)
    assert value == pytest.approx(twin.fun, rel=1e-6)
    slope = -A.T @ loss.gradient(residual)
    size = 1e-6 * np.abs(A.T @ loss.gradient(b)).max()
    assert (slope[c > lower] <= size).all()
    assert (slope[c < upper] >= -size).all()
    np.testing.assert_allclose(H, A.T @ (loss.curvature(residual)[:, None] * A), atol=1e-8)


@pytest.mark.parametrize(("name", "loss"), **over(losses(40)))
def test_newton_may_start_anywhere_in_the_box(name, loss):
    draw = generator(18)
    A, b = draw.standard_normal((40, 4)), draw.standard_normal(40)
    lower, upper = np.array([0.0, -1.0, -np.inf, 0.1]), np.array([np.inf, 1.0, 0.2, 0.1])  # the last one is fixed
    values = [
        loss.value(newton(Columns(A), b, loss, lower, upper, start)[1])
        for start in (np.array([0, 0, 0, 0.1]), np.array([3, -1, -5, 0.1]), np.array([0, 1, 0.2, 0.1]))
    ]
    assert max(values) <= min(values) * (1 + 1e-9)


def test_newton_gives_up_what_cannot_reach_the_target():
    draw = generator(19)
    A, b = draw.standard_normal((40, 4)), draw.standard_normal(40)
    wide = np.full(4, np.inf)
    best = LeastSquares().value(newton(Columns(A), b, LeastSquares(), -wide, wide)[1])
    c, _, _ = newton(Columns(A), b, LeastSquares(), -wide, wide, target=0.01 * best)
    assert not c.any()
    reached = newton(Columns(A), b, LeastSquares(), -wide, wide, target=1.01 * best)[1]
    assert LeastSquares().value(reached) == pytest.approx(best, rel=1e-9)


def test_newton_on_separable_classes_ends_with_finite_numbers():
    A = np.abs(generator(21).standard_normal((20, 3)))
    wide = np.full(3, np.inf)
    c, residual, H = newton(Columns(A), np.zeros(20), Logistic(), -wide, wide)
    assert np.isfinite(c).all()
    assert np.isfinite(H).all()
    assert Logistic().value(residual) < 1e-6


def test_newton_with_dependent_columns():
    draw = generator(22)
    A = draw.standard_normal((20, 2)) @ draw.standard_normal((2, 4))
    b, wide = draw.standard_normal(20), np.full(4, np.inf)
    c, residual, _ = newton(Columns(A), b, LeastSquares(), -wide, wide)
    left = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
    assert np.isfinite(c).all()
    assert LeastSquares().value(residual) == pytest.approx(LeastSquares().value(left), rel=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_no_minimum_is_claimed_where_there_is_a_way_down(seed):
    """Few data, columns in mixed units, a box: steps that leave it are bent, and may be bent uphill."""
    rng = np.random.default_rng(5000 + seed)
    m, n = int(rng.integers(4, 10)), int(rng.integers(2, 5))
    A = np.column_stack([rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-1, 1, n), np.ones(m)])
    b = rng.standard_normal(m) + A[:, 0]
    lower, upper = np.append(np.zeros(n), -np.inf), np.full(n + 1, np.inf)
    loss = Huber(0.3)
    c, residual, _ = newton(Columns(A), b, loss, lower, upper)
    slope = -A.T @ loss.gradient(residual)
    left = np.clip(c - slope / np.trace(A.T @ A), lower, upper) - c  # nothing where c is the minimum
    assert -slope @ left <= 1e-9 * loss.value(b)


@pytest.mark.parametrize("box", ["free", "one-sided and capped"])
@pytest.mark.parametrize(("name", "loss"), **over(losses(40)))
def test_newton_with_squares_to_pay_is_newton_on_more_rows(name, loss, box):
    """Against L-BFGS-B; columns that pay nothing are as they were, and the Hessian has what is paid."""
    draw = generator(20)
    A = draw.standard_normal((40, 5)) * draw.choice([-1.0, 1.0], 40)[:, None]
    b = 0.3 * draw.standard_normal(40) if isinstance(loss, Logistic) else 2.0 * draw.standard_normal(40)
    pays = np.array([3.0, 0.1, 30.0, 0.0, 0.0])
    lower, upper = np.full(5, BOXES[box][0]), np.full(5, BOXES[box][1])
    c, residual, H = newton(Columns(A), b, loss, lower, upper, pays=pays)
    twin = minimize(
        lambda v: loss.value(b - A @ v) + 0.5 * pays @ v**2,
        np.zeros(5),
        jac=lambda v: pays * v - A.T @ loss.gradient(b - A @ v),
        method="L-BFGS-B",
        bounds=list(zip(lower, upper, strict=True)),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000},
    )
    value = loss.value(residual) + 0.5 * pays @ c**2
    assert value <= twin.fun * (1 + 1e-10)
    assert value == pytest.approx(twin.fun, rel=1e-6)
    np.testing.assert_allclose(H, A.T @ (loss.curvature(residual)[:, None] * A) + np.diag(pays), atol=1e-8)
    given_up = newton(Columns(A), b, loss, lower, upper, pays=pays, target=0.5 * value)[0]
    assert loss.value(b - A @ given_up) + 0.5 * pays @ given_up**2 > 0.5 * value


def test_steps_beyond_all_numbers_cost_infinitely_much_and_what_pays_nothing_does_not_count():
    """No warning, and no nan: such a step is shortened."""
    assert _paid(np.array([0.0, 1.0]), np.array([1e200, 1.0])) == 0.5
    assert _paid(np.array([0.0, 1.0]), np.array([1.0, 1e200])) == np.inf
    assert _paid(np.zeros(2), np.array([np.inf, 1e200])) == 0.0
