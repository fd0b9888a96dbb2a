"""The images of atoms that a run has looked at, with their Gram matrix for least squares: most of a run happens in that
small space.

There is room for a limited number of them. Where it is full, those asked for longest ago make room: which images are at
hand decides what an answer costs, not what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from fewatoms import ledger, linalg
from fewatoms._types import Array, FloatArray, IntArray, Matrix
from fewatoms.problem import Problem

if TYPE_CHECKING:
    from fewatoms.methods.listed.view import View

IMAGE_ROOM = 16_000_000  # numbers kept as images of atoms at most, and as many in their Gram matrix
THIN = 0.1  # share of nonzeros up to which images are kept sparse
FIRST_ROWS = 64  # images that there is space for at first; it is doubled whenever it is full
AT_A_TIME = 16  # products of a block, from one tick to the next
EVEN = 2.0  # lengths of images that differ by less are all the same
ONE_COSINE = 1 - 1e-13  # the cosine of two images that may be one
SAME_IMAGE = 1e-14  # the largest difference between two images of length 1 that are one


class Images:
    """Columns of M in units of their length, class after class in the order in which they were first asked for.

    For least squares they are multiplied by the roots of the weights, and `gram` holds their inner products, `moments`
    those with the data. Slots, the places of images in all of these, are valid until the next ones are asked for.

    room : how many are kept at most
    """

    def __init__(self, view: View, problem: Problem, room: int) -> None:
        self._view, self.room = view, room
        loss = problem.base_loss
        self.squares = loss.squares
        self.root = np.sqrt(loss.weights) if self.squares and loss.weights is not None else None
        rows = view.M.shape[0]
        self._sparse = (rows if view.at_hand is None else view.at_hand.image_size) <= THIN * rows
        total = view.count if view.blocks is None else int(view.sizes(np.arange(view.count)).sum())
        self.ample = total <= room  # there is room for all of them
        self._place = np.full(view.count, -1, dtype=np.int32)  # of each class in the order of `classes`
        self._asked = np.zeros(0 if self.ample else view.count, dtype=np.int64)  # when each was asked for last
        self._clock = 0
        self._empty()
        self.aim(problem)

    def _empty(self) -> None:
        rows = self._view.M.shape[0]
        self.size = 0  # images held
        self.classes = np.empty(0, dtype=np.intp)
        self.starts = np.zeros(1, dtype=np.intp)  # where the images of each class begin, with the end appended
        # dense: an image a row; sparse: an image a column
        self._held: Matrix = sp.csc_array((rows, 0)) if self._sparse else np.empty((0, rows))
        self.gram = np.empty((0, 0))
        self.moments = np.empty(0)

    def aim(self, problem: Problem) -> None:
        """Take the data of a problem; the images stay."""
        self.target = problem.b if self.root is None else self.root * problem.b
        if self.squares and self.size:
            held = self._held if self._sparse else self._held[: self.size].T
            self.moments[: self.size] = held.T @ self.target

    def fits(self, classes: IntArray) -> bool:
        """Whether there is room for the images of these classes, if need be for no others."""
        if self.ample:
            return True
        return (classes.size if self._view.blocks is None else int(self._view.sizes(classes).sum())) <= self.room

    def held(self, classes: IntArray) -> Array:
        """Which of these classes have their images here."""
        return self._place[classes] >= 0

    def places(self, classes: IntArray) -> IntArray:
        """Of these classes, which are here, in the order of `classes`."""
        return self._place[classes].astype(np.int64)

    def slots(self, classes: IntArray) -> IntArray:
        """Where the images of these classes are, class after class; those that are missing are made."""
        places = self._place[classes]
        if places.size and places.min() < 0:
            self._take(classes[places < 0], classes)
            places = self._place[classes]
        if not self.ample:
            self._clock += 1
            self._asked[classes] = self._clock
        if self._view.blocks is None:
            return places.astype(np.intp)
        spans = [np.arange(self.starts[p], self.starts[p + 1]) for p in places]
        return np.concatenate(spans) if spans else np.empty(0, dtype=np.intp)

    def _take(self, missing: IntArray, wanted: IntArray) -> None:
        view = self._view
        fresh = view.coordinates(missing)
        if self.size + fresh.size > self.room:
            self._make_room(wanted, fresh.size)
        at_hand, scale = view.at_hand, view.image_scale(fresh)
        block = view.M.columns(fresh) if at_hand is None else at_hand.read(fresh)
        if self._sparse:
            self._append_sparse(sp.csc_array(block) @ sp.diags_array(scale))
        else:
            block = block.toarray() if sp.issparse(block) else block
            rows = block.T * scale[:, None]
            self._append_dense(rows if self.root is None else rows * self.root)
        self._place[missing] = np.arange(self.classes.size, self.classes.size + missing.size)
        self.classes = np.concatenate([self.classes, missing])
        self.starts = np.concatenate([self.starts, self.starts[-1] + np.cumsum(view.sizes(missing))])
        start, self.size = self.size, self.size + fresh.size
        if self.squares:
            self._extend_gram(start, self.size)

    def _make_room(self, wanted: IntArray, needed: int) -> None:
        """Let go of the classes asked for longest ago, but of none that are wanted now: others keep half of what room
        is left, so that not every new image asks for this."""
        sizes, now = np.diff(self.starts), np.isin(self.classes, wanted)
        order = np.argsort(-np.where(now, self._clock + 1, self._asked[self.classes]), kind="stable")
        held = int(sizes[now].sum())
        limit = held + max(0, self.room - needed - held) // 2
        self._keep(np.sort(order[np.cumsum(sizes[order]) <= limit]))

    def _keep(self, stays: IntArray) -> None:
        """Only the classes at these places."""
        sizes = np.diff(self.starts)[stays]
        spans = [np.arange(self.starts[p], self.starts[p + 1]) for p in stays]
        slots = np.concatenate(spans) if spans else np.empty(0, dtype=np.intp)
        self._place[self.classes] = -1
        self.classes = self.classes[stays]
        self._place[self.classes] = np.arange(stays.size)
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.size = slots.size
        self._held = sp.csc_array(self._held[:, slots]) if self._sparse else self._held[slots]
        if self.squares:
            self.gram, self.moments = self.gram[np.ix_(slots, slots)], self.moments[slots]

    def _space(self, before: int, needed: int) -> int:
        """For how many images there is to be space."""
        return max(needed, min(max(2 * before, FIRST_ROWS), self.room))

    def _append_dense(self, rows: Array) -> None:
        end = self.size + len(rows)
        if end > len(self._held):
            larger = np.empty((self._space(len(self._held), end), rows.shape[1]))
            larger[: self.size] = self._held[: self.size]
            self._held = larger
        self._held[self.size : end] = rows

    def _append_sparse(self, block: Matrix) -> None:
        if self.root is not None:
            block = sp.diags_array(self.root) @ block
        self._held = sp.csc_array(sp.hstack([self._held, block])) if self.size else sp.csc_array(block)

    def _extend_gram(self, start: int, end: int) -> None:
        if start == 0 and end > len(self.gram):  # all at once: large arrays that are new cost more than their numbers
            held = self._held if self._sparse else self._held[:end].T
            self.gram = (held.T @ held).toarray() if self._sparse else held.T @ held
            self.moments = np.asarray(held.T @ self.target)
            return
        if end > len(self.gram):
            side = self._space(len(self.gram), end)
            gram, moments = np.empty((side, side)), np.empty(side)
            gram[:start, :start] = self.gram[:start, :start]
            moments[:start] = self.moments[:start]
            self.gram, self.moments = gram, moments
        if self._sparse:
            fresh = self._held[:, start:end]
            cross = (fresh.T @ self._held).toarray()
            self.moments[start:end] = fresh.T @ self.target
        else:
            fresh = self._held[start:end]
            cross = fresh @ self._held[:end].T
            self.moments[start:end] = fresh @ self.target
        self.gram[start:end, :end] = cross
        self.gram[:start, start:end] = cross[:, :start].T

    def twins(self, classes: IntArray) -> tuple[int, int] | None:
        """A class among these and another whose image is the same up to its sign, if one is kept."""
        mine = classes[self._place[classes] >= 0] if self.squares and self._view.single else classes[:0]
        if not mine.size:
            return None
        slots = self._place[mine]
        alike = np.abs(self.gram[slots, : self.size])
        alike[np.arange(mine.size), slots] = 0.0
        i, j = divmod(int(alike.argmax()), self.size)
        if alike[i, j] < ONE_COSINE or not self._one(int(slots[i]), j):
            return None
        return int(mine[i]), int(self.classes[j])

    def _one(self, i: int, j: int) -> bool:
        """Whether two images are the same up to their sign, as far as double precision tells."""
        a, b = linalg.dense(self.columns(np.array([i, j]))).T
        return min(float(np.abs(a - b).max()), float(np.abs(a + b).max())) <= SAME_IMAGE

    @property
    def even(self) -> bool:
        """Whether the images kept are about as long as each other, for least squares: units then hardly matter."""
        squares = np.diag(self.gram)[: self.size]
        return bool(squares.size == 0 or squares.max() <= EVEN**2 * squares.min())

    def columns(self, slots: IntArray) -> Matrix:
        """The images in these slots as columns, dense or sparse."""
        return self._held[:, slots] if self._sparse else self._held[slots].T

    def combine(self, slots: IntArray, c: FloatArray) -> FloatArray:
        """The sum of images times coefficients."""
        return np.asarray(self._held[:, slots] @ c if self._sparse else c @ self._held[slots])

    def combined(self, X: FloatArray) -> FloatArray:
        """The sums of all images times each row of X, as columns."""
        return np.asarray(self._held @ X.T if self._sparse else (X @ self._held[: self.size]).T)

    def correlate(self, slots: IntArray, r: FloatArray) -> FloatArray:
        """The inner products of images with r."""
        return np.asarray(self._held[:, slots].T @ r if self._sparse else self._held[slots] @ r)

    def dual(self, r: FloatArray) -> FloatArray:
        """y of a whitened residual, for least squares."""
        return r if self.root is None else self.root * r


class Crossings:
    """The inner products of images with all images, one coordinate a class: a row for each that was asked for.

    most : rows kept at most; where they are full all make room
    """

    def __init__(self, view: View, most: int) -> None:
        self._view, self._most = view, most
        self._place = np.full(view.count, -1, dtype=np.int32)
        self._rows = np.empty((0, view.count))
        self._size = 0

    def rows(self, classes: IntArray) -> FloatArray:
        """Those of these classes, a copy; as many products as are missing."""
        missing = classes[self._place[classes] < 0]
        if missing.size:
            self._take(missing, classes)
        return self._rows[self._place[classes]]

    def _take(self, missing: IntArray, wanted: IntArray) -> None:
        if self._size + missing.size > self._most:
            self._place[:] = -1
            self._size, missing = 0, wanted
        view, images, end = self._view, self._view.images, self._size + missing.size
        columns: Matrix = images.columns(images.slots(missing))
        columns = columns.toarray() if sp.issparse(columns) else columns
        Y = columns if images.root is None else columns * images.root[:, None]
        if end > len(self._rows):
            larger = np.empty((max(end, min(2 * end, self._most)), view.count))
            larger[: self._size] = self._rows[: self._size]
            self._rows = larger
        step = AT_A_TIME if view.rows is None else missing.size  # a block of products is one pass over them
        for first in range(0, missing.size, step):
            ledger.tick()
            some = slice(first, min(first + step, missing.size))
            at = slice(self._size + some.start, self._size + some.stop)
            self._rows[at] = view.pull_block(view.outer.adjoint_block(Y[:, some]))
        self._place[missing] = np.arange(self._size, end)
        self._size = end
