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
    assert {"choosing the ridge", "sweeping"} <= {row.stage for row in trace.rows}


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


# Bars ----------------------------------------------------------------------------------------------------------------


CURSOR = "\x1b[?25h"  # comes back when rich has ended


class Terminal(io.StringIO):
    """A stream that people look at."""

    def isatty(self):
        return True


@pytest.fixture(params=["rich", "plain"])
def terminal(request, monkeypatch):
    """Standard error becomes a terminal when the test says so (pytest has its own until then), with rich or
    without."""
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    if request.param == "plain":
        monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setenv("COLUMNS", "150")

    def opened():
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return opened


def redirected(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


def test_a_bar_shows_the_run_and_changes_nothing(terminal):
    shown = terminal()
    s = cases()["demixing"].fit(callback=callbacks.Bar("spikes"))
    assert_same_arrays(s.x, answer("demixing").x)
    text = shown.getvalue().removesuffix(CURSOR)
    assert text.endswith("\n")
    for part in ("spikes: ", f"iterate {s.iterations}", "3 atoms", f"misfit {s.misfit:.3g}", "gap 0.25"):
        assert part in text.splitlines()[-1]


def test_a_bar_is_silent_where_nobody_looks(monkeypatch):
    shown = redirected(monkeypatch)
    cases()["nonnegative"].fit(callback=callbacks.Bar())
    assert shown.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)  # as under pythonw
    assert cases()["nonnegative"].fit(callback=callbacks.Bar(always=True)).cardinality == 3


def test_a_bar_that_is_asked_to_leaves_lines_in_a_file(monkeypatch, clock):
    shown, bar = redirected(monkeypatch), callbacks.Bar("log", always=True)

    def slow(progress):
        clock[0] += 4.0

    with bar:
        for _ in range(5):
            cases()["signed"].fit(callback=[bar, slow])  # one call each
    lines = shown.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[1].endswith(", 20 s")
    assert all(line.startswith("log: ") and "\r" not in line for line in lines)
    assert "12 s" in lines[0]  # the first that is told ten seconds after the beginning


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt()], ids=["error", "Ctrl-C"])
def test_a_bar_ends_cleanly_whatever_happens(terminal, error):
    bar, shown = callbacks.Bar(), terminal()

    def fails(progress):
        raise error

    for _ in range(2):  # and serves again
        with pytest.raises(type(error)):
            cases()["nonnegative"].fit(callback=[bar, fails])
        assert shown.getvalue().removesuffix(CURSOR).endswith("\n")
        told = shown.getvalue()
        bar(None)  # nothing is drawn once it has ended
        assert shown.getvalue() == told


def test_several_runs_share_a_bar_that_is_entered(monkeypatch):
    shown = redirected(monkeypatch)
    with callbacks.bar("both", always=True) as show:  # its name before
        for _ in range(2):
            s = cases()["nonnegative"].fit(callback=show)
        assert shown.getvalue() == ""
    assert shown.getvalue().startswith(f"both: iterate {s.iterations}, 3 atoms, misfit ")
    assert shown.getvalue().count("\n") == 1
    with callbacks.Bar("idle", always=True):
        pass
    assert "idle" not in shown.getvalue()  # nothing to say


def test_a_bar_names_the_stage_and_losses_without_misfit(monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    shown = redirected(monkeypatch)

    def stop(progress):
        raise StopIteration

    cases()["completion, auto"].fit(callback=[callbacks.Bar(always=True), stop])
    assert "choosing the ridge" in shown.getvalue()
    cases()["labels"].fit(callback=callbacks.Bar(always=True))
    assert "loss " in shown.getvalue().splitlines()[-1]


# Several at once, in every door --------------------------------------------------------------------------------------


def doors():
    case = cases()["signed"]
    B = np.stack([case.b, case.b[::-1], case.b**2], axis=1)
    one = fa.SignedOneHot(20)
    return {
        "fit": lambda c: fa.fit(case.M, case.b, atoms=one, k=3, callback=c),
        "fit_many": lambda c: fa.fit_many(case.M, B, atoms=one, k=3, callback=c),
        "fit_many, one by one": lambda c: fa.fit_many(case.M, B, atoms=one, k=3, loss=fa.Huber(0.1), callback=c),
        "fit_path": lambda c: fa.fit_path(case.M, case.b, atoms=one, k=[1, 2, 3], callback=c),
        "choose_k": lambda c: fa.choose_k(case.M, case.b, atoms=one, k=[1, 2, 3], callback=c),
        "Path.choose_k": lambda c: fa.fit_path(case.M, case.b, atoms=one, k=[1, 2, 3]).choose_k(callback=c),
    }


@pytest.mark.parametrize("door", doors())
def test_a_list_of_callbacks_in_every_door(door, monkeypatch):
    shown, trace = redirected(monkeypatch), callbacks.Trace()
    doors()[door]([callbacks.Bar(door, always=True), trace, callbacks.Deadline(600)])
    assert len(trace) > 0
    assert shown.getvalue().count("\n") == 1  # one bar for one door
    assert shown.getvalue().startswith(f"{door}: ")


@pytest.mark.parametrize("door", doors())
def test_a_stop_of_one_is_heard_by_all_in_every_door(door):
    before, after = callbacks.Trace(), callbacks.Trace()

    def stop(progress):
        raise StopIteration

    doors()[door]([before, stop, after])
    assert len(before) == len(after) == (2 if door == "choose_k" else 1)  # that is two doors


def test_shares_count_folds_ridges_budgets_and_data_vectors():
    case, one = cases()["signed"], fa.SignedOneHot(20)
    seen = []
    doors()["fit_many, one by one"](seen.append)
    assert {str(p.counts[0]) for p in seen} == {f"data vector {i} of 3" for i in (1, 2, 3)}
    assert [p.share for p in seen] == sorted(p.share for p in seen)
    path = fa.fit_path(case.M, case.b, atoms=one, k=[1, 2], ridge=[0.0, 0.1])
    seen.clear()
    path.choose_k(folds=3, repeats=1, callback=seen.append)
    assert {str(p.counts[0]) for p in seen if p.counts} == {f"fold {i} of 3" for i in (1, 2, 3)}
    assert max(p.share for p in seen if p.counts) < 1.0
    seen.clear()
    entries = cases()["completion"]
    fa.fit_path(entries.M, entries.b, atoms=entries.words["atoms"], k=[1, 2], ridge=0.1, callback=seen.append)
    assert {p.share for p in seen} == {0.0, 0.5}
    seen.clear()
    case.fit(callback=seen.append)
    assert {p.share for p in seen} == {None}


def test_sweeps_over_several_sizes_are_counted(monkeypatch):
    monkeypatch.setattr(ledger, "EVERY", 0.0)
    seen = []
    doors()["fit_path"](seen.append)
    counted = [p.counts[0] for p in seen if p.counts]
    assert {count.what for count in counted} >= {"sweep"}
    assert all(0 <= count.done < count.total for count in counted)
    sweeps = [count.done for count in counted if count.what == "sweep"]
    assert sweeps == sorted(sweeps)


def test_callbacks_in_a_list_are_checked_one_by_one():
    with pytest.raises(TypeError, match=r"^callback must be callable, .* a list of these, .*; got 3$"):
        cases()["signed"].fit(callback=[callbacks.Trace(), 3])
    assert cases()["signed"].fit(callback=[]).cardinality == 3


def test_a_trace_has_arrays():
    trace = callbacks.Trace()
    cases()["nonnegative"].fit(callback=trace)
    for name in ("seconds", "stage", "iteration", "loss", "misfit", "cardinality", "products"):
        assert getattr(trace, name).tolist() == [getattr(row, name) for row in trace.rows]
    assert trace.loss.dtype == trace.seconds.dtype == np.float64
    assert callbacks.Trace().loss.shape == (0,)
