"""Eight numbers at a time: what machine code makes of each function, against what it says in NumPy."""

import numpy as np
import pytest
from numba import njit

from fewatoms import _lanes
from fewatoms._lanes import fetch, inverse_root, largest, less, load, more, product, same, spread, store, total


def everything(x, y, found):
    """Each function once, results one after the other."""
    a, b, c = load(x, 3), load(y, 1), spread(y, 2)
    fetch(x, 5)
    store(found, 0, a)
    store(found, 8, b)
    store(found, 16, c)
    store(found, 24, same(0.3))
    store(found, 32, product(a, b))
    store(found, 40, total(a, b))
    store(found, 48, largest(a, b))
    store(found, 56, inverse_root(product(a, a), same(0.5)))
    store(found, 64, more(a, b, c))
    store(found, 72, less(a, b, c))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_machine_code_does_what_functions_say(kind):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(20).astype(kind), rng.standard_normal(20)
    expected, found = np.full(90, np.nan), np.full(90, np.nan)
    everything(x, y, expected)
    njit(everything)(x, y, found)
    np.testing.assert_allclose(found[:80], expected[:80], rtol=1e-14, atol=1e-15)
    assert np.isnan(found[80:]).all()  # nothing is written beyond
    a, b = x[3:11].astype(np.float64), y[1:9]
    by_hand = [
        a, b, np.full(8, y[2]), np.full(8, 0.3), a * b, a + b, np.maximum(a, b), 1 / np.sqrt(np.maximum(a * a, 0.5)),
        a + b * y[2], a - b * y[2],
    ]  # fmt: skip
    np.testing.assert_allclose(expected[:80], np.concatenate(by_hand), rtol=1e-15)
    assert _lanes.LANES == 8
