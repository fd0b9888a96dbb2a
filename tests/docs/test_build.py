"""The pages are built, in a quick form, without a warning, and ask nothing of other machines."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from reading import ROOT

pytest.importorskip("sphinx_gallery", reason="Sphinx is not installed: pip install '.[docs]'")


@pytest.mark.parametrize("form", ["quick", pytest.param("whole", marks=pytest.mark.soak)])
def test_pages(form, tmp_path):
    """One test for a form, so that workers do not build the same pages twice."""
    out = built(form, tmp_path)
    check_all_are_there(out, form)
    read = {path: Asked(path.read_text(encoding="utf-8")) for path in out.rglob("*.html")}
    check_no_network_is_needed(out, read)
    check_links_lead_somewhere(read)
    check_links_to_scripts_lead_to_their_pages(out, read)
    check_formulas_are_drawn_by_the_browser(out)


def built(form, folder):
    """All pages from a copy of the sources, the scripts of the gallery shown but not run. The quick form has no API:
    its tables and pages take most of the time, and test_api.py looks at what they are made of."""
    copied(folder, without_api=form == "quick")
    out = folder / "html"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "sphinx_gallery_conf.plot_gallery=0"]
    done = subprocess.run([*command, "docs", str(out)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert not done.stderr
    return out


def copied(folder, without_api):
    """What a build reads, without what others have left there."""
    made = {"docs/_build", "docs/auto_gallery", "docs/api/generated"}
    for path in [*(ROOT / "docs").rglob("*"), ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]:
        name = path.relative_to(ROOT)
        if path.is_file() and not any(name.as_posix().startswith(f"{each}/") for each in made):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(path.read_bytes())
    if without_api:
        for page in (folder / "docs" / "api").glob("*.rst"):
            text = page.read_text(encoding="utf-8")
            page.write_text(re.sub(r"\.\. autosummary::\n(?:\n|   .*\n)*", "", text), encoding="utf-8")
    (folder / "src").symlink_to(ROOT / "src")


class Asked(HTMLParser):
    """What a browser would fetch for a page, and where its links lead."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.links, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        told = dict(attrs)
        self.ids.add(told.get("id"))
        if tag == "a":
            self.links.append(told.get("href") or "")
        elif tag in ("script", "img", "iframe", "source"):
            self.fetched.append(told.get("src") or "")
        elif tag == "link" and told.get("rel") in ("stylesheet", "preload", "icon"):
            self.fetched.append(told.get("href") or "")


def check_all_are_there(built, form):
    pages = {path.relative_to(built).as_posix() for path in built.rglob("*.html")}
    for name in ("index", "tour", "choosing", "theory", "faq", "guides/own", "api/display"):
        assert f"{name}.html" in pages
    assert ("api/generated/fewatoms.fit.html" in pages) == (form == "whole")
    scripts = list((ROOT / "docs" / "gallery").glob("plot_*.py"))
    assert len(scripts) >= 12
    assert {f"auto_gallery/{path.stem}.html" for path in scripts} <= pages


def check_no_network_is_needed(built, read):
    for path, page in read.items():
        for address in page.fetched:
            assert "//" not in address.split("?")[0], f"{path.name} fetches {address}"
    for path in (built / "_static").rglob("*.css"):
        assert not re.search(r"@import\s+(url\()?[\"']?https?:", path.read_text(encoding="utf-8")), path.name


def check_links_lead_somewhere(read):
    """Those within the pages, and within one of them."""
    for path, page in read.items():
        for link in page.links:
            if "//" in link or link.startswith("mailto:") or link in ("", "#"):  # "#": the top of the page
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            assert target.exists(), f"{path.name} links to {link}"
            if anchor and target in read:
                assert anchor in read[target].ids, f"{path.name} links to {link}"


def check_formulas_are_drawn_by_the_browser(built):
    theory = (built / "theory.html").read_text(encoding="utf-8")
    assert theory.count("<math") > 50
    assert "MathJax" not in theory


def check_links_to_scripts_lead_to_their_pages(built, read):
    assert "../auto_gallery/plot_ratings.html" in read[built / "guides" / "completion.html"].links
    assert "auto_gallery/index.html" in read[built / "tour.html"].links
