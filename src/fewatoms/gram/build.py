"""Machine code of the searches, made once: `python -m fewatoms.gram.build`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from fewatoms.gram import disk
from fewatoms.gram.blocks import blank_blocks
from fewatoms.gram.columns import Asked
from fewatoms.gram.drivers import Rules
from fewatoms.gram.state import blank
from fewatoms.gram.steps import Support


def compiled() -> None:
    """Compile every search for arguments of every kind that it is called with, unless it is on disk."""
    from numba import typeof

    from fewatoms.gram import _compiled

    for name, args in samples():
        vars(_compiled)[name].compile(tuple(map(typeof, args)))


def samples() -> Iterator[tuple[str, tuple[object, ...]]]:
    """Entries, and arguments of each kind that they are called with."""
    n, k = 4, 2
    G, h, bb = np.eye(n), np.ones(n), float(n)
    may, stays = np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    rules = Rules(True, 1e-9, 1, 1, 1, 0.0, 1)
    table, losses = np.full((k + 1, k), -1), np.full(k + 1, np.inf)
    yield "rung", (G, h, h, 1.0, rules, may, 1, 1e-2)
    supports: tuple[Support, ...] = (
        blank(G, h, bb, k, may, stays),
        blank_blocks(G, h, bb, k, may, stays, np.arange(n + 1), h),
    )
    asked = Asked(k, True, 0.0, 1, 1, 1, 1)
    yield "many", (G, G, h, h, may, stays, 0, 1, asked, rules, h, table, may)
    for s in supports:
        yield "sweep", (G, h, bb, s, s, table, losses, 1, k, -1.0, rules)
        yield "search", (G, h, bb, s, s, table, h, h, k, rules, h)


def make(lock: Path) -> None:
    """Fill the folder."""
    with disk.working(lock):
        place = disk.folder()
        compiled()
        if place is not None:
            disk.finish(place)


def there() -> None:
    """Machine code, at once: make it, wait for whoever makes it, or have it in this process alone."""
    while disk.found() is None:
        lock = disk.claim()
        if lock is not None:
            make(lock)
        elif disk.folder() is None:
            compiled()
            return
        else:
            time.sleep(0.1)


def main(words: list[str]) -> None:
    """With a lock, which whoever starts this has claimed: in the background."""
    if not words:
        there()
        return
    with suppress(AttributeError, OSError):  # not on every system
        os.nice(19)
    make(Path(words[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
