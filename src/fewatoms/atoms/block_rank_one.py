"""Rank-one matrices inside the blocks of a grid: low rank here and there."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import scipy.sparse as sp

from fewatoms import _checks, linalg, norms
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.atoms.base import NOBODY, AtomicSet, Combination, int_of
from fewatoms.capabilities import Shrinkage
from fewatoms.faces import BlockFactors, Tiles
from fewatoms.faces.tiles import WRITTEN
from fewatoms.kept import Kept
from fewatoms.rounding import DECOMPOSED, Summed, gamma

if TYPE_CHECKING:
    from fewatoms.operators import Operator

SAME_VALUE = 1e-14  # of singular values
Triplets = tuple[int, Array, FloatArray, Array]  # a block, and U, s, V of it


class BlockRankOne(AtomicSet):
    """A = {u v^T inside one block of a grid : |u| = |v| = 1}, matrices of shape (p, q) that are 0 outside the block.

    The gauge is the sum of the blocks' nuclear norms, the support function the largest singular value of a block. A
    face of k atoms has the k leading singular pairs over all blocks; its points have U C V^T in each of their blocks.
    k counts the ranks of all blocks together.

    Parameters
    ----------
    shape : (p, q)
        Of the matrices.
    block : (s, t)
        Of the blocks. Those at the lower and the right edge are smaller where s and t do not divide p and q.

    Notes
    -----
    `restricted(exclude=...)` takes (row, column) pairs of blocks, counted in blocks, or a mask of the grid.
    """

    centrosymmetric = attained = True

    def __init__(self, shape: Sequence[int], block: Sequence[int]) -> None:
        p, q = _checks.shape2("shape", shape)
        s, t = _checks.shape2("block", block)
        if s > p or t > q:
            raise ValueError(f"block must be no larger than shape, {(p, q)}; got {(s, t)}")
        self.shape, self.block, self.barred = (p, q), (s, t), NOBODY

    def __repr__(self) -> str:
        told = f".restricted(exclude=<{self.barred.size}>)" if self.barred.size else ""
        return f"BlockRankOne({self.shape}, {self.block}){told}"

    @property
    def tiles(self) -> Tiles:
        """Where the blocks lie."""
        return Tiles((self.shape[0], self.shape[1]), self.block)

    @property
    def orthonormal(self) -> bool:
        return True

    @property
    def count(self) -> int:
        (p, q), (s, t) = self.shape, self.block
        heights, widths = (np.diff(np.append(np.arange(0, n, side), n)) for n, side in ((p, s), (q, t)))
        ranks = np.minimum.outer(heights, widths).ravel()
        return int(ranks.sum() - ranks[self.barred].sum())

    def kept(self) -> Kept:
        told = {"shape": [*self.shape], "block": [*self.block], "barred": self.barred.tolist()}
        return Kept(type(self).__name__, told)

    def alike(self, other: Self) -> bool:
        return (self.shape, self.block) == (other.shape, other.block)

    # Blocks left out

    @property
    def unrestricted(self) -> AtomicSet:
        return self if not self.barred.size else BlockRankOne(self.shape, self.block)

    def without(self, blocks: IntArray) -> BlockRankOne:
        """The set without the atoms of these blocks, by their numbers."""
        if not blocks.size:
            return self
        other = copy(self)
        other.barred = np.union1d(self.barred, blocks).astype(np.intp)
        if other.barred.size == self.tiles.count:
            raise ValueError("exclude must leave blocks; it names all of them")
        return other

    def restricted(self, *, include: object = None, exclude: object = None) -> AtomicSet:
        if include is not None:
            raise ValueError(f"include is for atoms that can be listed; {self!r} has many in each block: use exclude")
        if exclude is None:
            return self
        grid, told = self.tiles.grid, np.asarray(exclude)
        if told.dtype.kind == "b":
            if told.shape != grid:
                raise ValueError(f"exclude must be a mask of the grid of blocks, {grid}; got shape {told.shape}")
            return self.without(np.flatnonzero(told))
        if told.size and (told.ndim != 2 or told.shape[1] != 2):
            raise ValueError(
                f"exclude must be (row, column) pairs of blocks, or a mask of them; got shape {told.shape}"
            )
        rows, cols = told.reshape(-1, 2).T
        i, j = _checks.indices("exclude", rows, grid[0]), _checks.indices("exclude", cols, grid[1])
        return self.without(np.unique(i * grid[1] + j))

    # The set

    def gauge(self, x: Array) -> float:
        inside = _Plain(self.tiles, self.read_point(x))
        if inside.lengths[self.barred].any():
            return float("inf")
        return float(sum(s.sum() for _, _, s, _ in _decomposed(inside, np.flatnonzero(inside.lengths), None)))

    def _blocks(self, z: ModelDual) -> _Plain:
        return _Plain(self.tiles, linalg.as_matrix(z, (self.shape[0], self.shape[1])), self.barred)

    def support(self, z: ModelDual) -> float:
        return float(self.spectrum(z, 1)[0])

    def spectrum(self, z: ModelDual, k: int) -> FloatArray:
        best = _best(_leading(self._blocks(z), k), k)
        return np.sort(np.concatenate([s for _, _, s, _ in best]))[::-1]

    def expose(self, z: ModelDual, k: BudgetLike) -> BlockFactors:
        k = int_of(k)
        return self._face(_best(_leading(self._blocks(z), k), k) if k else [])

    def _face(self, triplets: Sequence[Triplets]) -> BlockFactors:
        return BlockFactors.of_triplets(self.tiles, triplets)[0]

    def exposed(self, z: ModelDual, eps: float, limit: int | None = None, least: int = 0) -> BlockFactors:
        most = self.count if limit is None else max(limit, least)
        if most == 0:
            return self.expose(z, 0)
        inside = self._blocks(z)
        found = _leading(inside, max(1, min(least, most)))
        top = max(float(s[0]) for _, _, s, _ in found)
        near = _above(inside, top - eps - SAME_VALUE * top)  # the same block, among others, need not round the same
        count = sum(s.size for _, _, s, _ in near)
        return self._face(_best(near, most) if count >= max(1, least) else _best(found, max(1, least)))

    def extreme(self, z: ModelDual, tie: float = 0.0) -> tuple[float, BlockFactors]:
        best = _best(_leading(self._blocks(z), 1), 1)
        return float(best[0][2][0]), self._face(best)

    def operator_norm(self, M: Operator) -> float | None:
        return norms.rank_one_norm(M)

    def off_by(self, summed: Summed) -> float:
        return gamma(summed.terms + DECOMPOSED * sum(self.shape)) * summed.whole

    def shrink(self, points: Combination, z: ModelDual, step: float) -> Shrinkage:
        matrix = linalg.as_matrix(z, (self.shape[0], self.shape[1]))
        return _BlockThreshold(_Combined(self.tiles, points, matrix, step, self.barred))


# Blocks of a matrix, and their singular triplets ----------------------------------------------------------------------


class _Blocks(Protocol):
    """Blocks of a matrix."""

    @property
    def tiles(self) -> Tiles: ...

    @property
    def lengths(self) -> FloatArray:
        """What no singular value of a block is above; negative where blocks are left out."""
        ...

    def read(self, blocks: IntArray) -> list[Matrix]: ...


class _Plain:
    """The blocks of z. Implicit ones are written out: as many products as the shorter side is long."""

    def __init__(self, tiles: Tiles, z: ModelDual, barred: IntArray = NOBODY) -> None:
        self.tiles, self.z = tiles, linalg.written(z) if linalg.implicit(z) else z
        self.lengths = tiles.lengths(self.z)
        self.lengths[barred] = -1.0

    def read(self, blocks: IntArray) -> list[Matrix]:
        return self.tiles.read(self.z, blocks)


class _Combined:
    """The blocks of a combination of compact points and step z. A sparse z that is large is not filled in: nothing of
    the size of the matrix is formed."""

    def __init__(self, tiles: Tiles, points: Combination, z: ModelDual, step: float, barred: IntArray) -> None:
        self.tiles, self.step = tiles, step
        dense = not sp.issparse(z) or tiles.shape[0] * tiles.shape[1] <= WRITTEN
        self.z = linalg.written(z) if dense else z
        self.own: dict[int, list[tuple[float, Array, Array, Array]]] = {}
        self.lengths = step * tiles.lengths(self.z)
        for a, face, c in points:
            assert isinstance(face, BlockFactors)
            for block, one, own in face.pieces(c):
                self.own.setdefault(block, []).append((a, one.U, one.matrix(own), one.V))
                self.lengths[block] += abs(a) * float(np.linalg.norm(own))  # U and V are orthonormal
        self.lengths[barred] = -1.0

    def read(self, blocks: IntArray) -> list[Matrix]:
        plain = zip(blocks.tolist(), self.tiles.read(self.z, blocks), strict=True)
        return [linalg.low_rank_plus(self.own.get(block, []), self.step, piece) for block, piece in plain]


def _small(tiles: Tiles) -> bool:
    """Whether blocks are decomposed in full, many at a time."""
    s, t = tiles.sides
    return s * t * min(s, t) <= linalg.DENSE_SIDE**3


def _decomposed(inside: _Blocks, blocks: IntArray, k: int | None, above: float = -np.inf) -> list[Triplets]:
    """The singular triplets of these blocks: of large ones the k leading, or those above a level, unless k is None."""
    found: list[Triplets] = []
    tiles, small = inside.tiles, _small(inside.tiles)
    together = max(1, WRITTEN // (tiles.sides[0] * tiles.sides[1]))
    for start in range(0, blocks.size, together):
        some = blocks[start : start + together]
        pieces = inside.read(some)
        found += _stacked(some, pieces) if small else _one_by_one(some, pieces, k, above)
    return found


def _stacked(blocks: IntArray, pieces: Sequence[Matrix]) -> list[Triplets]:
    """Blocks of equal shape are decomposed in one call."""
    found: list[Triplets] = []
    shapes: dict[tuple[int, int], list[int]] = {}
    for i, piece in enumerate(pieces):
        shapes.setdefault(piece.shape, []).append(i)
    for which in shapes.values():
        u, s, vh = np.linalg.svd(np.stack([linalg.written(pieces[i]) for i in which]), full_matrices=False)
        v = np.swapaxes(vh, 1, 2)
        found += [(int(blocks[i]), u[at], s[at], v[at]) for at, i in enumerate(which)]
    return found


def _one_by_one(blocks: IntArray, pieces: Sequence[Matrix], k: int | None, above: float) -> list[Triplets]:
    found = []
    for block, piece in zip(blocks.tolist(), pieces, strict=True):
        if k is None and above > 0:
            u, s, v = linalg.svd_above(piece, above, 2)
        else:
            u, s, v = linalg.top_svd(piece, min(piece.shape) if k is None else k)
        found.append((block, u, s, v))
    return found


def _leading(inside: _Blocks, k: int) -> list[Triplets]:
    """Triplets among which are the k leading ones of all blocks. Lengths bound singular values: once k of them are
    known, shorter blocks need no look."""
    order = np.argsort(-inside.lengths, kind="stable")
    order = order[inside.lengths[order] >= 0]
    first = min(order.size, max(16, 2 * k))
    found = _decomposed(inside, order[:first], k)
    values = np.concatenate([s for _, _, s, _ in found])
    level = np.partition(values, values.size - k)[values.size - k] if values.size >= k else -1.0
    rest = order[first:]
    return found + _decomposed(inside, rest[inside.lengths[rest] > level], k)


def _above(inside: _Blocks, t: float) -> list[Triplets]:
    """All triplets with values above t."""
    which = np.flatnonzero((inside.lengths > t) & (inside.lengths >= 0))
    found = []
    for block, u, s, v in _decomposed(inside, which, None, t):
        count = int(np.count_nonzero(s > t))
        found.append((block, u[:, :count], s[:count], v[:, :count]))
    return found


def _best(found: Sequence[Triplets], k: int) -> list[Triplets]:
    """The k largest of them."""
    values = np.concatenate([np.zeros(0), *(s for _, _, s, _ in found)])
    owner = np.repeat(np.arange(len(found)), [s.size for _, _, s, _ in found])
    counts = np.bincount(owner[linalg.top_k(values, k)], minlength=len(found))
    pairs = zip(found, counts.tolist(), strict=True)
    return [(block, u[:, :n], s[:n], v[:, :n]) for (block, u, s, v), n in pairs if n]


@dataclass(eq=False)
class _BlockThreshold:
    """Singular values are fetched down to the lowest threshold asked so far, not further."""

    inside: _Combined
    floor: float = np.inf
    found: Sequence[Triplets] = ()

    def _fetch(self, t: float) -> list[Triplets]:
        if t < self.floor:
            self.found, self.floor = _above(self.inside, t), t
        kept = []
        for block, u, s, v in self.found:
            n = int(np.count_nonzero(s > t))
            kept.append((block, u[:, :n], s[:n] - t, v[:, :n]))
        return kept

    def at(self, t: float) -> tuple[BlockFactors, FloatArray]:
        return BlockFactors.of_triplets(self.inside.tiles, self._fetch(t))

    def gauge(self, t: float) -> float:
        return float(sum(s.sum() for _, _, s, _ in self._fetch(t)))
