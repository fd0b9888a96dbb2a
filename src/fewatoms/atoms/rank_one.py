"""Rank-one matrices: low rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from fewatoms import _checks, linalg, norms
from fewatoms._types import Array, BudgetLike, FloatArray, Matrix, ModelDual
from fewatoms.atoms.base import AtomicSet, Combination, int_of
from fewatoms.capabilities import Shrinkage
from fewatoms.faces import Face, Factors, NonnegativeFactors
from fewatoms.kept import Kept
from fewatoms.rounding import DECOMPOSED, Summed, gamma

if TYPE_CHECKING:
    from fewatoms.operators import Operator


class RankOne(AtomicSet):
    """A = {u v^T : |u| = |v| = 1}, matrices of shape (rows, cols).

    The gauge is the nuclear norm, the support function the largest singular value. A face of k atoms is the set of all
    U C V^T with the k leading singular vectors of z; its points have rank at most k.

    Parameters
    ----------
    rows, cols : int
    nonnegative : bool
        Whether the factors of answers must not have negative entries. Their support function is out of reach: what is
        proven is proven over all rank-one matrices.
    """

    centrosymmetric = attained = True

    def __init__(self, rows: int, cols: int, *, nonnegative: bool = False) -> None:
        self.shape = (_checks.integer("rows", rows, 1), _checks.integer("cols", cols, 1))
        self.nonnegative = _checks.flag("nonnegative", nonnegative)

    def __repr__(self) -> str:
        return f"RankOne({self.shape[0]}, {self.shape[1]}{', nonnegative=True' if self.nonnegative else ''})"

    @property
    def orthonormal(self) -> bool:
        return not self.nonnegative  # such factors overlap

    @property
    def count(self) -> int:
        return min(self.shape)

    def kept(self) -> Kept:
        return Kept(type(self).__name__, {"shape": [*self.shape], "nonnegative": self.nonnegative})

    def _matrix(self, z: ModelDual) -> Matrix:
        return linalg.as_matrix(z, (self.shape[0], self.shape[1]))

    def gauge(self, x: Array) -> float:
        return float(np.linalg.svd(self.read_point(x), compute_uv=False).sum())

    def support(self, z: ModelDual) -> float:
        return float(linalg.top_svd(self._matrix(z), 1)[1][0])

    def expose(self, z: ModelDual, k: BudgetLike) -> Factors:
        k = int_of(k)
        if k == 0:
            return Factors(np.zeros((self.shape[0], 0)), np.zeros((self.shape[1], 0)))
        u, _, v = linalg.top_svd(self._matrix(z), k)
        return Factors(u, v)

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> Factors:
        limit = min(self.count, self.count if limit is None else max(limit, least))
        if limit == 0:
            return self.expose(z, 0)
        k = min(limit, max(4, least))
        while True:
            u, s, v = linalg.top_svd(self._matrix(z), k)
            if k == limit or s[-1] < s[0] - eps:
                count = max(np.count_nonzero(s >= s[0] - eps), least)
                return Factors(u[:, :count], v[:, :count])
            k = min(limit, 2 * k)

    def extreme(self, z: ModelDual, tie: float = 0.0) -> tuple[float, Factors]:
        u, s, v = linalg.top_svd(self._matrix(z), 1)
        return float(s[0]), Factors(u, v)

    def spectrum(self, z: ModelDual, k: int) -> FloatArray:
        return linalg.top_svd(self._matrix(z), k)[1]

    def operator_norm(self, M: Operator) -> float | None:
        return norms.rank_one_norm(M)

    def off_by(self, summed: Summed) -> float:
        """Singular values are off by no more than some roundings of the length of z."""
        return gamma(summed.terms + DECOMPOSED * sum(self.shape)) * summed.whole

    def paired(self, P: Array, s: FloatArray, Q: Array) -> tuple[Face, FloatArray]:
        return (NonnegativeFactors(P, Q), s) if self.nonnegative else (Factors(P, Q), np.diag(s).ravel())

    def alike(self, other: Self) -> bool:
        return self.shape == other.shape

    def shrink(self, points: Combination, z: ModelDual, step: float) -> Shrinkage:
        pairs, size = [], 1
        for a, face, c in points:
            assert isinstance(face, Factors)
            pairs.append((a, face.U, face.matrix(c), face.V))
            size = max(size, face.size)
        return _SingularThreshold(linalg.low_rank_plus(pairs, step, self._matrix(z)), size)


class _SingularThreshold:
    """Singular values are fetched down to the lowest threshold asked so far, not further."""

    def __init__(self, w: Matrix, guess: int) -> None:
        self.w, self.guess, self.floor = w, guess, np.inf

    def _fetch(self, t: float) -> tuple[Array, FloatArray, Array]:
        if t < self.floor:
            self.triplets = linalg.svd_above(self.w, t, self.guess + 1)
            self.floor = t
        u, s, v = self.triplets
        keep = s > t
        return u[:, keep], s[keep] - t, v[:, keep]

    def at(self, t: float) -> tuple[Factors, FloatArray]:
        u, s, v = self._fetch(t)
        return Factors(u, v), np.diag(s).ravel()

    def gauge(self, t: float) -> float:
        return float(self._fetch(t)[1].sum())
