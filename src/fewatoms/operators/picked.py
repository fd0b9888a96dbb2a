"""Some rows of blocks that lie elsewhere: picked anew in every pass, where the blocks are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fewatoms._types import Array, Foreign
from fewatoms.engines import Placed, Task


class Picked(Placed):
    """Blocks with some of the rows of others, which stay with whoever placed them.

    picks : for each block, which rows, as truth values
    """

    def __init__(self, inner: Placed, picks: Sequence[Array]) -> None:
        self.inner, self.picks = inner, picks

    def __len__(self) -> int:
        return len(self.inner)

    def _parts(self, parts: Sequence[object] | None) -> list[object]:
        given = [()] * len(self) if parts is None else [(part,) for part in parts]
        return list(zip(self.picks, given, strict=True))

    def map(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Iterator[Foreign]:
        return self.inner.map(of_some, task, *shared, parts=self._parts(parts))

    def sum(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Foreign:
        return self.inner.sum(of_some, task, *shared, parts=self._parts(parts))

    def derive(self, task: Task, *shared: object, parts: Sequence[object] | None = None) -> Placed:
        return self.inner.derive(of_some, task, *shared, parts=self._parts(parts))

    def release(self) -> None:
        """The blocks are not ours."""


def of_some(block: Foreign, given: tuple[Array, tuple[object, ...]], task: Task, *shared: object) -> Foreign:
    """A task for some rows of a block."""
    rows, part = given
    return task(block[rows], *part, *shared)


__all__ = ["Picked"]
