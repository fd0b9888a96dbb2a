"""Dask as an engine: the one module that imports it.

Blocks are made by tasks on the workers and stay there as long as somebody holds them: a worker that dies takes its
blocks along, and they are made again by the same tasks elsewhere. Nothing that lives long depends on data that were
scattered from here, which would be lost for good. Long vectors that go with one pass are scattered, since the scheduler
should not carry them; a pass whose vectors were lost is made again. A scheduler that was started anew has forgotten all
of this: blocks are asked of it as they were the first time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError as Dropped
from concurrent.futures import wait
from itertools import chain, islice, takewhile
from operator import add
from threading import Event

from dask.sizeof import sizeof
from distributed import CancelledError, Client, Future, get_client
from distributed import TimeoutError as NotYet
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from fewatoms import alone, ledger, linalg
from fewatoms._types import Foreign
from fewatoms.engines.base import (
    DelayedBlock,
    Engine,
    Loader,
    Placed,
    Task,
    as_it_came,
    called,
    checked,
    loaded,
    part_of,
)

POLL = 0.1  # seconds between two looks at the clock while workers work
ANSWERED = "10s"  # how long a scheduler may take to answer
PATIENCE = 1.0  # seconds until a result is asked for anew, twice as long each time
IN_A_BATCH = 16  # results that come on one way at most: they are as long as images of blocks
INLINE = 1 << 18  # bytes up to which an array goes along with the task itself
TRIED_AGAIN = 5  # of one pass, when what was scattered for it was lost
WENT_DOWN = (
    CancelledError,
    Dropped,
    CommClosedError,
)  # what was scattered, or its place, went down with a worker, or all that the scheduler knew with it
LOST = f"workers were lost {TRIED_AGAIN} times in one pass over the data: their logs say why"
RETRIES = 3  # of one task that failed because of where it ran


def present() -> Engine | None:
    """The engine of the client that is open in this process."""
    try:
        return Dask(get_client())
    except ValueError:
        return None


def connected(address: str) -> Engine:
    """The engine behind the address of a scheduler."""
    try:
        return Dask(Client(address, timeout=ANSWERED, set_as_default=False))
    except (OSError, NotYet) as error:
        raise ConnectionError(
            f"engine must be the address of a Dask scheduler; nobody answers at {address!r}"
        ) from error


class Dask(Engine):
    """The workers of a cluster.

    Parameters
    ----------
    client : dask.distributed.Client
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    @property
    def workers(self) -> int:
        """Threads of all workers that are there now."""
        return max(1, sum(self.client.nthreads().values()))

    @property
    def here(self) -> bool:
        return False

    def place(
        self,
        loaders: Sequence[Loader],
        *,
        keep: bool = False,
        ready: Task = as_it_came,
        parts: Sequence[object] | None = None,
    ) -> Placed:
        parts = checked(parts, len(loaders))

        def make() -> list[Future]:
            return [self._made(loader, i, ready, part_of(parts, i)) for i, loader in enumerate(loaders)]

        return DaskBlocks(self.client, make)

    def _made(self, loader: Loader, i: int, ready: Task, part: tuple[object, ...]) -> Future:
        """A block, made by its loader on a worker, or of what Dask itself makes."""
        how = {"pure": False, "retries": RETRIES}
        if not isinstance(loader, DelayedBlock):
            return self.client.submit(loaded, loader, i, ready, part, **how)
        return self.client.submit(called, ready, self.client.compute(loader.delayed), i, part, (), **how)

    def __repr__(self) -> str:
        return f"Dask({self.client.scheduler_info()['address']})"


class DaskBlocks(Placed):
    """Blocks on the workers, asked for by `make`, again where the scheduler has forgotten them."""

    def __init__(self, client: Client, make: Callable[[], list[Future]]) -> None:
        _refuse_closed(client)
        self._client, self._make, self._futures = client, make, make()

    def __len__(self) -> int:
        return len(self._futures)

    def map(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Iterator[Foreign]:
        parts = checked(parts, len(self))
        first = 0
        for _ in range(TRIED_AGAIN):
            pending: list[Future] = []
            try:
                pending += self._begun(task, shared, parts, first)
                while pending:
                    results = _waited(self._client, pending)
                    del pending[: len(results)]
                    for result in results:
                        first += 1
                        yield result
                        ledger.tick()
                return
            except WENT_DOWN:
                continue
            finally:
                _cancel(self._client, pending)
        raise RuntimeError(LOST)

    def sum(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Foreign:
        """Added up among the workers: one result comes back."""
        parts = checked(parts, len(self))
        for _ in range(TRIED_AGAIN):
            made: list[Future] = []
            try:
                made += (level := self._begun(task, shared, parts, 0))
                while len(level) > 1:
                    paired = [self._added(a, b) for a, b in zip(level[0::2], level[1::2], strict=False)]
                    level = paired + level[len(paired) * 2 :]
                    made += paired
                return _waited(self._client, level)[0] if level else None
            except WENT_DOWN:
                continue
            finally:
                _cancel(self._client, made)
        raise RuntimeError(LOST)

    def _added(self, a: Future, b: Future) -> Future:
        return self._client.submit(add, a, b, pure=False, retries=RETRIES)

    def _begun(self, task: Task, shared: Sequence[object], parts: Sequence[object] | None, first: int) -> list[Future]:
        """A future for each block from `first` on."""
        blocks = self._standing()
        each = [part_of(parts, i) for i in range(first, len(self))]
        sent = iter(self._sent([*shared, *chain.from_iterable(each)]))
        given = [next(sent) for _ in shared]
        return [
            self._submitted(task, blocks[i], i, tuple(islice(sent, len(part))), given)
            for i, part in enumerate(each, first)
        ]

    def _standing(self) -> list[Future]:
        """The blocks; a scheduler that was started anew is asked for them once more, when it has workers."""
        _refuse_closed(self._client)
        let_go = not self._futures  # those that were derived of them live on
        if let_go or any(future.cancelled() for future in self._futures):
            while not self._client.nthreads():
                ledger.tick()
                time.sleep(POLL)
            made = self._make()
            if let_go:
                return made
            self._futures = made
        return self._futures

    def _submitted(
        self, task: Task, block: Future, i: int, part: tuple[object, ...], shared: Sequence[object]
    ) -> Future:
        how = {"pure": False, "retries": RETRIES}
        return self._client.submit(capped, task, block, i, part, *shared, **how)

    def _sent(self, things: Sequence[object]) -> list[object]:
        """Long arrays as futures, so that they do not go through the scheduler, all on one way there and back; other
        things as they are."""
        found, long = list(things), [i for i, thing in enumerate(things) if sizeof(thing) > INLINE]
        if long:
            futures = self._client.scatter([things[i] for i in long], hash=False, broadcast=False)
            for i, future in zip(long, futures, strict=True):
                found[i] = future
        return found

    def derive(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Placed:
        parts = checked(parts, len(self))

        def make() -> list[Future]:
            blocks = enumerate(self._standing())
            return [self._submitted(task, block, i, part_of(parts, i), shared) for i, block in blocks]

        return DaskBlocks(self._client, make)

    def release(self) -> None:
        self._futures.clear()


def _refuse_closed(client: Client) -> None:
    """One that has lost its scheduler looks for it a while by itself."""
    while client.status == "connecting":
        ledger.tick()
        time.sleep(POLL)
    if client.status != "running":
        raise ConnectionError(f"engine must be a Dask client that is open; this one is {client.status}")


def _waited(client: Client, futures: Sequence[Future]) -> list[Foreign]:
    """The result of the first of these futures, and of those after it that are over by then: a few, which come on one
    way there and back. The clock goes on in the meantime.

    Dask's own time limits drop the error of a future that is over just then. A result that does not come is asked for
    anew: who had it may be gone, and found out to be gone long before the way there is given up.
    """
    over, patience, first = Event(), PATIENCE, futures[0]
    first.add_done_callback(lambda _: over.set())
    try:
        while not first.done():
            over.wait(POLL)
            ledger.tick()
        ready = [first, *takewhile(lambda future: future.status == "finished", futures[1:IN_A_BATCH])]
        while (found := _fetched(client, ready, patience)) is None:
            patience *= 2
        return found
    except KilledWorker as error:
        raise RuntimeError(
            "workers died of the same piece of work several times, most likely for want of memory: make blocks "
            "smaller, or give workers more"
        ) from error


def _fetched(client: Client, futures: list[Future], patience: float) -> list[Foreign] | None:
    """What futures have found, from whoever has it; None where that takes longer."""
    _refuse_closed(client)
    coming = asyncio.run_coroutine_threadsafe(client.gather(futures, asynchronous=True), client.loop.asyncio_loop)
    try:
        for _ in range(round(patience / POLL)):
            if wait([coming], POLL).done:
                return list(coming.result())
            ledger.tick()
        return None
    finally:
        coming.cancel()


def _cancel(client: Client, futures: list[Future]) -> None:
    """Nobody waits for these any more."""
    if futures and client.status == "running":
        client.cancel(futures)


def capped(task: Task, block: Foreign, i: int, part: tuple[Foreign, ...], *shared: object) -> Foreign:
    """A task on a worker, where several may run at a time: with one thread each."""
    with linalg.single_thread(), alone.single_thread():
        return called(task, block, i, part, shared)
