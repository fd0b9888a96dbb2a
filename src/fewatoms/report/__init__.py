"""Reports: an answer as one HTML file that asks for nothing from elsewhere. What is drawn comes from `drawn`, the words
from `words`; nothing is imported before somebody asks for a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from fewatoms._types import Array
    from fewatoms.callbacks import Trace
    from fewatoms.drawn.bounds import Proven
    from fewatoms.path import Path
    from fewatoms.report.extras import Extras
    from fewatoms.solution import Solution
    from fewatoms.solutions import Solutions

File: TypeAlias = "str | PathLike[str]"


def answer(
    self: Solution,
    file: File,
    *,
    title: str | None = None,
    trace: Trace | None = None,
    notes: Sequence[str] = (),
    names: Sequence[object] | None = None,
    rows: Sequence[object] | None = None,
    cols: Sequence[object] | None = None,
    frame: tuple[int, int] | None = None,
    proof: Proven | None = None,
) -> None:
    """Write a report: one HTML file, all or nothing, which needs no network.

    What was asked and found, the certificate in plain words, and pictures that fit the problem. Certificates,
    contributions and costs that nobody has asked for are computed for it; without M and b it says what is missing.

    Parameters
    ----------
    file : path
    title : str, optional
    trace : Trace, optional
        The one given to `fit(..., callback=trace)`: how the answer was found.
    notes : sequence of str
        What else a reader should know.
    names : sequence, optional
        What the atoms are called, in the order of their numbers, where the answer knows no names.
    rows, cols : sequences, optional
        What rows and columns of a matrix are called. For atoms that can be listed, rows are the data, those of M.
    frame : (height, width), optional
        The shape of pictures that are columns of a matrix, as those of a film: they are shown frame by frame.
    proof : Proof, optional
        That of this answer, to be drawn: `proof.solution.report(file, proof=proof)`.
    """
    from fewatoms.faces import Cone
    from fewatoms.report import single as kind
    from fewatoms.report.extras import Extras, frame_of
    from fewatoms.report.shell import write

    if proof is not None and proof.decided != self.certificate.decided:
        raise ValueError("proof must be about this answer: proof.solution.report(file, proof=proof)")
    extras = Extras(title, trace, notes, names, rows, cols, frame_of(frame), proof=proof)
    face, _ = self.compact
    matrix = face.spans() is None
    extras.refuse(_numbered(self), *_named_sides(self, extras))
    if extras.frame is not None and (not matrix or face.cone is Cone.PSD):
        raise ValueError(f"frame must be left out: this answer has no columns that are pictures; got {frame!r}")
    write(file, kind.page(self, extras))


def path(
    self: Path,
    file: File,
    *,
    title: str | None = None,
    notes: Sequence[str] = (),
    rows: Sequence[object] | None = None,
    cols: Sequence[object] | None = None,
    proof: Proven | None = None,
) -> None:
    """Write a report of all k: one HTML file, all or nothing, in which a slider goes from one to the next.

    See `Solution.report`. The certificate is that of the k chosen, or of the first; `proof` is about that one.
    """
    from fewatoms.report import sizes as kind
    from fewatoms.report.extras import Extras
    from fewatoms.report.shell import write

    extras = Extras(title, notes=notes, rows=rows, cols=cols, proof=proof)
    extras.refuse(None, *_named_sides(self[self.k[0]], extras))
    write(file, kind.page(self, extras))


def answers(
    self: Solutions,
    file: File,
    *,
    title: str | None = None,
    notes: Sequence[str] = (),
    names: Sequence[object] | None = None,
    cols: Sequence[object] | None = None,
    frame: tuple[int, int] | None = None,
    words: tuple[str, str] = ("data vector", "datum"),
) -> None:
    """Write a report of all data vectors: one HTML file, all or nothing.

    See `Solution.report`. cols : what the data vectors are called, where they have no names. frame : (height, width),
    where they are the pixels of a picture, row by row. words : what one of them is, and what an entry of it is, such as
    ("pixel", "band").
    """
    from fewatoms.report import many as kind
    from fewatoms.report.extras import Extras, frame_of
    from fewatoms.report.shell import write

    extras = Extras(title, None, notes, names, cols=cols or self.data_names, frame=frame_of(frame), words=words)
    extras.refuse(None if not len(self) else _numbered(self[0]), None, len(self))
    write(file, kind.page(self, extras))


def several(
    file: File,
    answers: Sequence[tuple[Solution, Extras]],
    table: Sequence[Sequence[str]],
    *,
    title: str,
    notes: Sequence[str] = (),
) -> None:
    """Write a report of several answers, one of each kind, below a table with its heads first."""
    from fewatoms.report import plain
    from fewatoms.report import together as kind
    from fewatoms.report.shell import write

    write(file, kind.page(title, answers, plain.cells(table), notes))


def predictions(
    file: File, columns: Mapping[str, Array], model: Solution | None, *, title: str, notes: Sequence[str] = ()
) -> None:
    """Write a report of predictions, with the model that made them where it is an answer."""
    from fewatoms.report import plain
    from fewatoms.report import single as kind
    from fewatoms.report.extras import Extras
    from fewatoms.report.shell import write

    sections = [] if model is None else kind.sections(model, Extras())
    write(file, plain.predictions(title, columns, sections, notes))


def printed(
    file: File, lines: Sequence[str], table: Sequence[Sequence[str]], *, title: str, notes: Sequence[str] = ()
) -> None:
    """Write what a command prints as a page."""
    from fewatoms.report import plain
    from fewatoms.report.shell import write

    write(file, plain.printed(title, lines, table, notes))


def _named_sides(found: Solution, extras: Extras) -> tuple[int | None, int | None]:
    """How many rows and columns there are to be named: those of a matrix, or the data of a vector, which are drawn
    where they are numbers at hand."""
    face, proven = found.compact[0], found.certificate
    if face.spans() is None or (len(found.parts) > 1 and len(face.shape) == 2):
        return face.shape[0], face.shape[1]
    if not proven.attached:
        return None, None
    drawn = proven.problem.classes is None and not found.shares_atoms
    return proven.problem.m if drawn else len(extras.rows or ()), None


def _numbered(found: Solution) -> int | None:
    """How many atoms `names` must name: those that are numbered and have no names; None where there are none."""
    if len(found.parts) > 1 or found.names is not None or found.atoms is None or not found.atoms.finite:
        return None
    labels = found.indices
    return found.atoms.count if labels.ndim == 1 and labels.dtype.kind in "iu" else None
