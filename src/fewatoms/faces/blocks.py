"""Faces of rank-one matrices inside blocks of a matrix, as pairs of factors of each block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import scipy.sparse as sp

from fewatoms import linalg
from fewatoms._types import Array, BudgetLike, FloatArray, IntArray, Matrix, ModelDual
from fewatoms.capabilities import ColumnBlocks, SeenAsIs
from fewatoms.faces.base import Face, leading
from fewatoms.faces.factors import RANK_TOLERANCE, Factors, FactorTurning
from fewatoms.faces.tangents import LowRankTangent
from fewatoms.faces.tiles import Tiles
from fewatoms.kept import Kept, Plain
from fewatoms.reduced import Columns, Implicit, ReducedOperator

if TYPE_CHECKING:
    from fewatoms.operators.base import Operator


@dataclass(frozen=True, eq=False)
class BlockFactors(Face):
    """Matrices with U C V^T in each of a few blocks, orthonormal U and V and any C of its own, and 0 elsewhere.

    tiles : where blocks lie; blocks : the numbers of those that have atoms, rising; faces : the factors of each;
    order : the atoms, block after block as they stand here, in the order in which they are told. Coefficients are those
    of the blocks, one block after the other.
    """

    tiles: Tiles
    blocks: IntArray
    faces: tuple[Factors, ...]
    order: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", self.tiles.shape)

    @classmethod
    def of(cls, tiles: Tiles, faces: Sequence[tuple[int, Factors]]) -> BlockFactors:
        """The face of these blocks, told block after block."""
        some = sorted((pair for pair in faces if pair[1].dim), key=lambda pair: pair[0])
        blocks = np.array([block for block, _ in some], dtype=np.intp)
        size = sum(face.size for _, face in some)
        return cls(tiles, blocks, tuple(face for _, face in some), np.arange(size))

    @classmethod
    def of_triplets(
        cls, tiles: Tiles, triplets: Sequence[tuple[int, Array, FloatArray, Array]]
    ) -> tuple[BlockFactors, FloatArray]:
        """The matrix with u diag(s) v^T in each block, told from the largest value on, and its coefficients."""
        some = sorted((one for one in triplets if one[2].size), key=lambda one: one[0])
        face = cls.of(tiles, [(block, Factors(u, v)) for block, u, _, v in some])
        values = [s for _, _, s, _ in some]
        order = np.argsort(-np.concatenate([np.zeros(0), *values]), kind="stable")
        return replace(face, order=order), np.concatenate([np.zeros(0), *(np.diag(s).ravel() for s in values)])

    @property
    def size(self) -> int:
        return sum(face.size for face in self.faces)

    @property
    def dim(self) -> int:
        return sum(face.dim for face in self.faces)

    @property
    def freedom(self) -> int:
        return sum(face.freedom for face in self.faces)

    def _pieces(self, c: FloatArray) -> list[tuple[Factors, FloatArray]]:
        return list(zip(self.faces, np.split(c, np.cumsum([f.dim for f in self.faces])[:-1]), strict=False))

    def pieces(self, c: FloatArray) -> list[tuple[int, Factors, FloatArray]]:
        """Block by block: its number, its face, and its coefficients."""
        return [(block, *pair) for block, pair in zip(self.blocks.tolist(), self._pieces(c), strict=True)]

    def point(self, c: FloatArray) -> Array:
        x = np.zeros(self.shape)
        for block, (face, own) in zip(self.blocks, self._pieces(c), strict=True):
            x[self.tiles.window(block)] = face.point(own)
        return x

    def adjoint(self, z: ModelDual) -> FloatArray:
        inside = zip(self.faces, self.tiles.read(z, self.blocks), strict=True)
        return np.concatenate([np.zeros(0), *(face.adjoint(piece) for face, piece in inside)])

    def project(self, c: FloatArray) -> FloatArray:
        return c

    def gauge(self, c: FloatArray) -> float:
        return float(self._singular(c).sum())

    def mean_atom(self) -> FloatArray:
        means = (face.mean_atom() * (face.size / max(1, self.size)) for face in self.faces)
        return np.concatenate([np.zeros(0), *means])

    def _singular(self, c: FloatArray) -> FloatArray:
        """The singular values of all blocks, block after block, zeros among them."""
        each = (np.linalg.svd(face.matrix(own), compute_uv=False) for face, own in self._pieces(c))
        return np.concatenate([np.zeros(0), *each])

    def contributions(self, c: FloatArray, norms: FloatArray | None = None) -> FloatArray:
        """The singular values. Norms are not used: they belong to the entries of C, not to its singular vectors."""
        return self._singular(c)

    def prune(self, c: FloatArray, k: BudgetLike, norms: FloatArray | None = None) -> tuple[BlockFactors, FloatArray]:
        each = [face.triplets(own) for face, own in self._pieces(c)]
        owner = np.repeat(np.arange(len(each)), [s.size for _, s, _ in each])
        values = np.concatenate([np.zeros(0), *(s for _, s, _ in each)])
        keep = leading(values, k)
        keep = keep[values[keep] > RANK_TOLERANCE * values.max(initial=0.0)]
        counts = np.bincount(owner[keep], minlength=len(each))
        some = zip(self.blocks, each, counts, strict=True)
        return self.of_triplets(self.tiles, [(int(b), u[:, :n], s[:n], v[:, :n]) for b, (u, s, v), n in some])

    def merge(self, other: Self) -> BlockFactors:
        both = dict(zip(self.blocks.tolist(), self.faces, strict=True))
        for block, face in zip(other.blocks.tolist(), other.faces, strict=True):
            both[block] = both[block].merge(face) if block in both else face
        return self.of(self.tiles, list(both.items()))

    # Measurements

    def restrict(self, M: Operator) -> ReducedOperator:
        at_hand = M.offers(SeenAsIs) is not None or M.offers(ColumnBlocks) is not None
        return Columns(self.images(M)) if at_hand else Implicit(M, self)

    def images(self, M: Operator) -> Matrix:
        seen, at_hand = M.offers(SeenAsIs), M.offers(ColumnBlocks)
        if not self.dim or (seen is None and at_hand is None):
            return super().images(M)
        M.charge(self.dim)
        if seen is not None:
            return self._seen(seen.places(), M.shape[0])
        assert at_hand is not None
        each = []
        for block, face in zip(self.blocks, self.faces, strict=True):
            inside = np.arange(int(np.prod(self.shape))).reshape(self.shape)[self.tiles.window(block)]
            each.append(linalg.dense(at_hand.read(inside.ravel()) @ np.kron(face.U, face.V)))
        return np.concatenate(each, axis=1)

    def _seen(self, places: IntArray | None, m: int) -> sp.csc_array:
        """The images where data are entries: each atom has those of its block."""
        rows, cols = np.divmod(np.arange(m) if places is None else places, self.shape[1])
        data, where, ends = [np.zeros(0)], [np.zeros(0, dtype=np.intp)], [0]
        inside = self.tiles.sorted_into(self.blocks, rows, cols)
        for face, (which, i, j) in zip(self.faces, inside, strict=True):
            products = face.U[i].T[:, None, :] * face.V[j].T[None, :, :]
            data.append(products.ravel())
            where.append(np.tile(which, face.dim))
            ends.extend([which.size] * face.dim)
        return sp.csc_array((np.concatenate(data), np.concatenate(where), np.cumsum(ends)), shape=(m, self.dim))

    def measure(self, M: Operator, c: FloatArray) -> FloatArray:
        seen = M.offers(SeenAsIs)
        if seen is None:
            return self.image(M, c)
        places = seen.places()
        M.charge(1)
        return self.entries(c, *np.divmod(np.arange(M.shape[0]) if places is None else places, self.shape[1]))

    def entries(self, c: FloatArray, rows: IntArray, cols: IntArray) -> Array:
        out = np.zeros(len(rows))
        inside = self.tiles.sorted_into(self.blocks, np.asarray(rows), np.asarray(cols))
        for (face, own), (which, i, j) in zip(self._pieces(c), inside, strict=True):
            out[which] = face.entries(own, i, j)
        return out

    # What users read

    def labels(self) -> Array:
        """The places of the atoms' blocks in the grid: (row, column), counted in blocks."""
        return self.tiles.places(np.repeat(self.blocks, [face.size for face in self.faces])[self.order])

    def values(self, c: FloatArray) -> FloatArray:
        return self._singular(c)[self.order]

    def factors(self, c: FloatArray) -> tuple[Array, Array]:
        left, right = np.zeros((self.shape[0], self.size)), np.zeros((self.shape[1], self.size))
        start = 0
        for block, (face, own) in zip(self.blocks, self._pieces(c), strict=True):
            down, across = self.tiles.window(block)
            u, v = face.factors(own)
            left[down, start : start + u.shape[1]], right[across, start : start + v.shape[1]] = u, v
            start += face.size
        return left[:, self.order], right[:, self.order]

    def inner(self, c: FloatArray, other: Self, d: FloatArray) -> float:
        theirs = dict(zip(other.blocks.tolist(), other._pieces(d), strict=True))
        mine = zip(self.blocks.tolist(), self._pieces(c), strict=True)
        return sum(face.inner(own, *theirs[block]) for block, (face, own) in mine if block in theirs)

    def kept(self) -> Kept:
        told: dict[str, Plain] = {"shape": [*self.tiles.shape], "sides": [*self.tiles.sides]}
        inner = tuple(face.kept() for face in self.faces)
        return Kept("block factors", told, {"blocks": self.blocks, "order": self.order}, inner)

    def turning(self) -> BlockTurning:
        return BlockTurning(self, tuple(face.turning() for face in self.faces))

    def tangent(self, c: FloatArray) -> BlockTangent:
        return BlockTangent(self, tuple(face.tangent(own) for face, own in self._pieces(c)))


@dataclass(frozen=True, eq=False)
class BlockTurning:
    """The unknowns of the blocks, one block after the other: atoms stay in their blocks."""

    face: BlockFactors
    turnings: tuple[FactorTurning, ...]

    def _pieces(self, v: FloatArray) -> list[tuple[FactorTurning, FloatArray]]:
        cuts = np.cumsum([t.face.size * sum(t.face.shape) for t in self.turnings])[:-1]
        return list(zip(self.turnings, np.split(v, cuts), strict=False))

    def unfold(self, c: FloatArray) -> FloatArray:
        own = (piece for _, piece in self.face._pieces(c))
        return np.concatenate([np.zeros(0), *(t.unfold(d) for t, d in zip(self.turnings, own, strict=True))])

    def fold(self, v: FloatArray) -> tuple[BlockFactors, FloatArray]:
        folded = [t.fold(piece) for t, piece in self._pieces(v)]
        faces, coefficients = tuple(face for face, _ in folded), [c for _, c in folded]
        return replace(self.face, faces=faces), np.concatenate([np.zeros(0), *coefficients])

    def pull(self, v: FloatArray, z: ModelDual) -> FloatArray:
        inside = self.face.tiles.read(z, self.face.blocks)
        each = (t.pull(piece, own) for (t, piece), own in zip(self._pieces(v), inside, strict=True))
        return np.concatenate([np.zeros(0), *each])

    def lower(self) -> FloatArray:
        return np.concatenate([np.zeros(0), *(t.lower() for t in self.turnings)])


@dataclass(frozen=True, eq=False)
class BlockTangent:
    """The directions of the blocks, one block after the other."""

    face: BlockFactors
    tangents: tuple[LowRankTangent, ...]

    @property
    def dim(self) -> int:
        return sum(t.dim for t in self.tangents)

    def _pieces(self, d: FloatArray) -> list[tuple[LowRankTangent, FloatArray]]:
        return list(zip(self.tangents, np.split(d, np.cumsum([t.dim for t in self.tangents])[:-1]), strict=False))

    def push(self, d: FloatArray) -> Array:
        x = np.zeros(self.face.shape)
        for block, (tangent, own) in zip(self.face.blocks, self._pieces(d), strict=True):
            x[self.face.tiles.window(block)] = tangent.push(own)
        return x

    def pull(self, z: Array) -> FloatArray:
        inside = zip(self.tangents, self.face.tiles.read(z, self.face.blocks), strict=True)
        return np.concatenate([np.zeros(0), *(tangent.pull(piece) for tangent, piece in inside)])

    def moved(self, d: FloatArray) -> tuple[BlockFactors, FloatArray]:
        pieces = zip(self.face.blocks.tolist(), self._pieces(d), strict=True)
        return BlockFactors.of_triplets(self.face.tiles, [(block, *t.nearest(own)) for block, (t, own) in pieces])
