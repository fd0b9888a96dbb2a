"""Counting from outside."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator


class Counted(LinearOperator):  # type: ignore[misc]
    """Any operator or matrix, with its products counted; a block of p vectors counts p."""

    def __init__(self, M: Any) -> None:
        self.inner, self.products = M, 0
        self._back = M.H if isinstance(M, LinearOperator) else M.T
        super().__init__(np.dtype(np.float64), M.shape)

    def _matvec(self, x: Any) -> Any:
        return self._matmat(x)

    def _rmatvec(self, y: Any) -> Any:
        return self._rmatmat(y)

    def _matmat(self, X: Any) -> Any:
        self.products += X.shape[1] if X.ndim == 2 else 1
        return self.inner @ X

    def _rmatmat(self, Y: Any) -> Any:
        self.products += Y.shape[1] if Y.ndim == 2 else 1
        return self._back @ Y
