"""The README is short, runs, and leads to pages that are there."""

import re

import numpy as np

from reading import ROOT, Page

README = Page("README.md")


def test_what_it_shows_runs():
    s = README.run(watched="s")["answers"][0]
    assert s.success
    assert s.indices.tolist() == [50, 3, 200]
    np.testing.assert_allclose(s.coefficients, [-2.0, 1.0, 0.5], atol=1e-9)


def test_all_blocks_are_tested():
    assert len(README.blocks) == 1


def test_the_two_commands_stand_at_the_top():
    head = README.text.splitlines()[:5]
    assert any("make demo" in line for line in head)
    assert any("make test" in line for line in head)


def test_it_is_short_with_one_figure_and_one_table():
    assert len(README.text.splitlines()) <= 90
    figures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README.text)
    assert len(figures) == 1
    assert (ROOT / figures[0]).stat().st_size < 200_000
    begin, end = (README.text.index(f"<!-- results:{edge} -->") for edge in ("begin", "end"))
    assert begin < end
