"""What an experiment is, and what it hands back: tables, figures with the numbers they are drawn from, statements that
were checked, and notes in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fewatoms.records import Progress

Cell: TypeAlias = "str | int | float | bool | None"
Tree: TypeAlias = dict[str, Any]  # as JSON has it
Draw: TypeAlias = "Callable[[Figure], None]"


class Ended(Exception):
    """Somebody asked to stop: what is unfinished is left out."""


@dataclass(frozen=True)
class Listener:
    """Who is told how far the work is, and may end it.

    stage : told the name of what begins; raises `Ended` to end the work
    callback : for `fit`, called while it works
    """

    stage: Callable[[str], None]
    callback: Callable[[Progress], object]


@dataclass(frozen=True)
class Settings:
    """What all experiments share: the seed of all draws, a folder with data, and whether to be quick about it."""

    seed: int = 0
    data: Path | None = None
    quick: bool = False

    def rng(self, *key: int) -> np.random.Generator:
        """A stream of its own for each purpose."""
        return np.random.default_rng([self.seed, *key])

    def file(self, name: str) -> Path | None:
        """A data file, if there is one of that name."""
        path = None if self.data is None else self.data / name
        return path if path is not None and path.is_file() else None


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns; those in `published` are figures of the paper, found in `source`.

    name : of its file, without an ending
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    published: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"rows of {self.name} must have {len(self.columns)} cells; got {len(row)}")
        strange = set(self.published) - set(self.columns)
        if strange:
            raise ValueError(f"published must name columns of {self.name}; got {sorted(strange)}")

    def column(self, name: str) -> list[Cell]:
        at = self.columns.index(name)
        return [row[at] for row in self.rows]


@dataclass(frozen=True)
class Drawing:
    """A figure: how it is drawn, and the numbers it is drawn from.

    alt : what it shows, for those who do not see it
    inches : width and height
    """

    name: str
    title: str
    alt: str
    draw: Draw = field(repr=False)
    points: Table | None = None
    inches: tuple[float, float] = (7.0, 4.2)


@dataclass(frozen=True)
class Claim:
    """A statement that was checked here, and whether it holds."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Findings:
    """What came out of one experiment."""

    tables: tuple[Table, ...] = ()
    figures: tuple[Drawing, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One part of the paper: which one it is, what it is about, and how it is run."""

    name: str
    title: str
    about: str
    run: Callable[[Settings, Listener], Findings] = field(repr=False)


def nobody() -> Listener:
    """A listener that hears nothing."""
    return Listener(lambda stage: None, lambda progress: None)


__all__ = [
    "Cell",
    "Claim",
    "Drawing",
    "Ended",
    "Experiment",
    "Findings",
    "Listener",
    "Settings",
    "Table",
    "Tree",
    "nobody",
]
