"""Some rows of an operator: for holding data out."""

from __future__ import annotations

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray, ModelDual
from fewatoms.operators.base import Operator


class Rows(Operator):
    """x -> (Mx)[rows], for operators that offer no better way to leave data out."""

    def __init__(self, M: Operator, rows: IntArray) -> None:
        self.M, self.kept = M, rows
        self.shape = (rows.size, M.shape[1])
        self.explicit, self.complex = M.explicit, M.complex

    @property
    def model_shape(self) -> tuple[int, ...]:
        return self.M.model_shape

    def apply(self, x: Array) -> FloatArray:
        return self.M.apply(x)[self.kept]

    def apply_factors(self, U: Array, V: Array) -> FloatArray:
        return self.M.apply_factors(U, V)[self.kept]

    def adjoint(self, y: FloatArray) -> ModelDual:
        whole = np.zeros(self.M.shape[0])
        whole[self.kept] = y
        return self.M.adjoint(whole)

    def columns(self, indices: IntArray) -> Array:
        return self.M.columns(indices)[self.kept]

    def subset(self, indices: IntArray) -> Operator:
        return self.M.subset(self.kept[indices])

    def block_norms(self, blocks: list[IntArray]) -> FloatArray | None:
        return self.M.block_norms(blocks)  # leaving rows out shortens columns

    def rank_one_norm(self) -> float | None:
        return self.M.rank_one_norm()

    def psd_norm(self) -> float | None:
        return self.M.psd_norm()
