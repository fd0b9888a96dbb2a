"""Ourselves over blocks of rows: fits, and single passes beside a plain sum of the file."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Support

LOOKED = 0.005  # seconds between two looks at the memory
IN_TURN = 5  # rounds of everything that is compared: others use the machine too
CHUNK = 64  # rows summed at a time by what passes are compared with


@dataclass
class Own:
    """The largest memory of its own beyond the first, in bytes."""

    extra: int = 0


def _own() -> int:
    return 1024 * int(re.findall(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[0])


@contextlib.contextmanager
def watched() -> Iterator[Own]:
    """Look at the memory that is nobody's file, again and again; Linux only."""
    found, ended, before = Own(), threading.Event(), _own()

    def look() -> None:
        while not ended.wait(LOOKED):
            found.extra = max(found.extra, _own() - before)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield found
    finally:
        ended.set()
        watcher.join()


@needs("fewatoms")
def mapped(problem: Any, ready: Any, *, kind: str = "double", in_memory: bool = False) -> Support:
    """The file in blocks, or read as a whole (which is part of its memory)."""
    import fewatoms as fa
    from fewatoms.operators import RowBlocks

    with watched() as own:
        M = np.load(problem.name()) if in_memory else RowBlocks.of(problem.name(kind))
        s = fa.fit(M, problem.b, atoms=fa.SignedOneHot(M.shape[1]), k=problem.k)
    told = {"passes": s.passes, "products": s.products, "own": own.extra / 1e6}
    return Support.of(s.indices, s.coefficients, unit=False, **told)


@needs("fewatoms")
def made(problem: Any, ready: Any) -> Support:
    """Blocks of loaders; what making them costs is measured apart, and taken off."""
    import fewatoms as fa
    from fewatoms.operators import RowBlocks

    began = time.process_time()
    for load in problem.loaders:
        load()
    making = time.process_time() - began
    loss = fa.Logistic() if problem.classes else fa.LeastSquares()
    began = time.process_time()
    with watched() as own:
        M = RowBlocks(problem.loaders, problem.rows, problem.n)
        s = fa.fit(M, problem.b, atoms=fa.SignedOneHot(problem.n), k=problem.k, loss=loss)
    taken = time.process_time() - began - s.passes * making
    told = {"loss": s.loss, "passes": s.passes, "own": own.extra / 1e6, "row": 1e6 * taken / M.shape[0]}
    return Support.of(s.indices, s.coefficients, unit=False, **told)


def least(call: Callable[[], Any], times: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of the quickest of some calls, after one."""
    call()
    seconds = []
    for _ in range(times):
        began = clock()
        call()
        seconds.append(clock() - began)
    return min(seconds)


def _steps(M: Any, y: Any) -> dict[str, Callable[[], Any]]:
    from fewatoms.operators import passes

    x = np.linspace(-1.0, 1.0, M.shape[1])
    return {
        "forward": partial(M.apply, x),
        "adjoint": partial(M.adjoint, y),
        "survey": partial(M.over_rows, passes.surveyed, parts=(y, None)),
    }


@needs("fewatoms")
def passes(problem: Any, ready: Any) -> dict[str, float]:
    """Each kind of pass over the mapped file beside a sum of the same file in chunks: CPU seconds of one thread."""
    from fewatoms.engines import Serial
    from fewatoms.operators import RowBlocks

    A = problem.M
    calls = {("sum", ""): lambda: sum(float(A[i : i + CHUNK].sum()) for i in range(0, len(A), CHUNK))}
    for kind in ("double", "single"):
        steps = _steps(RowBlocks.of(problem.name(kind), engine=Serial()), problem.b)
        calls |= {(kind, name): step for name, step in steps.items()}
    seconds = dict.fromkeys(calls, np.inf)
    for _ in range(IN_TURN):
        for key, call in calls.items():
            seconds[key] = min(seconds[key], least(call, 1, time.thread_time))
    double, single = ({key[1]: s for key, s in seconds.items() if key[0] == kind} for kind in ("double", "single"))
    found = {name: spent / seconds["sum", ""] for name, spent in double.items()}
    return {**found, "single": sum(single.values()) / sum(double.values())}
