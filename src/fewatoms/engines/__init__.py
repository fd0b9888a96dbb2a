"""Where work over blocks of data is done: one after the other, in threads, or by the workers of a Dask cluster.

An engine places blocks: `engine.place(loaders)` calls each loader where its block is to live. What is placed can be
mapped over and summed up, and new blocks can be derived from it that stay where the old ones are. That is all. Sums are
taken in the shape of one tree, whoever does the work, so that answers do not depend on the engine.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fewatoms.engines.base import DelayedBlock, Engine, Loader, Placed, Task, Terms, summed
from fewatoms.engines.local import Serial, Threads

if TYPE_CHECKING:
    from distributed import Client


def engine_of(given: Engine | Client | str | None = None) -> Engine:
    """The engine that is meant: one of ours, a Dask client or the address of its scheduler, "serial" or "threads".

    Where nothing is said it is the Dask client that is open in this process, if there is one, and threads otherwise. A
    cluster is never started.

    Parameters
    ----------
    given : Engine, dask.distributed.Client, str or None
    """
    if isinstance(given, Engine):
        return given
    if given is None:
        return _present() or Threads()
    if given == "serial":
        return Serial()
    if given == "threads":
        return Threads()
    if isinstance(given, str) and "://" in given:
        from fewatoms.engines.dasked import connected

        return connected(given)
    if "distributed" in sys.modules:
        from distributed import Client

        from fewatoms.engines.dasked import Dask

        if isinstance(given, Client):
            return Dask(given)
    raise TypeError(
        'engine must be "serial", "threads", a dask.distributed.Client, the address of a scheduler such as '
        f'"tcp://10.0.0.1:8786", or an Engine; got {given!r}'
    )


def _present() -> Engine | None:
    """That of the Dask client which is open, without importing Dask for it."""
    if "distributed" not in sys.modules:
        return None
    from fewatoms.engines.dasked import present

    return present()


__all__ = [
    "DelayedBlock",
    "Engine",
    "Loader",
    "Placed",
    "Serial",
    "Task",
    "Terms",
    "Threads",
    "engine_of",
    "rows_of",
    "summed",
]
