"""How far a run is, drawn on standard error: by rich, by one line that is rewritten, by lines in a file, or not."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Protocol, TextIO

from fewatoms import words
from fewatoms.budget import Budget

if TYPE_CHECKING:
    from fewatoms.records import Progress

OFTEN = 0.1  # seconds from one drawing to the next
SELDOM = 10.0  # the same for lines that stay
FAST = 0.05  # share of the whole below which the time left is a guess


class Drawing(Protocol):
    """What shows the progress of a run until it ends."""

    def show(self, progress: Progress) -> None: ...

    def end(self) -> None: ...


def drawing(title: str, always: bool) -> Drawing | None:
    """What standard error is good for; None where nobody looks at it."""
    stream = sys.stderr
    if stream is None or stream.closed or not (always or stream.isatty()):
        return None
    if not (stream.isatty() or type(stream).__module__.startswith("ipykernel")):
        return Line(title, stream, SELDOM, "", "\n")
    try:
        return Rich(title) if stream.isatty() else Line(title, stream, OFTEN, "\r", "")
    except ImportError:
        return Line(title, stream, OFTEN, "\r", "")


class Left:
    """The seconds that are left, from the share that is done; a new count begins where the share falls."""

    def __init__(self) -> None:
        self._share, self._since = math.inf, 0.0

    def at(self, now: float, share: float | None) -> float | None:
        """None where nobody knows."""
        if share is None or share < self._share:
            self._since = now
        self._share = math.inf if share is None else share
        if share is None or share < FAST:
            return None
        return (now - self._since) * (1.0 - share) / share


class Line:
    """A line, written anew every so many seconds and at the end."""

    def __init__(self, title: str, stream: TextIO, every: float, before: str, after: str) -> None:
        self.title, self.stream, self.every, self.before, self.after = title, stream, every, before, after
        self._begun = self._drawn = time.monotonic()
        self._left, self._width = Left(), 0
        self._last: Progress | None = None

    def show(self, progress: Progress) -> None:
        now, self._last = time.monotonic(), progress
        left = self._left.at(now, progress.share)
        if now - self._drawn >= self.every:
            self._drawn = now
            self._write(progress, "" if left is None else f", {duration(left)} left", self.after)

    def end(self) -> None:
        if self._last is not None:
            self._write(self._last, "", "\n")

    def _write(self, progress: Progress, left: str, after: str) -> None:
        text = f"{self.title}: {told(progress)}, {duration(time.monotonic() - self._begun)}{left}"
        blank = " " * (self._width - len(text)) if self.before else ""
        self.stream.write(f"{self.before}{text}{blank}{after}")
        self.stream.flush()
        self._width = len(text)


class Rich:
    """A bar of rich, which is imported here."""

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            console=Console(stderr=True),
        )
        self.title, self._left, self._drawn = title, Left(), -math.inf
        self._task = self._bar.add_task(title, total=None, left="")
        self._last: Progress | None = None
        self._bar.start()

    def show(self, progress: Progress) -> None:
        now, self._last = time.monotonic(), progress
        left = self._left.at(now, progress.share)
        if now - self._drawn >= OFTEN:
            self._drawn = now
            self._draw(progress, "" if left is None else f"{duration(left)} left")

    def end(self) -> None:
        if self._last is not None:
            self._draw(self._last, "")
        self._bar.stop()

    def _draw(self, progress: Progress, left: str) -> None:
        share = progress.share
        self._bar.update(
            self._task,
            description=f"{self.title}: {told(progress)}",
            completed=share or 0.0,
            total=None if share is None else 1.0,
            left=left,
        )


def told(p: Progress) -> str:
    """Where a run is, in a few words; nothing is computed for it."""
    counts = [str(count) for count in p.counts if count.what not in p.stage]  # which may tell it itself
    if not math.isinf(p.upper):  # a proof
        bounds = " and ".join(words.between(p.lower, p.upper))
        return ", ".join([*counts, *[p.stage] * bool(p.stage), f"{p.nodes:,} nodes", f"between {bounds}"])
    where = [*counts, *[p.stage] * bool(p.stage), f"iterate {p.iteration}"]
    if p.candidate is None:
        return ", ".join(where)
    fits = f"loss {p.loss:.4g}" if math.isnan(p.misfit) else f"misfit {p.misfit:.3g}"
    gap = p.known_gap
    proven = [f"gap {gap:.2g}"] if math.isfinite(gap) else []
    return ", ".join([*where, Budget(p.cardinality).words, fits, *proven])


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d} min"
    return f"{minutes // 60}:{minutes % 60:02d} h"
