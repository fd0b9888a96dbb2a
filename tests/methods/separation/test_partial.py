"""Leading singular triplets that follow a matrix, and a bound of the largest value that holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fewatoms import ledger
from fewatoms.methods.separation.partial import Leading, at_most, leading_right

NASTY = {
    "normal": lambda rng: rng.standard_normal((60, 40)),
    "one row": lambda rng: rng.standard_normal((1, 1)),
    "zero": lambda rng: np.zeros((9, 5)),
    "rank one": lambda rng: np.outer(rng.standard_normal(50), rng.standard_normal(30)),
    "orthonormal": lambda rng: np.linalg.qr(rng.standard_normal((50, 30)))[0],
    "signs": lambda rng: rng.choice([-1.0, 1.0], (64, 64)) / 8,
    "tiny": lambda rng: 1e-140 * rng.standard_normal((30, 20)),
    "large": lambda rng: 1e140 * rng.standard_normal((30, 20)),
    "of two sizes": lambda rng: rng.standard_normal((40, 30)) * np.logspace(0, -12, 30),
}


@pytest.mark.parametrize("share", [1.0, 0.9, 0.3])
@pytest.mark.parametrize("name", NASTY)
def test_no_singular_value_is_larger(name, share):
    """Whatever the guess, from below or far below."""
    for seed in range(3):
        X = NASTY[name](np.random.default_rng(seed))
        true = float(np.linalg.norm(X, 2))
        bound = at_most(X, share * true)
        assert bound >= true * (1 - 1e-13)
        assert bound <= float(np.linalg.norm(X)) * (1 + 1e-9)
        if share == 1.0:
            assert bound <= true * (1 + 3.1e-4)


def test_leading_triplets_follow_a_matrix():
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((n, 12)))[0] for n in (80, 50))
    s = np.concatenate([np.linspace(10, 4, 6), np.full(6, 0.1)])
    X = (U * s) @ V.T
    with ledger.opened():
        near = Leading(50, 30, few=3)  # fewer than there are: it grows
        for step in range(4):
            X = X + 1e-3 * rng.standard_normal(X.shape)
            left, values, right = near.of(X, 1.0, 2)
            found = values > 1.0
            assert np.count_nonzero(found) == 6
            np.testing.assert_allclose(values[found], np.linalg.svd(X)[1][:6], rtol=1e-3 if step == 0 else 1e-6)
            np.testing.assert_allclose(X @ right[:, found], left[:, found] * values[found], atol=0.05)
        assert near.V.shape[1] < 50


def test_no_more_vectors_than_allowed():
    X = np.random.default_rng(0).standard_normal((60, 40))
    with ledger.opened():
        _, values, _ = Leading(40, 10).of(X, 0.0, 1)
    assert values.size == 10


@pytest.mark.parametrize("full", [100, 10])
def test_leading_right_vectors(full):
    rng = np.random.default_rng(1)
    X = (np.linalg.qr(rng.standard_normal((70, 30)))[0] * np.logspace(1, -2, 30)) @ np.linalg.qr(
        rng.standard_normal((30, 30))
    )[0]
    with ledger.opened():
        V = leading_right(X, 3, full)
    assert math.isclose(float(np.linalg.norm(X @ V)), float(np.linalg.norm(np.linalg.svd(X)[1][:3])), rel_tol=1e-8)
