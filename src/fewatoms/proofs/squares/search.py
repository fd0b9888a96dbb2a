"""The search: what the root decides, stages of fewer and fewer atoms, and branch and bound over what is left."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.proofs.base import Question, Search, Standing, Tree
from fewatoms.proofs.squares import NAME, exhaustive, root
from fewatoms.proofs.squares._visit import Space
from fewatoms.proofs.squares.grown import EMPTY, FITTED, LEAPS, LISTED, NOWHERE, POINT, Grown
from fewatoms.proofs.squares.loops import awaited, loops
from fewatoms.proofs.squares.shifted import shift
from fewatoms.proofs.squares.table import Ground, Table
from fewatoms.rounding import above

BREATH = 0.05  # seconds between two standings
LOOKS, LAST_LOOKS = 4, 40  # of the relaxation of a node; where it is a leaf, or the root
SHRUNK = 0.85  # share of the atoms of a stage; with fewer the next begins
A_PAIR = 24.0  # bytes for each entry of a Gram matrix
WEAK = 1e-3  # with less paid by every atom of length 1, bounds of nodes are of no use
AT_ONCE_SECONDS = 0.1  # lists that take no longer are made where the root leaves anything open


HOPELESS = (
    "Without a ridge or a cap nothing can be proven where columns depend on each other and choices are too many to be "
    "listed: give fit(..., ridge=...) or fit(..., cap=...)."
)


class Open:
    """A node that is not closed: its number, what it proves, and where its relaxation ended."""

    __slots__ = ("branch", "low", "node", "s", "status", "who", "x")

    def __init__(self, node: int, low: float, status: Array, who: IntArray, x: FloatArray, s: float, branch: int):
        self.node, self.low, self.status = node, low, status
        self.who, self.x, self.s, self.branch = who, x, s, branch

    def __lt__(self, other: Open) -> bool:
        return self.low < other.low


class SquaresSearch(Search):
    """Of one question.

    upper, best : the objective of the best choice known, and its places in the table; None where it is the question's
    closed : the least bound of the leaves so far
    """

    name = NAME

    def __init__(self, question: Question) -> None:
        self.question = question
        self.table = Table.of(question)
        self.grown = Grown()
        self.upper, self.best = question.upper, question.best
        self.target = question.enough()
        self.nodes, self.closed, self.pending = 0, np.inf, 0.0
        self.heap: list[Open] = []
        self.hopeless, self.ended = False, False

    # What is told ---------------------------------------------------------------------------------------------------

    @property
    def lower(self) -> float:
        """Of all leaves, and of what has not been looked at."""
        known = min(self.closed, self.heap[0].low if self.heap else np.inf, self.pending)
        return max(0.0, known)

    def standing(self, ended: bool = False) -> Standing:
        self.ended |= ended
        return Standing(min(self.lower, self.upper), self.upper, self.best, self.nodes, self.ended)

    def final(self) -> Standing:
        return self.standing()

    def tree(self) -> Tree:
        return self.grown.kept(self.lower, self.table.n)

    def remedy(self) -> str:
        return HOPELESS if self.hopeless else ""

    # How it is found ------------------------------------------------------------------------------------------------

    def standings(self) -> Iterator[Standing]:
        table = self.table
        if self.target <= 0.0 or table.n == 0 or table.k <= 0:
            yield from self._nothing_to_choose()
            return
        for _ in awaited(table.n):
            yield self.standing()
        status, node = table.start(), NOWHERE
        if table.forced.size >= table.k:
            status[status == 0] = -1
        if table.bounded:
            node, best = self.grown.add(NOWHERE, NOWHERE, 0, NOWHERE, POINT, EMPTY, np.empty(0)), None
            for seen in root.looked_at(table, status, self.target):
                if best is None or seen.low > best.low:
                    best = seen
                    self.grown.point(node, seen.who, seen.x)
                    self.pending = max(self.pending, seen.low)
                self.nodes = 1
                ledger.tick()
                yield self.standing()
            if best is None or self._decided(node, np.arange(table.n), status, best.h.copy(), best.low):
                yield self._end()
                return
        yield from self._stages(status, node)

    def _nothing_to_choose(self) -> Iterator[Standing]:
        """Where 0 suffices as a bound, or no atom matters."""
        if self.table.n == 0 or self.table.k <= 0:
            self.pending = self.table.bb * (1.0 - 1e-12)
        self.grown.add(NOWHERE, NOWHERE, 0, NOWHERE, POINT, EMPTY, np.empty(0, dtype=np.float64))
        self.closed, self.pending, self.nodes = self.pending, np.inf, 1
        yield self.standing(True)

    def _end(self) -> Standing:
        self.pending = np.inf
        return self.standing(True)

    def _decided(self, node: int, places: IntArray, status: Array, h: FloatArray, low: float) -> bool:
        """What the bound of a point decides, in the place of status: whether nothing is left to try."""
        if low >= self.target:
            self.closed = min(self.closed, low)
            return True
        before = status.copy()
        left = loops()["decide"](status, self.table.k, h, low, self.target)
        self._note(node, places, before, status)
        return bool(left < 0)

    def _note(self, node: int, places: IntArray, before: Array, status: Array) -> None:
        changed = np.flatnonzero(before != status)
        if changed.size:
            self.grown.decide(node, places[changed], status[changed])
            self.closed = min(self.closed, self.target)
        if np.count_nonzero(status > 0) >= self.table.k:
            status[status == 0] = -1

    # Stages ---------------------------------------------------------------------------------------------------------

    def _stages(self, status: Array, node: int) -> Iterator[Standing]:
        """Fewer and fewer atoms, each time with as much as can be moved out of the diagonal; then the tree, or all
        choices."""
        before = self.table.n + 1
        while True:
            places = np.flatnonzero(status >= 0)
            stage = Stage.of(self, places) if A_PAIR * places.size**2 <= self.question.memory else None
            ledger.tick()
            if stage is None or not stage.bounds:
                yield from self._exhausted(status, node, None)
                return
            first = stage.first(status[places], node)
            yield self.standing()
            if first is None:
                yield self._end()
                return
            self.pending = max(self.pending, first.low)
            status = np.full(self.table.n, -1, dtype=np.int8)
            status[places] = first.status
            left = np.count_nonzero(status >= 0)
            if left > SHRUNK * places.size or before <= left:
                break
            before, node = places.size, first.node
        weak = bool(stage.d.max() < WEAK)
        if weak or exhaustive.seconds(self.table, status) < AT_ONCE_SECONDS:
            yield from self._exhausted(status, first.node, (stage, first))
        else:
            yield from self._branches(stage, first, status)

    def _branches(self, stage: Stage, first: Open, status: Array) -> Iterator[Standing]:
        """The tree, while it takes no longer than a list of all choices would."""
        patience = time.monotonic() + exhaustive.seconds(self.table, status)
        self.heap, self.pending = [first], np.inf
        breath, nodes = time.monotonic(), len(self.grown.parent)
        while self.heap:
            if self.heap[0].low >= self.target:
                break
            self._branch(stage)
            ledger.tick()
            now = time.monotonic()
            if now - breath >= BREATH:
                yield self.standing()
                breath = time.monotonic()
            if now > patience:
                yield from self._exhausted(status, first.node, None, nodes)
                return
        yield self.standing(True)

    def _exhausted(
        self, status: Array, node: int, tree: tuple[Stage, Open] | None, count: int | None = None
    ) -> Iterator[Standing]:
        """All choices, in the way that seems quickest; the tree where there is no such way. What the tree has come to
        beyond its first `count` nodes is forgotten once that is done."""
        leaps, listing = exhaustive.Leaps(self.table, status), exhaustive.seconds(self.table, status)
        if leaps.fine and listing > AT_ONCE_SECONDS and count is None:
            count = len(self.grown.parent)
            if leaps.value > self.pending:  # meanwhile that bounds
                self.pending = leaps.value
                self.grown.add(node, NOWHERE, 0, NOWHERE, FITTED, EMPTY, np.empty(0))
            yield from self._run(exhaustive.leaping(self, leaps), count)
            self.grown.add(node, NOWHERE, 0, NOWHERE, LEAPS, EMPTY, np.empty(0))
        elif np.isfinite(listing):
            yield from self._run(exhaustive.listing(self, status), count)
            self.grown.add(node, NOWHERE, 0, NOWHERE, LISTED, EMPTY, np.empty(0))
        elif tree is not None:
            yield from self._branches(*tree, status)
            return
        else:
            self.hopeless = True
            yield self.standing()
            return
        self.closed = min(self.closed, self.target)
        yield self._end()

    def _run(self, run: Iterator[int], count: int | None) -> Iterator[Standing]:
        breath, before = time.monotonic(), self.nodes
        for done in run:
            self.nodes = before + done
            ledger.tick()
            if time.monotonic() - breath >= BREATH:
                yield self.standing()
                breath = time.monotonic()
        if count is not None:
            self.grown.cut(count)
            self.heap = []

    def looked_at(self, choice: IntArray, low: float) -> None:
        """A choice below the target, or near it: its best coefficients within their box."""
        value = self.table.fitted(choice)
        self.better(value, choice)
        self.closed = min(self.closed, max(low, value * (1.0 - 1e-9) - 1e-13 * self.table.bb))

    def _branch(self, stage: Stage) -> None:
        """Both sides of the most promising node, which is given up when both are done."""
        parent = self.heap[0]
        new = []
        for side in (1, -1):
            child = stage.child(parent, side)
            if child is not None:
                new.append(child)
        heapq.heappop(self.heap)
        for child in new:
            heapq.heappush(self.heap, child)

    def better(self, upper: float, places: IntArray) -> None:
        """A choice that may be the best so far."""
        upper = above(upper, 64) + 1e-13 * self.table.bb
        if upper < self.upper * (1.0 - 1e-12):
            self.upper, self.best = upper, self.table.called(places)
            self.target = self.question.enough(upper)


class Stage:
    """Nodes over the atoms that are left, with D moved out of their M'M."""

    def __init__(self, search: SquaresSearch, ground: Ground, G: FloatArray) -> None:
        table, p = search.table, ground.places.size
        self.search, self.places, self.d, self.C = search, ground.places, ground.d, ground.C
        self.number = search.grown.move(ground.places.astype(np.intp), ground.D)
        Q = G - np.diag(ground.D)
        c = table.A[:, ground.places].T @ table.b
        self.space = Space(Q, c, table.bb, ground.d, ground.C, table.nonneg, table.size, table.off(table.n))
        self.bounds = bool((ground.d > 0).all() or np.isfinite(ground.C).all())
        self.chosen = np.empty(max(1, table.k), dtype=np.int64)
        self.h, self.visit = np.empty(p), loops()["visit"]

    @classmethod
    def of(cls, search: SquaresSearch, places: IntArray) -> Stage:
        G = search.table.gram(places)
        return cls(search, Ground(search.table, places, shift(G, search.table.m)), G)

    def first(self, status: Array, parent: int) -> Open | None:
        """The root of the stage."""
        x = np.zeros(status.size)
        pull = np.maximum(self.space.c, 0.0) if self.space.nonneg else np.abs(self.space.c)
        s = float(np.sort(pull / np.sqrt(np.maximum(self.d, 1e-12)))[-min(self.search.table.k, pull.size)])
        return self._visited(status.copy(), x, s, parent, NOWHERE, 0, LAST_LOOKS)

    def child(self, parent: Open, side: int) -> Open | None:
        """One side of a node; None where it is closed."""
        status = parent.status.copy()
        status[parent.branch] = side
        if side > 0 and np.count_nonzero(status > 0) >= self.search.table.k:
            status[status == 0] = -1
        x = np.zeros(status.size)
        x[parent.who] = parent.x
        return self._visited(status, x, parent.s, parent.node, int(self.places[parent.branch]), side, LOOKS)

    def _visited(
        self, status: Array, x: FloatArray, s: float, parent: int, atom: int, side: int, rounds: int
    ) -> Open | None:
        search, before = self.search, status.copy()
        search.nodes += 1
        most = rounds if (status == 0).any() else LAST_LOOKS
        low, s, left, found, branch = self.visit(
            self.space, status, search.table.k, x, self.h, self.chosen, s, search.target, most
        )
        who = np.flatnonzero(x)
        node = search.grown.add(
            parent, atom, side, self.number, POINT, self.places[who].astype(np.intp), x[who].astype(np.float64)
        )
        if low >= search.target:
            search.closed = min(search.closed, low)
            return None
        if found < search.upper:
            search.better(found, self.places[self.chosen[self.chosen >= 0]])
        search._note(node, self.places, before, status)
        if left < 0:
            return None
        if not (status == 0).any():
            self._leaf(node, status, x, s)
            return None
        branch = branch if status[branch] == 0 else int(np.flatnonzero(status == 0)[0])
        return Open(node, low, status, who, x[who], s, branch)

    def _leaf(self, node: int, status: Array, x: FloatArray, s: float) -> None:
        """A single choice is left: its bound is its objective, but for rounding."""
        search = self.search
        low, s, _, found, _ = self.visit(
            self.space, status, search.table.k, x, self.h, self.chosen, s, np.inf, LAST_LOOKS
        )
        search.better(found, self.places[self.chosen[self.chosen >= 0]])
        who = np.flatnonzero(x)
        search.grown.add(
            node, NOWHERE, 0, self.number, POINT, self.places[who].astype(np.intp), x[who].astype(np.float64)
        )
        search.closed = min(search.closed, low)
