"""Pages link to the scripts of the gallery, which are there on a disk and where the repository is browsed. In built
pages these links lead to the pages that are made of the scripts."""

from __future__ import annotations

import re

SCRIPT = re.compile(r"\]\(((?:\.\./)*)gallery/(\w+)\.py\)")
FOLDER = re.compile(r"\]\(((?:\.\./)*)gallery/?\)")


def resolved(text: str) -> str:
    """A page with its links to scripts as links to their pages, and those to the folder as links to all of them."""
    return FOLDER.sub(r"](\1auto_gallery/index.rst)", SCRIPT.sub(r"](\1auto_gallery/\2.rst)", text))


def read(app, docname, source):
    source[0] = resolved(source[0])


def setup(app):
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
