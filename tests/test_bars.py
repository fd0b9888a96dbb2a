"""Lines and times of bars; how they are drawn is tested with the callbacks that draw them."""

import io

import pytest

from answers import cases
from fewatoms import bars


def test_the_time_left_is_told_where_the_whole_is_known():
    left = bars.Left()
    assert [left.at(now, share) for now, share in ((0.0, 0.0), (10.0, 0.25), (20.0, 0.5))] == [None, 30.0, 20.0]
    assert left.at(25.0, 0.0) is None  # another count
    assert left.at(30.0, 0.5) == 5.0
    assert left.at(31.0, None) is None
    assert [bars.duration(t) for t in (0.04, 9.9, 59, 61, 3720)] == ["0.0 s", "9.9 s", "59 s", "1:01 min", "1:02 h"]


def seen(name):
    found = []
    cases()[name].fit(callback=found.append)
    return found


def test_a_line_is_wiped_before_a_shorter_one_is_written(monkeypatch):
    stream, (first, *_) = io.StringIO(), seen("demixing")
    line = bars.Line("run", stream, 0.0, "\r", "")
    monkeypatch.setattr(bars, "told", lambda progress: progress)
    for text in ("a long one", "short"):
        line._write(text, "", "")
    _, long, short = stream.getvalue().split("\r")
    assert len(long) == len(short)
    assert short.rstrip().startswith("run: short, ")
    assert first.share is None


def test_what_is_told_costs_nothing():
    case = cases()["signed"]
    last = seen("signed")[-1]
    assert "gap" not in bars.told(last)  # it would take a product
    assert "gap" not in vars(last)
    s = case.fit(callback=bars.told)
    assert s.products == case.fit().products


@pytest.mark.parametrize(("name", "fits"), [("signed", "misfit "), ("labels", "loss ")])
def test_misfits_are_told_where_they_mean_something(name, fits):
    last = seen(name)[-1]
    assert bars.told(last).split(", ")[-1].startswith(fits)
    assert bars.told(last).startswith(f"iterate {last.iteration}, ")
