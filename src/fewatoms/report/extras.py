"""What a caller knows beside an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import _checks

if TYPE_CHECKING:
    from fewatoms.callbacks import Trace


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

    @property
    def called(self) -> list[str] | None:
        return None if self.names is None else [str(name) for name in self.names]

    def row(self, i: int) -> str:
        return str(i) if self.rows is None else str(self.rows[i])

    def col(self, j: int) -> str:
        return str(j) if self.cols is None else str(self.cols[j])

    def refuse(self, count: int | None, shape: tuple[int, ...]) -> None:
        """Names must be as many as there are things."""
        for word, given, many in (
            ("names", self.names, count),
            ("rows", self.rows, shape[0] if len(shape) == 2 else None),
            ("cols", self.cols, shape[1] if len(shape) == 2 else None),
        ):
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
