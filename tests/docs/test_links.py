"""Every link of a page leads to a file, and every anchor to a heading."""

import importlib.util
import re
from pathlib import Path

import pytest

from reading import ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")] + sorted(
    path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts
)
LINK = re.compile(r"(?<!`)\[[^]]*\]\(([^)\s]+)\)")
MADE = "auto_gallery"  # by the build, from the scripts of the gallery: outside of built pages there is nothing


def links(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    return [link for link in LINK.findall(text) if "://" not in link]


def anchors(path):
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def leads_to(page: Path, link: str) -> Path:
    return (page.parent / link.split("#")[0]).resolve() if link.split("#")[0] else page


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for link in links(page):
        assert MADE not in link, f"{page.name} links to {link}, which is not there before a build: link to the script"
        target = leads_to(page, link)
        assert target.exists(), f"{page.name} links to {link}, which is not there"
        if "#" in link:
            assert link.split("#")[1] in anchors(target), f"{page.name} links to {link}, and there is no such heading"


def test_links_are_found():
    assert sum(len(links(page)) for page in PAGES) > 60


def extension(name):
    """A module of docs/_ext, imported as it stands."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "_ext" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_built_pages_lead_from_scripts_to_their_pages():
    resolved = extension("gallery_links").resolved
    assert resolved("[a](gallery/plot_phases.py)") == "[a](auto_gallery/plot_phases.rst)"
    assert resolved("[a](../gallery/plot_phases.py)") == "[a](../auto_gallery/plot_phases.rst)"
    assert (
        resolved("[all](gallery), [b](examples/own_set.py)")
        == "[all](auto_gallery/index.rst), [b](examples/own_set.py)"
    )
    to_scripts = [link for page in PAGES for link in links(page) if "gallery/plot_" in link]
    assert len(to_scripts) >= 15
    assert all(MADE in resolved(f"[x]({link})") for link in to_scripts if not link.startswith("docs/"))


def test_pages_are_in_the_contents():
    """Each page is named in a toctree, so that readers come to it."""
    named = set()
    for page in (ROOT / "docs").rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S):
            entries = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
            entries = [re.sub(r".*<(.+)>", r"\1", entry) for entry in entries]  # Title <page>
            named |= {(page.parent / entry).resolve() for entry in entries}
    for page in (ROOT / "docs").rglob("*.md"):
        if "_build" not in page.parts and page.name != "index.md":
            assert page.with_suffix("") in named, f"{page.name} is in no toctree"
