"""A page for several answers, one of each kind: what was asked, the picture of each, what is proven."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fewatoms.report import shell, single
from fewatoms.report.extras import Extras
from fewatoms.report.shell import Section

if TYPE_CHECKING:
    from fewatoms.solution import Solution


def page(title: str, answers: Sequence[tuple[Solution, Extras]], table: str, notes: Sequence[str]) -> str:
    """table : HTML above the answers. Titles are those of the extras."""
    first = Section("found", "What was found", table + shell.paragraphs(*notes))
    sections = [first, *(_answer(i, found, extras) for i, (found, extras) in enumerate(answers))]
    names = Counter(name for s in sections for name in re.findall(r'\bid="([^"]+)"', s.inside))
    twice = [name for name, times in names.items() if times > 1]
    assert not twice, f"two answers of one kind would share the names {twice} on the page"
    return shell.page(title, "", sections)


def _answer(i: int, found: Solution, extras: Extras) -> Section:
    parts = [s for s in single.sections(found, extras) if s.inside]
    inside = "".join(f"<h3>{shell.text(part.title)}</h3>{part.inside}" for part in parts)
    return Section(f"answer-{i}", extras.title or f"Answer {i + 1}", single.lead(found) + inside)
