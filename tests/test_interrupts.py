"""Ctrl-C: raised as ever, or the end of a run with the best so far; nothing is left behind."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import ledger, threads
from fewatoms.callbacks import Bar, Deadline
from fewatoms.interrupts import Presses


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    before, descriptor = signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(-1)
    counts = [library.get_num_threads() for library in threads._libraries()]
    yield
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(descriptor) == descriptor
    assert [library.get_num_threads() for library in threads._libraries()] == counts
    assert not threads._Solo.inside


def long(callback):
    """A search that takes many seconds."""
    rng = np.random.default_rng(0)
    M = rng.standard_normal((300, 900))
    b = M[:, :40].sum(axis=1) + 6.0 * rng.standard_normal(300)
    return fa.fit(M, b, atoms=fa.SignedOneHot(900), k=40, effort="thorough", callback=callback)


def pressed(*seconds):
    """Ctrl-C after so many seconds, each in turn."""

    def press():
        for pause in seconds:
            time.sleep(pause)
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def test_ctrl_c_raises_where_nobody_asked_for_an_answer():
    began = time.monotonic()
    pressed(1.0)
    with pytest.raises(KeyboardInterrupt):
        long(Deadline(60.0))
    assert time.monotonic() - began < 20.0


@pytest.mark.parametrize("callback", [Deadline(on_interrupt="answer"), [Bar(), Deadline(60.0, on_interrupt="answer")]])
def test_ctrl_c_ends_a_run_with_the_best_so_far(callback):
    began = time.monotonic()
    pressed(1.0)
    s = long(callback)
    assert time.monotonic() - began < 20.0
    assert s.status is fa.Status.STOPPED
    assert s.cardinality == 40
    assert (callback[1] if isinstance(callback, list) else callback).interrupted


def test_a_second_press_while_the_answer_is_made_ends_it_at_once():
    deadline = Deadline(on_interrupt="answer")

    def twice(progress):
        if deadline.interrupted or progress.cardinality:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        long([twice, deadline, twice])


def test_a_path_is_cut_short_as_by_a_deadline(monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    rng = np.random.default_rng(0)
    M = rng.standard_normal((40, 60))
    b = M[:, :4].sum(axis=1) + rng.standard_normal(40)
    calls = []

    def press(progress):
        calls.append(progress)
        if len(calls) == 20:
            signal.raise_signal(signal.SIGINT)

    deadline = Deadline(on_interrupt="answer")
    path = fa.fit_path(M, b, atoms=fa.SignedOneHot(60), k=range(1, 8), callback=[press, deadline])
    assert deadline.interrupted
    assert any(path[k].status is fa.Status.STOPPED for k in path)


def test_other_threads_hear_no_signals():
    found = []

    def work():
        with Presses() as presses:
            found.append((signal.getsignal(signal.SIGINT), presses.heard))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(before, False)]


def test_a_ctrl_c_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Presses():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_whoever_takes_over_meanwhile_keeps_it():
    before = signal.getsignal(signal.SIGINT)
    try:
        with Presses():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_nested_blocks_are_one():
    with Presses() as presses:
        with presses:
            signal.raise_signal(signal.SIGINT)
        assert presses.heard
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("said", ["stop", None, True])
def test_what_ctrl_c_does_is_one_of_two_things(said):
    with pytest.raises(ValueError, match="on_interrupt must be 'raise' or 'answer'"):
        Deadline(5.0, on_interrupt=said)
