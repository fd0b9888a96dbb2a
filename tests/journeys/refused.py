"""A small question, and how it is refused once it is spoiled."""

from __future__ import annotations

import numpy as np
import pytest

import fewatoms as fa

D = np.array([[1.0, 2, 0, 1], [0, 1, 3, 1], [2, 0, 1, 0]])
B = np.array([1.0, 2.0, 3.0])
NAN, INF = np.nan, np.inf


def fit(M=D, b=B, **options):
    return fa.fit(M, b, **{"atoms": fa.SignedOneHot(4), "k": 1, **options})


def spoiled(array, where, value):
    array = np.array(array, dtype=float)
    array.flat[where] = value
    return array


def assert_refused(kind, message, call):
    with pytest.raises(kind, match=message):
        call()
