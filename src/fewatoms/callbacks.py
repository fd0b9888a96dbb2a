"""Callbacks for `fit(..., callback=...)`: a deadline, a trace, a bar, and several of them together.

Each is called with a `Progress` after every iterate, and every tenth of a second during long work. StopIteration raised
there ends the run with the best answer so far.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias

from fewatoms import _checks
from fewatoms.budget import Budget

if TYPE_CHECKING:
    from fewatoms.records import Progress

# What a block that ends hands to `__exit__`.
Raised: TypeAlias = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]


class Deadline:
    """Stop so many seconds after the first call: the answer is the best so far, with status STOPPED.

    It serves one fit, or one path: another one needs a deadline of its own, since the clock goes on. Work that nobody
    can interrupt (one product with M, one decomposition) is finished first.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = _checks.number("seconds", seconds)
        self._begun: float | None = None

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        self._begun = now if self._begun is None else self._begun
        if now - self._begun >= self.seconds:
            raise StopIteration


@dataclass(frozen=True)
class Row:
    """One line of a trace."""

    seconds: float
    stage: str
    iteration: int
    loss: float
    misfit: float
    cardinality: int
    products: int


@dataclass
class Trace:
    """Keep a row for every call: seconds since the first, stage, iteration, loss, misfit, cardinality, products."""

    rows: list[Row] = field(default_factory=list)
    _begun: float | None = field(default=None, repr=False)

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        self._begun = now if self._begun is None else self._begun
        p = progress
        row = Row(now - self._begun, p.stage, p.iteration, p.loss, p.misfit, p.cardinality, p.products)
        self.rows.append(row)

    def __len__(self) -> int:
        return len(self.rows)


class bar:  # in small letters, since it is used like a function
    """A callback that shows how far a run is, on standard error: `with bar() as show: fit(..., callback=show)`.

    rich draws it where it is installed and the terminal can; elsewhere there is one line when the block ends.
    """

    def __init__(self, title: str = "fit") -> None:
        self._shown = _shown(title)

    def __enter__(self) -> Callable[[Progress], None]:
        return self._shown.__enter__()

    def __exit__(self, *error: *Raised) -> None:
        self._shown.__exit__(*error)

    def __call__(self, progress: Progress) -> None:
        raise TypeError("bar must be entered before it shows anything: with bar() as show: fit(..., callback=show)")


@contextmanager
def _shown(title: str) -> Iterator[Callable[[Progress], None]]:
    try:
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
    except ImportError:
        with _plain(title) as show:
            yield show
        return
    with Bar(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=Console(stderr=True)
    ) as drawn:
        task = drawn.add_task(title)
        yield lambda p: drawn.update(task, description=f"{title}: {_told(p)}")


@contextmanager
def _plain(title: str) -> Iterator[Callable[[Progress], None]]:
    last: list[Progress] = []

    def show(progress: Progress) -> None:
        last[:] = [progress]

    try:
        yield show
    finally:
        if last:
            sys.stderr.write(f"{title}: {_told(last[0])}\n")


def _told(p: Progress) -> str:
    stage = f"{p.stage}, " if p.stage else ""
    return f"{stage}iterate {p.iteration}, {Budget(p.cardinality).words}, loss {p.loss:.4g}, {p.products} products"


class Together:
    """Several callbacks, one after the other; all of them are called before a StopIteration of one ends the run."""

    def __init__(self, *callbacks: Callable[[Progress], object]) -> None:
        self.callbacks = callbacks

    def __call__(self, progress: Progress) -> None:
        stop = False
        for callback in self.callbacks:
            try:
                callback(progress)
            except StopIteration:
                stop = True
        if stop:
            raise StopIteration


__all__ = ["Deadline", "Row", "Together", "Trace", "bar"]
