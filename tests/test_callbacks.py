"""Deadlines, traces, bars, and several callbacks together."""

import builtins
import io
import sys

import numpy as np
import pytest

import fewatoms as fa
from answers import answer, assert_same_arrays, cases
from fewatoms import callbacks, ledger


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when the test says so."""
    now = [100.0]
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("name", ["cap", "completion, auto", "robust", "psd", "huber"])
def test_a_deadline_ends_the_run_with_the_best_so_far(name, clock, monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    deadline, seen = callbacks.Deadline(5.0), []

    def callback(progress):
        seen.append(progress)
        clock[0] += 1.0
        deadline(progress)

    s = cases()[name].fit(callback=callback)
    assert len(seen) == 6  # the first call begins it
    assert s.status is fa.Status.STOPPED
    assert s.products <= answer(name).products


def test_a_deadline_that_is_not_reached_changes_nothing():
    s = cases()["signed"].fit(callback=callbacks.Deadline(3600.0))
    assert s.status is answer("signed").status
    assert_same_arrays(s.x, answer("signed").x)


def test_no_time_at_all_stops_at_the_first_call():
    s = cases()["nonnegative"].fit(callback=callbacks.Deadline(0.0))
    assert (s.status, s.iterations) == (fa.Status.STOPPED, 1)


@pytest.mark.parametrize("seconds", [-1.0, np.nan, np.inf, "soon", None])
def test_deadlines_are_numbers(seconds):
    with pytest.raises((TypeError, ValueError), match=r"^seconds must be a nonnegative finite number"):
        callbacks.Deadline(seconds)


def test_a_trace_keeps_a_row_for_every_call(clock):
    trace = callbacks.Trace()

    def callback(progress):
        trace(progress)
        clock[0] += 0.5

    s = cases()["nonnegative"].fit(callback=callback)
    assert len(trace) == len(trace.rows) == s.iterations
    assert [row.iteration for row in trace.rows] == list(range(1, s.iterations + 1))
    assert [row.seconds for row in trace.rows] == [0.5 * i for i in range(s.iterations)]
    losses, products = [row.loss for row in trace.rows], [row.products for row in trace.rows]
    assert losses == sorted(losses, reverse=True)  # the best so far
    assert products == sorted(products)
    assert s.loss <= losses[-1] * (1 + 1e-12)
    assert products[-1] <= s.products
    last = trace.rows[-1]
    assert last.cardinality <= 3
    assert last.misfit >= s.misfit * (1 - 1e-9)
    assert last.stage == ""


def test_a_trace_names_what_the_run_is_doing(monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    trace = callbacks.Trace()
    cases()["completion, auto"].fit(callback=trace)
    assert {"choosing the ridge", ""} <= {row.stage for row in trace.rows}


def test_together_all_are_called_before_one_ends_the_run():
    traces = callbacks.Trace(), callbacks.Trace()

    def stops(progress):
        raise StopIteration

    s = cases()["nonnegative"].fit(callback=callbacks.Together(traces[0], stops, traces[1]))
    assert s.status is fa.Status.STOPPED
    assert (len(traces[0]), len(traces[1])) == (1, 1)

    def fails(progress):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        cases()["nonnegative"].fit(callback=callbacks.Together(fails, traces[0]))


def test_a_bar_shows_the_run_and_changes_nothing(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with callbacks.bar("spikes") as show:
        s = cases()["nonnegative"].fit(callback=show)
    assert_same_arrays(s.x, answer("nonnegative").x)
    assert "spikes: " in shown.getvalue()
    assert f"iterate {s.iterations}" in shown.getvalue()


def test_without_rich_there_is_one_line_at_the_end(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with callbacks.bar() as show:
        s = cases()["nonnegative"].fit(callback=show)
        assert shown.getvalue() == ""
    line = shown.getvalue()
    assert line.count("\n") == 1
    assert line.startswith(f"fit: iterate {s.iterations}, 3 atoms, loss ")
    with callbacks.bar("idle"):
        pass
    assert shown.getvalue() == line  # nothing to say


def test_a_bar_names_the_stage(monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)

    def stop(progress):
        raise StopIteration

    with callbacks.bar() as show:
        cases()["completion, auto"].fit(callback=callbacks.Together(show, stop))
    assert "choosing the ridge" in shown.getvalue()
