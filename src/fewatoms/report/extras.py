"""What a caller knows beside an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import _checks

if TYPE_CHECKING:
    from fewatoms.callbacks import Trace
    from fewatoms.drawn.bounds import Proven


@dataclass(frozen=True, eq=False)
class Extras:
    """See `report.answer`."""

    title: str | None = None
    trace: Trace | None = None
    notes: Sequence[str] = ()
    names: Sequence[object] | None = None
    rows: Sequence[object] | None = None
    cols: Sequence[object] | None = None
    frame: tuple[int, int] | None = None
    words: tuple[str, str] = ("data vector", "datum")  # what is called by `cols`, and by `rows`
    proof: Proven | None = None

    def __post_init__(self) -> None:
        """A string is a sequence of letters, which nobody means by notes."""
        if isinstance(self.notes, str):
            raise TypeError(f"notes must be a sequence of strings; got the string {self.notes[:40]!r}")

    @property
    def called(self) -> list[str] | None:
        return None if self.names is None else [str(name) for name in self.names]

    @property
    def first(self) -> int:
        """The number of the first row, column or frame that has no name: 1 for readers who are told names, 0 as arrays
        have it for others."""
        return 0 if self.rows is None and self.cols is None else 1

    def row(self, i: int) -> str:
        return str(i + self.first) if self.rows is None else str(self.rows[i])

    def col(self, j: int) -> str:
        return str(j + self.first) if self.cols is None else str(self.cols[j])

    def frame_name(self, j: int) -> str:
        """That of a file, or a number."""
        return f"frame {self.col(j)}" if self.col(j).isdecimal() else self.col(j)

    @property
    def counted(self) -> str:
        """Where nothing has a name: from what number on is counted."""
        return "; all is counted from 0" if self.first == 0 else ""

    def refuse(self, count: int | None, rows: int | None, cols: int | None) -> None:
        """Names must be as many as there are things."""
        known = ("names", self.names, count), ("rows", self.rows, rows), ("cols", self.cols, cols)
        for word, given, many in known:
            if given is not None and many is None:
                raise ValueError(f"{word} must be left out: this answer has nothing that it names; got {len(given)}")
            if given is not None and len(given) != many:
                raise ValueError(f"{word} must have {many} entries; got {len(given)}")


def frame_of(frame: Sequence[int] | None) -> tuple[int, int] | None:
    """A height and a width, or None."""
    if frame is None:
        return None
    sides = np.asarray(frame)
    if sides.shape != (2,):
        raise ValueError(f"frame must be a height and a width; got {frame!r}")
    height, width = sides.tolist()
    return _checks.integer("frame[0]", height, 1), _checks.integer("frame[1]", width, 1)
