"""Products and sums over entries, and loops over dense rows, against slow obvious ones."""

import numpy as np
import pytest

import naive
from fewatoms import kernels
from kernels.grids import Grid, every_grid


@every_grid
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_sampled_products(name, kind, way):
    g = Grid(name, kind=kind)
    found = kernels.sampled_products(g.left, g.right, *g.places)
    expected = naive.sampled_products(g.left, g.right, g.rows, g.cols)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max(initial=0.0))


@every_grid
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_scattered(name, kind, way):
    g = Grid(name, kind=kind)
    found = kernels.scattered(g.values, g.right, *g.places)
    expected = naive.scattered(g.values, g.right, g.rows, g.cols, g.p)
    assert found.shape == (g.p, g.r)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max(initial=0.0) * g.q)


@every_grid
@pytest.mark.parametrize("kind", [np.int32, pytest.param(np.int64, marks=pytest.mark.soak)])
def test_row_grams(name, kind, way):
    """Of all rows, and of ranges of them: rows name their entries by their place in the whole."""
    g = Grid(name, kind=kind)
    weights = g.weights.copy()
    weights[::3] = 0.0  # flat pieces of a loss have no curvature
    expected = naive.row_grams(g.right, g.rows, g.cols, weights, g.p)
    for first, last in {(0, g.p), (0, 1), (g.p // 2, g.p), (g.p // 3, 2 * g.p // 3)}:
        found = kernels.row_grams(weights, g.right, *g.places, first, last)
        size = np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(found, expected[first:last], rtol=0, atol=1e-13 * size * g.q)
        np.testing.assert_allclose(found, found.transpose(0, 2, 1), rtol=1e-14, atol=1e-14 * size)


def test_factors_need_not_be_contiguous(way):
    g = Grid("usual")
    wide = np.repeat(g.right, 2, axis=1)[:, ::2]
    for right in (np.asfortranarray(g.right), wide):
        assert not right.flags.c_contiguous
        for found, expected in (
            (kernels.sampled_products(np.asfortranarray(g.left), right, *g.places),
             kernels.sampled_products(g.left, g.right, *g.places)),
            (kernels.scattered(g.values, right, *g.places), kernels.scattered(g.values, g.right, *g.places)),
            (kernels.row_grams(g.weights, right, *g.places, 0, g.p),
             kernels.row_grams(g.weights, g.right, *g.places, 0, g.p)),
        ):  # fmt: skip
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("ahead", [1.0, 1.7])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 1), (30, 20)])
def test_split_rows(shape, ahead, whole, way):
    """S and the error together, from the splitting itself: over-relaxed, with the multiplier inside its ball."""
    rng = np.random.default_rng(shape)
    D, L, Y, rest = (rng.standard_normal(shape) for _ in range(4))
    seen = np.ones(shape, dtype=bool) if whole else rng.random(shape) < 0.7
    mu, following, price, soft = 1.3, 2.1, 0.4, 0.9
    T = D - rest + Y / mu
    ahead_of_L = ahead * L + (1 - ahead) * (D - rest)
    t = D - ahead_of_L + Y / mu
    y = np.where(seen, np.clip(soft * t, -price, price), 0.0)
    expected = D - (t - y / mu) + y / following
    given = D.copy(), L.copy()
    kernels.split_rows(
        D, T, L, Y, None if whole else seen, soft=soft, mu=mu, following=following, price=price, ahead=ahead
    )
    np.testing.assert_allclose(Y, y, atol=1e-13)
    np.testing.assert_allclose(T, expected, atol=1e-12)
    np.testing.assert_array_equal(D, given[0])
    np.testing.assert_array_equal(L, given[1])


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(1, 1), (9, 4), (1, 50), (60, 1)])
def test_clipped_sums(shape, t, way):
    R = np.random.default_rng(shape).standard_normal(shape)
    R.flat[::3] = np.sign(R.flat[::3])  # some are as large as a threshold
    size = np.abs(R)
    squares, ones, total, count = kernels.clipped_sums(R, t)
    assert squares == pytest.approx(float((np.minimum(size, t) ** 2).sum()), rel=1e-12)
    assert ones == pytest.approx(float(np.minimum(size, t).sum()), rel=1e-12)
    assert total == pytest.approx(float(size.sum()), rel=1e-12)
    assert count == np.count_nonzero(size > t)
