"""A matrix as low rank plus sparse, seen whole or in part: what the methods for such sums share.

All arrays have the shorter side as columns: products with q x q matrices replace decompositions.
Entries that are not seen are free: the sparse part explains them at no price, so that they say nothing about the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fewatoms import kernels
from fewatoms._types import Array, FloatArray
from fewatoms.atoms import AtomicSet, RankOne, Scaled, SignedOneHot
from fewatoms.atoms.sums import Sum, Union
from fewatoms.faces import Coordinates, Face, Factors, ScaledFace, SumFace
from fewatoms.operators import Identity, Sampling

NARROW = 4000  # columns up to which the decomposition of a q x q matrix is bearable
NEAR = (0.02, 0.2)  # shares of a guess: how far below it numbers are looked at
EMPTY = 20  # times the entries seen: the largest matrix that is filled in for them


@dataclass(frozen=True, eq=False)
class Roles:
    """Which part of a sum or union is which, and in what units its atoms are."""

    atoms: Sum | Union
    low: int
    sparse: int
    low_scale: float
    sparse_scale: float

    @property
    def price(self) -> float:
        """What a unit of the sparse part costs, in units of the nuclear norm: the weight of the 1-norm in a union."""
        return abs(self.low_scale / self.sparse_scale)

    def gauge(self, nuclear: float, one_norm: float) -> float:
        """That of a point, from the nuclear norm of one part and the 1-norm of the other."""
        gauges = nuclear / abs(self.low_scale), one_norm / abs(self.sparse_scale)
        return sum(gauges) if isinstance(self.atoms, Union) else max(gauges)

    @staticmethod
    def of(atoms: AtomicSet) -> Roles | None:
        """The roles in a set made of rank-one matrices and matrix entries, in either order; None for other sets."""
        if not isinstance(atoms, (Sum, Union)) or len(atoms.parts) != 2:
            return None
        inner = [p.inner if isinstance(p, Scaled) else p for p in atoms.parts]
        scales = [p.scale if isinstance(p, Scaled) else 1.0 for p in atoms.parts]
        for low, sparse in ((0, 1), (1, 0)):
            if type(inner[low]) is RankOne and type(inner[sparse]) is SignedOneHot:
                return Roles(atoms, low, sparse, scales[low], scales[sparse])
        return None

    def face(self, left: tuple[Array, FloatArray, Array], right: tuple[Array, FloatArray]) -> tuple[Face, FloatArray]:
        """P diag(s) Q^T and entries (flat indices, values) as one compact point."""
        P, s, Q = left
        where, values = right
        faces: list[Face] = [Factors(P, Q), Coordinates(where, np.sign(values), self.atoms.shape)]
        coefficients = [np.diag(s).ravel() / self.low_scale, np.abs(values) / self.sparse_scale]
        for i, scale in enumerate((self.low_scale, self.sparse_scale)):
            faces[i] = faces[i] if scale == 1.0 else ScaledFace(scale, faces[i])
        if self.low > self.sparse:
            faces, coefficients = faces[::-1], coefficients[::-1]
        return SumFace(tuple(faces), isinstance(self.atoms, Union), self.atoms.shape), np.concatenate(coefficients)


def weighed(atoms: AtomicSet) -> AtomicSet:
    """A union of plain rank-one matrices and plain matrix entries with the weight of principal component pursuit.

    The 1-norm of a matrix is never below its nuclear norm: without a weight no entry would ever be used.
    """
    roles = Roles.of(atoms)
    if not isinstance(atoms, Union) or roles is None or (roles.low_scale, roles.sparse_scale) != (1.0, 1.0):
        return atoms
    parts = list(atoms.parts)
    parts[roles.sparse] = math.sqrt(max(atoms.shape)) * parts[roles.sparse]
    return Union(*parts)


class Separated:
    """The data as a dense matrix D, rows on the longer side, and which entries are seen (None: all).

    size : |D|; share : of the matrix that is seen
    """

    def __init__(self, M: Identity | Sampling, b: FloatArray, shape: tuple[int, int]) -> None:
        self.M, self.shape, self.turned = M, shape, shape[0] < shape[1]
        self.seen: Array | None = None
        if isinstance(M, Sampling):
            D, seen = np.zeros(shape), np.zeros(shape, dtype=bool)
            D[M.rows, M.cols], seen[M.rows, M.cols] = b, True
            self.seen = None if seen.all() else self._turn(seen)
        else:
            D = b.reshape(shape)
        self.D = self._turn(D)
        self.share = b.size / D.size  # of the matrix that is seen
        self.size = float(np.linalg.norm(b))

    @cached_property
    def top(self) -> float:
        """The largest singular value of D."""
        return math.sqrt(max(float(np.linalg.eigvalsh(gram(self.D))[-1]), 0.0))

    @cached_property
    def largest(self) -> float:
        """The largest size of an entry of D."""
        return float(max(self.D.max(), -self.D.min()))

    @staticmethod
    def fits(M: Any, shape: tuple[int, ...]) -> bool:
        """Whether the matrix may be filled in, and its shorter side is short."""
        whole = isinstance(M, Identity) or (isinstance(M, Sampling) and M.shape[1] <= EMPTY * M.shape[0])
        return whole and len(shape) == 2 and min(shape) <= NARROW

    def _turn(self, X: Array) -> Array:
        return np.ascontiguousarray(X.T if self.turned else X)

    def as_data(self, Y: Array) -> FloatArray:
        """A matrix of this form as a data vector."""
        Y = Y.T if self.turned else Y
        return Y[self.M.rows, self.M.cols] if isinstance(self.M, Sampling) else np.ascontiguousarray(Y).ravel()

    def left(self, left: Array, right: Array) -> Array:
        """D - left right^T, zero where nothing is seen."""
        R = self.D - left @ right.T
        if self.seen is not None:
            R *= self.seen
        return R

    def entries(self, values: Array, where: Array) -> tuple[Array, FloatArray]:
        """Flat indices, in the order of the model, and values, where a mask says so."""
        if self.turned:
            values, where = values.T, where.T
        flat = np.flatnonzero(where)
        return flat, values.ravel()[flat]

    def factors(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Factors of the model from factors of this form."""
        return (right, left) if self.turned else (left, right)


def gram(X: Array) -> FloatArray:
    """X^T X."""
    return np.asarray(X.T @ X, dtype=np.float64)  # half the work: NumPy sees that it is symmetric


def cut_to(R: Array, delta: float, guess: float = 0.0) -> float:
    """The t for which |clip(R, -t, t)| = delta, or the largest entry if |R| is not longer."""
    top = float(max(R.max(initial=0.0), -R.min(initial=0.0)))
    if float(np.vdot(R, R)) <= delta**2 or top == 0.0:
        return top
    low, high, goal = 0.0, top, delta**2
    t = guess if 0 < guess < top else delta / math.sqrt(R.size)  # the value is at most R.size t^2
    for _ in range(60):
        value, _, _, above = kernels.clipped_sums(R, t)
        low, high = (t, high) if value <= goal else (low, t)
        if value <= goal and goal - value <= 1e-9 * goal:
            break
        # sum over a <= t of a^2 + above t^2 = goal, as if no entry changed sides
        inside = value - above * t * t
        t = math.sqrt(max(goal - inside, 0.0) / above) * (1 - 1e-10) if above else 0.5 * (low + high)
        if not low < t < high:
            t = 0.5 * (low + high)
    return low


def largest(a: FloatArray, count: int, guess: float | None = None) -> float:
    """The count-th largest of some numbers that are not negative; infinite for none of them.

    Near a good guess only the numbers around it are sorted.
    """
    if count == 0:
        return math.inf
    if guess is not None and 0 < guess < math.inf:
        for width in NEAR:
            above = a >= guess * (1 - width)
            inside = int(np.count_nonzero(above))
            if inside < count:
                continue
            window = a[above]
            if inside > 4 * count + a.size // 4:
                break
            return float(np.partition(window, inside - count)[inside - count])
    return float(np.partition(a, a.size - count)[a.size - count])


__all__ = ["Roles", "Separated", "cut_to", "gram", "largest", "weighed"]
