"""What estimators are told about entries of a matrix: the range of values, weights."""

from __future__ import annotations

import numpy as np

from fewatoms import _checks, frames
from fewatoms._types import FloatArray


def spanned(clip: object, values: FloatArray) -> tuple[float, float]:
    """The range that predictions keep to: a pair, "auto" for that of the values, or None for any."""
    if clip is None:
        return -np.inf, np.inf
    if isinstance(clip, str):
        _checks.require(clip == "auto", "clip", 'a pair (low, high), "auto" or None', clip)
        return float(values.min()), float(values.max())
    demand = 'a pair of numbers (low, high) with low < high, "auto" or None'
    pair = list(clip) if isinstance(clip, (tuple, list, np.ndarray)) else [clip]
    _checks.require(len(pair) == 2, "clip", demand, clip)
    low, high = (_checks.real("clip", bound, demand) for bound in pair)
    _checks.require(low < high, "clip", demand, clip)
    return low, high


def weighed(given: object, count: int) -> FloatArray | None:
    """Weights of samples, checked."""
    if given is None:
        return None
    weights = _checks.real_vector("sample_weight", frames.vector("sample_weight", given), count, " (one per sample)")
    _checks.require(bool((weights >= 0).all()), "sample_weight", "nonnegative", float(weights.min()))
    _checks.require(bool(weights.any()), "sample_weight", "above zero somewhere", "zero everywhere")
    return weights
