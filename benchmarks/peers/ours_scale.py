"""Ourselves where data are larger than memory."""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Ours

LOOK = 0.005  # seconds between two looks at the memory
FILES = 4


@contextlib.contextmanager
def anonymous() -> Iterator[dict[str, float]]:
    """How many megabytes of memory that is no page of a file are there beyond those at the start, at most."""
    found, over = {"anonymous": 0.0}, threading.Event()
    began = _anonymous()

    def look() -> None:
        while not over.wait(LOOK):
            found["anonymous"] = max(found["anonymous"], _anonymous() - began)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield found
    finally:
        over.set()
        watcher.join()


def _anonymous() -> float:
    told = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(told[1]) / 1024 if told else float("nan")


def filed(problem: Any, *, text: bool = True, **words: Any) -> Path:
    """The entries in Parquet files, in any order, with text or numbers for ids."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    e, folder = problem.train, Path(tempfile.mkdtemp(prefix="bench-"))
    weakref.finalize(problem, shutil.rmtree, folder, ignore_errors=True)
    order = np.random.default_rng(0).permutation(e.values.size)
    for i, some in enumerate(np.array_split(order, FILES)):
        codes = e.rows[some], e.cols[some]
        ids = (
            [np.char.add(x, np.char.zfill(c.astype(str), 9)) for x, c in zip("ui", codes, strict=True)]
            if text
            else codes
        )
        table = pa.table({**dict(zip(("user", "item"), ids, strict=True)), "value": e.values[some]})
        parquet.write_table(table, folder / f"{i}.parquet")
    return folder


@needs("pyarrow", filed)
def blocks(problem: Any, ready: Path, **words: Any) -> Ours:
    """Files read into blocks on disk, and a fit to these."""
    import fewatoms as fa

    with anonymous() as memory:
        began = time.process_time()
        M, b = fa.EntryBlocks.of(ready, engine="threads")
        read = time.process_time()
        s = fa.fit(M, b, atoms=fa.RankOne(*M.matrix_shape), k=problem.k, **words)
        ended = time.process_time()
    facts = {"read": 1e6 * (read - began) / M.shape[0], "fit": ended - read, **memory}
    M.close()
    return Ours(s, {**facts, "iterations": s.iterations, "rank": s.cardinality})


@needs("fewatoms")
def memory(problem: Any, ready: Any, **words: Any) -> Ours:
    """The same entries in memory, the operator included."""
    import fewatoms as fa

    e = problem.train
    with anonymous() as held:
        began = time.process_time()
        s = fa.fit(fa.Sampling(e.rows, e.cols, e.shape), e.values, atoms=fa.RankOne(*e.shape), k=problem.k, **words)
        fit = time.process_time() - began
    return Ours(s, {"fit": fit, **held, "iterations": s.iterations, "rank": s.cardinality})
