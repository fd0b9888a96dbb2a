"""One operator applied to several columns at once: several data vectors that share their atoms."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks
from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.operators.base import Operator


class Several(Operator):
    """X -> M X for X with `count` columns; data are m x count, flat in C order. A product here is `count` with M."""

    by_columns = True

    def __init__(self, M: Operator, count: int) -> None:
        self.M, self.count = M, count
        self.shape = (M.shape[0] * count, M.shape[1] * count)
        self.explicit = M.explicit

    @property
    def model_shape(self) -> tuple[int, ...]:
        return (self.M.shape[1], self.count)

    def read_data(self, b: Any) -> FloatArray:
        shape = (self.M.shape[0], self.count)
        if np.shape(b) not in (shape, (self.shape[0],)):
            raise ValueError(f"b must have shape {shape} or be flat; got shape {np.shape(b)}")
        return _checks.real_vector("b", b, self.shape[0])

    def apply(self, x: Array) -> FloatArray:
        return np.asarray(self.M.apply_block(x.reshape(-1, self.count))).ravel()

    def adjoint(self, y: FloatArray) -> ModelDual:
        return np.asarray(self.M.adjoint_block(y.reshape(-1, self.count))).ravel()

    def subset(self, rows: IntArray) -> Operator:
        """For some of the data; whole rows of b stay together."""
        whole = rows.reshape(-1, self.count) if rows.size % self.count == 0 else rows[:0].reshape(0, self.count)
        first = whole[:, 0] // self.count if whole.size else rows[:0]
        if rows.size and np.array_equal(whole, first[:, None] * self.count + np.arange(self.count)):
            return Several(self.M.subset(first), self.count)
        return super().subset(rows)

    def columns(self, indices: IntArray) -> Any:
        row, which = np.divmod(indices, self.count)
        block = self.M.columns(row)
        spread = sp.coo_array(block)
        return sp.csc_array(
            (spread.data, (spread.row * self.count + which[spread.col], spread.col)),
            shape=(self.shape[0], indices.size),
        )

    def column_lengths(self, weights: FloatArray | None = None) -> FloatArray | None:
        if weights is not None:
            split = [self.M.column_lengths(np.ascontiguousarray(w)) for w in weights.reshape(-1, self.count).T]
            return None if any(s is None for s in split) else np.stack(split, axis=1).ravel()  # type: ignore[arg-type]
        lengths = self.M.column_lengths()
        return None if lengths is None else np.repeat(lengths, self.count)

    def column_norms(self) -> FloatArray | None:
        norms = self.M.column_norms()
        return None if norms is None else np.repeat(norms, self.count)

    def block_norms(self, blocks: list[IntArray]) -> FloatArray | None:
        norms = self.column_norms()
        # columns of different data are orthogonal; within one data vector the sum of squares bounds the norm
        return None if norms is None else np.array([np.sqrt(_largest(norms, b, self.count)) for b in blocks])


def _largest(norms: FloatArray, block: IntArray, count: int) -> float:
    return float(np.bincount(block % count, weights=norms[block] ** 2).max())
