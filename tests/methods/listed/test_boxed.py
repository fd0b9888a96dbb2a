"""Least squares over a box: what it finds is what trying all borders finds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fewatoms.methods.listed.boxed import boxed
from methods.listed.small import design


def on_all_borders(R, t, lower, upper):
    """The smallest |t - Rc|^2 over a box, each coefficient free or on one of its borders."""
    best = np.inf
    for border in product((0, 1, 2), repeat=len(lower)):
        free = np.flatnonzero(np.array(border) == 0)
        c = np.where(np.array(border) == 1, lower, upper)
        c[free] = 0.0
        if not np.isfinite(c).all():
            continue
        c[free] = np.linalg.lstsq(R[:, free], t - R @ c, rcond=None)[0]
        if (c >= lower - 1e-12).all() and (c <= upper + 1e-12).all():
            best = min(best, float(np.sum((t - R @ c) ** 2)))
    return best


@pytest.mark.parametrize("kind", ["plain", "correlated", "decoy", "duplicated"])
def test_the_best_point_of_a_box(kind):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        R = design(kind, rng, 8, 4)
        R /= np.linalg.norm(R, axis=0)
        t = 3.0 * rng.standard_normal(8)
        lower = np.where(rng.random(4) < 0.3, -np.inf, -rng.random(4))
        upper = np.where(rng.random(4) < 0.3, np.inf, rng.random(4))
        c = boxed(R, t, lower, upper)
        assert (c >= lower).all()
        assert (c <= upper).all()
        assert np.sum((t - R @ c) ** 2) <= on_all_borders(R, t, lower, upper) * (1 + 1e-9)


def test_a_box_that_holds_nothing_back():
    R, t = np.eye(3), np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(boxed(R, t, np.full(3, -5.0), np.full(3, 5.0)), t)


def test_a_box_of_one_point():
    R, t, here = np.eye(2), np.ones(2), np.array([0.3, -0.2])
    np.testing.assert_array_equal(boxed(R, t, here, here), here)
