"""Loops of proofs as they stand, or as machine code: made once, in a process of its own, and kept on disk.

Loops are plain functions in files of their own, which call each other; some of them are entries, called from outside.
Compiled, all of them share one world of names. Nobody waits for a compiler without looking at the clock: who needs
machine code asks whether it is `ready`, and goes on telling what it knows until it is. `FEWATOMS_KERNELS=off`: never.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from inspect import isfunction
from pathlib import Path
from types import FunctionType, ModuleType

from fewatoms._types import Foreign
from fewatoms.gram import disk, who

LOOK_AGAIN = 0.2  # seconds between two looks whether machine code is there
WAITED = 180.0  # seconds after which nobody waits for a builder any more
Loop = Callable[..., Foreign]


@dataclass(eq=False)
class Machine:
    """The loops of a family.

    place : where the machine itself is found, "module:name", by whoever builds it
    modules : the files of the loops
    entries : what arguments the entries are called with, of every kind that there is: examples
    inlined : loops that are called from one place, so that they are not optimised once more for all that lead to them
    """

    place: str
    modules: tuple[str, ...]
    entries: Mapping[str, Callable[[], tuple[object, ...]]]
    inlined: frozenset[str] = frozenset()
    _compiled: dict[str, Loop] | None = None
    _builder: subprocess.Popen[bytes] | None = None
    _since: float = field(default=0.0)
    _next: float = field(default=0.0)
    _given_up: bool = field(default=False)

    @cached_property
    def plain(self) -> dict[str, Loop]:
        """The entries as they stand."""
        found = {name: loop for module in self._files() for name, loop in vars(module).items()}
        return {name: found[name] for name in self.entries}

    def ready(self) -> dict[str, Loop] | None:
        """The entries as machine code; None while there is none, and somebody is seen to make it."""
        if self._compiled is not None or not self.wanted or time.monotonic() < self._next:
            return self._compiled
        self._next = time.monotonic() + LOOK_AGAIN
        try:
            if self.kept():
                self._compiled = self._world()
            elif self._builder is None or self._builder.poll() is not None:
                self._summon()
            if self._since and time.monotonic() - self._since > WAITED:
                self._given_up = True
        except OSError:
            self._given_up = True
        return self._compiled

    @property
    def wanted(self) -> bool:
        """Whether there will be machine code if there is none yet: nobody forbids it, and it can be made."""
        return not self._given_up and who.told() != "off"

    def now(self) -> dict[str, Loop]:
        """Machine code at once, whoever makes it: for builders, tests and measurements."""
        if self._compiled is None:
            known, loops = self.kept(), self._world()
            if not known:
                self._make(loops)
            self._compiled = loops
        return self._compiled

    # On disk ----------------------------------------------------------------------------------------------------------

    @cached_property
    def folder(self) -> Path | None:
        """Where it is kept; None where nothing can be written."""
        from llvmlite import binding

        told = hashlib.sha256()
        for module in self.modules:
            told.update(Path(str(import_module(module).__file__)).read_bytes())
        for word in (sys.version, version("numba"), version("llvmlite"), binding.get_host_cpu_name(), *self.modules):
            told.update(word.encode())
        for root in disk.roots():
            with suppress(OSError):
                place = root / f"proofs-{told.hexdigest()[:24]}"
                place.mkdir(parents=True, exist_ok=True)
                (place / f"written-{os.getpid()}").touch()
                (place / f"written-{os.getpid()}").unlink()
                return place
        return None

    def kept(self) -> bool:
        """Whether it is on disk."""
        return self.folder is not None and all((self.folder / name).exists() for name in self.entries)

    def _summon(self) -> None:
        """Have a process make it, once."""
        program = Path(sys.executable or "")
        if self._since or self.folder is None or "frozen" in vars(sys) or not program.name.lower().startswith("py"):
            self._given_up = self._given_up or self._since == 0.0 or not self._others()
            return
        self._since = time.monotonic()
        lock = self.folder / "later"
        with suppress(FileExistsError):
            if lock.exists() and time.time() - lock.stat().st_mtime > disk.STALE:
                lock.unlink(missing_ok=True)
            lock.touch(exist_ok=False)
            self._builder = self._process(program, lock)

    def _others(self) -> bool:
        """Whether another process is at it."""
        lock = None if self.folder is None else self.folder / "later"
        with suppress(OSError):
            return lock is not None and time.time() - lock.stat().st_mtime < disk.STALE
        return False

    def _process(self, program: Path, lock: Path) -> subprocess.Popen[bytes]:
        paths = [str(disk.HERE.parent.parent), os.environ.get("PYTHONPATH", "")]
        return subprocess.Popen(
            [str(program), "-P", "-m", "fewatoms.proofs.machine", self.place, str(lock)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0 if os.name == "posix" else None,
        )

    # Compiling --------------------------------------------------------------------------------------------------------

    def _files(self) -> Iterator[ModuleType]:
        return map(import_module, self.modules)

    def _world(self) -> dict[str, Loop]:
        """Every loop with the others as machine code around it; nothing is compiled before it is called."""
        from numba import config, njit

        settings: Foreign = config
        shared = {"nogil": True, "fastmath": {"contract", "reassoc", "nsz"}, "error_model": "numpy"}
        make: Foreign = njit
        world: dict[str, object] = {}
        loops: dict[str, FunctionType] = {}
        for module in self._files():
            world |= vars(module)
            loops |= {n: f for n, f in vars(module).items() if isfunction(f) and f.__module__ == module.__name__}
        texts = {n: FunctionType(f.__code__, world, n, f.__defaults__) for n, f in loops.items()}
        found = {}
        before = settings.CACHE_DIR
        settings.CACHE_DIR = before if self.folder is None else str(self.folder)
        try:
            for name, text in texts.items():
                if name in self.entries:
                    found[name] = world[name] = make(cache=self.folder is not None, **shared)(text)
                else:
                    inline = "always" if name in self.inlined else "never"
                    world[name] = make(no_cpython_wrapper=True, no_cfunc_wrapper=True, inline=inline, **shared)(text)
        finally:
            settings.CACHE_DIR = before
        return found

    def _make(self, loops: Mapping[str, Loop]) -> None:
        """Compile, and say what is there."""
        from numba import typeof

        for name, sample in self.entries.items():
            compiled: Foreign = loops[name]
            compiled.compile(tuple(map(typeof, sample())))
            if self.folder is not None:
                (self.folder / name).touch()


def main(place: str, lock: str) -> None:
    """In the background: make what is missing, and take the lock away."""
    module, _, name = place.partition(":")
    with suppress(AttributeError, OSError):
        os.nice(5)
    with disk.working(Path(lock)):
        vars(import_module(module))[name].now()


if __name__ == "__main__":
    main(*sys.argv[1:])
