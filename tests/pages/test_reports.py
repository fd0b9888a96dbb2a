"""Reports in a real browser: they load without a complaint, slide, sort and print, by keyboard too, on any screen."""

import json

import numpy as np
import pytest

from fewatoms.report import shell
from pages.making import NASTY, PAGES, large_path

pytestmark = pytest.mark.pages

SCREENS = [(390, "light"), (390, "dark"), (1400, "light"), (1400, "dark")]
# Names and numbers in pictures that meet each other, or reach out of their picture.
MEETING = """[...document.querySelectorAll('svg.chart')].filter(svg => svg.getClientRects().length).flatMap(svg => {
  const all = svg.getBoundingClientRect(), words = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim());
  const boxes = words.map(t => [t.textContent, t.getBoundingClientRect()]);
  const out = boxes.filter(([, a]) => a.left < all.left - 1 || a.right > all.right + 1).map(([t]) => 'out: ' + t);
  return out.concat(boxes.flatMap(([s, a], i) => boxes.slice(i + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3
  ).map(([t]) => s + ' meets ' + t)));
})"""
ROWS = "[...document.querySelector('[data-path] tbody').rows].map(row => [...row.cells].map(cell => cell.textContent))"


@pytest.mark.parametrize("name", PAGES)
def test_pages_load_and_fit_the_screen(name, opened, screenshots):
    for width, scheme in SCREENS:
        page = opened(name, width=width, scheme=scheme)
        assert page.complaints() == []
        wide = page.run("document.documentElement.scrollWidth")
        assert wide <= width
        assert page.run(MEETING) == []
        page.screenshot(screenshots / f"{name}-{width}-{scheme}.png")
    colours = [opened(name, scheme=s).run("getComputedStyle(document.body).backgroundColor") for s in ("light", "dark")]
    assert colours[0] != colours[1]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_has_nothing_to_say(name, scheme, opened, axe):
    for width in (390, 1400):
        page = opened(name, scheme=scheme, width=width)
        page.run(axe + "; 1")
        found = json.loads(page.run("axe.run().then(found => JSON.stringify(found.violations))"))
        assert [(one["id"], one["impact"], one["nodes"][0]["html"][:300]) for one in found] == []


def test_a_large_path_is_small_and_quick(opened, pages):
    assert pages["large path"].stat().st_size < 2_000_000
    page = opened("large path")
    usable = page.run("performance.timing.loadEventEnd - performance.timing.navigationStart")
    slides = page.run(
        "[0, 10, 30, 49, 25].map(at => { const range = document.querySelector('#path-range');"
        "const start = performance.now();"
        "range.value = at; range.dispatchEvent(new Event('input')); document.body.offsetHeight;"
        "return performance.now() - start; })"
    )
    assert 0 < usable < 1000
    assert min(slides) < 100
    assert page.complaints() == []


def told(values):
    return [f"{value:.4g}" for value in values]


def test_the_slider_of_a_path_moves_table_picture_and_figures(opened):
    path, page = large_path(), opened("large path")
    at = path.k.index(path.chosen)
    page.run("document.querySelector('#path-range').focus()")
    marks = "[...document.querySelectorAll('[data-marks]')].map(mark => mark.getAttribute('transform'))"
    before = page.run(marks)
    page.press("ArrowLeft", 37)
    s = path[path.k[at - 1]]
    assert page.run("document.querySelector('#path-range').getAttribute('aria-valuetext')") == f"k = {path.k[at - 1]}"
    assert page.run("document.querySelector('output').textContent") == f"k = {path.k[at - 1]}"
    rows = page.run(ROWS)
    assert [row[0] for row in rows] == s.names.tolist()
    assert [float(row[2]) for row in rows] == pytest.approx(s.coefficients.tolist(), rel=1e-3)
    assert all(row[3].endswith("%") for row in rows)
    assert page.run("document.querySelector('[data-figure=loss]').textContent") == f"{s.loss:.4g}"
    after = page.run(marks)
    assert len(before) == 5
    assert all(a != b for a, b in zip(before, after, strict=True))
    page.press("Home", 36)
    assert len(page.run(ROWS)) == 1
    page.press("End", 35)
    assert len(page.run(ROWS)) == 50
    assert page.complaints() == []


def test_tables_are_sorted_by_the_buttons_in_their_heads(opened):
    page = opened("large path")
    button = "document.querySelectorAll('[data-path] th button')"

    def sizes():
        return [float(row[2]) for row in page.run(ROWS)]

    page.run(f"{button}[1].focus()")
    page.press("Enter", 13, "\r")
    assert sizes() == sorted(sizes(), reverse=True)
    head = "document.querySelectorAll('[data-path] th[data-sort]')[1].getAttribute('aria-sort')"
    assert page.run(head) == "descending"
    page.run(f"{button}[1].click()")
    assert sizes() == sorted(sizes())
    assert page.run(head) == "ascending"
    page.run("document.querySelector('#path-range').focus()")
    page.press("ArrowLeft", 37)  # another k is sorted in the same way
    assert sizes() == sorted(sizes())
    page.run(f"{button}[0].click()")
    names = [row[0] for row in page.run(ROWS)]
    assert names == sorted(names, key=lambda said: [int(word) for word in said.split() if word.isdecimal()])
    assert page.run("document.querySelectorAll('[data-path] th[aria-sort]').length") == 1


def test_the_script_writes_numbers_as_the_page_has_them(opened):
    assert opened("units").run(ROWS) == opened("units", script=False).run(ROWS)


def test_atoms_without_names_are_sorted_by_their_numbers(opened):
    page = opened("units")
    page.run("document.querySelector('#path-range').focus()")
    page.press("End", 35)
    page.run("document.querySelector('[data-path] th button').click()")
    assert [row[0] for row in page.run(ROWS)] == [str(i) for i in range(12)]


def test_frames_have_a_slider(opened):
    page = opened("frames")
    shown = "[...document.querySelectorAll('.step')].map(step => step.hidden)"
    assert page.run(shown) == [False] + [True] * 7
    page.run("document.querySelector('#frames-range').focus()")
    page.press("ArrowRight", 39)
    assert page.run(shown) == [True, False] + [True] * 6
    assert page.run("document.querySelector('#frames-range').getAttribute('aria-valuetext')") == "frame 1"
    assert page.run("[...document.images].every(image => image.complete && image.naturalWidth > 0)")


def test_without_script_everything_can_be_read(opened):
    path, page = large_path(), opened("large path", script=False)
    page.ask("Emulation.setScriptExecutionDisabled", value=False)
    assert page.run("document.querySelector('.slider').hidden")
    rows = page.run(ROWS)
    assert [row[0] for row in rows] == path.best.names.tolist()
    assert [row[2] for row in rows] == told(path.best.coefficients)
    frames = opened("frames", script=False)
    assert not frames.run("[...document.querySelectorAll('.step')].some(step => step.hidden)")


GREYS = """
[...document.querySelectorAll('.step:not([hidden]) img')].map(image => {
  const canvas = document.createElement('canvas'), pen = canvas.getContext('2d');
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  pen.drawImage(image, 0, 0);
  const {data} = pen.getImageData(0, 0, canvas.width, canvas.height);
  return [...data].filter((_, i) => i % 4 < 3);
})
"""


def test_faces_and_their_background_look_alike(opened):
    """In grey, on one scale: what few entries do not explain is nearly the same in both pictures."""
    data, low, few = (np.reshape(one, (-1, 3)).astype(int) for one in opened("faces").run(GREYS))
    for picture in (data, low):
        assert (picture == picture[:, :1]).all()
    assert np.ptp(data) > 100
    assert np.median(np.abs(data - low)) < 5
    assert np.corrcoef(data[:, 0], low[:, 0])[0, 1] > 0.9
    assert (few != few[:, :1]).any()


@pytest.mark.parametrize("width", [390, 1400])
def test_tables_of_the_demo_are_seen_whole(width, opened):
    page = opened("demo", width=width)
    wide = "[...document.querySelectorAll('.wide')].map(box => [box.scrollWidth, box.clientWidth])"
    assert all(inside <= outside for inside, outside in page.run(wide))
    heads = "[...document.querySelectorAll('th')].map(head => head.textContent)"
    assert {"contribution", "cost"} <= set(page.run(heads))


@pytest.mark.parametrize("name", PAGES)
def test_tables_fit_on_paper(name, opened):
    page = opened(name, width=700)  # a sheet between its margins
    page.ask("Emulation.setEmulatedMedia", media="print")
    ends = page.run("[...document.querySelectorAll('table, svg, img')].map(one => one.getBoundingClientRect().right)")
    assert max(ends) <= 700


@pytest.mark.parametrize("name", ["large path", "nasty", "frames", "matrix"])
def test_pages_can_be_printed(name, opened):
    page = opened(name, scheme="dark")
    assert page.pdf().startswith(b"%PDF")
    page.ask("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.run("getComputedStyle(document.querySelector('.wide')).overflowY") == "visible"


@pytest.mark.parametrize("name", ["nasty", "nasty path", "matrix", "many", "predictions", "printed"])
def test_what_users_call_things_does_nothing(name, opened):
    page = opened(name)
    if name == "nasty path":
        page.run("document.querySelector('#path-range').focus()")
        page.press("End", 35)
    assert page.run("window.hit") is None
    assert page.run("document.querySelectorAll('img[src=x]').length") == 0
    assert page.complaints() == []
    if name.startswith("nasty"):
        shown = page.run("[...document.querySelectorAll('tbody bdi')].map(one => one.textContent)")
        assert {shell.cut(called) for called in NASTY} <= set(shown)
        assert max(map(len, shown)) <= shell.LONGEST + 1


def test_the_policy_holds(opened):
    """Whatever came into a page by another way would not run, and nothing could be sent."""
    page = opened("nasty")
    page.run(
        "(() => { const bad = document.createElement('script'); bad.textContent = 'window.hit = 4';"
        "document.body.append(bad); })()"
    )
    assert page.run("window.hit") is None
    assert page.run("fetch('data:,x').then(() => 'sent', () => 'refused')") == "refused"
    assert any("Content Security Policy" in said for said in page.complaints())


def test_the_keyboard_gets_everywhere(opened):
    page = opened("large path")
    page.press("Tab", 9)
    assert page.run("document.activeElement.className") == "skip"
    kinds = set()
    for _ in range(40):
        page.press("Tab", 9)
        kinds.add(page.run("document.activeElement.tagName + (document.activeElement.type ?? '')"))
    assert {"A", "INPUTrange", "BUTTONbutton", "DIV"} <= kinds
    assert page.run("document.querySelectorAll('h1').length") == 1
    assert page.run("document.querySelectorAll('main, header, nav, footer').length") == 4
