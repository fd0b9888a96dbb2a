"""What is kept, written and said where Ctrl-C or a deadline ends the work."""

import signal
import time
from pathlib import Path

import numpy as np
import pytest

import fewatoms as fa
from fewatoms import cli, interrupts
from fewatoms.cli import session as sessions
from fewatoms.cli.session import Session


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sessions, "SECOND_PRESS", 0.0)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 30))
    np.savez("data.npz", X=X, y=X[:, :5] @ np.arange(1.0, 6.0) + 0.1 * rng.standard_normal(60))


def stopping(monkeypatch, when):
    look = Session._look

    def pressed(session, progress):
        if not session.interrupted and when(progress):
            signal.raise_signal(signal.SIGINT)
        look(session, progress)

    monkeypatch.setattr(Session, "_look", pressed)


def folds(progress):
    return [count.what for count in progress.counts if count.what == "fold"]


def test_before_any_fold_is_done_k_is_not_said_to_be_chosen_by_rows_left_out(monkeypatch, capsys):
    stopping(monkeypatch, folds)
    assert cli.main(["fit", "data.npz", "-k", "1:10", "--out", "model.npz"]) == 130
    text = capsys.readouterr().out
    assert "k was not chosen by rows left out" in text
    assert "the lowest BIC" in text
    assert "score (bic)" in text
    assert "(5 folds)" not in text
    assert fa.load("model.npz").cardinality >= 5


def test_where_nothing_was_found_nothing_is_written(monkeypatch, capsys):
    monkeypatch.setattr("fewatoms.methods.listed.searching.Search.so_far", lambda *_: None)
    monkeypatch.setattr("fewatoms.run.Way.stopped", property(lambda way: True))
    monkeypatch.setattr(Session, "cut_short", property(lambda session: "the deadline came first"))
    assert cli.main(["fit", "data.npz", "-k", "1:10", "--out", "model.npz"]) == 1
    error = capsys.readouterr().err
    assert error == "fewatoms fit: the deadline came first before anything was found; nothing was written\n"
    assert not Path("model.npz").exists()


def test_two_presses_during_one_long_step_are_two(monkeypatch, capsys):
    """Python calls a handler once for both."""
    calls = iter([2])
    monkeypatch.setattr(interrupts, "_counted", lambda: _told(calls))
    monkeypatch.setattr(Session, "_look", lambda session, progress: signal.raise_signal(signal.SIGINT))
    assert cli.main(["fit", "data.npz", "-k", "3", "--out", "model.npz"]) == 130
    assert "nothing was written" in capsys.readouterr().err
    assert not Path("model.npz").exists()


class _told:
    """A count of presses that somebody else has made."""

    def __init__(self, calls):
        self.calls = calls

    def __enter__(self):
        return lambda: next(self.calls, 0)

    def __exit__(self, *_):
        return None


def test_presses_are_counted_by_the_descriptor():
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with interrupts._counted() as presses:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            assert presses() == 2
            assert presses() == 0
    finally:
        signal.signal(signal.SIGINT, before)
    assert signal.set_wakeup_fd(-1) == -1


def test_a_second_press_shortly_after_the_work_is_heard_before_anything_is_written(monkeypatch, capsys):
    monkeypatch.setattr(sessions, "SECOND_PRESS", 30.0)
    stopping(monkeypatch, lambda progress: progress.cardinality)
    sleep = time.sleep

    def slept(seconds):
        signal.raise_signal(signal.SIGINT)
        sleep(seconds)

    monkeypatch.setattr(sessions.time, "sleep", slept)
    assert cli.main(["fit", "data.npz", "-k", "3", "--out", "model.npz"]) == 130
    assert "nothing was written" in capsys.readouterr().err
    assert not Path("model.npz").exists()
