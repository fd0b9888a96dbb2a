"""The search: what the root decides, stages of fewer and fewer atoms, and branch and bound over what is left."""

from __future__ import annotations

import heapq
import time
from collections.abc import Generator, Iterator

import numpy as np

from fewatoms import ledger
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.proofs.base import Question, Search, Standing, Tree
from fewatoms.proofs.squares import NAME, exhaustive, root
from fewatoms.proofs.squares.grown import EMPTY, FITTED, LEAPS, LISTED, NO_NODE, POINT, SEARCHED, Grown
from fewatoms.proofs.squares.loops import awaited, loops
from fewatoms.proofs.squares.stage import Forgotten, Keeper, Open, Stage, depth_first
from fewatoms.proofs.squares.table import Table
from fewatoms.rounding import above

BREATH = 0.05  # seconds between two standings
SHRUNK = 0.85  # share of the atoms of a stage; with fewer the next begins
A_PAIR = 24.0  # bytes for each entry of a Gram matrix
WEAK = 1e-3  # with less paid by every atom of length 1, bounds of nodes are of no use
AT_ONCE_SECONDS = 0.1  # lists that take no longer are preferred to leaps
NO_TREE = 0.005  # seconds: lists that take no longer are made where the root leaves anything open


OUT_OF_REACH = (
    "Without a ridge or a cap nothing can be proven where columns depend on each other and choices are too many to be "
    "listed: give fit(..., ridge=...) or fit(..., cap=...)."
)


class SquaresSearch(Search, Keeper):
    """Of one question.

    best : the classes of the best choice known; heap : nodes that are open; pending : the bound of what is not among
    them, infinite where there is nothing
    """

    name = NAME

    def __init__(self, question: Question) -> None:
        self.grown = Grown()
        Keeper.__init__(self, Table.of(question), question.enough(), question.upper, self.grown)
        self.question, self.best, self.pending = question, question.best, 0.0
        self.heap: list[Open] = []
        self.held = 0.0  # bytes of nodes that are open
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
        return OUT_OF_REACH if self.hopeless else ""

    # How it is found ------------------------------------------------------------------------------------------------

    def standings(self) -> Generator[Standing]:
        table = self.table
        if self.target <= 0.0 or table.n == 0 or table.k <= 0:
            yield from self._nothing_to_choose()
            return
        for _ in awaited(table.n):
            yield self.standing()
        status, node = table.start(), NO_NODE
        if table.forced.size >= table.k:
            status[status == 0] = -1
        if table.bounded:
            node, best = self.grown.add(NO_NODE, NO_NODE, 0, NO_NODE, POINT, EMPTY, np.empty(0)), None
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
            self.better(self.table.bb, np.empty(0, dtype=np.intp))
        self.grown.add(NO_NODE, NO_NODE, 0, NO_NODE, POINT, EMPTY, np.empty(0, dtype=np.float64))
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
        self.note(node, places, before, status)
        return bool(left < 0)

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
        if weak or exhaustive.seconds(self.table, status) < NO_TREE:
            yield from self._exhausted(status, first.node, (stage, first))
        else:
            yield from self._branches(stage, first, status)

    def _branches(self, stage: Stage, first: Open, status: Array) -> Iterator[Standing]:
        """The tree, while it takes no longer than a list of all choices would."""
        patience = time.thread_time() + max(exhaustive.seconds(self.table, status), 4 * NO_TREE)
        self.heap, self.pending = [first], np.inf
        breath, nodes = time.monotonic(), len(self.grown.parent)
        while self.heap:
            if self.heap[0].low >= self.target:
                break
            if self.grown.bytes + self.held > self.question.memory:
                yield from self._deeply(stage)
                break
            self._branch(stage)
            ledger.tick()
            if time.monotonic() - breath >= BREATH:
                yield self.standing()
                breath = time.monotonic()
            if time.thread_time() > patience:
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
                self.grown.add(node, NO_NODE, 0, NO_NODE, FITTED, EMPTY, np.empty(0))
            yield from self._run(exhaustive.leaping(self, leaps), count)
            self.grown.add(node, NO_NODE, 0, NO_NODE, LEAPS, EMPTY, np.empty(0))
        elif np.isfinite(listing):
            yield from self._run(exhaustive.listing(self, status), count)
            self.grown.add(node, NO_NODE, 0, NO_NODE, LISTED, EMPTY, np.empty(0))
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

    def looked_at(self, choice: IntArray) -> None:
        """A choice that may be below the target: its best coefficients within their box."""
        value = self.table.fitted(choice)
        self.better(value, choice)
        self.closed = min(self.closed, self.table.below(value))

    def _branch(self, stage: Stage) -> None:
        """Both sides of the most promising node, which is given up when both are done."""
        parent = self.heap[0]
        new = []
        for side in (1, -1):
            child = stage.child(parent, side)
            if child is not None:
                new.append(child)
        heapq.heappop(self.heap)
        self.held -= parent.bytes
        for child in new:
            heapq.heappush(self.heap, child)
            self.held += child.bytes

    def _deeply(self, stage: Stage) -> Iterator[Standing]:
        """Memory is full: what is below the nodes that are open is looked at, but not kept. Whoever checks does it
        again."""
        breath, self.record = time.monotonic(), Forgotten()
        while self.heap and self.heap[0].low < self.target:
            begin = heapq.heappop(self.heap)
            self.pending = begin.low
            for _ in depth_first(self, stage, begin):
                ledger.tick()
                if time.monotonic() - breath >= BREATH:
                    yield self.standing()
                    breath = time.monotonic()
            self.grown.add(begin.node, NO_NODE, 0, stage.number, SEARCHED, EMPTY, np.empty(0))
            self.closed, self.pending = min(self.closed, self.target), np.inf

    def better(self, upper: float, places: IntArray) -> None:
        """A choice that may be the best so far."""
        called = self.table.called(places)
        if not upper < self.upper or np.array_equal(called, self.question.best):  # whose own figure is rounded upwards
            return
        upper = max(upper, self.table.fitted(places))  # M'M knows less of choices that explain nearly all
        upper = above(upper, 64) + 1e-13 * self.table.bb
        if upper < self.upper * (1.0 - 1e-12):
            self.upper, self.best = upper, called
            self.target = self.question.enough(upper)
