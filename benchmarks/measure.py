"""What the benchmarks share: quiet timing, memory of a child process, tables, bars and the JSON document."""

from __future__ import annotations

import contextlib
import gc
import json
import math
import multiprocessing
import os
import platform
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

THREADS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""One thread for everyone. To be put into `os.environ` before NumPy is imported: BLAS reads it when it is loaded."""

Record = dict[str, Any]


# Timing


@dataclass(frozen=True)
class Outcome:
    """What a call gave, in how much time; `note` says why there is no value."""

    value: Any = None
    cpu: float = math.nan
    wall: float = math.nan
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
    """Call, and measure CPU and wall seconds. An exception is an outcome: one method must not end the whole run."""
    gc.collect()
    with quiet():
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            value = function(*args, **kwargs)
        except Exception as error:
            return Outcome(note=f"failed: {type(error).__name__}: {error}".splitlines()[0])
        return Outcome(value, time.process_time() - cpu, time.perf_counter() - wall)


# Memory, in a child process


def resident() -> int:
    """Bytes of memory that this process holds now; Linux only."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclass
class Peak:
    before: int = 0
    extra: int = 0


@contextlib.contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure how far the memory of this process rises above what it holds at the start; Linux only.

    The kernel keeps the high-water mark, so that allocations of compiled code count and nothing has to be sampled.
    """
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the mark
    peak = Peak(before=resident())
    yield peak
    mark = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert mark is not None
    peak.extra = max(0, int(mark[1]) * 1024 - peak.before)


def in_child(function: Callable[..., Record], *args: Any, timeout: float) -> Record:
    """Call in a fresh process, so that neither memory nor caches are inherited; at most `timeout` seconds."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(sender, function, args))
    child.start()
    sender.close()
    try:
        if not receiver.poll(timeout):
            return {"note": f"no answer in {timeout:g} s"}
        return receiver.recv()
    except EOFError:
        child.join()
        return {"note": f"failed: the process ended with code {child.exitcode}"}
    finally:
        if child.is_alive() and not receiver.closed:
            child.join(5)
        if child.is_alive():
            child.kill()
        child.join()
        receiver.close()


def _send(sender: Any, function: Callable[..., Record], args: Sequence[Any]) -> None:
    try:
        record = function(*args)
    except Exception as error:
        record = {"note": f"failed: {type(error).__name__}: {error}".splitlines()[0]}
    sender.send(record)
    sender.close()


# Records


def where(records: Iterable[Record], **conditions: Any) -> list[Record]:
    return [r for r in records if all(r.get(key) == value for key, value in conditions.items())]


def values(records: Iterable[Record], field: str, **conditions: Any) -> list[float]:
    """A field of all records that have it, in their order."""
    return [r[field] for r in where(records, **conditions) if r.get(field) is not None]


def median(records: Iterable[Record], field: str, **conditions: Any) -> float:
    found = values(records, field, **conditions)
    return statistics.median(found) if found else math.nan


def note(records: Iterable[Record], **conditions: Any) -> str:
    """Why there is nothing to show, in a word or two; empty if there is something."""
    notes = {r["note"] for r in where(records, **conditions) if r.get("note")}
    return next((n.split(":")[0] for n in sorted(notes)), "")


def best(scores: dict[str, float], *, rel: float = 1e-3, floor: float = 0.0) -> str:
    """The names with the smallest score; ties within `rel`, or below `floor`, are shared."""
    known = {name: max(score, floor) for name, score in scores.items() if math.isfinite(score)}
    if not known:
        return "-"
    least = min(known.values())
    winners = [name for name, score in known.items() if score <= least * (1 + rel)]
    return " = ".join(winners) if len(winners) < 4 else f"{' = '.join(winners[:2])} and {len(winners) - 2} more"


# The report


class Report:
    """Prints tables and bars as they come, and keeps everything for the JSON document."""

    def __init__(self, settings: Record, packages: Sequence[str]) -> None:
        self.document: Record = {
            "settings": settings,
            "machine": machine(),
            "versions": versions(packages),
            "sections": {},
        }
        self._section: Record = {}
        facts = self.document["machine"]
        shown = ", ".join(f"{name} {version}" for name, version in self.document["versions"].items())
        self.say(f"{facts['processor']}, {facts['cores']} cores, {facts['memory_gb']} GB; Python {facts['python']}")
        self.say(f"{shown}")
        self.say("CPU seconds, one thread; medians over seeds unless said otherwise.")

    def say(self, text: str = "") -> None:
        print(text, flush=True)

    def progress(self, text: str) -> None:
        """One line that is overwritten by the next, for people who watch; nothing in a file."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def section(self, name: str, title: str) -> list[Record]:
        """Begin a part; returns the list that its records go to."""
        self._section = {"title": title, "records": [], "bars": [], "remarks": []}
        self.document["sections"][name] = self._section
        self.say(f"\n{title}\n{'=' * len(title)}")
        return self._section["records"]

    def skip(self, reason: str) -> None:
        self._section["skipped"] = reason
        self.say(f"Skipped: {reason}")

    def remark(self, text: str) -> None:
        self._section["remarks"].append(text)
        self.say(text)

    def table(self, title: str, headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.progress("")
        cells = [[str(h) for h in headers], *([_cell(c) for c in row] for row in rows)]
        widths = [max(len(row[j]) for row in cells) for j in range(len(headers))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
        self.say(f"\n{title}")
        self.say("\n".join([lines[0], "-" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]]))

    def bar(self, what: str, value: float, limit: float, *, at_least: bool = False) -> None:
        """A demand: value <= limit, or value >= limit. A value that is missing misses it."""
        met = not math.isnan(value) and (value >= limit if at_least else value <= limit)
        self._section["bars"].append(
            {"what": what, "value": value, "limit": limit, "at_least": at_least, "met": met},
        )

    def conclude(self) -> None:
        """Print what failed in this part, in full, and its bars."""
        for failure in sorted({f"{r['method']} {r['note']}" for r in self._section["records"] if r.get("note")}):
            self.remark(failure)
        rows = [
            [b["what"], _cell(b["value"]), f"{'>=' if b['at_least'] else '<='} {_cell(b['limit'])}", _verdict(b)]
            for b in self._section["bars"]
        ]
        if rows:
            self.table("Bars", ["what", "value", "limit", ""], rows)

    def finish(self, file: str | None) -> None:
        bars = [(name, b) for name, s in self.document["sections"].items() for b in s["bars"]]
        if bars:
            missed = [f"{name}: {b['what']}" for name, b in bars if not b["met"]]
            self.say(f"\n{len(bars) - len(missed)} of {len(bars)} bars passed." + (" Missed:" if missed else ""))
            for line in missed:
                self.say(f"  {line}")
        if file:
            Path(file).write_text(json.dumps(_plain(self.document), indent=1, allow_nan=False) + "\n")
            self.say(f"Written to {file}.")


def _verdict(bar: Record) -> str:
    return "PASS" if bar["met"] else "MISS"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e6 else f"{value:.3g}"
    return str(value)


def _plain(value: Any) -> Any:
    """What JSON can say: numbers that are not finite become null, NumPy's scalars Python's."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# Facts


def versions(packages: Sequence[str]) -> dict[str, str]:
    found = {}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def machine() -> Record:
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
