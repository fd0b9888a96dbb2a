"""What is done with one block of rows in a pass, on whatever worker has it: functions that a worker can import.

Sums are in double precision, since certificates rest on them: blocks of single precision are converted a few rows at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, frames, kernels
from fewatoms._types import Array, FloatArray, Foreign, IntArray
from fewatoms.capabilities import RowWise
from fewatoms.engines import Terms
from fewatoms.operators.boxes import refuse_complex

CONVERTED = 1 << 18  # numbers converted or squared at a time: they stay in the cache
STREAMED = 1 << 21  # numbers of a block from which on compiled loops repay what it takes to load them
FEW = 4  # columns that a product goes through in the time in which one is picked out
READ_AT_MOST = 50_000_000  # numbers of some rows that are read into memory


@dataclass(eq=False)
class Told:
    """What a block is said to be; what nobody has said the first look at it has to tell.

    shape : None until then
    called : what its columns are called, if it is a frame: one list for all blocks of a matrix, as far as they are
        loaded in one process, and empty until the first has come
    """

    shape: tuple[int, int] | None = None
    called: list[list[object]] = field(default_factory=list)


def ready(block: Foreign, told: Told) -> Foreign:
    """A block as it is worked with, whatever was loaded: rows of real numbers, in single or double precision."""
    frame = None if sp.issparse(block) else frames.framed("M", block)
    if frame is not None:
        _refuse_others(frame.labels, told.called)
    block = _numbers(block, frame)
    told.shape = told.shape or sizes(block)
    if block.shape != told.shape:
        raise ValueError(f"a block of rows must have the shape {told.shape} that was told of it; got {block.shape}")
    return block


def _refuse_others(labels: list[object], called: list[list[object]]) -> None:
    """Columns of frames are told apart by their places: in another order they would be taken for others."""
    if not called:
        called.append(labels)
    elif labels != called[0]:
        i = next((i for i, (a, b) in enumerate(zip(labels, called[0], strict=False)) if a != b), None)
        told = f"got {len(labels)} and {len(called[0])}" if i is None else f"got {labels[i]!r} and {called[0][i]!r}"
        raise ValueError(f"blocks of rows that are frames must have the same columns in the same order; {told}")


def _numbers(block: Foreign, frame: frames.Frame | None) -> Foreign:
    _checks.unmasked("blocks of rows", block)
    block = block.tocsr() if sp.issparse(block) else np.asarray(block if frame is None else frame.numbers())
    if block.dtype.kind not in "biufc":
        raise TypeError(f"blocks of rows must hold real numbers; got an array of {block.dtype}")
    refuse_complex(block.dtype, "M")
    if block.ndim != 2:
        raise ValueError(f"blocks of rows must have 2 axes; got shape {block.shape}")
    return block if block.dtype in (np.float64, np.float32) else block.astype(np.float64)


def sizes(A: Foreign) -> tuple[int, int]:
    """Rows and columns."""
    return int(A.shape[0]), int(A.shape[1])


def pieces(A: Foreign) -> Iterator[tuple[slice, Array]]:
    """A few rows at a time in double precision; all at once where nothing is converted."""
    if sp.issparse(A) or A.dtype == np.float64:
        yield slice(None), A
        return
    for some in slices(A):
        yield some, np.asarray(A[some], dtype=np.float64)


def streamed(A: Foreign) -> bool:
    """Whether compiled loops go through a block: for single vectors they are faster than BLAS, and need no second copy
    of rows in single precision."""
    return not sp.issparse(A) and A.size >= STREAMED and A.flags.c_contiguous and A.flags.aligned


def images(A: Foreign, X: Array) -> Array:
    """A X."""
    inside = np.flatnonzero(X.any(axis=1))
    if FEW * inside.size <= A.shape[1]:
        return np.asarray(taken(A, inside) @ X[inside])
    out = np.zeros((A.shape[0], X.shape[1]))
    if X.shape[1] == 1 and streamed(A):
        kernels.streams().image(A, np.ascontiguousarray(X[:, 0], dtype=np.float64), out[:, 0])
        return out
    for some, piece in pieces(A):
        with np.errstate(invalid="ignore", over="ignore"):  # what comes is looked at when all of it is there
            out[some] = (piece @ X[:, 0])[:, None] if X.shape[1] == 1 else piece @ X
    return out


def pulled(A: Foreign, Y: Array) -> Array:
    """A' Y."""
    total = np.zeros((A.shape[1], *Y.shape[1:]))
    if Y.ndim == 1 and streamed(A):
        kernels.streams().pulled(A, np.ascontiguousarray(Y, dtype=np.float64), total)
        return total
    for some, piece in pieces(A):
        with np.errstate(invalid="ignore", over="ignore"):
            total += piece.T @ Y[some]
    return total


def taken(A: Foreign, indices: IntArray) -> Foreign:
    """The columns of these indices."""
    if sp.issparse(A):
        return A[:, indices].astype(np.float64, copy=False)
    return np.asarray(np.take(A, indices, axis=1), dtype=np.float64)


def picked(A: Foreign, rows: IntArray) -> Foreign:
    """These rows."""
    return A[rows] if sp.issparse(A) else np.asarray(A[rows], dtype=np.float64)


def squared(A: Foreign, weights: FloatArray | None) -> FloatArray:
    """The sums of the squares of all columns, times these weights."""
    if sp.issparse(A):
        squares = A.multiply(A)
        return np.asarray((squares if weights is None else squares.multiply(weights[:, None])).sum(axis=0)).ravel()
    total = np.zeros(A.shape[1])
    for some in slices(A):
        piece = np.asarray(A[some], dtype=np.float64)
        with np.errstate(over="ignore"):
            total += np.einsum("ij,ij->j", piece if weights is None else piece * weights[some, None], piece)
    return total


def surveyed(A: Foreign, y: FloatArray, weights: FloatArray | None) -> Terms:
    """The squared lengths of all columns and A'y, looking at a few rows at a time."""
    if sp.issparse(A):
        return Terms((squared(A, weights), np.asarray(A.T @ y)))
    squares, z = np.zeros(A.shape[1]), np.zeros(A.shape[1])
    if streamed(A):
        given = np.ones(len(y)) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        kernels.streams().surveyed(A, np.ascontiguousarray(y, dtype=np.float64), given, z, squares)
        return Terms((squares, z))
    for some in slices(A):
        piece = np.asarray(A[some], dtype=np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            z += piece.T @ y[some]
            squares += np.einsum("ij,ij->j", piece if weights is None else piece * weights[some, None], piece)
    return Terms((squares, z))


def refuse_odd(rows: RowWise, m: int) -> None:
    """Say where a matrix holds something else than finite numbers: one more pass, if sums have told that it does."""
    rows.over_rows(refused, parts=(np.arange(m),))
    raise ValueError("M must hold finite numbers only, of sizes whose squares are finite; some are not")


def refuse_infinite(rows: RowWise, m: int, found: Array) -> None:
    """The same where what came of a pass is not finite, and what went in was."""
    with np.errstate(invalid="ignore", over="ignore"):
        suspect = not np.isfinite(found.sum())
    if suspect and not np.isfinite(found).all():
        refuse_odd(rows, m)


def refused(A: Foreign, places: IntArray) -> int:
    """Raises an error if there is one in this block."""
    for some in slices(A):
        piece = A[some]
        row = piece if not sp.issparse(piece) else piece.toarray()
        if not np.isfinite(row).all():
            i, j = np.argwhere(~np.isfinite(row))[0]
            raise ValueError(
                f"M must hold finite numbers only; got {row[i, j]} in row {places[some][i]}, column {j} (both from 0)"
            )
    return 0


def slices(A: Foreign) -> Iterator[slice]:
    """A few rows at a time, which stay in the cache."""
    rows = max(1, CONVERTED // A.shape[1])
    return (slice(start, start + rows) for start in range(0, A.shape[0], rows))


def rooted(squares: FloatArray) -> FloatArray:
    """Lengths from their squares."""
    return np.asarray(np.sqrt(squares))


def spread(A: Foreign, part: tuple[Array | None, ...], task: Callable[..., Foreign], *shared: object) -> Foreign:
    """A task with several parts that are as long as the data."""
    return task(A, *part, *shared)
