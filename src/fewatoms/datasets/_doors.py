"""The checks at the doors of the generators: a message names the argument, the demand and what came."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def integer(name: str, value: Any, low: int, high: int | None = None, limit: str | None = None) -> int:
    """Return `value` as an int, low <= value <= high; `limit` is how the message spells `high`."""
    if high is None:
        demand = f"an integer, at least {low}"
    else:
        demand = f"an integer between {low} and {limit or high}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be {demand}; got {value!r}")
    checked = int(value)
    require(low <= checked and (high is None or checked <= high), name, demand, checked)
    return checked


def number(name: str, value: Any, demand: str) -> float:
    """Return `value` as a float; whether it is in range is for the caller, by `require`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {demand}; got {value!r}")
    return float(value)


def nonnegative(name: str, value: Any) -> float:
    """Return `value` as a float, 0 <= value < infinity."""
    demand = "a finite number, at least 0"
    checked = number(name, value, demand)
    require(0 <= checked < np.inf, name, demand, checked)
    return checked


def require(holds: bool, name: str, demand: str, value: Any) -> None:
    """Raise ValueError, naming argument, demand and what came, unless the demand holds."""
    if not holds:
        raise ValueError(f"{name} must be {demand}; got {value!r}")
