"""A cluster that is not there: passes over blocks on many workers with a network between them, on a clock of its own.

Blocks are worked on here, one after the other, and take the CPU seconds that they take; who would have worked on which
when, and what would have been on its way meanwhile, is played through event by event, as Dask goes about it: long
vectors leave the client one by one, a task at a time goes through the scheduler, blocks are worked on where they are,
what is shared is fetched from who has it, sums go up a tree, results come to the client in batches. Nobody sleeps.
`Pass.predicted` is the cost model: the same pass by a formula, without events.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from fewatoms.engines import Engine, Placed, Serial, summed
from fewatoms.engines.base import as_it_came, checked

INLINE = 1 << 18  # bytes up to which a vector goes along with its task
BATCH = 16  # results that come on one way


@dataclass(frozen=True)
class Network:
    """workers : with one thread each; latency : seconds one way; wire : bytes a second out of or into each machine;
    task : seconds of the scheduler for one"""

    workers: int
    latency: float
    wire: float
    task: float


@dataclass(frozen=True)
class Pass:
    """What a pass over blocks asks for.

    sent : bytes of long vectors that leave the client once; shared : of those that all workers need
    inline : bytes that go through the scheduler; back : bytes of one block's result
    work : CPU seconds of each block
    """

    added: bool
    sent: float
    shared: float
    inline: float
    back: float
    work: Sequence[float]

    def predicted(self, net: Network) -> float:
        """Seconds, by the formula."""
        blocks, trip = len(self.work), 2 * net.latency
        w, parts = min(net.workers, blocks), self.sent - self.shared
        out = trip + self.sent / net.wire if self.sent else 0.0
        fetched = trip + (w - 1) * self.shared / net.wire if self.shared and w > 1 else 0.0
        fetched += trip + parts / w / net.wire if parts and w > 1 else 0.0
        at_work = max(sum(self.work) / w, max(self.work), (2 if self.added else 1) * blocks * net.task)
        back = self.back / net.wire
        if self.added:
            level = 2 * trip + back if w > 1 else trip
            back += math.ceil(math.log2(blocks)) * (level + net.task)
        else:
            back = max(blocks * back - at_work, back) + max(0, math.ceil(blocks / w / BATCH) - 1) * 2 * trip
        return out + trip + self.inline / net.wire + net.task + fetched + at_work + back + 2 * trip


def _size(thing: object) -> int:
    """Bytes of the arrays in it."""
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, (tuple, list)):
        return sum(map(_size, thing))
    inside = getattr(thing, "__dict__", None)
    return sum(map(_size, inside.values())) if isinstance(inside, dict) else 64


@dataclass(eq=False)
class Links:
    """When the ways out and in of each machine are free again; machine 0 is the client."""

    net: Network
    out: list[float] = field(init=False)
    into: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.out, self.into = ([0.0] * (self.net.workers + 1) for _ in range(2))

    def moved(self, size: float, here: int, there: int, since: float) -> float:
        """When something that is asked for at a time has come; nothing has to be moved to where it is."""
        if here == there:
            return since
        begin = max(since, self.out[here], self.into[there])
        self.out[here] = self.into[there] = begin + size / self.net.wire
        return begin + size / self.net.wire + self.net.latency


class Simulated(Engine):
    """Blocks of this process as those of a cluster: block i lives with worker i modulo their number.

    clock : seconds of all passes so far; passes : what they asked for, and what each took
    """

    def __init__(self, net: Network) -> None:
        self.net, self.clock, self.passes = net, 0.0, list[tuple[Pass, float]]()

    @property
    def workers(self) -> int:
        return self.net.workers

    def place(self, loaders: Any, *, keep: bool = False, ready: Any = as_it_came, parts: Any = None) -> Placed:
        return _Blocks(self, Serial().place(loaders, keep=True, ready=ready, parts=parts))

    def predicted(self) -> float:
        """Seconds of all passes, by the formula."""
        return sum(it.predicted(self.net) for it, _ in self.passes)


class _Blocks(Placed):
    def __init__(self, engine: Simulated, inner: Placed) -> None:
        self.engine, self.inner = engine, inner

    def __len__(self) -> int:
        return len(self.inner)

    def derive(self, task: Any, *shared: object, parts: Sequence[object] | None = None) -> Placed:
        return _Blocks(self.engine, self.inner.derive(task, *shared, parts=parts))

    def release(self) -> None:
        self.inner.release()

    def map(self, task: Any, *shared: object, parts: Sequence[object] | None = None) -> Iterator[Any]:
        yield from self._done(task, shared, parts, added=False)

    def sum(self, task: Any, *shared: object, parts: Sequence[object] | None = None) -> Any:
        return summed(self._done(task, shared, parts, added=True))

    def _done(self, task: Any, shared: Any, parts: Any, *, added: bool) -> list[Any]:
        parts = checked(parts, len(self))
        found = list(self.inner.map(partial(_timed, task), *shared, parts=parts))
        results, work = [result for result, _ in found], [seconds for _, seconds in found]
        own = [0] * len(self) if parts is None else [_size(part) for part in parts]
        general = [_size(thing) for thing in shared]
        long = sum(size for size in general if size > INLINE)
        inline = sum(size for size in own if size <= INLINE) + (sum(general) - long) * len(self)
        parted = [size if size > INLINE else 0 for size in own]
        it = Pass(added, long + sum(parted), long, inline, max(map(_size, results), default=0), work)
        seconds = Played(it, self.engine.net, parted).seconds()
        self.engine.clock += seconds
        self.engine.passes.append((it, seconds))
        return results


def _timed(task: Any, block: Any, *rest: object) -> tuple[Any, float]:
    began = time.thread_time()
    found = task(block, *rest)
    return found, time.thread_time() - began


class Played:
    """A pass event by event.

    parted : bytes of the long vectors that belong to blocks
    """

    def __init__(self, it: Pass, net: Network, parted: Sequence[float]) -> None:
        self.it, self.net, self.parted, self.links = it, net, parted, Links(net)
        self.dispatched = 0.0  # when the scheduler has told all

    def seconds(self) -> float:
        ends = self._worked()
        return self._climbed(ends) if self.it.added else self._gathered(ends)

    def _home(self, i: int) -> int:
        return 1 + i % self.net.workers

    def _worked(self) -> list[float]:
        """When each block is done."""
        it, net, links = self.it, self.net, self.links
        holder, there, came = 1, {}, 0.0
        if it.shared:
            there[holder] = came = links.moved(it.shared, 0, holder, 0.0)
        arrived = []
        for i, size in enumerate(self.parted):
            at = self._home(i + bool(it.shared))  # they go round, as they come
            arrived.append((at, links.moved(size, 0, at, 0.0) if size else 0.0))
            came = max(came, arrived[-1][1])
        begin = (came + net.latency if it.sent else 0.0) + net.latency + it.inline / net.wire
        self.dispatched = begin + len(it.work) * net.task
        free, ends = [0.0] * (net.workers + 1), []
        for i, work in enumerate(it.work):
            worker, told = self._home(i), begin + (i + 1) * net.task + net.latency
            if it.shared and worker not in there:
                there[worker] = links.moved(it.shared, holder, worker, told + net.latency)
            at, since = arrived[i]
            own = links.moved(self.parted[i], at, worker, max(since, told + net.latency)) if self.parted[i] else 0.0
            free[worker] = max(free[worker], told, own, there.get(worker, 0.0)) + work
            ends.append(free[worker])
        return ends

    def _gathered(self, ends: Sequence[float]) -> float:
        """Results in their order, those that are there in batches."""
        net, now, i = self.net, 0.0, 0
        while i < len(ends):
            now = max(now, ends[i] + net.latency)
            ready = [i]
            while len(ready) < BATCH and ready[-1] + 1 < len(ends) and ends[ready[-1] + 1] + net.latency <= now:
                ready.append(ready[-1] + 1)
            asked = now + 2 * net.latency
            now = net.latency + max(self.links.moved(self.it.back, self._home(j), 0, asked) for j in ready)
            i = ready[-1] + 1
        return now

    def _climbed(self, ends: Sequence[float]) -> float:
        """Up the tree, neighbours first."""
        net, level = self.net, [(end, self._home(i)) for i, end in enumerate(ends)]
        scheduler = self.dispatched
        while len(level) > 1:
            paired = []
            for (a, here), (b, there) in zip(level[0::2], level[1::2], strict=False):
                scheduler = max(scheduler, max(a, b) + net.latency) + net.task
                told = scheduler + net.latency
                come = told if here == there else self.links.moved(self.it.back, there, here, told + net.latency)
                paired.append((come, here))
            level = paired + level[2 * len(paired) :]
        end, at = level[0]
        return self.links.moved(self.it.back, at, 0, end + 3 * net.latency) + net.latency
