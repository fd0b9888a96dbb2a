"""Every Python block of every page runs, without a warning."""

import numpy as np
import pytest

import fewatoms as fa
from prove import compiled
from reading import ROOT, Page

# Pages with tests of their own, which run their blocks and look at what they give.
ELSEWHERE = {"docs/tour.md", "docs/estimators.md", "docs/matrices.md", "docs/files.md"}
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts
)
WITH_BLOCKS = [name for name in PAGES if Page(name).blocks]


def test_there_are_pages():
    assert len(PAGES) >= 25
    assert set(WITH_BLOCKS) >= ELSEWHERE


@pytest.mark.parametrize("name", [name for name in WITH_BLOCKS if name not in ELSEWHERE])
def test_blocks_run(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # nothing is written beside the sources
    fa.fit(np.eye(3), [1.0, 0.0, 2.0], atoms=fa.SignedOneHot(3), k=1).save(
        "answer.npz"
    )  # a file, for pages that read one
    if name == "docs/proven.md":
        compiled.make()
    Page(name).run()
    assert "print(" not in Page(name).text or capsys.readouterr().out


@pytest.mark.parametrize("name", PAGES)
def test_all_blocks_are_seen(name):
    """A fence with other words beside `python` would not be run, and nobody would tell."""
    text = Page(name).text
    assert text.count("```python") == len(Page(name).blocks)
    assert "```py\n" not in text
    assert "```pycon" not in text
    assert "```ipython" not in text
