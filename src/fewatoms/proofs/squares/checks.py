"""A tree of a search seen again, from M and b alone: that it leaves no choice out, and what its leaves prove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, pairwise

import numpy as np

from fewatoms import kept, ledger
from fewatoms._types import Array, FloatArray, IntArray
from fewatoms.proofs.base import Checked, Question, Tampered, Tree
from fewatoms.proofs.squares import exhaustive
from fewatoms.proofs.squares.grown import FITTED, LISTED, NO_NODE, POINT, SEARCHED
from fewatoms.proofs.squares.loops import awaited
from fewatoms.proofs.squares.root import low_of
from fewatoms.proofs.squares.stage import Forgotten, Keeper, Stage, depth_first
from fewatoms.proofs.squares.table import Ground, Table
from fewatoms.rounding import gamma

TOGETHER = 256  # nodes whose points are looked at together


class Leaves:
    """The arrays of a tree, read with suspicion."""

    def __init__(self, tree: Tree, n: int) -> None:
        demand(kept.whole(tree.told["atoms"]) == n, "it is about another number of atoms")
        self.claimed, arrays = kept.real(tree.told["lower"]), tree.arrays
        demand(np.isfinite(self.claimed), "its bound is no number")
        self.parent = np.asarray(kept.reals(arrays["parent"]), dtype=np.int64)
        count, self.n = self.parent.size, n
        self.atom, self.side, self.stage, self.kind = (
            whole(arrays[name], count) for name in ("atom", "side", "stage", "kind")
        )
        self.who = rows(arrays, "point", count)
        self.x = rows(arrays, "x", count)
        self.decided = rows(arrays, "decided", count)
        stages = np.asarray(arrays["left starts"]).size - 1
        demand(stages >= 0, "its stages are missing")
        self.left, self.moved = rows(arrays, "left", stages), rows(arrays, "moved", stages)
        self._fit(count, stages)

    def _fit(self, count: int, stages: int) -> None:
        order = np.arange(count)
        demand(((self.parent >= 0) & (self.parent < order))[1:].all(), "a node comes before its parent")
        demand(not count or self.parent[0] == NO_NODE, "it has no root")
        demand(within(self.atom, -1, self.n) and within(self.stage, -1, stages), "a node is about what is not there")
        known = np.isin(self.side, (-1, 0, 1)).all() and within(self.kind, POINT, SEARCHED + 1)
        demand(known, "a node is of no kind that there is")
        demand(((self.side != 0) == (self.atom >= 0)).all(), "a branch has no side")
        for who, x, decided in zip(self.who, self.x, self.decided, strict=True):
            demand(who.size == x.size and places(who, self.n) and np.isfinite(x).all(), "a point is none")
            demand(not (decided == 0).any() and places(np.abs(decided) - 1, self.n), "what is decided is not there")
        for left, moved in zip(self.left, self.moved, strict=True):
            demand(left.size == moved.size and places(left, self.n), "a stage is none")
            demand((np.diff(left.astype(np.int64)) > 0).all(), "a stage is none")
            demand(bool((moved >= 0).all() and np.isfinite(moved).all()), "what is moved is negative")

    def children(self) -> list[list[int]]:
        """Of each node: two sides of one atom, one that goes on, or one side that was begun."""
        found: list[list[int]] = [[] for _ in self.parent]
        for node in range(1, self.parent.size):
            found[self.parent[node]].append(node)
        for node, those in enumerate(found):
            if not those:
                continue
            demand(self.kind[node] == POINT and len(those) <= 2, "a leaf has children")
            atoms, sides = self.atom[those], self.side[those]
            demand(len(set(atoms)) == 1 and len(set(sides)) == len(those), "children are no two sides of one atom")
            demand(len(those) == 1 or atoms[0] >= 0, "children are no two sides of one atom")
        return found


def demand(fine: object, what: str) -> None:
    if not fine:
        raise Tampered(f"the proof has been changed: {what}")


def whole(array: Array, count: int) -> IntArray:
    found = np.asarray(array)
    demand(found.dtype.kind in "iu" and found.shape == (count,), "arrays do not fit")
    return found.astype(np.int64)


def within(array: IntArray, least: int, end: int) -> bool:
    return bool(((array >= least) & (array < end)).all())


def places(array: Array, n: int) -> bool:
    """Whether these are places of different atoms."""
    return array.dtype.kind in "iu" and within(array, 0, n) and np.unique(array).size == array.size


def rows(arrays: Mapping[str, Array], name: str, count: int) -> list[Array]:
    """Rows of different lengths."""
    flat, starts = np.asarray(arrays[name]), np.asarray(arrays[f"{name} starts"])
    demand(flat.ndim == 1 and flat.dtype.kind in "iuf" and starts.shape == (count + 1,), "arrays do not fit")
    demand(starts.dtype.kind in "iu" and starts[0] == 0 and starts[-1] == flat.size, "arrays do not fit")
    demand(bool((np.diff(starts.astype(np.int64)) >= 0).all()), "arrays do not fit")
    return [flat[a:b] for a, b in pairwise(starts)]


class Check:
    """One check. `lower` is that of all leaves, and of all that was decided, that have been looked at."""

    def __init__(self, question: Question, tree: Tree) -> None:
        self.table = table = Table.of(question)
        self.leaves = Leaves(tree, table.n)
        self.lower = np.inf
        self.grounds = [Ground(table, np.arange(table.n), np.zeros(table.n))]
        for left, moved in zip(self.leaves.left, self.leaves.moved, strict=True):
            ledger.tick()
            ground = Ground(table, left.astype(np.int64), moved.astype(np.float64))
            demand(ground.proven_psd(), "more was moved out of the diagonal than there is")
            self.grounds.append(ground)

    def run(self, share: float, rng: np.random.Generator) -> Checked:
        """All nodes, parents first; those of a share, drawn at random, are looked at where one is asked."""
        leaves = self.leaves
        count = leaves.parent.size
        if not count:
            return Checked(0.0)
        looked = np.ones(count, dtype=bool)
        if share < 1.0:
            looked = np.zeros(count, dtype=bool)
            looked[rng.choice(count, max(1, int(np.ceil(share * count))), replace=False)] = True
        walk = self._walk(leaves.children())
        while some := list(islice(walk, TOGETHER)):
            ledger.tick()
            gains = self._gains([node for node, *_ in some if looked[node]])
            for node, status, after, leaf in some:
                if looked[node]:
                    self.lower = min(self.lower, self._proven(node, status, after, leaf, gains))
        return Checked(max(0.0, float(self.lower)), 1.0 if looked.all() else float(looked.mean()))

    def _walk(self, children: list[list[int]]) -> Iterator[tuple[int, Array, Array, bool]]:
        """All nodes, parents first: what is left at each, what is after what it decides, and whether its own bound is
        that of all of it."""
        leaves, k = self.leaves, self.table.k
        ways = [(0, full(self.table.start(), k))]
        while ways:
            node, status = ways.pop()
            demand(self._sees(node, status), "a node leaves out what its stage does not see")
            told = leaves.decided[node]
            after = status.copy()
            demand((status[np.abs(told) - 1] == 0).all(), "an atom is both in and out")
            after[np.abs(told) - 1] = np.sign(told)
            full(after, k)
            for child in children[node]:
                one = after.copy()
                if leaves.atom[child] >= 0:
                    demand(one[leaves.atom[child]] == 0, "an atom is both in and out")
                    one[leaves.atom[child]] = leaves.side[child]
                ways.append((child, full(one, k)))
            through = len(children[node]) == 2 or any(leaves.atom[child] < 0 for child in children[node])
            yield node, status, after, not through

    def _sees(self, node: int, status: Array) -> bool:
        beyond = np.ones(status.size, dtype=bool)
        beyond[self.grounds[self.leaves.stage[node] + 1].places] = False
        return not (status[beyond] >= 0).any()

    def _proven(
        self, node: int, status: Array, after: Array, leaf: bool, gains: dict[int, tuple[float, FloatArray]]
    ) -> float:
        """What a node proves by itself, for what it closes."""
        if self.leaves.kind[node] != POINT:
            again, kind = Again(self.table, self.leaves.claimed), int(self.leaves.kind[node])
            if kind == SEARCHED:
                return again.searched(self.grounds[self.leaves.stage[node] + 1], status)
            return again.proven(status, kind)
        base, h = gains[node]
        those = self.grounds[self.leaves.stage[node] + 1].places
        before = status[those]
        low = low_of(base, h, before, self.table.k)
        least = _opposite(low, h, before, self.leaves.decided[node], those, self.table.k)
        return min(least, low if leaf and np.count_nonzero(after > 0) <= self.table.k else np.inf)

    def _gains(self, nodes: list[int]) -> dict[int, tuple[float, FloatArray]]:
        """What stands before the gains of points, and the gains, together for all of one stage."""
        found: dict[int, tuple[float, FloatArray]] = {}
        leaves = self.leaves
        for stage in set(leaves.stage[nodes].tolist()):
            some = [node for node in nodes if leaves.stage[node] == stage and leaves.kind[node] == POINT]
            ground = self.grounds[stage + 1]
            X = np.zeros((ground.places.size, len(some)))
            for j, node in enumerate(some):
                at = np.searchsorted(ground.places, leaves.who[node])
                demand((at < ground.places.size).all(), "a point is beyond its stage")
                demand((ground.places[at] == leaves.who[node]).all(), "a point is beyond its stage")
                X[at, j] = leaves.x[node]
            base, H = ground.gains(X)
            found |= {node: (float(base[j]), H[:, j]) for j, node in enumerate(some)}
        return found


def full(status: Array, k: int) -> Array:
    """With k atoms in, all others are out."""
    if np.count_nonzero(status > 0) >= k:
        status[status == 0] = -1
    return status


def _opposite(low: float, h: FloatArray, status: Array, told: IntArray, those: IntArray, k: int) -> float:
    """The least that is proven of choices in which an atom that was decided is not where it was put."""
    if not told.size:
        return np.inf
    free = np.sort(h[status == 0])[::-1]
    kappa = k - int(np.count_nonzero(status > 0))
    if kappa <= 0 or not np.isfinite(low):
        return low
    last = free[min(kappa, free.size) - 1]
    beyond = free[kappa] if kappa < free.size else 0.0
    at = np.searchsorted(those, np.abs(told) - 1)
    gained = h[at]
    lost = np.where(told > 0, np.maximum(gained - beyond, 0.0), np.maximum(last - gained, 0.0))
    return low + float(lost.min()) * (1.0 - gamma(8)) - gamma(8) * abs(low)


class Again:
    """All choices that are left somewhere, looked at again."""

    def __init__(self, table: Table, target: float) -> None:
        self.table, self.target, self.least = table, target, np.inf

    def looked_at(self, choice: IntArray) -> None:
        value = self.table.fitted(choice)
        if value < self.target:
            self.least = min(self.least, self.table.below(value))

    def proven(self, status: Array, kind: int) -> float:
        leaps = None if kind == LISTED else exhaustive.Leaps(self.table, status)
        for _ in awaited(self.table.n):
            pass
        if leaps is not None:
            demand(leaps.fine, "its columns are too dependent for leaps and bounds")
            if kind == FITTED:
                return leaps.value
            run = exhaustive.leaping(self, leaps)
        else:
            demand(
                exhaustive.choices(self.table, status) <= exhaustive.MOST_LISTED,
                "too many choices are listed",
            )
            run = exhaustive.listing(self, status)
        for _ in run:
            ledger.tick()
        return min(self.target, self.least)

    def searched(self, ground: Ground, status: Array) -> float:
        """All that is left, by a search of its own."""
        for _ in awaited(self.table.n):
            pass
        keeper = Keeper(self.table, self.target, -np.inf, Forgotten())
        stage = Stage(keeper, ground, self.table.gram(ground.places))
        demand(stage.bounds, "its points bound nothing")
        first = stage.first(status[ground.places], NO_NODE)
        for _ in depth_first(keeper, stage, first) if first is not None else ():
            ledger.tick()
        return min(self.target, keeper.closed)
