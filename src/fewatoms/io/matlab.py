"""MATLAB's files: SciPy reads those up to version 7, h5py those of 7.3. Numbers and sparse matrices only."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from fewatoms._types import Foreign, Matrix
from fewatoms.io.memory import afford
from fewatoms.io.refused import Refused, borrowed, reading

NUMBERS = {"double", "single", "logical", "sparse"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
HDF5 = b"\x89HDF"
KIND = "a MATLAB file"


class Workspace:
    """The variables of a .mat file that are numbers, by name; each is read when it is asked for."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source = path, source
        with open(path, "rb") as stream:
            start = stream.read(516)
        self.later = start.startswith(HDF5) or start[512:].startswith(HDF5)
        with reading(source, KIND):
            found = self._listed_later() if self.later else _listed(path)
        self.shapes = {name: shape for name, (shape, kind) in found.items() if kind in NUMBERS}
        if not self.shapes:
            others = ", ".join(f"{name} ({kind})" for name, (_, kind) in list(found.items())[:5]) or "none"
            raise Refused(f"{source} must have a variable that is an array of numbers; it has {others}: save one")

    def read(self, name: str) -> Matrix:
        with reading(self.source, KIND):
            array = self._read_later(name) if self.later else self._read(name)
            return _checked(array) if sp.issparse(array) else np.asarray(array)

    def _read(self, name: str) -> Matrix:
        if not self._is_sparse(name):
            afford(f"{self.source}, variable {name!r},", 8 * prod(self.shapes[name]))
        return scipy.io.loadmat(self.path, variable_names=[name])[name]

    def _is_sparse(self, name: str) -> bool:
        return _listed(self.path)[name][1] == "sparse"

    def _h5(self) -> Foreign:
        h5py = borrowed("h5py", f"{self.source} is a MATLAB file of version 7.3, which")
        return h5py.File(self.path, "r")

    def _listed_later(self) -> dict[str, tuple[tuple[int, ...], str]]:
        with self._h5() as file:
            return {name: _told(thing) for name, thing in file.items() if not name.startswith("#")}

    def _read_later(self, name: str) -> Matrix:
        with self._h5() as file:
            thing = file[name]
            if "MATLAB_sparse" in thing.attrs:
                parts = (thing["data"], thing["ir"], thing["jc"])
                afford(f"{self.source}, variable {name!r},", sum(part.size * 8 for part in parts))
                return sp.csc_array(tuple(part[()] for part in parts), shape=self.shapes[name])
            afford(f"{self.source}, variable {name!r},", thing.size * thing.dtype.itemsize)
            return thing[()].T


def _listed(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    return {name: (tuple(map(int, shape)), kind) for name, shape, kind in scipy.io.whosmat(path)}


def _told(thing: Foreign) -> tuple[tuple[int, ...], str]:
    """Shape and class of a variable of version 7.3, whose arrays stand the other way round."""
    if "MATLAB_sparse" in thing.attrs:
        columns = thing["jc"].size - 1 if "jc" in thing else 0
        return (int(thing.attrs["MATLAB_sparse"]), columns), "sparse" if "data" in thing else "empty"
    kind = thing.attrs.get("MATLAB_class", b"unknown")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if "MATLAB_empty" in thing.attrs or not hasattr(thing, "shape") or thing.dtype.kind not in "fiub":
        return (), kind if kind not in NUMBERS else "empty"
    return tuple(reversed(thing.shape)), kind if kind in NUMBERS else "double"


def _checked(matrix: Matrix) -> Matrix:
    rows = sp.csr_array(matrix)
    rows.check_format(full_check=True)
    return rows
