"""M: measurement operators. `as_operator` is the door for everything a user may pass."""

from __future__ import annotations

from os import PathLike

import numpy as np
import scipy.sparse as sp

from fewatoms import frames
from fewatoms._types import Array
from fewatoms.operators.base import Operator
from fewatoms.operators.boxes import BlackBox, OwnBox
from fewatoms.operators.composed import Composed
from fewatoms.operators.counting import Counting, Metered
from fewatoms.operators.diffraction import CodedDiffraction
from fewatoms.operators.identity import Identity
from fewatoms.operators.matrix import MatrixOperator
from fewatoms.operators.projected import Projected
from fewatoms.operators.quadratic import Quadratic
from fewatoms.operators.row_blocks import RowBlocks
from fewatoms.operators.rows import Rows
from fewatoms.operators.sampling import Margins, Sampling, by_lines
from fewatoms.operators.several import Several
from fewatoms.operators.wrapper import Wrapper

BLOCKED = ("dask", "dask_expr", "zarr")  # whose arrays and frames are blocks of rows
ON_DISK = 1 << 28  # bytes from which on a memory map is worked with a block of rows at a time


def on_disk(M: object) -> bool:
    """Whether M is a large memory map whose rows lie one after the other."""
    return isinstance(M, np.memmap) and M.ndim == 2 and M.nbytes >= ON_DISK and M.flags.c_contiguous


def as_operator(M: object, name: str = "M") -> Operator:
    """M as an operator of fewatoms.

    Parameters
    ----------
    M : one of ours, an array, a sparse matrix, a data frame, a Path, or anything with shape and products
        Products are called matvec and rmatvec, or apply and adjoint. What a Path names is seen in blocks of rows.
    name : str
        That of the argument, for messages.
    """
    if isinstance(M, Operator):
        return M
    if isinstance(M, type):
        raise TypeError(f"{name} must be an object, not a class; got {M.__name__}")
    if type(M).__module__.partition(".")[0] in BLOCKED or on_disk(M) or isinstance(M, PathLike):
        return RowBlocks.of(M)
    if sp.issparse(M) or isinstance(M, np.ndarray):
        return MatrixOperator(M, name=name)
    frame = frames.framed(name, M)
    if frame is not None:
        operator = MatrixOperator(frame.numbers(), frame.names(), name=name)
        operator.framed = frame.maker
        return operator
    if hasattr(M, "matvec") and hasattr(M, "rmatvec"):
        return BlackBox(M, name)
    if hasattr(M, "shape") and hasattr(M, "apply") and hasattr(M, "adjoint"):
        return OwnBox(M, name)
    if hasattr(M, "__array__") or isinstance(M, (list, tuple)):
        return MatrixOperator(_as_array(M, name), name=name)
    raise TypeError(
        f"{name} must be an array, a SciPy sparse matrix, a data frame, a LinearOperator (anything with shape, matvec "
        f"and rmatvec), anything with shape, apply and adjoint, a Path, or one of fewatoms' operators, such as "
        f"RowBlocks.of(name) for a file; got {type(M).__name__}"
    )


def _as_array(M: object, name: str) -> Array:
    try:
        return np.asarray(M)
    except ValueError:
        raise ValueError(f"{name} must be a matrix, with rows of one length; got rows of different lengths") from None


__all__ = [
    "BlackBox",
    "CodedDiffraction",
    "Composed",
    "Counting",
    "Identity",
    "Margins",
    "MatrixOperator",
    "Metered",
    "Operator",
    "OwnBox",
    "Projected",
    "Quadratic",
    "RowBlocks",
    "Rows",
    "Sampling",
    "Several",
    "Wrapper",
    "as_operator",
    "by_lines",
]
