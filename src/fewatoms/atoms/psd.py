"""Positive semidefinite rank-one matrices: low rank and PSD, real or complex."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fewatoms import _checks, linalg, norms
from fewatoms._types import Array, BudgetLike, FloatArray, Matrix, ModelDual
from fewatoms.atoms.base import AtomicSet, Combination, int_of
from fewatoms.capabilities import Shrinkage
from fewatoms.faces import SymmetricFactors, hermitian_coordinates
from fewatoms.kept import Kept
from fewatoms.rounding import DECOMPOSED, Summed, gamma

if TYPE_CHECKING:
    from fewatoms.operators import Operator


class PSDRankOne(AtomicSet):
    """A = {v v^H : |v| = 1}, n x n; whether v is real or complex is the operator's choice.

    The gauge is the trace on the PSD cone (infinite elsewhere), the support function max(largest eigenvalue, 0). Only
    the Hermitian part of z counts. A face of k atoms is the set of all V C V^H with C PSD.

    With Sampling, entries of one triangle or of both may be given; where (i, j) and (j, i) differ, least squares fits
    their mean.

    Parameters
    ----------
    n : int
        Rows, and columns.
    """

    attained = takes_complex = True

    def __init__(self, n: int) -> None:
        n = _checks.integer("n", n, 1)
        self.shape = (n, n)

    def __repr__(self) -> str:
        return f"PSDRankOne({self.shape[0]})"

    @property
    def count(self) -> int:
        return self.shape[0]

    def kept(self) -> Kept:
        return Kept(type(self).__name__, {"shape": [*self.shape]})

    def _matrix(self, z: ModelDual) -> Matrix:
        return linalg.hermitian_part(z, self.shape[0])

    def gauge(self, x: Array) -> float:
        x = self.read_point(x)
        scale = float(np.abs(x).max())
        if np.abs(x - x.conj().T).max() > 1e-10 * scale:
            return math.inf
        values = np.linalg.eigvalsh(0.5 * (x + x.conj().T))
        return float(np.trace(x).real) if values[0] >= -1e-10 * scale else math.inf

    def support(self, z: ModelDual) -> float:
        return max(0.0, float(linalg.top_eigh(self._matrix(z), 1)[0][0]))

    def expose(self, z: ModelDual, k: BudgetLike) -> SymmetricFactors:
        matrix, k = self._matrix(z), int_of(k)
        if k == 0:
            return SymmetricFactors(np.zeros((self.shape[0], 0), dtype=matrix.dtype))
        return SymmetricFactors(linalg.top_eigh(matrix, k)[1])

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> SymmetricFactors:
        limit = min(self.count, self.count if limit is None else max(limit, least))
        if limit == 0:
            return self.expose(z, 0)
        matrix = self._matrix(z)
        k = min(limit, max(4, least))
        while True:
            values, vectors = linalg.top_eigh(matrix, k)
            level = max(0.0, float(values[0])) - eps
            if k == limit or values[-1] < level:
                return SymmetricFactors(vectors[:, : max(np.count_nonzero(values >= level), least)])
            k = min(limit, 2 * k)

    def extreme(self, z: ModelDual, tie: float = 0.0) -> tuple[float, SymmetricFactors]:
        values, vectors = linalg.top_eigh(self._matrix(z), 1)
        top = float(values[0])
        return max(0.0, top), SymmetricFactors(vectors if top >= 0 else vectors[:, :0])

    def spanned(self, L: Array) -> SymmetricFactors:
        return SymmetricFactors(np.linalg.qr(L)[0])

    def spectrum(self, z: ModelDual, k: int) -> FloatArray:
        return linalg.top_eigh(self._matrix(z), k)[0]

    def operator_norm(self, M: Operator) -> float | None:
        return norms.psd_norm(M)

    def off_by(self, summed: Summed) -> float:
        """Eigenvalues are off by no more than some roundings of the length of z."""
        return gamma(summed.terms + DECOMPOSED * sum(self.shape)) * summed.whole

    def shrink(self, points: Combination, z: ModelDual, step: float) -> Shrinkage:
        pairs, guess = [], 1
        for a, face, c in points:
            assert isinstance(face, SymmetricFactors)
            pairs.append((a, face.V, face.matrix(c), face.V))
            guess = max(guess, face.size)
        return _EigenThreshold(linalg.low_rank_plus(pairs, step, self._matrix(z)), guess)


class _EigenThreshold:
    def __init__(self, w: Matrix, guess: int) -> None:
        self.w, self.guess, self.floor = w, guess, np.inf

    def _fetch(self, t: float) -> tuple[FloatArray, Array]:
        if t < self.floor:
            self.pairs = linalg.eigh_above(self.w, t, self.guess + 1)
            self.floor = t
        values, vectors = self.pairs
        keep = values > t
        return values[keep] - t, vectors[:, keep]

    def at(self, t: float) -> tuple[SymmetricFactors, FloatArray]:
        values, vectors = self._fetch(t)
        return SymmetricFactors(vectors), hermitian_coordinates(np.diag(values).astype(vectors.dtype))

    def gauge(self, t: float) -> float:
        return float(self._fetch(t)[0].sum())
