"""Figures of the paper, read from the one file in which they are typed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fewatoms.reproduce.contract import Tree


@dataclass(frozen=True)
class SparcoFigures:
    """A row of Tables 2 and 3; `spgl1` and `paper` are the numbers of products, as printed there."""

    id: int
    m: int
    n: int
    norm: float
    operator: str
    nnz: int
    spgl1: int
    paper: int


@cache
def whole() -> Tree:
    """All of them, as they stand in the file."""
    text = files("fewatoms.reproduce").joinpath("published.json").read_text(encoding="utf-8")
    found: Tree = json.loads(text)
    return found


def number(part: str, name: str) -> float:
    """One figure."""
    return float(whole()[part][name]["value"])


def count(part: str, name: str) -> int:
    """One figure that counts something."""
    return int(whole()[part][name]["value"])


def where(part: str, name: str | None = None) -> str:
    """Where it is found: in the paper, or in the notebooks of its authors."""
    return str(whole()[part]["where"] if name is None else whole()[part][name]["where"])


def sparco() -> dict[str, SparcoFigures]:
    """The five problems."""
    return {name: SparcoFigures(**row) for name, row in whole()["sparco"]["problems"].items()}
