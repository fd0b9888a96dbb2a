"""docs/estimators.md runs, and prints what it says."""

from __future__ import annotations

import re

import numpy as np
import pytest

from estimators.test_checks import EXPECTED_FAILURES
from reading import Page

PAGE = Page("docs/estimators.md")


@pytest.fixture(scope="module")
def space():
    return PAGE.run()


def test_the_page_says_what_comes(space):
    assert len(PAGE.blocks) == 4
    assert space["grouped"].solution_.names.tolist() == ["body"]
    assert (space["chosen"].k_, space["chosen"].ridge_) == (2, 0.0)
    assert space["chosen"].scores_.shape == (6, 6)
    assert space["model"].classes_.tolist() == ["ill", "well"]
    assert np.abs(space["coder"].inverse_transform(space["shares"]) - space["scene"]).max() < 1e-8


def test_the_page_lists_what_fails():
    for name, failures in EXPECTED_FAILURES.items():
        assert f"| `{name}` |" in PAGE.text
        assert re.search(rf"\| `{re.escape(name)}` \| \d+ \| {len(failures)} \|", PAGE.text)
        assert all(f"`{check}`" in PAGE.text for check in failures)
        assert len(failures) <= 3
