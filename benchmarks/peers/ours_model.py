"""What passes over blocks cost, by kind: constants of this machine, on threads and on workers of a local cluster; what
the formula makes of them beside whole fits on a network that is played; and what it says of larger ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks.peers import needs
from benchmarks.peers.ours_blocks import least
from benchmarks.peers.ours_clusters import Stepwise, local_cluster, numbered
from benchmarks.problems import blocks
from benchmarks.simulated import Network, Pass, Simulated

LONG = 1 << 23  # numbers of the vector by which the wire is measured
RANKS = (10, 50)
BLOCK = 128e6  # bytes of a block on larger clusters
LATENCY, WIRE = 5e-4, 1e9  # of a network within one room: the only figures here that are not measured
SIDE = 10_000.0  # entries of each line of a matrix, in the middle, on larger clusters


@needs("fewatoms")
def constants(problem: Any, ready: Any, *, workers: int = 0) -> dict[str, float]:
    """On so many workers, or one thread of this process; and the wall seconds of a whole fit over those predicted."""
    with _engine(workers) as engine:
        found = _passes_of(problem, engine)
        if not workers:
            return {**found, **{f"entry{k}": 1e9 * _entry(k) for k in RANKS}}
        net = _network(workers, engine, found)
        steps = Stepwise()
        _logistic(problem, steps.around(engine))
        steps.seconds.clear()
        _logistic(problem, steps.around(engine))
    alone = Simulated(net)
    _logistic(problem, alone)
    return {**found, "wire": net.wire / 1e9, "over_model": sum(steps.seconds) / alone.predicted()}


@contextmanager
def _engine(workers: int) -> Iterator[Any]:
    from fewatoms.engines import engine_of

    if not workers:
        yield engine_of("serial")
        return
    with local_cluster(workers) as client:
        yield engine_of(client)


def _passes_of(problem: Any, engine: Any) -> dict[str, float]:
    from fewatoms.methods.tall import sums
    from fewatoms.operators import RowBlocks

    M = RowBlocks(problem.loaders, problem.rows, problem.n, engine=engine, keep=True)
    y, width, numbers = np.asarray(problem.b, dtype=np.float64), problem.n + 1, float(M.shape[0]) * problem.n
    clock = time.thread_time if engine.here else time.perf_counter
    stream = least(partial(M.adjoint, y), clock=clock)
    gram = least(partial(M.over_rows, sums.gram, parts=(y, None, None)), clock=clock)
    few, many = (_idle(engine, count) for count in (2, 102))
    task = (many - few) / 100
    return {
        "stream": 8e-9 * numbers / stream, "flops": 2e-9 * M.shape[0] * width**2 / gram,
        "trip": 1e3 * max(0.0, few - 2 * task), "task": 1e3 * task,
    }  # fmt: skip


def _idle(engine: Any, count: int, *shared: object, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of a sum over so many blocks of nothing."""
    placed = engine.place([nothing] * count, keep=True)
    return least(partial(placed.sum, counted, *shared), clock=clock)


def nothing() -> int:
    """Importable by workers."""
    return 0


def counted(block: int, *_: object) -> int:
    return 1


def _network(workers: int, engine: Any, found: dict[str, float]) -> Network:
    """As the formula would have it: ways of a sum over two blocks, and a long vector that everybody needs."""
    ways = 8 if workers == 1 else 10
    moved = max(1e-3, _idle(engine, 2 * workers, np.zeros(LONG)) - 1e-3 * found["trip"])
    return Network(workers, 1e-3 * found["trip"] / ways, 8.0 * LONG * workers / moved, 1e-3 * found["task"] / 2)


def _logistic(problem: Any, engine: Any) -> None:
    import fewatoms as fa
    from fewatoms.operators import RowBlocks

    M = RowBlocks(problem.loaders, problem.rows, problem.n, engine=engine)
    fa.fit(M, problem.b > 0, atoms=fa.SignedOneHot(problem.n), k=problem.k, loss=fa.Logistic())


@lru_cache
def _entry(k: int) -> float:
    """CPU seconds of one thread for an entry in one order of a sweep."""
    from fewatoms.entered import stored
    from fewatoms.sides import NONE

    lines, each, others = 2000, 500, 20_000
    rng = np.random.default_rng(0)
    starts = np.arange(lines + 1, dtype=np.int64) * each
    places = np.sort(rng.integers(others, size=(lines, each)), axis=1).ravel().astype(np.int32)
    block = stored.Stored(0, starts, places, rng.standard_normal(places.size).astype(np.float32))
    call = partial(stored.solved, block, stored.Values(), rng.standard_normal((others, k)), NONE, np.ones(k))
    return least(call, clock=time.thread_time) / places.size


# On a network that is played ------------------------------------------------------------------------------------------


def filed(problem: Any, **words: Any) -> Any:
    return numbered(problem.planted)


@needs("pyarrow", filed)
def played(problem: Any, ready: Any, *, task: float = 1e-3) -> dict[str, float]:
    """Seconds of whole fits on a network, and by the formula."""
    import fewatoms as fa
    from fewatoms.operators import RowBlocks

    found: dict[str, float] = {}
    for name in ("tall", "long", "planted"):
        engine = Simulated(Network(**problem.network, task=task))
        if name == "planted":
            M, b = fa.EntryBlocks.of(ready, engine=engine, entries=problem.planted.train.size // 30)
            engine.passes.clear()
            engine.clock = 0.0
            with M:
                fa.fit(M, b, atoms=fa.RankOne(*M.matrix_shape), k=problem.planted.k, ridge=1.0)
        else:
            made = getattr(problem, name)
            M = RowBlocks(made.loaders, made.rows, made.n, engine=engine)
            fa.fit(M, made.b, atoms=fa.SignedOneHot(made.n), k=made.k, loss=fa.Logistic())
        found |= {f"{name}_played": engine.clock, f"{name}_off": abs(engine.predicted() / engine.clock - 1)}
    return found


# On larger ones -------------------------------------------------------------------------------------------------------


@needs("fewatoms")
def larger(problem: Any, ready: Any, *, workers: int, entries: float, n: int = 1000) -> dict[str, float]:
    """By the formula, with what this machine does in one thread and what its scheduler takes for a task."""
    one, task = _alone()
    net, found = Network(workers, LATENCY, WIRE, task), {}
    m, count = entries / n, max(workers, round(8 * entries / BLOCK))
    streamed, flops = 8 * entries / one["stream"] / 1e9, 2 * m * (n + 1) ** 2 / one["flops"] / 1e9
    for name, work, back in (("look", streamed, 8 * n), ("newton", streamed + flops, 8 * (n + 1) ** 2)):
        found[name] = Pass(True, 8 * m, 0.0, 0.0, back, [work / count] * count).predicted(net)
    count = max(4 * workers, round(entries / 2**21))
    for k in RANKS:
        lines = entries / SIDE
        half = Pass(
            False, 8 * k * lines, 8 * k * lines, 0.0, 8 * k * lines / count, [_entry(k) * entries / count] * count
        )
        found[f"sweep{k}"] = 2 * half.predicted(net)
    return found


@lru_cache(maxsize=1)
def _alone() -> tuple[dict[str, float], float]:
    problem = blocks.tall(100_000, 200, 5, False, 0, 25_000)
    with _engine(0) as engine:
        one = _passes_of(problem, engine)
    with _engine(1) as engine:
        few, many = (_idle(engine, count, clock=time.process_time) for count in (2, 102))
    return one, (many - few) / 200  # scheduler and client are in this process; a sum has two tasks for each block
