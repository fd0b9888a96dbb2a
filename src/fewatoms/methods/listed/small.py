"""The working set of a search: the images kept so far, as unit columns in the space of their Gram matrix."""

from __future__ import annotations

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.gram.state import State, blank
from fewatoms.methods.listed.view import View


class Small:
    """G, h and |b|^2 of the images kept, each in units of its length, with the ridge on the diagonal of G.

    Atoms are counted in the order in which their images were asked for, and none is let go: places stay valid.

    classes : the class of each; lengths : of their images
    may, stays : those that may be in a support, and those that must
    """

    def __init__(self, view: View, ridge: float) -> None:
        self.view, self.images, self.ridge = view, view.images, ridge
        self.bb = float(self.images.target @ self.images.target)
        self._size = -1
        self._most = view.images.room

    def take(self, classes: IntArray) -> bool:
        """Keep the images of these classes as well, as far as there is room; whether anything is new."""
        known = self.images.held(classes)
        fresh = classes[~known][: max(0, self._most - self.images.size)]
        if fresh.size:
            self.images.slots(fresh)
        self._refresh()
        return bool(fresh.size)

    @property
    def whole(self) -> bool:
        """Whether all atoms are in it."""
        return self.images.size == self.view.count

    def _refresh(self) -> None:
        images, size = self.images, self.images.size
        if size == self._size:
            return
        self._size = size
        self.classes = images.classes
        G, h = np.ascontiguousarray(images.gram[:size, :size]), images.moments[:size]
        if self.view.scale is None:
            self.lengths = np.sqrt(G.diagonal())
            scale = np.where(self.lengths > 0, 1.0 / np.where(self.lengths > 0, self.lengths, 1.0), 0.0)
            G, h = G * scale[:, None] * scale, h * scale
        else:
            self.lengths = np.ones(size)
            G, h = G.copy() if G.base is not None else G, h.copy()
        self._squares = G.diagonal().copy()
        self.may: Array = self._squares > 0
        if self.view.barred.size:
            self.may &= ~np.isin(self.classes, self.view.barred)
        self.stays: Array = np.isin(self.classes, self.view.forced) if self.view.forced.size else np.zeros(size, bool)
        self.G, self.h = G, h
        self.pay(self.ridge)

    def pay(self, ridge: float) -> None:
        """Put another ridge on the diagonal."""
        self.ridge = ridge
        self.G[np.diag_indices_from(self.G)] = self._squares + ridge * self.may

    def places(self, classes: IntArray) -> IntArray:
        """Where these classes are; they must have been taken."""
        return self.images.slots(classes).astype(np.int64)

    def state(self, most: int) -> State:
        """A state with room for so many atoms, empty."""
        return blank(self.G, self.h, self.bb, most, self.may, self.stays)

    def penalties(self, count: int, shrink: float, signed: bool) -> FloatArray:
        """A ladder of penalties, from just below the smallest whose answer is zero."""
        top = float((np.abs(self.h) if signed else self.h).max(initial=0.0, where=self.may))
        return np.asarray(max(top, 0.0) * shrink ** np.arange(1, count + 1), dtype=np.float64)
