"""Depth first: a part of the tree searched through with no record of it, where memory is full. Who checks that does so
again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fewatoms._types import Array
from fewatoms.proofs.smooth.exact import Exact
from fewatoms.proofs.smooth.given import FREE, IN
from fewatoms.proofs.smooth.nodes import Bounded, Nodes
from fewatoms.proofs.smooth.parting import HANDED_ON, decided, parted
from fewatoms.rounding import gamma


@dataclass(frozen=True, eq=False)
class Below:
    """A node on the way down: its states, how many more may be taken, its bound and what is known of it."""

    state: Array
    kappa: int
    bound: float
    known: Bounded
    whole: bool = False


class Dive:
    """The nodes below one, the one found last first. Bounds are exact ones.

    lowest : that of all nodes that are done with; seen : how many nodes there were
    """

    def __init__(self, nodes: Nodes, exact: Exact, state: Array, kappa: int, known: Bounded, bound: float) -> None:
        self._nodes, self._exact = nodes, exact
        self._stack = [Below(state, kappa, bound, known)]
        self.lowest, self.seen = np.inf, 0

    @property
    def ended(self) -> bool:
        return not self._stack

    def step(self, target: float) -> list[Below]:
        """Part the last node; its children, if they are not done with at once."""
        node = self._stack.pop()
        if node.whole or node.bound >= target:
            self.lowest = min(self.lowest, node.bound)
            return []
        own, known = self._exactly(node)
        bound = max(node.bound, own)
        state, _, sides = decided(node.state, node.kappa, known, own, target)
        kappa = node.kappa - int(np.count_nonzero(sides == IN))
        if sides.size:
            self.lowest = min(self.lowest, target)  # what is cut off reaches it
        children = []
        for atom, _, after, left in parted(state, kappa, known.shares):
            self.seen += 1
            child = Below(after, left, bound, self._nodes.near(after, left, known, target), atom == HANDED_ON)
            children.append(replace(child, bound=max(bound, self._exactly(child)[0])))
        self._stack += sorted(children, key=lambda child: -child.bound)
        return children

    def _exactly(self, node: Below) -> tuple[float, Bounded]:
        """The bound of a node by its coefficients, rounded down, with what each class gains, rounded up."""
        posed, known = self._exact.posed, node.known
        value, gains = self._exact.gains(known.x[:, None], posed.free(known.x, known.v)[:, None])
        h = gains[:, 0]
        order = np.sort(h[node.state == FREE])[::-1]
        gained = float(h[node.state == IN].sum()) + float(order[: node.kappa].sum())
        own = float(value[0]) - gained * (1.0 + 4.0 * gamma(h.size + 16)) - gamma(64) * abs(float(value[0]))
        return (own if np.isfinite(own) else -np.inf), replace(known, h=h)
