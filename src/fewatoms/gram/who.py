"""Who does the work: the searches as they stand, or compiled. Nobody waits for a compiler.

A process starts with what stands in `drivers.py`. Once that has taken half a second, or is bound to, machine code that
an earlier process left on disk takes over. If there is none, one process in the background makes it (`build.py`), for
this one or the next; where nothing can be written, all stays as it is. `FEWATOMS_KERNELS=off` forbids all of this.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Literal, TypeVar

from fewatoms.gram import columns, disk, drivers

WORTH = 0.5  # seconds of work after which a process loads machine code: the import and the first call take as long
LOOK = 3.0  # seconds between two looks whether there is some
VARIABLE = "FEWATOMS_KERNELS"
R = TypeVar("R")

_log = logging.getLogger("fewatoms")


class NotKept(LookupError):
    """No machine code on disk for arguments of these kinds."""


class _Left(subprocess.Popen[bytes]):
    """A process that nobody waits for."""

    def __del__(self) -> None:
        pass


class Crew:
    """Keeps count of the seconds and changes over.

    seconds : spent so far
    kernels : the compiled searches, once they are loaded
    forced : who works whatever the count says, if anybody
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.kernels: ModuleType | None = None
        self.forced: Literal["twins", "kernels"] | None = None
        self._next: dict[str, float] = {}  # when to look again, for each search
        self._given_up = False
        self._builder: _Left | None = None
        self._lock = threading.Lock()

    def call(self, name: str, twin: Callable[..., R], args: tuple[object, ...]) -> R:
        kernels = None if self.forced == "twins" else self.kernels
        if kernels is not None and (not self._next or time.monotonic() >= self._next.get(name, 0.0)):
            try:
                return vars(kernels)[name](*args)
            except NotKept:
                if self.forced:
                    raise
                self._next[name] = time.monotonic() + LOOK
        start = time.perf_counter()
        try:
            return twin(*args)
        finally:
            self.seconds += time.perf_counter() - start
            if self.seconds >= WORTH and kernels is None and not self.forced:
                self.look(name)

    def expect(self, name: str, seconds: float) -> None:
        """So much work is to come, as things stand: it need not be waited for."""
        if self.kernels is None and not self.forced and self.seconds + seconds >= WORTH:
            self.look(name)

    def look(self, name: str) -> None:
        """Change over if there is machine code of a search; see to it that there will be, if not."""
        # a thread that finds another one here goes on as before
        late = time.monotonic() >= self._next.get(name, 0.0)
        if self._given_up or not late or told() == "off" or not self._lock.acquire(blocking=False):
            return
        try:
            if self.kernels is None:
                if disk.has(name):
                    self.load()
                    self._next.clear()
                    return
                self._next[name] = time.monotonic() + LOOK
                if self._builder is None:
                    self._builder = _left_to_build()
                else:
                    self._builder.poll()  # so that it is no zombie once it is done
        except Exception as problem:  # whatever ails the compiler: there is a way without it
            self._given_up = True
            _log.info("searches are not compiled: %s", problem)
        finally:
            self._lock.release()

    def load(self) -> None:
        from fewatoms.gram import _compiled

        _compiled.ONLY_KEPT.set()
        self.kernels = _compiled

    def after_fork(self) -> None:
        """The lock may have been another thread's, and the builder is the parent's."""
        self._lock, self._builder = threading.Lock(), None


def told() -> str:
    """What the variable says."""
    word = os.environ.get(VARIABLE, "") or "auto"
    if word not in ("auto", "off"):
        raise ValueError(f"{VARIABLE} must be auto or off; got {word}")
    return word


def _left_to_build() -> _Left | None:
    """Start the builder, unless somebody else has or this is no interpreter that could."""
    program = Path(sys.executable or "")
    if "frozen" in vars(sys) or not program.name.lower().startswith(("python", "pypy")):
        return None
    lock = disk.claim("later")
    if lock is None:
        return None
    paths = [str(disk.HERE.parent.parent), os.environ.get("PYTHONPATH", "")]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONWARNINGS": "ignore"}
    try:
        return _Left(
            [str(program), "-P", "-m", "fewatoms.gram.build", str(lock)],
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0 if os.name == "posix" else None,  # no session: those share processors evenly, nice or not
            creationflags=vars(subprocess).get("CREATE_NO_WINDOW", 0),
        )
    except OSError:
        lock.unlink(missing_ok=True)
        raise


CREW = Crew()
if "register_at_fork" in vars(os):
    os.register_at_fork(after_in_child=CREW.after_fork)


def _entry(twin: Callable[..., R]) -> Callable[..., R]:
    return lambda *args: CREW.call(twin.__name__, twin, args)


TWINS = (drivers.search, drivers.sweep, drivers.ladder, columns.many)
ENTRIES = SimpleNamespace(**{twin.__name__: _entry(twin) for twin in TWINS})


def engine() -> SimpleNamespace:
    """What has `search`, `sweep`, `ladder` and `many`, done by whoever does the work at the time."""
    told()
    return ENTRIES


@contextmanager
def working(who: Literal["twins", "kernels"], *searches: str) -> Iterator[None]:
    """Have all work done by the searches as they stand, or compiled: these, or all, are built first if they are not
    there. For tests and measurements."""
    if who == "kernels":
        from fewatoms.gram import build

        build.now(*searches)
        CREW.load()
    before, CREW.forced = CREW.forced, who
    try:
        yield
    finally:
        CREW.forced = before
