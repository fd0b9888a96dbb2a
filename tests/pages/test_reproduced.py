"""The page of `fewatoms reproduce` in a real browser: landmarks, tables that fit, figures that can be read, print."""

import json

import numpy as np
import pytest

from fewatoms.reproduce import sparco, writing
from fewatoms.reproduce.contract import Experiment, Findings, Settings, nobody
from fewatoms.reproduce.theory import cone_and_span, partial_svd
from fewatoms.reproduce.writing import Done

pytestmark = pytest.mark.pages


def tables():
    """Those of the Sparco problems, which are the widest, with counts that are not run for."""
    cases = [sparco.Case(name, np.zeros((1024, 2048)), np.ones(1024), 113, True) for name in sparco.published.sparco()]
    runs = [
        sparco.Run(case.name, who, 113, 113, 10_000, 19_654, 1.2345e-3, True)
        for case in cases
        for who in ("SPGL1", "paper", "fewatoms, k told", "fewatoms")
    ]
    return sparco._problems(cases), sparco._counts(cases, runs), sparco._ours(cases, runs), sparco._runs(runs)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    done = [
        Done(one, one.run(Settings(quick=True), nobody()), 1.0)
        for one in (partial_svd.experiment, cone_and_span.experiment)
    ]
    about = Experiment("sparco", "Sparco problems", "Five problems.", lambda settings, listener: None)
    folder = tmp_path_factory.mktemp("reproduced") / "out"
    writing.write(folder, Settings(quick=True), [*done, Done(about, Findings(tables()), 1.0)])
    return folder / "index.html"


@pytest.fixture
def opened(browser, file):
    tabs = []

    def open_(**words):
        tabs.append(browser.open(file, **words))
        return tabs[-1]

    yield open_
    for tab in tabs:
        tab.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1400, "light")])
def test_it_loads_and_fits_the_screen(width, scheme, opened, screenshots):
    page = opened(width=width, scheme=scheme)
    assert page.complaints() == []
    assert page.run("document.documentElement.scrollWidth") <= width
    page.screenshot(screenshots / f"reproduced-{width}-{scheme}.png")


def test_tables_are_not_cut_on_a_wide_screen(opened):
    cut = "[...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert opened(width=1200).run(cut) == 0


def test_figures_keep_their_size_on_a_small_screen(opened):
    page = opened(width=390)
    widths = page.run("[...document.images].map(image => [image.clientWidth, +image.getAttribute('width')])")
    assert widths
    assert all(shown == own for shown, own in widths)


def test_everything_lies_in_a_landmark(opened):
    page = opened()
    assert page.run("document.querySelectorAll('main').length") == 1
    assert page.run("[...document.body.children].map(one => one.tagName)") == ["HEADER", "NAV", "MAIN", "FOOTER"]


def test_axe_has_nothing_to_say(opened, axe):
    for width in (390, 1400):
        page = opened(width=width)
        page.run(axe + "; 1")
        found = json.loads(page.run("axe.run().then(found => JSON.stringify(found.violations))"))
        assert [(one["id"], one["nodes"][0]["html"][:300]) for one in found] == []


def test_it_prints_without_cutting(opened):
    page = opened(width=720, scheme="dark")  # about what is left of a sheet of A4
    assert page.pdf().startswith(b"%PDF")
    page.ask("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    wide = "[...document.querySelectorAll('table, img')].map(one => one.getBoundingClientRect().right)"
    assert max(page.run(wide)) <= 721
