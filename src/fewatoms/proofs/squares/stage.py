"""Nodes over the atoms that are left at some stage, with as much as can be moved out of the diagonal of their M'M."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.proofs.squares._visit import Space
from fewatoms.proofs.squares.grown import NO_NODE, POINT, Grown
from fewatoms.proofs.squares.loops import loops
from fewatoms.proofs.squares.shifted import shift
from fewatoms.proofs.squares.table import Ground, Table

LOOKS, LAST_LOOKS = 4, 40  # of the relaxation of a node; where it is a leaf, or the root
AN_OPEN_NODE = 500  # bytes of a node that is open beside its arrays
WIDER = 1.5  # times what rounding may do: who checks finds no less


class Open:
    """A node that is not closed: its number, what it proves, and where its relaxation ended; `free` atoms are left."""

    __slots__ = ("branch", "free", "low", "node", "s", "status", "taken", "who", "x")

    def __init__(self, node: int, low: float, status: Array, who: IntArray, x: FloatArray, s: float, branch: int):
        self.node, self.low, self.status = node, low, status
        self.who, self.x, self.s, self.branch = who, x, s, branch
        self.free, self.taken = int(np.count_nonzero(status == 0)), int(np.count_nonzero(status > 0))

    @property
    def bytes(self) -> int:
        return AN_OPEN_NODE + self.status.size + 16 * self.who.size

    def __lt__(self, other: Open) -> bool:
        return self.low < other.low


class Keeper:
    """Whoever looks at nodes.

    target : what their bounds have to reach; upper : the objective of the best choice known
    closed : the least bound of those that are closed, and of what was decided; nodes : how many have been looked at
    record : where they are kept
    """

    def __init__(self, table: Table, target: float, upper: float, record: Grown) -> None:
        self.table, self.target, self.upper, self.record = table, target, upper, record
        self.closed, self.nodes = np.inf, 0

    def better(self, upper: float, places: IntArray) -> None:
        """A choice that may be the best so far."""

    def note(self, node: int, places: IntArray, before: Array, status: Array) -> None:
        """What a node's bound decides, which is kept; with k atoms in, all others are out."""
        changed = np.flatnonzero(before != status)
        if changed.size:
            self.record.decide(node, places[changed], status[changed])
            self.closed = min(self.closed, self.target)
        if np.count_nonzero(status > 0) >= self.table.k:
            status[status == 0] = -1


class Forgotten(Grown):
    """A tree that is not kept."""

    def add(self, parent: int, atom: int, side: int, stage: int, kind: int, who: IntArray, x: FloatArray) -> int:
        return NO_NODE

    def decide(self, node: int, places: IntArray, status: Array) -> None:
        pass


class Stage:
    """Nodes over the atoms that are left, with D moved out of their M'M."""

    def __init__(self, search: Keeper, ground: Ground, G: FloatArray) -> None:
        table, p = search.table, ground.places.size
        self.search, self.places, self.d, self.C = search, ground.places, ground.d, ground.C
        self.number = search.record.move(ground.places.astype(np.intp), ground.D)
        Q = G - np.diag(ground.D)
        c = table.A[:, ground.places].T @ table.b
        self.space = Space(Q, c, table.bb, ground.d, ground.C, table.nonneg, table.size, WIDER * table.off(table.n))
        self.bounds = bool((ground.d > 0).all() or np.isfinite(ground.C).all())
        self.chosen = np.empty(max(1, table.k), dtype=np.int64)
        self.h, self.visit = np.empty(p), loops()["visit"]

    @classmethod
    def of(cls, search: Keeper, places: IntArray) -> Stage:
        G = search.table.gram(places)
        return cls(search, Ground(search.table, places, shift(G, search.table.m)), G)

    def first(self, status: Array, parent: int) -> Open | None:
        """The root of the stage."""
        x = np.zeros(status.size)
        pull = np.maximum(self.space.c, 0.0) if self.space.nonneg else np.abs(self.space.c)
        s = float(np.sort(pull / np.sqrt(np.maximum(self.d, 1e-12)))[-min(self.search.table.k, pull.size)])
        return self._visited(status.copy(), x, s, parent, NO_NODE, 0, LAST_LOOKS, int(np.count_nonzero(status == 0)))

    def child(self, parent: Open, side: int) -> Open | None:
        """One side of a node; None where it is closed."""
        status, free = parent.status.copy(), parent.free - 1
        status[parent.branch] = side
        if side > 0 and parent.taken + 1 >= self.search.table.k:
            status[status == 0] = -1
            free = 0
        x = np.zeros(status.size)
        x[parent.who] = parent.x
        return self._visited(status, x, parent.s, parent.node, int(self.places[parent.branch]), side, LOOKS, free)

    def _visited(
        self, status: Array, x: FloatArray, s: float, parent: int, atom: int, side: int, rounds: int, free: int
    ) -> Open | None:
        search, before = self.search, status.copy()
        search.nodes += 1
        most = rounds if free else LAST_LOOKS
        low, s, left, found, branch = self.visit(
            self.space, status, search.table.k, x, self.h, self.chosen, s, search.target, most
        )
        who = x.nonzero()[0]
        values = x[who]
        node = search.record.add(parent, atom, side, self.number, POINT, self.places[who], values)
        if low >= search.target:
            search.closed = min(search.closed, low)
            return None
        if found < search.upper:
            search.better(found, self.places[self.chosen[self.chosen >= 0]])
        if left != free:
            search.note(node, self.places, before, status)
        if left < 0:
            return None
        opened = Open(node, low, status, who, values, s, branch)
        if not opened.free:
            self._leaf(node, status, x, s)
            return None
        if status[branch] != 0:
            opened.branch = int(np.flatnonzero(status == 0)[0])
        return opened

    def _leaf(self, node: int, status: Array, x: FloatArray, s: float) -> None:
        """A single choice is left: its bound is its objective, but for rounding."""
        search = self.search
        low, s, _, found, _ = self.visit(
            self.space, status, search.table.k, x, self.h, self.chosen, s, np.inf, LAST_LOOKS
        )
        if found < search.upper:
            search.better(found, self.places[self.chosen[self.chosen >= 0]])
        who = np.flatnonzero(x)
        search.record.add(
            node, NO_NODE, 0, self.number, POINT, self.places[who].astype(np.intp), x[who].astype(np.float64)
        )
        search.closed = min(search.closed, low)


def depth_first(keeper: Keeper, stage: Stage, begin: Open) -> Iterator[None]:
    """All below a node, in the order that needs least memory."""
    ways = [begin]
    while ways:
        node = ways.pop()
        if node.low >= keeper.target:
            keeper.closed = min(keeper.closed, node.low)
            continue
        both = [stage.child(node, side) for side in (-1, 1)]
        ways += [child for child in both if child is not None]
        yield
