"""Where Huber's loss turns linear, where nobody says."""

import numpy as np
import pytest

from fewatoms.losses.huber import EFFICIENT, _median, usual_delta


def test_a_weighted_median_is_that_of_repeated_values():
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 8):
        values, weights = rng.standard_normal(size), rng.integers(1, 4, size).astype(float)
        assert _median(values, weights) == pytest.approx(np.median(np.repeat(values, weights.astype(int))))


def test_delta_of_nothing_and_of_next_to_nothing():
    assert usual_delta(np.zeros(4)) == EFFICIENT
    assert usual_delta(np.array([0.0, 0.0, 0.0, 2.0])) == pytest.approx(0.5 * EFFICIENT)


def test_delta_goes_with_the_units_and_not_with_a_few_outliers():
    noise = np.random.default_rng(1).standard_normal(4001)
    delta = usual_delta(noise)
    assert delta == pytest.approx(EFFICIENT, rel=0.05)
    assert usual_delta(1e3 * noise) == pytest.approx(1e3 * delta)
    assert usual_delta(np.append(noise, [1e6] * 40)) == pytest.approx(delta, rel=0.05)
