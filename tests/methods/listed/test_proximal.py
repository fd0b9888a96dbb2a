"""Accelerated proximal gradients against slow ones, small cases against formulas."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from fewatoms.losses import Diagonal
from fewatoms.methods.listed.proximal import Weighted, accelerated
from fewatoms.reduced import Bordered

SIZE = 9
PAIRS = [np.array([2 * i, 2 * i + 1]) for i in range(4)] + [np.array([8])]


def soft(v, t):
    return naive.soft_threshold(v, t)


def positive(v, t):
    return np.maximum(v - t, 0.0)


def grouped(v, t):
    return naive.group_threshold(v, t, PAIRS, np.ones(len(PAIRS)))


def free(v, t):
    return v


GAUGES = {
    "signed": (soft, lambda x: np.abs(x).sum()),
    "nonnegative": (positive, lambda x: x.sum() if (x >= 0).all() else np.inf),
    "groups": (grouped, lambda x: sum(np.linalg.norm(x[g]) for g in PAIRS)),
    "none": (free, lambda x: 0.0),
}


def small(seed, spread=0.0, rank=12):
    """G, h and a start; columns of R are of different lengths where there is a spread."""
    rng = np.random.default_rng(seed)
    R = rng.standard_normal((rank, SIZE)) * 10.0 ** rng.uniform(-spread, spread, SIZE)
    return R.T @ R, R.T @ rng.standard_normal(rank), rng.standard_normal(SIZE)


def value(G, h, lam, gauge, x):
    return 0.5 * x @ G @ x - h @ x + lam * gauge(x)


def slow(G, h, lam, shrink, steps=20_000):
    """Proximal gradients with the exact step, from zero."""
    bound = np.linalg.norm(G, 2)
    x = np.zeros(h.size)
    for _ in range(steps):
        fresh = shrink(x - (G @ x - h) / bound, lam / bound)
        if np.abs(fresh - x).max() <= 1e-15 * np.abs(fresh).max():
            break
        x = fresh
    return x


@pytest.mark.sampled(2)
@pytest.mark.parametrize("share", [0.5, 0.01])
@pytest.mark.parametrize("name", GAUGES)
def test_accelerated_ends_where_slow_gradients_end(name, share):
    shrink, gauge = GAUGES[name]
    for seed in range(2):
        G, h, start = small(seed)
        lam = share * np.abs(h).max()
        expected = slow(G, h, lam, shrink)
        for x in (np.zeros(SIZE), start):
            found = accelerated(G, h, x, lam, shrink, 5000, 1e-12)
            np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
        best = value(G, h, lam, gauge, expected)
        assert value(G, h, lam, gauge, found) <= best + 1e-9 * abs(best)


@pytest.mark.parametrize("name", ["signed", "nonnegative"])
def test_singular_matrices_still_reach_the_minimum(name):
    shrink, gauge = GAUGES[name]
    G, h, start = small(3, rank=4)
    lam = 0.1 * np.abs(h).max()
    found = accelerated(G, h, start, lam, shrink, 5000, 1e-12)
    best = value(G, h, lam, gauge, slow(G, h, lam, shrink))
    assert value(G, h, lam, gauge, found) == pytest.approx(best, rel=1e-9)


def test_a_metric_saves_steps_and_changes_nothing():
    """Of columns whose lengths differ a thousandfold."""
    G, h, _ = small(4, spread=1.5)
    lam = 0.01 * np.abs(h).max()
    expected = accelerated(G, h, np.zeros(SIZE), lam, soft, 200_000, 1e-12)
    within = accelerated(G, h, np.zeros(SIZE), lam, soft, 5000, 1e-12, np.diag(G))
    best = value(G, h, lam, GAUGES["signed"][1], expected)
    assert value(G, h, lam, GAUGES["signed"][1], within) <= best + 1e-9 * abs(best)
    few = [
        value(G, h, lam, GAUGES["signed"][1], accelerated(G, h, np.zeros(SIZE), lam, soft, 60, 1e-12, metric))
        for metric in (np.diag(G), 1.0)
    ]
    assert few[0] < few[1]


def test_it_takes_fewer_steps_than_slow_gradients():
    G, h, _ = small(5, rank=9)
    lam, gauge = 1e-3 * np.abs(h).max(), GAUGES["signed"][1]
    best = value(G, h, lam, gauge, slow(G, h, lam, soft, 400_000))
    quick, plain = accelerated(G, h, np.zeros(SIZE), lam, soft, 200, 1e-12), slow(G, h, lam, soft, 200)
    assert value(G, h, lam, gauge, quick) - best < 0.1 * (value(G, h, lam, gauge, plain) - best)


def test_no_more_steps_than_allowed_and_none_where_there_is_nothing_to_do():
    G, h, start = small(6)
    calls = []

    def counted(v, t):
        calls.append(t)
        return soft(v, t)

    accelerated(G, h, start, 1.0, counted, 3, 1e-12)
    assert 3 <= len(calls) <= 8  # a step whose length was guessed too long is taken again
    assert accelerated(np.zeros((SIZE, SIZE)), h, start, 1.0, soft, 5, 1e-3) is start
    at = accelerated(G, h, start, 1.0, soft, 5000, 1e-13)
    calls.clear()
    np.testing.assert_allclose(accelerated(G, h, at, 1.0, counted, 100, 1e-6), at, atol=1e-9)
    assert len(calls) <= 3


@pytest.mark.parametrize("free_columns", [0, 2])
def test_weighted_multiplies_like_the_matrix_it_stands_for(free_columns):
    rng = np.random.default_rng(7)
    A, F, w = rng.standard_normal((12, 4)), rng.standard_normal((12, free_columns)), rng.uniform(0.1, 2.0, 12)
    R, v = np.concatenate([A, F], axis=1), rng.standard_normal(4 + free_columns)
    G = Weighted(Bordered(A, F if free_columns else None), Diagonal(w))
    np.testing.assert_allclose(G @ v, R.T @ (w * (R @ v)), atol=1e-12)
    h = rng.standard_normal(v.size)
    np.testing.assert_allclose(
        accelerated(G, h, 0 * v, 0.1, soft, 3000, 1e-12),
        accelerated((R.T * w) @ R, h, 0 * v, 0.1, soft, 3000, 1e-12),
        atol=1e-8,
    )
