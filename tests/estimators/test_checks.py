"""scikit-learn's own checks, for every estimator. Those that choose k themselves take longer: most of theirs run in
`make soak`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewatoms.estimators import SparseClassifier, SparseClassifierCV, SparseCoder, SparseRegressor, SparseRegressorCV

FOLDS_SEE_ROWS = "k is chosen by rows left out, and a row that is there twice may be left out once: weights cannot"

# What does not hold, and why. As in docs/estimators.md.
EXPECTED_FAILURES = {
    name: {
        "check_sample_weight_equivalence_on_dense_data": FOLDS_SEE_ROWS,
        "check_sample_weight_equivalence_on_sparse_data": FOLDS_SEE_ROWS,
    }
    for name in ("SparseRegressor()", "SparseClassifier()")
}


def expected(estimator):
    return EXPECTED_FAILURES.get(repr(estimator), {})


def check_passes(check, estimator):
    check(estimator)


class Cosines:
    """A dictionary for signals of any length, with a name that is the same in every process."""

    def __call__(self, n):
        return np.cos(np.pi * np.outer(np.arange(max(n, 4)), np.arange(n) + 0.5) / n)

    def __repr__(self):
        return "cosines"


cosines = Cosines()


@parametrize_with_checks(
    [SparseRegressor(2), SparseClassifier(2, 0.01, effort="quick"), SparseCoder(cosines, 2)],
    expected_failed_checks=expected,
)
def test_scikit_learn_is_content(estimator, check):
    check_passes(check, estimator)


@pytest.mark.sampled(30)
@parametrize_with_checks(
    [
        SparseRegressorCV([1, 2], [0.0, 0.1], cv=2, effort="quick"),
        SparseClassifierCV([1, 2], [0.01, 0.1], cv=2, effort="quick"),
        SparseRegressor(2, loss="huber", ridge=0.1),
        SparseRegressor(2, positive=True, fit_intercept=False),
    ]
)
def test_scikit_learn_is_content_with_choices_among_few(estimator, check):
    check_passes(check, estimator)


@pytest.mark.soak
@parametrize_with_checks(
    [SparseRegressor(), SparseRegressorCV(), SparseClassifier(), SparseClassifierCV()], expected_failed_checks=expected
)
def test_scikit_learn_is_content_with_defaults(estimator, check):
    check_passes(check, estimator)
