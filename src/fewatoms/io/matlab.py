"""MATLAB's files: SciPy reads those up to version 7, h5py those of 7.3. Numbers and sparse matrices only."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from fewatoms._types import Array, Foreign, Matrix
from fewatoms.io.arrays import in_rows
from fewatoms.io.mat5 import refuse_lies
from fewatoms.io.memory import afford
from fewatoms.io.refused import Refused, borrowed, reading

NUMBERS = {"double", "single", "logical", "sparse"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
FILTERS = {1, 2, 3}  # deflate, shuffle, checksums: what MATLAB writes, and HDF5 itself reads
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
            if not self.later:
                refuse_lies(path)
            found = self._listed_later() if self.later else _listed(path)
        self.shapes = {name: shape for name, (shape, kind) in found.items() if kind in NUMBERS}
        if not self.shapes:
            others = ", ".join(f"{name} ({kind})" for name, (_, kind) in list(found.items())[:5]) or "none"
            raise Refused(f"{source} must have a variable that is an array of numbers; it has {others}: save one")

    def read(self, name: str) -> Matrix:
        with reading(self.source, KIND):
            array = self._read_later(name) if self.later else self._read(name)
            return in_rows(self.source, array) if sp.issparse(array) else np.asarray(array)

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
            return {name: _told(file, name) for name in file if not name.startswith("#")}

    def _read_later(self, name: str) -> Matrix:
        with self._h5() as file:
            thing = file[name]
            if "MATLAB_sparse" in thing.attrs:
                parts = tuple(self._part(name, thing[part]) for part in ("data", "ir", "jc"))
                return sp.csc_array(parts, shape=self.shapes[name])
            return self._part(name, thing).T

    def _part(self, name: str, thing: Foreign) -> Array:
        """The numbers of a dataset that holds all that it declares."""
        afford(f"{self.source}, variable {name!r},", thing.size * thing.dtype.itemsize)
        refuse_elsewhere(thing)
        return thing[()]


def refuse_elsewhere(thing: Foreign) -> None:
    """Refuse datasets whose numbers are in other files, behind filters of somebody's own, or not there at all."""
    if thing.is_virtual or thing.external:
        raise ValueError("its numbers are in other files")
    told = thing.id.get_create_plist()
    filters = {told.get_filter(i)[0] for i in range(told.get_nfilters())}
    if filters - FILTERS:
        raise ValueError(f"its numbers are behind the filters {sorted(filters - FILTERS)}")
    if thing.chunks:
        pieces = prod(-(-side // piece) for side, piece in zip(thing.shape, thing.chunks, strict=True))
        there = thing.id.get_num_chunks() == pieces
    else:
        there = thing.id.get_storage_size() == thing.size * thing.dtype.itemsize
    if not there:
        raise ValueError(f"it declares the shape {tuple(reversed(thing.shape))} and does not have as many numbers")


def _listed(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    return {name: (tuple(map(int, shape)), kind) for name, shape, kind in scipy.io.whosmat(path)}


def _told(file: Foreign, name: str) -> tuple[tuple[int, ...], str]:
    """Shape and class of a variable of version 7.3, whose arrays stand the other way round. Links are not followed."""
    h5py = borrowed("h5py", "it")
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        return (), "link"
    thing = file[name]
    if "MATLAB_sparse" in thing.attrs:
        columns = thing["jc"].size - 1 if "jc" in thing else 0
        return (int(thing.attrs["MATLAB_sparse"]), columns), "sparse" if "data" in thing else "empty"
    kind = thing.attrs.get("MATLAB_class", b"unknown")
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if "MATLAB_empty" in thing.attrs or not hasattr(thing, "shape") or thing.dtype.kind not in "fiub":
        return (), kind if kind not in NUMBERS else "empty"
    return tuple(reversed(thing.shape)), kind if kind in NUMBERS else "double"
