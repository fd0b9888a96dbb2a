"""docs/estimators.md runs, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from estimators.test_checks import EXPECTED_FAILURES

PAGE = (Path(__file__).parents[2] / "docs" / "estimators.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)


@pytest.fixture(scope="module")
def space():
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "docs/estimators.md", "exec"), names)
    return names


def test_the_page_says_what_comes(space):
    assert len(BLOCKS) == 4
    assert space["grouped"].solution_.names.tolist() == ["body"]
    assert (space["chosen"].k_, space["chosen"].ridge_) == (2, 0.0)
    assert space["chosen"].scores_.shape == (6, 6)
    assert space["model"].classes_.tolist() == ["ill", "well"]
    assert np.abs(space["coder"].inverse_transform(space["shares"]) - space["scene"]).max() < 1e-8


def test_the_page_lists_what_fails():
    for name, failures in EXPECTED_FAILURES.items():
        assert f"| `{name}` |" in PAGE
        assert re.search(rf"\| `{re.escape(name)}` \| \d+ \| {len(failures)} \|", PAGE)
        assert all(f"`{check}`" in PAGE for check in failures)
        assert len(failures) <= 3
