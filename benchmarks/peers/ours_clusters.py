"""Ourselves on the workers of a local cluster: beside threads of one process, and while workers are killed."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.answers import Ours
from benchmarks.peers.ours_scale import filed

SAME = 1e-9  # relative difference of losses of the same answer


def numbered(problem: Any, **words: Any) -> Path:
    """Files of entries with numbers for ids."""
    return filed(getattr(problem, "problem", problem), text=False)


@contextlib.contextmanager
def local_cluster(workers: int = 2) -> Iterator[Any]:
    """The client of so many processes with one thread each."""
    from distributed import Client, LocalCluster

    told = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 60, "protocol": "tcp://"}
    with LocalCluster(n_workers=workers, **told) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def spent() -> float:
    """CPU seconds of this process and of all that it began and that live."""
    import psutil

    me = psutil.Process()
    return sum(sum(p.cpu_times()[:2]) for p in (me, *me.children(recursive=True)))


@needs("distributed", numbered)
def cluster(problem: Any, ready: Any, *, workers: int = 0, **words: Any) -> Ours:
    """A fit to entries in blocks, by two threads of this process, or by the workers of a cluster."""
    import fewatoms as fa
    from fewatoms.engines import Threads

    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(local_cluster(workers)) if workers else Threads(2)
        M, b = fa.EntryBlocks.of(ready, engine=engine)
        stack.callback(M.close)
        once = {"atoms": fa.RankOne(*M.matrix_shape), **words}
        fa.fit(M, b, k=1, callback=_stop, **once)  # blocks are loaded, and loops compiled
        began, wall = spent(), time.perf_counter()
        s = fa.fit(M, b, k=problem.k, **once)
        facts = {"fit": spent() - began, "wall": time.perf_counter() - wall}
        return Ours(s, {**facts, "iterations": s.iterations, "rank": s.cardinality})


def _stop(intermediate_result: Any) -> None:
    raise StopIteration


class Stepwise:
    """An engine whose passes are timed."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def around(self, engine: Any) -> Any:
        """The same engine."""
        from fewatoms.engines import Engine, Placed

        steps = self.seconds

        class Timed(Placed):
            def __init__(self, inner: Placed) -> None:
                self.inner = inner

            def __len__(self) -> int:
                return len(self.inner)

            def map(self, task: Any, *shared: object, parts: Sequence[object] | None = None) -> Iterator[Any]:
                began = time.perf_counter()
                yield from self.inner.map(task, *shared, parts=parts)
                steps.append(time.perf_counter() - began)

            def sum(self, task: Any, *shared: object, parts: Sequence[object] | None = None) -> Any:
                began = time.perf_counter()
                found = self.inner.sum(task, *shared, parts=parts)
                steps.append(time.perf_counter() - began)
                return found

            def derive(self, task: Any, *shared: object, parts: Sequence[object] | None = None) -> Placed:
                return Timed(self.inner.derive(task, *shared, parts=parts))

            def release(self) -> None:
                self.inner.release()

        class TimedEngine(Engine):
            workers, here = engine.workers, engine.here

            def place(self, *args: Any, **kwargs: Any) -> Placed:
                return Timed(engine.place(*args, **kwargs))

        return TimedEngine()


@needs("distributed", numbered)
def killed(problem: Any, ready: Any, **words: Any) -> dict[str, float]:
    """Fits to entries during each of which a worker is killed at a random moment."""
    import fewatoms as fa

    planted = problem.problem

    def fitted(engine: Any) -> Any:
        M, b = fa.EntryBlocks.of(ready, engine=engine, entries=planted.train.size // 8)
        with M:
            return fa.fit(M, b, atoms=fa.RankOne(*M.matrix_shape), k=planted.k, **words)

    return _killed(fitted, problem.kills)


@needs("distributed")
def killed_rows(problem: Any, ready: Any) -> dict[str, float]:
    """The same of fits to blocks of rows."""
    import fewatoms as fa
    from fewatoms.operators import RowBlocks

    made = problem.problem
    loss = fa.Logistic() if made.classes else fa.LeastSquares()

    def fitted(engine: Any) -> Any:
        M = RowBlocks(made.loaders, made.rows, made.n, engine=engine)
        return fa.fit(M, made.b, atoms=fa.SignedOneHot(made.n), k=made.k, loss=loss)

    return _killed(fitted, problem.kills)


def _killed(fitted: Any, kills: int) -> dict[str, float]:
    """How many answers are right, and how much longer than the middle one the slowest step took. Each kill has workers
    of its own: where a machine is busy, some that are begun again do not come back."""
    from fewatoms.engines import engine_of

    quiet, steps, right, rng = Stepwise(), Stepwise(), 0, np.random.default_rng(0)
    with local_cluster() as client:
        fitted(engine_of(client))  # loops are compiled
        began = time.perf_counter()
        expected = fitted(quiet.around(engine_of(client))).loss
        usual = time.perf_counter() - began
    for _ in range(kills):
        with local_cluster() as client:
            victim = rng.choice(list(client.run(os.getpid).values()))
            timer = threading.Timer(rng.uniform(0.0, usual), os.kill, (int(victim), signal.SIGKILL))
            timer.start()
            try:
                right += abs(fitted(steps.around(engine_of(client))).loss / expected - 1) <= SAME
            finally:
                timer.join()
    each, slowest = steps.seconds or quiet.seconds, max(steps.seconds, default=0.0)
    return {"right": right / max(1, kills), "halt": slowest, "halted": slowest / float(np.median(each))}
