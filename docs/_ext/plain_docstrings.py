"""Docstrings as they are written here, plain text that a terminal shows, become reStructuredText.

`name` is code; `*`, `|` and a last `_` are letters of formulas (M*y, |b - Mx|, coef_); a list of lines `name : what it
is`, outside of numpydoc's sections, is a list of definitions.
"""

from __future__ import annotations

import re

HEAD = re.compile(r"^(?P<names>[A-Za-z_][\w.*, ]{0,60}?) : (?P<text>.+)$")
CODE = re.compile(r"(``.+?``|`[^`\n]+`)")
LETTERS = re.compile(r"(\*|\||(?<=\w)_(?!\w))")
SECTION = re.compile(r"^-{3,}\s*$")


def escaped(line: str) -> str:
    """A line with code marked as such, and formulas left alone."""
    parts = CODE.split(line)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = "``" + part.strip("`") + "``"
        else:
            parts[i] = LETTERS.sub(r"\\\1", part).replace("`", r"\`")
    return "".join(parts)


def defined(lines: list[str]) -> list[str]:
    """Lists of `name : text` as definitions, wherever they stand outside of sections."""
    out: list[str] = []
    inside = False
    for line in lines:
        head = HEAD.match(line)
        if head and (inside or not out or not out[-1].strip()):
            out += ["", f"``{head['names']}``", f"    {escaped(head['text'])}"]
            inside = True
        elif inside and line.startswith("    "):
            out.append(escaped(line))
        else:
            if inside and line.strip():
                out.append("")
            inside = inside and not line.strip()
            out.append(escaped(line))
    return out


def in_sections(lines: list[str]) -> list[str]:
    """The lines of numpydoc's sections: heads are numpydoc's own, examples and rules are left as they are."""
    out, examples = [], False
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and SECTION.match(lines[i + 1]):
            examples = line.strip() == "Examples"
        out.append(line if examples or SECTION.match(line) else escaped(line))
    return out


def rewritten(lines: list[str]) -> list[str]:
    first = next((i for i, line in enumerate(lines) if i and SECTION.match(line)), len(lines) + 1) - 1
    return defined(lines[:first]) + in_sections(lines[first:])


def process(app, what, name, obj, options, lines):
    if name.startswith("fewatoms"):
        lines[:] = rewritten(lines)


def setup(app):
    app.connect("autodoc-process-docstring", process, priority=100)  # before numpydoc reads them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
