"""What estimators are told about entries of a matrix: the range of values, weights, clicks."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fewatoms import _checks, frames
from fewatoms._types import FloatArray, IntArray
from fewatoms.completed import Completed, Entries
from fewatoms.ids import UNKNOWN
from fewatoms.ranking import Ranking


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


class Told(Protocol):
    """What an estimator is told of clicks."""

    background: float | None
    confidence: float
    biases: bool


def clicks(told: Told, entries: Entries) -> Entries:
    """Counts as preferences with weights, where there is a background; other entries as they are."""
    weight = 0.0 if told.background is None else _checks.number("background", told.background)
    if not weight:
        return entries
    _checks.require(not told.biases, "biases", "False beside a background, where all cells count", told.biases)
    return entries.clicks(weight, _checks.number("confidence", told.confidence))


def click_score(filled: Completed, codes: tuple[IntArray, IntArray] | None) -> float:
    """The NDCG of pairs that were not fitted, by their codes: among all columns of their rows that were not clicked
    on."""
    if codes is None or filled.seen is None:
        raise ValueError("X must be pairs of ids beside a background; got a table")
    there = (codes[0] != UNKNOWN) & (codes[1] != UNKNOWN)
    if not there.any():
        raise ValueError("X must have a pair of which both ids are known; got none")
    return Ranking.of(filled.model, (codes[0][there], codes[1][there]), filled.seen.nonzero()).ndcg()
