"""One page with everything on it: figures inside, no script, nothing from elsewhere, light and dark."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from fewatoms.reproduce.contract import Cell, Claim, Drawing, Table, Tree

if TYPE_CHECKING:
    from fewatoms.reproduce.writing import Done

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --faint: #d9d9d9; --told: #eef3fa; --mute: #555; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181b; --faint: #3a3d42; --told: #1f2a38; --mute: #a5a5a5; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  padding: 1rem; max-width: 68rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; border-top: 1px solid var(--faint);
  padding-top: 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .5rem 0; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--faint); text-align: right; vertical-align: bottom; }
td { white-space: nowrap; } td.word { white-space: normal; }
th:first-child, td:first-child, td.word, th.word { text-align: left; }
.told { background: var(--told); }
figure { margin: 1.5rem 0; } figcaption, .mute { color: var(--mute); font-size: .9rem; }
img { max-width: 100%; height: auto; background: #ffffff; border-radius: 4px; }
@media (max-width: 44rem) { img { max-width: none; } }
ul { padding-left: 1.2rem; } .no, .cut { font-weight: 700; } nav a { margin-right: 1rem; } a { color: inherit; }
@media print {
  :root { --ink: #000000; --paper: #ffffff; --faint: #bbbbbb; --told: #eeeeee; --mute: #444444; }
  body { max-width: none; padding: 0; font-size: 10pt; } nav { display: none; }
  .wide { overflow: visible; } table { font-size: 7.5pt; } th, td { padding: .15rem .3rem; white-space: normal; }
  img { max-width: 100%; } figure, tr { break-inside: avoid; } h2, caption { break-after: avoid; }
  .told { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def html(done: Sequence[Done], told: Tree, pictures: Mapping[str, bytes]) -> str:
    """The page; `told` is what the JSON says, `pictures` has a PNG for each figure."""
    paper = told["paper"]
    links = " ".join(f'<a href="#{one.experiment.name}">{escape(one.experiment.title)}</a>' for one in done)
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(paper['title'])}: reproduced</title><style>{STYLE}</style>"
    )
    body = [
        "<header><h1>The paper's experiments, again</h1>",
        f"<p>{escape(paper['authors'])}: <i>{escape(paper['title'])}</i>. Its method and its rule as written, our "
        'default, and, <span class="told">on this ground</span>, what was published.</p></header>',
        f'<nav aria-label="experiments">{links}</nav>' if links else "",
        "<main>",
        f'<p class="cut">{escape(told["cut_short"])}.</p>' if told["cut_short"] else "",
        f"<p>{escape(_verdict([claim for one in done for claim in one.findings.claims]))}</p>",
        *(_section(one, pictures) for one in done),
        "</main>",
        f'<footer><p class="mute">{escape(_circumstances(told))}</p></footer>',
    ]
    inside = "\n".join(part for part in body if part)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{inside}\n</body></html>\n'


def _verdict(claims: Sequence[Claim]) -> str:
    held = sum(claim.holds for claim in claims)
    return f"{held} of {len(claims)} statements that were checked hold." if claims else "No statement was checked."


def _circumstances(told: Tree) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in told["versions"].items() if version)
    machine, settings = told["machine"], told["settings"]
    size = "quick: smaller and shorter" if settings["quick"] else "full size"
    where = f"{machine['platform']}, {machine['cores']} cores"
    numbers = told["paper"]["numbers"]
    return f"Seed {settings['seed']}, {size}; {told['data']}; {versions}; {where}. Published figures: {numbers}."


def _section(one: Done, pictures: Mapping[str, bytes]) -> str:
    found, experiment = one.findings, one.experiment
    small = [table for table in found.tables if len(table.rows) <= 40]
    parts = [
        f'<section id="{experiment.name}"><h2>{escape(experiment.title)}</h2><p>{escape(experiment.about)}</p>',
        *(_figure(drawing, pictures[drawing.name]) for drawing in found.figures),
        *(_table(table) for table in small),
        _list([_claim(claim) for claim in found.claims]),
        _list([escape(note) for note in found.notes]),
        f'<p class="mute">{one.seconds:.1f} seconds.</p></section>',
    ]
    return "\n".join(part for part in parts if part)


def _list(items: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>" if items else ""


def _claim(claim: Claim) -> str:
    return f"{escape(claim.text)}: " + ("holds." if claim.holds else '<span class="no">does not hold.</span>')


def _figure(drawing: Drawing, picture: bytes) -> str:
    source = f"data:image/png;base64,{b64encode(picture).decode()}"
    width, height = (round(96 * side) for side in drawing.inches)
    image = f'<img src="{source}" alt="{escape(drawing.alt)}" width="{width}" height="{height}">'
    return f"<figure>{_wide(image, drawing.title)}<figcaption>{escape(drawing.title)}</figcaption></figure>"


def _wide(inside: str, name: str) -> str:
    """What may be wider than the screen: it is moved by itself, by keyboard too."""
    return f'<div class="wide" tabindex="0" role="region" aria-label="{escape(name)}">{inside}</div>'


def _table(table: Table) -> str:
    kinds = [_kind(table, name) for name in table.columns]
    heads = "".join(
        f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(table.columns, kinds, strict=True)
    )
    rows = "".join(f"<tr>{_cells(row, kinds)}</tr>" for row in table.rows)
    source = f'<p class="mute">Published: {escape(table.source)}.</p>' if table.source else ""
    head = f"<caption>{escape(table.title)}</caption><thead><tr>{heads}</tr></thead>"
    return _wide(f"<table>{head}<tbody>{rows}</tbody></table>", table.title) + source


def _cells(row: Sequence[Cell], kinds: Sequence[str]) -> str:
    return "".join(f"<td{kind}>{escape(shown(cell))}</td>" for cell, kind in zip(row, kinds, strict=True))


def _kind(table: Table, name: str) -> str:
    words = ["told"] if name in table.published else []
    if any(isinstance(cell, str) for cell in table.column(name)):
        words.append("word")
    return f' class="{" ".join(words)}"' if words else ""


def shown(cell: Cell) -> str:
    """A cell for readers: four digits, yes and no, a dash for what is not known."""
    match cell:
        case bool():
            return "yes" if cell else "no"
        case float():
            return "–" if math.isnan(cell) else f"{cell:.4g}"
        case None:
            return "–"
    return str(cell)
