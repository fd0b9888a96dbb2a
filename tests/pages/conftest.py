"""A browser for all tests of pages, and the pages they look at; skipped with the reason where there is no browser."""

import os
from pathlib import Path

import pytest

from pages.browser import Browser, found
from pages.making import PAGES, make

BESIDE = Path(__file__).parents[2] / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def browser():
    file = found()
    if file is None:
        pytest.skip("no chromium is installed; `apt-get install chromium`, or FEWATOMS_CHROMIUM names one")
    with Browser(file) as running:
        yield running


@pytest.fixture(scope="session")
def axe():
    """The checks of axe-core, as a script."""
    file = Path(os.environ.get("FEWATOMS_AXE", BESIDE))
    if not file.is_file():
        pytest.skip(f"no axe-core at {file}; `make pages` gets it where npm is installed, or FEWATOMS_AXE names one")
    return file.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """All pages, by name, made once."""
    folder = tmp_path_factory.mktemp("reports")
    for name in PAGES:
        make(name, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in PAGES}


@pytest.fixture
def opened(browser, pages):
    """Opens a page; closed when the test ends."""
    tabs = []

    def open_(name, **words):
        tabs.append(browser.open(pages[name], **words))
        return tabs[-1]

    yield open_
    for tab in tabs:
        tab.close()


@pytest.fixture
def screenshots(tmp_path):
    """Where pictures of pages go: FEWATOMS_SCREENSHOTS keeps them."""
    folder = Path(os.environ.get("FEWATOMS_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
