"""The contract of engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import add
from typing import TypeAlias

from fewatoms._types import Foreign

Loader: TypeAlias = Callable[[], Foreign]
Task: TypeAlias = Callable[..., Foreign]


@dataclass(frozen=True, eq=False)
class DelayedBlock:
    """A loader of a block that Dask makes: an engine of Dask has `delayed` computed by its scheduler."""

    delayed: Foreign

    def __call__(self) -> Foreign:
        return self.delayed.compute(scheduler="synchronous")


def as_it_came(block: Foreign) -> Foreign:
    """A block that is ready as it is."""
    return block


class Placed(ABC):
    """Blocks where they live. Tasks are functions `task(block, *shared)`, or `task(block, part, *shared)` where parts
    are given; a cluster has to be able to import them.

    What a task returns comes to the caller: it should be small. What is as long as a block is derived, and stays.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def map(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Iterator[Foreign]:
        """What a task gives for each block, in their order."""

    @abstractmethod
    def derive(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Placed:
        """New blocks made of these by a task, where these are. `shared` goes with each of them: it should be small."""

    @abstractmethod
    def release(self) -> None:
        """Let go of the blocks."""

    def sum(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Foreign:
        """The sum of what a task gives for all blocks: numbers, arrays, or `Terms` of these."""
        return summed(self.map(task, *shared, parts=parts))


class Engine(ABC):
    """Where work over blocks is done."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many blocks are worked on at a time."""

    @property
    def here(self) -> bool:
        """Whether blocks are worked on in this process."""
        return True

    @abstractmethod
    def place(
        self,
        loaders: Sequence[Loader],
        *,
        keep: bool = False,
        ready: Task = as_it_came,
        parts: Sequence[object] | None = None,
    ) -> Placed:
        """Blocks made by these loaders, each where it is to live.

        keep : whether a block is kept once it was loaded; otherwise it may be loaded again for every pass
        ready : what is done with a block as soon as it was loaded, `ready(block)`, or `ready(block, part)`
        parts : one for each block
        """


class Terms(tuple[Foreign, ...]):
    """Several things that are summed up side by side."""

    __slots__ = ()

    def __add__(self, other: tuple[Foreign, ...]) -> Terms:
        return Terms(map(add, self, other))


def summed(results: Iterable[Foreign]) -> Foreign:
    """The sum of results in the shape of a tree: neighbours first, then neighbouring pairs, and so on.

    No more of them are held at a time than the tree is deep, and rounding grows with its depth alone.
    """
    held: list[tuple[int, Foreign]] = []  # sums of 2^level neighbours each, levels falling
    for result in results:
        level, total = 0, result
        while held and held[-1][0] == level:
            total, level = add(held.pop()[1], total), level + 1
        held.append((level, total))
    if not held:
        return None
    total = held.pop()[1]
    while held:
        total = add(held.pop()[1], total)
    return total


def called(task: Task, block: Foreign, i: int, part: tuple[object, ...], shared: Sequence[object]) -> Foreign:
    """A task for one block, with its part if there are parts; errors say which block."""
    try:
        return task(block, *part, *shared)
    except Exception as error:
        error.add_note(f"This happened in block {i}.")
        raise


def loaded(loader: Loader, i: int, ready: Task, part: tuple[object, ...] = ()) -> Foreign:
    """What a loader gives, made ready; errors say which block was meant."""
    try:
        return ready(loader(), *part)
    except Exception as error:
        error.add_note(f"This happened when block {i} was loaded.")
        raise


def part_of(parts: Sequence[object] | None, i: int) -> tuple[object, ...]:
    """What goes along with one block."""
    return () if parts is None else (parts[i],)


def checked(parts: Sequence[object] | None, count: int) -> Sequence[object] | None:
    """Parts, one for each block."""
    if parts is not None and len(parts) != count:
        raise ValueError(f"parts must be one for each of {count} blocks; got {len(parts)}")
    return parts
