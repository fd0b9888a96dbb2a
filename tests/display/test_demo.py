"""The figure of the demo: a row for each job, with what was found in its titles, in the format of the file's name."""

import pytest

from fewatoms.demo import jobs
from fewatoms.display import demo_figure
from fewatoms.display.demo import DRAWINGS, HEIGHTS

figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")


@pytest.fixture(scope="module")
def results():
    """All jobs, done."""
    return [(job, job.solve(None)) for job in jobs(0)]


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are saved."""
    seen = []
    save = figures.Figure.savefig

    def kept(self, *args, **kwargs):
        seen.append(self)
        return save(self, *args, **kwargs)

    monkeypatch.setattr(figures.Figure, "savefig", kept)
    return seen


def test_there_is_a_drawing_for_every_kind():
    assert {job.kind for job in jobs(0)} == set(DRAWINGS) == set(HEIGHTS)


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_the_name_says_the_format(results, tmp_path, name, start):
    demo_figure(results[-1:], tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_row_for_each_job(results, drawn, tmp_path):
    demo_figure(results, tmp_path / "three.png")
    (figure,) = drawn
    rows = figure.subfigs
    assert len(rows) == len(results) == 3
    for row, (job, _) in zip(rows, results, strict=True):
        assert row.get_suptitle() == f"{job.title}: {job.asked}"
    features, months, ink = rows
    (_, s), (table, filled), (_, parts) = results
    assert [t.get_text() for t in features.axes[0].get_yticklabels()] == list(s.names)
    assert f"{table.data.error(table.data.filled(filled)):.2f} °C" in months.axes[2].get_title()
    assert str(len(parts.parts[1].indices)) in ink.axes[2].get_title()
    assert [len(axis.images) for axis in ink.axes] == [1, 1, 1]
