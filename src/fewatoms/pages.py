"""Answers as HTML, for notebooks: tables and words in the reader's own colours, no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from fewatoms import words

if TYPE_CHECKING:
    from fewatoms.certificates import Certificate
    from fewatoms.path import Path
    from fewatoms.solution import Solution
    from fewatoms.solutions import Solutions

# Colours are inherited, so that light and dark themes both serve.
BLOCK_STYLE = "max-width:60em;overflow-x:auto;line-height:1.4"
TABLE_STYLE = "border-collapse:collapse;margin:.5em 0"
HEAD_STYLE = "text-align:right;padding:.1em .7em;border-bottom:1px solid currentColor"
CELL_STYLE = "text-align:right;padding:.1em .7em"
WORDY = ("atom", "name", "data", "ended", "")  # columns of words


def answer(found: Solution) -> str:
    """An answer for a notebook: how well it fits, its atoms, what is proven."""
    head = f"<b>{escape(found.status.name)}</b>: {escape(words.figures(found))}"
    lines = [f"<p>{escape(line)}</p>" for line in words.besides(found)]
    proven = _details("What is proven", _paragraphs(str(found.certificate)), " open")
    told = _details("What was asked and found", _paragraphs(found.message))
    return _block(f"<p>{head}</p>", _grid(found.by_atom), *lines, told, proven)


def path(found: Path) -> str:
    """The answers for several k, a row each."""
    return _block(f"<p>{escape(repr(found))}</p>", _grid(*words.sizes(found), bold=""))


def answers(found: Solutions) -> str:
    """Those of several data vectors, a row each."""
    return _block(f"<p>{escape(repr(found))}</p>", _grid(words.vectors(found)))


def certificate(found: Certificate) -> str:
    """What is proven, a line each."""
    return _block(_paragraphs(str(found)))


def _block(*parts: str) -> str:
    return f'<div style="{BLOCK_STYLE}">{"".join(parts)}</div>'


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in text.splitlines())


def _details(title: str, inside: str, state: str = "") -> str:
    return f"<details{state}><summary>{escape(title)}</summary>{inside}</details>"


def _grid(columns: Mapping[str, Sequence[object]], near: int = 0, bold: str | None = None) -> str:
    """A table of a few rows; those that have something in the column `bold` stand out."""
    head, rows, more = words.cells(columns, words.ROWS, near)
    if not rows:
        return ""
    titles = "".join(f'<th style="{_side(HEAD_STYLE, key)}">{escape(key)}</th>' for key in head)
    lines = []
    for row in rows:
        strong = bold in head and bool(row[head.index(bold)])
        texts = (f"<b>{escape(text)}</b>" if strong else escape(text) for text in row)
        cells = (f'<td style="{_side(CELL_STYLE, key)}">{text}</td>' for key, text in zip(head, texts, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    rest = f"<p>and {more} more</p>" if more else ""
    return f'<table style="{TABLE_STYLE}"><thead><tr>{titles}</tr></thead><tbody>{"".join(lines)}</tbody></table>{rest}'


def _side(style: str, key: str) -> str:
    return style.replace("right", "left") if key in WORDY else style
