"""Machine code of the searches, made once: `python -m fewatoms.gram.build`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np

from fewatoms.gram import disk
from fewatoms.gram.blocks import blank_blocks
from fewatoms.gram.columns import Asked
from fewatoms.gram.drivers import Rules
from fewatoms.gram.state import blank


def samples() -> dict[str, tuple[object, ...]]:
    """Arguments of every kind that searches are called with; what is asked for most comes first."""
    n, k = 4, 2
    G, h, bb = np.eye(n), np.ones(n), float(n)
    may, stays = np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    rules, asked = Rules(True, 1e-9, 1, 1, 1, 0.0, 1), Asked(k, True, 0.0, 1, 1, 1, 1, 1)
    table, losses = np.full((k + 1, k), -1), np.full(k + 1, np.inf)
    one = blank(G, h, bb, k, may, stays)
    block = blank_blocks(G, h, bb, k, may, stays, np.arange(n + 1), h)
    return {
        "ladder": (G, h, h, h, 1, rules, may, 1, 1e-2, G),
        "sweep": (G, h, bb, one, one, table, losses, 1, k, -1.0, rules),
        "search": (G, h, bb, one, one, table, h, h, k, rules, h),
        "many": (G, G, h, h, may, stays, 0, 1, asked, rules, rules, h, table, may),
        "sweep-blocks": (G, h, bb, block, block, table, losses, 1, k, -1.0, rules),
        "search-blocks": (G, h, bb, block, block, table, h, h, k, rules, h),
    }


def make(searches: Iterable[str]) -> None:
    """Compile what is not on disk, and say what is."""
    from numba import typeof

    from fewatoms.gram import _compiled

    before = _compiled.ONLY_KEPT.is_set()
    _compiled.ONLY_KEPT.clear()
    for search in searches:
        _compiled.KERNELS[search].compile(tuple(map(typeof, samples()[search])))
        place = disk.folder()
        if place is not None:
            (place / search).touch()
    if before:
        _compiled.ONLY_KEPT.set()


def now(*searches: str) -> None:
    """Have machine code of these searches, or all of them, at once: make it, wait for somebody else who does so, or
    keep it in this process alone."""
    wanted = searches or tuple(samples())
    while not all(map(disk.has, wanted)):
        lock = disk.claim("now")
        if lock is not None:
            with disk.working(lock):
                make(wanted)
        elif disk.folder() is None:
            make(wanted)
            return
        else:
            time.sleep(0.1)


def later(lock: Path) -> None:
    """In the background, with a lock that whoever started this has claimed."""
    with suppress(AttributeError, OSError):  # not on every system
        os.nice(5)  # much lower, and who waits for it would starve it
    with disk.working(lock):
        disk.tidy(lock)
        make(samples())


if __name__ == "__main__":
    if sys.argv[1:]:
        later(Path(sys.argv[1]))
    else:
        now()
