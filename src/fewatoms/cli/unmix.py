"""`fewatoms unmix`: each pixel of a scene as a mixture of a few spectra of a library."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fewatoms.cli.asking import OUTPUTS
from fewatoms.cli.options import Commands, command, count, refused
from fewatoms.cli.session import Session
from fewatoms.cli.tables import figure

if TYPE_CHECKING:
    import scipy.sparse as sp

    from fewatoms._types import Array, FloatArray
    from fewatoms.cli.summary import Plain
    from fewatoms.solutions import Solutions

about = """\
Scene and library are tables or matrices; which side of each counts the bands is found by their sizes, and
where that is open --pixels and --spectra decide. In a library whose spectra are rows, a column of text has
their names; --drop leaves out columns such as wavelengths. Amounts are not negative unless --signed says so;
they need not add up to one.

--out gets a line for each pixel and spectrum that is in it (tables), or the matrix of amounts, pixels as rows
(.npy; .npz keeps it sparse). A pixel with missing values has no amounts, and is counted in a note."""
examples = """\
  fewatoms unmix scene.npy --library spectra.csv -k 3
  fewatoms unmix scene.npy --library spectra.csv -k 2 --out amounts.csv
  fewatoms unmix scene.npy --library spectra.csv -k 2 --pixels rows --out amounts.npz --summary unmix.json
"""
MATRICES = (".npy", ".npz")
COMMON = 12  # spectra that are listed


def add(commands: Commands) -> None:
    parser = command(
        commands, "unmix", run, said="each pixel of a scene as a mixture of a few spectra", about=about, shown=examples
    )
    parser.add_argument("data", metavar="SCENE", help="pixels and bands: .npy, .npz, .mat, or a table of numbers")
    parser.add_argument("--library", required=True, metavar="FILE", help="spectra and bands")
    parser.add_argument("-k", type=count, required=True, metavar="K", help="spectra in a pixel at most")
    parser.add_argument("--pixels", choices=("rows", "columns"), help="what the pixels of the scene are")
    parser.add_argument("--spectra", choices=("rows", "columns"), help="what the spectra of the library are")
    parser.add_argument("--drop", action="append", default=[], metavar="COL", help="leave a column of the library out")
    parser.add_argument("--signed", action="store_true", help="amounts may be negative")
    parser.add_argument("--effort", choices=("quick", "normal", "thorough"), default="normal", help="how hard to look")
    parser.add_argument("--out", metavar="FILE", help="write the amounts (.csv, .parquet, .npy, .npz)")


def run(options: argparse.Namespace) -> int:
    import fewatoms as fa

    session = Session(options)
    session.claim("out", options.out, (*OUTPUTS, *MATRICES))
    with session.timed("read"):
        scene, library = _matched(options)
    p = library.values.shape[1]
    if options.k > min(library.values.shape):
        raise refused(f"-k must be at most {min(library.values.shape)}, for {p} spectra and "
                         f"{library.values.shape[0]} bands; got {options.k}")  # fmt: skip
    atoms = fa.SignedOneHot(p) if options.signed else fa.NonnegativeOneHot(p)
    with session.working("unmix") as callback:
        answers = fa.fit_many(
            library.values, scene, atoms=atoms, k=options.k, effort=options.effort, callback=callback, rng=options.seed
        )
    return _told(session, answers, library)


class Library(NamedTuple):
    """Spectra as columns, with their names."""

    values: FloatArray
    names: list[str]


def _matched(options: argparse.Namespace) -> tuple[Array, Library]:
    """Scene and library, both with bands as rows."""
    import numpy as np
    import scipy.sparse as sp

    from fewatoms import io

    grid = io.read_grid(options.data)
    scene = grid.values.toarray() if sp.issparse(grid.values) else np.asarray(grid.values)
    found = [
        (one, library)
        for library in _libraries(options)
        for pixels, one in (("columns", scene), ("rows", scene.T))
        if one.shape[0] == library.values.shape[0] and options.pixels in (None, pixels)
    ]
    if not found:
        sizes = " or ".join(str(library.values.shape[0]) for library in _libraries(options))
        raise refused(
            f"{options.data} and {options.library} must have one number of bands in common; the scene is "
            f"{scene.shape[0]} x {scene.shape[1]}, the library has {sizes}"
        )
    if len(found) > 1:
        scenes = {one.shape for one, _ in found}
        which = (
            "--spectra rows or columns"
            if len(scenes) == 1 and scene.shape[0] != scene.shape[1]
            else "--pixels rows or columns"
        )
        raise refused(f"which side of {options.data} and {options.library} counts bands is open: say {which}")
    return found[0]


def _libraries(options: argparse.Namespace) -> list[Library]:
    """The library read as columns of spectra and as rows of them, as far as that can be."""
    import numpy as np

    from fewatoms import io, names

    table = io.read_table(options.library)
    for name in options.drop:
        table.column(name)
    among = [name for name in table.names if name not in options.drop]
    texts = [name for name in among if table.columns[name].dtype.kind == "O"]
    if len(texts) > 1:
        raise refused(f"{options.library}: one column may have names; {names.told(texts)} hold text: --drop some")
    numbers = [name for name in among if name not in texts]
    values = table.numeric(numbers)
    if not values.size or not np.isfinite(values).all():
        raise refused(f"{options.library}: must hold finite numbers, with none missing")
    called = [str(v) for v in table.columns[texts[0]]] if texts else [str(i + 1) for i in range(len(values))]
    as_columns, as_rows = Library(values, numbers), Library(np.ascontiguousarray(values.T), called)
    if options.spectra is not None:
        return [as_columns if options.spectra == "columns" else as_rows]
    return [as_rows] if texts else [as_columns, as_rows]


def _told(session: Session, answers: Solutions, library: Library) -> int:
    import numpy as np

    from fewatoms.cli.summary import plain
    from fewatoms.solution import Status

    amounts = answers.sparse.tocsc()  # spectra x pixels
    statuses = np.array([status.name for status in answers.status])
    bad, stopped = (int((statuses == name).sum()) for name in (Status.BAD_DATA.name, Status.STOPPED.name))
    for number, why in ((bad, "have missing or infinite values"), (stopped, "were not reached before the end")):
        if number:
            session.note(f"{number} of {len(answers)} pixels {why}: no amounts")
    session.write("out", lambda path: _written(path, amounts, library.names))
    session.write(
        "report",
        lambda path: answers.report(path, title=session.title, notes=session.notes, names=library.names),
    )
    pixels, total = np.diff(amounts.tocsr().indptr), np.asarray(amounts.sum(axis=1)).ravel()
    order = [int(i) for i in np.argsort(-pixels, kind="stable") if pixels[i]]
    misfits = answers.misfit[np.isfinite(answers.misfit) & (statuses != Status.STOPPED.name)]
    middle = float(np.median(misfits)) if misfits.size else float("nan")
    used: list[Plain] = [
        {"name": library.names[i], "pixels": int(pixels[i]), "mean": plain(total[i] / pixels[i])} for i in order
    ]
    summary: dict[str, Plain] = {
        "data": {"source": session.options.data, "library": session.options.library, "pixels": len(answers),
                 "bands": int(library.values.shape[0]), "spectra": len(library.names)},
        "asked": {"k": session.options.k, "signed": session.options.signed},
        "answer": {"success": bool(answers.success), "bad_pixels": bad, "stopped_pixels": stopped,
                   "misfit_median": plain(middle), "table": used},
    }  # fmt: skip
    table = [["spectrum", "pixels", "mean amount"]]
    table += [[library.names[i], str(pixels[i]), figure(total[i] / pixels[i])] for i in order[:COMMON]]
    lines = [
        f"{len(answers)} pixels, median misfit {figure(middle)}; {len(order)} of {len(library.names)} spectra used"
    ]
    return session.finish(stopped == 0, summary, lines, table)


def _written(path: Path, amounts: sp.csc_array, names: list[str]) -> None:
    import numpy as np

    from fewatoms import io

    if path.suffix.lower() in MATRICES:
        io.write_grid(path, amounts.T.tocsr() if path.suffix.lower() == ".npz" else amounts.T.toarray())
        return
    spectra = amounts.indices
    pixels = np.repeat(np.arange(amounts.shape[1]), np.diff(amounts.indptr))
    called = np.array(names, dtype=object)[spectra]
    io.write_table(path, {"pixel": pixels, "spectrum": called, "amount": amounts.data})
