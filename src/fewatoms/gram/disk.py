"""Where machine code is kept between processes, and who is making it.

A folder has a name made from all that the code depends on: the sources of this package, versions, the processor. In it
an empty file, by the name of a search, says that the machine code of that one is there. Nothing here imports numba.
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


@cache
def folder() -> Path | None:
    """The folder, empty or not; None where none can be written to (numba does not read from such)."""
    for root in roots():
        with suppress(OSError):
            (root / name()).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=root / name()).close()
            return root / name()
    return None


def has(search: str) -> bool:
    """Whether the machine code of a search is there."""
    place = folder()
    return place is not None and (place / search).exists()


def tidy(place: Path) -> None:
    """What other sources left goes."""
    ours = name().rpartition("-")[0]
    for other in place.parent.glob("kernels-*-*"):
        if not other.name.startswith(ours):
            with suppress(OSError):
                shutil.rmtree(other) if other.is_dir() else other.unlink()


# Who makes it --------------------------------------------------------------------------------------------------------


def _left_behind(lock: Path) -> bool:
    """Whether whoever has claimed is gone."""
    try:
        return time.time() - lock.stat().st_mtime > STALE
    except OSError:
        return False


def claim(kind: str) -> Path | None:
    """Undertake to fill the folder: a lock, which is a file beside it; None if somebody else has, or if there is none.

    kind : "later" in the background, "now" while somebody waits, who does not wait for the background.
    """
    place = folder()
    if place is None:
        return None
    lock = place.with_suffix("." + kind)
    try:
        if _left_behind(lock):
            lock.unlink(missing_ok=True)
        lock.touch(exist_ok=False)
    except OSError:
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
