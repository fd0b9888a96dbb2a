"""Data files of a folder that the user names, read with one line of words for what is wrong with them."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fewatoms._types import Array, FloatArray
from fewatoms.io import Refused
from fewatoms.reproduce.contract import Settings

SPARCO_FILE = "sparco_authors.npz"
STATIONS_FILE = "weather_station_years.npz"
FACES_FILE = "faces_64_lights.npz"
# file: (the array that is needed, what it holds)
FILES = {
    SPARCO_FILE: ("blocksig", "the authors' data vectors"),
    STATIONS_FILE: ("tavg_x20", "station-years of daily temperatures"),
    FACES_FILE: ("faces", "one face under 64 lights"),
}


def checked(folder: Path | None) -> Path | None:
    """The folder, if it is one and something in it is of use; refused otherwise, before anything is done."""
    if folder is None:
        return None
    if not folder.is_dir():
        raise Refused(f"--data must be a folder that is there; {str(folder)!r} is {_what(folder)}: name another")
    found = [name for name in FILES if (folder / name).is_file()]
    if not found:
        raise Refused(f"--data must have at least one of {', '.join(FILES)}; {str(folder)!r} has none: name another")
    for name in found:
        arrays(folder / name, [FILES[name][0]])
    return folder


def told(settings: Settings) -> str:
    """Which files are used, in words."""
    found = [name for name in FILES if settings.file(name) is not None]
    used = [name for name in found if not (settings.quick and name == FACES_FILE)]
    if not found:
        return "everything generated"
    left = [f"{name} is left out with --quick" for name in found if name not in used]
    said = f"data of {', '.join(used)}, the rest generated" if used else "everything generated"
    return "; ".join([said, *left])


def _what(path: Path) -> str:
    return "a file" if path.exists() else "not there"


def arrays(path: Path, names: Sequence[str]) -> dict[str, Array]:
    """Arrays of a file of NumPy's."""
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [name for name in names if name not in file]
            if missing:
                raise Refused(f"{path} must have the array {missing[0]!r}; it has {', '.join(sorted(file)[:9])}")
            return {name: file[name] for name in names}
    except (ValueError, zipfile.BadZipFile, OSError, EOFError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused(f"{path} must be a file of NumPy's (.npz); it cannot be read: {error}") from error


def authors(settings: Settings, name: str) -> tuple[FloatArray, FloatArray] | None:
    """The data vector that the authors used for a Sparco problem, and the kernel of their convolution."""
    path = settings.file(SPARCO_FILE)
    if path is None or name not in ("blocksig", "cosspike", "spiketrn"):
        return None
    found = arrays(path, [name, "kernel"])
    return np.ravel(found[name]).astype(np.float64), np.ravel(found["kernel"]).astype(np.float64)


def station_years(settings: Settings) -> FloatArray | None:
    """Temperatures, a row for each station-year."""
    path = settings.file(STATIONS_FILE)
    return None if path is None else _matrix(path, arrays(path, ["tavg_x20"])["tavg_x20"]) / 20


def faces(settings: Settings) -> FloatArray | None:
    """Pictures of one face, values from 0 to 1; (lights, height, width)."""
    path = settings.file(FACES_FILE)
    if path is None:
        return None
    found = arrays(path, ["faces"])["faces"]
    if found.ndim != 3 or 0 in found.shape:
        raise Refused(f"faces of {path} must have three axes: lights, height, width; got the shape {found.shape}")
    return found / 255


def _matrix(path: Path, found: Array) -> FloatArray:
    if found.ndim != 2 or min(found.shape) < 12:
        raise Refused(f"tavg_x20 of {path} must be a matrix with at least 12 rows and columns; got {found.shape}")
    return found.astype(np.float64)
