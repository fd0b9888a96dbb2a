"""The working set of a search: the images kept so far, as unit columns in the space of their Gram matrix."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from fewatoms import linalg
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram.blocks import blank_blocks
from fewatoms.gram.state import PIVOT, blank
from fewatoms.gram.steps import Support as Held
from fewatoms.gram.whiten import Whitened, whiten
from fewatoms.methods.listed.view import View

BASES = 1e9  # multiplications that the inner products within all blocks may cost


class Small:
    """G, h and |b|^2 of the images kept, each in units of its length, with the ridge on the diagonal of G.

    Atoms are counted in the order in which their images were asked for, and none is let go: places stay valid.

    classes : the class of each; lengths : of their images
    may, stays : those that may be in a support, and those that must
    """

    def __init__(self, view: View, ridge: float) -> None:
        self.view, self.images, self.ridge = view, view.images, ridge
        self.bb = float(self.images.target @ self.images.target)
        self.signed = not view.nonnegative
        self._size = -1

    def take(self, classes: IntArray) -> bool:
        """Keep the images of these classes as well, as far as there is room; whether anything is new."""
        fresh = classes[~self.images.held(classes)]
        fresh = fresh[np.cumsum(self.view.sizes(fresh)) <= self.images.room - self.images.size]
        if fresh.size:
            self.images.slots(fresh)
        self._refresh()
        return bool(fresh.size)

    @property
    def whole(self) -> bool:
        """Whether all atoms are in it."""
        return self.images.classes.size == self.view.count

    @property
    def columns(self) -> int:
        """How many columns are in it."""
        return self.images.size

    def _refresh(self) -> None:
        images, size, view = self.images, self.images.size, self.view
        if size == self._size:
            return
        self._size, self.classes = size, images.classes
        G, h = images.gram[:size, :size], images.moments[:size].copy()
        self.lengths = np.ones(size)
        if view.scale is None:
            self.lengths = np.sqrt(G.diagonal())
            scale = np.where(self.lengths > 0, 1.0 / np.where(self.lengths > 0, self.lengths, 1.0), 0.0)
            G, h = G * scale[:, None] * scale, h * scale
        self._squares = G.diagonal().copy()
        self.may: Array = view.totals(self.classes, self._squares) > 0
        if view.barred.size:
            self.may &= ~np.isin(self.classes, view.barred)
        self.stays: Array = np.zeros(self.classes.size, dtype=bool)
        if view.forced.size:
            self.stays = np.isin(self.classes, view.forced)
        self._fill(G, h)

    def _fill(self, G: FloatArray, h: FloatArray) -> None:
        self.G, self.h = np.ascontiguousarray(G), h
        self.pay(self.ridge)

    def pay(self, ridge: float) -> None:
        """Put another ridge on the diagonal."""
        self.ridge = ridge
        if ridge and np.may_share_memory(self.G, self.images.gram):
            self.G = self.G.copy()
        if not np.may_share_memory(self.G, self.images.gram):
            self.G[np.diag_indices_from(self.G)] = self._squares + ridge * self.may

    @property
    def triangle(self) -> tuple[FloatArray, FloatArray]:
        """T and Q with |Qb - Tc|, up to a constant, what coefficients of the unit columns leave of data b, ridge
        included: what the Gram matrix says, without squares."""
        A = linalg.dense(self.images.columns(np.arange(self.columns)))
        A = A / np.where(self.lengths > 0, self.lengths, 1.0)
        rows = len(A)
        if self.ridge:
            A = np.vstack([A, np.sqrt(self.ridge) * np.diag(self.may)])
        if len(A) <= self.columns:
            return A, np.eye(len(A), rows)
        Q, T = np.linalg.qr(A)
        return T, Q[:rows].T

    def places(self, classes: IntArray) -> IntArray:
        """Where these classes are; they must have been taken."""
        return self.images.places(classes)

    def state(self, most: int) -> Held:
        """A support with room for so many atoms, empty."""
        return blank(self.G, self.h, self.bb, most, self.may, self.stays)

    def penalties(self, count: int, shrink: float) -> FloatArray:
        """A ladder of penalties, from just below the smallest whose answer is zero."""
        top = float((np.abs(self.h) if self.signed else self.h).max(initial=0.0, where=self.may))
        return np.asarray(max(top, 0.0) * shrink ** np.arange(1, count + 1), dtype=np.float64)

    def solved(self, places: IntArray) -> FloatArray:
        """The coefficients of the images of atoms in these places."""
        if not places.size:
            return np.zeros(0)
        return np.linalg.solve(self.G[places[:, None], places], self.h[places]) / self.lengths[places]

    def slots(self, places: IntArray) -> IntArray:
        """The images of atoms in these places."""
        return places

    def promise(self, z: FloatArray) -> FloatArray:
        """What single atoms promise: half the square of this is what one alone would lower the objective by; minus
        infinity for those that must stay out."""
        a, lengths = self.view.alignments(z), self.view.lengths
        if lengths is None or self.view.blocks is not None:
            return a
        return np.where(lengths > 0, a / np.where(lengths > 0, lengths, 1.0), np.minimum(a, 0.0))


class SmallBlocks(Small):
    """The same for blocks of columns, in coordinates in which each block is orthonormal, ridge included."""

    whitened: Whitened

    def _fill(self, G: FloatArray, h: FloatArray) -> None:
        self._raw = G, h
        self.pay(self.ridge)

    def pay(self, ridge: float) -> None:
        self.ridge = ridge
        self.whitened = whiten(*self._raw, self.images.starts.astype(np.int64), ridge)
        self.G, self.h = self.whitened.G, self.whitened.h

    def state(self, most: int) -> Held:
        weights = self.view.weights
        each = np.ones(self.classes.size) if weights is None else np.asarray(weights[self.classes], dtype=np.float64)
        starts = self.whitened.starts
        return blank_blocks(self.G, self.h, self.bb, most, self.may & (np.diff(starts) > 0), self.stays, starts, each)

    def penalties(self, count: int, shrink: float) -> FloatArray:
        starts, weights = self.whitened.starts, self.view.weights
        sizes = np.sqrt(np.add.reduceat(np.append(self.h**2, 0.0), starts[:-1]) * (np.diff(starts) > 0))
        sizes = sizes if weights is None else sizes / weights[self.classes]
        return np.asarray(sizes.max(initial=0.0) * shrink ** np.arange(1, count + 1), dtype=np.float64)

    def solved(self, places: IntArray) -> FloatArray:
        if not places.size:
            return np.zeros(0)
        starts = self.whitened.starts
        spots = np.concatenate([np.arange(starts[g], starts[g + 1]) for g in places])
        u = np.linalg.lstsq(self.G[spots[:, None], spots], self.h[spots], rcond=PIVOT)[0]
        return self.whitened.back(places, u) / self.lengths[self.slots(places)]

    def slots(self, places: IntArray) -> IntArray:
        starts = self.images.starts
        return np.concatenate([np.arange(starts[g], starts[g + 1]) for g in places]) if places.size else places

    def promise(self, z: FloatArray) -> FloatArray:
        """In an orthonormal basis of each block: columns of a block that are alike would count for more else."""
        if self._bases is None:
            return self.view.alignments(z)
        out = np.zeros(self.view.count)
        for labels, columns, T in self._bases:
            out[labels] = np.linalg.norm(np.einsum("gst,gs->gt", T, z[columns]), axis=1)
        if self.view.barred.size:
            out[self.view.barred] = -np.inf
        return out

    @cached_property
    def _bases(self) -> list[tuple[IntArray, IntArray, FloatArray]] | None:
        """For blocks of each size: which they are, their coordinates, and what makes them orthonormal."""
        view, blocks = self.view, self.view.blocks
        assert blocks is not None
        lengths = np.array([block.size for block in blocks])
        if view.at_hand is None or view.M.shape[0] * float(np.sum(lengths**2)) > BASES:
            return None
        out, root = [], self.images.root
        for length in np.unique(lengths[lengths > 0]):
            labels = np.flatnonzero(lengths == length)
            columns = np.stack([blocks[g] for g in labels])
            read = view.M.columns(columns.ravel())
            A = linalg.rowwise(root, read.toarray() if sp.issparse(read) else read)
            A = (A * view.image_scale(columns.ravel())).reshape(-1, *columns.shape)
            values, V = np.linalg.eigh(np.einsum("mgs,mgt->gst", A, A, optimize=True))
            values += self.ridge
            T = V * np.where(values > PIVOT, 1.0 / np.sqrt(np.maximum(values, PIVOT)), 0.0)[:, None, :]
            out.append((labels, columns, T))
        return out


def small(view: View, ridge: float) -> Small:
    """The working set of a problem: of single columns or of blocks."""
    return Small(view, ridge) if view.blocks is None else SmallBlocks(view, ridge)
