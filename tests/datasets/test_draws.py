"""Seeds and signs."""

import numpy as np
import pytest

from fewatoms.datasets._draws import generator, signs


@pytest.mark.parametrize("seed", [0, 7, [1, 2], np.random.SeedSequence(3)], ids=str)
def test_seeds_are_those_of_numpy(seed):
    assert generator(seed).random() == np.random.default_rng(seed).random()


def test_no_seed_is_a_fixed_one_and_generators_move_on():
    assert generator(None).random() == generator(0).random()
    rng = np.random.default_rng(5)
    assert generator(rng) is rng


def test_signs_are_both_and_as_often():
    drawn = signs(np.random.default_rng(0), 4000)
    assert drawn.dtype == np.float64
    assert set(drawn) == {-1.0, 1.0}
    assert abs(drawn.sum()) <= 4 * np.sqrt(4000)
    assert signs(np.random.default_rng(0), 0).shape == (0,)
    np.testing.assert_array_equal(drawn, signs(np.random.default_rng(0), 4000))
