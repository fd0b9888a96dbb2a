"""What one run owns: its seed, its tally of products, its clock. Nothing is counted or seeded globally.

`opened` makes a ledger for the block that follows; whatever multiplies, draws or works for long inside it finds it
through `current`. Blocks may be nested, as when a certificate is evaluated in the middle of a run: the innermost ledger
is the one that is charged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from fewatoms import _checks, journal, kept
from fewatoms.kept import Kept, Plain

if TYPE_CHECKING:
    from fewatoms.candidates import Candidate

ON_ACCOUNT = ("products", "svd_products", "passes", "regressed")  # and gone on with after a kill
EVERY = 0.1  # seconds at least from one call of the clock to the next


class Stopped(Exception):
    """Whoever listens to the clock has asked the run to end. (StopIteration itself would not leave a generator.)"""


class Witness(Protocol):
    """Who looks on while work is done, and keeps what it has seen."""

    def noted(self) -> Callable[[], Kept]:
        """Note what is known now; that is told when somebody writes it down."""
        ...

    def go_on(self, it: Kept) -> None:
        """Know that again."""
        ...


@dataclass(eq=False)
class Ledger:
    """The account of one run.

    given : the generator of start vectors and whatever else is random; `rng` has a fixed seed without one
    products : with M and M*
    svd_products : with M*y inside partial decompositions
    passes : how often all of M was gone through: a product, a block of them, a sum over its rows, columns read out of
        blocks of rows
    regressed : how often small regressions were made line by line, which repays machine code in the end
    ticks : how often the run has said that it is alive
    stage : what it is doing
    hear : called by the clock; may raise Stopped
    found : the best answer of a piece of work that has not ended yet
    witness : who looks on, and goes on with the run after a kill as well
    """

    given: np.random.Generator | None = None
    products: int = 0
    svd_products: int = 0
    passes: int = 0
    regressed: int = 0
    ticks: int = 0
    stage: str = ""
    hear: Callable[[], None] | None = None
    found: Candidate | None = None
    witness: Witness | None = None
    _last: float = field(default_factory=lambda: time.monotonic())

    @cached_property
    def rng(self) -> np.random.Generator:
        """Made when it is first asked for: many runs are over before."""
        return np.random.default_rng(0) if self.given is None else self.given

    def tally(self) -> Callable[[], Kept]:
        """Note what has been counted and drawn so far, and what whoever looks on knows."""
        rng = vars(self).get("rng")
        state = None if rng is None else kept.drawn(rng)
        told: dict[str, Plain] = {name: vars(self)[name] for name in ON_ACCOUNT} | {"rng": state}
        more = None if self.witness is None else self.witness.noted()
        return lambda: Kept("tally", told, {}, () if more is None else (more(),))

    def go_on(self, tally: Kept) -> None:
        """Count and draw as whoever was interrupted would have done."""
        known = tally.told
        for name in ON_ACCOUNT:
            setattr(self, name, kept.whole(known.get(name, 0)))
        if known["rng"] is not None:
            kept.draw_on(self.rng, known["rng"])
        if self.witness is not None and tally.inner:
            self.witness.go_on(tally.inner[0])

    def tick(self) -> None:
        """A pass over the data, a step of a descent, a chunk of a loop has been done."""
        self.ticks += 1
        if self.hear is not None and time.monotonic() - self._last >= EVERY:
            self.tell()

    def tell(self) -> None:
        """Let whoever listens look at once. What they ask for may take long and tick: they are not told again then."""
        hear, self.hear = self.hear, None
        if hear is not None:
            try:
                hear()
            finally:
                self.hear, self._last = hear, time.monotonic()


class Count(NamedTuple):
    """How far work of a known extent is: `done` of `total` things, each of them a `what`, are behind us."""

    what: str
    done: int
    total: int

    def __str__(self) -> str:
        return f"{self.what} {min(self.done + 1, self.total)} of {self.total}"


_counts: ContextVar[tuple[Count, ...]] = ContextVar("fewatoms_counts", default=())
_current: ContextVar[Ledger | None] = ContextVar("fewatoms_ledger", default=None)


@contextmanager
def opened(rng: object = None, hear: Callable[[], None] | None = None) -> Iterator[Ledger]:
    """A ledger for the work inside the block."""
    account = Ledger(None if rng is None else _checks.generator(rng), hear=hear)
    token = _current.set(account)
    try:
        yield account
    finally:
        _current.reset(token)


def current() -> Ledger:
    """The innermost open ledger; a fresh one, with the fixed seed, where there is none."""
    return _current.get() or Ledger()


def generator() -> np.random.Generator:
    """The generator of the run."""
    return current().rng


def dice() -> Callable[[], np.random.Generator]:
    """The generator of the run as it stands now, made anew for whoever asks: all draw the same."""
    bits = generator().bit_generator
    state = bits.state

    def thrown() -> np.random.Generator:
        fresh = type(bits)(0)
        fresh.state = state
        return np.random.Generator(fresh)

    return thrown


@contextmanager
def step(name: str) -> Iterator[journal.Step]:
    """A piece of the work that can be gone on with after a kill, see `journal`: what is counted and drawn goes on as
    well."""
    book = journal.current()
    if book is None:
        yield journal.NOWHERE
        return
    with book.step(name) as here:
        account = _current.get()
        if here.live and account is not None:
            here.account = account.tally
            if here.found is not None and here.tally is not None:
                account.go_on(here.tally)
        yield here


def spend(products: int) -> None:
    """Charge products with M or M*."""
    account = _current.get()
    if account is not None:
        account.products += products


def go_through() -> None:
    """Charge a pass over all of M."""
    account = _current.get()
    if account is not None:
        account.passes += 1


def regressed() -> int:
    """Charge small regressions, one for each line: how often there were some in this run."""
    account = current()
    account.regressed += 1
    return account.regressed


@contextmanager
def elsewhere() -> Iterator[None]:
    """Products and passes inside the block are with an operator that stands in for M, and cost next to nothing."""
    account = current()
    before = account.products, account.passes
    try:
        yield
    finally:
        account.products, account.passes = before


def tick() -> None:
    """Say that work goes on: whoever listens may look at what was found, and stop the run."""
    account = _current.get()
    if account is not None:
        account.tick()


def tell() -> None:
    """Let whoever listens look at once, and stop the run: something long is about to begin."""
    account = _current.get()
    if account is not None:
        account.tell()


@contextmanager
def stage(name: str) -> Iterator[None]:
    """What the work inside the block is called."""
    account = current()
    before, account.stage = account.stage, name
    try:
        yield
    finally:
        account.stage = before


@contextmanager
def counted(what: str, done: int, total: int) -> Iterator[None]:
    """The work inside the block is one of several things that are done one after the other: folds, ridges, data
    vectors. Those of an only one are not told."""
    token = _counts.set((*_counts.get(), Count(what, done, total)) if total > 1 else _counts.get())
    try:
        yield
    finally:
        _counts.reset(token)


def counts() -> tuple[Count, ...]:
    """What is counted where the work is now, the outermost first."""
    return _counts.get()


def keep(found: Candidate) -> None:
    """Note an answer found on the way: it counts if the run is stopped before its work is done."""
    account = _current.get()
    if account is not None:
        account.found = found
