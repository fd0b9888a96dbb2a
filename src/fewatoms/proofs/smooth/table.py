"""A tree as a table: what was decided where, with the coefficients whose dual vectors prove it.

Node 0 has all choices. A node is bounded by the y of its coefficients. Where that does not suffice, classes are fixed
by the same y, and the choices that are left are parted by one class, taken or left out; or they are handed on as they
are, to be bounded anew. So the leaves, and what fixing cut off, are all choices there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fewatoms import kept
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.kept import Plain
from fewatoms.proofs.base import Tampered, Tree
from fewatoms.proofs.smooth.exact import Exact
from fewatoms.proofs.smooth.given import FREE, IN, OUT
from fewatoms.proofs.smooth.parting import HANDED_ON
from fewatoms.rounding import gamma

SMOOTH_TREE = "groups and smooth losses"
TOGETHER = 256  # nodes whose bounds are evaluated at a time
INTEGERS = ("parent", "atom", "side", "starts", "places", "fixed_starts", "fixed", "fixed_side", "again")


@dataclass(frozen=True, eq=False)
class Table:
    """All nodes, parents before their children.

    parent : of each node; -1 for the first
    atom, side : the class by which it was parted from its parent's other child, and whether it is taken (IN) or left
        out (OUT) here; -1 and FREE for what was handed on
    starts, places, values : coordinates with their coefficients, node after node; all others are 0
    v : coefficients of free columns, a row each
    fixed_starts, fixed, fixed_side : the classes that a node's y decides for all its children
    shift : the part of what coefficients pay that was moved out of f
    again, again_bound : nodes below which all was looked at with no record of it, and the lowest bound there: whoever
        checks that does so again
    """

    parent: IntArray
    atom: IntArray
    side: IntArray
    starts: IntArray
    places: IntArray
    values: FloatArray
    v: FloatArray
    fixed_starts: IntArray
    fixed: IntArray
    fixed_side: IntArray
    shift: FloatArray
    again: IntArray
    again_bound: FloatArray

    @property
    def size(self) -> int:
        return self.parent.size

    def tree(self, told: dict[str, Plain]) -> Tree:
        return Tree(SMOOTH_TREE, told, {name: np.asarray(array) for name, array in vars(self).items()})

    @classmethod
    def read(cls, tree: Tree, classes: int, coordinates: int, q: int) -> Table:
        """That of a tree, checked: places in range, arrays that fit."""
        try:
            known = {name: np.asarray(tree.arrays[name]) for name in cls.__dataclass_fields__}
            for name in INTEGERS:
                if known[name].dtype.kind not in "iu" or known[name].ndim != 1:
                    raise ValueError(f"{name} must hold integers")
                known[name] = known[name].astype(np.int64)
            size = known["parent"].size
            if not size:
                raise ValueError("there must be nodes")
            for name, number in (("atom", size), ("side", size)):
                if known[name].size != number:
                    raise ValueError(f"{name} must have an entry for each node")
            for name, parts in (("starts", "places"), ("fixed_starts", "fixed")):
                if known[name].size != size + 1:
                    raise ValueError(f"{name} must have an entry for each node, and one more")
                kept.starts(known[name], known[parts].size)
            kept.places(known["places"], coordinates)
            kept.places(known["fixed"], classes)
            kept.finite(known["values"], known["places"].size)
            kept.finite(known["shift"], coordinates)
            kept.places(known["again"], size)
            kept.finite(known["again_bound"], known["again"].size)
            if known["v"].shape != (size, q) or known["fixed_side"].size != known["fixed"].size:
                raise ValueError("coefficients of free columns, and sides, must fit")
            kept.finite(known["v"])
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            raise Tampered(f"the tree is damaged: {error}") from None
        for name in ("values", "v", "shift", "again_bound"):
            known[name] = np.asarray(known[name], dtype=np.float64)
        return cls(**known)

    def coefficients(self, nodes: Sequence[int], coordinates: int) -> tuple[FloatArray, FloatArray]:
        """Those of some nodes, a column each."""
        X = np.zeros((coordinates, len(nodes)))
        for column, node in enumerate(nodes):
            some = slice(self.starts[node], self.starts[node + 1])
            X[self.places[some], column] = self.values[some]
        return X, np.ascontiguousarray(self.v[list(nodes)].T)

    def fixings(self, node: int) -> tuple[IntArray, IntArray]:
        some = slice(self.fixed_starts[node], self.fixed_starts[node + 1])
        return self.fixed[some], self.fixed_side[some]


@dataclass(frozen=True, eq=False)
class Visit:
    """A node with what is decided on the way to it: the states of all classes and how many more may be taken; and the
    node that it comes from."""

    node: int
    state: Array
    kappa: int
    leaf: bool


def walked(table: Table, root_state: Array, k: int) -> Iterator[Visit]:
    """All nodes, children right after their parents; refuses what is no partition of all choices."""
    children: list[list[int]] = [[] for _ in range(table.size)]
    for node, parent in enumerate(table.parent.tolist()):
        if parent >= node or (parent < 0) != (node == 0):
            raise Tampered(f"the tree is damaged: node {node} has the parent {parent}")
        if node:
            children[parent].append(node)
    stack = [(0, root_state, k - int(np.count_nonzero(root_state == IN)))]
    while stack:
        node, state, kappa = stack.pop()
        below = children[node]
        yield Visit(node, state, kappa, not below)
        fixed, sides = table.fixings(node)
        if not below:
            if fixed.size:
                raise Tampered(f"the tree leaves choices out: node {node} decides something, and ends")
            continue
        after = _decided(node, state, fixed, sides)
        left = kappa - int(np.count_nonzero(sides == IN))
        if left < 0:
            raise Tampered(f"the tree is damaged: node {node} takes more classes than allowed")
        stack += _parted(table, node, below, after, left)


def _decided(node: int, state: Array, fixed: IntArray, sides: IntArray) -> Array:
    """The states once some classes are fixed."""
    if np.unique(fixed).size < fixed.size or (state[fixed] != FREE).any() or not np.isin(sides, (IN, OUT)).all():
        raise Tampered(f"the tree is damaged: node {node} decides what is decided")
    after = state.copy()
    after[fixed] = sides
    return after


def _parted(table: Table, node: int, below: list[int], after: Array, kappa: int) -> list[tuple[int, Array, int]]:
    """The children of a node, refused unless they have all choices that are left between them."""
    atoms, sides = table.atom[below].tolist(), table.side[below].tolist()
    if len(below) == 1 and atoms == [HANDED_ON] and sides == [FREE]:
        return [(below[0], after, kappa)]
    whole = len(below) == 2 and atoms[0] == atoms[1] and sorted(sides) == [IN, OUT] and kappa > 0
    if not whole or not 0 <= atoms[0] < after.size or after[atoms[0]] != FREE:
        raise Tampered(f"the tree leaves choices out: the children of node {node} are not all there is")
    found = []
    for child, side in zip(below, sides, strict=True):
        state = after.copy()
        state[atoms[0]] = side
        found.append((child, state, kappa - (side == IN)))
    return found


class Evaluated:
    """The bounds of a table's leaves, and of what fixing cut off, a block of nodes at a time.

    below : what is known of all that is below some of the leaves
    """

    def __init__(self, exact: Exact, table: Table, below: Mapping[int, float]) -> None:
        self._exact, self._table, self._below = exact, table, below
        self._known = np.full(table.size, -np.inf)  # the best bound on the way to each node

    def lowest(self, visits: Sequence[Visit], chosen: Array | None = None) -> float:
        """The lowest of those of some nodes, whose parents were among earlier ones; of the chosen alone."""
        table, exact = self._table, self._exact
        nodes = [visit.node for visit in visits]
        value, gains = exact.gains(*table.coefficients(nodes, exact.posed.K.shape[1]))
        lowest = np.inf
        for column, visit in enumerate(visits):
            node, parent = visit.node, int(table.parent[visit.node])
            before = 0.0 if parent < 0 else self._known[parent]  # no loss is negative, and nobody is paid
            own, cut = self._of(visit, float(value[column]), gains[:, column])
            self._known[node] = max(before, own, self._below.get(node, -np.inf))
            if chosen is None or chosen[node]:
                lowest = min(lowest, max(before, cut), self._known[node] if visit.leaf else np.inf)
        return lowest

    def _of(self, visit: Visit, value: float, gains: FloatArray) -> tuple[float, float]:
        """The bound of a node, and the lowest of what its y cuts off."""
        order = np.sort(gains[visit.state == FREE])[::-1]
        gained = float(gains[visit.state == IN].sum()) + float(order[: visit.kappa].sum())
        own = value - gained * (1.0 + 2.0 * gamma(visit.state.size + 16)) - gamma(64) * abs(value)
        own = own if np.isfinite(own) else -np.inf
        fixed, sides = self._table.fixings(visit.node)
        if not fixed.size or visit.kappa == 0:  # where nothing more may be taken, what is left out costs nothing
            return own, np.inf
        last = order[visit.kappa - 1] if visit.kappa <= order.size else 0.0
        following = order[visit.kappa] if visit.kappa < order.size else 0.0
        instead = np.where(sides == OUT, last - gains[fixed], gains[fixed] - following)
        return own, own + max(0.0, float(instead.min()))
