"""How a number of columns was chosen: by which scores, with which errors, by which rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewatoms.cli.options import refused
from fewatoms.cli.tables import figure

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path as File

    from fewatoms._types import FloatArray
    from fewatoms.cli.session import Session
    from fewatoms.cli.summary import Plain
    from fewatoms.path import Path
    from fewatoms.proofs.proof import Proof

FOLDS_OF_ROWS = 5
SCORES_SHOWN = 30  # sizes
LOWEST = {
    "held-out": "the lowest {unit} on a fifth of the rows, left out once",
    "bic": "the lowest BIC",
    "ebic": "the lowest extended BIC",
    "elbow": "where the misfit lies farthest below the line between its ends",
}


def add_rule(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rule",
        choices=("best", "1se"),
        default="best",
        help="1se: the fewest within one standard error of the best (default best)",
    )


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


def said(path: Path, rule: str) -> str:
    """The rule in words."""
    way = path.chosen_by or "cv"
    done, folds = path.folds or (0, 0)
    if way == "bic" and path.folds is not None and not done:
        text = "the lowest BIC: k was not chosen by rows left out, since the work was cut short before that"
    elif way != "cv":
        text = LOWEST[way].format(unit=path.unit)
    else:
        often = f"{folds} folds" if done == folds else f"{done} of {folds} folds, since the work was cut short"
        text = f"the lowest {path.unit} on rows left out ({often})"
        if rule == "1se":
            text = f"the fewest whose {path.unit} on rows left out ({often}) is within one error of the lowest"
    return text if len(path.ridges) == 1 else f"{text}; ridge {figure(path.ridge)} of {len(path.ridges)} compared"


def steady(path: Path, rule: str) -> list[str]:
    """Why the lowest score of all need not be the one that is chosen."""
    if rule != "best" or path.chosen_by not in ("cv", "held-out") or not path.averaged:
        return []
    return ["scores within one error of the lowest are averaged with those of neighbouring k, and then compared: one "
            "that is low by itself is chance"]  # fmt: skip


def among(path: Path) -> str:
    """The sizes that were compared."""
    ks = [int(text) for text in map(str, path.k) if text.isdigit()]
    in_a_row = len(ks) > 2 and ks == list(range(ks[0], ks[-1] + 1))
    return f"{ks[0]} to {ks[-1]}" if in_a_row else ", ".join(map(str, path.k))


def told(path: Path, rule: str) -> dict[str, Plain]:
    """The choice for a summary."""
    from fewatoms.cli.summary import plain

    way = path.chosen_by or "cv"
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
        "k": plain(path.chosen), "by": way, "rule": rule, "words": said(path, rule),
        "ridge": plain(path.ridge), "scores": table,
    }  # fmt: skip


def lines(path: Path, rule: str) -> list[str]:
    """The choice in a sentence, and the scores as a small table; around the one chosen where there are many."""
    from fewatoms.words import aligned

    way = path.chosen_by or "cv"
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
        f"chosen: k = {path.chosen} among {among(path)}, {said(path, rule)}",
        *steady(path, rule),
        *aligned(head, cells, len(path) - len(cells)),
    ]


def reported(
    file: File, session: Session, path: Path, rule: str, rows: Sequence[object], proof: Proof | None = None
) -> None:
    """The report of a path, with the rule that k was chosen by, and what is proven of that answer."""
    chosen = [] if path.chosen is None else [f"k = {path.chosen} was chosen: {said(path, rule)}."]
    path.report(file, title=session.title, notes=[*chosen, *session.notes], rows=rows, proof=proof)
