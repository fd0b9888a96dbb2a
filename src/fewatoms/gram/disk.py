"""Where machine code is kept between processes, and who is making it.

A folder has a name made from all that the code depends on: the sources of this package, versions, the processor. It is
complete once it holds the file `ready`. Nothing here imports the compiler.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
READY = "ready"
BEAT, STALE = 5.0, 60.0  # seconds between signs of life of whoever makes it, and after which none means that he is gone


@cache
def name() -> str:
    """The name of the folder for these sources on this machine."""
    from llvmlite import binding

    sources, machine = hashlib.sha256(), hashlib.sha256()
    for path in sorted(HERE.glob("*.py")):
        sources.update(path.read_bytes())
    for part in (str(HERE), sys.version, version("numba"), version("llvmlite"), binding.get_host_cpu_name()):
        machine.update(part.encode())
    return f"kernels-{sources.hexdigest()[:16]}-{machine.hexdigest()[:16]}"


def roots() -> Iterator[Path]:
    """Where the folder may be, best first: where numba's variable says, or beside the sources, or with the user."""
    told = os.environ.get("NUMBA_CACHE_DIR", "")
    if told:
        yield Path(told) / "fewatoms"
        return
    yield HERE / "__pycache__"
    with suppress(RuntimeError):  # a user without a home
        mine = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        yield Path(mine) / "fewatoms"


def found() -> Path | None:
    """The folder, if it is complete (and can be written to: numba reads from no other)."""
    places = [root / name() for root in roots()]
    return next((place for place in places if (place / READY).exists() and os.access(place, os.W_OK)), None)


def folder() -> Path | None:
    """The folder, complete or not; None where none can be made."""
    place = found()
    for root in roots() if place is None else ():
        with suppress(OSError):
            (root / name()).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=root / name()).close()
            return root / name()
    return place


def finish(place: Path) -> None:
    """Say that the folder is complete; those of other sources go."""
    (place / READY).touch()
    ours = name().rpartition("-")[0]
    for other in place.parent.glob("kernels-*-*"):
        if other.is_dir() and not other.name.startswith(ours):
            shutil.rmtree(other, ignore_errors=True)


# Who makes it --------------------------------------------------------------------------------------------------------


def _alive(lock: Path) -> bool:
    try:
        return time.time() - lock.stat().st_mtime < STALE
    except OSError:
        return False


def claim() -> Path | None:
    """Undertake to fill the folder: a lock, which is a file beside it, or None if somebody else has, or none can be."""
    place = folder()
    if place is None:
        return None
    lock = place.with_suffix(".lock")
    if not _alive(lock):
        lock.unlink(missing_ok=True)
    try:
        lock.touch(exist_ok=False)
    except FileExistsError:
        return None
    return lock


@contextmanager
def working(lock: Path) -> Iterator[None]:
    """Give signs of life, and take the lock away in the end."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(BEAT):
            with suppress(OSError):
                os.utime(lock)

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        done.set()
        lock.unlink(missing_ok=True)
