"""Groups of coordinates: weights, labels, blocks."""

import numpy as np
import pytest

from fewatoms import Groups


def test_gauges_written_out():
    x = np.array([[3.0, 0.0], [-4.0, 0.0]])
    assert Groups([[0, 1], [0, 1]], weights=[2.0, 1.0]).gauge(x) == pytest.approx(10.0)
