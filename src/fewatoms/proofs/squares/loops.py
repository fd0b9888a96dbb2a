"""The loops of the searches: from machine code that is kept on disk, or as they stand."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import numpy as np

from fewatoms import ledger
from fewatoms.proofs.machine import Loop, Machine
from fewatoms.proofs.squares import _leaps, _listing, _visit

FEW_ATOMS = 12  # up to which loops are run as they stand rather than waited for
A_LOOK = 0.05  # seconds between two looks whether there is machine code


def _space() -> _visit.Space:
    one = np.ones(2)
    return _visit.Space(np.eye(2), one, 1.0, one, one, False, 1.0, 1e-15)


def _visited() -> tuple[object, ...]:
    one, status = np.ones(2), np.zeros(2, dtype=np.int8)
    return _space(), status, 1, one, one, np.zeros(2, dtype=np.int64), 1.0, 1.0, 1


CALLED_WITH = {
    "visit": _visited,
    "decide": lambda: (np.zeros(2, dtype=np.int8), 1, np.ones(2), 1.0, 1.0),
    "listed": lambda: (_listing.blank_list(_space(), 1), _space(), 1, 0, 1.0, 1),
    "leaps": lambda: (_leaps.blank_way(2, 1), 2, 1, 1.0, 1.0, 1, np.zeros(1, dtype=np.int64)),
}
THIS_ROOM = "fewatoms.proofs.squares"
LOOPS_IN = tuple(f"{THIS_ROOM}.{name}" for name in ("_node", "_newton", "_visit", "_listing", "_leaps"))
CALLED_ONCE = {"swept", "stepped", "relax", "candidate", "bracketed", "directed", "activated", "entering", "branching"}
SQUARES_LOOPS = Machine(f"{THIS_ROOM}.loops:SQUARES_LOOPS", LOOPS_IN, CALLED_WITH, frozenset(CALLED_ONCE))


def loops() -> Mapping[str, Loop]:
    """Whatever there is by now."""
    return SQUARES_LOOPS.ready() or SQUARES_LOOPS.plain


def awaited(n: int) -> Iterator[None]:
    """Breaths until there is machine code, for as many atoms as are worth it."""
    while n > FEW_ATOMS and SQUARES_LOOPS.ready() is None and SQUARES_LOOPS.wanted:
        ledger.tick()
        yield None
        time.sleep(A_LOOK)
