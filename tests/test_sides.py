"""Sampled entries row by row: many small regressions, against dense ones, one row at a time."""

import numpy as np
import pytest

import naive
from fewatoms import Sampling, kernels
from fewatoms.operators.sampling import ByLines
from fewatoms.sides import NONE, Side, at_entries

P, Q = 9, 7


@pytest.fixture(params=["loop", "numpy"])
def way(request, monkeypatch):
    """Whether the loops or their NumPy twins do the work."""
    monkeypatch.setattr(kernels, "WORTHWHILE", 0 if request.param == "loop" else 10**9)


def entries(seed=0, weighted=True):
    """A side, and its entries as rows, columns, values and weights; row 4 is empty."""
    rng = np.random.default_rng(seed)
    given = rng.random((P, Q)) < 0.7
    given[4] = False
    rows, cols = np.nonzero(given)
    values = rng.standard_normal(rows.size)
    w = rng.uniform(0.3, 3.0, rows.size) if weighted else NONE
    starts = np.searchsorted(rows, np.arange(P + 1))
    return Side(starts, cols, values, w), rows, cols, values, w


@pytest.mark.parametrize("weighted", [False, True])
def test_a_side_solves_and_improves(weighted, way):
    side, rows, cols, b, w = entries(weighted=weighted)
    rng = np.random.default_rng(7)
    V, ridge = np.abs(rng.standard_normal((Q, 2))), np.array([0.2, 0.4])
    expected = naive.row_solves(b, w, np.zeros(0), V, ridge, rows, cols, P)
    for found, twin in zip(side.solve(V, np.zeros(0), ridge), expected, strict=True):
        np.testing.assert_allclose(found, twin, atol=1e-9)
    bound, begin = np.array([True, True]), np.ones((P, 2))
    expected = naive.row_solves_nonnegative(b, w, np.zeros(0), V, ridge, bound, rows, cols, P)
    for found, twin in zip(side.improve(V, np.zeros(0), ridge, bound, begin), expected, strict=True):
        np.testing.assert_allclose(found, twin, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_regressions_by_hand(weighted, biased, way):
    """Least squares on the features, with a column of ones for biases; what is left is twice the minimum."""
    side, rows, cols, b, w = entries(1, weighted)
    rng = np.random.default_rng(8)
    V, offset, lam, shrink = rng.standard_normal((Q, 2)), rng.standard_normal(Q), 0.3, 0.8
    found = side.regress(V, lam, offset if biased else NONE, unit=2.5 if biased else None, shrink=shrink)
    assert found.factors.shape == (P, 2)
    assert found.biases.size == (P if biased else 0)
    for i in range(P):
        at = rows == i
        A, t = V[cols[at]], b[at] - (offset[cols[at]] if biased else 0.0)
        ridge = np.array([lam, lam, shrink] if biased else [lam, lam])
        A = np.column_stack([A, np.ones(len(A))]) if biased else A
        W = np.diag(w[at] if w.size else np.ones(t.size))
        x = np.linalg.solve(A.T @ W @ A + np.diag(ridge), A.T @ W @ t)
        np.testing.assert_allclose(found.factors[i], x[:2], atol=1e-9)
        if biased:
            assert found.biases[i] == pytest.approx(x[2], abs=1e-9)
        left = (t - A @ x) @ W @ (t - A @ x) + ridge @ x**2
        assert found.left[i] == pytest.approx(left, abs=1e-9)


def test_the_unit_of_the_biases_does_not_matter(way):
    side, *_ = entries(2)
    V = np.random.default_rng(9).standard_normal((Q, 2))
    one, other = (side.regress(V, 0.3, np.zeros(Q), unit=unit, shrink=0.8) for unit in (1.0, 50.0))
    for found, expected in zip(other, one, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_factors_that_must_not_be_negative_go_on_from_where_they_are(way):
    """Each pass lowers what is left, and biases keep their sign."""
    side, rows, _, b, _ = entries(3)
    side = Side(side.starts, side.others, b - 5.0, side.weights)
    V, begin = np.abs(np.random.default_rng(10).standard_normal((Q, 2))), (np.ones((P, 2)), np.zeros(P))
    for _ in range(40):
        found = side.regress(V, 0.3, np.zeros(Q), unit=1.0, shrink=0.1, begin=begin)
        assert found.factors.min() >= 0
        begin = found.factors, found.biases
    again = side.regress(V, 0.3, np.zeros(Q), unit=1.0, shrink=0.1, begin=begin)
    np.testing.assert_allclose(again.factors, found.factors, atol=1e-6)
    free = side.regress(V, 0.3, np.zeros(Q), unit=1.0, shrink=0.1)
    assert (free.left <= again.left + 1e-6).all()
    assert free.factors.min() < 0
    assert found.biases[np.unique(rows)].max() < 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_products_with_what_is_left(weighted, biased, way):
    side, rows, cols, b, w = entries(4, weighted)
    rng = np.random.default_rng(11)
    own, other = (rng.standard_normal(n) if biased else NONE for n in (P, Q))
    Z = np.zeros((P, Q))
    Z[rows, cols] = (b - own[rows] - other[cols] if biased else b) * (w if w.size else 1.0)
    features = rng.standard_normal((Q, 3))
    np.testing.assert_allclose(side.times(features, own, other), Z @ features, atol=1e-12)
    left, right = rng.standard_normal((P, 2)), rng.standard_normal((Q, 2))
    X = left @ right.T + (own[:, None] + other if biased else 0.0)
    np.testing.assert_allclose(at_entries(side, left, right, own, other), X[rows, cols], atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_some_entries_held_out(weighted, share):
    """Both parts are what an operator of their own would make of them."""
    p, q, rng = 9, 7, np.random.default_rng(3)
    rows, cols = np.divmod(rng.permutation(p * q)[:30], q)
    values, weights = rng.standard_normal(30), rng.uniform(1.0, 2.0, 30) if weighted else None
    M = Sampling(rows, cols, (p, q))
    out = rng.random(30) < share
    parts = ByLines(M).lines(values, weights).parted(M.row_by_row(out)[2])
    for part, some in zip(parts, (~out, out), strict=True):
        if not some.any():
            assert part.values.size == 0
            assert not part.starts.any()
            continue
        alone = Sampling(rows[some], cols[some], (p, q))
        wanted = ByLines(alone).lines(values[some], None if weights is None else weights[some])
        for name in ("starts", "others", "values", "weights"):
            np.testing.assert_array_equal(getattr(part, name), getattr(wanted, name))


def test_regressions_in_pieces_are_the_same(monkeypatch):
    """The clock is looked at between them."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, 30)
    starts = np.concatenate([[0], np.cumsum(counts)])
    side = Side(starts, rng.integers(0, 12, starts[-1]).astype(np.int32), rng.standard_normal(starts[-1]), NONE)
    V, offset, ridge = rng.standard_normal((12, 3)), rng.standard_normal(12), np.full(3, 0.1)
    whole = side.solve(V, offset, ridge)
    monkeypatch.setattr("fewatoms.sides.BETWEEN_TICKS", 100)
    for one, other in zip(whole, side.solve(V, offset, ridge), strict=True):
        np.testing.assert_array_equal(one, other)
