"""Noisy regressions, and ways to ask for them."""

from __future__ import annotations

import numpy as np

import fewatoms as fa
from journeys.planting import spikes


def regression(seed, m=30, n=60, k=6, noise=0.1):
    """A noisy instance on which the first candidate is not the best one; deliberately correlated columns."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((m, n)) + 2.0 * rng.standard_normal((m, 1))
    x = spikes(rng, n, k)
    return D, D @ x + noise * rng.standard_normal(m), x


def by(oracle):
    """The method that an oracle drives; the default where there is none."""
    return None if oracle is None else fa.General(oracle)


def trace(**arguments):
    """Run fit and record what the callback saw."""
    seen = []
    s = fa.fit(**arguments, callback=seen.append)
    return s, seen
