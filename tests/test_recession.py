"""Separable classes: a status where a direction proves it, and none elsewhere."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import fewatoms as fa

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 6))
NOISY = X[:, 1] + RNG.standard_normal(60) > 0
SEPARABLE, SMALLEST = fa.Status.SEPARABLE, fa.Status.SMALLEST_LOSS


def only_in_one_class(labels, count=5):
    """A column that is 1 for a few data of the last class, and 0 elsewhere."""
    column = np.zeros(labels.size)
    column[np.flatnonzero(labels == labels.max())[:count]] = 1.0
    return column


def recedes(A, labels, nonnegative=0):
    """Whether there is a direction of recession, by a linear program: margins of which none is negative, and some are
    positive. The first `nonnegative` coefficients must not be negative."""
    values, rows = np.unique(labels), []
    for row, label in zip(A, labels, strict=True):
        if values.size == 2:
            rows.append((1.0 if label == values[1] else -1.0) * row)
        else:
            own = np.eye(values.size)[np.searchsorted(values, label)]
            rows += [np.kron(row, own - e) for e in np.eye(values.size)[values != label]]
    C = np.array(rows)
    bounds = [(0, 1) if j < nonnegative else (-1, 1) for j in range(C.shape[1])]
    found = linprog(-C.sum(axis=0), A_ub=-C, b_ub=np.zeros(len(C)), bounds=bounds)
    return -found.fun > 1e-6


def random_case(seed):
    """Few data and few features, some of them thin: separable, partly or not."""
    rng = np.random.default_rng(seed)
    m, n, classes = int(rng.integers(8, 16)), 3, int(rng.integers(2, 4))
    A = rng.standard_normal((m, n)) * (rng.random((m, n)) < rng.choice([0.3, 1.0]))
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, m - classes)])
    if rng.random() < 0.4:
        labels = np.digitize(A[:, 0] + 0.2 * rng.standard_normal(m), [0.0] if classes == 2 else [-0.5, 0.5])
    enough = np.unique(labels).size == classes and A.any(axis=0).all()
    return (A, labels, bool(rng.random() < 0.5)) if enough else random_case(seed + 1000)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(40))
def test_the_status_is_that_of_a_linear_program(seed):
    A, labels, intercept = random_case(seed)
    loss = fa.Logistic() if np.unique(labels).size == 2 else fa.Multinomial()
    words = {"free": "intercept"} if intercept else {}
    s = fa.fit(A, labels, atoms=fa.SignedOneHot(3), k=3, loss=loss, **words)
    used = np.sort(s.indices).astype(int)
    columns = np.column_stack([A[:, used], *([np.ones(len(A))] if intercept else [])])
    assert (s.status is SEPARABLE) == recedes(columns, labels)
    assert s.success == (s.status is not SEPARABLE)
    assert s.status in (SEPARABLE, SMALLEST)


def test_signs_may_forbid_the_direction():
    thin = np.column_stack([X[:, 1], only_in_one_class(NOISY)])
    both = fa.NonnegativeOneHot(2).restricted(include=[0, 1])
    for sign, status in ((1.0, SEPARABLE), (-1.0, SMALLEST)):
        assert fa.fit(thin * [1.0, sign], NOISY, atoms=both, k=2, loss=fa.Logistic()).status is status


def test_what_keeps_coefficients_small_keeps_the_status_away():
    thin = np.column_stack([X[:, 1], 10 * only_in_one_class(NOISY)])
    ask = {"atoms": fa.SignedOneHot(2).restricted(include=[0, 1]), "k": 2, "loss": fa.Logistic()}
    plain = fa.fit(thin, NOISY, **ask)
    assert plain.status is SEPARABLE
    assert not plain.success
    assert "the loss falls for ever" in plain.message
    assert plain.loss > 10.0  # some of the data are far from being separated
    for words in ({"cap": 5.0}, {"ridge": 0.1}, {"alpha": 1.1 * plain.loss}):
        s = fa.fit(thin, NOISY, **ask, **words)
        assert s.success
        assert s.status is not SEPARABLE
        assert "separable" not in s.message


def test_a_few_far_data_are_no_separation():
    """The largest margin is far out, but coefficients have a best size: nothing is claimed."""
    far = np.concatenate([X, [[0.0, 300.0, 0, 0, 0, 0]]])
    one = fa.SignedOneHot(6).restricted(include=[1])
    s = fa.fit(far, np.append(NOISY, True), atoms=one, k=1, loss=fa.Logistic())
    assert s.predict(far).max() > 100.0
    assert s.status is SMALLEST
    assert "separable" not in s.message


def test_in_the_form_of_the_paper_and_over_matrices():
    t = np.where(X[:, 2] > 0, 1.0, -1.0)
    s = fa.fit(t[:, None] * X, np.zeros(60), atoms=fa.SignedOneHot(6), k=1, loss=fa.Logistic())
    assert s.status is SEPARABLE
    rows, cols = np.nonzero(np.ones((5, 4)))
    signs = np.outer([1, -1, 1, 1, -1], [1, 1, -1, 1])
    s = fa.fit(fa.Sampling(rows, cols, (5, 4)), signs.ravel(), atoms=fa.RankOne(5, 4), k=1, loss=fa.Logistic())
    assert (s.status, s.success) == (SEPARABLE, False)


def test_a_stop_is_a_stop():
    def stop(progress):
        if progress.candidate is not None:
            raise StopIteration

    s = fa.fit(X, X[:, 1] > 0, atoms=fa.SignedOneHot(6), k=2, loss=fa.Logistic(), callback=stop)
    assert s.status is fa.Status.STOPPED
    assert math.isfinite(s.loss)
