"""Who works, and when that changes: with a compiler that is not there, so that nothing depends on it."""

import json
import logging
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from fewatoms.gram import build, disk, drivers, engine, who
from fewatoms.gram.who import Crew, NotKept
from gram.instances import instance, rules


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(who, "time", SimpleNamespace(perf_counter=lambda: self.now, monotonic=lambda: self.now))

    def work(self, seconds):
        def twin(*args):
            self.now += seconds
            return ("twin", *args)

        return twin


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.delenv(who.VARIABLE, raising=False)
    return Clock(monkeypatch)


@pytest.fixture
def shelf(monkeypatch):
    """What is on disk, and what is asked of whom."""
    seen = SimpleNamespace(has=set(), looks=0, builders=0, loads=0)

    def has(search):
        seen.looks += 1
        return search in seen.has

    def left_to_build():
        seen.builders += 1
        return SimpleNamespace(poll=lambda: None)

    def load(crew):
        seen.loads += 1
        crew.kernels = SimpleNamespace(sweep=lambda *args: ("kernel", *args), search=refused)

    def refused(*args):
        raise NotKept("of another kind")

    monkeypatch.setattr(disk, "has", has)
    monkeypatch.setattr(who, "_left_to_build", left_to_build)
    monkeypatch.setattr(Crew, "load", load)
    return seen


def test_work_that_is_to_come_counts(clock, shelf):
    crew = Crew()
    shelf.has = {"sweep"}
    crew.call("sweep", clock.work(0.1), ())
    crew.expect("sweep", 0.3)
    assert shelf.looks == 0
    crew.expect("sweep", 0.5)
    assert shelf.loads == 1
    assert crew.call("sweep", clock.work(0.1), (1,)) == ("kernel", 1)
    crew.expect("sweep", 5.0)
    assert (shelf.loads, shelf.looks) == (1, 1)


def test_little_work_is_done_as_it_stands(clock, shelf):
    crew = Crew()
    shelf.has = {"sweep"}
    for _ in range(4):
        assert crew.call("sweep", clock.work(0.124), (1, 2)) == ("twin", 1, 2)
    assert shelf.looks == 0
    assert crew.seconds == pytest.approx(0.496)


def test_half_a_second_of_work_loads_what_is_there(clock, shelf):
    crew = Crew()
    shelf.has = {"sweep"}
    for _ in range(5):
        assert crew.call("sweep", clock.work(0.124), (1,)) == ("twin", 1)
    assert crew.call("sweep", clock.work(0.124), (1,)) == ("kernel", 1)
    assert (shelf.loads, shelf.builders) == (1, 0)


def test_if_nothing_is_there_somebody_makes_it_and_one_looks_again(clock, shelf):
    crew = Crew()
    for _ in range(20):  # two seconds
        crew.call("sweep", clock.work(0.1), ())
    assert (shelf.builders, shelf.looks) == (1, 1)
    for _ in range(40):  # every three seconds, no oftener
        crew.call("sweep", clock.work(0.1), ())
    assert (shelf.builders, shelf.looks) == (1, 2)
    shelf.has = {"sweep"}
    for _ in range(31):
        crew.call("sweep", clock.work(0.1), ())
    assert crew.call("sweep", clock.work(0.1), ()) == ("kernel",)
    assert shelf.builders == 1


def test_arguments_that_no_machine_code_is_for(clock, shelf):
    """The search as it stands, and no second try for a while."""
    crew = Crew()
    shelf.has = {"sweep"}
    crew.call("sweep", clock.work(1.0), ())
    tries = []

    def search(*args):
        tries.append(clock.now)
        raise NotKept("of another kind")

    crew.kernels.search = search
    for _ in range(10):
        assert crew.call("search", clock.work(0.5), (3,)) == ("twin", 3)
    assert np.diff(tries).min() >= who.LOOK
    assert len(tries) == 2
    assert crew.call("sweep", clock.work(0.1), ()) == ("kernel",)  # others are not hindered


def test_errors_of_the_search_are_those_of_the_search(clock, shelf):
    crew = Crew()

    def wrong(*args):
        clock.now += 1.0
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        crew.call("sweep", wrong, ())
    assert crew.seconds == 1.0


def test_the_variable_forbids_it(clock, shelf, monkeypatch):
    monkeypatch.setenv(who.VARIABLE, "off")
    crew = Crew()
    shelf.has = {"sweep"}
    for _ in range(3):
        assert crew.call("sweep", clock.work(1.0), ()) == ("twin",)
    assert (shelf.looks, shelf.loads, shelf.builders) == (0, 0, 0)


@pytest.mark.parametrize(("word", "said"), [("", "auto"), ("auto", "auto"), ("off", "off")])
def test_what_the_variable_may_say(word, said, monkeypatch):
    monkeypatch.setenv(who.VARIABLE, word)
    assert who.told() == said
    assert engine() is who.ENTRIES


def test_what_the_variable_may_not_say(monkeypatch):
    monkeypatch.setenv(who.VARIABLE, "never")
    with pytest.raises(ValueError, match="FEWATOMS_KERNELS must be auto or off; got never"):
        engine()


def test_a_compiler_that_fails_is_asked_once(clock, shelf, monkeypatch, caplog):
    def broken(crew):
        shelf.loads += 1
        raise ImportError("numba needs another NumPy")

    monkeypatch.setattr(Crew, "load", broken)
    shelf.has = {"sweep"}
    crew = Crew()
    with caplog.at_level(logging.INFO, "fewatoms"):
        for _ in range(20):
            assert crew.call("sweep", clock.work(1.0), ()) == ("twin",)
    assert shelf.loads == 1
    assert caplog.messages == ["searches are not compiled: numba needs another NumPy"]


def test_somebody_is_forced(clock, shelf):
    crew = Crew()
    crew.forced = "twins"
    shelf.has = {"sweep"}
    for _ in range(3):
        assert crew.call("sweep", clock.work(1.0), ()) == ("twin",)
    assert shelf.loads == 0
    crew.load()
    assert crew.call("sweep", clock.work(1.0), ()) == ("twin",)
    crew.forced = "kernels"
    assert crew.call("sweep", clock.work(1.0), ()) == ("kernel",)
    with pytest.raises(NotKept):
        crew.call("search", clock.work(1.0), ())


def test_the_end_of_force(monkeypatch):
    monkeypatch.setattr(who.CREW, "load", lambda: None)
    monkeypatch.setattr(build, "now", lambda *searches: None)
    assert who.CREW.forced is None
    with who.working("twins"):
        assert who.CREW.forced == "twins"
        with who.working("kernels"):
            assert who.CREW.forced == "kernels"
        with pytest.raises(KeyError), who.working("kernels"):
            raise KeyError
        assert who.CREW.forced == "twins"
    assert who.CREW.forced is None


def test_threads_do_not_wait_for_each_other(shelf, monkeypatch):
    """One thread loads, the others go on as before; all change over."""
    monkeypatch.delenv(who.VARIABLE, raising=False)
    crew, loading, go_on = Crew(), threading.Event(), threading.Event()
    shelf.has = {"sweep"}

    def load(crew):
        loading.set()
        assert go_on.wait(10)
        crew.kernels = SimpleNamespace(sweep=lambda: "kernel")

    monkeypatch.setattr(Crew, "load", load)
    crew.seconds = who.WORTH
    thread = threading.Thread(target=lambda: crew.call("sweep", lambda: "twin", ()))
    thread.start()
    assert loading.wait(10)
    assert [crew.call("sweep", lambda: "twin", ()) for _ in range(5)] == ["twin"] * 5
    go_on.set()
    thread.join()
    assert crew.call("sweep", lambda: "twin", ()) == "kernel"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_while_another_thread_is_loading(shelf):
    crew = Crew()
    crew._lock.acquire()
    crew._builder = object()
    crew.after_fork()
    assert crew._lock.acquire(blocking=False)
    assert crew._builder is None


# The builder ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Commands that would have been run, and their surroundings."""
    found = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(who, "_Left", lambda command, **words: found.append((command, words)) or "builder")
    disk.folder.cache_clear()
    yield found
    disk.folder.cache_clear()


def test_the_builder_is_started_once(started):
    assert who._left_to_build() == "builder"
    assert who._left_to_build() is None  # the lock is there
    ((command, words),) = started
    assert command[:4] == [sys.executable, "-P", "-m", "fewatoms.gram.build"]
    assert os.path.exists(command[4])
    assert words["stdout"] == words["stderr"] == words["stdin"] == subprocess.DEVNULL
    assert words["env"]["PYTHONPATH"].split(os.pathsep)[0] == str(disk.HERE.parent.parent)


@pytest.mark.parametrize("program", ["", "/opt/app/server", "/usr/bin/uwsgi"])
def test_only_interpreters_build(program, started, monkeypatch):
    monkeypatch.setattr(sys, "executable", program)
    assert who._left_to_build() is None
    assert started == []


def test_frozen_programs_do_not_build(started, monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert who._left_to_build() is None
    assert started == []


def test_a_builder_that_cannot_start_leaves_no_lock(started, monkeypatch):
    def fails(command, **words):
        raise OSError("no more processes")

    monkeypatch.setattr(who, "_Left", fails)
    with pytest.raises(OSError, match="no more processes"):
        who._left_to_build()
    assert disk.claim("later") is not None


ALONE = """
import json, sys, time
import numpy as np
from fewatoms.gram import engine, who
from fewatoms.gram.drivers import Rules
from fewatoms.gram.state import blank

rng = np.random.default_rng(0)
M = rng.standard_normal((30, 40))
G, h, n, k = M.T @ M / 30, M.T @ rng.standard_normal(30), 40, 4
flags = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)


def sweep():
    s, spare = (blank(G, h, 40.0, k, *flags) for _ in range(2))
    table, losses = np.full((k + 1, k), -1), np.full(k + 1, np.inf)
    engine().sweep(G, h, 40.0, s, spare, table, losses, 1, k, -1.0, Rules(True, 1e-9, 1, 0, 0, 0.0, 0))
    return losses[1:].tolist()


who.WORTH = 0.0
first = sweep()
before = "numba" in sys.modules
for _ in range(3):
    last = sweep()
print(json.dumps([first, last, before, who.CREW.kernels is not None]))
"""


def alone(**surroundings):
    environment = {**{k: v for k, v in os.environ.items() if k != who.VARIABLE}, **surroundings}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_where_nothing_can_be_written_all_stays_as_it_is():
    first, last, _, changed = alone(NUMBA_CACHE_DIR=os.devnull)
    assert not changed
    assert first == last


def test_the_variable_keeps_the_compiler_out(tmp_path):
    first, last, numba, changed = alone(NUMBA_CACHE_DIR=str(tmp_path), FEWATOMS_KERNELS="off")
    assert not numba
    assert not changed
    assert first == last
    assert list(tmp_path.iterdir()) == []


def test_a_process_changes_over_to_what_is_there():
    """Machine code that `test_compiled.py` needs as well."""
    build.now("ladder", "sweep")
    first, last, _, changed = alone()
    assert changed
    np.testing.assert_allclose(last, first, rtol=1e-10)


@pytest.mark.soak
def test_machine_code_is_made_in_the_background(tmp_path):
    *_, changed = alone(NUMBA_CACHE_DIR=str(tmp_path))
    assert not changed
    for _ in range(600):
        if list(tmp_path.rglob("search-blocks")):
            break
        time.sleep(1)
    first, last, _, changed = alone(NUMBA_CACHE_DIR=str(tmp_path))
    assert changed
    np.testing.assert_allclose(last, first, rtol=1e-10)
    for _ in range(100):
        if not list(tmp_path.rglob("*.later")):
            break
        time.sleep(0.1)
    assert not list(tmp_path.rglob("*.later"))


def test_entries_are_those_that_stand():
    p = instance("gaussian")
    results = []
    for hand in (engine(), drivers):
        s, spare = p.state(3), p.state(3)
        table, losses = np.full((4, 3), -1), np.full(4, np.inf)
        hand.sweep(p.G, p.h, p.bb, s, spare, table, losses, 1, 3, -1.0, rules())
        results.append(losses)
    np.testing.assert_allclose(*results, rtol=1e-10)
