"""What columns and atoms are called: names in, names out, names checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

import numpy as np

from fewatoms import kept
from fewatoms._types import Array, IntArray
from fewatoms.kept import Plain

Names: TypeAlias = tuple[str, ...]

SHOWN = 5  # names in a message


def of_labels(name: str, labels: Sequence[object], what: str = "columns") -> Names | None:
    """The names that labels of columns are, whatever their type; None where they only number these."""
    if all(not isinstance(label, str) for label in labels) and list(labels) == list(range(len(labels))):
        return None
    names = tuple(str(label) for label in labels)
    twice = [label for label, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(
            f"{name} must have {what} of different names; {told(twice)} {are(twice)} there more than once: rename "
            "them, or pass an array"
        )
    return names


def order(name: str, mine: Names, theirs: Names) -> IntArray:
    """Where the columns that a model knows stand among those that came; nothing may be missing, and nothing else be
    there."""
    places = {label: i for i, label in enumerate(theirs)}
    missing, known = [label for label in mine if label not in places], set(mine)
    extra = [label for label in theirs if label not in known]
    if missing or extra:
        wrong = ((missing, "missing"), (extra, "not among them"))
        wrongs = ", ".join(f"{told(some)} {are(some)} {how}" for some, how in wrong if some)
        raise ValueError(f"{name} must have the columns that the model was fitted to; {wrongs}")
    return np.array([places[label] for label in mine], dtype=np.intp)


def places(name: str, chosen: Iterable[str], names: Names) -> IntArray:
    """The positions of columns that are called so."""
    known = {label: i for i, label in enumerate(names)}
    asked = list(chosen)
    unknown = [label for label in asked if label not in known]
    if unknown:
        near = [other for label in unknown for other in _near(label, names)]
        hint = f"did you mean {told(near)}?" if near else f"they are called {told(names)}"
        raise ValueError(f"{name} must name columns that are there; {told(unknown)} {are(unknown)} not: {hint}")
    return np.array([known[label] for label in asked], dtype=np.intp)


def _near(label: str, names: Names) -> list[str]:
    """Names that are spelled nearly like one, in whatever case; the first two."""
    folded = {other.casefold(): other for other in reversed(names)}
    return [folded[other] for other in get_close_matches(label.casefold(), folded, n=2)]


def told(names: Sequence[str]) -> str:
    """A few of them, for a message."""
    shown = [repr(label) for label in names[:SHOWN]]
    if len(names) > SHOWN:
        shown.append(f"{len(names) - SHOWN} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def are(names: Sequence[str]) -> str:
    """The verb for them."""
    return "is" if len(names) == 1 else "are"


@dataclass(frozen=True)
class Called:
    """Who is called what in a problem; None where nobody said.

    columns : those of M, in its order
    atoms : by the numbers that tell them in an answer; those of M, or of a dictionary
    parts : of a sum
    free : the free columns
    frame : the kind of data frame that M came as, see `frames.MAKERS`
    """

    columns: Names | None = None
    atoms: Names | None = None
    parts: tuple[Called, ...] = ()
    free: Names | None = None
    frame: str | None = None

    def labels(self, numbers: Array) -> Array | None:
        """What the atoms of an answer are called, by what tells them: words are names already. Plain strings, so that
        lists of them read as such."""
        if numbers.dtype.kind == "U":
            return numbers.astype(object)
        if self.atoms is None or numbers.ndim != 1:
            return None
        return np.array([self.atoms[i] for i in numbers], dtype=object)

    def plain(self) -> Plain:
        """Columns that are atoms as well are told once."""
        same = self.atoms is not None and self.atoms == self.columns
        return {
            "columns": _listed(self.columns),
            "atoms": True if same else _listed(self.atoms),
            "parts": [part.plain() for part in self.parts],
            "free": _listed(self.free),
            "frame": self.frame,
        }

    @classmethod
    def read(cls, header: Plain) -> Called:
        if header is None:
            return UNCALLED
        h = kept.section(header)
        columns = _names(h["columns"])
        parts = tuple(cls.read(part) for part in kept.rows(h["parts"]))
        frame = None if h.get("frame") is None else str(h["frame"])  # which earlier files do not know
        return cls(columns, columns if h["atoms"] is True else _names(h["atoms"]), parts, _names(h["free"]), frame)


UNCALLED = Called()  # nobody said anything


def _listed(names: Names | None) -> Plain:
    return None if names is None else [*names]


def _names(value: Plain) -> Names | None:
    return None if value is None else tuple(str(label) for label in kept.rows(value))
