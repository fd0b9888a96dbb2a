"""MatrixMarket and libsvm files, which SciPy and scikit-learn read."""

from __future__ import annotations

from pathlib import Path

import scipy.io
import scipy.sparse as sp

from fewatoms._types import Array, Matrix
from fewatoms.io.memory import afford
from fewatoms.io.refused import Refused, borrowed, reading
from fewatoms.io.text import refuse_odd

ENTRY = 24  # bytes of one entry while it is read: two places and a number
SHORTEST = 4  # bytes of one entry of a sparse matrix in text: "1 1" and the end of the line


def read_market(path: Path, source: str) -> Matrix:
    """The matrix of a .mtx file: a COO array, or an array where all entries are there."""
    with reading(source, "a MatrixMarket file"):
        refuse_odd(path, source)
        rows, columns, entries, layout, field, symmetry = scipy.io.mminfo(path)
        if symmetry != "general" and rows != columns:
            raise ValueError(f"{symmetry}, and of shape {rows} x {columns}")
        dense = layout == "array"
        afford(source, 8 * rows * columns if dense else ENTRY * entries + 8 * (rows + columns))
        # A number and the end of its line; symmetric matrices are told by half of their entries.
        shortest = rows * columns if dense else SHORTEST * entries
        there = path.stat().st_size
        if path.suffix.lower() != ".gz" and shortest > there + 1:
            raise Refused(
                f"{source} declares {entries} entries and has {there} bytes: it was cut short; write it again"
            )
        if field == "complex":
            raise Refused(f"{source} has complex numbers, and real ones are needed: write its real part")
        return scipy.io.mmread(path, spmatrix=False)


def read_svm(path: Path, source: str) -> tuple[Matrix, Array]:
    """The matrix and the labels of a libsvm file."""
    datasets = borrowed("sklearn.datasets", f"{source} is a libsvm file, which")
    with reading(source, "a libsvm file"):
        values, target = datasets.load_svmlight_file(str(path))
        afford(source, 8 * sum(values.shape))
        return sp.csr_array(values), target
