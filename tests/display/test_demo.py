"""The figure of the demo: a panel for each job, with what was found in its title, in the format of the file's name."""

import pytest

from fewatoms.demo import jobs
from fewatoms.display import demo_figure
from fewatoms.display.demo import DRAWINGS

figures = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")


@pytest.fixture(scope="module")
def results():
    """Two quick jobs, solved."""
    chosen = [job for job in jobs(0) if job.kind in ("spectrum", "phases")]
    return [(job, job.solve(None)) for job in chosen]


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
    assert {job.kind for job in jobs(0)} == set(DRAWINGS)


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_the_name_says_the_format(results, tmp_path, name, start):
    demo_figure(results[-1:], tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_panel_for_each_job_and_the_rest_empty(results, drawn, tmp_path):
    demo_figure(results, tmp_path / "two.png")
    (figure,) = drawn
    panels = figure.axes
    assert [axis.axison for axis in panels] == [True, True, False]
    for axis, (job, solution) in zip(panels, results, strict=False):
        title = axis.get_title()
        assert title.startswith(job.title)
        words = "1 atom," if solution.cardinality == 1 else f"{solution.cardinality} atoms,"
        assert f"\n{words} misfit {solution.misfit:.1e}" in title
        assert axis.lines
