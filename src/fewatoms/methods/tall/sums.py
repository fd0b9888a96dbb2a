"""Sums over rows, made in one pass: what a task gives for one block of them. Workers have to be able to import it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from fewatoms._types import Array, FloatArray, Foreign, IntArray
from fewatoms.engines import Terms
from fewatoms.losses import Loss
from fewatoms.operators import passes

WORKED_ON = 1 << 19  # numbers of a block that are worked on at a time


def gram(A: Foreign, b: Array, F: Array | None, root: FloatArray | None) -> FloatArray:
    """Z'Z for Z = [F A b], rows times these factors."""
    if sp.issparse(A):
        return _sparse_gram(A, _beside(b, F, root), root)
    width = A.shape[1] + 1 + (0 if F is None else F.shape[1])
    total = np.zeros((width, width))
    for some in _few(A.shape[0], width):
        Z = _stacked(A, b, F, root, some)
        total += Z.T @ Z  # a symmetric product: half of the work
    return total


def grams(A: Foreign, b: Array, F: Array | None, root: FloatArray | None, labels: IntArray, count: int) -> FloatArray:
    """Z'Z of the rows with each label below `count`, and of those with a negative one, which come last."""
    width = A.shape[1] + 1 + (0 if F is None else F.shape[1])
    total = np.zeros((count + 1, width, width))
    for some in _few(A.shape[0], width):
        for label in np.unique(labels[some]):
            rows = some.start + np.flatnonzero(labels[some] == label)
            beside = (None if part is None else part[rows] for part in (F, root))
            total[label] += gram(A[rows], b[rows], *beside)
    return total


def _sparse_gram(A: Foreign, B: Array, root: FloatArray | None) -> FloatArray:
    """The same for rows with zeros."""
    weighted = A if root is None else sp.diags_array(root) @ A
    inside, across, q = (weighted.T @ weighted).toarray(), weighted.T @ B, B.shape[1] - 1
    n = A.shape[1]
    total = np.empty((n + q + 1, n + q + 1))
    total[q : q + n, q : q + n] = inside
    places = np.r_[0:q, q + n]
    total[np.ix_(places, places)] = B.T @ B
    total[q : q + n, places], total[places, q : q + n] = across, across.T
    return total


def _beside(b: Array, F: Array | None, root: FloatArray | None) -> Array:
    B = b[:, None] if F is None else np.concatenate([F, b[:, None]], axis=1)
    return B if root is None else root[:, None] * B


def _few(rows: int, width: int) -> list[slice]:
    step = max(width, WORKED_ON // width)
    return [slice(a, a + step) for a in range(0, rows, step)]


def _stacked(A: Foreign, b: Array, F: Array | None, root: FloatArray | None, some: slice) -> FloatArray:
    """Some rows of Z."""
    block = A[some].toarray() if sp.issparse(A) else A[some]
    q = 0 if F is None else F.shape[1]
    Z = np.empty((block.shape[0], q + A.shape[1] + 1))
    if F is not None:
        Z[:, :q] = F[some]
    Z[:, q:-1], Z[:, -1] = block, b[some]
    if root is not None:
        Z *= root[some, None]
    return Z


def squared(A: Foreign, F: Array | None) -> FloatArray:
    """The squared lengths of the columns of [F A]."""
    own = passes.squared(A, None)
    return own if F is None else np.concatenate([passes.squared(F, None), own])


@dataclass(frozen=True, eq=False)
class Triangle:
    """R of a QR decomposition of rows: those of two blocks together are that of both triangles, one below the other."""

    R: FloatArray

    def __add__(self, other: Triangle) -> Triangle:
        return Triangle(reduced(np.concatenate([self.R, other.R])))


def reduced(Z: FloatArray) -> FloatArray:
    """R, square: rows of zeros below where there are too few."""
    n = Z.shape[1]
    R = scipy.linalg.qr(Z, mode="r", overwrite_a=True, check_finite=False)[0][:n]
    return np.asarray(R if len(R) == n else np.concatenate([R, np.zeros((n - len(R), n))]))


def triangle(A: Foreign, b: Array, F: Array | None, root: FloatArray | None, scale: FloatArray) -> Triangle:
    """The triangle of Z, its columns times these factors."""
    held: FloatArray | None = None
    for some in _few(A.shape[0], 4 * scale.size):
        Z = _stacked(A, b, F, root, some) * scale
        held = reduced(Z if held is None else np.concatenate([held, Z]))
    return Triangle(np.zeros((scale.size, scale.size)) if held is None else held)


def parabola(
    A: Foreign, b: Array, F: Array | None, loss: Loss, x: FloatArray, v: FloatArray, scale: FloatArray, chords: bool
) -> Terms:
    """f(b - Ax - Fv), the gradient in (v, x) and the Hessian, for columns of [F A] times these factors; with `chords`
    the slope over the residual in the place of each curvature, where a loss is hardly bent any more."""
    left = _left(A, b, F, x, v)
    y = loss.gradient(left)
    bend = _chords(loss, left, y) if chords else loss.bend(left).diagonal
    n, q = A.shape[1], v.size
    slope, H = np.zeros(n + q), np.zeros((n + q, n + q))
    root = np.sqrt(np.maximum(bend, 0.0))
    for some in _few(A.shape[0], n + q + 1):
        Z = _stacked(A, np.zeros(len(b)), F, None, some)[:, :-1] * scale
        with np.errstate(invalid="ignore", over="ignore"):  # whoever asks looks at the sum
            slope -= Z.T @ y[some]
            Z *= root[some, None]
            H += Z.T @ Z
    return Terms((loss.value(left), slope, H))


def _chords(loss: Loss, left: FloatArray, y: FloatArray) -> FloatArray:
    """Slopes over residuals: the curvatures of a parabola that lies above a loss that is least at 0."""
    return np.divide(y, left, out=np.full(left.size, loss.smoothness), where=left != 0)


def _left(A: Foreign, b: Array, F: Array | None, x: FloatArray, v: FloatArray) -> FloatArray:
    """b - Ax - Fv."""
    inside = np.flatnonzero(x)
    block = A[:, inside]
    with np.errstate(invalid="ignore", over="ignore"):
        left = b - np.asarray(block @ x[inside], dtype=np.float64)
    return left if F is None else left - F @ v


def along(A: Foreign, b: Array, F: Array | None, loss: Loss, X: FloatArray, V: FloatArray) -> FloatArray:
    """f at several points: the rows of X and V."""
    return np.array([loss.value(_left(A, b, F, x, v)) for x, v in zip(X, V, strict=True)])
