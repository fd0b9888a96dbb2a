"""Two classes: signs in the loss, or in M."""

import numpy as np
import pytest

from contracts.families import labels
from fewatoms import Logistic

M = 12
SIGNS = 2.0 * labels(M, 2).codes - 1.0


@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).uniform(0.3, 3.0, M)], ids=["plain", "weights"])
def test_signs_in_the_loss_and_in_m_are_one(weights):
    """f of labels at r is f without at t r, to the last digit; so are its derivatives and its conjugate."""
    plain = Logistic(weights)
    told = plain.of_labels(labels(M, 2))
    rng = np.random.default_rng(1)
    for _ in range(5):
        r = 3 * rng.standard_normal(M)
        assert told.value(SIGNS * r) == plain.value(r)
        np.testing.assert_array_equal(told.gradient(SIGNS * r), SIGNS * plain.gradient(r))
        np.testing.assert_array_equal(told.curvature(SIGNS * r), plain.curvature(r))
        y = plain.gradient(r)
        assert told.conjugate(SIGNS * y) == plain.conjugate(y)
        assert told.support_of_sublevel(SIGNS * y, 0.7) == plain.support_of_sublevel(y, 0.7)
        np.testing.assert_array_equal(told.clip(5 * SIGNS * r), SIGNS * plain.clip(5 * r))


def test_labels_stay_with_their_rows_and_can_be_taken_back():
    told, rows = Logistic(np.arange(1.0, M + 1)).of_labels(labels(M, 2)), np.array([7, 2, 3])
    r = np.random.default_rng(2).standard_normal(M)
    some = told.subset(rows)
    assert some.value(r[rows]) == pytest.approx(_terms(told, r)[rows].sum())
    assert told.without_labels().labels is None
    assert told.without_labels().value(r) == Logistic(np.arange(1.0, M + 1)).value(r)
    assert told.labels is not None  # of its own


def _terms(loss, r):
    return loss.weights * np.log1p(np.exp(SIGNS * r))


def test_margins():
    told, A = Logistic().of_labels(labels(M, 2)), np.random.default_rng(3).standard_normal((M, 4))
    np.testing.assert_array_equal(told.margins(A), SIGNS[:, None] * A)
    np.testing.assert_array_equal(told.margins(A[:, 0]), SIGNS * A[:, 0])
    np.testing.assert_array_equal(Logistic().margins(A), A)
