"""What the built-in losses say of themselves beyond the contract: nearest points, closed forms, weights, parts."""

import math

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import Huber, LeastSquares, Logistic, Loss
from fewatoms.losses import exact_step

M = 6
RNG = np.random.default_rng(0)
WEIGHTS = RNG.uniform(0.3, 3.0, M)
LOSSES = {
    "least squares": LeastSquares(),
    "least squares, weights": LeastSquares(WEIGHTS),
    "huber": Huber(0.7),
    "huber, weights": Huber(0.7, WEIGHTS),
    "logistic": Logistic(),
    "logistic, weights": Logistic(WEIGHTS),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


class Searched(Huber):
    """Huber's loss, as one's own would be: nothing is known of it but the abstract members."""

    clip = Loss.clip
    best_beta = Loss.best_beta
    support_of_sublevel = Loss.support_of_sublevel


class SearchedLogistic(Logistic):
    clip = Loss.clip
    best_beta = Loss.best_beta


# Into the domain -----------------------------------------------------------------------------------------------------


@every_loss
def test_clipped_is_the_nearest_point_of_the_domain(loss):
    """Nearer than any gradient, which fill the domain, and than any point on the way to one."""
    rng = np.random.default_rng(1)
    inside = [loss.gradient(r) for r in 10.0 ** rng.uniform(-2, 2, (300, 1)) * rng.standard_normal((300, M))]
    for _ in range(20):
        y = 3 * rng.standard_normal(M)
        near = loss.clip(y)
        assert math.isfinite(loss.conjugate(near))
        distance = np.linalg.norm(y - near)
        assert distance <= min(np.linalg.norm(y - other) for other in inside) + 1e-12
        for other in inside[:20]:  # the angle at the nearest point of a convex set is never acute
            assert (y - near) @ (other - near) <= 1e-10


@every_loss
def test_points_of_the_domain_stay(loss):
    for seed in range(5):
        y = loss.gradient(2 * np.random.default_rng(seed).standard_normal(M))
        np.testing.assert_allclose(loss.clip(y), y, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize(
    "loss", [Searched(0.7), Searched(0.7, WEIGHTS), SearchedLogistic(WEIGHTS)], ids=["h", "hw", "lw"]
)
def test_without_a_formula_a_point_on_the_way_to_the_gradient_at_zero(loss):
    start = loss.gradient(np.zeros(M))
    for seed in range(10):
        y = 3 * np.random.default_rng(seed).standard_normal(M)
        found = loss.clip(y)
        assert math.isfinite(loss.conjugate(found))
        share = np.linalg.norm(found - start) / np.linalg.norm(y - start)
        np.testing.assert_allclose(found, start + share * (y - start), atol=1e-9)
        if not math.isfinite(loss.conjugate(y)):  # and as far as the domain goes
            assert loss.conjugate(start + (share + 1e-9) * (y - start)) == math.inf
    inside = loss.gradient(0.1 * np.ones(M))
    assert loss.clip(inside) is inside


# Closed forms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("r", "value", "gradient", "curvature"),
    [
        (0.0, 0.0, 0.0, 1.0),
        (0.5, 0.125, 0.5, 1.0),
        (2.0, 2.0, 2.0, 1.0),
        (-3.0, 4.0, -2.0, 0.0),
        (10.0, 18.0, 2.0, 0.0),
    ],
)
def test_huber_by_hand(r, value, gradient, curvature):
    loss, entry = Huber(2.0), np.array([r])
    assert loss.value(entry) == value
    assert loss.gradient(entry).tolist() == [gradient]
    assert loss.curvature(entry).tolist() == [curvature]
    assert Huber(2.0, [3.0]).value(entry) == 3 * value


def test_huber_is_least_squares_until_delta_reaches_the_data():
    r = RNG.standard_normal(M)
    for weights in (None, WEIGHTS):
        assert Huber(10.0, weights).value(r) == pytest.approx(LeastSquares(weights).value(r), rel=1e-14)
        np.testing.assert_allclose(Huber(10.0, weights).gradient(r), LeastSquares(weights).gradient(r))


def test_logistic_by_hand():
    loss = Logistic()
    assert loss.value(np.zeros(1)) == pytest.approx(math.log(2))
    assert loss.gradient(np.array([0.0, math.log(3)])).tolist() == pytest.approx([0.5, 0.75])
    assert loss.curvature(np.array([0.0, math.log(3)])).tolist() == pytest.approx([0.25, 0.1875])
    assert loss.conjugate(np.array([0.25])) == pytest.approx(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert loss.conjugate(np.array([0.0, 1.0])) == 0.0
    assert loss.value(np.array([800.0, -800.0])) == 800.0


def test_closed_forms_of_the_perspective():
    rng = np.random.default_rng(2)
    for w in (None, WEIGHTS):
        weights = np.ones(M) if w is None else w
        for _ in range(10):
            y, alpha = rng.standard_normal(M), rng.uniform(0.01, 5)
            length = math.sqrt(np.sum(y**2 / weights))
            squares = LeastSquares(w)
            assert squares.support_of_sublevel(y, alpha) == pytest.approx(math.sqrt(2 * alpha) * length, rel=1e-13)
            assert squares.best_beta(y, alpha) == pytest.approx(length / math.sqrt(2 * alpha), rel=1e-13)
            beta = max(np.abs(y / weights).max() / 0.7, length / math.sqrt(2 * alpha))
            assert Huber(0.7, w).best_beta(y, alpha) == pytest.approx(beta, rel=1e-13)


def test_logistic_dual_of_mixed_signs_is_infeasible():
    y = np.array([1.0, -0.5, 0.2])
    assert Logistic().support_of_sublevel(y, 2.0) == math.inf
    assert Logistic().support_of_sublevel(-np.abs(y), 2.0) == math.inf


def test_the_slope_of_the_logistic_perspective_vanishes_at_its_best_beta():
    for seed in range(5):
        y, alpha = np.random.default_rng(seed).uniform(0, 2, M), 0.4
        beta = Logistic(WEIGHTS).best_beta(y, alpha)
        assert np.sum(WEIGHTS * np.log1p(-y / WEIGHTS / beta)) == pytest.approx(-alpha, rel=1e-6)


@pytest.mark.parametrize(
    ("searched", "known"),
    [(Searched(0.7, WEIGHTS), Huber(0.7, WEIGHTS)), (SearchedLogistic(WEIGHTS), Logistic(WEIGHTS))],
    ids=["huber", "logistic"],
)
def test_the_search_for_beta_finds_what_formulas_say(searched, known):
    for seed in range(4):
        y, alpha = 5 * np.random.default_rng(seed).uniform(0, 1, M), 10.0 ** (seed - 2)
        assert searched.support_of_sublevel(y, alpha) == pytest.approx(known.support_of_sublevel(y, alpha), rel=1e-6)
    assert searched.best_beta(np.zeros(M), 1.0) == 0.0
    assert searched.best_beta(np.ones(M), 0.0) == math.inf


# Steps ---------------------------------------------------------------------------------------------------------------


def test_exact_step_goes_nowhere_uphill():
    r = np.array([1.0, 2.0])
    assert exact_step(LeastSquares(), r, -r, 1.0) == 0.0
    assert exact_step(LeastSquares(), r, r, math.inf) == pytest.approx(1.0, rel=1e-14)


@every_loss
def test_at_an_exact_step_the_slope_vanishes(loss):
    rng = np.random.default_rng(3)
    for _ in range(5):
        r, d = 2 * rng.standard_normal((2, M))
        d *= np.sign(loss.gradient(r) @ d)  # downhill
        theta = exact_step(loss, r, d, 1e3)
        slope = loss.gradient(r - theta * d) @ d
        assert theta > 0
        assert abs(slope) <= 1e-9 * abs(loss.gradient(r) @ d) or theta == 1e3


def test_an_exact_step_of_least_squares_takes_few_evaluations():
    class Watched(LeastSquares):
        calls = 0

        def gradient(self, r):
            self.calls += 1
            return super().gradient(r)

    loss, (r, d) = Watched(), np.random.default_rng(4).standard_normal((2, M))
    d *= np.sign(r @ d)
    assert exact_step(loss, r, d, 1e3) == pytest.approx(r @ d / (d @ d), rel=1e-13)
    assert loss.calls <= 10


# Weights and parts of the data ---------------------------------------------------------------------------------------


@every_loss
def test_weights_multiply_the_terms(loss):
    r = 2 * np.random.default_rng(5).standard_normal(M)
    bare = loss.subset(np.arange(M))
    bare.weights = None
    weights = np.ones(M) if loss.weights is None else loss.weights
    for i in range(M):
        alone = loss.subset(np.array([i]))
        assert alone.value(r[[i]]) == pytest.approx(weights[i] * bare.value(r[[i]]), rel=1e-14)
    assert loss.value(r) == pytest.approx(sum(loss.subset(np.array([i])).value(r[[i]]) for i in range(M)), rel=1e-13)


@every_loss
def test_a_part_of_the_data_has_its_part_of_the_weights(loss):
    rows = np.array([4, 0, 2])
    before = None if loss.weights is None else loss.weights.copy()
    part = loss.subset(rows)
    assert type(part) is type(loss)
    r = np.random.default_rng(6).standard_normal(M)
    np.testing.assert_array_equal(part.gradient(r[rows]), loss.gradient(r)[rows])
    np.testing.assert_array_equal(part.curvature(r[rows]), loss.curvature(r)[rows])
    if before is None:
        assert part.weights is None
    else:
        np.testing.assert_array_equal(part.weights, before[rows])
        np.testing.assert_array_equal(loss.weights, before)
        assert part.smoothness == pytest.approx(loss.smoothness * before[rows].max() / before.max())


def test_printed_and_kept():
    assert [repr(loss) for loss in (LeastSquares(), Huber(0.5), Logistic([1, 2]), Huber(2, [1]))] == [
        "LeastSquares()",
        "Huber(delta=0.5)",
        "Logistic(weights=<2>)",
        "Huber(delta=2, weights=<1>)",
    ]
    assert Huber(0.5).kept().kind == "Huber"
    for loss in (LeastSquares([1.0]), Huber(0.5, [1.0]), Logistic([1.0])):
        assert loss.kept() is None  # weights are data


def test_what_each_is_like():
    assert [loss.squares for loss in (LeastSquares(), Huber(), Logistic())] == [True, False, False]
    assert [loss.anchored for loss in (LeastSquares(), Huber(), Logistic())] == [True, True, False]
    assert [loss.labelled for loss in (LeastSquares(), Huber(), Logistic())] == [False, False, True]
    for loss in (LeastSquares(), Huber()):
        assert loss.value(np.zeros(3)) == 0.0


@pytest.mark.parametrize("make", [LeastSquares, lambda w: Huber(1.0, w), Logistic], ids=["ls", "huber", "logistic"])
@pytest.mark.parametrize(
    ("weights", "kind", "message"),
    [
        ([1, -2, 1], ValueError, r"^weights must be positive .*; got -2.0$"),
        ([1, 0, 1], ValueError, r"^weights must be positive \(leave rows of weight 0 out\); got 0.0$"),
        ([1, np.nan, 1], ValueError, r"^weights must hold finite numbers only; it contains nan$"),
        ([1, np.inf, 1], ValueError, r"^weights must hold finite numbers only; it contains inf$"),
        ([1j, 1, 1], TypeError, r"^weights must be real"),
        ("abc", TypeError, r"^weights must hold real numbers; got an array of <U"),
    ],
)
def test_weights_must_be_positive(make, weights, kind, message):
    with pytest.raises(kind, match=message):
        make(weights)


@pytest.mark.parametrize(
    ("delta", "kind"),
    [
        (0, ValueError),
        (-1, ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        ("a", TypeError),
        (None, TypeError),
        (True, TypeError),
    ],
)
def test_delta_must_be_positive(delta, kind):
    with pytest.raises(kind, match=r"^delta must be a positive finite number; got "):
        fa.Huber(delta)


@pytest.mark.parametrize("loss", [Huber(0.5), Logistic(), LeastSquares()], ids=repr)
def test_the_parabola_through_the_slope_where_there_is_no_curvature(loss):
    r = np.array([-3.0, -0.6, -0.2, 0.0, 0.3, 0.7, 40.0])
    w = loss.bowl(r).diagonal
    curved = loss.curvature(r) > 0
    np.testing.assert_array_equal(w[curved], loss.curvature(r)[curved])
    assert (w > 0).all()
    np.testing.assert_allclose((w * np.abs(r))[~curved], np.abs(loss.gradient(r))[~curved])
    # so that the model lies above the loss along lines to zero: Huber's tails are majorised
    if isinstance(loss, Huber):
        assert (~curved).any()
        for i in np.flatnonzero(~curved):
            e = np.zeros(r.size)
            e[i] = r[i]
            for t in np.linspace(-1.0, 1.0, 9):
                model = loss.value(e) + loss.gradient(e) @ ((t - 1) * e) + 0.5 * w[i] * ((t - 1) * r[i]) ** 2
                assert loss.value(t * e) <= model * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("together", [1, 4, 5, 100])
def test_weights_are_multiplied_some_at_a_time(together, monkeypatch):
    monkeypatch.setattr("fewatoms.losses.squares.WEIGHED_AT_ONCE", together)
    r = np.linspace(-1.0, 2.0, M)
    assert LeastSquares(WEIGHTS).value(r) == pytest.approx(0.5 * float(np.sum(WEIGHTS * r**2)), rel=1e-14)
