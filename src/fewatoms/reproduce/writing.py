"""What was found, as files: tables in CSV, figures in PNG and SVG, all of it in one JSON and on one page."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import fewatoms
from fewatoms.io import Refused
from fewatoms.reproduce import data, page, published
from fewatoms.reproduce.contract import Cell, Drawing, Experiment, Findings, Settings, Table, Tree
from fewatoms.whole import replacing

RESULTS, PAGE = "reproduce.json", "index.html"
PACKAGES = ("numpy", "scipy", "numba", "matplotlib", "spgl1")
DOTS = 110  # an inch, of PNG files


@dataclass(frozen=True)
class Done:
    """An experiment that was run to its end."""

    experiment: Experiment
    findings: Findings
    seconds: float


def claim(folder: Path, *, overwrite: bool, beside: Sequence[Path] = ()) -> Path:
    """A folder that can be written to: new, empty, or one of ours that may be replaced. Nothing is left behind.

    beside : other files that will be written
    """
    for other in beside:
        if other.resolve() in ((folder / PAGE).resolve(), (folder / RESULTS).resolve()):
            raise Refused(f"outputs must have names of their own; {other} is one of the files in {folder}")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / RESULTS).is_file():
            raise Refused(f"output {folder} has other things in it: choose another name")
        if not overwrite:
            raise Refused(f"output {folder} is there already: choose another name, or say --overwrite")
    elif os.path.lexists(folder) and not folder.is_dir():
        raise Refused(f"output {folder} must be a folder; it is a file: choose another name")
    elif not folder.resolve().parent.is_dir():
        raise Refused(f"output {folder} must lie in a folder that is there: make {folder.resolve().parent} first")
    if not os.access(folder if folder.is_dir() else folder.resolve().parent, os.W_OK):
        raise Refused(f"output {folder} cannot be written: choose a folder that you may write to")
    return folder


def write(folder: Path, settings: Settings, done: Sequence[Done], cut: str | None = None) -> list[str]:
    """All files; their names. What an earlier run left there and this one has not is taken away.

    cut : why the work was ended before its end, and what is left out
    """
    before = _written_before(folder)
    folder.mkdir(exist_ok=True)
    files: dict[str, bytes] = {}
    pictures: dict[str, bytes] = {}
    for one in done:
        for table in [*one.findings.tables, *(f.points for f in one.findings.figures if f.points is not None)]:
            files[f"{table.name}.csv"] = as_csv(table).encode()
        for drawing in one.findings.figures:
            png, svg = drawn(drawing)
            files[f"{drawing.name}.png"], files[f"{drawing.name}.svg"] = png, svg
            pictures[drawing.name] = png
    told = as_json(settings, done, cut)
    files[PAGE] = page.html(done, told, pictures).encode()
    names = sorted([*files, RESULTS])
    text = json.dumps({**told, "files": names}, indent=1, allow_nan=False, ensure_ascii=False)
    files[RESULTS] = f"{text}\n".encode()
    for name, content in files.items():
        with replacing(folder / name) as beside:
            Path(beside).write_bytes(content)
    for name in before - set(files):
        (folder / name).unlink(missing_ok=True)
    return names


def _written_before(folder: Path) -> set[str]:
    """The files that an earlier run says it has written here."""
    try:
        names = json.loads((folder / RESULTS).read_text(encoding="utf-8"))["files"]
        return {name for name in names if Path(name).name == name and Path(name).suffix in (".csv", ".png", ".svg")}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


# Kinds of files -------------------------------------------------------------------------------------------------------


def as_csv(table: Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
    return text.getvalue()


def drawn(drawing: Drawing) -> tuple[bytes, bytes]:
    """A figure as PNG and SVG."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # texts stay texts, and ids the same each time
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": drawing.name, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=drawing.inches, layout="constrained")
        FigureCanvasAgg(figure)
        drawing.draw(figure)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # what is laid out stays so, for both files
        png, svg = io.BytesIO(), io.BytesIO()
        figure.savefig(png, format="png", dpi=DOTS)
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return png.getvalue(), svg.getvalue()


def as_json(settings: Settings, done: Sequence[Done], cut: str | None = None) -> Tree:
    """Everything but the drawings: what ran where, every table, every statement."""
    return {
        "schema": "fewatoms-reproduce",
        "version": 1,
        "paper": published.whole()["paper"],
        "settings": {"seed": settings.seed, "quick": settings.quick, "data": settings.data is not None},
        "data": data.told(settings),
        "cut_short": cut,
        "versions": versions(),
        "machine": machine(),
        "experiments": [_experiment(one) for one in done],
    }


def _experiment(one: Done) -> Tree:
    found = one.findings
    tables = [*found.tables, *(f.points for f in found.figures if f.points is not None)]
    return {
        "name": one.experiment.name,
        "title": one.experiment.title,
        "seconds": round(one.seconds, 2),
        "claims": [{"text": claim.text, "holds": bool(claim.holds)} for claim in found.claims],
        "notes": list(found.notes),
        "tables": [_table(table) for table in tables],
        "figures": [{"name": f.name, "title": f.title, "alt": f.alt} for f in found.figures],
    }


def _table(table: Table) -> Tree:
    rows = [[_plain(cell) for cell in row] for row in table.rows]
    return {
        "name": table.name,
        "title": table.title,
        "columns": list(table.columns),
        "published": list(table.published),
        "source": table.source,
        "rows": rows,
    }


def _plain(cell: Cell) -> Cell:
    """As JSON can hold it: numbers that are none become null."""
    if isinstance(cell, float) and not abs(cell) < float("inf"):
        return None
    return cell


def versions() -> Mapping[str, str | None]:
    return {"fewatoms": fewatoms.__version__, "python": platform.python_version()} | {
        name: _version(name) for name in PACKAGES
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def machine() -> Tree:
    return {"platform": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()}
