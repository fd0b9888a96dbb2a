"""What a run has done so far, as a tree of steps: enough to go on from there after a kill.

Runs are deterministic: whoever begins again meets the same steps in the same order. A step that was marked when the run
ended is handed what it had marked, and goes on from that; what was begun inside a step before its last mark is
forgotten, since nobody comes there again. So a finished step is one mark (its result), and a long loop marks its state
now and then. Where nobody keeps a journal all of this is nothing.

    with ledger.step("sweeps") as here:
        at = start if here.found is None else triple(here.found)
        for at in sweeps(at):
            here.mark(lambda: kept(at))

What is marked is made when somebody writes it down: whatever it refers to must not change meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fewatoms import kept
from fewatoms.kept import Kept, Plain


class Step:
    """One piece of work.

    name : by which it is known again
    found : what it had marked, where a run goes on in it; None where it begins
    tally : the state of the ledger, and of whoever looks on, at that mark
    facts, given : of a call, what was asked: words and numbers, and whatever has arrays
    live : whether anybody keeps what is marked
    """

    live = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.found: Kept | None = None
        self.tally: Kept | None = None
        self.facts: Plain = None
        self.given: Kept | None = None
        self.begun: list[Step] = []  # inside, since the last mark
        self.met = 0  # of these, in the run at hand
        self.account: Callable[[], Callable[[], Kept]] | None = None  # notes the ledger's state
        self._make: Callable[[], Kept] | None = None
        self._noted: Callable[[], Kept] | None = None

    def mark(self, make: Callable[[], Kept]) -> None:
        """From here on the run can go on from what that makes."""
        if self.live:
            self.found, self._make, self.begun, self.met = None, make, [], 0
            self.tally, self._noted = None, None if self.account is None else self.account()

    def marked(self) -> Kept | None:
        """What was marked last. Things that nobody can keep (faces of a set of one's own) count as not marked: the step
        is then done again."""
        if self._make is not None:
            try:
                tally = None if self._noted is None else self._noted()
                self.found, self.tally = self._make(), tally
            except (TypeError, NotImplementedError):
                self.found = self.tally = None
            self._make = self._noted = None
        return self.found

    def entered(self, name: str) -> Step:
        """The next step inside, as it was left if it was met before."""
        if self.met < len(self.begun) and self.begun[self.met].name != name:
            del self.begun[self.met :]  # another way was gone then: what is known of it is no use
        if self.met == len(self.begun):
            self.begun.append(Step(name))
        step = self.begun[self.met]
        self.met += 1
        step.met = 0
        return step


class _Nowhere(Step):
    """Where nobody keeps a journal."""

    live = False


NOWHERE = _Nowhere("")


class Journal:
    """The steps of one run after the other.

    root : what holds the calls, one after the other
    frozen : whether the run has been told to end: what is done on the way out is not part of what goes on later
    refused : whether it turned out to be that of another call
    """

    def __init__(self, root: Step | None = None) -> None:
        self.root = Step("run") if root is None else root
        self.frozen = self.refused = False
        self._open = [self.root]

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        if self.frozen:
            yield NOWHERE
            return
        here = self._open[-1].entered(name)
        self._open.append(here)
        try:
            yield here
        finally:
            # a generator that was left in the middle may be closed late: what it had open ends with the outer one
            if here in self._open:
                del self._open[self._open.index(here) :]

    def freeze(self) -> None:
        """The run is told to end."""
        self.frozen = True
        for step in self._open:
            step.live = False

    def kept(self) -> Kept:
        """All of it."""
        things: list[Kept] = []
        header = _told(self.root, things)
        return Kept("checkpoint", {"steps": header}, {}, (kept.packed(things),))

    @classmethod
    def read(cls, it: Kept) -> Journal:
        """What was kept."""
        return cls(_read(it.told["steps"], kept.unpacked(it.inner[0])))


def _told(step: Step, things: list[Kept]) -> Plain:
    """A step as a header; what has arrays is added to `things`."""
    marked = step.marked()
    places: list[Plain] = []
    for thing in (marked, step.tally, step.given):
        places.append(None if thing is None else len(things))
        things.extend([] if thing is None else [thing])
    inside: list[Plain] = [_told(one, things) for one in step.begun]
    return {"name": step.name, "facts": step.facts, "at": places, "begun": inside}


def _read(header: Plain, things: list[Kept]) -> Step:
    known = kept.section(header)
    step = Step(str(known["name"]))
    marked, tally, given = (None if at is None else things[kept.whole(at)] for at in kept.rows(known["at"]))
    step.found, step.tally, step.given, step.facts = marked, tally, given, known["facts"]
    step.begun = [_read(one, things) for one in kept.rows(known["begun"])]
    return step


_current: ContextVar[Journal | None] = ContextVar("fewatoms_journal", default=None)


def current() -> Journal | None:
    """The journal that is kept where the work is now."""
    return _current.get()


@contextmanager
def keeping(journal: Journal | None) -> Iterator[None]:
    """The work inside the block is kept there; nowhere, for None."""
    token = _current.set(journal)
    try:
        yield
    finally:
        _current.reset(token)


__all__ = ["NOWHERE", "Journal", "Step", "current", "keeping"]
