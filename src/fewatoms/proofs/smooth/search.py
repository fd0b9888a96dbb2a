"""Best first: the node with the lowest bound is parted by the class whose share is most in doubt."""

from __future__ import annotations

import heapq
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import numpy as np

from fewatoms import ledger, linalg
from fewatoms._types import Array
from fewatoms.proofs.base import Question, Search, Standing, Tree
from fewatoms.proofs.smooth.dive import Dive
from fewatoms.proofs.smooth.exact import Exact
from fewatoms.proofs.smooth.given import FREE, IN, Posed
from fewatoms.proofs.smooth.nodes import Bounded, Nodes
from fewatoms.proofs.smooth.parting import HANDED_ON, decided, parted
from fewatoms.proofs.smooth.record import Record
from fewatoms.proofs.smooth.table import SMOOTH_TREE, TOGETHER, Evaluated, Visit, walked

BREATH = 0.05  # seconds from one standing to the next
FITS_KEPT = 100_000  # choices of classes that are remembered as fitted
OFF = 1e-9  # share of f(b) by which figures of a search under way are put lower: what is told in the end is evaluated
BETTER = 1e-10  # share by which another answer must be better to be one


@dataclass(order=True)
class Open:
    """A node that may be parted.

    bound : what is known of it; depth, number : break ties, deep ones first
    whole : whether nothing was left to choose
    """

    bound: float
    depth: int
    number: int
    state: Array = field(compare=False)
    known: Bounded = field(compare=False)
    whole: bool = field(compare=False, default=False)

    @property
    def bytes(self) -> int:
        return int(self.state.nbytes + self.known.x.nbytes + self.known.v.nbytes) + 400


class SmoothSearch(Search):
    """A search over classes of atoms with any loss whose conjugate is known."""

    name = SMOOTH_TREE

    def __init__(self, question: Question, posed: Posed) -> None:
        self.question, self.posed = question, posed
        self.nodes = Nodes(posed)
        self.record = Record(posed)
        self.upper, self.best = question.upper, question.best
        self._open: list[Open] = []
        self._closed = np.inf  # the lowest bound of nodes that are done with
        self._ended = False
        self._tried: set[bytes] = set()
        self._held = 0
        self._dive: Dive | None = None
        self._nothing = question.problem.loss.nothing(question.problem.m)
        self._off = OFF * max(question.problem.at_zero, 0.0)

    # What is known ----------------------------------------------------------------------------------------------------

    def standings(self) -> Generator[Standing]:
        if not self.posed.bounded:
            self._ended = True
            yield Standing(0.0, self.upper, self.best, 0, True)
            return
        with linalg.single_thread():
            yield from self._searched()

    def _searched(self) -> Iterator[Standing]:
        while not self.nodes.ready:  # somebody makes machine code
            ledger.tick()
            time.sleep(BREATH)
            yield Standing(0.0, self.upper, self.best, 0)
        self._begin()
        yield self._standing()
        before = time.monotonic()
        while not self._ended:
            ledger.tick()
            self._step()
            if self._ended or time.monotonic() - before >= BREATH:
                yield self._standing()
                before = time.monotonic()

    def _standing(self) -> Standing:
        return Standing(max(0.0, self._lowest() - self._off), self.upper, self.best, self.record.size, self._ended)

    def _lowest(self) -> float:
        return min(self._open[0].bound if self._open else np.inf, self._closed, self.upper)

    def final(self) -> Standing:
        lower = self._evaluated() if self.record.size else 0.0
        return Standing(lower, self.upper, self.best, self.record.size, self._ended)

    def _evaluated(self) -> float:
        """The bounds of all leaves, from M and b."""
        table, lowest, visits = self.record.table(), np.inf, []
        evaluated = Evaluated(
            Exact(self.posed), table, dict(zip(table.again.tolist(), table.again_bound.tolist(), strict=True))
        )

        def done(some: list[Visit]) -> float:
            return evaluated.lowest(some)

        for visit in walked(table, self.posed.root_state, self.question.k):
            visits.append(visit)
            if len(visits) == TOGETHER:
                lowest, visits = min(lowest, done(visits)), []
        return float(max(0.0, min(lowest, done(visits) if visits else np.inf, self.upper)))

    def tree(self) -> Tree:
        return self.record.table().tree({"k": int(self.question.k)})

    def remedy(self) -> str:
        if self.posed.bounded:
            return ""
        return (
            "without a ridge or a cap nothing can be proven, unless the loss is least squares and columns are "
            "independent: give fit(..., ridge=...) or cap=..."
        )

    # The search -------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        state = self.posed.root_state.copy()
        kappa = self.question.k - int(np.count_nonzero(state == IN))
        known = self.nodes.root(state, kappa, self.question.enough(self.upper))
        self.record.add(-1, HANDED_ON, FREE, known)
        self._better(known, state, kappa)
        self._push(Open(known.bound, 0, 0, state, known))

    def _push(self, node: Open) -> None:
        if node.bound >= self.question.enough(self.upper):
            self._closed = min(self._closed, node.bound)
        else:
            heapq.heappush(self._open, node)
            self._held += node.bytes

    def _step(self) -> None:
        """Part the node with the lowest bound, or end."""
        if self._dive is None and (not self._open or self._open[0].bound >= self.question.enough(self.upper)):
            self._ended = True
            return
        node = self._open[0]
        if self._dive is not None or (not node.whole and self._held + self.record.bytes > self.question.memory):
            self._go_down(node)
            return
        children = [] if node.whole else self._children(node)
        self._done(node)
        if node.whole:  # fitted as well as can be
            self._closed = min(self._closed, node.bound)
        for child in children:
            self._push(child)

    def _done(self, node: Open) -> None:
        heapq.heappop(self._open)
        self._held -= node.bytes

    def _go_down(self, node: Open) -> None:
        """There is no room for more nodes: look at what is below this one without keeping it."""
        if self._dive is None:
            kappa = self.question.k - int(np.count_nonzero(node.state == IN))
            self._dive = Dive(self.nodes, Exact(self.posed), node.state, kappa, node.known, -np.inf)
        for child in self._dive.step(self.question.enough(self.upper)):
            self._better(child.known, child.state, child.kappa)
        if self._dive.ended:
            lowest = max(0.0, min(self._dive.lowest, self.question.enough(self.upper)))
            self.record.again(node.number, lowest)
            self._closed, self._dive = min(self._closed, max(lowest, node.bound)), None
            self._done(node)

    def _children(self, node: Open) -> list[Open]:
        """The parts of a node, bounded, and noted."""
        target = self.question.enough(self.upper)
        kappa = self.question.k - int(np.count_nonzero(node.state == IN))
        known = self.nodes.again(node.state, kappa, node.known)
        state, fixed, sides = decided(node.state, kappa, known, known.bound, target)
        kappa -= int(np.count_nonzero(sides == IN))
        parts = parted(state, kappa, known.shares)
        bounded = []
        for atom, side, after, left in parts:
            child = self.nodes.near(after, left, known, target)
            bounded.append((atom, side, after, left, child))
        if fixed.size:
            self.record.fix(node.number, fixed, sides)
        found = []
        for atom, side, after, left, child in bounded:
            number = self.record.add(node.number, atom, side, child)
            self._better(child, after, left)
            found.append(Open(max(node.bound, child.bound), node.depth - 1, number, after, child, atom == HANDED_ON))
        return found

    # Better answers ---------------------------------------------------------------------------------------------------

    def _better(self, known: Bounded, state: Array, kappa: int) -> None:
        """Fit the classes that count most in a node; that is the answer if it is better."""
        if self.upper <= self._nothing:  # the loss of separable classes falls for ever
            return
        free = np.flatnonzero(state == FREE)
        order = free[np.argsort(-known.shares[free] - 1e-9 * known.weight[free], kind="stable")][:kappa]
        chosen = np.sort(np.concatenate([np.flatnonzero(state == IN), order]))
        key = chosen.astype(np.int32).tobytes()
        if key in self._tried:
            return
        if len(self._tried) < FITS_KEPT:
            self._tried.add(key)
        fit = self.nodes.fitted(chosen, known, self.upper)
        if fit is None or not fit.above < self.upper * (1.0 - BETTER):
            return
        objective = self.posed.objective(fit.fit, self.posed.free(fit.fit, fit.free))
        if objective < self.upper * (1.0 - BETTER):
            self.upper, self.best = objective, chosen.astype(np.intp)
