"""A matrix of numbers from any file that holds one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from fewatoms import names as naming
from fewatoms._types import Array, Matrix
from fewatoms.io.arrays import Archive, header, read_npy
from fewatoms.io.columns import stored_table, typed_table
from fewatoms.io.endings import MARKET, READ, SVM, PathLikeStr, input_file, keyed
from fewatoms.io.market import read_market, read_svm
from fewatoms.io.matlab import Workspace
from fewatoms.io.memory import afford
from fewatoms.io.records import Grid, asked
from fewatoms.io.refused import Refused, fitting, reading

MATRIX, TARGET, NAMES = "X", "y", "names"  # what arrays are called where nobody says which
MODEL = "fewatoms"  # what files of answers have


class Store(Protocol):
    """Arrays by name."""

    source: str

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]: ...

    def read(self, name: str) -> Matrix: ...


@fitting
def read_grid(path: PathLikeStr, *, key: str | None = None) -> Grid:
    """Read a matrix of numbers: arrays, sparse arrays, MatrixMarket, libsvm, MATLAB, or a table all of whose columns
    are numbers. `key` names the array of a .npz or .mat file that has several; so does a path such as data.npz:X.

    NaN stands for what is missing. Nothing is unpickled; a size that does not fit into memory is refused unread.
    """
    path, named = keyed(path)
    key = named if key is None else key
    file, source, kind = input_file(path, READ)
    if key is not None and kind not in {".npz", ".mat"}:
        raise Refused(f"key chooses an array of a .npz or .mat file; {source} is neither: leave it out")
    return stored_grid(file, source, kind, key) if kind in ARRAYS_READ else _from_table(file, source, kind)


@fitting
def read_scene(path: PathLikeStr) -> Grid:
    """Read pixels and bands: a matrix as `read_grid` does, or a cube (height, width, bands) of a .npy, .npz or .mat
    file, whose pixels become the rows of a matrix, line after line; `sides` are its height and width."""
    path, key = keyed(path)
    file, source, kind = input_file(path, READ)
    cube = _cube(file, source, kind, key) if kind in {".npy", ".npz", ".mat"} else None
    if cube is None:
        return read_grid(path, key=key)
    height, width, bands = cube.shape
    values = tidy(f"{source}, as pixels and bands,", np.reshape(cube, (height * width, bands)))
    return Grid(values, None, None, source, (height, width))


def _cube(path: Path, source: str, kind: str, key: str | None) -> Array | None:
    """The one array of three axes, where there is no matrix to be meant, or the one that is named."""
    if kind == ".npy":
        with reading(source, "an array in NumPy's format"), open(path, "rb") as stream:
            axes = len(header(stream, source).shape)
        return read_npy(path, source) if axes == 3 else None
    store: Store = Archive(path, source) if kind == ".npz" else Workspace(path, source)
    cubes = [name for name, shape in store.shapes.items() if len(shape) == 3]
    named = [name for name in cubes if name == (key or MATRIX)] or ([] if key else cubes)
    return dense(store.read(named[0])) if len(named) == 1 else None


def stored_grid(path: Path, source: str, kind: str, key: str | None) -> Grid:
    """A matrix from a file of arrays."""
    return ARRAYS_READ[kind](path, source, key)


def _npy(path: Path, source: str, key: str | None) -> Grid:
    return Grid(tidy(source, read_npy(path, source)), None, None, source)


def _npz(path: Path, source: str, key: str | None) -> Grid:
    archive = Archive(path, source)
    if MODEL in archive.headers:
        raise Refused(f"{source} is an answer that fewatoms saved, not data: read it with fewatoms.load or predict")
    if key is None and archive.is_sparse:
        values = tidy(source, archive.sparse())
        return Grid(values, _names(archive, values.shape[1]), None, source)
    if key is None and not any(len(shape) > 1 for shape in archive.shapes.values()):
        table = stored_table(archive)
        return Grid(table.numeric(), table.names, None, source)
    found = _chosen(archive, key)
    return Grid(found.values, _names(archive, found.values.shape[1]), found.target, source)


def _names(archive: Archive, count: int) -> tuple[str, ...] | None:
    """Those of so many columns, if they are there."""
    told = archive.headers.get(NAMES)
    named = told is not None and told.dtype.kind == "U" and told.shape == (count,)
    return tuple(map(str, archive.read(NAMES))) if named else None


def _mat(path: Path, source: str, key: str | None) -> Grid:
    return _chosen(Workspace(path, source), key)


def _mtx(path: Path, source: str, key: str | None) -> Grid:
    return Grid(tidy(source, read_market(path, source)), None, None, source)


def _svm(path: Path, source: str, key: str | None) -> Grid:
    values, target = read_svm(path, source)
    return Grid(tidy(source, values), None, target, source)


def _from_table(path: Path, source: str, kind: str) -> Grid:
    table = typed_table(path, source, kind, None)
    afford(source, 8 * table.rows * len(table.names))
    return Grid(table.numeric(), table.names, None, source)


ARRAYS_READ: dict[str, Callable[[Path, str, str | None], Grid]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".mat": _mat,
    **dict.fromkeys(MARKET, _mtx),
    **dict.fromkeys(SVM, _svm),
}


def _chosen(store: Store, key: str | None) -> Grid:
    """The matrix of a file of several arrays, and y where it has as many numbers as the matrix has rows."""
    name = _called(store, key)
    values = tidy(f"{store.source}, array {name!r},", store.read(name))
    beside = store.shapes.get(TARGET, ())
    fits = name != TARGET and sorted(beside)[-1:] == [values.shape[0]] and int(np.prod(beside)) == values.shape[0]
    target = store.read(TARGET) if fits else None
    if target is not None:
        target = tidy(f"{store.source}, array {TARGET!r},", np.reshape(dense(target), -1))[:, 0]
    return Grid(values, None, target, store.source)


def _called(store: Store, key: str | None) -> str:
    shapes = store.shapes
    if key is not None:
        asked(store.source, (key,), tuple(shapes))
        return key
    matrices = [name for name, shape in shapes.items() if len(shape) == 2 and name != TARGET and min(shape) > 1]
    others = [name for name in shapes if name != TARGET] or list(shapes)
    for some in (matrices, others):
        if len(some) == 1:
            return some[0]
        if MATRIX in some:
            return MATRIX
    arrays = {name: shape for name, shape in shapes.items() if shape}
    told = ", ".join(f"{name} ({' x '.join(map(str, shape))})" for name, shape in list(arrays.items())[: naming.SHOWN])
    largest = max(arrays, key=lambda name: int(np.prod(arrays[name])), default=MATRIX)
    raise Refused(
        f"{store.source} must have one matrix, or one that is called {MATRIX}; it has {told or 'no arrays'}: name the "
        f"one that is meant, such as {store.source}:{largest}, or keep that one alone"
    )


def tidy(source: str, values: Matrix) -> Matrix:
    """Real numbers in two axes: float32 as they come, others as float64; a vector is one column."""
    if values.dtype.kind not in "fiub":
        what = "complex numbers" if values.dtype.kind == "c" else f"values of type {values.dtype}"
        raise Refused(f"{source} must have real numbers; it has {what}: save the numbers that are meant")
    if values.ndim > 2 or values.ndim == 0:
        raise Refused(
            f"{source} must have two axes, rows and columns; its shape is {values.shape}: reshape it (pixels of a "
            "scene are rows, its bands columns)"
        )
    if 0 in values.shape:
        raise Refused(
            f"{source} must have at least one row and one column; its shape is {values.shape}: write it again"
        )
    single = values.dtype == np.float32
    if not single and values.dtype != np.float64:
        afford(source, 8 * (values.nnz if sp.issparse(values) else values.size))
    numbers = values if single else values.astype(np.float64, copy=False)
    if sp.issparse(numbers):
        afford(source, 8 * sum(numbers.shape))
        return sp.csr_array(numbers)
    return np.ascontiguousarray(numbers.reshape(len(numbers), -1))


def dense(values: Matrix) -> Array:
    """Sparse arrays filled in; others as they are."""
    filled: Array = values.toarray() if sp.issparse(values) else values
    return filled
