"""Measuring: quiet timing, the memory of this process, facts about the machine."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import platform
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""One thread for everyone. To be put into `os.environ` before NumPy is imported: BLAS reads it when it is loaded."""

PACKAGES = (
    "fewatoms", "numpy", "scipy", "numba", "scikit-learn", "celer", "skglm", "abess", "spgl1", "cmfrec",
    "scikit-surprise", "fancyimpute", "pymanopt", "tensorly", "rpca", "cvxpy", "scs", "adelie", "fastsparsegams",
    "spams-bin", "skscope", "okridge", "l0bnb", "implicit",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a call gave, in how much time; `note` says why there is no value."""

    value: Any = None
    cpu: float = math.nan
    note: str = ""

    @property
    def ok(self) -> bool:
        return not self.note


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Send what is printed to nowhere, by compiled code too, and drop warnings."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [(fd, os.dup(fd)) for fd in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for fd, _ in saved:
            os.dup2(nowhere, fd)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for fd, copy in saved:
            os.dup2(copy, fd)
            os.close(copy)
        os.close(nowhere)


def timed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Outcome:
    """Call, and measure CPU seconds. An exception is an outcome: one method must not end the whole run."""
    gc.collect()
    with quiet():
        began = time.process_time()
        try:
            value = function(*args, **kwargs)
        except Exception as error:
            return Outcome(note=said(error))
        return Outcome(value, time.process_time() - began)


def said(error: Exception) -> str:
    """In one line; what is no failure says so itself."""
    return getattr(error, "note", "") or f"failed: {type(error).__name__}: {error}".splitlines()[0]


# Memory


@dataclass
class Peak:
    extra: int = 0


@contextlib.contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure how far the memory of this process rises above what it holds at the start; Linux only.

    The kernel keeps the high-water mark, so that allocations of compiled code count and nothing has to be sampled. What
    was freed before is returned to the system first: whoever reused it would seem to need no memory.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # resets the mark
    before = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    peak = Peak()
    yield peak
    mark = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert mark is not None
    peak.extra = max(0, int(mark[1]) * 1024 - before)


def memory_is_known() -> bool:
    return Path("/proc/self/clear_refs").exists()


# Facts


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def load() -> float:
    """How many processes wanted to run in the last minute, on average; NaN where nobody counts."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan


def crowd() -> float:
    """How many times as long things may take as on a quiet machine: processes that want to run, over cores."""
    wanted = load()
    return max(1.0, wanted / (os.cpu_count() or 1)) if math.isfinite(wanted) else 1.0


def machine() -> dict[str, Any]:
    processor, memory = platform.processor() or platform.machine(), None
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    with contextlib.suppress(OSError, ValueError, AttributeError):
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "memory_gb": memory,
        "system": platform.platform(),
        "python": platform.python_version(),
        "threads": {name: os.environ.get(name, "not set") for name in THREADS},
    }
