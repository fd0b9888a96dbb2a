"""Every link of a page leads to a file, and every anchor to a heading."""

import re
from pathlib import Path

import pytest

from reading import ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")] + sorted(
    path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts
)
LINK = re.compile(r"(?<!`)\[[^]]*\]\(([^)\s]+)\)")
MADE = "auto_gallery"  # by the build, from the scripts of the gallery


def links(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    return [link for link in LINK.findall(text) if "://" not in link]


def anchors(path):
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def leads_to(page: Path, link: str) -> Path:
    target = (page.parent / link.split("#")[0]).resolve() if link.split("#")[0] else page
    if MADE not in target.parts:
        return target
    gallery = ROOT / "docs" / "gallery"
    return gallery if target.stem == "index" else gallery / f"{target.stem}.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for link in links(page):
        target = leads_to(page, link)
        assert target.exists(), f"{page.name} links to {link}, which is not there"
        if "#" in link:
            assert link.split("#")[1] in anchors(target), f"{page.name} links to {link}, and there is no such heading"


def test_links_are_found():
    assert sum(len(links(page)) for page in PAGES) > 60


def test_pages_are_in_the_contents():
    """Each page is named in a toctree, so that readers come to it."""
    named = set()
    for page in (ROOT / "docs").rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S):
            entries = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
            named |= {(page.parent / entry).resolve() for entry in entries}
    for page in (ROOT / "docs").rglob("*.md"):
        if "_build" not in page.parts and page.name != "index.md":
            assert page.with_suffix("") in named, f"{page.name} is in no toctree"
