"""Callbacks for `fit(..., callback=...)`: a bar, a trace, a deadline, a checkpoint, and several of them together.

    fit(..., callback=[Bar(), Trace(), Deadline(60), Checkpoint("run.ckpt")])

Each is called with a `Progress` after every iterate, and every tenth of a second during long work. StopIteration raised
there ends the run with the best answer so far. A callback that is a context manager is entered while the run lasts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

from fewatoms import _checks
from fewatoms._types import Array, FloatArray
from fewatoms.bars import Drawing, drawing
from fewatoms.checkpoints import Checkpoint
from fewatoms.interrupts import Presses

if TYPE_CHECKING:
    from fewatoms.records import Progress

Callback: TypeAlias = "Callable[[Progress], object]"

# What a block that ends hands to `__exit__`.
Raised: TypeAlias = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]


class Deadline:
    """Stop so many seconds after the work begins: the answer is the best so far, with status STOPPED.

    It serves one fit, or one path: another one needs a deadline of its own, since the clock goes on. Work that nobody
    can interrupt (one product with M, one decomposition) is finished first.

        fit(M, b, ..., callback=Deadline(on_interrupt="answer"))   # no deadline but Ctrl-C

    Parameters
    ----------
    seconds : float, optional
        None: as long as it takes.
    on_interrupt : "raise" or "answer"
        What the first Ctrl-C does: raise KeyboardInterrupt, as ever, or stop the run like a deadline. A second one
        raises KeyboardInterrupt in any case. Only the main thread hears it; what heard it before does so again when
        the run is over.
    """

    def __init__(self, seconds: float | None = None, *, on_interrupt: str = "raise") -> None:
        if on_interrupt not in ("raise", "answer"):
            raise ValueError(f"on_interrupt must be 'raise' or 'answer'; got {on_interrupt!r}")
        endless = seconds is None and on_interrupt == "answer"
        self.seconds = math.inf if endless else _checks.number("seconds", seconds)
        self.on_interrupt = on_interrupt
        self._begun: float | None = None
        self._presses = Presses() if on_interrupt == "answer" else None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has ended the run."""
        return self._presses is not None and self._presses.heard

    def __enter__(self) -> Self:
        self._begun = time.monotonic() if self._begun is None else self._begun
        if self._presses is not None:
            self._presses.__enter__()
        return self

    def __exit__(self, *error: *Raised) -> None:
        if self._presses is not None:
            self._presses.__exit__(*error)

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        self._begun = now if self._begun is None else self._begun
        if self.interrupted or now - self._begun >= self.seconds:
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
    objective: float


@dataclass
class Trace:
    """Keep a row for every call: seconds since the first, stage, iteration, loss, misfit, cardinality, products,
    objective.

    `rows` has them one by one; `trace.seconds`, `trace.loss` and so on are arrays, one entry for each call, for
    plotting: `plt.semilogy(trace.seconds, trace.loss)`. Loss, misfit and cardinality are those of the best so far, and
    so is the objective: the loss, and what coefficients pay; nan as long as there is no answer yet.
    """

    rows: list[Row] = field(default_factory=list)
    _begun: float | None = field(default=None, repr=False)

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        self._begun = now if self._begun is None else self._begun
        p = progress
        objective = math.nan if p.candidate is None else p.problem.objective(p.candidate)
        row = Row(now - self._begun, p.stage, p.iteration, p.loss, p.misfit, p.cardinality, p.products, objective)
        self.rows.append(row)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def seconds(self) -> FloatArray:
        return np.array([row.seconds for row in self.rows], dtype=np.float64)

    @property
    def stage(self) -> Array:
        return np.array([row.stage for row in self.rows], dtype=np.str_)

    @property
    def iteration(self) -> Array:
        return np.array([row.iteration for row in self.rows], dtype=np.intp)

    @property
    def loss(self) -> FloatArray:
        return np.array([row.loss for row in self.rows], dtype=np.float64)

    @property
    def misfit(self) -> FloatArray:
        return np.array([row.misfit for row in self.rows], dtype=np.float64)

    @property
    def cardinality(self) -> Array:
        return np.array([row.cardinality for row in self.rows], dtype=np.intp)

    @property
    def products(self) -> Array:
        return np.array([row.products for row in self.rows], dtype=np.intp)

    @property
    def objective(self) -> FloatArray:
        return np.array([row.objective for row in self.rows], dtype=np.float64)


class Bar:
    """Show how far a run is, on standard error: misfit or loss, atoms, gap, elapsed, and the time left where the whole
    is known (folds, ridges, budgets, data vectors).

    It is drawn while the run lasts, and its last line stays. Where standard error is no terminal nothing is shown,
    unless `always` says so: in a notebook the line is rewritten then, in a file there is a new one now and then. rich
    draws it where that is installed. `with Bar() as show:` makes one bar of several runs.

    Parameters
    ----------
    title : str
        Written before the figures.
    always : bool
        Whether to draw where standard error is no terminal.
    """

    def __init__(self, title: str = "fit", *, always: bool = False) -> None:
        self.title, self.always = title, always
        self._drawing: Drawing | None = None
        self._depth = 0

    def __enter__(self) -> Self:
        if not self._depth:
            self._drawing = drawing(self.title, self.always)
        self._depth += 1
        return self

    def __exit__(self, *error: *Raised) -> None:
        self._depth -= 1
        if not self._depth and self._drawing is not None:
            ended, self._drawing = self._drawing, None
            ended.end()

    def __call__(self, progress: Progress) -> None:
        if self._drawing is not None:
            self._drawing.show(progress)


bar = Bar  # as it was called when it had to be entered by hand, which it may be still


class Together:
    """Several callbacks, one after the other; all of them are called before a StopIteration of one ends the run.

    Parameters
    ----------
    *callbacks : callables
        Each takes a Progress.
    """

    def __init__(self, *callbacks: Callback) -> None:
        self.callbacks = callbacks
        self._entered: list[ExitStack] = []

    def __call__(self, progress: Progress) -> None:
        stop = False
        for callback in self.callbacks:
            try:
                callback(progress)
            except StopIteration:
                stop = True
        if stop:
            raise StopIteration

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for callback in self.callbacks:
                stack.enter_context(entered(callback))
            self._entered.append(stack.pop_all())
        return self

    def __exit__(self, *error: *Raised) -> None:
        self._entered.pop().__exit__(*error)


def read(callback: Callback | Sequence[Callback] | None) -> Callback | None:
    """What a user gave as callback, one or several of them in a list, as one."""
    found = _checks.heard(callback)
    return None if not found else found[0] if len(found) == 1 else Together(*found)


def entered(callback: Callback | None) -> AbstractContextManager[object]:
    """The time in which a callback is called: one that has something to put up and take down does so."""
    return callback if isinstance(callback, AbstractContextManager) else nullcontext()


__all__ = ["Bar", "Checkpoint", "Deadline", "Row", "Together", "Trace", "bar"]
