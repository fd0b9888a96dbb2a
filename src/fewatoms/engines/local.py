"""Engines of this process: one block after the other, or a few at a time in threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from fewatoms import _checks, alone, kernels, ledger, linalg
from fewatoms._types import Foreign
from fewatoms.engines.base import Engine, Loader, Placed, Task, as_it_came, called, checked, loaded, part_of

AHEAD = 2  # blocks begun beyond those that are worked on, so that no thread waits for the sum


class Blocks(Placed):
    """Blocks of this process, loaded when they are needed."""

    def __init__(
        self,
        loaders: Sequence[Loader],
        keep: bool,
        workers: int,
        ready: Task = as_it_came,
        parts: Sequence[object] | None = None,
    ) -> None:
        self._loaders, self._keep, self._workers, self._ready = list(loaders), keep, workers, ready
        self._parts = checked(parts, len(self._loaders))
        self._held: dict[int, Foreign] = {}

    def __len__(self) -> int:
        return len(self._loaders)

    def _block(self, i: int) -> Foreign:
        if i in self._held:
            return self._held[i]
        block = loaded(self._loaders[i], i, self._ready, part_of(self._parts, i))
        if self._keep:
            self._held[i] = block
        return block

    def map(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Iterator[Foreign]:
        parts = checked(parts, len(self))

        def done(i: int) -> Foreign:
            return called(task, self._block(i), i, part_of(parts, i), shared)

        def apart(i: int) -> Foreign:
            with alone.single_thread():
                return done(i)

        if min(self._workers, len(self)) <= 1:
            for i in range(len(self)):
                yield done(i)
                ledger.tick()
        else:
            yield from self._in_threads(apart)

    def _in_threads(self, done: Task) -> Iterator[Foreign]:
        """Results in order; no more blocks are begun than there are threads, and a few."""
        with linalg.single_thread(), ThreadPoolExecutor(self._workers) as pool:
            waiting: deque[Future[Foreign]] = deque()
            following = iter(range(len(self)))
            try:
                for i in following:
                    waiting.append(pool.submit(done, i))
                    if len(waiting) >= self._workers + AHEAD:
                        yield waiting.popleft().result()
                        ledger.tick()
                while waiting:
                    yield waiting.popleft().result()
                    ledger.tick()
            finally:
                for future in waiting:
                    future.cancel()

    def derive(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Placed:
        made = list(self.map(task, *shared, parts=parts))
        return Blocks([_given(block) for block in made], True, self._workers)

    def release(self) -> None:
        self._held.clear()


def _given(block: Foreign) -> Loader:
    return lambda: block


class Local(Engine):
    """Blocks of this process, loaded when they are needed."""

    def place(
        self,
        loaders: Sequence[Loader],
        *,
        keep: bool = False,
        ready: Task = as_it_came,
        parts: Sequence[object] | None = None,
    ) -> Placed:
        return Blocks(loaders, keep, self.workers, ready, parts)


class Serial(Local):
    """One block after the other."""

    @property
    def workers(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "Serial()"


class Threads(Local):
    """Blocks in threads of this process, each with one thread of BLAS and of compiled loops.

    Parameters
    ----------
    workers : int, optional
        As many as there are cores, or as environment variables for threads allow.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = kernels.threads() if workers is None else _checks.integer("workers", workers, 1)

    @property
    def workers(self) -> int:
        return self._workers

    def __repr__(self) -> str:
        return f"Threads({self._workers})"
