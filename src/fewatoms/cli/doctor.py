"""`fewatoms doctor`: what is installed, what it runs on, what is missing."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib import metadata
from typing import TYPE_CHECKING

from fewatoms.cli.options import Commands, command
from fewatoms.cli.session import Session

if TYPE_CHECKING:
    from fewatoms.cli.summary import Plain

about = """\
Versions, threads, the linear algebra underneath, where compiled loops are kept and whether they are there;
and for what is missing, what it is for and the command that installs it."""
examples = """\
  fewatoms doctor
  fewatoms doctor --json
"""
NEEDED = ("numpy", "scipy", "numba", "threadpoolctl")
# package: (the extra that brings it, what it is for)
OPTIONAL = {
    "pyarrow": ("parquet", "Parquet and Feather files; CSV files are read faster"),
    "scikit-learn": ("sklearn", "estimators; libsvm files"),
    "h5py": ("hdf5", "MATLAB files of version 7.3"),
    "Pillow": ("images", "folders of images, GIF and TIFF for `fewatoms split`"),
    "rich": ("progress", "progress bars and tables with borders"),
    "matplotlib": ("plot", "figures: `fewatoms demo --figure`, `fewatoms path --plot`, `fewatoms reproduce`"),
}


def add(commands: Commands) -> None:
    command(commands, "doctor", run, said="what is installed, and what is missing", about=about, shown=examples)


def run(options: argparse.Namespace) -> int:
    import fewatoms
    from fewatoms import kernels
    from fewatoms.cli.summary import plain

    session = Session(options)
    found = {name: _version(name) for name in (*NEEDED, *OPTIONAL)}
    missing: dict[str, Plain] = {
        name: {"for": why, "install": f"pip install 'fewatoms[{extra}]'"}
        for name, (extra, why) in OPTIONAL.items()
        if found[name] is None
    }
    cache = _cache()
    blas = _blas()
    summary: dict[str, Plain] = {
        "versions": {"fewatoms": fewatoms.__version__, "python": platform.python_version(), **found},
        "platform": platform.platform(),
        "threads": {"cores": os.cpu_count(), "loops": kernels.threads()},
        "blas": plain(blas),
        "cache": plain(cache),
        "missing": missing,
    }
    table = [["what", "found"], ["fewatoms", fewatoms.__version__], ["python", sys.version.split()[0]]]
    table += [[name, version or "missing"] for name, version in found.items()]
    table += [["platform", platform.platform()], ["threads", f"{kernels.threads()} of {os.cpu_count()} cores"]]
    table += [["BLAS", f"{b['library']} {b['version']}, {b['threads']} threads"] for b in blas]
    table += [["compiled searches", cache["state"]], ["kept in", cache["folder"] or "no folder can be written to"]]
    lines = [f"{name} is missing: {OPTIONAL[name][1]}: pip install 'fewatoms[{OPTIONAL[name][0]}]'" for name in missing]
    if cache["state"] not in ("ready", "off"):
        lines.append("compiled searches are made on first use; at once: python -m fewatoms.gram.build")
    return session.finish(all(found[name] for name in NEEDED), summary, lines or ["Nothing is missing."], table)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> list[dict[str, str]]:
    import numpy.linalg  # noqa: F401 - so that its library is loaded
    import threadpoolctl

    return [
        {"library": str(one["internal_api"]), "version": str(one["version"]), "threads": str(one["num_threads"])}
        for one in threadpoolctl.threadpool_info()
        if one["user_api"] == "blas"
    ]


def _cache() -> dict[str, str]:
    """Where machine code of the searches is kept, and how much of it there is."""
    from fewatoms.gram import build, disk

    place = disk.folder()
    there = [search for search in build.samples() if disk.has(search)]
    if os.environ.get("FEWATOMS_KERNELS") == "off":
        state = "off"
    else:
        state = "ready" if len(there) == len(build.samples()) else f"{len(there)} of {len(build.samples())}"
    return {"folder": "" if place is None else str(place), "state": state}
