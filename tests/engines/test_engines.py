"""Engines: the same results from all, in the same order, summed in the same shape."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

from fewatoms import ledger
from fewatoms.engines import Engine, Serial, Terms, Threads, engine_of, summed

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fewatoms[dask]'")
ROWS = 50


def block(seed, rows=ROWS):
    return np.random.default_rng(seed).standard_normal((rows, 7))


def broken(seed):
    raise OSError(f"file {seed} is gone")


def products(A, y, x):
    return Terms((A.T @ (y - A @ x), float(y @ y)))


def lengths(A):
    return len(A)


def row_sums(A, weights):
    return A @ weights


def first_row(A):
    return A[0]


def fails(A, bad):
    if A[0, 0] == bad:
        raise ZeroDivisionError("nothing to divide by")
    return 1


def slow_sum(A, long):
    time.sleep(0.05)
    return A.sum(axis=0) + long[:7]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=60, protocol="tcp://"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["serial", "threads", "dask"])
def engine(request):
    return engine_of(request.getfixturevalue("client") if request.param == "dask" else request.param)


def loaders(count):
    return [partial(block, seed, ROWS + seed % 3) for seed in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_all_engines_agree(engine, count):
    there, plain = engine.place(loaders(count)), [load() for load in loaders(count)]
    rng = np.random.default_rng(3)
    ys, x = [rng.standard_normal(len(A)) for A in plain], rng.standard_normal(7)
    assert len(there) == count
    assert list(there.map(lengths)) == [len(A) for A in plain]
    total, square = there.sum(products, x, parts=ys)
    mine = summed(products(A, y, x) for A, y in zip(plain, ys, strict=True))
    np.testing.assert_allclose(total, mine[0], rtol=1e-13, atol=1e-13)  # BLAS minds how arrays lie in memory
    assert square == pytest.approx(mine[1], rel=1e-15)
    stacked = np.concatenate(plain)
    np.testing.assert_allclose(total, stacked.T @ (np.concatenate(ys) - stacked @ x), rtol=1e-12, atol=1e-12)


def test_derived_blocks_stay(engine):
    there = engine.place(loaders(4))
    seen = there.derive(row_sums, np.arange(7.0))
    expected = [load() @ np.arange(7.0) for load in loaders(4)]
    for got, want in zip(seen.map(np.copy), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-14)
    there.release()
    np.testing.assert_allclose(next(seen.map(np.copy)), expected[0], rtol=1e-14, atol=1e-14)


def test_long_vectors_go_along(engine):
    long = np.random.default_rng(0).standard_normal(100_000)
    there = engine.place(loaders(3))
    before = long.copy()
    expected = summed(slow_sum(load(), long) for load in loaders(3))
    np.testing.assert_array_equal(there.sum(slow_sum, long), expected)
    assert np.array_equal(long, before)


def test_errors_name_the_block(engine):
    there = engine.place(loaders(4))
    bad = float(block(2, ROWS + 2)[0, 0])
    with pytest.raises(ZeroDivisionError, match="nothing to divide by") as caught:
        list(there.map(fails, bad))
    assert "block 2" in " ".join(caught.value.__notes__)
    with pytest.raises(OSError, match="file 1 is gone") as caught:
        list(engine.place([partial(block, 0), partial(broken, 1)]).map(lengths))
    assert "block 1" in " ".join(caught.value.__notes__)
    assert list(there.map(lengths)) == [50, 51, 52, 50]  # and life goes on


def test_parts_are_one_for_each_block(engine):
    with pytest.raises(ValueError, match="parts must be one for each of 2 blocks; got 1"):
        list(engine.place(loaders(2)).map(row_sums, parts=[np.ones(7)]))


def test_sums_of_trees():
    rng = np.random.default_rng(0)
    for count in range(20):
        numbers = [rng.standard_normal(3) for _ in range(count)]
        kept = [a.copy() for a in numbers]
        total = summed(iter([a.copy() for a in numbers]))
        assert total is None if not count else np.allclose(total, sum(numbers))
        assert all(np.array_equal(a, b) for a, b in zip(numbers, kept, strict=True))
    assert summed([1, 2, 3, 4]) == 10


def test_a_stop_ends_a_pass(engine):
    """The clock is heard between blocks, and while one is waited for."""
    there, heard = engine.place(loaders(6), keep=True), []

    def hear():
        heard.append(1)
        if len(heard) == 2:
            raise ledger.Stopped

    def passes():
        with ledger.opened(hear=hear) as account:
            for _ in range(100):
                account._last = 0.0
                there.sum(slow_sum, np.zeros(7))

    with pytest.raises(ledger.Stopped):
        passes()
    assert len(heard) == 2
    assert list(there.map(lengths)) == [len(load()) for load in loaders(6)]


def test_blocks_are_kept_or_loaded_again():
    count = []

    def counted(seed):
        count.append(seed)
        return block(seed)

    for engine in (Serial(), Threads(2)):
        for keep, times in ((True, 3), (False, 6)):
            count.clear()
            there = engine.place([partial(counted, seed) for seed in range(3)], keep=keep)
            list(there.map(lengths))
            list(there.map(lengths))
            assert len(count) == times


def test_threads_do_not_hold_all_results():
    """A pass over many blocks keeps a few results at a time."""
    alive, most, lock = [0], [0], threading.Lock()

    class Result:
        def __init__(self):
            with lock:
                alive[0] += 1
                most[0] = max(most[0], alive[0])

        def __del__(self):
            with lock:
                alive[0] -= 1

        def __add__(self, other):
            return Result()

    there = Threads(2).place([partial(block, 0)] * 200)
    there.sum(lambda A: Result())
    assert most[0] < 25


@pytest.mark.parametrize("when", [0.0, 0.2, 0.5])
def test_a_worker_that_dies_is_replaced(client, when):
    engine = engine_of(client)
    there = engine.place(loaders(6))
    long = np.random.default_rng(0).standard_normal(100_000)
    expected = summed(slow_sum(load(), long) for load in loaders(6))
    derived = there.derive(row_sums, np.arange(7.0))
    victims = list(client.run(os.getpid).values())
    threading.Timer(when, os.kill, (victims[0], signal.SIGKILL)).start()
    for _ in range(6):
        assert np.array_equal(there.sum(slow_sum, long), expected)
    again = next(derived.map(np.copy))
    np.testing.assert_allclose(again, loaders(1)[0]() @ np.arange(7.0), rtol=1e-14, atol=1e-14)
    client.wait_for_workers(2, timeout=30)


def slow_there(A, long, victim):
    """One of the workers takes a hundred times as long as the others."""
    time.sleep(0.5 if os.getpid() == victim else 0.005)
    return A.sum(axis=0) + long[:7]


def test_a_slow_worker_changes_nothing_but_the_time(client):
    there, long = engine_of(client).place(loaders(6)), np.zeros(100_000)
    list(there.map(lengths))
    expected = summed(slow_there(load(), long, 0) for load in loaders(6))
    slow = next(iter(client.run(os.getpid).values()))
    for _ in range(2):
        np.testing.assert_allclose(there.sum(slow_there, long, slow), expected, rtol=1e-13, atol=1e-13)


tries = []


def at_last(seed, failures):
    """A loader that fails so many times where it runs."""
    tries.append(seed)
    if len(tries) <= failures:
        raise OSError("the network is away")
    return block(seed)


def test_loaders_that_fail_now_and_then_are_tried_again(client):
    client.run(tries.clear)
    there = engine_of(client).place([partial(at_last, 0, 1)])
    np.testing.assert_array_equal(next(there.map(np.copy)), block(0))
    client.run(tries.clear)
    with pytest.raises(OSError, match="the network is away") as caught:
        list(engine_of(client).place([partial(at_last, 0, 99)]).map(lengths))
    assert "block 0 was loaded" in " ".join(caught.value.__notes__)


@pytest.mark.parametrize("when", [pytest.param(None, marks=pytest.mark.soak), 0.1])
def test_a_scheduler_that_is_restarted_is_asked_for_blocks_again(client, when):
    """Before a pass, or in the middle of one: it has forgotten blocks, what was derived of them, and all work."""
    there, long = engine_of(client).place(loaders(6)), np.random.default_rng(0).standard_normal(100_000)
    expected = summed(slow_sum(load(), long) for load in loaders(6))
    derived = there.derive(row_sums, np.arange(7.0))
    alone = engine_of(client).place(loaders(2)).derive(row_sums, np.arange(7.0))
    list(alone.map(np.copy))
    thread = threading.Thread(target=client.restart)
    if when is not None:
        threading.Timer(when, thread.start).start()
    else:
        thread.run()
    for _ in range(4):
        np.testing.assert_allclose(there.sum(slow_sum, long), expected, rtol=1e-13, atol=1e-13)
    if when is not None:
        thread.join()
    for seen in (derived, alone):
        again = next(seen.map(np.copy))
        np.testing.assert_allclose(again, loaders(1)[0]() @ np.arange(7.0), rtol=1e-14, atol=1e-14)
    there.release()
    np.testing.assert_array_equal(next(derived.map(np.copy)), next(alone.map(np.copy)))
    client.wait_for_workers(2, timeout=60)


def _started(what, *words):
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{what}", *words, "--no-dashboard"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip


@pytest.mark.soak
def test_a_scheduler_that_dies_and_comes_back(tmp_path):
    """At the same address, with other workers."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"

    def cluster():
        started = [_started("scheduler", "--host", "127.0.0.1", "--port", str(port))]
        words = ("--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path))
        return started + [_started("worker", address, *words) for _ in range(2)]

    def down(processes):
        for process in processes:
            process.kill()
            process.wait()

    running = cluster()
    try:
        with distributed.Client(address, timeout="120s", set_as_default=False) as own:
            own.wait_for_workers(2, timeout=120)
            there = engine_of(own).place([partial(np.full, (3, 7), float(seed)) for seed in range(4)])
            expected = there.sum(np.sum)
            assert expected == 126.0
            for _ in range(2):
                down(running)
                running = cluster()
                assert there.sum(np.sum) == expected
    finally:
        down(running)


def offset_sum(A, part, long):
    return A.sum(axis=0) + part[:7] + long[:7]


def test_all_long_vectors_of_a_pass_go_on_one_way(client, monkeypatch):
    """A way there and back for each block would take as long as the pass."""
    rng = np.random.default_rng(0)
    parts, long = [rng.standard_normal(size) for size in (100_000, 7, 50_000)], rng.standard_normal(60_000)
    there, ways, scatter = engine_of(client).place(loaders(3)), [], client.scatter
    monkeypatch.setattr(client, "scatter", lambda things, **how: ways.append(len(things)) or scatter(things, **how))
    expected = summed(offset_sum(load(), part, long) for load, part in zip(loaders(3), parts, strict=True))
    np.testing.assert_array_equal(there.sum(offset_sum, long, parts=parts), expected)
    assert ways == [3]
    assert np.array_equal(there.sum(offset_sum, long[:9], parts=[part[:9] for part in parts]), expected)
    assert ways == [3]


# Which engine is meant ------------------------------------------------------------------------------------------------


def test_engines_by_name(client):
    assert isinstance(engine_of("serial"), Serial)
    assert isinstance(engine_of("threads"), Threads)
    assert engine_of(Threads(3)).workers == 3
    assert isinstance(engine_of(None), Threads)  # the client of these tests is nobody's default
    assert engine_of(client).workers == 2
    assert isinstance(engine_of(client), Engine)
    with client.as_current():
        assert engine_of(None).workers == 2
    assert engine_of(client.scheduler.address).workers == 2


def test_what_is_no_engine_is_refused(monkeypatch):
    monkeypatch.setattr("fewatoms.engines.dasked.ANSWERED", "1s")
    for bad in ("dask", 3, "10.0.0.1"):
        with pytest.raises(TypeError, match=f"engine must be .*got {bad!r}"):
            engine_of(bad)
    with pytest.raises(ValueError, match="workers must be"):
        Threads(0)
    with pytest.raises(ConnectionError, match="nobody answers"):
        engine_of("tcp://127.0.0.1:9")


def lingering(A, seconds):
    time.sleep(seconds)
    return A[0].copy()


def test_a_client_that_is_closed(client):
    """A pass that is on its way, and those that come after it, say so."""
    own = distributed.Client(client.scheduler.address, set_as_default=False)
    there = engine_of(own).place(loaders(4))
    list(there.map(lengths))
    threading.Timer(0.2, own.close).start()
    with pytest.raises(ConnectionError, match="client that is open; this one is clos"):
        there.sum(lingering, 2.0)
    for step in (
        lambda: list(there.map(lengths)),
        lambda: there.derive(lingering, 0.0),
        lambda: engine_of(own).place([]),
    ):
        with pytest.raises(ConnectionError, match="client that is open"):
            step()


def test_a_stop_is_heard_while_workers_are_slow(client):
    there = engine_of(client).place(loaders(2))
    list(there.map(lengths))
    began = time.perf_counter()
    with pytest.raises(ledger.Stopped):
        heard(there)
    assert time.perf_counter() - began < 1.5


def heard(there):
    with ledger.opened(hear=stop) as account:
        account._last = 0.0
        there.sum(lingering, 3.0)


def stop():
    raise ledger.Stopped


made = []


def remembered(seed):
    made.append(seed)
    return block(seed)


def forgotten():
    made.clear()


def told_of(A):
    return list(made)


def test_blocks_are_made_once_where_they_live(client):
    client.run(forgotten)
    there = engine_of(client).place([partial(remembered, seed) for seed in range(4)])
    for _ in range(5):
        list(there.map(lengths))
    assert sorted(seed for seeds in client.run(told_of, None).values() for seed in seeds) == [0, 1, 2, 3]
    assert not made
