"""`fewatoms unmix`: each pixel of a scene as a mixture of a few spectra of a library."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fewatoms.cli.asking import OUTPUTS
from fewatoms.cli.options import Commands, checkpointed, command, count, refused
from fewatoms.cli.session import Session
from fewatoms.cli.tables import figure

if TYPE_CHECKING:
    import scipy.sparse as sp

    from fewatoms._types import Array, FloatArray
    from fewatoms.cli.summary import Plain
    from fewatoms.io import Grid
    from fewatoms.solutions import Solutions

about = """\
Scene and library are tables or matrices, and the scene may be a cube of height, width and bands (.npy, .npz,
.mat). Of matrices, which side of each counts the bands is found by their sizes, and
where that is open --pixels and --spectra decide. In a library whose spectra are rows, a column of text has
their names; --drop leaves out columns such as wavelengths. Amounts are not negative unless --signed says so;
they need not add up to one.

--out gets a line for each pixel and spectrum that is in it (tables), or the matrix of amounts, pixels as rows
(.npy; .npz keeps it sparse, with the names of the spectra). Of a cube the amounts are a cube as well, height,
width and spectra, and lines have the row and the column of a pixel too. Pixels, rows and columns are numbered
from 1. A pixel with missing values has no amounts, and is counted in a note."""
examples = """\
  fewatoms unmix scene.npy --library spectra.csv -k 3
  fewatoms unmix scene.npy --library spectra.csv -k 2 --out amounts.csv
  fewatoms unmix scene.npy --library spectra.csv -k 2 --pixels rows --out amounts.npz --summary unmix.json
"""
MATRICES = (".npy", ".npz")
WAVELENGTHS = re.compile(r"wave|lambda|band|channel|^(nm|um)$", re.IGNORECASE)
COMMON = 12  # spectra that are listed


def add(commands: Commands) -> None:
    parser = command(
        commands, "unmix", run, said="each pixel of a scene as a mixture of a few spectra", about=about, shown=examples
    )
    parser.add_argument(
        "data", metavar="SCENE", help="pixels and bands: .npy, .npz, .mat (also cubes), or a table of numbers"
    )
    parser.add_argument("--library", required=True, metavar="FILE", help="spectra and bands")
    parser.add_argument("-k", type=count, required=True, metavar="K", help="spectra in a pixel at most")
    parser.add_argument("--pixels", choices=("rows", "columns"), help="what the pixels of the scene are")
    parser.add_argument("--spectra", choices=("rows", "columns"), help="what the spectra of the library are")
    parser.add_argument(
        "--drop", action="append", default=[], metavar="COL[,COL]", help="leave columns of the library out"
    )
    parser.add_argument("--signed", action="store_true", help="amounts may be negative")
    parser.add_argument("--effort", choices=("quick", "normal", "thorough"), default="normal", help="how hard to look")
    parser.add_argument("--out", metavar="FILE", help="write the amounts (.csv, .parquet, .npy, .npz)")
    checkpointed(parser)


def run(options: argparse.Namespace) -> int:
    import fewatoms as fa
    from fewatoms import io
    from fewatoms.cli.design import quoted

    session = Session(options)
    session.claim("out", options.out, (*OUTPUTS, *MATRICES))
    with session.timed("read"):
        grid = io.read_scene(options.data)
        scene, library = _matched(options, grid)
    for name in _growing(library):
        session.note(f"column {name!r} of {options.library} grows from line to line, as wavelengths and numbers of "
                     f"bands do, and counts as a spectrum: --drop {quoted([name])} leaves it out")  # fmt: skip
    p = library.values.shape[1]
    if options.k > min(library.values.shape):
        raise refused(f"-k must be at most {min(library.values.shape)}, for {p} spectra and "
                         f"{library.values.shape[0]} bands; got {options.k}")  # fmt: skip
    atoms = fa.SignedOneHot(p) if options.signed else fa.NonnegativeOneHot(p)
    with session.working("unmix") as callback:
        answers = fa.fit_many(
            library.values, scene, atoms=atoms, k=options.k, effort=options.effort, callback=callback, rng=options.seed
        )
    return _told(session, answers, library, grid.sides)


class Library(NamedTuple):
    """Spectra as columns, with their names."""

    values: FloatArray
    names: list[str]


def _growing(library: Library) -> list[str]:
    """Spectra that are rather the wavelengths of the bands: the first column, or one that is called so."""
    import numpy as np

    steps = np.diff(library.values, axis=0)
    growing = np.asarray((steps > 0).all(axis=0)) if len(steps) > 1 else np.zeros(len(library.names), dtype=bool)
    return [name for i, name in enumerate(library.names) if growing[i] and (i == 0 or WAVELENGTHS.search(name))]


def _matched(options: argparse.Namespace, grid: Grid) -> tuple[Array, Library]:
    """Scene and library, both with bands as rows."""
    import numpy as np
    import scipy.sparse as sp

    if grid.sides is not None and options.pixels == "columns":
        raise refused(f"{options.data} has three axes, height, width and bands: leave out --pixels columns")
    scene = grid.values.toarray() if sp.issparse(grid.values) else np.asarray(grid.values)
    by_cube = None if grid.sides is None else "rows"  # whose last axis counts bands
    found = [
        (one, library)
        for library in _libraries(options)
        for pixels, one in (("columns", scene), ("rows", scene.T))
        if one.shape[0] == library.values.shape[0] and (options.pixels or by_cube) in (None, pixels)
    ]
    if not found:
        sizes = " or ".join(str(library.values.shape[0]) for library in _libraries(options))
        told = " x ".join(map(str, (*(grid.sides or scene.shape[:1]), scene.shape[1])))
        last = "" if grid.sides is None else ", of whose three axes the last counts bands"
        raise refused(
            f"{options.data} and {options.library} must have one number of bands in common; the scene is "
            f"{told}{last}, the library has {sizes}"
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
    from fewatoms.cli.design import spread

    table = io.read_table(options.library)
    without = spread(table, options.drop)
    for name in without:
        table.column(name)
    among = [name for name in table.names if name not in without]
    texts = [name for name in among if table.columns[name].dtype.kind == "O"]
    if len(texts) > 1:
        raise refused(f"{options.library}: one column may have names; {names.told(texts)} hold text: --drop some")
    numbers = [name for name in among if name not in texts]
    values = table.numeric(numbers)
    if not values.size or not np.isfinite(values).all():
        raise refused(f"{options.library}: must hold finite numbers, with none missing")
    called = _called(options.library, table.columns[texts[0]]) if texts else [str(i + 1) for i in range(len(values))]
    as_columns, as_rows = Library(values, numbers), Library(np.ascontiguousarray(values.T), called)
    if options.spectra is not None:
        return [as_columns if options.spectra == "columns" else as_rows]
    return [as_rows] if texts else [as_columns, as_rows]


def _called(source: str, column: Array) -> list[str]:
    """The names of spectra, each its own."""
    from fewatoms import names

    called = [f"spectrum {i + 1}" if name is None else str(name) for i, name in enumerate(column)]
    twice = sorted({name for name, count in Counter(called).items() if count > 1})
    if twice:
        raise refused(f"{source}: names of spectra must differ; {names.told(twice)} came more than once")
    return called


def _told(session: Session, answers: Solutions, library: Library, sides: tuple[int, int] | None) -> int:
    import numpy as np

    from fewatoms.cli.summary import plain
    from fewatoms.solution import Status

    amounts = answers.sparse.tocsc()  # spectra x pixels
    statuses = np.array([status.name for status in answers.status])
    bad, stopped = (int((statuses == name).sum()) for name in (Status.BAD_DATA.name, Status.STOPPED.name))
    whole = bool(answers.success) if not bad else stopped == 0 and bad < len(answers)  # gaps are what some pixels have
    success = whole and session.cut_short is None
    for number, why in ((bad, "have missing or infinite values"), (stopped, "were not reached before the end")):
        if number:
            session.note(f"{number} of {len(answers)} pixels {why}: no amounts")
    session.refuse_nothing(len(answers) - stopped)
    session.write("out", lambda path: _written(path, amounts, library.names, sides))
    session.write(
        "report",
        lambda path: answers.report(
            path, title=session.title, notes=session.notes, names=library.names, cols=_pixels(len(answers), sides),
            frame=sides, words=("pixel", "band"),
        ),
    )  # fmt: skip
    pixels, total = np.diff(amounts.tocsr().indptr), np.asarray(amounts.sum(axis=1)).ravel()
    order = [int(i) for i in np.argsort(-pixels, kind="stable") if pixels[i]]
    misfits = answers.misfit[np.isfinite(answers.misfit) & (statuses != Status.STOPPED.name)]
    middle = float(np.median(misfits)) if misfits.size else float("nan")
    used: list[Plain] = [
        {"name": library.names[i], "pixels": int(pixels[i]), "mean": plain(total[i] / pixels[i])} for i in order
    ]
    summary: dict[str, Plain] = {
        "data": {"source": session.options.data, "library": session.options.library, "pixels": len(answers),
                 "shape": plain(sides),
                 "bands": int(library.values.shape[0]), "spectra": len(library.names)},
        "asked": {"k": session.options.k, "signed": session.options.signed},
        "answer": {"success": success, "bad_pixels": bad, "stopped_pixels": stopped,
                   "misfit_median": plain(middle), "table": used},
    }  # fmt: skip
    table = [["spectrum", "pixels", "mean amount"]]
    table += [[library.names[i], str(pixels[i]), figure(total[i] / pixels[i])] for i in order[:COMMON]]
    lines = [
        f"{len(answers)} pixels, median misfit {figure(middle)}; {len(order)} of {len(library.names)} spectra used"
    ]
    return session.finish(success, summary, lines, table)


def _pixels(count: int, sides: tuple[int, int] | None) -> list[str]:
    """What pixels are called in a report: their numbers, as in the table, with row and column where those are known."""
    if sides is None:
        return [str(i + 1) for i in range(count)]
    return [f"{i + 1} (row {i // sides[1] + 1}, column {i % sides[1] + 1})" for i in range(count)]


def _written(path: Path, amounts: sp.csc_array, names: list[str], sides: tuple[int, int] | None) -> None:
    """As a matrix, or as a table; pixels are numbered from 1, as everything is in tables."""
    import numpy as np

    from fewatoms import io

    if path.suffix.lower() in MATRICES:
        sparse = path.suffix.lower() == ".npz" and sides is None
        values = amounts.T.tocsr() if sparse else amounts.T.toarray()
        io.write_grid(path, values if sides is None else values.reshape(*sides, -1), names)
        return
    spectra = amounts.indices
    pixels = np.repeat(np.arange(amounts.shape[1]), np.diff(amounts.indptr))
    called = np.array(names, dtype=object)[spectra]
    where = {} if sides is None else {"row": pixels // sides[1] + 1, "column": pixels % sides[1] + 1}
    io.write_table(path, {"pixel": pixels + 1, **where, "spectrum": called, "amount": amounts.data})
