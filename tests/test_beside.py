"""Free columns beside M, against columns that are appended and refitted."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import fewatoms as fa
from methods.listed.small import (
    FREE,
    RAMP,
    ROWS,
    refit,
    smooth_refit,
    with_offset,
)

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
        ValueError, match=r"^free must have shape \(18, 2\), a column per free coefficient; got \(18, 1\)$"
    ):
        s.predict(A, free=RAMP)
    with pytest.raises(
        ValueError, match=r"^M_new must take models of shape \(9,\); got an operator of shape \(18, 8\)$"
    ):
        s.predict(A[:, :8], free=FREE["two columns"][0])
