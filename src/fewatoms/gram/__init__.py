"""Searches for supports in the small space of a Gram matrix: `state.py` what a support is and how it moves, `drivers.py`
what is done with it."""

from __future__ import annotations

from types import ModuleType

from fewatoms.gram import drivers


def engine() -> ModuleType:
    """Who does the work: what has `search` and `sweep`."""
    return drivers
