"""The page around a report: one file, nothing from elsewhere, a policy that allows no script but its own."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TypeGuard

import fewatoms
from fewatoms.whole import replacing

LONGEST = 160  # characters of a name that are shown
TITLE = 80  # characters of a title
SHORT = 14  # characters of a cell that stay in one line
SAID = 2000  # characters of a paragraph


@dataclass(frozen=True)
class Section:
    """A part of a page: a name for links, a heading, and HTML."""

    slug: str
    title: str
    inside: str


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The whole page. `lead` is HTML below the title."""
    style, script = _part("style.css"), _part("script.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    shown = [section for section in sections if section.inside]
    links = "".join(f'<li><a href="#{s.slug}">{escape(s.title)}</a></li>' for s in shown)
    body = "".join(
        f'<section id="{s.slug}" aria-labelledby="{s.slug}-title"><h2 id="{s.slug}-title">{escape(s.title)}</h2>'
        f"{s.inside}</section>\n"
        for s in shown
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title, TITLE)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the report</a>\n'
        f'<header><h1>{name(title, TITLE)}</h1>{lead}<nav aria-label="Contents"><ul>{links}</ul></nav></header>\n'
        f'<main id="main" tabindex="-1">\n{body}</main>\n'
        f"<footer><p>Written by fewatoms {fewatoms.__version__}. This page is one file and asks for nothing from "
        f"elsewhere.</p></footer>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def write(file: str | PathLike[str], html: str) -> None:
    """All or nothing."""
    with replacing(file) as beside:
        Path(beside).write_text(html, encoding="utf-8", newline="\n")


def _part(called: str) -> str:
    return files("fewatoms.report").joinpath(called).read_text(encoding="utf-8")


def _hash(inside: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(inside.encode("utf-8")).digest()).decode("ascii")


# What a user calls things --------------------------------------------------------------------------------------------


def cut(value: object, most: int = LONGEST) -> str:
    """What somebody calls something, as it can be shown: what cannot be printed is replaced, the middle of very long
    names is left out."""
    said = "".join(c if c.isprintable() else " " for c in str(value)).encode("utf-8", "replace").decode("utf-8")
    return said if len(said) <= most else f"{said[: most - most // 3]}…{said[-(most // 3) :]}"


def text(value: object, most: int = LONGEST) -> str:
    """The same, escaped."""
    return escape(cut(value, most))


def name(value: object, most: int = LONGEST) -> str:
    """The same, in a direction of its own."""
    return f"<bdi>{text(value, most)}</bdi>"


def capital(said: str) -> str:
    return said[:1].upper() + said[1:]


# Pieces of HTML ------------------------------------------------------------------------------------------------------


def paragraphs(*lines: str) -> str:
    return "".join(f"<p>{text(line, SAID)}</p>" for line in lines)


def remarks(bars: str, said: Sequence[str]) -> str:
    """Below a table: what its bars show, which a narrow screen leaves out with them, and more lines."""
    rest = "".join(f"<li>{text(line, SAID)}</li>" for line in said)
    return f'<ul class="remarks"><li class="bars">{text(bars, SAID)}</li>{rest}</ul>'


def facts(pairs: Mapping[str, str]) -> str:
    """Figures with what they are, side by side."""
    cells = "".join(f"<div><dt>{text(key)}</dt><dd>{name(value)}</dd></div>" for key, value in pairs.items())
    return f'<dl class="facts">{cells}</dl>'


def figure(picture: str, caption: str, inside: str = "") -> str:
    """A picture and what it shows; `inside` is HTML below the caption."""
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption>{inside}</figure>"


@dataclass(frozen=True)
class Column:
    """A column of a table: its head (none: bars), what stands in it (HTML), and by what it is sorted (None: not)."""

    head: str
    cells: Sequence[str]
    keys: Sequence[float | str] | None = None
    words: bool = False

    @property
    def kind(self) -> str:
        """The class of its cells: bars, numbers, words, or words that are too short to be broken."""
        if not self.head:
            return "bars"
        short = self.keys is not None and all(len(str(key)) <= SHORT for key in self.keys)
        return ("words short" if short else "words") if self.words else ""


def labels(head: str, values: Sequence[object]) -> Column:
    """A column of names; of numbers, if all of them are."""
    shown = [cut(value) for value in values]
    if shown and all(value.isdecimal() and value.isascii() for value in shown):
        return Column(head, shown, [float(value) for value in shown])
    return Column(head, [name(value) for value in shown], shown, words=True)


def folded(summary: str, inside: str) -> str:
    """HTML that is shown when somebody asks for it; on paper it is not."""
    return f"<details><summary>{text(summary)}</summary>{inside}</details>"


def table(caption: str, columns: Sequence[Column], *, kind: str = "", more: int = 0) -> str:
    """A table whose rows can be sorted by the buttons in its head; it scrolls in itself where a screen is narrow.
    kind : "plain" for cells that are read, not compared, and broken into lines where they are long"""
    heads = "".join(_head(column) for column in columns)
    lines = zip(*(_cells(column, kind) for column in columns), strict=True)
    rows = [f"<tr>{''.join(line)}</tr>" for line in lines]
    rest = f"<p>and {more} more</p>" if more else ""
    box = f"wide {kind}".strip()
    return (
        f'<div class="{box}" role="region" aria-label="{text(caption)}" tabindex="0"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"</div>{rest}"
    )


def _head(column: Column) -> str:
    side = ' class="words"' if column.words else ""
    if not column.head:
        return '<td class="bars"></td>'
    if column.keys is None:
        return f'<th scope="col"{side}>{text(column.head)}</th>'
    kind = "text" if column.words else "number"
    return f'<th scope="col"{side} data-sort="{kind}"><button type="button">{text(column.head)}</button></th>'


def _cells(column: Column, kind: str) -> list[str]:
    """A column's cells, one for each row."""
    known = f' class="{column.kind}"' if column.kind else ""
    known += f' data-head="{text(column.head)}"' if kind == "plain" else ""
    if column.keys is None or column.words:
        return [f"<td{known}>{cell}</td>" for cell in column.cells]
    keys = [_key(key) for key in column.keys]
    return [f'<td{known} data-key="{key}">{cell}</td>' for key, cell in zip(keys, column.cells, strict=True)]


def is_number(value: object) -> TypeGuard[float]:
    """Whether a cell is sorted by its size."""
    return isinstance(value, float | int)


def _key(value: float | str) -> str:
    return f"{value:.12g}" if is_number(value) else escape(str(value))


def slider(slug: str, label: str, values: Sequence[str], at: int) -> str:
    """A control over places in a list; a script shows it and says each place's value."""
    said = escape(json.dumps([cut(value, 60) for value in values], ensure_ascii=False))
    return (
        f'<div class="slider" hidden><label for="{slug}-range">{escape(label)}</label>'
        f'<input type="range" id="{slug}-range" min="0" max="{len(values) - 1}" step="1" value="{at}" '
        f'data-values="{said}" aria-valuetext="{text(values[at], 60)}">'
        f'<output for="{slug}-range">{text(values[at], 60)}</output></div>'
    )


def data(slug: str, values: object) -> str:
    """Numbers and names for the script. `<` is written so that no name ends the block."""
    written = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{slug}-data">{written}</script>'
