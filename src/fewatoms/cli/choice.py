"""How a number of columns was chosen: by which scores, with which errors, by which rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewatoms.cli.options import refused
from fewatoms.cli.summary import plain
from fewatoms.cli.tables import figure
from fewatoms.words import aligned

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path as File

    from fewatoms._types import FloatArray
    from fewatoms.cli.session import Session
    from fewatoms.cli.summary import Plain
    from fewatoms.path import Path

FOLDS_OF_ROWS = 5
SCORES_SHOWN = 30  # sizes
LOWEST = {
    "held-out": "the lowest loss on a fifth of the rows, left out once",
    "bic": "the lowest BIC",
    "ebic": "the lowest extended BIC",
    "elbow": "where the misfit lies farthest below the line between its ends",
}


def refuse_rule(way: str, rule: str) -> None:
    """A rule that needs errors where there are none."""
    if rule == "1se" and way != "cv":
        raise refused(f"--rule 1se is for --choose cv, whose folds give an error; got --choose {way}")


def folds_of(rows: int) -> int:
    """How often rows are left out."""
    return min(FOLDS_OF_ROWS, rows)


def compared(path: Path, way: str) -> tuple[FloatArray | None, FloatArray | None]:
    """Scores and their standard errors for the ridge in force; None where there are none."""
    import numpy as np

    row = path.ridges.index(path.ridge) if len(path.ridges) > 1 else 0
    scores, errors = (found.get(way) for found in (path.scores, path.errors))
    return (None if scores is None else np.atleast_2d(scores)[row],
            None if errors is None else np.atleast_2d(errors)[row])  # fmt: skip


def said(path: Path, way: str, rule: str, rows: int) -> str:
    """The rule in words."""
    if way != "cv":
        text = LOWEST[way]
    elif rule == "1se":
        text = f"the fewest whose loss on rows left out ({folds_of(rows)} folds) is within one error of the lowest"
    else:
        text = f"the lowest loss on rows left out ({folds_of(rows)} folds)"
    if rule == "best" and way in ("cv", "held-out") and path.averaged:
        text += ", averaged with those of neighbouring k"
    return text if len(path.ridges) == 1 else f"{text}; ridge {figure(path.ridge)} of {len(path.ridges)} compared"


def told(path: Path, way: str, rule: str, rows: int) -> dict[str, Plain]:
    """The choice for a summary."""
    scores, errors = compared(path, way)
    table: list[Plain] = [
        {
            "k": plain(k),
            "score": None if scores is None else plain(scores[i]),
            "error": None if errors is None else plain(errors[i]),
        }
        for i, k in enumerate(path.k)
    ]
    return {
        "k": plain(path.chosen), "by": way, "rule": rule, "words": said(path, way, rule, rows),
        "ridge": plain(path.ridge), "scores": table,
    }  # fmt: skip


def lines(path: Path, way: str, rule: str, rows: int) -> list[str]:
    """The choice in a sentence, and the scores as a small table; around the one chosen where there are many."""
    scores, errors = compared(path, way)
    assert scores is not None
    place = path.k.index(path.chosen)
    first = min(max(0, place - SCORES_SHOWN // 2), max(0, len(path) - SCORES_SHOWN))
    some = range(first, min(len(path), first + SCORES_SHOWN))
    cells = [
        [str(path.k[i]), figure(float(scores[i])), "" if errors is None else figure(float(errors[i])),
         "chosen" if i == place else ""]
        for i in some
    ]  # fmt: skip
    head = ["k", f"score ({way})", "error", ""]
    return [
        f"chosen: k = {path.chosen}, {said(path, way, rule, rows)}",
        *aligned(head, cells, len(path) - len(cells)),
    ]


def reported(file: File, session: Session, path: Path, way: tuple[str, str, int], rows: Sequence[object]) -> None:
    """The report of a path, with the rule that k was chosen by: its way, its name, and how many rows there are."""
    chosen = [] if path.chosen is None else [f"k = {path.chosen} was chosen: {said(path, *way)}."]
    path.report(file, title=session.title, notes=[*chosen, *session.notes], rows=rows)
