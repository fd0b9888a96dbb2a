"""Classes of any number."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from contracts.families import labels
from fewatoms import Logistic, Multinomial
from fewatoms.losses.multinomial import Spread
from fewatoms.reduced import Bordered, Columns

ROWS, CLASSES = 7, 4
WEIGHTS = np.random.default_rng(0).uniform(0.3, 3.0, ROWS)
LOSSES = {
    "plain": Multinomial().of_labels(labels(ROWS, CLASSES)),
    "weights": Multinomial(WEIGHTS).of_labels(labels(ROWS, CLASSES)),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def hessian(loss, r):
    """By differences of the gradient."""
    h = 1e-6
    return np.stack([(loss.gradient(r + h * e) - loss.gradient(r - h * e)) / (2 * h) for e in np.eye(r.size)])


@every_loss
def test_the_bend_on_a_few_columns_makes_newtons_step(loss):
    """Where nothing is bent, along what all classes share, something is filled in: it turns no step."""
    rng = np.random.default_rng(1)
    X, F, r = rng.standard_normal((ROWS, 2)), np.ones((ROWS, 1)), rng.standard_normal(ROWS * CLASSES)
    A, wide = np.kron(X, np.eye(CLASSES)), np.kron(F, np.eye(CLASSES))
    R = np.concatenate([A, wide], axis=1)
    H = R.T @ hessian(loss, r) @ R
    slope = R.T @ loss.gradient(r)
    expected = np.linalg.pinv(H, rcond=1e-6) @ slope
    for reduced in (Columns(R), Columns(sp.csc_array(R)), Bordered(A, wide), Bordered(sp.csc_array(A), wide)):
        G = loss.bend(r).gram(reduced)
        assert np.linalg.eigvalsh(G)[0] > 1e-6 * np.linalg.norm(G, 2)
        step = np.linalg.solve(G, slope)
        np.testing.assert_allclose(step, expected, atol=1e-7 * np.abs(expected).max())
        np.testing.assert_allclose(step.reshape(-1, CLASSES).sum(axis=1), 0.0, atol=1e-12 * np.abs(step).max())
    np.testing.assert_allclose(loss.bend(r).diagonal, loss.curvature(r), rtol=1e-12)


def test_two_classes_are_those_of_the_logistic_loss():
    two, wide = labels(ROWS, 2), Multinomial(WEIGHTS).of_labels(labels(ROWS, 2))
    thin = Logistic(WEIGHTS).of_labels(two)
    for seed in range(5):
        R = 4 * np.random.default_rng(seed).standard_normal((ROWS, 2))
        assert wide.value(R.ravel()) == pytest.approx(thin.value(R[:, 1] - R[:, 0]), rel=1e-13)
        np.testing.assert_allclose(wide.gradient(R.ravel())[1::2], thin.gradient(R[:, 1] - R[:, 0]), rtol=1e-12)
        y = thin.gradient(R[:, 1] - R[:, 0])
        assert wide.conjugate(np.stack([-y, y], axis=1).ravel()) == pytest.approx(thin.conjugate(y), rel=1e-12)


@every_loss
def test_small_losses_are_told_to_the_last_digit(loss):
    """Of labels that are nearly certain the loss is the sum of what is left for the others."""
    R = np.full((ROWS, CLASSES), 40.0)
    R[np.arange(ROWS), loss.labels.codes] = 0.0
    weights = 1.0 if loss.weights is None else WEIGHTS
    small = np.sum(weights * np.full(ROWS, (CLASSES - 1) * math.exp(-40.0)))
    assert loss.value(R.ravel()) == pytest.approx(small, rel=1e-12)
    y = loss.gradient(R.ravel()).reshape(ROWS, CLASSES)
    np.testing.assert_allclose(y[np.arange(ROWS), loss.labels.codes], (CLASSES - 1) * math.exp(-40.0) * weights)
    assert loss.conjugate(y.ravel()) <= 0.0


@every_loss
def test_clipped_is_the_nearest_point_of_the_simplices(loss):
    """The angle at the nearest point of a convex set is never acute."""
    rng = np.random.default_rng(2)
    inside = [loss.gradient(10.0 ** rng.uniform(-1, 2) * rng.standard_normal(ROWS * CLASSES)) for _ in range(50)]
    weights = 1.0 if loss.weights is None else loss.weights
    for _ in range(10):
        y = 3 * rng.standard_normal(ROWS * CLASSES)
        near = loss.clip(y)
        assert math.isfinite(loss.conjugate(near))
        for other in inside:
            assert ((y - near) / weights) @ ((other - near) / weights) <= 1e-9
    np.testing.assert_allclose(loss.clip(inside[0]), inside[0], rtol=1e-12, atol=1e-15)


@every_loss
def test_weights_and_labels_are_of_data_and_not_of_residuals(loss):
    rows = np.array([5, 1, 2])
    entries = (rows[:, None] * CLASSES + np.arange(CLASSES)).ravel()
    r = np.random.default_rng(3).standard_normal(ROWS * CLASSES)
    parts = [loss.subset(np.arange(i * CLASSES, (i + 1) * CLASSES)) for i in range(ROWS)]
    each = [part.value(r[i * CLASSES : (i + 1) * CLASSES]) for i, part in enumerate(parts)]
    assert loss.value(r) == pytest.approx(sum(each))
    assert loss.subset(entries).value(r[entries]) == pytest.approx(sum(each[i] for i in rows))
    assert repr(loss) == repr(loss.without_labels())
    again = loss.without_labels().of_labels(loss.labels)
    assert again.value(r) == loss.value(r)
    with pytest.raises(ValueError, match=r"^labels must be known for the loss of their classes: fit\(X, labels"):
        loss.without_labels().value(r)


def test_margins_over_every_other_class():
    loss = LOSSES["plain"]
    image = np.random.default_rng(4).standard_normal(ROWS * CLASSES)
    rows, codes = image.reshape(ROWS, CLASSES), loss.labels.codes
    expected = [rows[i, codes[i]] - rows[i, c] for i in range(ROWS) for c in range(CLASSES) if c != codes[i]]
    np.testing.assert_allclose(loss.margins(image), expected)
    np.testing.assert_allclose(loss.margins(np.stack([image, 2 * image], axis=1))[:, 1], 2 * np.array(expected))


def test_what_never_enters_the_domain():
    loss, zero = LOSSES["plain"], np.zeros(ROWS * CLASSES)
    wrong = zero.copy()
    wrong[0] = 1.0  # no row of differences of probabilities has this sum
    assert loss.conjugate(wrong) == math.inf
    assert loss.support_of_sublevel(wrong, 1.0) == math.inf
    assert loss.conjugate(zero) == 0.0  # inf f = 0
    assert isinstance(loss.bowl(zero), Spread)
